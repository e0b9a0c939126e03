//! A file's connections: each packet is decoded, and kept with those of its connection.

use crate::capture::Capture;
use crate::compression;
use crate::connection::{Connection, Flags, Offer};
use crate::direction::Direction;
use crate::file::{self, Damage, ReadError};
use crate::identity::{Pair, Progress};
use crate::packet::{Decoder, Tcp};
use crate::reading::Reading;
use crate::via::Via;
use crate::{copies, qlog, recorded};
use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::net::SocketAddr;

/// Reads a stream of pcap, pcapng or qlog, also compressed by gzip or zstd.
///
/// # Errors
/// [`ReadError`] if it is no capture, or ends before its first packet. A file that ends in the
/// middle of a later packet is read up to there: [`Capture::damage`].
pub fn read(reader: impl Read + Send) -> Result<Capture, ReadError> {
    Reading::default().read(reader)
}

impl Reading {
    /// Reads that part of a file, as a stream: pcap, pcapng, or qlog.
    ///
    /// # Errors
    /// As [`read`].
    pub fn read(&self, reader: impl Read + Send) -> Result<Capture, ReadError> {
        read_part(reader, self)
    }
}

fn read_part(reader: impl Read + Send, reading: &Reading) -> Result<Capture, ReadError> {
    let mut reader = compression::plain(reader)?;
    let mut first = Vec::new();
    if let Err(error) = reader.by_ref().take(1).read_to_end(&mut first) {
        Damage::of(error)?;
        return Err(ReadError::NoPacket);
    }
    let reader = Cursor::new(&first[..]).chain(reader);
    match first[..] {
        [qlog::RECORD_SEPARATOR] => {
            let mut capture = qlog::read(reader)?;
            reading.cut(&mut capture);
            return Ok(capture);
        }
        [b'{'] => return Err(ReadError::PlainJson),
        _ => {}
    }
    let mut table = Table::new(reading);
    let mut decoder = Decoder::default();
    let damage = file::frames(reader, &mut |frame| {
        table.capture.counts.packets += 1;
        if table.capture.first.is_none() {
            table.capture.first = Some(frame.at);
            table.span = reading.span(frame.at);
        }
        if let Some(tcp) = decoder.decode(frame) {
            table.capture.counts.tcp += 1;
            table.add(*tcp, frame.comment.as_deref(), decoder.vias());
        }
    })?;
    let mut capture = table.finish(decoder.vias());
    decoder.finish(&mut capture);
    capture.damage = damage;
    Ok(capture)
}

struct Table<'a> {
    reading: &'a Reading,
    /// Packets outside of it are not kept.
    span: (i64, i64),
    /// True if each connection is wanted. Of one that is not, no segment is kept.
    wanted: Vec<bool>,
    capture: Capture,
    /// Of each connection of the capture.
    progress: Vec<Progress>,
    /// The connections of each pair, the smaller address first.
    pairs: BTreeMap<(SocketAddr, SocketAddr), Pair>,
}

impl Table<'_> {
    fn new(reading: &Reading) -> Table<'_> {
        let span = reading.span(0);
        Table {
            reading,
            span,
            wanted: Vec::new(),
            capture: Capture::default(),
            progress: Vec::new(),
            pairs: BTreeMap::new(),
        }
    }

    /// Without the connections of which no segment was kept. `vias` are the places of all segments.
    fn finish(self, vias: &[Via]) -> Capture {
        let mut capture = self.capture;
        let all = capture.connections.len();
        capture.connections.retain(|connection| !connection.segments.is_empty());
        capture.others = all - capture.connections.len();
        capture.connections.iter_mut().for_each(|connection| copies::mark(connection, vias));
        capture
    }

    fn add(&mut self, tcp: Tcp, comment: Option<&str>, vias: &[Via]) {
        let Tcp { from, to, mut segment, mss, window_scale, sack_permitted, sacks } = tcp;
        let pair = if from <= to { (from, to) } else { (to, from) };
        let pair = self.pairs.entry(pair).or_default();
        let (connections, progress) = (&mut self.capture.connections, &mut self.progress);
        let found = pair.find(&segment, vias, |number| {
            let connection = &connections[number];
            (connection, &progress[number], direction(connection, from))
        });
        let number = found.unwrap_or_else(|| {
            let number = connections.len();
            // A SYN-ACK whose SYN is missing comes from the second end.
            let answers = segment.flags.has(Flags::SYN) && segment.flags.has(Flags::ACK);
            let ends = if answers { [to, from] } else { [from, to] };
            let reuses = !pair.is_empty() && segment.flags.has(Flags::SYN);
            let reused_at = reuses.then_some(segment.frame).into_iter().collect();
            connections.push(Connection { number, ends, reused_at, ..Connection::default() });
            progress.push(Progress::new(&segment));
            self.wanted.push(self.reading.takes(number, &ends));
            pair.add(number);
            number
        });
        let connection = &mut connections[number];
        segment.direction = direction(connection, from);
        progress[number].take(connection, &segment);
        let own = segment.direction.index();
        if segment.flags.has(Flags::SYN) && connection.first_seq[own] == Some(segment.seq) {
            let cut = segment.options_cut;
            let flags = segment.flags;
            let offer = Offer { syn: true, flags, mss, window_scale, sack_permitted, cut };
            connection.offers[own] = offer;
        }
        if !self.wanted[number] || !(self.span.0..=self.span.1).contains(&segment.at) {
            return;
        }
        // A file with 2^32 of either is longer than any disk.
        segment.sack_at = u32::try_from(connection.sacks.len()).unwrap_or(u32::MAX);
        segment.sack_count = sacks.len() as u8;
        connection.sacks.extend(sacks);
        if let Some(comment) = comment {
            let (cause, rest) = recorded::split(comment);
            segment.recorded = cause;
            if !rest.is_empty() {
                connection.comments.insert(connection.segments.len() as u32, rest);
            }
        }
        connection.segments.push(segment);
    }
}

/// Which way a segment of this end goes.
fn direction(connection: &Connection, from: SocketAddr) -> Direction {
    if from == connection.ends[0] { Direction::Forward } else { Direction::Backward }
}
