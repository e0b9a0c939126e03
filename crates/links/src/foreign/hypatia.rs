//! Files of Hypatia (IMC 2020): round trips, and what gives no link alone.
//!
//! Its `satgenpy` writes, for a pair of ground stations, `networkx_rtt_A_to_B.txt` (a line
//! `time,round trip`, in ns, where the path changes) and `networkx_path_A_to_B.txt` (`time,A-…-B`,
//! or `time,Unreachable`). `fstate_T.txt` is forwarding state: `node,destination,next
//! hop,interface,interface of the next hop`.

use super::{ForeignError, Rows, lines};
use bentpipe_core::time::Duration;
use bentpipe_core::units::Probability;

/// More than a century in ns is no time.
const MAX_NANOS: u64 = 1 << 62;
/// As are three hours of a round trip.
const MAX_TRIP: f64 = 1e13;
/// A shorter round trip, in ns, reaches no satellite: such numbers are of another table.
const MIN_TRIP: f64 = 1e5;

/// Reads round trips, of which half is the delay of a direction.
///
/// A negative one, or none, stands where there is no way: nothing passes.
///
/// # Errors
/// The line that is none of these, or that there is no way at all.
pub fn hypatia(text: &str) -> Result<Rows, ForeignError> {
    let mut rows = Rows::default();
    for (number, line) in lines(text) {
        let (time, trip) = fields(line).ok_or_else(|| {
            ForeignError::in_line(number, format!("`{line}` is not a time and a round trip in ns"))
        })?;
        let at = Duration::from_nanos(time);
        let passes = trip > 0.0 && trip < MAX_TRIP;
        if passes {
            let half = Duration::from_nanos((trip / 2.0).round() as u64);
            rows.delay.push(at, half, number)?;
        }
        rows.loss.push(at, if passes { Probability::ZERO } else { Probability::ONE }, number)?;
    }
    if rows.delay.is_empty() {
        return Err(ForeignError::whole("nothing comes through at all"));
    }
    rows.delay.begin();
    rows.loss.begin();
    Ok(rows)
}

fn fields(line: &str) -> Option<(u64, f64)> {
    let (time, trip) = line.split_once(',')?;
    let time = time.trim().parse().ok().filter(|time| *time < MAX_NANOS)?;
    Some((time, trip.trim().parse().ok()?))
}

/// Whether `line` has the form of a round trip.
pub(super) fn is_round_trip(line: &str) -> bool {
    fields(line).is_some_and(|(_, trip)| trip <= 0.0 || trip >= MIN_TRIP)
}

/// Says of a file without a link in it what it is, by its first line, and what to use.
pub(super) fn refusal(line: &str) -> Option<&'static str> {
    let fields: Vec<&str> = line.split(',').collect();
    let whole = |text: &str| text.parse::<i64>().is_ok();
    let is_path = |path: &str| {
        path == "Unreachable"
            || path.contains('-') && path.split('-').all(|node| node.parse::<u32>().is_ok())
    };
    match fields[..] {
        [time, path] if whole(time) && is_path(path) => Some(
            "it is a path of Hypatia's, without delays: give the round trips of the same pair (networkx_rtt_…txt)",
        ),
        [_, _, _, _, _] if fields.iter().all(|field| whole(field)) => Some(
            "it is Hypatia's forwarding state, without delays: give the round trips of a pair (networkx_rtt_…txt), or its tles.txt to `bentpipe trace path`",
        ),
        [_, _, _] if fields.iter().all(|field| field.parse::<f64>().is_ok()) => Some(
            "it is a table without a header, or Hypatia's bandwidth of interfaces: give it a header such as `time_s,rate_Mbit/s,delay_ms`",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foreign::tests::written;

    #[test]
    fn round_trips_are_halved() {
        let rows = hypatia("0,44000000\n100000000,46000000.5\n200000000,-1\n300000000,44000000\n");
        let expected = "time_s,delay_ms,loss\n0,22,0\n0.1,23,\n0.2,,1\n0.3,22,0\n";
        assert_eq!(written(&rows.unwrap()), expected);
        assert!(hypatia("0 44000000\n").is_err() && hypatia("0,-1\n").is_err());
        assert_eq!(hypatia("5,44000000\n5,44000000\n").unwrap_err().line, Some(2));
    }

    #[test]
    fn other_files_are_named() {
        assert!(refusal("18000000000,12-4-3-13").unwrap().contains("a path"));
        assert!(refusal("0,Unreachable").unwrap().contains("a path"));
        assert!(refusal("0,17,1,-1,0").unwrap().contains("forwarding state"));
        assert_eq!(refusal("time_s,delay_ms"), None);
        assert!(is_round_trip("0,44000000.25") && !is_round_trip("5,10"));
    }
}
