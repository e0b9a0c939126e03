//! `bentpipe trace convert`: other programs' files as traces.

use super::Error;
use bentpipe_core::link::After;
use bentpipe_core::time::Duration;
use bentpipe_links::mahimahi_rate;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

/// Turns a file of another program into a trace, which goes to standard output.
///
/// A trace is CSV with a time, a delay (one way), a rate and a share of loss. A link of a scenario replays it
/// (trace = "file.csv"). Traces of mahimahi alone need no conversion: links read them as they are.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  bentpipe trace convert leocc bw_1.txt delay_1.txt > starlink.csv
  bentpipe trace convert irtt measured.json --window 1s > measured.csv
  bentpipe trace convert hypatia networkx_rtt_1593_to_1650.txt > path.csv
  bentpipe trace convert mahimahi Verizon-LTE-driving.down > cellular.csv
")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    from: Format,
}

#[derive(clap::Subcommand)]
enum Format {
    /// Moments in ms at which a packet of 1500 bytes may leave: mahimahi's mm-link
    Mahimahi {
        /// One moment a line
        file: String,
    },
    /// LeoReplayer's, of LeoCC: rates as mahimahi's, and a delay for each 10 ms
    Leocc {
        /// The rates: bw_1.txt
        rates: String,
        /// The delays, one way, in ms: delay_1.txt
        delays: String,
    },
    /// Round trips of IRTT (irtt client -o), as in the LENS data set; half of each is the delay of a direction
    Irtt {
        /// JSON
        file: String,
        /// The share of loss is that of so long
        #[arg(long, value_name = "TIME", default_value = "1s", value_parser = super::path::step)]
        window: Duration,
    },
    /// Round trips of Hypatia (networkx_rtt_…txt): ns and ns; half of each is the delay of a direction
    Hypatia {
        /// A line for each change
        file: String,
    },
}

/// What holds from a moment on; `None`: as before.
#[derive(Debug, Default, Clone, PartialEq)]
struct Row {
    rate_mbit: Option<f64>,
    delay_ms: Option<f64>,
    loss: Option<f64>,
}

/// By nanoseconds since the beginning.
type Rows = BTreeMap<u64, Row>;

/// A value of a row.
type Column = fn(&Row) -> Option<f64>;

/// What is wrong with a file: in which line, if it has such, and why.
type Wrong = (Option<usize>, String);

const MILLISECOND: u64 = 1_000_000;

/// Converts and writes.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let rows = match &arguments.from {
        Format::Mahimahi { file } => convert(file, moments)?,
        Format::Leocc { rates, delays } => {
            let mut rows = convert(rates, moments)?;
            for (at, row) in convert(delays, every_ten_ms)? {
                rows.entry(at).or_default().delay_ms = row.delay_ms;
            }
            rows
        }
        Format::Irtt { file, window } => convert(file, |text| round_trips(text, *window))?,
        Format::Hypatia { file } => convert(file, changes)?,
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    write(&mut out, &rows)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn convert(path: &str, read: impl FnOnce(&str) -> Result<Rows, Wrong>) -> Result<Rows, Error> {
    let text =
        std::fs::read_to_string(path).map_err(|why| Error::File { path: path.to_owned(), why })?;
    read(&text).map_err(|(line, why)| {
        let place = line.map_or_else(|| path.to_owned(), |line| format!("{path}, line {line}"));
        Error::Format { place, why }
    })
}

/// The columns that the rows have; each value only where it changes.
fn write(out: &mut impl Write, rows: &Rows) -> std::io::Result<()> {
    let columns: [(&str, Column); 3] = [
        ("rate_Mbit/s", |row| row.rate_mbit),
        ("delay_ms", |row| row.delay_ms),
        ("loss", |row| row.loss),
    ];
    let columns: Vec<_> =
        columns.into_iter().filter(|(_, of)| rows.values().any(|row| of(row).is_some())).collect();
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

/// Lines that are not empty, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(at, line)| (at + 1, line.trim())).filter(|(_, l)| !l.is_empty())
}

fn number(at: usize, text: &str) -> Result<u64, Wrong> {
    // More than a century in ns is no time.
    let number = text.trim().parse().ok().filter(|number| *number < 1 << 62);
    number.ok_or_else(|| (Some(at), format!("`{text}` is no whole number")))
}

