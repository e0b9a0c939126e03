//! Numbers of reports.

use crate::significant::significant;
use crate::verdict::Finding;

/// What was found, with its error: four significant digits.
pub(super) fn number(finding: &Finding) -> String {
    let found = significant(finding.found);
    if finding.half_width > 0.0 {
        format!("{found} ± {}", significant(finding.half_width))
    } else {
        found
    }
}

/// The number that the paper has; nothing if it has a bound or words only.
pub(super) fn printed(finding: &Finding) -> String {
    finding.accepted.printed.map(significant).unwrap_or_default()
}
