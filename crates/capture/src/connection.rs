//! A connection as a capture has it: its segments in the order of the file.

use crate::direction::Direction;
use crate::series::Recorded;
use crate::silence::Silence;
use bentpipe_core::tcp::cause::Cause as SenderCause;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// The control bits of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u16);

impl Flags {
    /// No more data comes.
    pub const FIN: Flags = Flags(1);
    /// The connection begins.
    pub const SYN: Flags = Flags(2);
    /// The connection is reset.
    pub const RST: Flags = Flags(4);
    /// The data is to be handed on.
    pub const PSH: Flags = Flags(8);
    /// The acknowledgment number counts.
    pub const ACK: Flags = Flags(16);

    /// A mark of congestion came (RFC 3168, 6.1).
    pub const ECE: Flags = Flags(64);
    /// The congestion window is reduced (RFC 3168, 6.1).
    pub const CWR: Flags = Flags(128);
    /// With both before it a counter of marks (RFC 9768, 3.2).
    pub const AE: Flags = Flags(256);

    /// From a header's bits.
    #[must_use]
    pub fn from_bits(bits: u16) -> Flags {
        Flags(bits)
    }

    /// As in a header.
    #[must_use]
    pub fn bits(self) -> u16 {
        self.0
    }

    /// True if one of these is set.
    #[must_use]
    pub fn any(self, of: &[Flags]) -> bool {
        of.iter().any(|flag| self.0 & flag.0 != 0)
    }

    /// All but this.
    pub(crate) fn without(self, flag: Flags) -> Flags {
        Flags(self.0 & !flag.0)
    }

    /// True if this is set.
    #[must_use]
    pub fn has(self, flag: Flags) -> bool {
        self.any(&[flag])
    }
}

/// A SACK block as on the wire (RFC 2018).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sack {
    /// The first sequence number.
    pub left: u32,
    /// One past the last.
    pub right: u32,
}

/// A segment, as on the wire. Small, as there are a million of them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Segment {
    /// Nanoseconds since 1970.
    pub at: i64,
    /// The number of its packet in the file, from 1.
    pub frame: u32,
    /// Its sequence number.
    pub seq: u32,
    /// Its acknowledgment number.
    pub ack: u32,
    /// Bytes of data.
    pub len: u32,
    /// TSval and TSecr (RFC 7323).
    pub timestamps: Option<(u32, u32)>,
    /// Its window, not scaled.
    pub window: u16,
    /// Its control bits.
    pub flags: Flags,
    /// IPv4's identification (RFC 6864); 0 where there is none, as in IPv6.
    pub ip_id: u16,
    /// IPv4's time to live, or IPv6's hop limit.
    pub ttl: u8,
    /// The codepoint of ECN in its IP header (RFC 3168, 5).
    ///
    /// 1 and 2 are ECT, 3 is CE.
    pub ecn: u8,
    /// The number of the place where it was seen: that in [`Capture::vias`].
    ///
    /// [`Capture::vias`]: crate::Capture::vias
    pub via: u16,
    /// Set if options were cut off, and others may be unknown.
    pub options_cut: bool,
    /// Which end sent it.
    pub direction: Direction,
    /// True if it is a part of what is analysed.
    pub standing: Standing,
    /// Why, if its sender has recorded that.
    pub recorded: Option<SenderCause>,
    /// Where its SACK blocks are among those of the connection, and how many.
    pub(crate) sack_at: u32,
    pub(crate) sack_count: u8,
}

impl Segment {
    /// True if it is a part of what is analysed.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.standing == Standing::Counts
    }

    /// What it takes of the sequence space: data, and one each for SYN and FIN.
    #[must_use]
    pub fn space(&self) -> u32 {
        let controls = [Flags::SYN, Flags::FIN].iter().filter(|&&flag| self.flags.has(flag));
        self.len.saturating_add(controls.count() as u32)
    }
}

/// True if a segment is a part of its connection's analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Standing {
    /// It is.
    #[default]
    Counts,
    /// The same packet stands before it in the file, as one place saw it twice, or two places did.
    /// Of places that are apart, all that the others saw ([`Connection::apart`]).
    Copy,
    /// It came before the SYN that was accepted, in another sequence space: an earlier connection's
    /// (RFC 5961, 4), or the answer that refused an attempt.
    Earlier,
}

/// What one end said in its SYN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offer {
    /// True if its SYN is in the capture.
    pub syn: bool,
    /// Its control bits.
    pub flags: Flags,
    /// The maximum segment size.
    pub mss: Option<u16>,
    /// The shift count of its windows.
    pub window_scale: Option<u8>,
    /// True if it takes SACKs.
    pub sack_permitted: bool,
    /// Set if options of its SYN were cut off, and others may be unknown.
    pub cut: bool,
}

impl Offer {
    /// The shift count that it says, or that it says none. `None` if that is not in the capture.
    fn scales(&self) -> Option<Option<u8>> {
        let known = self.window_scale.is_some() || !self.cut;
        (self.syn && known).then_some(self.window_scale)
    }
}

