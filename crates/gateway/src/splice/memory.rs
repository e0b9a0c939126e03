//! What a splice takes of the pool's memory.
//!
//! Each stream has a share of its own, whatever the others hold: the first `share` bytes of memory
//! from where the byte lies that is owed next. It is taken from the pool as long as the stream may
//! receive anything, used or not; so it is there when something comes, and what fills a hole can
//! always come in, even if the pool is full of data behind holes. A stream that waits for its share
//! takes nothing behind a hole. What lies beyond is charged as it is held, in whole chunks, and
//! comes in only if the pool has room for it. So no more is ever held than there is.

use super::Splice;
use crate::leg::Leg;
use crate::segment::Segment;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Bytes, Offset};

/// What a stream between hosts near by may hold in any case, memory allowing: two super-segments,
/// and what they may be away from a chunk's beginning.
pub(crate) const MIN_NEAR: Bytes = Bytes::new(136 << 10);

/// What the gateway as a whole allows a flow at this moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowance {
    /// The most that a stream may hold beyond its share, in bytes.
    pub(crate) max: Bytes,
    /// The most that a stream between hosts near by may hold, in bytes: all of these have as much.
    pub(crate) near: Bytes,
    /// What the pool has room for beyond all shares, in bytes.
    pub(crate) free: usize,
    /// What each stream may hold in any case, in bytes of memory.
    pub(crate) share: Bytes,
    /// How long acknowledged bytes may take to be delivered after a RST.
    pub(crate) reset_drain: Duration,
}

impl<B: Buffer> Splice<B> {
    /// Memory held by the streams, in bytes.
    pub(crate) fn held(&self) -> usize {
        self.streams[Leg::Client].held() + self.streams[Leg::Server].held()
    }

    /// What it takes of the pool while it may receive, in bytes, where each stream has a `share` of
    /// its own: no less than it holds.
    pub(crate) fn charge(&self, share: Bytes) -> usize {
        let of =
            |leg: Leg| share.as_len() + self.streams[leg].held_from(self.share_end(leg, share));
        of(Leg::Client) + of(Leg::Server)
    }

    /// One past the last offset that stream `leg` may hold in any case.
    fn share_end(&self, leg: Leg, share: Bytes) -> Offset {
        let delivered = self.delivered(leg);
        delivered - (delivered - Offset::SYN) % B::UNIT + share
    }

    /// What of stream `leg` has been delivered: one past the last byte.
    fn delivered(&self, leg: Leg) -> Offset {
        // A FIN counts as an offset, and is no byte.
        let written = self.legs[leg].tcb.receiver.rcv_nxt();
        self.legs[leg.other()].tcb.sender.snd_una().min(written)
    }

    /// How much of a segment's payload may be taken; None if nothing of it may. It is all, or what
    /// lies within the stream's share.
    pub(crate) fn admitted(
        &self,
        leg: Leg,
        segment: &Segment<'_>,
        allowance: Allowance,
    ) -> Option<usize> {
        let len = segment.payload.len();
        let receiver = &self.legs[leg].tcb.receiver;
        let isn = self.legs[leg].tcb.handshake().rcv_isn;
        let Some(start) = segment.tcp.seq.offset_near(isn, receiver.rcv_nxt()) else {
            // It is far off, and dropped for that.
            return Some(len);
        };
        if allowance.share.is_zero() && start > receiver.rcv_nxt() {
            // It waits for a share, and what fills the hole might find no room.
            return (len == 0).then_some(0);
        }
        let share_end = self.share_end(leg, allowance.share);
        let end = (start + Bytes::of_len(len)).min(receiver.rcv_adv());
        let beyond = start.max(share_end).max(receiver.rcv_nxt())..end;
        if self.streams[leg].growth(beyond) <= allowance.free {
            return Some(len);
        }
        let within = share_end.saturating_sub(start).as_len().min(len);
        (within > 0).then_some(within)
    }
}
