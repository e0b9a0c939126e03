//! Other programs' measurements and traces, as rows of a trace: mahimahi's, LeoReplayer's, IRTT's,
//! Hypatia's.

use crate::mahimahi_rate;
use bentpipe_core::link::After;
use bentpipe_core::time::Duration;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// What holds from a moment on; `None`: as before.
#[derive(Debug, Default, Clone, PartialEq)]
struct Row {
    rate_mbit: Option<f64>,
    delay_ms: Option<f64>,
    loss: Option<f64>,
}

/// Rows of a trace, by nanoseconds since the beginning.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Rows(BTreeMap<u64, Row>);

/// A value of a row.
type Column = fn(&Row) -> Option<f64>;

/// A defect of another program's file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct ForeignError {
    /// The line's number, from 1; `None`: the file as a whole.
    pub line: Option<usize>,
    /// Why.
    pub why: String,
}

const MILLISECOND: u64 = 1_000_000;

impl Rows {
    /// Takes over the delays of `others`.
    pub fn take_delays(&mut self, others: Rows) {
        for (at, row) in others.0 {
            self.0.entry(at).or_default().delay_ms = row.delay_ms;
        }
    }

    /// Writes the columns that the rows have; each value only where it changes.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let rows = &self.0;
        let columns: [(&str, Column); 3] = [
            ("rate_Mbit/s", |row| row.rate_mbit),
            ("delay_ms", |row| row.delay_ms),
            ("loss", |row| row.loss),
        ];
        let columns: Vec<_> = columns
            .into_iter()
            .filter(|(_, of)| rows.values().any(|row| of(row).is_some()))
            .collect();
        let header: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        writeln!(out, "time_s,{}", header.join(","))?;
        let mut last = vec![None; columns.len()];
        for (at, row) in rows {
            let cells: Vec<Option<f64>> = columns
                .iter()
                .zip(&mut last)
                .map(|((_, of), last)| {
                    let new = of(row).filter(|value| *last != Some(*value));
                    *last = new.or(*last);
                    new
                })
                .collect();
            if cells.iter().any(Option::is_some) {
                let cells: Vec<String> =
                    cells.iter().map(|c| c.map_or_else(String::new, |c| c.to_string())).collect();
                writeln!(out, "{},{}", *at as f64 / 1e9, cells.join(","))?;
            }
        }
        Ok(())
    }
}

/// Lines that are not empty, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(at, line)| (at + 1, line.trim())).filter(|(_, l)| !l.is_empty())
}

fn in_line(line: usize, why: String) -> ForeignError {
    ForeignError { line: Some(line), why }
}

fn as_a_whole(why: &str) -> ForeignError {
    ForeignError { line: None, why: why.to_owned() }
}

fn number(at: usize, text: &str) -> Result<u64, ForeignError> {
    // More than a century in ns is no time.
    let number = text.trim().parse().ok().filter(|number| *number < 1 << 62);
    number.ok_or_else(|| in_line(at, format!("`{text}` is no whole number")))
}

/// Reads mahimahi's moments as a rate, up to the last.
///
/// From there on links begin again by themselves, traces with a `trace-period`.
///
/// # Errors
/// The line that is no moment, or is before the one above it.
pub fn mahimahi(text: &str) -> Result<Rows, ForeignError> {
    let rate = mahimahi_rate(text).map_err(|error| in_line(error.line, error.why))?;
    let end = match rate.after() {
        After::Repeat(period) => period,
        After::Hold => Duration::ZERO,
    };
    let steps = rate.steps().iter().map(|(at, rate)| (*at, rate.bits_per_sec() as f64 / 1e6));
    let nanos = |at: Duration| u64::try_from(at.as_nanos()).unwrap_or(u64::MAX);
    let row = |rate| Row { rate_mbit: Some(rate), ..Row::default() };
    Ok(Rows(steps.chain([(end, 0.0)]).map(|(at, rate)| (nanos(at), row(rate))).collect()))
}

/// Reads LeoReplayer's delays, of LeoCC: a line for each 10 ms, one way, in ms.
///
/// # Errors
/// The line that is no time, or that there is none.
pub fn leocc_delays(text: &str) -> Result<Rows, ForeignError> {
    let mut rows = BTreeMap::new();
    for (index, (at, line)) in lines(text).enumerate() {
        let delay = line.parse().ok().filter(|delay: &f64| (0.0..1e7).contains(delay));
        let delay_ms = delay.ok_or_else(|| in_line(at, format!("`{line}` is no time in ms")))?;
        let row = Row { delay_ms: Some(delay_ms), ..Row::default() };
        rows.insert(index as u64 * 10 * MILLISECOND, row);
    }
    if rows.is_empty() {
        return Err(as_a_whole("there is nothing in it"));
    }
    Ok(Rows(rows))
}

