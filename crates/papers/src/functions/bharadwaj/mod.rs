//! What the claims of both bharadwaj papers speak of and no cell of a table says: the worst of all
//! rates and sizes, what bit errors leave, and what many transfers do together.

mod crowds;
mod formulas;
mod gateway;
mod proxy;
mod sets;

use super::Function;
use super::samples::{Samples, jackknife, less, max, mean, min, per_run};
use crate::run::{Number, Part, Ran};
use bentpipe_lab::tables::Table;

/// By claim, in several lists.
pub(super) const FUNCTIONS: [&[(&str, Function)]; 5] =
    [crowds::FUNCTIONS, formulas::FUNCTIONS, gateway::FUNCTIONS, proxy::FUNCTIONS, sets::FUNCTIONS];

type Numbers = Result<Vec<Number>, String>;

/// Which hosts and gateways: the figures' variants.
const VARIANT: &str = "variant";
const END_TO_END: &str = "end to end";
/// The paper's gateways, in figures that compare no initial windows of theirs.
const GATEWAYS: &str = "gateways";
const IW_1: &str = "initial window 1";
const IW_16: &str = "initial window 16";
const RATE: &str = "link.sat.rate";
const BYTES: &str = "flow.main.bytes";
const COUNT: &str = "flow.main.count";

/// Link rates as the scenarios have them.
const RATES: [&str; 3] = ["384kbit/s", "1536kbit/s", "8Mbit/s"];
/// File sizes as the scenarios have them.
const SIZES: [&str; 5] = ["10KB", "100KB", "1MB", "10MB", "100MB"];

/// The round trip over the satellite, in seconds.
const RTT: f64 = 0.5;

/// A column of flow `main`, one value for each run.
fn flow(part: &Part, at: &[(&str, &str)], column: &str) -> Result<Vec<f64>, String> {
    part.point(at)?.column(Table::Results, &[("flow", "main")], column)
}

/// The mean of a column of flow `main` over the runs.
fn one(part: &Part, at: &[(&str, &str)], column: &str) -> Result<f64, String> {
    Ok(mean(&flow(part, at, column)?))
}

/// A column of a group, one value for each run.
fn group(part: &Part, at: &[(&str, &str)], name: &str, column: &str) -> Result<Samples, String> {
    part.point(at)?.column(Table::Groups, &[("group", name)], column)
}

/// What of a throughput is left, where a transfer took `clean` seconds without errors and `times`
/// with them: the ratio of throughputs, each of which is a size divided by the mean time
/// (bharadwaj-2001, section 4). As pseudo-values of the jackknife, whose mean and spread are those
/// of the ratio.
fn kept(clean: &[f64], times: &[f64]) -> Vec<f64> {
    let runs = times.len() as f64;
    let all = mean(clean) * runs / times.iter().sum::<f64>();
    if times.len() < 2 {
        return vec![all];
    }
    let without = |time: &f64| mean(clean) * (runs - 1.0) / (times.iter().sum::<f64>() - time);
    times.iter().map(|time| runs * all - (runs - 1.0) * without(time)).collect()
}

fn samples(name: &str, samples: Vec<f64>) -> Number {
    Number { name: name.to_owned(), samples }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G01-D-23: a size by the mean of times is not the mean of sizes by times.
    #[test]
    fn throughput_is_the_size_by_the_mean_time() {
        let times = [1.0, 2.0, 6.0];
        let ratio = kept(&[1.0], &times);
        let plain = mean(&times.map(|time| 1.0 / time));
        // The jackknife's mean lies near the ratio of means, 1/3, and its runs spread around it.
        assert_eq!(ratio.len(), 3);
        assert!((kept(&[1.0], &[3.0])[0] - 1.0 / 3.0).abs() < 1e-12);
        assert!((plain - 0.556).abs() < 1e-3, "{plain}");
        assert!(mean(&ratio) < 0.34, "{}", mean(&ratio));
        let same = kept(&[2.0], &[4.0, 4.0, 4.0]);
        assert!(same.iter().all(|kept| (kept - 0.5).abs() < 1e-12), "{same:?}");
    }
}
