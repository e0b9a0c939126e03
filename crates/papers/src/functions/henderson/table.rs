//! The rule by which Table 4.1 says how often a point is run.

use super::{Function, LONG, Numbers, SHORT, flow, mean};
use crate::run::{Number, Part, PointRuns, Ran};

pub(super) const FUNCTIONS: &[(&str, Function)] = &[("H-D-5", rule)];

fn six() -> Vec<&'static str> {
    LONG.into_iter().chain(SHORT).collect()
}

/// Whether the point was run until all standard deviations are within 5 % of the mean, or fifty
/// times.
fn keeps_the_rule(point: &PointRuns) -> Result<bool, String> {
    if point.runs.len() >= 50 {
        return Ok(true);
    }
    for name in six() {
        let rates = flow(point, name, "goodput_bps")?;
        let (mean, n) = (mean(&rates), rates.len() as f64);
        let square = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>();
        if (square / (n - 1.0)).sqrt() > 0.05 * mean {
            return Ok(false);
        }
    }
    Ok(true)
}

fn rule(ran: &Ran) -> Numbers {
    let part: &Part = ran.part("red")?;
    let kept = part.points.iter().map(keeps_the_rule).collect::<Result<Vec<_>, _>>()?;
    let short = kept.iter().filter(|kept| !**kept).count();
    Ok(vec![Number::new("points-short-of-the-rule", short as f64)])
}
