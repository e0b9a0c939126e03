//! Steps of a link's rate, delay and loss, each with the line that says it.

use super::ForeignError;
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Probability, Rate};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The most steps of a series: more are no trace, but an attack on memory.
const MAX_STEPS: usize = 10_000_000;

/// A value that holds from a moment on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step<T> {
    /// Since the trace began.
    pub at: Duration,
    /// Its value.
    pub value: T,
    /// The number of the line that says so, from 1; of JSON 0.
    pub line: usize,
}

/// One quantity of a link over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Series<T> {
    /// In order; the first at zero.
    steps: Vec<Step<T>>,
    /// The time after which it begins again, if the format says one.
    pub(crate) period: Option<Duration>,
    /// The value behind that time, if a longer period is asked for.
    pub(crate) rest: Option<T>,
}

impl<T> Default for Series<T> {
    fn default() -> Series<T> {
        Series { steps: Vec::new(), period: None, rest: None }
    }
}

impl<T: Copy + PartialEq> Series<T> {
    /// The steps, in order.
    pub fn steps(&self) -> &[Step<T>] {
        &self.steps
    }

    /// Says whether it has no value.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Adds a step behind the others.
    pub(super) fn push(&mut self, at: Duration, value: T, line: usize) -> Result<(), ForeignError> {
        if self.steps.last().is_some_and(|last| last.at >= at) {
            return Err(ForeignError::in_line(line, "two values for one moment"));
        }
        if self.steps.len() == MAX_STEPS {
            return Err(ForeignError::in_line(line, "more than 10,000,000 steps"));
        }
        self.steps.push(Step { at, value, line });
        Ok(())
    }

    /// Lets it begin again after `period`; behind its own end it rests.
    pub(crate) fn repeat(&mut self, period: Duration) -> Result<(), ForeignError> {
        if let (Some(end), Some(rest)) = (self.period, self.rest)
            && period > end
        {
            self.push(end, rest, 0)?;
        }
        self.period = Some(period);
        Ok(())
    }

    /// Lets the first value hold from the beginning. The line that says it, if it came later.
    pub(super) fn begin(&mut self) -> Option<Step<T>> {
        let first = self.steps.first_mut()?;
        let was = *first;
        first.at = Duration::ZERO;
        (!was.at.is_zero()).then_some(was)
    }
}

/// One direction of a link over time, as a trace says it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rows {
    /// Of the line.
    pub rate: Series<Rate>,
    /// One way.
    pub delay: Series<Duration>,
    /// Of packets.
    pub loss: Series<Probability>,
    /// Of bits.
    pub bit_errors: Series<Probability>,
    /// A line for each thing that was left out, or taken as something.
    pub notes: Vec<String>,
}

/// The cells of a table that is written, by moments.
type Cells = BTreeMap<Duration, [Option<f64>; 4]>;

impl Rows {
    /// Says whether it has no value at all.
    pub fn is_empty(&self) -> bool {
        let Rows { rate, delay, loss, bit_errors, notes: _ } = self;
        rate.is_empty() && delay.is_empty() && loss.is_empty() && bit_errors.is_empty()
    }

    /// When the last step begins, or the rate ends.
    pub fn end(&self) -> Duration {
        let Rows { rate, delay, loss, bit_errors, notes: _ } = self;
        let ends = [
            rate.steps.last().map(|step| step.at),
            delay.steps.last().map(|step| step.at),
            loss.steps.last().map(|step| step.at),
            bit_errors.steps.last().map(|step| step.at),
            rate.period,
        ];
        ends.into_iter().flatten().max().unwrap_or(Duration::ZERO)
    }

    /// The time after which all begins again, if the format says one.
    pub fn period(&self) -> Option<Duration> {
        self.rate.period.or(self.delay.period)
    }

    /// Writes the rows as a trace: each value only where it changes. A trace has no period: the
    /// last value holds, and a link says with `trace-period` when all begins again.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut cells = Cells::new();
        let mbit = |rate: Rate| rate.bits_per_sec() as f64 / 1e6;
        enter(&mut cells, 0, &self.rate, mbit);
        enter(&mut cells, 1, &self.delay, |delay| delay.as_nanos() as f64 / 1e6);
        enter(&mut cells, 2, &self.loss, Probability::value);
        enter(&mut cells, 3, &self.bit_errors, Probability::value);
        let names = ["rate_Mbit/s", "delay_ms", "loss", "bit-errors"];
        let has = |column: &usize| cells.values().any(|row| row[*column].is_some());
        let columns: Vec<usize> = (0..names.len()).filter(has).collect();
        let header: Vec<&str> = columns.iter().map(|column| names[*column]).collect();
        writeln!(out, "time_s,{}", header.join(","))?;
        let mut last = [None; 4];
        for (at, row) in &cells {
            let mut line = String::new();
            let mut changes = false;
            for column in &columns {
                line.push(',');
                if let Some(value) = row[*column].filter(|value| last[*column] != Some(*value)) {
                    last[*column] = Some(value);
                    line.push_str(&value.to_string());
                    changes = true;
                }
            }
            if changes {
                writeln!(out, "{}{line}", at.as_nanos() as f64 / 1e9)?;
            }
        }
        Ok(())
    }
}

fn enter<T: Copy + PartialEq>(
    cells: &mut Cells,
    column: usize,
    series: &Series<T>,
    number: impl Fn(T) -> f64,
) {
    for step in &series.steps {
        cells.entry(step.at).or_default()[column] = Some(number(step.value));
    }
}
