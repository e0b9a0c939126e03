//! The receiving half: reassembly, windows and acknowledgments (RFC 9293, 3.10.7.4 and 3.8.6;
//! RFC 2018 and 2883 for SACK blocks; RFC 1122, 4.2.3.2 for delayed acknowledgments).
//!
//! The receiver knows offsets, not bytes: [`Receiver::on_data`] says which part of a payload is
//! new, and the caller stores it in the stream's buffer. The caller also says how far the window
//! may open ([`Receiver::set_limit`]); a right edge that was advertised never moves back.

mod config;
mod policy;
mod sack;
#[cfg(test)]
mod tests;
mod tuning;
mod window;

pub use config::ReceiverConfig;
pub use policy::AckPolicy;
pub use tuning::{AutoTuning, Observed};

use super::cause::Cause;
use super::ranges::RangeSet;
use crate::fixed::Fixed;
use crate::time::{Duration, Instant};
use crate::units::{Bytes, Offset};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The most ranges kept beyond a hole. A peer that sends single bytes far apart would otherwise
/// cost us far more memory than its window says; what would be one range too many is taken for
/// lost.
const MAX_RANGES: usize = 4096;

/// The most blocks that one acknowledgment has room for (RFC 2018, 3).
const MAX_BLOCKS: usize = 4;

/// How many segments beyond a hole tell a sender that it is a loss (RFC 5681, 3.2; RFC 6675; RFC
/// 8985, 6.2).
const DUP_THRESH: u8 = 3;

/// At a full window: how long a lone segment's acknowledgment, or a small opening, waits for more.
/// Senders expect it of one segment and not of two (RFC 8985, 7.2, adds the receiver's delay for a
/// lone one).
const AT_FULL_WINDOW: Duration = Duration::from_millis(40);

/// What to do with an arriving payload.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Accepted {
    /// Offsets of the part to be stored (empty if none). All of it lies within the payload.
    pub store: Range<Offset>,
    /// `rcv_nxt` has moved.
    pub advanced: bool,
}

/// Whether, and how soon, an acknowledgment is owed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum PendingAck {
    Nothing,
    By(Instant),
    Now(Cause),
}

/// The receiving half of a connection or of a gateway's leg.
#[derive(Debug, Serialize, Deserialize)]
pub struct Receiver {
    config: Fixed<ReceiverConfig>,
    ack_policy: AckPolicy,
    rcv_nxt: Offset,
    /// What has arrived beyond a hole.
    out_of_order: RangeSet,
    /// Ranges of `out_of_order`, most recently touched first, for SACK's order.
    recent: Vec<Range<Offset>>,
    /// A duplicate to be reported once (RFC 2883).
    duplicate: Option<Range<Offset>>,
    /// Offset of the peer's FIN.
    fin: Option<Offset>,
    fin_acknowledged: bool,
    /// One past the last offset that may be advertised now.
    limit: Offset,
    /// The largest window so far, which stands for the size of the buffer behind it.
    largest: Bytes,
    /// One past the last offset that was advertised.
    rcv_adv: Offset,
    /// The edge that the window field is computed from; the field's unit may round it up.
    firm: Offset,
    pending_ack: PendingAck,
    /// Bytes received since the last acknowledgment: in order, or behind a hole and not reported.
    unacknowledged: Bytes,
    /// What the acknowledgment field said in the last segment sent.
    last_ack_sent: Offset,
    /// So many more segments beyond the newest hole are reported one by one.
    reports: u8,
    /// ACK division: what the acknowledgment field says while not all is acknowledged yet.
    divided: Option<Offset>,
    /// What the host for which we stand has itself acknowledged.
    relayed_ack: Offset,
    /// What lies below is acknowledged at once: division begins here.
    divide_from: Offset,
    duplicate_bytes: Bytes,
    needless_segments: u64,
}

