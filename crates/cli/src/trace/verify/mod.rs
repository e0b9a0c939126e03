//! `bentpipe trace verify`: what the link and the simulator make of a trace, against the file.

mod model;
mod replay;

use super::Error;
use super::path::{span, step};
use super::read::{Files, read};
use bentpipe_core::link::Varying;
use bentpipe_core::time::Duration;
use bentpipe_core::units::Rate;
use replay::PACKET;
use serde_json::{Value, json};
use std::io::Write;
use std::process::ExitCode;

/// Replays a trace in virtual time, over a link that always has packets waiting, and compares the
/// bytes that leave it in each window with those of the file.
///
/// It does so with the link that `bentpipe link` runs, and with a flow of the simulator. Nothing is
/// lost meanwhile. Delays are compared by a packet each ms. The exit code is 1 if anything is off
/// by more than the tolerance.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  bentpipe trace verify fades.csv
  bentpipe trace verify bw_1.txt delay_1.txt --json
  bentpipe trace verify Verizon-LTE-driving.down --csv > windows.csv
")]
pub(crate) struct Arguments {
    /// The file, or the files that make one trace
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    /// How long a window is
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = step)]
    window: Duration,
    /// How much of the trace is replayed; else all
    #[arg(long = "for", value_name = "TIME", value_parser = span)]
    lasting: Option<Duration>,
    /// By how many packets of 1500 bytes a window may be off: one at its border is not yet sent
    #[arg(long, value_name = "PACKETS", default_value_t = 1.0, value_parser = super::shell::within::<0, 1_000_000>)]
    tolerance: f64,
    /// As JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Each window, as CSV
    #[arg(long)]
    csv: bool,
}

/// The longest error of a delay: the link counts in ns.
const DELAY_TOLERANCE: Duration = Duration::from_nanos(1);
/// More would be no test, but one of patience.
const MAX_WINDOWS: u128 = 1_000_000;
const MAX_PACKETS: f64 = 1e9;

