//! Every data packet of a transfer, and what became of it: from the captures at both hosts.

use super::{Part, PointRuns};
use bentpipe_capture::{Capture, Connection, Direction};
use bentpipe_core::tcp::cause::Cause;
use std::fs::File;
use std::path::Path;

/// A data packet that was sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Packet {
    /// When it left, in seconds.
    pub at: f64,
    /// Its sequence number, from the stream's first byte as 0.
    pub seq: u64,
    /// Bytes of data.
    pub len: u64,
    /// These bytes were sent before.
    pub retransmitted: bool,
    /// Why it was sent, as the core says.
    pub cause: Option<Cause>,
    /// When it arrived; `None`: it was lost.
    pub arrived: Option<f64>,
}

/// A transfer's packets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Packets {
    /// In the order in which they left.
    pub sent: Vec<Packet>,
    /// Acknowledgments at the sender: when, and the next byte expected.
    pub acknowledged: Vec<(f64, u64)>,
    /// Data packets that arrived and had arrived before.
    pub duplicates: usize,
}

impl Packets {
    /// Of the only transfer from `sender` to `receiver` in run `run` of a point. Its scenario
    /// records packets, and its links keep their order: what arrives after a later packet counts as
    /// lost.
    ///
    /// # Errors
    /// They were not recorded.
    pub fn new(
        part: &Part,
        point: &PointRuns,
        run: u32,
        (sender, receiver): (&str, &str),
    ) -> Result<Packets, String> {
        let folder = part.packets(point, run);
        let [at_sender, at_receiver] =
            [sender, receiver].map(|host| capture(&folder.join(format!("{host}.pcapng"))));
        let packets = Packets::of(only(&at_sender?)?, only(&at_receiver?)?);
        match packets.sent.iter().find(|packet| packet.cause.is_none()) {
            None => Ok(packets),
            Some(packet) => Err(format!("the packet of {} s has no cause", packet.at)),
        }
    }

    fn of(at_sender: &Connection, at_receiver: &Connection) -> Packets {
        let direction = at_sender.main_direction();
        let mut packets = Packets::default();
        let data = |connection: &'_ Connection, direction: Direction| {
            let segments = connection.segments.iter().copied().enumerate();
            let segments = segments.filter(|(_, segment)| segment.direction == direction);
            segments.filter(|(_, segment)| segment.len > 0).collect::<Vec<_>>()
        };
        let sent = data(at_sender, direction);
        let Some((_, first)) = sent.first() else { return packets };
        let (begin, first) = (at_sender.segments[0].at, first.seq);
        let seconds = |at: i64| (at - begin) as f64 / 1e9;
        let mut highest = 0;
        for (_, segment) in &sent {
            let seq = u64::from(segment.seq.wrapping_sub(first));
            let len = u64::from(segment.len);
            packets.sent.push(Packet {
                at: seconds(segment.at),
                seq,
                len,
                retransmitted: seq < highest,
                cause: segment.recorded,
                arrived: None,
            });
            highest = highest.max(seq + len);
        }
        let back = at_sender.segments.iter().filter(|segment| segment.direction != direction);
        packets.acknowledged =
            back.map(|s| (seconds(s.at), u64::from(s.ack.wrapping_sub(first)))).collect();
        let mut next = 0;
        let mut there = std::collections::BTreeSet::new();
        for (_, segment) in data(at_receiver, at_receiver.main_direction()) {
            let seq = u64::from(segment.seq.wrapping_sub(first));
            let found = packets.sent[next..].iter().position(|packet| packet.seq == seq);
            if let Some(found) = found {
                packets.sent[next + found].arrived = Some(seconds(segment.at));
                next += found + 1;
            }
            packets.duplicates += usize::from(!there.insert(seq));
        }
        packets
    }

    /// Packets that were lost.
    pub fn lost(&self) -> impl Iterator<Item = &Packet> {
        self.sent.iter().filter(|packet| packet.arrived.is_none())
    }
}

fn capture(path: &Path) -> Result<Capture, String> {
    let failed = |why: String| format!("{}: {why}", path.display());
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    bentpipe_capture::read(file).map_err(|error| failed(error.to_string()))
}

fn only(capture: &Capture) -> Result<&Connection, String> {
    match &capture.connections[..] {
        [connection] => Ok(connection),
        connections => Err(format!("{} connections in a capture", connections.len())),
    }
}