impl Receiver {
    /// A receiver that expects offset `start`, whose handshake advertised up to `rcv_adv`.
    /// Acknowledgments are sent as `ack_policy` says, until [another](Receiver::set_ack_policy) is
    /// set.
    pub fn new(
        config: ReceiverConfig,
        ack_policy: AckPolicy,
        start: Offset,
        rcv_adv: Offset,
    ) -> Receiver {
        Receiver {
            config: config.into(),
            ack_policy,
            rcv_nxt: start,
            out_of_order: RangeSet::default(),
            recent: Vec::new(),
            duplicate: None,
            fin: None,
            fin_acknowledged: false,
            limit: rcv_adv,
            largest: rcv_adv.saturating_sub(start),
            rcv_adv,
            firm: rcv_adv,
            pending_ack: PendingAck::Nothing,
            unacknowledged: Bytes::ZERO,
            last_ack_sent: start,
            reports: 0,
            divided: None,
            relayed_ack: Offset::SYN,
            divide_from: start,
            duplicate_bytes: Bytes::ZERO,
            needless_segments: 0,
        }
    }

    /// The next data offset that is expected, whether or not a held FIN stands there.
    pub fn rcv_nxt(&self) -> Offset {
        self.rcv_nxt
    }

    /// The offset at which the peer's next segment should begin: `rcv_nxt`, and one more once the
    /// FIN is acknowledged.
    pub fn expected(&self) -> Offset {
        self.rcv_nxt + Bytes::from(self.fin_acknowledged)
    }

    /// What the acknowledgment field says: what is expected, or less while one segment's
    /// acknowledgment is divided, or more if somebody else has acknowledged more.
    pub fn ack_offset(&self) -> Offset {
        self.divided.unwrap_or(self.expected()).max(self.relayed_ack)
    }

    /// The host for which we stand has itself acknowledged up to `offset`. Our segments say so from
    /// now on: RFC 5961, section 5, has a peer drop segments with acknowledgments that are older
    /// than a window, data and all.
    pub fn follow(&mut self, offset: Offset) {
        self.relayed_ack = self.relayed_ack.max(offset);
    }

    /// One past the last offset that was advertised to the peer.
    pub fn rcv_adv(&self) -> Offset {
        self.rcv_adv
    }

    /// The window field of what we send counts units of 2^shift bytes.
    pub fn window_shift(&self) -> u8 {
        self.config.window_shift
    }

    /// Acknowledgments are sent in this way from now on.
    pub fn set_ack_policy(&mut self, policy: AckPolicy) {
        self.ack_policy = policy;
    }

    /// The largest payload that the peer sends in one segment, in bytes.
    pub fn rmss(&self) -> Bytes {
        self.config.rmss
    }

    /// Whether SACK was agreed on.
    pub fn sack(&self) -> bool {
        self.config.sack
    }

    /// What has arrived beyond the first hole.
    pub fn out_of_order(&self) -> &RangeSet {
        &self.out_of_order
    }

    /// Bytes that came more than once.
    pub fn duplicate_bytes(&self) -> Bytes {
        self.duplicate_bytes
    }

    /// Segments of data of which every byte had come before.
    pub fn needless_segments(&self) -> u64 {
        self.needless_segments
    }

    /// Whether the FIN and all before it have arrived.
    pub fn fin_received(&self) -> bool {
        self.fin == Some(self.rcv_nxt)
    }

    /// Whether the peer has been told that its FIN arrived (or will be with the next segment).
    pub fn fin_acknowledged(&self) -> bool {
        self.fin_acknowledged
    }

    /// RFC 9293's acceptability test for `len` offsets from `start`, against all that was ever
    /// promised (RFC 7323, 2.4). A segment at the left edge is always let in, for the sake of
    /// its acknowledgment: a closed window drops its data later.
    pub fn acceptable(&self, start: Option<Offset>, len: Bytes) -> bool {
        let Some(start) = start else { return false };
        let next = self.expected();
        let edge = self.rcv_adv.max(next);
        if start == next || self.held_fin_at(start) {
            return true;
        }
        if len == Bytes::ZERO {
            // Right behind the window, too: there stands the acknowledgment of a peer that has
            // filled the window and lost a segment. RFC 9293's test would drop it.
            return next <= start && start <= edge;
        }
        start < edge && next < start + len
    }

