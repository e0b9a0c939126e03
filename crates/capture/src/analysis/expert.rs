//! Marks by the rules of Wireshark's user's guide, section 7.5 (TCP analysis), for each segment
//! what was seen before it. Where the guide leaves a case open, what tshark 4.0 does with a capture
//! decides: the tests compare.

use super::marks::{Mark, Marks};
use crate::connection::{Connection, Flags, Segment};
use crate::direction::Direction;

/// How soon after a duplicate ACK a fast retransmission comes.
const FAST: i64 = 20_000_000;
/// Later than this is not out of order but retransmitted, unless the handshake's round-trip time is
/// known.
const OUT_OF_ORDER: i64 = 3_000_000;

/// Sequence numbers: whether `a` is behind `b`.
fn after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

/// What one end has sent so far.
#[derive(Debug, Clone, Copy, Default)]
struct End {
    /// The highest sequence number, plus one; and when that was sent.
    next: Option<u32>,
    next_at: i64,
    /// The newest acknowledgment number and window, and when they came.
    ack: u32,
    ack_at: i64,
    window: Option<u16>,
    /// How often the acknowledgment was repeated.
    duplicates: u32,
    /// What the peer may acknowledge: what was sent without a gap.
    acknowledgeable: Option<u32>,
    /// True if the last segment was one of these.
    keep_alive: bool,
    probe: bool,
    /// No segment but the SYN was sent, whose window is not scaled.
    only_syn: bool,
}

/// Both ends.
#[derive(Debug)]
pub(super) struct Expert<'a> {
    connection: &'a Connection,
    ends: [End; 2],
    syn_at: Option<i64>,
    /// The handshake's: from the SYN to its third segment.
    first_round_trip: Option<i64>,
}

impl<'a> Expert<'a> {
    pub(super) fn new(connection: &'a Connection) -> Expert<'a> {
        Expert { connection, ends: [End::default(); 2], syn_at: None, first_round_trip: None }
    }

    /// The marks of the next segment.
    pub(super) fn on_segment(&mut self, segment: &Segment) -> Marks {
        let mut marks = Marks::default();
        let own = segment.direction.index();
        self.handshake(segment);
        if self.connection.reused_at.binary_search(&segment.frame).is_ok() {
            marks.add(Mark::ReusedPorts);
        }
        if self.probes(segment) {
            marks.add(Mark::ZeroWindowProbe);
        } else {
            self.by_header(segment, &mut marks);
        }
        if segment.ack != self.ends[own].ack {
            self.ends[own].duplicates = 0;
        }
        self.beyond_the_capture(segment, &mut marks);
        if segment.space() > 0 && !marks.has(Mark::KeepAlive) {
            self.sent_before(segment, &mut marks);
        }
        self.remember(segment, marks);
        marks
    }

    /// The handshake's round trip, if its third segment is there. tshark takes a SYN at the very
    /// beginning of 1970, as simulators have, for one without a time.
    fn handshake(&mut self, segment: &Segment) {
        let behind = |direction: Direction| {
            self.connection.first_seq[direction.index()].map(|first| first.wrapping_add(1))
        };
        let third = segment.flags.has(Flags::ACK)
            && !segment.flags.has(Flags::SYN)
            && Some(segment.seq) == behind(segment.direction)
            && Some(segment.ack) == behind(segment.direction.reverse());
        if segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK) {
            self.syn_at = (segment.at != 0).then_some(segment.at);
        } else if let (true, Some(at), None) = (third, self.syn_at, self.first_round_trip) {
            self.first_round_trip = Some(segment.at.saturating_sub(at));
        }
    }

    /// One byte, next in order, into a closed window.
    fn probes(&self, segment: &Segment) -> bool {
        let own = &self.ends[segment.direction.index()];
        let peer = &self.ends[segment.direction.reverse().index()];
        segment.len == 1 && Some(segment.seq) == own.next && peer.window == Some(0)
    }

