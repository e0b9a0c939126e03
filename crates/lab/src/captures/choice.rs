//! Which connections are meant, and what to say if they are too many: in the options of
//! `bentpipe plot`.

use super::{CaptureError, Opened};
use bentpipe_capture::{Connection, Filter};

/// More than this cannot be told apart in one page.
const CONNECTIONS_MAX: usize = 64;
/// A page with more takes a browser seconds, and hundreds of megabytes.
const PACKETS_MAX: usize = 1_500_000;

/// A connection: of which file, and which of its connections.
#[derive(Debug, Clone, Copy)]
pub struct Chosen {
    /// The file's place among those that are open.
    pub file: usize,
    /// The connection's number in it.
    pub number: usize,
}

impl Chosen {
    /// The connection itself, of these files.
    #[must_use]
    pub fn of(self, files: &[Opened]) -> &Connection {
        &files[self.file].capture.connections[self.number]
    }
}

/// Chooses those with these numbers that the filter takes; all of them where nothing is said.
///
/// # Errors
/// [`CaptureError::Choice`] for a number that a file does not have, or if there is no connection
/// left.
pub fn choose(
    files: &[Opened],
    numbers: &[usize],
    filter: Option<&Filter>,
) -> Result<Vec<Chosen>, CaptureError> {
    let mut chosen = Vec::new();
    for (file, opened) in files.iter().enumerate() {
        let connections = &opened.capture.connections;
        if let Some(missing) = numbers.iter().find(|&&number| number >= connections.len()) {
            let (name, last) = (opened.path.display(), connections.len() - 1);
            return Err(CaptureError::Choice(format!(
                "{name} has no connection {missing}: its connections are 0 to {last}"
            )));
        }
        let meant = connections.iter().filter(|connection| {
            let by_number = numbers.is_empty() || numbers.contains(&connection.number);
            by_number && filter.is_none_or(|filter| filter.takes(connection))
        });
        chosen.extend(meant.map(|connection| Chosen { file, number: connection.number }));
    }
    if chosen.is_empty() {
        return Err(CaptureError::Choice(
            "no connection is as --connection and --filter say".to_owned(),
        ));
    }
    Ok(chosen)
}

/// Whether a form can draw them that draws so many.
///
/// # Errors
/// [`CaptureError::Choice`] if there are more.
pub fn at_most(
    most: usize,
    files: &[Opened],
    chosen: &[Chosen],
    suffix: &str,
) -> Result<(), CaptureError> {
    if chosen.len() <= most {
        return Ok(());
    }
    let limit = if most == 1 { "one".to_owned() } else { format!("{most} side by side") };
    Err(CaptureError::Choice(format!(
        "{} connections, and .{suffix} draws {limit}: {}",
        chosen.len(),
        advice(files, chosen)
    )))
}

/// Whether a page can hold them.
pub(super) fn page_takes(files: &[Opened], chosen: &[Chosen]) -> Result<(), CaptureError> {
    let packets: usize = chosen.iter().map(|one| one.of(files).segments.len()).sum();
    let connections = chosen.len();
    if connections <= CONNECTIONS_MAX && packets <= PACKETS_MAX {
        return Ok(());
    }
    Err(CaptureError::Choice(format!(
        "{packets} packets of {connections} connections are too much for one page (which takes {PACKETS_MAX} of \
         {CONNECTIONS_MAX}): {}",
        advice(files, chosen)
    )))
}

/// How to choose the largest of them.
fn advice(files: &[Opened], chosen: &[Chosen]) -> String {
    let largest = chosen.iter().max_by_key(|one| one.of(files).segments.len());
    let Some(largest) = largest.map(|one| one.of(files)) else { return String::new() };
    let [first, second] = largest.ends;
    format!(
        "choose with --connection or --filter; the largest is --connection {} or --filter 'host {} and port {} and host {} \
         and port {}'",
        largest.number,
        first.ip(),
        first.port(),
        second.ip(),
        second.port()
    )
}
