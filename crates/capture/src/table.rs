//! A file's connections. A pair of addresses and ports can have several, one after the other: each
//! SYN with another sequence number than the last begins one.

use crate::capture::Capture;
use crate::connection::{Connection, Flags, Offer};
use crate::direction::Direction;
use crate::file::{self, ReadError};
use crate::link_layer;
use crate::packet::{self, Decoded, Tcp};
use crate::{qlog, recorded};
use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::net::SocketAddr;

/// Reads a file as a stream: pcap, pcapng, or qlog.
///
/// # Errors
/// [`ReadError`] if it is no capture, or ends before its first packet. A file that ends in the
/// middle of a later packet is read up to there: [`Capture::damage`].
pub fn read(mut reader: impl Read + Send) -> Result<Capture, ReadError> {
    let mut first = Vec::new();
    reader.by_ref().take(1).read_to_end(&mut first)?;
    match first[..] {
        [qlog::RECORD_SEPARATOR] => return qlog::read(Cursor::new(first).chain(reader)),
        [b'{'] => return Err(ReadError::PlainJson),
        _ => {}
    }
    let reader = Cursor::new(first).chain(reader);
    let mut table = Table::default();
    let damage = file::frames(reader, &mut |frame| {
        table.capture.counts.packets += 1;
        let Some(offset) = link_layer::ip_offset(frame.link, frame.bytes) else {
            if !link_layer::known(frame.link) {
                table.capture.unknown_links.insert(frame.link);
            }
            return;
        };
        match packet::decode(frame, offset) {
            Decoded::Tcp(tcp) => {
                table.capture.counts.tcp += 1;
                table.add(*tcp, frame.comment.as_deref());
            }
            Decoded::Fragment => table.capture.counts.fragments += 1,
            Decoded::Other => {}
        }
    })?;
    table.capture.damage = damage;
    Ok(table.capture)
}

#[derive(Default)]
struct Table {
    capture: Capture,
    /// The last connection of each pair, the smaller address first.
    last: BTreeMap<(SocketAddr, SocketAddr), usize>,
}

impl Table {
    fn add(&mut self, tcp: Tcp, comment: Option<&str>) {
        let Tcp { from, to, mut segment, mss, window_scale, sack_permitted, sacks } = tcp;
        let opens = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK);
        let pair = if from <= to { (from, to) } else { (to, from) };
        let known = self.last.get(&pair).copied().filter(|&number| {
            let connection = &self.capture.connections[number];
            !(opens && begins_anew(connection, from, segment.seq))
        });
        let number = known.unwrap_or_else(|| {
            let number = self.capture.connections.len();
            // A SYN-ACK whose SYN is missing comes from the second end.
            let answers = segment.flags.has(Flags::SYN) && segment.flags.has(Flags::ACK);
            let ends = if answers { [to, from] } else { [from, to] };
            self.capture.connections.push(Connection { number, ends, ..Connection::default() });
            self.last.insert(pair, number);
            number
        });
        let connection = &mut self.capture.connections[number];
        let forward = from == connection.ends[0];
        segment.direction = if forward { Direction::Forward } else { Direction::Backward };
        connection.first_seq[segment.direction.index()].get_or_insert(segment.seq);
        if segment.flags.has(Flags::SYN) {
            let offer = Offer { syn: true, mss, window_scale, sack_permitted };
            connection.offers[segment.direction.index()] = offer;
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

/// Whether a SYN of this end with this number is another connection's: the former one's sequence
/// numbers began elsewhere, or its beginning is not in the file.
fn begins_anew(connection: &Connection, from: SocketAddr, seq: u32) -> bool {
    let end = usize::from(from != connection.ends[0]);
    connection.first_seq[end].is_some_and(|first| first != seq)
}
