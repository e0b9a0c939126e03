//! How far the window opens, and what its field says (RFC 9293, 3.8.6.2.2; RFC 7323, 2.4).

use super::{AT_FULL_WINDOW, PendingAck, Receiver};
use crate::tcp::cause::Cause;
use crate::time::Instant;
use crate::units::{Bytes, Offset};

/// In steps of so many segments a closed window opens: with an acknowledgment for every second one
/// of them, a sender hears hardly more often than from a receiver that delays.
const STEP: u64 = 16;

/// After a while, in steps of so many.
const MIN_STEP: u64 = 2;

impl Receiver {
    /// The window may open up to `limit`. Less than before stops it from opening; it does not
    /// close what was advertised. A considerable opening is announced at once (RFC 9293,
    /// 3.8.6.2.2): one that reopens a closed window, or two segments and a quarter of the window.
    #[inline]
    pub fn set_limit(&mut self, limit: Offset) {
        let opens = self.opens(limit);
        if (self.is_closed() && opens >= self.silly()) || opens >= self.considerable() {
            self.ack_now(Cause::WindowUpdate);
        }
    }

    /// The same, but a closed window opens in steps of many segments, or after 40 ms by what has
    /// become free until then: what drains its buffer takes a segment at a time.
    pub fn open_in_steps(&mut self, now: Instant, limit: Offset) {
        let opens = self.opens(limit);
        let closed = self.is_closed();
        if opens >= if closed { self.step(STEP) } else { self.considerable() } {
            self.ack_now(Cause::WindowUpdate);
        } else if closed && opens >= self.step(MIN_STEP) && self.pending_ack == PendingAck::Nothing
        {
            self.pending_ack = PendingAck::By(now + AT_FULL_WINDOW);
        }
    }

    /// Takes note of a limit, and says by how much it opens the window; not at all behind a FIN.
    fn opens(&mut self, limit: Offset) -> Bytes {
        self.limit = limit;
        if self.fin.is_some() {
            return Bytes::ZERO;
        }
        self.largest = self.largest.max(limit.saturating_sub(self.rcv_nxt));
        limit.saturating_sub(self.firm)
    }

    /// What of the advertised window is left.
    fn left(&self) -> Bytes {
        self.firm.saturating_sub(self.rcv_nxt)
    }

    /// Whether no full segment fits into the window.
    fn is_closed(&self) -> bool {
        self.left() < self.config.rmss
    }

    /// An opening of a window that is not closed which is announced by itself.
    fn considerable(&self) -> Bytes {
        let window = self.limit.saturating_sub(self.rcv_nxt);
        (2 * self.config.rmss).max(window / 4)
    }

    /// A step of so many segments, or half of a buffer that is smaller than two of them.
    fn step(&self, segments: u64) -> Bytes {
        (segments * self.config.rmss).min((self.largest / 2).max(Bytes::ONE))
    }

    /// Whether the window is narrow, and holds its sender back.
    pub(super) fn delays_at_full_window(&self) -> bool {
        self.config.delay_at_full_window && self.left() < self.step(STEP)
    }

    /// The window may open up to `limit`, which the next acknowledgment says, whenever that is due:
    /// the field of a SYN is not scaled, and could not; and what opens with arriving data is told
    /// with it.
    pub fn open_quietly(&mut self, limit: Offset) {
        self.limit = limit;
        self.largest = self.largest.max(limit.saturating_sub(self.rcv_nxt));
    }

    /// The least opening of a window that is worth announcing: one segment, or half of a
    /// buffer that is smaller than two.
    pub(super) fn silly(&self) -> Bytes {
        self.step(1)
    }

    /// The window field for a segment that is about to be sent, which also carries the
    /// acknowledgment: nothing is owed afterwards, unless that is divided.
    ///
    /// The edge stays where it was while opening it further would be silly (RFC 9293,
    /// 3.8.6.2.2). The field's unit rounds it up, by less than one unit; as `rcv_nxt` moves, the
    /// edge on the wire may move within that unit, which RFC 7323, 2.4, foresees: what was ever
    /// advertised is accepted.
    pub fn acknowledge(&mut self) -> u16 {
        self.divided = self.next_division();
        self.pending_ack = match self.divided {
            Some(_) => PendingAck::Now(Cause::Division),
            None => PendingAck::Nothing,
        };
        self.unacknowledged = Bytes::ZERO;
        let next = self.ack_offset();
        self.last_ack_sent = next;
        if self.limit >= self.firm + self.silly() {
            self.firm = self.limit;
        }
        let unit = Bytes::new(1 << self.config.window_shift);
        // A shift, where a division would cost as much as all else here.
        let open = self.firm.saturating_sub(next).count();
        let units = (open >> self.config.window_shift) + u64::from(open & (unit.count() - 1) > 0);
        let field = u16::try_from(units).unwrap_or(u16::MAX);
        self.rcv_adv = self.rcv_adv.max(next + u64::from(field) * unit);
        field
    }
}
