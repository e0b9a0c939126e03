//! What else than windows keeps a segment back, or lets it out whatever they say.

use crate::tcp::cause::Cause;
use crate::tcp::pacing::Pacer;
use crate::tcp::recovery::Probe;
use crate::time::{Instant, earliest};
use crate::units::{Bytes, Rate};
use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// Why a segment leaves whatever the congestion window says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Forced {
    /// Fast retransmit, partial acknowledgment or timeout: the first lost segment.
    FirstLost(Cause),
    /// Recovery wants an acknowledgment.
    Probe(Probe),
    /// The persist timer, or a keep-alive: what the window allows, or else a probe.
    Persist(Cause),
}

/// Why a sender sends nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray)]
pub enum Waits {
    /// All that was written has been sent.
    Application,
    /// Nagle's rule, or silly window avoidance: a short segment waits for more.
    Short,
    /// The peer's window is full.
    PeerWindow,
    /// The congestion window is.
    CongestionWindow,
    /// Recovery sends nothing for now.
    Recovery,
    /// The next segment's time has not come.
    Pacer,
    /// It is another sender's turn on the link.
    Link,
    /// A mark came while the window was one segment (RFC 3168, 6.1.2).
    Mark,
    /// Nothing: something may be sent when it is asked for.
    Asked,
}

/// Where each segment passes on its way out.
///
/// Invariant: `limiter` is what stopped the last transmission that was stopped, and unless something has
/// left since or may leave, what the last poll came to; while that is the pacer, its moment has a timer. At
/// most one segment is forced at a time, the latest; it passes pacer, turn and mark.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Gate {
    forced: Option<Forced>,
    pacer: Pacer,
    /// No new packet before then: a mark came while the window was one segment.
    marked_until: Option<Instant>,
    limits: Limits,
}

/// What keeps segments back, in one byte of a snapshot.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(into = "u8", from = "u8")]
struct Limits {
    /// What has last stopped a transmission.
    limiter: Waits,
    /// It does not any more: something has left since, or may leave.
    open: bool,
    /// Another sender is using the link that is shared with it.
    link_busy: bool,
}

impl From<Limits> for u8 {
    fn from(limits: Limits) -> u8 {
        limits.limiter as u8 | u8::from(limits.open) << 4 | u8::from(limits.link_busy) << 5
    }
}

impl From<u8> for Limits {
    fn from(byte: u8) -> Limits {
        let limiter = Waits::VARIANTS.get(usize::from(byte & 15)).copied();
        Limits {
            limiter: limiter.unwrap_or(Waits::Application),
            open: byte & 16 > 0,
            link_busy: byte & 32 > 0,
        }
    }
}

impl Gate {
    /// Open: there is nothing to send yet.
    pub(super) fn new() -> Gate {
        Gate {
            forced: None,
            pacer: Pacer::default(),
            marked_until: None,
            limits: Limits { limiter: Waits::Application, open: false, link_busy: false },
        }
    }

    /// What stopped the last transmission.
    pub(super) fn waits(&self) -> Waits {
        if self.limits.open { Waits::Asked } else { self.limits.limiter }
    }

    /// A transmission was asked for, and stopped or not.
    pub(super) fn answered(&mut self, waits: Waits) {
        self.limits.open = waits == Waits::Asked;
        match waits {
            Waits::Asked => return,
            Waits::Pacer => self.pacer.wait(self.pacer.next()),
            _ => self.pacer.stop_waiting(),
        }
        self.limits.limiter = waits;
    }

    /// Why new data leaves now: what kept it back does so no more.
    pub(super) fn cause(&self) -> Cause {
        Cause::end_of(self.limits.limiter)
    }

    /// The next segment leaves whatever the windows say.
    pub(super) fn force(&mut self, forced: Forced) {
        self.forced = Some(forced);
    }

    /// The same, unless one does already.
    pub(super) fn force_at_least(&mut self, forced: Forced) {
        self.forced.get_or_insert(forced);
    }

    /// What was to be retransmitted was not lost.
    pub(super) fn release_retransmission(&mut self) {
        self.forced.take_if(|forced| matches!(forced, Forced::FirstLost(_)));
    }