    /// After a FIN that we hold back, the peer's segments begin one past it.
    pub(super) fn held_fin_at(&self, start: Offset) -> bool {
        self.fin_received() && start == self.rcv_nxt + Bytes::ONE
    }

    /// Last.ACK.sent of RFC 7323, 4.3, and one more where a FIN is all that it leaves out: behind a
    /// FIN that we hold back the peer is one further than we say.
    pub(super) fn acknowledged_or_held(&self) -> Offset {
        let acked = self.last_ack_sent;
        acked + Bytes::from(self.fin_received() && acked == self.rcv_nxt)
    }

    /// Data (and perhaps a FIN behind it) of an acceptable segment.
    pub fn on_data(&mut self, now: Instant, data: Range<Offset>, fin: bool) -> Accepted {
        if fin
            && self.fin.is_none()
            && self.out_of_order.iter().next_back().is_none_or(|r| r.end <= data.end)
        {
            self.fin = Some(data.end);
        }
        let was_over = self.fin_received();
        let occupied = !data.is_empty() || fin;
        let in_time = data.start.max(self.rcv_nxt)
            ..data.end.min(self.rcv_adv).min(self.fin.unwrap_or(Offset::MAX));
        self.note_duplicates(&data);
        let mut accepted = Accepted { store: in_time.start..in_time.start, advanced: false };
        let mut urgent = (in_time.is_empty() && occupied).then_some(Cause::Unacceptable);
        if !in_time.is_empty() {
            accepted.store = in_time.clone();
            if in_time.start == self.rcv_nxt {
                let was_hole = !self.out_of_order.is_empty();
                self.advance(in_time.end);
                accepted.advanced = true;
                self.unacknowledged += in_time.end - in_time.start;
                if was_hole {
                    urgent = Some(Cause::HoleFilled);
                    self.divide_from = self.rcv_nxt;
                }
            } else if self.out_of_order.len() >= MAX_RANGES
                && self.out_of_order.containing(in_time.start - Bytes::ONE).is_none()
            {
                accepted.store = in_time.start..in_time.start;
                urgent = Some(Cause::OutOfOrder);
            } else {
                urgent = (!self.reports_later(&in_time)).then_some(Cause::OutOfOrder);
                let range = self.out_of_order.cover(in_time.clone());
                self.touch(range);
            }
        }
        if self.fin_received() && !self.config.hold_fin {
            self.fin_acknowledged = true;
        }
        // A hole before a FIN that came early is filled.
        let ends = self.fin_received() && !was_over;
        if fin || ends {
            self.ack_now(Cause::EndOfStream);
        } else if let Some(cause) = urgent {
            self.ack_now(cause);
        } else if occupied {
            self.schedule_ack(now);
        }
        accepted
    }

    /// Whether what has come beyond a hole may wait to be reported together with others: of a
    /// policy that thins, what follows the highest range, once the sender can know that the hole is
    /// a loss.
    fn reports_later(&mut self, data: &Range<Offset>) -> bool {
        if !self.ack_policy.thins_reports() || !self.config.sack {
            return false;
        }
        let highest = self.out_of_order.iter().next_back();
        if highest.is_none_or(|highest| highest.end != data.start) {
            self.reports = DUP_THRESH;
        }
        let waits = self.reports == 0;
        self.reports = self.reports.saturating_sub(1);
        if waits {
            self.unacknowledged += data.end - data.start;
        }
        waits
    }

