//! Round trips of IRTT (`irtt client -o`), as in the LENS data set.

use super::{ForeignError, Rows};
use bentpipe_core::time::Duration;
use bentpipe_core::units::Probability;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The default time whose share of lost packets is the loss.
pub const IRTT_WINDOW: Duration = Duration::from_secs(1);
/// Three hours in ns: no round trip.
const MAX_TRIP: i64 = 10_000_000_000_000;

/// What irtt writes, as far as it matters.
#[derive(Deserialize)]
struct Irtt {
    round_trips: Vec<RoundTrip>,
}

#[derive(Deserialize)]
struct RoundTrip {
    /// `false`, `true`, `true_up` or `true_down`.
    lost: String,
    timestamps: Timestamps,
    delay: Delay,
}

#[derive(Deserialize)]
struct Timestamps {
    client: Client,
}

#[derive(Deserialize)]
struct Client {
    send: Moment,
}

#[derive(Deserialize)]
struct Moment {
    /// In ns.
    monotonic: Option<i64>,
    wall: i64,
}

#[derive(Deserialize)]
struct Delay {
    /// In ns; none of a packet that was lost.
    rtt: Option<i64>,
}

/// Reads IRTT's JSON: half of each round trip is a direction's delay.
///
/// The loss is each `window`'s share of lost packets, both ways together.
///
/// # Errors
/// That it is not of IRTT, or that nothing came through.
pub fn irtt(text: &str, window: Duration) -> Result<Rows, ForeignError> {
    let measured: Irtt = serde_json::from_str(text)
        .map_err(|error| ForeignError::in_line(error.line(), format!("not of irtt: {error}")))?;
    let sent = |trip: &RoundTrip| {
        let moment = &trip.timestamps.client.send;
        moment.monotonic.unwrap_or(moment.wall)
    };
    let first = measured.round_trips.iter().map(sent).min();
    let first = first.ok_or_else(|| ForeignError::whole("it has no round trips"))?;
    let (mut delays, mut windows) = (BTreeMap::new(), BTreeMap::<u64, (u64, u64)>::new());
    let window = u64::try_from(window.as_nanos()).unwrap_or(u64::MAX).max(1);
    for trip in &measured.round_trips {
        let at = sent(trip).abs_diff(first);
        let (all, lost) = windows.entry(at / window * window).or_default();
        *all += 1;
        *lost += u64::from(trip.lost != "false");
        let came = |rtt: &i64| (1..MAX_TRIP).contains(rtt) && trip.lost == "false";
        if let Some(rtt) = trip.delay.rtt.filter(came) {
            delays.insert(at, rtt.unsigned_abs());
        }
    }
    let mut rows = Rows::default();
    for (at, rtt) in delays {
        rows.delay.push(Duration::from_nanos(at), Duration::from_nanos(rtt / 2), 0)?;
    }
    for (at, (all, lost)) in windows {
        let share = Probability::new(lost as f64 / all as f64).unwrap_or(Probability::ONE);
        rows.loss.push(Duration::from_nanos(at), share, 0)?;
    }
    if rows.delay.is_empty() {
        return Err(ForeignError::whole("nothing came through at all"));
    }
    rows.delay.begin();
    rows.loss.begin();
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foreign::tests::written;

    #[test]
    fn round_trips_are_halved_and_losses_counted() {
        let trip = |at: u64, lost: &str, rtt: &str| {
            format!(
                r#"{{"seqno": 0, "lost": "{lost}", "delay": {{{rtt}}}, "timestamps": {{"client":
                {{"send": {{"wall": 1, "monotonic": {at}}}}}, "server": {{}}}}}}"#
            )
        };
        let trips = [
            trip(5_000_000, "false", r#""rtt": 40000000"#),
            trip(505_000_000, "true_up", ""),
            trip(1_005_000_000, "false", r#""rtt": 50000000"#),
        ];
        let json = format!(r#"{{"version": {{}}, "round_trips": [{}]}}"#, trips.join(","));
        let rows = irtt(&json, Duration::from_secs(1)).unwrap();
        assert_eq!(written(&rows), "time_s,delay_ms,loss\n0,20,0.5\n1,25,0\n");
        let wrong = irtt("{}", Duration::from_secs(1)).unwrap_err();
        assert!(wrong.why.contains("round_trips"), "{}", wrong.why);
    }
}
