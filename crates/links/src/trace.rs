//! Traces: files with the rate, delay and loss of a link over time.

use bentpipe_config::Problem;
use bentpipe_config::document::Node;
use bentpipe_config::reader::{Context, Result};
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

/// What a column may have.
const COLUMNS: [&str; 5] = ["time", "rate", "delay", "loss", "bit-errors"];
/// Units that have another name in headers.
const UNITS: [(&str, &str); 6] = [
    ("bps", "bit/s"),
    ("kbps", "kbit/s"),
    ("mbps", "Mbit/s"),
    ("gbps", "Gbit/s"),
    ("percent", "%"),
    ("pct", "%"),
];
/// What an opportunity of mahimahi's delivers: one full-sized packet.
const OPPORTUNITY_BITS: u64 = 1500 * 8;

/// A column: what it has, and the unit of its cells, if they have none themselves.
#[derive(Debug, Clone, Copy)]
struct Column<'a> {
    what: &'static str,
    unit: &'a str,
}

impl<'a> Column<'a> {
    /// `delay`, or `delay_ms`.
    fn read(header: &'a str) -> Option<Column<'a>> {
        let (name, unit) = header.split_once('_').unwrap_or((header, ""));
        let what = COLUMNS.into_iter().find(|column| *column == name)?;
        let lower = unit.to_lowercase();
        let known = UNITS.iter().find(|(other, _)| *other == lower);
        Some(Column { what, unit: known.map_or(unit, |(_, unit)| unit) })
    }

    /// A cell with its unit.
    fn text(&self, cell: &str) -> String {
        format!("{cell}{}", self.unit)
    }
}

impl Trace {
    /// Reads the file that `node` names; with a `period` all of it begins anew after that time. It
    /// is CSV: a header with `time` and any of `rate`, `delay`, `loss` and `bit-errors`, then lines
    /// with values and their units, which may stand in the header instead (`time_s`); an empty cell
    /// leaves what holds. Lines that begin with `#` are comments. A rate of `0bit/s` lets the line
    /// stand still. Or it is a trace of mahimahi's: see [`mahimahi`].
    pub(crate) fn read(
        context: &Context<'_>,
        node: &Node,
        period: Option<Duration>,
    ) -> Result<Trace> {
        let text = context.text_of_file(node)?;
        let problem = |line: usize, why: String| {
            let path = node.label();
            context.error(node.at, Problem::Value(format!("{path}, line {line}: {why}")))
        };
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
        let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let expected = "expected a header such as `time,rate,delay,loss` or `time_s,delay_ms`";
        let (first, header) = lines.next().ok_or_else(|| problem(1, expected.to_owned()))?;
        if header.bytes().all(|byte| byte.is_ascii_digit()) {
            let all = std::iter::once((first, header)).chain(lines);
            let rate = mahimahi(all, period).map_err(|(line, why)| problem(line, why))?;
            return Ok(Trace { rate: Some(rate), ..Trace::default() });
        }
        let columns: Option<Vec<Column<'_>>> =
            header.split(',').map(|column| Column::read(column.trim())).collect();
        let sound = |columns: &Vec<Column<'_>>| columns.len() >= 2 && columns[0].what == "time";
        let Some(columns) = columns.filter(sound) else {
            return Err(problem(first, format!("found `{header}`, {expected}")));
        };
        let (mut rate, mut delay) = (Vec::new(), Vec::new());
        let (mut loss, mut bit_errors) = (Vec::new(), Vec::new());
        for (number, line) in lines {
            let cells: Vec<&str> = line.split(',').map(str::trim).collect();
            if cells.len() != columns.len() {
                let (found, wanted) = (cells.len(), columns.len());
                return Err(problem(number, format!("found {found} cells, expected {wanted}")));
            }
            let said = |why: String| problem(number, why);
            let span = |text: &str| parse_duration(text).map_err(|why| said(why.to_string()));
            let time = span(&columns[0].text(cells[0]))?;
            for (column, cell) in columns.iter().zip(&cells).skip(1).filter(|(_, c)| !c.is_empty())
            {
                let cell = column.text(cell);
                match column.what {
                    "rate" => rate.push((time, cell.parse().map_err(|w| said(format!("{w}")))?)),
                    "delay" => delay.push((time, span(&cell)?)),
                    "loss" => loss.push((time, cell.parse().map_err(|w| said(format!("{w}")))?)),
                    "bit-errors" => {
                        bit_errors.push((time, cell.parse().map_err(|w| said(format!("{w}")))?));
                    }
                    _ => return Err(said("`time` stands twice in the header".to_owned())),
                }
            }
        }
        let after = period.map_or(After::Hold, After::Repeat);
        let why = |error: String| {
            problem(first + 1, format!("{error}; the first line with a value is at 0s"))
        };
        Ok(Trace {
            rate: schedule(rate, after).map_err(why)?,
            delay: schedule(delay, after).map_err(why)?,
            loss: schedule(loss, after).map_err(why)?,
            bit_errors: schedule(bit_errors, after).map_err(why)?,
        })
    }
}

fn schedule<T>(
    steps: Vec<(Duration, T)>,
    after: After,
) -> std::result::Result<Option<Schedule<T>>, String> {
    if steps.is_empty() {
        return Ok(None);
    }
    Schedule::new(steps, after).map(Some).map_err(|error| error.to_string())
}

/// A defect of a trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct TraceError {
    /// Its number, from 1.
    pub line: usize,
    /// Why.
    pub why: String,
}