/// mahimahi's moments as a rate, up to the last; from there on links begin anew by themselves, traces with a
/// `trace-period`.
fn moments(text: &str) -> Result<Rows, Wrong> {
    let rate = mahimahi_rate(text).map_err(|error| (Some(error.line), error.why))?;
    let end = match rate.after() {
        After::Repeat(period) => period,
        After::Hold => Duration::ZERO,
    };
    let steps = rate.steps().iter().map(|(at, rate)| (*at, rate.bits_per_sec() as f64 / 1e6));
    let nanos = |at: Duration| u64::try_from(at.as_nanos()).unwrap_or(u64::MAX);
    let row = |rate| Row { rate_mbit: Some(rate), ..Row::default() };
    Ok(steps.chain([(end, 0.0)]).map(|(at, rate)| (nanos(at), row(rate))).collect())
}

/// LeoReplayer's delays: a line for each 10 ms.
fn every_ten_ms(text: &str) -> Result<Rows, Wrong> {
    let mut rows = Rows::new();
    for (index, (at, line)) in lines(text).enumerate() {
        let delay = line.parse().ok().filter(|delay: &f64| (0.0..1e7).contains(delay));
        let delay_ms = delay.ok_or_else(|| (Some(at), format!("`{line}` is no time in ms")))?;
        let row = Row { delay_ms: Some(delay_ms), ..Row::default() };
        rows.insert(index as u64 * 10 * MILLISECOND, row);
    }
    if rows.is_empty() {
        return Err((None, "there is nothing in it".to_owned()));
    }
    Ok(rows)
}

/// Hypatia's round trips: `time,round trip` in ns; a negative one, or none, where there is no way.
fn changes(text: &str) -> Result<Rows, Wrong> {
    let mut rows = Rows::new();
    for (at, line) in lines(text) {
        let wrong = || (Some(at), format!("`{line}` is not a time and a round trip in ns"));
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

/// irtt's round trips: a delay for each, and the share of loss in each window.
fn round_trips(text: &str, window: Duration) -> Result<Rows, Wrong> {
    let irtt: Irtt = serde_json::from_str(text)
        .map_err(|error| (Some(error.line()), format!("not of irtt: {error}")))?;
    let sent = |trip: &RoundTrip| {
        let moment = &trip.timestamps.client.send;
        moment.monotonic.unwrap_or(moment.wall)
    };
    let first = irtt.round_trips.iter().map(sent).min();
    let first = first.ok_or_else(|| (None, "it has no round trips".to_owned()))?;
    let (mut rows, mut windows) = (Rows::new(), BTreeMap::<u64, (u64, u64)>::new());
    let window = u64::try_from(window.as_nanos()).unwrap_or(u64::MAX);
    for trip in &irtt.round_trips {
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
fn begun(mut rows: Rows) -> Result<Rows, Wrong> {
    let first = rows.values().find_map(|row| row.delay_ms);
    let first = first.ok_or_else(|| (None, "nothing came through at all".to_owned()))?;
    rows.entry(0).or_default().delay_ms.get_or_insert(first);
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(rows: &Rows) -> String {
        let mut out = Vec::new();
        write(&mut out, rows).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn moments_of_mahimahi_are_a_rate() {
        // Two packets in the first millisecond, one in the third.
        let rows = moments("1\n1\n3\n").unwrap();
        assert_eq!(text(&rows), "time_s,rate_Mbit/s\n0,24\n0.001,0\n0.002,12\n0.003,0\n");
        assert_eq!(moments("3\n1\n").unwrap_err().0, Some(2));
        assert_eq!(moments("x\n").unwrap_err().1, "`x` is no time in ms");
        assert!(moments("\n").is_err());
    }

    #[test]
    fn a_line_of_leocc_holds_for_ten_ms() {
        let rows = every_ten_ms("24\n18\n18\n30\n").unwrap();
        assert_eq!(text(&rows), "time_s,delay_ms\n0,24\n0.01,18\n0.03,30\n");
        assert_eq!(every_ten_ms("24\n-1\n").unwrap_err().0, Some(2));
    }

    #[test]
    fn round_trips_of_hypatia_are_halved() {
        let rows = changes("0,44000000\n100000000,46000000.5\n200000000,-1\n300000000,44000000\n");
        let expected = "time_s,delay_ms,loss\n0,22,0\n0.1,23.00000025,\n0.2,,1\n0.3,22,0\n";
        assert_eq!(text(&rows.unwrap()), expected);
        assert!(changes("0 44000000\n").is_err() && changes("0,-1\n").is_err());
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
        let rows = round_trips(&json, Duration::from_secs(1)).unwrap();
        assert_eq!(text(&rows), "time_s,delay_ms,loss\n0,20,0.5\n1,25,0\n");
        let wrong = round_trips("{}", Duration::from_secs(1)).unwrap_err();
        assert!(wrong.1.contains("round_trips"), "{}", wrong.1);
    }
}
