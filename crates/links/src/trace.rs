//! Traces: files with the rate, delay and loss of a link over time.

use crate::directions::Directions;
use crate::foreign::{self, ForeignError, Rows, Series};
use bentpipe_config::document::{Node, Value};
use bentpipe_config::reader::{Context, FromNode, Result};
use bentpipe_core::link::{After, Schedule, ScheduleError};
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Probability, Rate};

/// What a trace says of one direction of a link.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Trace {
    pub(crate) rate: Option<Schedule<Rate>>,
    pub(crate) delay: Option<Schedule<Duration>>,
    pub(crate) loss: Option<Schedule<Probability>>,
    pub(crate) bit_errors: Option<Schedule<Probability>>,
}

/// A file's name and its text.
type File = (String, String);

impl Trace {
    /// Reads the files that `node` names for the direction `way`, by their content: see
    /// [`foreign`]. With a `period` all of it begins again after that time.
    pub(crate) fn read(
        context: &Context<'_>,
        node: &Node,
        period: Option<Duration>,
        way: Directions,
    ) -> Result<Trace> {
        let files = of_direction(files(context, node)?, way);
        let named: Vec<(&str, &str)> =
            files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let whole = node.label();
        let wrong = |error: ForeignError| {
            let named = error.file.is_some();
            let error = if named { error } else { error.of(&whole) };
            context.value_error(node, error.to_string())
        };
        let rows = foreign::read(&named).map_err(wrong)?;
        for note in &rows.notes {
            context.note(match named.len() {
                1 => format!("{}: {note}", named[0].0),
                _ => note.clone(),
            });
        }
        Trace::of(rows, period).map_err(wrong)
    }

    /// The schedules of `rows`.
    fn of(rows: Rows, period: Option<Duration>) -> std::result::Result<Trace, ForeignError> {
        let Rows { rate, delay, loss, bit_errors, notes: _ } = rows;
        Ok(Trace {
            rate: schedule(rate, period)?,
            delay: schedule(delay, period)?,
            loss: schedule(loss, period)?,
            bit_errors: schedule(bit_errors, period)?,
        })
    }
}

/// The files that `node` names: one, a list, or a text with commas between, unless it is the name
/// of a file itself.
fn files(context: &Context<'_>, node: &Node) -> Result<Vec<File>> {
    let read = |node: &Node, path: &str| Ok((path.to_owned(), context.text_at(node, path)?));
    if let Value::List(list) = &node.value {
        if list.is_empty() {
            return Err(context.type_error(node, "a file's name, or a list of them"));
        }
        return list.iter().map(|node| read(node, &String::from_node(context, node)?)).collect();
    }
    let name = String::from_node(context, node)?;
    match read(node, &name) {
        Err(_) if name.contains(',') => {
            name.split(',').map(|path| read(node, path.trim())).collect()
        }
        one => Ok(vec![one?]),
    }
}

/// Of a pair of mahimahi's, `x.down` and `x.up`, the one for this direction.
fn of_direction(mut files: Vec<File>, way: Directions) -> Vec<File> {
    let ends =
        |(name, _): &File, with: &str| name.strip_suffix(".gz").unwrap_or(name).ends_with(with);
    let pair = |down: usize, up: usize| ends(&files[down], ".down") && ends(&files[up], ".up");
    let down = match files.len() {
        2 if pair(0, 1) => 0,
        2 if pair(1, 0) => 1,
        _ => return files,
    };
    vec![files.swap_remove(if way == Directions::Back { 1 - down } else { down })]
}