    /// What the header says, beside those before it.
    fn by_header(&self, segment: &Segment, marks: &mut Marks) {
        let own = &self.ends[segment.direction.index()];
        let peer = &self.ends[segment.direction.reverse().index()];
        let plain = !segment.flags.any(&[Flags::SYN, Flags::FIN, Flags::RST]);
        if plain && segment.window == 0 {
            marks.add(Mark::ZeroWindow);
        }
        let gap = own.next.is_some_and(|next| after(segment.seq, next));
        if gap && !segment.flags.has(Flags::RST) {
            marks.add(Mark::LostSegment);
        }
        // An end of which nothing is known is at 0, as is its acknowledgment.
        let next = own.next.unwrap_or(0);
        if plain && segment.len <= 1 && segment.seq == next.wrapping_sub(1) {
            marks.add(Mark::KeepAlive);
        }
        if plain && segment.len > 0 && self.fills_window(segment) {
            marks.add(Mark::WindowFull);
        }
        let repeats = plain && segment.len == 0 && segment.seq == next && segment.ack == own.ack;
        if !repeats {
            return;
        }
        let same_window = own.window == Some(segment.window);
        match (segment.window, same_window) {
            (0, true) if peer.probe => marks.add(Mark::ZeroWindowProbeAck),
            (0, _) => {}
            (_, true) if peer.keep_alive => marks.add(Mark::KeepAliveAck),
            (_, true) => marks.add(Mark::DuplicateAck),
            (_, false) => marks.add(Mark::WindowUpdate),
        }
    }

    /// True if the data ends where the peer's window does.
    fn fills_window(&self, segment: &Segment) -> bool {
        let peer = &self.ends[segment.direction.reverse().index()];
        let shift = if peer.only_syn {
            Some(0)
        } else {
            self.connection.shift(segment.direction.reverse())
        };
        let (Some(shift), Some(window)) = (shift, peer.window) else { return false };
        let edge = peer.ack.wrapping_add(u32::from(window) << shift);
        segment.seq.wrapping_add(segment.len) == edge
    }

    /// An acknowledgment of what is not in the capture; once for each gap.
    fn beyond_the_capture(&mut self, segment: &Segment, marks: &mut Marks) {
        let (own, peer) = (segment.direction.index(), segment.direction.reverse().index());
        if marks.has(Mark::DuplicateAck) {
            self.ends[own].duplicates += 1;
        }
        let sender = &mut self.ends[peer];
        let Some(most) = sender.acknowledgeable else { return };
        if after(segment.ack, most) && segment.flags.has(Flags::ACK) {
            marks.add(Mark::AckLostSegment);
            // What was seen behind the gap. Where nothing was, all is expected until more comes.
            sender.acknowledgeable = sender.next.filter(|&next| after(next, most));
        }
    }

    /// Data, a SYN or a FIN that was sent before, or comes late.
    fn sent_before(&self, segment: &Segment, marks: &mut Marks) {
        let own = &self.ends[segment.direction.index()];
        let peer = &self.ends[segment.direction.reverse().index()];
        let end = segment.seq.wrapping_add(segment.len);
        if segment.len > 0 && peer.ack != 0 && !after(end, peer.ack) {
            marks.add(Mark::SpuriousRetransmission);
            return;
        }
        let Some(next) = own.next else { return };
        // New data behind a probe of one byte takes that byte with it.
        let with_probe = segment.len > 1 && segment.seq == next.wrapping_sub(1);
        if !after(next, segment.seq) || with_probe {
            return;
        }
        let fast = peer.duplicates >= 2
            && peer.ack == segment.seq
            && segment.at.saturating_sub(peer.ack_at) < FAST;
        let soon = self.first_round_trip.filter(|&time| time != 0).unwrap_or(OUT_OF_ORDER);
        let control = u32::from(segment.flags.any(&[Flags::SYN, Flags::FIN]));
        if fast {
            marks.add(Mark::FastRetransmission);
        } else if (segment.at.wrapping_sub(own.next_at) as u64) < soon as u64
            && next != end.wrapping_add(control)
        {
            marks.add(Mark::OutOfOrder);
        } else {
            marks.add(Mark::Retransmission);
        }
    }

    fn remember(&mut self, segment: &Segment, marks: Marks) {
        let end = &mut self.ends[segment.direction.index()];
        let control = u32::from(segment.flags.any(&[Flags::SYN, Flags::FIN]));
        let next = segment.seq.wrapping_add(segment.len).wrapping_add(control);
        let probe = marks.has(Mark::ZeroWindowProbe);
        if !probe {
            if end.acknowledgeable.is_none() {
                end.acknowledgeable = end.next;
            }
            if end.next.is_none_or(|before| after(next, before)) {
                (end.next, end.next_at) = (Some(next), segment.at);
            }
            if end.acknowledgeable.is_none_or(|most| most == segment.seq) {
                end.acknowledgeable = end.next;
            }
        }
        end.window = Some(segment.window);
        (end.ack, end.ack_at) = (segment.ack, segment.at);
        end.keep_alive = marks.has(Mark::KeepAlive);
        end.probe = probe;
        end.only_syn = segment.flags.has(Flags::SYN);
    }
}