/// Reads Hypatia's round trips: `time,round trip` in ns.
///
/// A negative one, or none, stands where there is no way.
///
/// # Errors
/// The line that is none of these, or that there is no way at all.
pub fn hypatia(text: &str) -> Result<Rows, ForeignError> {
    let mut rows = BTreeMap::new();
    for (at, line) in lines(text) {
        let wrong = || in_line(at, format!("`{line}` is not a time and a round trip in ns"));
        let (time, trip) = line.split_once(',').ok_or_else(wrong)?;
        let trip: f64 = trip.trim().parse().map_err(|_| wrong())?;
        let row = match trip > 0.0 && trip < 1e13 {
            true => Row { delay_ms: Some(trip / 2e6), loss: Some(0.0), ..Row::default() },
            false => Row { loss: Some(1.0), ..Row::default() },
        };
        rows.insert(number(at, time)?, row);
    }
    begun(rows)
}

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

/// Reads IRTT's round trips (JSON): the delay of each, and each window's share of loss.
///
/// # Errors
/// That it is not of IRTT, or that nothing came through.
pub fn irtt(text: &str, window: Duration) -> Result<Rows, ForeignError> {
    let measured: Irtt = serde_json::from_str(text)
        .map_err(|error| in_line(error.line(), format!("not of irtt: {error}")))?;
    let sent = |trip: &RoundTrip| {
        let moment = &trip.timestamps.client.send;
        moment.monotonic.unwrap_or(moment.wall)
    };
    let first = measured.round_trips.iter().map(sent).min();
    let first = first.ok_or_else(|| as_a_whole("it has no round trips"))?;
    let (mut rows, mut windows) = (BTreeMap::<u64, Row>::new(), BTreeMap::<u64, (u64, u64)>::new());
    let window = u64::try_from(window.as_nanos()).unwrap_or(u64::MAX);
    for trip in &measured.round_trips {
        let at = sent(trip).abs_diff(first);
        let (all, lost) = windows.entry(at / window * window).or_default();
        *all += 1;
        *lost += u64::from(trip.lost != "false");
        if let Some(rtt) = trip.delay.rtt.filter(|rtt| *rtt > 0 && trip.lost == "false") {
            rows.entry(at).or_default().delay_ms = Some(rtt as f64 / 2e6);
        }
    }
    for (at, (all, lost)) in windows {
        rows.entry(at).or_default().loss = Some(lost as f64 / all as f64);
    }
    begun(rows)
}

/// The first delay holds from the beginning.
fn begun(mut rows: BTreeMap<u64, Row>) -> Result<Rows, ForeignError> {
    let first = rows.values().find_map(|row| row.delay_ms);
    let first = first.ok_or_else(|| as_a_whole("nothing came through at all"))?;
    rows.entry(0).or_default().delay_ms.get_or_insert(first);
    Ok(Rows(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(rows: &Rows) -> String {
        let mut out = Vec::new();
        rows.write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn moments_of_mahimahi_are_a_rate() {
        // Two packets in the first millisecond, one in the third.
        let rows = mahimahi("1\n1\n3\n").unwrap();
        assert_eq!(text(&rows), "time_s,rate_Mbit/s\n0,24\n0.001,0\n0.002,12\n0.003,0\n");
        assert_eq!(mahimahi("3\n1\n").unwrap_err().line, Some(2));
        assert_eq!(mahimahi("x\n").unwrap_err().why, "`x` is no time in ms");
        assert!(mahimahi("\n").is_err());
    }

    #[test]
    fn a_line_of_leocc_holds_for_ten_ms() {
        let rows = leocc_delays("24\n18\n18\n30\n").unwrap();
        assert_eq!(text(&rows), "time_s,delay_ms\n0,24\n0.01,18\n0.03,30\n");
        assert_eq!(leocc_delays("24\n-1\n").unwrap_err().line, Some(2));
    }

    #[test]
    fn round_trips_of_hypatia_are_halved() {
        let rows = hypatia("0,44000000\n100000000,46000000.5\n200000000,-1\n300000000,44000000\n");
        let expected = "time_s,delay_ms,loss\n0,22,0\n0.1,23.00000025,\n0.2,,1\n0.3,22,0\n";
        assert_eq!(text(&rows.unwrap()), expected);
        assert!(hypatia("0 44000000\n").is_err() && hypatia("0,-1\n").is_err());
    }

    #[test]
    fn round_trips_of_irtt_are_halved_and_losses_counted() {
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
        assert_eq!(text(&rows), "time_s,delay_ms,loss\n0,20,0.5\n1,25,0\n");
        let wrong = irtt("{}", Duration::from_secs(1)).unwrap_err();
        assert!(wrong.why.contains("round_trips"), "{}", wrong.why);
    }
}