fn schedule<T: Copy + PartialEq>(
    mut series: Series<T>,
    period: Option<Duration>,
) -> std::result::Result<Option<Schedule<T>>, ForeignError> {
    if series.is_empty() {
        return Ok(None);
    }
    if let Some(period) = period {
        series.repeat(period)?;
    }
    let after = series.period.map_or(After::Hold, After::Repeat);
    let steps = series.steps().iter().map(|step| (step.at, step.value)).collect();
    let schedule = Schedule::new(steps, after).map_err(|error| {
        let line = series.steps().last().map(|step| step.line).filter(|line| *line > 0);
        let line = line.filter(|_| matches!(error, ScheduleError::Period { .. }));
        ForeignError { file: None, line, why: error.to_string() }
    })?;
    Ok(Some(schedule))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinkSettings;
    use bentpipe_core::time::Instant;

    fn link(traces: &[(Directions, &str, &str)]) -> std::result::Result<crate::LiveLink, String> {
        let mut settings = LinkSettings::default();
        for (directions, key, value) in traces {
            settings.set(*directions, "--both", key, value);
        }
        let read = |path: &str| match path {
            "a,b.csv" | "x.csv" => Ok("time_s,rate_mbps,x\n3,8,1\n4,16,1\n".to_owned()),
            "x.down.gz" => Ok("1\n".to_owned()),
            "x.up" => Ok("10\n".to_owned()),
            "rates" => Ok("1\n2\n".to_owned()),
            "delays" => Ok("24\n18\n".to_owned()),
            "moments" => Ok("1\n1\n3\n".to_owned()),
            "converted.csv" => {
                Ok(foreign::tests::written(&foreign::mahimahi("1\n1\n3\n").unwrap()))
            }
            _ => Err("no such file".to_owned()),
        };
        settings.read(&read, 1, Duration::ZERO).map_err(|error| error.to_string())
    }

    fn mbit(link: &crate::LiveLink, direction: usize) -> u64 {
        let rate = link.directions[direction].rate.as_ref().unwrap();
        rate.greatest().bits_per_sec() / 1_000_000
    }

    #[test]
    fn files_are_named_alone_in_a_list_or_with_commas() {
        let both = |value| link(&[(Directions::Both, "trace", value)]);
        let found = both("rates,delays").unwrap();
        assert_eq!(found.directions[0].delay.at(Instant::ZERO), Duration::from_millis(24));
        assert_eq!(both("[\"rates\", \"delays\"]").unwrap(), found);
        // A name with a comma in it goes first.
        assert_eq!(mbit(&both("a,b.csv").unwrap(), 0), 16);
        assert!(both("rates,nothing").unwrap_err().contains("cannot read `nothing`"));
        assert!(both("[]").is_err());
    }

    #[test]
    fn what_was_converted_begins_again_when_the_file_does() {
        let traces = [(Directions::Both, "trace", "moments")];
        let native = link(&traces).unwrap();
        let period = (Directions::Both, "trace-period", "3ms");
        let converted = link(&[(Directions::Both, "trace", "converted.csv"), period]).unwrap();
        assert_eq!(converted.directions[0].rate, native.directions[0].rate);
    }

    #[test]
    fn a_pair_has_a_file_for_each_direction() {
        for value in ["x.down.gz,x.up", "x.up,x.down.gz"] {
            let found = link(&[(Directions::Both, "trace", value)]).unwrap();
            let at = |direction: usize| {
                let rate = found.directions[direction].rate.as_ref().unwrap();
                rate.at(Instant::ZERO).bits_per_sec() / 1_000_000
            };
            assert_eq!((at(0), at(1)), (12, 0), "{value}");
        }
    }

    #[test]
    fn errors_name_the_file_once_and_notes_are_kept() {
        let found = link(&[(Directions::Both, "trace", "x.csv")]).unwrap();
        assert_eq!(
            found.notes,
            [
                "x.csv: time_s, rate_mbps taken, left out: x",
                "x.csv: it begins at 3 (line 2), which is 0 s of the trace"
            ]
        );
        let error = link(&[(Directions::Both, "trace", "delays")]).unwrap_err();
        assert!(error.starts_with("--both: delays, line 2: the moment 18 comes"), "{error}");
        let short =
            [(Directions::Both, "trace", "x.csv"), (Directions::Both, "trace-period", "1s")];
        let error = link(&short).unwrap_err();
        assert_eq!(
            error,
            "--both: x.csv, line 3: a period of 1s ends before its last step, at 1s, begins"
        );
        let twice = link(&[(Directions::Both, "trace", "x.csv,rates")]).unwrap_err();
        assert_eq!(twice, "--both: rates: an earlier file has the rate as well");
    }
}
