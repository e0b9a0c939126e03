//! Delay distributions of tc-netem (`/usr/lib/tc/*.dist`), as a random time.
//!
//! A table has some thousand whole numbers, in units of 1/8192 of a standard deviation. For a
//! packet netem draws one of them, v, and delays it by mean + deviation · v / 8192. If that is
//! negative, it does not (`tc-netem(8)`; `tabledist` of Linux's `net/sched/sch_netem.c`).

use super::{ForeignError, lines};
use bentpipe_core::time::Duration;
use std::io::{self, Write};

/// `NETEM_DIST_SCALE`.
const SCALE: f64 = 8192.0;
/// `NETEM_DIST_MAX`.
const MAX_VALUES: usize = 16_384;
/// Points of the distribution that is written.
const POINTS: usize = 256;

/// A table of tc-netem, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct NetemTable(Vec<i16>);

impl NetemTable {
    /// Reads a table: whole numbers with spaces between, and comments that begin with `#`.
    ///
    /// # Errors
    /// The line with something else, or that there are none or more than tc takes.
    pub fn parse(text: &str) -> Result<NetemTable, ForeignError> {
        let mut values = Vec::new();
        for (number, line) in lines(text) {
            for word in line.split_whitespace() {
                let value = word.parse().map_err(|_| {
                    let why = format!(
                        "`{word}` is none of netem's (a whole number from -32768 to 32767)"
                    );
                    ForeignError::in_line(number, why)
                })?;
                values.push(value);
            }
            if values.len() > MAX_VALUES {
                let why = format!("more than {MAX_VALUES} numbers, which tc refuses too");
                return Err(ForeignError::in_line(number, why));
            }
        }
        values.sort_unstable();
        match values.is_empty() {
            true => Err(ForeignError::whole("it has no numbers")),
            false => Ok(NetemTable(values)),
        }
    }

    /// The delays of `netem delay MEAN DEVIATION`: the least, and their distribution.
    ///
    /// Its points are a delay and the share of packets with at most that.
    pub fn delays(&self, mean: Duration, deviation: Duration) -> (Duration, Vec<(Duration, f64)>) {
        let nanos = |value: i16| {
            let delay =
                mean.as_nanos() as f64 + deviation.as_nanos() as f64 * f64::from(value) / SCALE;
            Duration::from_nanos(delay.max(0.0).round() as u64)
        };
        let values = &self.0;
        let count = values.len();
        let points = POINTS.min(count);
        let mut found: Vec<(Duration, f64)> = Vec::new();
        for point in 1..=points {
            let end = point * count / points;
            let (delay, share) = (nanos(values[end - 1]), end as f64 / count as f64);
            match found.last_mut() {
                // Delays that are alike are one point.
                Some(last) if last.0 == delay => last.1 = share,
                _ => found.push((delay, share)),
            }
        }
        (nanos(values[0]), found)
    }

    /// Writes these delays as two settings of a scenario's link.
    ///
    /// The least is its `delay`, the rest its `jitter`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(
        &self,
        out: &mut impl Write,
        mean: Duration,
        deviation: Duration,
    ) -> io::Result<()> {
        let (least, points) = self.delays(mean, deviation);
        let ms = |delay: Duration| delay.as_nanos() as f64 / 1e6;
        writeln!(out, "delay = \"{}ms\"", ms(least))?;
        let points: Vec<String> = points
            .into_iter()
            .map(|(delay, share)| format!("[\"{}ms\", {share}]", ms(delay - least)))
            .collect();
        writeln!(out, "jitter = {{ measured = [{}] }}", points.join(", "))
    }
}

/// Whether lines that begin with `line` are a table: several numbers a line, nothing else.
pub(super) fn is_table(line: &str) -> bool {
    line.split_whitespace().count() > 2
        && line.split_whitespace().all(|word| word.parse::<i16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::Distribution;

    /// A uniform table: -8192 to 8191 in 4096 steps.
    fn uniform() -> String {
        let values: Vec<String> = (0..4096).map(|i| (i * 4 - 8192).to_string()).collect();
        let lines: Vec<String> = values.chunks(8).map(|line| line.join(" ")).collect();
        format!("# uniform\n{}\n", lines.join("\n"))
    }

    #[test]
    fn a_table_is_a_distribution_of_delays() {
        let table = NetemTable::parse(&uniform()).unwrap();
        let (mean, deviation) = (Duration::from_millis(40), Duration::from_millis(10));
        let (least, points) = table.delays(mean, deviation);
        assert_eq!((least, points.len()), (Duration::from_millis(30), 256));
        let points: Vec<(f64, f64)> =
            points.into_iter().map(|(delay, share)| (delay.as_secs_f64(), share)).collect();
        let drawn = Distribution::Measured(points);
        assert!((drawn.mean() - 0.04).abs() < 1e-4, "{}", drawn.mean());
        for (u, delay) in [(0.1, 0.032), (0.5, 0.04), (0.9, 0.048)] {
            assert!((drawn.quantile(u) - delay).abs() < 1e-4, "{u}");
        }
    }

    #[test]
    fn what_would_be_negative_is_no_delay() {
        let table = NetemTable::parse("-16384 -8192 0 8192").unwrap();
        let (least, points) = table.delays(Duration::from_millis(5), Duration::from_millis(10));
        let ms = Duration::from_millis;
        assert_eq!((least, points), (ms(0), vec![(ms(0), 0.5), (ms(5), 0.75), (ms(15), 1.0)]));
        let mut out = Vec::new();
        table.write(&mut out, ms(20), ms(10)).unwrap();
        let expected = "delay = \"0ms\"\njitter = { measured = [[\"0ms\", 0.25], [\"10ms\", 0.5], [\"20ms\", 0.75], [\"30ms\", 1]] }\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn what_is_no_table_is_refused() {
        assert_eq!(NetemTable::parse("1 2\n3 40000").unwrap_err().line, Some(2));
        assert!(NetemTable::parse("# nothing\n").is_err());
        assert!(NetemTable::parse(&"1 ".repeat(16_385)).is_err());
        assert!(is_table(" -21537 -21537 3") && !is_table("1 2") && !is_table("1"));
    }
}
