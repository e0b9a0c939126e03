//! Traces: files with the rate, delay and loss of a link over time.

use crate::document::Node;
use crate::error::Problem;
use crate::reader::{Context, Result};
use bentpipe_core::link::{After, Schedule};
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Probability, Rate, parse_duration};

/// What a trace file says of one direction of a link.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Trace {
    pub(crate) rate: Option<Schedule<Rate>>,
    pub(crate) delay: Option<Schedule<Duration>>,
    pub(crate) loss: Option<Schedule<Probability>>,
    pub(crate) bit_errors: Option<Schedule<Probability>>,
}

impl Trace {
    /// Reads the CSV file that `node` names: a header with `time` and any of `rate`, `delay`,
    /// `loss` and `bit-errors`, then lines with values and their units; an empty cell leaves what holds. Lines that
    /// begin with `#` are comments. A rate of `0bit/s` is an outage.
    pub(crate) fn read(context: &Context<'_>, node: &Node) -> Result<Trace> {
        let text = context.text_of_file(node)?;
        let problem = |line: usize, why: String| {
            let path = node.label();
            context.error(node.at, Problem::Value(format!("{path}, line {line}: {why}")))
        };
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
        let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let expected = "expected a header such as `time,rate,delay,loss`";
        let (number, header) = lines.next().ok_or_else(|| problem(1, expected.to_owned()))?;
        let columns: Vec<&str> = header.split(',').map(str::trim).collect();
        let known =
            |column: &&str| ["time", "rate", "delay", "loss", "bit-errors"].contains(column);
        if columns.first() != Some(&"time") || columns.len() < 2 || !columns.iter().all(known) {
            return Err(problem(number, format!("found `{header}`, {expected}")));
        }
        let (mut rate, mut delay) = (Vec::new(), Vec::new());
        let (mut loss, mut bit_errors) = (Vec::new(), Vec::new());
        for (number, line) in lines {
            let cells: Vec<&str> = line.split(',').map(str::trim).collect();
            if cells.len() != columns.len() {
                let (found, wanted) = (cells.len(), columns.len());
                return Err(problem(number, format!("found {found} cells, expected {wanted}")));
            }
            let said = |why: String| problem(number, why);
            let time = parse_duration(cells[0]).map_err(|why| said(why.to_string()))?;
            for (column, cell) in columns.iter().zip(&cells).skip(1).filter(|(_, c)| !c.is_empty())
            {
                match *column {
                    "rate" => rate.push((time, cell.parse().map_err(|w| said(format!("{w}")))?)),
                    "delay" => {
                        delay.push((time, parse_duration(cell).map_err(|w| said(w.to_string()))?));
                    }
                    "loss" => loss.push((time, cell.parse().map_err(|w| said(format!("{w}")))?)),
                    "bit-errors" => {
                        bit_errors.push((time, cell.parse().map_err(|w| said(format!("{w}")))?));
                    }
                    _ => return Err(said("`time` stands twice in the header".to_owned())),
                }
            }
        }
        let whole = |ok: bool| {
            let why = "times must rise, and the first line with a value must be at 0s";
            if ok { Ok(()) } else { Err(problem(number + 1, why.to_owned())) }
        };
        fn schedule<T: Copy>(steps: Vec<(Duration, T)>) -> (Option<Schedule<T>>, bool) {
            let empty = steps.is_empty();
            let schedule = Schedule::new(steps, After::Hold).ok();
            let ok = empty || schedule.is_some();
            (schedule, ok)
        }
        let ((rate, rate_ok), (delay, delay_ok)) = (schedule(rate), schedule(delay));
        let ((loss, loss_ok), (bit_errors, errors_ok)) = (schedule(loss), schedule(bit_errors));
        whole(rate_ok && delay_ok && loss_ok && errors_ok)?;
        Ok(Trace { rate, delay, loss, bit_errors })
    }
}
