//! Numbers of reports, and texts that name them.

use super::Report;
use crate::significant::significant;
use crate::verdict::{Finding, Judged};

/// Less than this share of what was found is what computing leaves, and no interval.
const ROUNDING: f64 = 1e-9;

/// What was found, with its error: four significant digits.
pub(super) fn number(finding: &Finding) -> String {
    with_interval(finding.found, finding.half_width)
}

/// A mean, with half of its interval: less than the last of four digits is not said in digits.
pub(super) fn with_interval(found: f64, half_width: f64) -> String {
    let said = significant(found);
    let last = 10f64.powf(found.abs().log10().floor() - 3.0);
    if half_width <= ROUNDING * found.abs() {
        said
    } else if half_width < last {
        format!("{said} ± <{last}")
    } else {
        format!("{said} ± {}", significant(half_width))
    }
}

/// The number that the paper has; nothing if it has a bound or words only.
pub(super) fn printed(finding: &Finding) -> String {
    finding.accepted.printed.map(significant).unwrap_or_default()
}

/// An explanation with the numbers that it names. `{name}` is one of the claim's own, `{ID.name}`
/// one of another claim, and `{…@value}` one at another value of a free parameter.
///
/// What was not measured stays as it is written.
pub(super) fn explained(report: &Report, judged: &Judged, text: &str) -> String {
    let mut said = String::new();
    let mut rest = text;
    while let Some((before, name, after)) = placeholder(rest) {
        said.push_str(before);
        match found(report, judged, name) {
            Some(found) => said.push_str(&significant(found)),
            None => said.push_str(&rest[before.len()..rest.len() - after.len()]),
        }
        rest = after;
    }
    said + rest
}

/// The first `{name}` of a text, with what stands before and after it.
pub fn placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('{')?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

/// The parts of a placeholder. They are an id (none: the claim's own), a number's name, a value.
pub fn placeholder_parts(text: &str) -> (Option<&str>, &str, Option<&str>) {
    let (name, value) = match text.split_once('@') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    // An id may have a point, and a number's name has none.
    match name.rsplit_once('.') {
        Some((id, name)) => (Some(id), name, value),
        None => (None, name, value),
    }
}

fn found(report: &Report, judged: &Judged, placeholder: &str) -> Option<f64> {
    let (id, name, value) = placeholder_parts(placeholder);
    let of = match id {
        Some(id) => report.judged(id)?,
        None => judged,
    };
    let Some(value) = value else {
        return of.findings.iter().find(|it| it.name == name).map(|it| it.found);
    };
    of.others.iter().find(|it| it.name == name && it.value == value)?.found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_has_no_more_digits_than_its_mean() {
        assert_eq!(with_interval(0.912, 0.034), "0.912 ± 0.034");
        assert_eq!(with_interval(0.912, 1.8e-6), "0.912 ± <0.0001");
        assert_eq!(with_interval(0.912, 1e-16), "0.912");
        assert_eq!(with_interval(0.0, 0.25), "0 ± 0.25");
    }
}
