//! The choice of connections, and of the first of them if they are too many.

use super::{COLUMNS_MAX, CaptureError, Opened};
use bentpipe_capture::{Connection, Direction, Reading, Segment, Standing, analyse};
use std::cmp::Reverse;

/// More than this cannot be told apart in one page.
const CONNECTIONS_MAX: usize = 64;
/// A page with more takes a browser seconds, and hundreds of megabytes.
const PACKETS_MAX: usize = 1_500_000;

/// A connection: of which file, and which of its connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chosen {
    /// The file's place among those that are open.
    pub file: usize,
    /// The connection's place among those of the file that were read.
    pub place: usize,
}

impl Chosen {
    /// The connection itself, of these files.
    #[must_use]
    pub fn of(self, files: &[Opened]) -> &Connection {
        &files[self.file].capture.connections[self.place]
    }
}

/// The order of connections: the first is the one of most interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Most bytes of data first.
    Bytes,
    /// Most retransmissions first.
    Retransmitted,
    /// Longest first.
    Duration,
    /// Earliest first.
    Start,
}

impl Order {
    /// Its name in options.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Order::Bytes => "bytes",
            Order::Retransmitted => "retransmitted",
            Order::Duration => "duration",
            Order::Start => "start",
        }
    }
}

/// Takes all connections that were read.
///
/// # Errors
/// [`CaptureError::Choice`] for a number that a file does not have, or if there is no connection
/// left.
pub fn choose(files: &[Opened], reading: &Reading) -> Result<Vec<Chosen>, CaptureError> {
    let mut chosen = Vec::new();
    for (file, opened) in files.iter().enumerate() {
        let capture = &opened.capture;
        let all = capture.connections.len() + capture.others;
        if let Some(missing) = reading.numbers.iter().find(|&&number| number >= all) {
            let (name, last) = (opened.path.display(), all.saturating_sub(1));
            return Err(CaptureError::Choice(format!(
                "{name} has no connection {missing}: its connections are 0 to {last}"
            )));
        }
        chosen.extend((0..capture.connections.len()).map(|place| Chosen { file, place }));
    }
    if chosen.is_empty() {
        return Err(CaptureError::Choice(none(files, reading)));
    }
    Ok(chosen)
}

/// Says that nothing is left, and by which options.
fn none(files: &[Opened], reading: &Reading) -> String {
    let given = [
        ("--connection", !reading.numbers.is_empty()),
        ("--filter", reading.filter.is_some()),
        ("--from", reading.from.is_some()),
        ("--to", reading.to.is_some()),
    ];
    let given: Vec<&str> =
        given.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect();
    let all: usize = files.iter().map(|one| one.capture.others).sum();
    let whose = match files {
        [one] => format!("{}: none of its", one.path.display()),
        _ => format!("none of the {} files'", files.len()),
    };
    let (s, say) = (if all == 1 { "" } else { "s" }, if given.len() == 1 { "says" } else { "say" });
    format!("{whose} {all} connection{s} is as {} {say}", given.join(" and "))
}

/// Sorts the connections of each file, and keeps the first `top` of each.
#[must_use]
pub fn sort(files: &[Opened], chosen: &[Chosen], order: Order, top: Option<usize>) -> Vec<Chosen> {
    let mut sorted = Vec::new();
    for of_file in chosen.chunk_by(|a, b| a.file == b.file) {
        let mut of_file = of_file.to_vec();
        of_file.sort_by_cached_key(|one| key(one.of(files), order));
        of_file.truncate(top.unwrap_or(usize::MAX));
        sorted.extend(of_file);
    }
    sorted
}

/// The smallest is first.
fn key(connection: &Connection, order: Order) -> Reverse<i64> {
    let counts = |one: &&Segment| one.standing == Standing::Counts;
    let bytes = || connection.segments.iter().filter(counts).map(|one| i64::from(one.len)).sum();
    Reverse(match order {
        Order::Bytes => bytes(),
        Order::Duration => connection.duration(),
        Order::Start => connection.span().0.saturating_neg(),
        Order::Retransmitted => {
            let analysis = analyse(connection);
            let of = |direction| analysis.summary(connection, direction).retransmissions;
            Direction::BOTH.map(of).iter().sum::<u64>() as i64
        }
    })
}

/// Chooses as many as a still figure can draw: the first by `order`, as they stood.
#[must_use]
pub fn first_for_still(files: &[Opened], chosen: &[Chosen], order: Order) -> Vec<Chosen> {
    first(files, chosen, order, COLUMNS_MAX, usize::MAX)
}