/// Verifies, and says what came of it.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let Files { direction, rows, texts, name } = read(&arguments.files)?;
    let window = arguments.window;
    let failed = |why: &str| Error::Format { place: name.clone(), why: why.to_owned() };
    if rows.rate.is_empty() && rows.delay.is_empty() {
        return Err(failed("it has neither a rate nor a delay to replay"));
    }
    // A single value lasts for a second.
    let end = if rows.end().is_zero() { Duration::from_secs(1) } else { rows.end() };
    let length = arguments.lasting.map_or(end, |lasting| lasting.min(end));
    let count = length.as_nanos() / window.as_nanos();
    if count == 0 {
        return Err(failed("it is shorter than a window (see --window)"));
    }
    let count = u32::try_from(count.min(MAX_WINDOWS)).unwrap_or(u32::MAX);
    let mut report = Report {
        name: name.clone(),
        window,
        tolerance: arguments.tolerance * PACKET as f64,
        expected: Vec::new(),
        link: Vec::new(),
        simulator: Vec::new(),
        delay: None,
    };
    if let Some(rate) = direction.rate.as_ref().map(Varying::<Rate>::greatest)
        && !rows.rate.is_empty()
    {
        report.expected = model::bytes(&rows, window, count);
        let packets = |bytes: f64| bytes / PACKET as f64;
        let most = report.expected.iter().copied().fold(0.0, f64::max);
        if packets(report.expected.iter().sum()) > MAX_PACKETS
            || packets(most) > MAX_PACKETS / 100.0
        {
            return Err(failed("it has too many packets to replay (see --for and --window)"));
        }
        report.link = replay::link(&direction, window, &report.expected);
        report.simulator = replay::simulator(&texts, &arguments.files, rate, window, count)?;
    }
    if !rows.delay.is_empty() {
        report.delay = Some(replay::delays(&direction, &rows, window * count));
    }
    let mut out = std::io::stdout().lock();
    match (arguments.json, arguments.csv) {
        (true, _) => writeln!(out, "{:#}", report.json())?,
        (false, true) => report.csv(&mut out)?,
        (false, false) => report.text(&mut out)?,
    }
    Ok(if report.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What was found.
struct Report {
    name: String,
    window: Duration,
    /// In bytes.
    tolerance: f64,
    /// Bytes in each window.
    expected: Vec<f64>,
    link: Vec<f64>,
    simulator: Vec<f64>,
    /// Packets, and the greatest error.
    delay: Option<(u64, Duration)>,
}

/// Errors of windows.
struct Errors {
    bytes: f64,
    /// In bytes.
    max: f64,
    /// Shares of what is expected: median, 99 % and greatest.
    shares: [f64; 3],
    within_one_packet: f64,
}

impl Errors {
    fn of(found: &[f64], expected: &[f64]) -> Errors {
        let off = || found.iter().zip(expected).map(|(found, expected)| (found - expected).abs());
        let mut shares: Vec<f64> = off()
            .zip(expected)
            .filter(|(_, expected)| **expected > 0.0)
            .map(|(off, expected)| off / expected)
            .collect();
        shares.sort_by(f64::total_cmp);
        let quantile = |share: f64| {
            let last = shares.len().saturating_sub(1);
            shares.get((share * last as f64).round() as usize).copied().unwrap_or(0.0)
        };
        // As of sums of floats.
        let within = off().filter(|off| *off <= PACKET as f64 + 1e-3).count();
        // A window that is not there is off by all of it.
        let missing = expected.iter().skip(found.len()).copied().fold(0.0, f64::max);
        Errors {
            bytes: found.iter().sum(),
            max: off().fold(missing, f64::max),
            shares: [quantile(0.5), quantile(0.99), quantile(1.0)],
            within_one_packet: within as f64 / expected.len().max(1) as f64,
        }
    }
}

impl Report {
    fn holds(&self) -> bool {
        let delays = self.delay.is_none_or(|(_, worst)| worst <= DELAY_TOLERANCE);
        let bytes = self.replays().iter().all(|(_, errors)| errors.max <= self.tolerance + 1e-3);
        delays && bytes
    }

    fn replays(&self) -> Vec<(&'static str, Errors)> {
        if self.expected.is_empty() {
            return Vec::new();
        }
        let of = |found: &[f64]| Errors::of(found, &self.expected);
        vec![("link", of(&self.link)), ("simulator", of(&self.simulator))]
    }

    fn text(&self, out: &mut impl Write) -> std::io::Result<()> {
        let (windows, bytes) = (self.expected.len(), self.expected.iter().sum::<f64>());
        if windows > 0 {
            let window = self.window;
            writeln!(out, "{}: {windows} windows of {window:?}, {bytes:.0} bytes", self.name)?;
        }
        for (name, errors) in self.replays() {
            let [median, p99, max] = errors.shares.map(|share| share * 100.0);
            let whole = (errors.bytes - bytes) / bytes.max(1.0) * 100.0;
            writeln!(
                out,
                "{name}: {:.0} bytes ({whole:+.4} %), error of a window {median:.3} % median, {p99:.3} % p99, {max:.3} % max ({:.0} bytes), {:.1} % within one packet",
                errors.bytes,
                errors.max,
                errors.within_one_packet * 100.0
            )?;
        }
        if let Some((packets, worst)) = self.delay {
            writeln!(out, "delay: {packets} packets, error {worst:?} max")?;
        }
        let verdict = if self.holds() { "holds" } else { "does not hold" };
        let (tolerance, packets) = (self.tolerance, self.tolerance / PACKET as f64);
        let bytes =
            (windows > 0).then(|| format!("{tolerance:.0} bytes a window ({packets} × 1500)"));
        let delay = self.delay.map(|_| "1 ns of delay".to_owned());
        let limits: Vec<String> = bytes.into_iter().chain(delay).collect();
        writeln!(out, "{verdict} within {}", limits.join(" and "))
    }

    fn csv(&self, out: &mut impl Write) -> std::io::Result<()> {
        writeln!(out, "time_s,file_bytes,link_bytes,simulator_bytes")?;
        let rows = self.expected.iter().zip(&self.link).zip(&self.simulator);
        for (index, ((file, link), simulator)) in rows.enumerate() {
            let at = (self.window * u32::try_from(index).unwrap_or(u32::MAX)).as_secs_f64();
            writeln!(out, "{at},{file},{link},{simulator}")?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let mut value = json!({
            "file": self.name,
            "window_s": self.window.as_secs_f64(),
            "windows": self.expected.len(),
            "bytes": self.expected.iter().sum::<f64>(),
            "tolerance_bytes": self.tolerance,
            "holds": self.holds(),
        });
        for (name, errors) in self.replays() {
            let [median, p99, max] = errors.shares;
            value[name] = json!({
                "bytes": errors.bytes,
                "error_median": median,
                "error_p99": p99,
                "error_max": max,
                "error_max_bytes": errors.max,
                "within_one_packet": errors.within_one_packet,
            });
        }
        if let Some((packets, worst)) = self.delay {
            value["delay"] = json!({ "packets": packets, "error_max_s": worst.as_secs_f64() });
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_is_off_by_more_does_not_hold() {
        let mut report = Report {
            name: "x".to_owned(),
            window: Duration::from_millis(100),
            tolerance: 1500.0,
            expected: vec![100_000.0, 0.0, 50_000.0],
            link: vec![100_000.0, 1500.0, 49_000.0],
            simulator: vec![100_000.0, 0.0, 50_000.0],
            delay: Some((10, Duration::ZERO)),
        };
        assert!(report.holds());
        let errors = Errors::of(&report.link, &report.expected);
        assert_eq!((errors.max, errors.within_one_packet), (1500.0, 1.0));
        assert_eq!(errors.shares, [0.02, 0.02, 0.02]);
        report.simulator[0] = 98_000.0;
        assert!(!report.holds());
        report.simulator = vec![100_000.0];
        assert!(!report.holds(), "windows are missing");
        report.simulator = report.expected.clone();
        report.delay = Some((10, Duration::from_nanos(2)));
        assert!(!report.holds());
    }
}
