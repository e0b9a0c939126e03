//! How far the window opens, and what its field says (RFC 9293, 3.8.6.2.2; RFC 7323, 2.4).

use super::{Owed, Receiver};

impl Receiver {
    /// The window may open up to `limit`. Less than before stops it from opening; it does not
    /// close what was promised. A considerable opening is announced at once (RFC 9293,
    /// 3.8.6.2.2): one that reopens a closed window, or two segments and a quarter of the window.
    pub fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
        if self.fin.is_some() {
            return;
        }
        let opens = limit.saturating_sub(self.firm);
        let window = limit.saturating_sub(self.rcv_nxt);
        self.largest = self.largest.max(window);
        let closed = self.firm.saturating_sub(self.rcv_nxt) < self.config.rmss;
        let two = 2 * self.config.rmss;
        let least = match self.config.ack_with_window {
            true => two.min((self.largest / 2).max(1)),
            false => self.silly(),
        };
        if (closed && opens >= least) || opens >= two.max(window / 4) {
            self.owed = Owed::Now;
        }
    }

    /// The window may open up to `limit`, which the next acknowledgment says, whenever that is due: the
    /// field of a SYN is not scaled, and could not; and what opens with arriving data is told with it.
    pub fn open_quietly(&mut self, limit: u64) {
        self.limit = limit;
        self.largest = self.largest.max(limit.saturating_sub(self.rcv_nxt));
    }

    /// The least opening of a window that is worth announcing: one segment, or half of a
    /// buffer that is smaller than two.
    pub(super) fn silly(&self) -> u64 {
        self.config.rmss.min((self.largest / 2).max(1))
    }

    /// Whether an acknowledgment would let the peer send nothing that it may not send already, and
    /// that is less than two segments. A peer with a window of its own of two is not held up by
    /// waiting for the opening, which is announced.
    pub(super) fn nothing_to_offer(&self) -> bool {
        self.firm.saturating_sub(self.rcv_nxt) < 2 * self.config.rmss
            && self.limit < self.firm + self.silly()
    }

    /// The window field for a segment that is about to be sent, which also carries the
    /// acknowledgment: nothing is owed afterwards, unless that is divided.
    ///
    /// The edge stays where it was while opening it further would be silly (RFC 9293,
    /// 3.8.6.2.2). The field's unit rounds it up, by less than one unit; as `rcv_nxt` moves, the
    /// edge on the wire may move within that unit, which RFC 7323, 2.4, foresees: what was ever
    /// promised is accepted.
    pub fn acknowledge(&mut self) -> u16 {
        self.divided = self.next_division();
        self.owed = if self.divided.is_some() { Owed::Now } else { Owed::Nothing };
        self.unacknowledged = 0;
        let next = self.ack_offset();
        self.last_ack_sent = next;
        if self.limit >= self.firm + self.silly() {
            self.firm = self.limit;
        }
        let unit = 1u64 << self.config.window_shift;
        let units = self.firm.saturating_sub(next).div_ceil(unit);
        let field = u16::try_from(units).unwrap_or(u16::MAX);
        self.promised = self.promised.max(next + u64::from(field) * unit);
        field
    }
}