    pub(super) fn is_forced(&self) -> bool {
        self.forced.is_some()
    }

    /// What is to leave now whatever the windows say.
    pub(super) fn take_forced(&mut self) -> Option<Forced> {
        self.forced.take()
    }

    pub(super) fn set_link_busy(&mut self, busy: bool) {
        self.limits.link_busy = busy;
    }

    /// Nothing that is not forced leaves before `until`.
    pub(super) fn hold(&mut self, until: Instant) {
        self.marked_until = Some(until);
    }

    /// Whether a mark at a window of one segment still keeps the next packet back.
    pub(super) fn is_held(&self, now: Instant) -> bool {
        self.marked_until.is_some_and(|until| now < until)
    }

    /// Whether it is time for the next segment, and this sender's turn.
    pub(super) fn turn(&self, now: Instant) -> Result<(), Waits> {
        if now < self.pacer.next() {
            return Err(Waits::Pacer);
        }
        if self.limits.link_busy { Err(Waits::Link) } else { Ok(()) }
    }

    /// The moment from which pacing lets the next segment leave.
    pub(super) fn next_send(&self) -> Instant {
        self.pacer.next()
    }

    /// `bytes` on the wire have left, to be followed at `rate`.
    pub(super) fn sent(&mut self, now: Instant, bytes: Bytes, rate: Rate) {
        self.pacer.sent(now, bytes, rate);
    }

    /// When [`Gate::on_timer`] is to be called, if ever.
    pub(super) fn poll_timer(&self) -> Option<Instant> {
        let paced = (self.waits() == Waits::Pacer).then(|| self.pacer.next());
        earliest(paced, self.marked_until)
    }

    /// Lets out what has waited until `now`.
    pub(super) fn on_timer(&mut self, now: Instant) {
        self.marked_until.take_if(|until| *until <= now);
        if self.waits() == Waits::Pacer && self.pacer.next() <= now {
            self.limits.open = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    #[test]
    fn the_pacer_has_a_timer_while_it_is_what_stops() {
        let mut gate = Gate::new();
        gate.sent(at(100), Bytes::new(8_000), Rate::from_bits_per_sec(8_000_000));
        assert_eq!(gate.next_send(), at(103), "it catches up 5 ms");
        gate.set_link_busy(true);
        assert_eq!(gate.turn(at(102)), Err(Waits::Pacer));
        assert_eq!(gate.poll_timer(), None, "nobody has asked");
        gate.answered(Waits::Pacer);
        gate.on_timer(at(102));
        assert_eq!((gate.poll_timer(), gate.waits()), (Some(at(103)), Waits::Pacer));
        gate.on_timer(at(103));
        assert_eq!((gate.poll_timer(), gate.waits()), (None, Waits::Asked));
        assert_eq!(gate.turn(at(103)), Err(Waits::Link));
        gate.set_link_busy(false);
        assert_eq!(gate.turn(at(103)), Ok(()));
    }

    #[test]
    fn a_mark_holds_until_its_timer() {
        let mut gate = Gate::new();
        gate.hold(at(10));
        assert!(gate.is_held(at(9)) && !gate.is_held(at(10)));
        assert_eq!(gate.poll_timer(), Some(at(10)));
        gate.on_timer(at(9));
        assert_eq!(gate.poll_timer(), Some(at(10)));
        gate.on_timer(at(10));
        assert_eq!(gate.poll_timer(), None);
    }

    #[test]
    fn one_segment_is_forced_at_a_time() {
        let mut gate = Gate::new();
        gate.force(Forced::Probe(Probe::Last));
        gate.force_at_least(Forced::Persist(Cause::KeepAlive));
        gate.release_retransmission();
        assert_eq!(gate.take_forced(), Some(Forced::Probe(Probe::Last)));
        gate.force_at_least(Forced::Persist(Cause::KeepAlive));
        gate.force(Forced::FirstLost(Cause::Timeout));
        gate.release_retransmission();
        assert!(!gate.is_forced());
    }
}
