//! `bentpipe trace show`: what a trace says, in a few lines and a small graph.

use super::Error;
use bentpipe_core::link::{After, LossKind, Varying};
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Probability, Rate};
use bentpipe_links::{LinkSettings, Way};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::process::ExitCode;

/// Columns of the graph.
const WIDTH: u64 = 64;
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Shows a trace: how long it is, and the least, mean and greatest rate, delay and loss over time.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The file
    #[arg(value_name = "FILE")]
    file: String,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Numbers over time.
struct Series {
    name: &'static str,
    unit: &'static str,
    /// Value, and for how long, in seconds; the last one for as long as the trace says, which may be no time.
    steps: Vec<(f64, f64)>,
}

/// Reads and shows it.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let mut settings = LinkSettings::default();
    settings.set(Way::Both, &arguments.file, "trace", &json!(arguments.file).to_string());
    let file = |name: &str| std::fs::read_to_string(name).map_err(|error| error.to_string());
    let link = settings.read(&file, 1, Duration::ZERO).map_err(|error| Error::Format {
        place: arguments.file.clone(),
        why: error.problem.to_string(),
    })?;
    let direction = &link.directions[0];
    let mut series = Vec::new();
    let rate = |rate: Rate| rate.bits_per_sec() as f64 / 1e6;
    series.extend(direction.rate.as_ref().and_then(|of| read("rate", "Mbit/s", of, rate)));
    series
        .extend(read("delay", "ms", &direction.delay, |delay: Duration| delay.as_secs_f64() * 1e3));
    let percent = |loss: Probability| loss.value() * 100.0;
    if let LossKind::Independent(loss) = &direction.loss {
        series.extend(read("loss", "%", loss, percent));
    }
    series.extend(read("bit-errors", "", &direction.bit_errors, Probability::value));
    let duration = series.iter().map(Series::duration).fold(0.0, f64::max);
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let mut object = Map::new();
        object.insert("duration_s".to_owned(), json!(duration));
        for one in &series {
            object.insert(one.key(), one.json());
        }
        writeln!(out, "{}", Value::Object(object))?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "{}: {duration} s", arguments.file)?;
    for one in &series {
        let (min, mean, max) = one.range();
        let (name, unit) = (one.name, one.unit);
        writeln!(
            out,
            "{name}: {min:.6} min, {mean:.6} mean, {max:.6} max {unit}, {} steps",
            one.steps.len()
        )?;
        writeln!(out, "  {}", one.graph(duration))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What changes over time; None of what does not.
fn read<T: Copy>(
    name: &'static str,
    unit: &'static str,
    of: &Varying<T>,
    number: impl Fn(T) -> f64,
) -> Option<Series> {
    let Varying::Scheduled(schedule) = of else { return None };
    let steps = schedule.steps();
    let end = match schedule.after() {
        After::Repeat(period) => period,
        After::Hold => steps.last()?.0,
    };
    let until = steps.iter().skip(1).map(|(at, _)| *at).chain([end]);
    let lasts = |(at, until): (Duration, Duration)| until.saturating_sub(at).as_secs_f64();
    let steps =
        steps.iter().zip(until).map(|((at, value), until)| (number(*value), lasts((*at, until))));
    Some(Series { name, unit, steps: steps.collect() })
}

impl Series {
    fn duration(&self) -> f64 {
        self.steps.iter().map(|(_, lasts)| lasts).sum()
    }

    /// Least, mean over time, and greatest.
    fn range(&self) -> (f64, f64, f64) {
        let values = || self.steps.iter().map(|(value, _)| *value);
        let (min, max) =
            (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        let sum: f64 = self.steps.iter().map(|(value, lasts)| value * lasts).sum();
        let duration = self.duration();
        // A single value that holds has no length.
        (min, if duration > 0.0 { sum / duration } else { min }, max)
    }

    fn key(&self) -> String {
        let unit = match self.unit {
            "Mbit/s" => "_mbit_s",
            "ms" => "_ms",
            "%" => "_percent",
            _ => "",
        };
        format!("{}{unit}", self.name.replace('-', "_"))
    }

    fn json(&self) -> Value {
        let (min, mean, max) = self.range();
        json!({ "min": min, "mean": mean, "max": max, "steps": self.steps.len() })
    }

    /// The mean of each column, from the bottom (0) to the greatest.
    fn graph(&self, duration: f64) -> String {
        let columns = self.columns(duration);
        let max = columns.iter().copied().flatten().fold(0.0, f64::max);
        let level = |value: f64| match max > 0.0 {
            true => (value / max * 7.0).round() as usize,
            false => 0,
        };
        columns.iter().map(|mean| mean.map_or(' ', |mean| LEVELS[level(mean).min(7)])).collect()
    }

    /// The mean of each of as many columns of time.
    fn columns(&self, duration: f64) -> Vec<Option<f64>> {
        let width = duration / WIDTH as f64;
        let mut sums = vec![(0.0, 0.0); WIDTH as usize];
        let mut at = 0.0;
        for (value, lasts) in &self.steps {
            let end = at + lasts;
            let (first, last) = ((at / width) as usize, (end / width) as usize);
            for (column, sum) in sums.iter_mut().enumerate().take(last + 1).skip(first) {
                let from = (column as f64 * width).max(at);
                let part = ((column + 1) as f64 * width).min(end) - from;
                if part > 0.0 {
                    sum.0 += value * part;
                    sum.1 += part;
                }
            }
            at = end;
        }
        sums.into_iter().map(|(sum, part)| (part > 0.0).then(|| sum / part)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_over_time() {
        let steps = vec![(1.0, 3.0), (5.0, 1.0), (9.0, 0.0)];
        let series = Series { name: "rate", unit: "Mbit/s", steps };
        assert_eq!(series.range(), (1.0, 2.0, 9.0));
        assert_eq!(series.key(), "rate_mbit_s");
        let graph = series.graph(series.duration());
        assert_eq!(graph, "▂".repeat(48) + &"█".repeat(16));
        let one = Series { name: "delay", unit: "ms", steps: vec![(4.0, 0.0)] };
        assert_eq!(one.range(), (4.0, 4.0, 4.0));
    }
}