/// Reads a file of mahimahi's `mm-link` as a rate, for a link's `trace`.
///
/// It begins again after the last moment.
///
/// # Errors
/// The line that is no moment, or is before the one above it.
pub fn mahimahi_rate(text: &str) -> std::result::Result<Schedule<Rate>, TraceError> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    mahimahi(lines, None).map_err(|(line, why)| TraceError { line, why })
}

/// A trace of mahimahi's `mm-link`: each line is a moment, in ms, at which one full-sized packet
/// may leave; it begins anew after the last. As a rate: in the millisecond up to a moment, 12
/// Mbit/s for each packet that may leave then. So full-sized packets that wait leave when they do
/// there, and what is not used is lost, as it is there.
fn mahimahi<'t>(
    lines: impl Iterator<Item = (usize, &'t str)>,
    period: Option<Duration>,
) -> std::result::Result<Schedule<Rate>, (usize, String)> {
    let mut moments: Vec<(u64, u64)> = Vec::new();
    for (number, line) in lines {
        let moment: u64 = line
            .parse()
            .ok()
            .filter(|moment| *moment < 1_000_000_000)
            .ok_or_else(|| (number, format!("`{line}` is no time in ms")))?;
        // The millisecond that ends then; the first moment has none before it.
        let slot = moment.max(1) - 1;
        match moments.last_mut() {
            Some((last, packets)) if *last == slot => *packets += 1,
            Some((last, _)) if *last > slot => {
                return Err((number, "the times of a trace must not fall".to_owned()));
            }
            _ => moments.push((slot, 1)),
        }
    }
    let (mut steps, mut next) = (Vec::new(), 0);
    let at = Duration::from_millis;
    for (slot, packets) in &moments {
        if *slot > next || steps.is_empty() && *slot > 0 {
            steps.push((at(next), Rate::from_bits_per_sec(0)));
        }
        let rate = Rate::from_bits_per_sec(packets * OPPORTUNITY_BITS * 1000);
        steps.push((at(*slot), rate));
        next = slot + 1;
    }
    let period = period.unwrap_or(at(next));
    if period > at(next) {
        steps.push((at(next), Rate::from_bits_per_sec(0)));
    }
    // Neighbours that are alike are one step.
    steps.dedup_by(|later, earlier| later.1 == earlier.1);
    Schedule::new(steps, After::Repeat(period)).map_err(|error| (1, error.to_string()))
}
