//! Tables with a header: bentpipe's own traces, and other people's measurements.
//!
//! Columns are known by their names, in any order. Those that no link has are left out, and named
//! in a note.

mod clock;
mod header;
mod table;

use super::{ForeignError, Rows};
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Probability, parse_duration};
use clock::{Clock, Nanos};
use header::{Column, Header, Quantity};
use std::borrow::Cow;
use std::str::FromStr;
use table::Table;

/// A column by its name, and the unit of its cells: `capacity_mbps=Mbit/s`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnChoice {
    /// As it stands in the header.
    pub name: String,
    /// Without one, that of the header or of the cells.
    pub unit: Option<String>,
}

impl FromStr for ColumnChoice {
    type Err = String;
    fn from_str(text: &str) -> Result<ColumnChoice, String> {
        let (name, unit) = match text.rsplit_once('=') {
            Some((name, unit)) if header::unit(unit).is_some() => (name, Some(unit.to_owned())),
            Some((_, unit)) => {
                return Err(format!("`{unit}` is no unit (expected one such as Mbit/s, ms or %)"));
            }
            None => (text, None),
        };
        Ok(ColumnChoice { name: name.trim().to_owned(), unit })
    }
}

/// The columns of a table that are asked for.
///
/// Without any, they are known by their names.
#[derive(Debug, Clone, Default)]
pub struct CsvColumns {
    /// Times; without it, the column that is known by its name.
    pub time: Option<ColumnChoice>,
    /// Rates.
    pub rate: Option<ColumnChoice>,
    /// Delays, one way.
    pub delay: Option<ColumnChoice>,
    /// Round trips, of which half is the delay.
    pub rtt: Option<ColumnChoice>,
    /// Losses.
    pub loss: Option<ColumnChoice>,
    /// The time between two rows, instead of what the table says.
    pub step: Option<Duration>,
}

impl CsvColumns {
    fn asked(&self) -> Vec<(Quantity, &ColumnChoice)> {
        let all = [
            (Quantity::Rate, &self.rate),
            (Quantity::Delay, &self.delay),
            (Quantity::RoundTrip, &self.rtt),
            (Quantity::Loss, &self.loss),
        ];
        all.into_iter()
            .filter_map(|(quantity, choice)| Some((quantity, choice.as_ref()?)))
            .collect()
    }

    fn header<'a>(&'a self, names: &[&'a str]) -> Result<Header<'a>, ForeignError> {
        let asked = self.asked();
        let known = match asked.is_empty() {
            true => Header::by_names(names)?,
            false => Header::chosen(names, &asked)?,
        };
        let time = match &self.time {
            Some(choice) => Header::chosen(names, &[(Quantity::Time, choice)])?.columns,
            None if asked.is_empty() => return Ok(known),
            // Other columns that are alike do not matter.
            None => Header::by_names(names)?
                .columns
                .into_iter()
                .filter(|c| c.quantity == Quantity::Time)
                .collect(),
        };
        let mut columns: Vec<_> =
            known.columns.into_iter().filter(|column| column.quantity != Quantity::Time).collect();
        let left_out = known.left_out.into_iter();
        let left_out =
            left_out.filter(|name| time.iter().all(|column| column.name != *name)).collect();
        columns.extend(time);
        Ok(Header { columns, left_out })
    }
}

/// What a header is to be like.
const HEADER: &str = "a header such as `time_s,rate_Mbit/s,delay_ms,loss`, or columns that `bentpipe trace convert csv` is given by name";

/// Reads a table.
///
/// Times are counted from the first row. An empty cell leaves what holds; a value that comes later
/// than the first row holds from the beginning.
///
/// # Errors
/// The line that is wrong, and why.
pub fn csv(text: &str, asked: &CsvColumns) -> Result<Rows, ForeignError> {
    let mut table = Table::open(text)?;
    let (at, names) = (table.header_at, table.names.clone());
    let here = |error: ForeignError| ForeignError { line: error.line.or(Some(at)), ..error };
    let header = asked.header(&names).map_err(here)?;
    let time = header.column(Quantity::Time);
    let no_time = time.is_none() && asked.step.is_none();
    let no_value = header.columns.iter().all(|column| column.quantity == Quantity::Time);
    if no_time || no_value {
        let what = if no_time { "column of times" } else { "rate, delay or loss" };
        let why = format!("found `{}`, which has no {what}: expected {HEADER}", shown(&names));
        return Err(ForeignError::in_line(at, why));
    }
    let mut rows = Rows::default();
    let mut times = Times::new(time, asked.step);
    let mut row: Vec<Cow<'_, str>> = Vec::new();
    while let Some(line) = table.next(&mut row)? {
        let at = times.next(line, &row)?;
        let in_line = |error| ForeignError { line: Some(line), ..error };
        add(&mut rows, &header, &row, (at, line)).map_err(in_line)?;
    }
    if rows.is_empty() {
        return Err(ForeignError::whole("it has a header, and no row with a value"));
    }
    note(&mut rows, &header, times);
    Ok(rows)
}

fn shown(names: &[&str]) -> String {
    let line = names.join(",");
    match line.char_indices().nth(100) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The times of rows.
struct Times<'a> {
    column: Option<&'a Column<'a>>,
    step: Option<Duration>,
    clock: Option<Clock>,
    /// The first moment, its line and its text.
    first: Option<(Nanos, usize, String)>,
    last: (Duration, usize),
    rows: u32,
    /// The shortest gaps.
    gaps: Vec<Duration>,
}

/// Gaps that are looked at for [`Times::is_buffered`].
const GAPS: usize = 10_000;

impl<'a> Times<'a> {
    fn new(column: Option<&'a Column<'a>>, step: Option<Duration>) -> Times<'a> {
        let last = (Duration::ZERO, 0);
        Times { column, step, clock: None, first: None, last, rows: 0, gaps: Vec::new() }
    }