/// Chooses as many as a page has room for, and at least one: the page says if that is too large.
#[must_use]
pub fn first_for_page(files: &[Opened], chosen: &[Chosen], order: Order) -> Vec<Chosen> {
    first(files, chosen, order, CONNECTIONS_MAX, PACKETS_MAX)
}

fn first(
    files: &[Opened],
    chosen: &[Chosen],
    order: Order,
    most: usize,
    packets: usize,
) -> Vec<Chosen> {
    if chosen.len() <= most && packets_of(files, chosen) <= packets {
        return chosen.to_vec();
    }
    let mut sorted: Vec<usize> = (0..chosen.len()).collect();
    sorted.sort_by_cached_key(|&at| key(chosen[at].of(files), order));
    let mut sum = 0;
    let fit = sorted.iter().take(most).take_while(|&&at| {
        sum += chosen[at].of(files).segments.len();
        sum <= packets
    });
    let fit = fit.count().max(1);
    let mut kept: Vec<usize> = sorted.into_iter().take(fit).collect();
    kept.sort_unstable();
    kept.into_iter().map(|at| chosen[at]).collect()
}

fn packets_of(files: &[Opened], chosen: &[Chosen]) -> usize {
    chosen.iter().map(|one| one.of(files).segments.len()).sum()
}

/// Whether a page can hold them.
pub(super) fn page_takes(files: &[Opened], chosen: &[Chosen]) -> Result<(), CaptureError> {
    let packets = packets_of(files, chosen);
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
        "choose a time with --from and --to, or connections with --connection or --filter; the largest is --connection {} or \
         --filter 'host {} and port {} and host {} and port {}'",
        largest.number,
        first.ip(),
        first.port(),
        second.ip(),
        second.port()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_capture::Capture;

    /// A file of connections with so much data in a segment each, that last so many seconds.
    fn files(connections: &[(u32, i64)]) -> Vec<Opened> {
        let connections = connections.iter().enumerate().map(|(number, &(len, seconds))| {
            let mut connection = Connection::default();
            connection.number = number;
            let mut segments = [Segment::default(), Segment::default()];
            segments[0].at = number as i64;
            segments[0].len = len;
            segments[1].at = number as i64 + seconds * 1_000_000_000;
            connection.segments = segments.to_vec();
            connection
        });
        let capture = Capture { connections: connections.collect(), ..Capture::default() };
        let (path, name) = ("x.pcap".into(), "x".to_owned());
        vec![Opened { path, capture, partial: false, name }]
    }

    fn numbers(files: &[Opened], chosen: &[Chosen]) -> Vec<usize> {
        chosen.iter().map(|one| one.of(files).number).collect()
    }

    #[test]
    fn connections_are_sorted_and_the_first_are_kept() {
        let files = files(&[(10, 1), (30, 3), (20, 5)]);
        let chosen = choose(&files, &Reading::default()).unwrap();
        for (order, top, expected) in [
            (Order::Bytes, None, vec![1, 2, 0]),
            (Order::Duration, None, vec![2, 1, 0]),
            (Order::Start, None, vec![0, 1, 2]),
            (Order::Retransmitted, None, vec![0, 1, 2]),
            (Order::Bytes, Some(2), vec![1, 2]),
        ] {
            assert_eq!(numbers(&files, &sort(&files, &chosen, order, top)), expected, "{order:?}");
        }
    }

    #[test]
    fn the_first_are_drawn_where_they_stood() {
        let files = files(&[(10, 1), (30, 1), (20, 1)]);
        let chosen = choose(&files, &Reading::default()).unwrap();
        let fitting =
            |most, packets| numbers(&files, &first(&files, &chosen, Order::Bytes, most, packets));
        assert_eq!(fitting(2, 100), [1, 2]);
        assert_eq!(fitting(4, 100), [0, 1, 2]);
        assert_eq!(fitting(4, 5), [1, 2]);
        assert_eq!(fitting(4, 1), [1], "too large alone");
    }

    #[test]
    fn a_number_that_a_file_does_not_have_is_refused() {
        let mut files = files(&[(1, 1)]);
        files[0].capture.others = 4;
        let reading = |number| Reading { numbers: vec![number], ..Reading::default() };
        assert!(choose(&files, &reading(4)).is_ok());
        let error = choose(&files, &reading(5)).unwrap_err().to_string();
        assert_eq!(error, "x.pcap has no connection 5: its connections are 0 to 4");
        files[0].capture.connections.clear();
        let filter = bentpipe_capture::Filter::parse("port 1").ok();
        let error = choose(&files, &Reading { filter, ..reading(3) }).unwrap_err().to_string();
        let expected = "x.pcap: none of its 4 connections is as --connection and --filter say";
        assert_eq!(error, expected);
    }
}
