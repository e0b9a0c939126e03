//! `bentpipe trace show`: what a trace says, in a few lines and a small graph.

use super::Error;
use super::read::{Files, read};
use bentpipe_links::{Timeline, timelines};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::process::ExitCode;

/// Columns of the graph.
const WIDTH: u32 = 64;
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Shows a trace: how long it is, and the least, mean and greatest rate, delay and loss over time.
///
/// The file is known by its content, as links know it. Several files make one trace, such as
/// LeoReplayer's rates and delays.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The file, or the files that make one trace
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Reads and shows it.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let Files { direction, name, .. } = read(&arguments.files)?;
    let series = timelines(&direction);
    let duration = series.iter().map(Timeline::duration).fold(0.0, f64::max);
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let mut object = Map::new();
        object.insert("duration_s".to_owned(), json!(duration));
        for one in &series {
            object.insert(key(one), json(one));
        }
        writeln!(out, "{}", Value::Object(object))?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "{name}: {duration} s")?;
    for one in &series {
        let (min, mean, max) = one.range();
        let (name, unit) = (one.name, one.unit);
        writeln!(
            out,
            "{name}: {min:.6} min, {mean:.6} mean, {max:.6} max {unit}, {} steps",
            one.steps.len()
        )?;
        writeln!(out, "  {}", graph(one, duration))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn key(of: &Timeline) -> String {
    let unit = match of.unit {
        "Mbit/s" => "_mbit_s",
        "ms" => "_ms",
        "%" => "_percent",
        _ => "",
    };
    format!("{}{unit}", of.name.replace('-', "_"))
}

fn json(of: &Timeline) -> Value {
    let (min, mean, max) = of.range();
    json!({ "min": min, "mean": mean, "max": max, "steps": of.steps.len() })
}

/// The mean of each column, from the bottom (0) to the greatest.
fn graph(of: &Timeline, duration: f64) -> String {
    let columns = of.columns(WIDTH, duration);
    let max = columns.iter().copied().flatten().fold(0.0, f64::max);
    let level = |value: f64| match max > 0.0 {
        true => (value / max * 7.0).round() as usize,
        false => 0,
    };
    columns.iter().map(|mean| mean.map_or(' ', |mean| LEVELS[level(mean).min(7)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_as_high_as_its_mean() {
        let steps = vec![(1.0, 3.0), (5.0, 1.0), (9.0, 0.0)];
        let rate = Timeline { name: "rate", unit: "Mbit/s", steps };
        assert_eq!(key(&rate), "rate_mbit_s");
        assert_eq!(graph(&rate, rate.duration()), "▂".repeat(48) + &"█".repeat(16));
    }
}