    /// Moves `rcv_nxt` to `end` and over what had arrived beyond.
    fn advance(&mut self, end: Offset) {
        self.rcv_nxt = end;
        if let Some(range) = self.out_of_order.containing(end) {
            self.rcv_nxt = range.end;
        }
        self.out_of_order.remove_below(self.rcv_nxt);
        let next = self.rcv_nxt;
        self.recent.retain(|range| range.start >= next);
    }

    /// Owes a delayed acknowledgment, or one now if the policy says so.
    fn schedule_ack(&mut self, now: Instant) {
        let policy = self.ack_policy;
        if policy == AckPolicy::PerSegment && self.delays_at_full_window() {
            // The second segment counts, however short: its sender would probe after two round
            // trips.
            self.pending_ack = match self.pending_ack {
                PendingAck::Nothing if self.unacknowledged <= self.config.rmss => {
                    PendingAck::By(now + AT_FULL_WINDOW)
                }
                _ => PendingAck::Now(Cause::Segments),
            };
            return;
        }
        let enough = policy.segments().is_none_or(|segments| {
            self.unacknowledged >= self.config.rmss.saturating_mul(u64::from(segments))
        });
        self.pending_ack = match self.pending_ack {
            PendingAck::By(_) | PendingAck::Nothing if enough => PendingAck::Now(Cause::Segments),
            PendingAck::Nothing => {
                policy.deadline(now).map_or(PendingAck::Now(Cause::Segments), PendingAck::By)
            }
            owed => owed,
        };
    }

    /// An acknowledgment is owed at once. If one was already, its cause remains.
    pub fn ack_now(&mut self, cause: Cause) {
        if !matches!(self.pending_ack, PendingAck::Now(_)) {
            self.pending_ack = PendingAck::Now(cause);
        }
    }

    /// Makes an acknowledgment due that waits for more to come.
    pub fn expedite_ack(&mut self) {
        if matches!(self.pending_ack, PendingAck::By(_)) {
            self.pending_ack = PendingAck::Now(Cause::Segments);
        }
    }

    /// The held FIN may be acknowledged now.
    pub fn acknowledge_fin(&mut self) {
        if self.fin_received() && !self.fin_acknowledged {
            self.fin_acknowledged = true;
            self.ack_now(Cause::EndOfStream);
        }
    }

    /// Whether an acknowledgment is due at `now`.
    pub fn ack_due(&self, now: Instant) -> bool {
        match self.pending_ack {
            PendingAck::Nothing => false,
            PendingAck::By(deadline) => deadline <= now,
            PendingAck::Now(_) => true,
        }
    }

    /// Why the acknowledgment is due that is sent now.
    pub fn ack_cause(&self) -> Cause {
        match self.pending_ack {
            PendingAck::Now(cause) => cause,
            PendingAck::By(_) | PendingAck::Nothing => Cause::AckTimer,
        }
    }

    /// When a delayed acknowledgment falls due, if one is owed.
    pub fn poll_timer(&self) -> Option<Instant> {
        match self.pending_ack {
            PendingAck::By(deadline) => Some(deadline),
            _ => None,
        }
    }

    /// The acknowledgment field of the last segment sent (for RFC 7323's TS.Recent rule:
    /// Last.ACK.sent).
    pub fn last_ack_sent(&self) -> Offset {
        self.last_ack_sent
    }

    /// Where within the segments that came the next acknowledgment stops. Only data that came in
    /// order is divided: beside a hole, acknowledgments say what is missing. Neither is the
    /// stream's end: it is over for us when the peer acknowledges our FIN, which therefore carries
    /// the whole acknowledgment.
    fn next_division(&self) -> Option<Offset> {
        let AckPolicy::Division(parts) = self.ack_policy else { return None };
        if !self.out_of_order.is_empty() || self.duplicate.is_some() || self.fin_received() {
            return None;
        }
        let part =
            Bytes::new(self.config.rmss.count().div_ceil(u64::from(parts.max(1)))).max(Bytes::ONE);
        let next = self.last_ack_sent.max(self.divide_from) + part;
        (next < self.rcv_nxt).then_some(next)
    }
}