/// A TCP connection of a capture, or of an end's recording.
#[derive(Debug)]
pub struct Connection {
    /// Its number in the file, from 0: Wireshark's `tcp.stream`.
    pub number: usize,
    /// The first end and the second.
    pub ends: [SocketAddr; 2],
    /// Of a gateway's leg, as it has recorded it: the side towards which it sends.
    pub leg: Option<String>,
    /// Its segments, in the order of the file.
    pub segments: Vec<Segment>,
    /// What the ends said in their SYNs.
    pub offers: [Offer; 2],
    /// Comments on segments (pcapng), by their index, without the causes that are in
    /// [`Segment::recorded`].
    pub comments: BTreeMap<u32, String>,
    /// What an end has recorded besides its segments.
    pub series: Vec<Recorded>,
    /// What kept each end from sending, if it has recorded that: all of its time, from the first
    /// segment on, in nanoseconds.
    pub limits: [Vec<Silence>; 2],
    /// The time of its packets between places that are apart, in nanoseconds. Then only what one
    /// place saw counts. `None` if all places that saw it are one.
    pub apart: Option<i64>,
    /// By how much windows are shifted, if it is not the SYNs that say so.
    pub(crate) shifts: Option<[u8; 2]>,
    /// The SYNs that show its addresses and ports to have been another's before, by their packets,
    /// sorted.
    pub(crate) reused_at: Vec<u32>,
    /// The sequence number of each end's SYN, or of its first segment where that is not in the
    /// file.
    pub(crate) first_seq: [Option<u32>; 2],
    pub(crate) sacks: Vec<Sack>,
}

impl Default for Connection {
    /// One without segments, between no addresses.
    fn default() -> Connection {
        let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
        Connection {
            number: 0,
            ends: [nowhere; 2],
            leg: None,
            segments: Vec::new(),
            offers: [Offer::default(); 2],
            comments: BTreeMap::new(),
            series: Vec::new(),
            limits: [Vec::new(), Vec::new()],
            apart: None,
            shifts: None,
            reused_at: Vec::new(),
            first_seq: [None; 2],
            sacks: Vec::new(),
        }
    }
}

impl Connection {
    /// The SACK blocks of a segment.
    #[must_use]
    pub fn sacks(&self, segment: &Segment) -> &[Sack] {
        let begin = segment.sack_at as usize;
        self.sacks.get(begin..begin + usize::from(segment.sack_count)).unwrap_or_default()
    }

    /// Which flow of a simulation it is, if a comment on one of its SYNs says so (`flow: NAME`).
    #[must_use]
    pub fn flow(&self) -> Option<&str> {
        let of_syn = |index: u32| {
            self.segments.get(index as usize).is_some_and(|segment| segment.flags.has(Flags::SYN))
        };
        let comments = self.comments.iter().filter(|(index, _)| of_syn(**index));
        let mut lines = comments.flat_map(|(_, comment)| comment.lines());
        lines.find_map(|line| line.strip_prefix("flow: "))
    }

    /// What to call it besides its number and its ends: its flow, or which leg of a gateway it is.
    #[must_use]
    pub fn label(&self) -> Option<String> {
        let flow = self.flow().map(|flow| format!("flow {flow}"));
        flow.or_else(|| self.leg.as_ref().map(|leg| format!("leg {leg}")))
    }

    /// When its first segment passed, and when its last, in nanoseconds since 1970.
    #[must_use]
    pub fn span(&self) -> (i64, i64) {
        let first = self.segments.first().map_or(0, |segment| segment.at);
        (first, first.saturating_add(self.duration()))
    }

    /// By how much windows of this direction's sender are shifted: only if both SYNs said so (RFC
    /// 7323, 1.3), and `None` if that is not known.
    #[must_use]
    pub fn shift(&self, direction: Direction) -> Option<u8> {
        if let Some(shifts) = self.shifts {
            return Some(shifts[direction.index()]);
        }
        let own = self.offers[direction.index()];
        let peer = self.offers[direction.reverse().index()];
        match (own.scales(), peer.scales()) {
            (Some(None), _) | (_, Some(None)) => Some(0),
            // Where the peer's SYN is missing it is taken to have agreed.
            (Some(Some(shift)), _) => Some(shift),
            (None, _) => None,
        }
    }

    /// True if the SYNs agree on Accurate ECN.
    #[must_use]
    pub fn accurate_ecn(&self) -> bool {
        let ace = |flags: Flags| [Flags::AE, Flags::CWR, Flags::ECE].map(|flag| flags.has(flag));
        // RFC 9768, table 2: without ECN, ECN as it was, and hosts that send back what came.
        let others = [[false; 3], [false, false, true], [true; 3]];
        Direction::BOTH.into_iter().any(|caller| {
            let [syn, answer] = [caller, caller.reverse()].map(|end| self.offers[end.index()]);
            let called = syn.syn && !syn.flags.has(Flags::ACK) && ace(syn.flags) == [true; 3];
            called && answer.flags.has(Flags::ACK) && !others.contains(&ace(answer.flags))
        })
    }

    /// The maximum segment size of this direction's sender. It sends no more than its peer offers,
    /// nor than its own interface takes, which its own SYN tells.
    pub(crate) fn offered_mss(&self, direction: Direction) -> Option<u16> {
        let peer = self.offers[direction.reverse().index()].mss?;
        Some(self.offers[direction.index()].mss.map_or(peer, |own| own.min(peer)))
    }

    /// How many packets are copies of others.
    #[must_use]
    pub fn copies(&self) -> usize {
        self.segments.iter().filter(|segment| segment.standing == Standing::Copy).count()
    }

    /// Who sent most of the data.
    #[must_use]
    pub fn main_direction(&self) -> Direction {
        let mut bytes = [0_u64; 2];
        for segment in self.segments.iter().filter(|segment| segment.counts()) {
            bytes[segment.direction.index()] += u64::from(segment.len);
        }
        if bytes[1] > bytes[0] { Direction::Backward } else { Direction::Forward }
    }

    /// From its first segment to its last, in nanoseconds.
    #[must_use]
    pub fn duration(&self) -> i64 {
        let first = self.segments.first().map_or(0, |s| s.at);
        let last = self.segments.iter().map(|s| s.at).max().unwrap_or(first);
        last.saturating_sub(first)
    }
}
