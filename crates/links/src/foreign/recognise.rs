//! The kind of a file, by its content; several files as one trace.

use super::csv::{CsvColumns, csv};
use super::{
    EXPECTED, ForeignError, IRTT_WINDOW, Rows, Series, hypatia, iperf3, irtt, leoreplayer_delays,
    lines, mahimahi, netem,
};
use crate::foreign::hypatia::{is_round_trip, refusal};
use bentpipe_core::time::Duration;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// Moments go on for longer than any link delays a packet.
const MAX_DELAY: Duration = Duration::from_secs(10);

/// A file that was read.
enum Found {
    Rows(Rows),
    /// A number a line, of which some are less than the one before: delays of LeoReplayer's, and
    /// why they are no moments.
    Delays(Rows, ForeignError),
}

/// Reads the files that make one trace, each with its name.
///
/// Several are joined: LeoReplayer's rates with its delays, or one file's rates with another's
/// delays.
///
/// # Errors
/// The file and the line that is wrong, and why.
pub fn read(files: &[(&str, &str)]) -> Result<Rows, ForeignError> {
    let mut found = Vec::new();
    for (name, text) in files {
        let one = recognise(text).map_err(|error| error.of(name))?;
        found.push((*name, *text, one));
    }
    if let [(name, _, Found::Delays(_, no_moment))] = &found[..] {
        let why = format!(
            "{}; if these are LeoReplayer's delays, give them together with its rates: `trace=RATES,DELAYS`",
            no_moment.why
        );
        return Err(ForeignError { why, ..no_moment.clone() }.of(name));
    }
    let mut parts: Vec<(&str, Rows)> = Vec::new();
    for (name, text, one) in found {
        let rows = match one {
            Found::Delays(rows, _) => rows,
            Found::Rows(rows) => match delays_of_pair(&parts, &rows, text) {
                Some(delays) => delays,
                None => rows,
            },
        };
        parts.push((name, rows));
    }
    join(parts)
}

/// The delays that come with LeoReplayer's rates, if they never fall: they look like moments, too.
fn delays_of_pair(parts: &[(&str, Rows)], rows: &Rows, text: &str) -> Option<Rows> {
    let moments = |rows: &Rows| rows.rate.period.is_some();
    if !moments(rows) || !parts.iter().any(|(_, rows)| moments(rows)) {
        return None;
    }
    let delays = leoreplayer_delays(text).ok()?;
    delays.delay.steps().iter().all(|step| step.value <= MAX_DELAY).then_some(delays)
}

/// Joins the parts of one trace.
///
/// # Errors
/// Two of them say the same quantity.
pub fn join(parts: Vec<(&str, Rows)>) -> Result<Rows, ForeignError> {
    let several = parts.len() > 1;
    let mut whole = Rows::default();
    for (name, part) in parts {
        let Rows { rate, delay, loss, bit_errors, notes } = part;
        let clash = |what: &str| {
            ForeignError::whole(format!("an earlier file has the {what} as well")).of(name)
        };
        take(&mut whole.rate, rate).map_err(|()| clash("rate"))?;
        take(&mut whole.delay, delay).map_err(|()| clash("delay"))?;
        take(&mut whole.loss, loss).map_err(|()| clash("loss"))?;
        take(&mut whole.bit_errors, bit_errors).map_err(|()| clash("bit errors"))?;
        whole.notes.extend(notes.into_iter().map(|note| match several {
            true => format!("{name}: {note}"),
            false => note,
        }));
    }
    // Rates and delays that begin again do so together.
    if let (Some(rate), Some(delay)) = (whole.rate.period, whole.delay.period) {
        whole.rate.repeat(rate.max(delay))?;
        whole.delay.repeat(rate.max(delay))?;
    }
    Ok(whole)
}

fn take<T: Copy + PartialEq>(whole: &mut Series<T>, part: Series<T>) -> Result<(), ()> {
    match (whole.is_empty(), part.is_empty()) {
        (_, true) => Ok(()),
        (true, false) => {
            *whole = part;
            Ok(())
        }
        (false, false) => Err(()),
    }
}

/// Keys by which JSON is known.
#[derive(Deserialize)]
struct Keys {
    round_trips: Option<IgnoredAny>,
    intervals: Option<IgnoredAny>,
}

fn recognise(text: &str) -> Result<Found, ForeignError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_start().starts_with(['{', '[']) {
        return json(text).map(Found::Rows);
    }
    let Some((_, first)) = lines(text).next() else {
        return Err(ForeignError::whole(format!("it is empty: expected {EXPECTED}")));
    };
    if is_elements(text) {
        return Err(ForeignError::whole(
            "it has two-line element sets of satellites: `bentpipe trace path` makes a trace of them, and `orbit = { kind = \"tle\", … }` of a scenario's link follows them",
        ));
    }
    if first.parse::<f64>().is_ok() {
        return numbers(text);
    }
    if netem::is_table(first) {
        return Err(ForeignError::whole(
            "it is a distribution of tc-netem: `bentpipe trace convert netem` makes a link's jitter of it",
        ));
    }
    if is_round_trip(first) {
        return hypatia(text).map(Found::Rows);
    }
    if let Some(why) = refusal(first) {
        return Err(ForeignError::whole(why));
    }
    let number = |word: &str| word.parse::<f64>().is_ok();
    if first.split([',', ';', '\t', ' ']).filter(|word| !word.is_empty()).all(number) {
        return Err(ForeignError::whole(format!(
            "it is a table of numbers without a header: expected {EXPECTED}"
        )));
    }
    if !first.contains([',', ';', '\t']) {
        let head: String = first.chars().take(60).collect();
        return Err(ForeignError::whole(format!("found `{head}`: expected {EXPECTED}")));
    }
    csv(text, &CsvColumns::default()).map(Found::Rows)
}

fn json(text: &str) -> Result<Rows, ForeignError> {
    let keys: Keys = serde_json::from_str(text).map_err(|error| {
        ForeignError::in_line(error.line(), format!("no JSON of a trace: {error}"))
    })?;
    match (keys.round_trips, keys.intervals) {
        (Some(_), _) => irtt(text, IRTT_WINDOW),
        (None, Some(_)) => iperf3(text),
        (None, None) => Err(ForeignError::whole(
            "JSON with neither irtt's `round_trips` nor iperf3's `intervals` (write others as CSV)",
        )),
    }
}

/// Whether there is a pair of lines of element sets near the beginning.
fn is_elements(text: &str) -> bool {
    let begins = |line: &str, with: &str| line.starts_with(with) && line.len() > 60;
    let head: Vec<&str> = lines(text).take(4).map(|(_, line)| line).collect();
    head.windows(2).any(|pair| begins(pair[0], "1 ") && begins(pair[1], "2 "))
}

/// A number a line: moments of mahimahi's, or delays.
fn numbers(text: &str) -> Result<Found, ForeignError> {
    match mahimahi(text) {
        Ok(rows) => Ok(Found::Rows(rows)),
        Err(why) => match leoreplayer_delays(text) {
            Ok(rows) => Ok(Found::Delays(rows, why)),
            Err(_) => Err(why),
        },
    }
}