    fn next(&mut self, line: usize, row: &[Cow<'_, str>]) -> Result<Duration, ForeignError> {
        if let Some(step) = self.step {
            let at = step.checked_mul(self.rows);
            self.rows = self.rows.saturating_add(1);
            return at.ok_or_else(|| ForeignError::in_line(line, "a time of more than a century"));
        }
        let wrong = |why: String| ForeignError::in_line(line, why);
        let Some(column) = self.column else { return Ok(Duration::ZERO) };
        let cell = &*row[column.index];
        if cell.is_empty() {
            return Err(wrong("it has no time".to_owned()));
        }
        let clock = match &mut self.clock {
            Some(clock) => clock,
            none => none.insert(Clock::of(column.unit, cell).map_err(wrong)?),
        };
        let moment = clock.read(cell).map_err(wrong)?;
        let (first, ..) = *self.first.get_or_insert_with(|| (moment, line, cell.to_owned()));
        let falls = || {
            let (_, above) = self.last;
            format!("the time `{cell}` is before that of line {above}")
        };
        let since = u64::try_from(moment - first).map_err(|_| wrong(falls()))?;
        let since = Duration::from_nanos(since);
        if since < self.last.0 {
            return Err(wrong(falls()));
        }
        if self.last.1 > 0 && self.gaps.len() < GAPS {
            self.gaps.push(since - self.last.0);
        }
        self.last = (since, line);
        Ok(since)
    }

    /// Whether many rows have come at once: their times are those of a print that was held back.
    fn is_buffered(&self) -> bool {
        let count = self.gaps.len() as u32;
        let mean = self.gaps.iter().sum::<Duration>() / count.max(1);
        let short = self.gaps.iter().filter(|gap| **gap < mean / 100).count() as u32;
        count >= 4 && short * 4 > count
    }
}

/// Enters the cells of a row.
fn add(
    rows: &mut Rows,
    header: &Header<'_>,
    row: &[Cow<'_, str>],
    (at, line): (Duration, usize),
) -> Result<(), ForeignError> {
    for column in &header.columns {
        let cell = &*row[column.index];
        if cell.is_empty() {
            continue;
        }
        let text = || format!("{cell}{}", column.unit);
        let why = |why: String| ForeignError::whole(format!("{}: {why}", column.name));
        let span = || parse_duration(&text()).map_err(|error| why(error.to_string()));
        let share =
            || text().parse::<Probability>().map_err(|error| why(hint(&error.to_string(), column)));
        match column.quantity {
            Quantity::Time | Quantity::Sent => {}
            Quantity::Rate => {
                let rate = text().parse().map_err(|error| why(format!("{error}")))?;
                rows.rate.push(at, rate, line)?;
            }
            Quantity::Delay => rows.delay.push(at, span()?, line)?,
            Quantity::RoundTrip => rows.delay.push(at, span()? / 2, line)?,
            Quantity::Loss => rows.loss.push(at, share()?, line)?,
            Quantity::BitErrors => rows.bit_errors.push(at, share()?, line)?,
            Quantity::Lost => {
                let sent = header.column(Quantity::Sent).map_or("", |sent| &*row[sent.index]);
                if let Some(loss) = counted(cell, sent).map_err(why)? {
                    rows.loss.push(at, loss, line)?;
                }
            }
        }
    }
    Ok(())
}

/// Says that a share above 1 may be of a hundred.
fn hint(why: &str, column: &Column<'_>) -> String {
    match column.unit.is_empty() && why.contains("out of range") {
        true => format!("{why}; of per cent, the column is called `loss_percent`"),
        false => why.to_owned(),
    }
}

/// The share of lost packets; None where nothing was sent.
fn counted(lost: &str, sent: &str) -> Result<Option<Probability>, String> {
    let number = |text: &str| text.parse().ok().filter(|number| (0.0..1e18).contains(number));
    let wrong = || format!("`{lost}` of `{sent}` packets is no share");
    let (lost, sent): (f64, f64) = number(lost).zip(number(sent)).ok_or_else(wrong)?;
    match sent > 0.0 {
        true => Probability::new(lost / sent).map(Some).ok_or_else(wrong),
        false => Ok(None),
    }
}

/// Begins all series at zero, and says what was taken as what.
fn note(rows: &mut Rows, header: &Header<'_>, times: Times<'_>) {
    let mut late = Vec::new();
    let mut begins = |name: &str, at: Option<Duration>| {
        late.extend(
            at.map(|at| format!("the first {name} is at {at:?}: it holds from the beginning")),
        );
    };
    begins("rate", rows.rate.begin().map(|step| step.at));
    begins("delay", rows.delay.begin().map(|step| step.at));
    begins("loss", rows.loss.begin().map(|step| step.at));
    begins("bit-errors", rows.bit_errors.begin().map(|step| step.at));
    let notes = &mut rows.notes;
    if !header.left_out.is_empty() {
        let used = header.columns.iter().map(|column| column.name);
        let used: Vec<&str> = used.collect();
        notes.push(format!("{} taken, left out: {}", used.join(", "), header.left_out.join(", ")));
    }
    if times.is_buffered() {
        notes.push(
            "many rows have come at once, as of a print that was held back: `bentpipe trace convert csv --step` gives them times"
                .to_owned(),
        );
    }
    if let Some((_, line, cell)) = times.first.filter(|(moment, ..)| *moment != 0) {
        notes.push(format!("it begins at {cell} (line {line}), which is 0 s of the trace"));
    }
    notes.append(&mut late);
}

#[cfg(test)]
mod tests;
