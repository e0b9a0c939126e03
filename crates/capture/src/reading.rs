//! The part of a file that is wanted. The rest is left out while the file is read, so that memory
//! is bounded by that part. Numbers of connections are those of the whole file.

use crate::capture::Capture;
use crate::connection::Connection;
use crate::filter::Filter;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// A moment of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Nanoseconds since the file's first packet.
    SinceFirst(i64),
    /// Nanoseconds since 1970.
    At(i64),
}

impl Moment {
    /// In nanoseconds since 1970, of a file whose first packet passed at `first`.
    #[must_use]
    pub fn at(self, first: i64) -> i64 {
        match self {
            Moment::SinceFirst(nanos) => first.saturating_add(nanos),
            Moment::At(nanos) => nanos,
        }
    }
}

/// The part of a file that is wanted; by default all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// The connections of these numbers; all if there are none.
    pub numbers: Vec<usize>,
    /// Those that it takes.
    pub filter: Option<Filter>,
    /// Packets from then on. SYNs before it count for window scales and sequence numbers.
    pub from: Option<Moment>,
    /// Packets until then.
    pub to: Option<Moment>,
}

impl Reading {
    /// True if a connection is wanted.
    pub(crate) fn takes(&self, number: usize, ends: &[SocketAddr; 2]) -> bool {
        let numbered = self.numbers.is_empty() || self.numbers.contains(&number);
        numbered && self.filter.as_ref().is_none_or(|filter| filter.takes_ends(ends))
    }

    /// From when to when, in nanoseconds since 1970, of a file whose first packet passed at
    /// `first`.
    pub(crate) fn span(&self, first: i64) -> (i64, i64) {
        let at = |moment: Option<Moment>, none| moment.map_or(none, |moment| moment.at(first));
        (at(self.from, i64::MIN), at(self.to, i64::MAX))
    }

    /// Leaves out what is not wanted of a recording that was read as a whole.
    pub(crate) fn cut(&self, capture: &mut Capture) {
        let begin = |connection: &Connection| connection.segments.first().map(|one| one.at);
        capture.first = capture.connections.iter().filter_map(begin).min();
        let all = capture.connections.len();
        capture.connections.retain(|one| self.takes(one.number, &one.ends));
        if self.from.is_some() || self.to.is_some() {
            let span = self.span(capture.first.unwrap_or(0));
            capture.connections.iter_mut().for_each(|one| cut(one, span));
            capture.connections.retain(|one| !one.segments.is_empty());
        }
        capture.others = all - capture.connections.len();
    }
}

/// Cuts a recording's connection to a span of time.
fn cut(connection: &mut Connection, (from, to): (i64, i64)) {
    let first = |connection: &Connection| connection.segments.first().map_or(0, |one| one.at);
    let before = first(connection);
    let mut index = 0;
    let mut comments = BTreeMap::new();
    let mut kept = 0;
    connection.segments.retain(|segment| {
        let keeps = (from..=to).contains(&segment.at);
        if keeps {
            let comment = connection.comments.remove(&index);
            comments.extend(comment.map(|comment| (kept, comment)));
            kept += 1;
        }
        index += 1;
        keeps
    });
    connection.comments = comments;
    for series in &mut connection.series {
        series.values.retain(|&(at, _)| (from..=to).contains(&at));
    }
    // These count from the first segment, which is another one now.
    let later = first(connection).saturating_sub(before);
    let length = connection.duration();
    for limits in &mut connection.limits {
        for silence in limits.iter_mut() {
            silence.begin = silence.begin.saturating_sub(later).max(0);
            silence.end = silence.end.saturating_sub(later).min(length);
        }
        limits.retain(|silence| silence.begin < silence.end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{File, Packet, SYN, data};

    fn read(file: &File, reading: &Reading) -> Capture {
        reading.read(file.bytes()).unwrap()
    }

    /// A handshake with one segment of data, and another connection of the same ends.
    fn two() -> File {
        let mut file = File::opened();
        file.at(30.0, &data(101, 1000));
        file.at(40.0, &Packet { flags: SYN, ..data(7000, 0) });
        file.at(50.0, &data(7001, 10));
        file
    }

    #[test]
    fn connections_keep_their_numbers_when_others_are_left_out() {
        let second = Reading { numbers: vec![1], ..Reading::default() };
        let capture = read(&two(), &second);
        let [only] = &capture.connections[..] else { panic!("{capture:?}") };
        assert_eq!((only.number, only.segments.len(), capture.others), (1, 2, 1));
        assert_eq!((capture.counts.tcp, capture.first), (6, Some(0)));
        let filter = Filter::parse("port 81").unwrap();
        let none = read(&two(), &Reading { filter: Some(filter), ..Reading::default() });
        assert_eq!((none.connections.len(), none.others), (0, 2));
        assert_eq!(read(&two(), &Reading::default()).others, 0);
    }

    #[test]
    fn a_part_knows_what_the_syns_before_it_said() {
        let from = Some(Moment::SinceFirst(20_050_000));
        let to = Some(Moment::At(30_000_000));
        let capture = read(&two(), &Reading { from, to, ..Reading::default() });
        let [only] = &capture.connections[..] else { panic!("{capture:?}") };
        assert_eq!((only.segments.len(), only.number, capture.others), (2, 0, 1));
        assert!(only.offers.iter().all(|offer| offer.syn && offer.mss == Some(1460)));
        let facts = crate::analyse(only).facts;
        assert_eq!(facts.iter().map(|fact| fact.seq).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn a_recording_is_cut_to_its_span() {
        let mut connection = read(&two(), &Reading::default()).connections.remove(0);
        connection.comments.insert(3, "the last".to_owned());
        let basis = crate::Basis::Recorded(crate::Limiter::Pacer);
        let silence = |begin: i64, end: i64| {
            let (begin, end) = (begin * 1_000_000, end * 1_000_000);
            crate::Silence { begin, end, basis }
        };
        connection.limits[0] = vec![silence(0, 10), silence(20, 25), silence(28, 30)];
        cut(&mut connection, (20_000_000, 30_000_000));
        assert_eq!(connection.segments.len(), 3);
        assert_eq!(connection.comments.get(&2).unwrap(), "the last");
        let limits: Vec<_> = connection.limits[0].iter().map(|one| (one.begin, one.end)).collect();
        assert_eq!(limits, [(0, 5_000_000), (8_000_000, 10_000_000)]);
    }
}
