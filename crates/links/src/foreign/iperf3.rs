//! Rates of iperf3's intervals (`iperf3 --json`).
//!
//! An interval's `sum` has `start` and `end` in seconds and `bits_per_second`, of payload; with UDP
//! at the receiver also `lost_percent`. `rtt` of its TCP streams is left out: it has the queue in
//! it that the test itself has filled.

use super::{ForeignError, Rows};
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Probability, Rate};
use serde::Deserialize;

#[derive(Deserialize)]
struct Iperf3 {
    intervals: Vec<Interval>,
}

#[derive(Deserialize)]
struct Interval {
    sum: Sum,
}

#[derive(Deserialize)]
struct Sum {
    start: f64,
    end: f64,
    bits_per_second: f64,
    #[serde(default)]
    omitted: bool,
    lost_percent: Option<f64>,
}

const MAX_RATE: f64 = 1e15;
/// A century in seconds.
const MAX_SECONDS: f64 = 3.2e9;

/// Reads iperf3's JSON: the rate of each interval, and the receiver's loss.
///
/// # Errors
/// That it is not of iperf3, or has no intervals.
pub fn iperf3(text: &str) -> Result<Rows, ForeignError> {
    let measured: Iperf3 = serde_json::from_str(text)
        .map_err(|error| ForeignError::in_line(error.line(), format!("not of iperf3: {error}")))?;
    // Those that `--omit` leaves out have times of their own.
    let sums: Vec<&Sum> = measured
        .intervals
        .iter()
        .map(|interval| &interval.sum)
        .filter(|sum| !sum.omitted)
        .collect();
    let none = || ForeignError::whole("it has no intervals");
    let (first, last) = (sums.first().ok_or_else(none)?, sums.last().ok_or_else(none)?);
    let mut rows = Rows::default();
    for sum in &sums {
        let at = since(first.start, sum.start)?;
        let rate = Some(sum.bits_per_second).filter(|rate| (0.0..MAX_RATE).contains(rate));
        let rate = rate.ok_or_else(|| {
            ForeignError::whole(format!("{} bits_per_second are no rate", sum.bits_per_second))
        })?;
        rows.rate.push(at, Rate::from_bits_per_sec(rate.round() as u64), 0)?;
        if let Some(percent) = sum.lost_percent {
            let loss = Probability::new(percent / 100.0).ok_or_else(|| {
                ForeignError::whole(format!("lost_percent {percent} is not 0 to 100"))
            })?;
            rows.loss.push(at, loss, 0)?;
        }
    }
    // So that the trace is as long as the test.
    let length = since(first.start, last.end)?;
    if let Some(step) = rows.rate.steps().last().copied().filter(|step| step.at < length) {
        rows.rate.push(length, step.value, 0)?;
    }
    let more = if rows.loss.is_empty() { "" } else { " and loss" };
    rows.notes.push(format!("iperf3: rate{more} of {} intervals, of payload", sums.len()));
    Ok(rows)
}

fn since(first: f64, at: f64) -> Result<Duration, ForeignError> {
    let span = Some(at - first).filter(|span| (0.0..MAX_SECONDS).contains(span));
    let span = span.ok_or_else(|| ForeignError::whole(format!("an interval's time is {at} s")))?;
    Ok(Duration::from_nanos((span * 1e9).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foreign::tests::written;

    fn interval(start: f64, end: f64, rate: f64, more: &str) -> String {
        format!(
            r#"{{"streams": [], "sum": {{"start": {start}, "end": {end}, "bits_per_second": {rate}{more}}}}}"#
        )
    }

    fn json(intervals: &[String]) -> String {
        format!(r#"{{"start": {{}}, "intervals": [{}], "end": {{}}}}"#, intervals.join(","))
    }

    #[test]
    fn intervals_are_rates() {
        let text = json(&[
            interval(0.0, 1.0, 7e6, r#", "omitted": true"#),
            interval(0.25, 1.25, 8e6, ""),
            interval(1.25, 2.25, 9e6, ""),
        ]);
        let rows = iperf3(&text).unwrap();
        assert_eq!(written(&rows), "time_s,rate_Mbit/s\n0,8\n1,9\n");
        assert_eq!(rows.end(), Duration::from_secs(2));
        let text = json(&[interval(0.0, 1.0, 8e6, r#", "lost_percent": 2.5"#)]);
        assert_eq!(written(&iperf3(&text).unwrap()), "time_s,rate_Mbit/s,loss\n0,8,0.025\n");
    }

    #[test]
    fn what_is_none_is_refused() {
        assert!(iperf3(&json(&[])).is_err());
        assert!(iperf3(&json(&[interval(0.0, 1.0, -1.0, "")])).is_err());
        assert!(
            iperf3(&json(&[interval(1.0, 2.0, 1.0, ""), interval(0.0, 1.0, 1.0, "")])).is_err()
        );
        assert!(iperf3("{\n1}").unwrap_err().line == Some(2));
    }
}
