//! What else than windows keeps a segment back, or lets it out whatever they say.

use crate::tcp::cause::Cause;
use crate::tcp::limiter::Limiter;
use crate::tcp::pacing::Pacer;
use crate::tcp::recovery::Probe;
use crate::time::{Instant, earliest};
use crate::units::{Bytes, Rate};
use serde::{Deserialize, Serialize};

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

/// Where each segment passes on its way out.
///
/// Invariant: the pacer's timer runs exactly while the last poll has left a segment to the pacer.
/// At most one segment is forced at a time, the latest; it passes pacer, turn and mark.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct SendGate {
    forced: Option<Forced>,
    pacer: Pacer,
    /// No new packet before then: a mark came while the window was one segment.
    marked_until: Option<Instant>,
    passage: Passage,
}

/// How the next segment passes, in one byte of a snapshot.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(into = "u8", from = "u8")]
struct Passage {
    /// Why the next new data leaves: what has last kept some back does so no more.
    cause: Cause,
    /// The pacer's timer runs: the pacer keeps a segment back.
    paced: bool,
    /// Another sender is using the link that is shared with it.
    link_busy: bool,
}

impl From<Passage> for u8 {
    fn from(passage: Passage) -> u8 {
        passage.cause as u8 | u8::from(passage.paced) << 6 | u8::from(passage.link_busy) << 7
    }
}

impl From<u8> for Passage {
    fn from(byte: u8) -> Passage {
        let cause = Cause::ALL.get(usize::from(byte & 63)).copied();
        Passage {
            cause: cause.unwrap_or(Cause::Written),
            paced: byte & 64 > 0,
            link_busy: byte & 128 > 0,
        }
    }
}

impl SendGate {
    /// Open: there is nothing to send yet.
    pub(super) fn new() -> SendGate {
        SendGate {
            forced: None,
            pacer: Pacer::default(),
            marked_until: None,
            passage: Passage {
                cause: Cause::end_of(Limiter::Application),
                paced: false,
                link_busy: false,
            },
        }
    }

    /// A poll has sent something.
    pub(super) fn passed(&mut self) {
        self.passage.paced = false;
    }

    /// A poll has sent nothing.
    pub(super) fn stopped(&mut self, by: Limiter) {
        self.passage.cause = Cause::end_of(by);
        self.passage.paced = by == Limiter::Pacer;
        if self.passage.paced {
            self.pacer.wait(self.pacer.next());
        } else {
            self.pacer.stop_waiting();
        }
    }

    /// Why new data leaves now.
    pub(super) fn cause(&self) -> Cause {
        self.passage.cause
    }

    /// What keeps back a segment that the windows allow: the pacer until its timer expires, or the
    /// turn.
    pub(super) fn limiter(&self) -> Option<Limiter> {
        match self.passage {
            Passage { paced: true, .. } => Some(Limiter::Pacer),
            Passage { link_busy: true, .. } => Some(Limiter::LinkTurn),
            Passage { .. } => None,
        }
    }

    /// When the segment may leave that the pacer keeps back.
    pub(super) fn paced_until(&self) -> Option<Instant> {
        self.passage.paced.then(|| self.pacer.next())
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
        self.passage.link_busy = busy;
    }

    /// Nothing that is not forced leaves before `until`.
    pub(super) fn hold(&mut self, until: Instant) {
        self.marked_until = Some(until);
    }

    /// Whether a timer runs for a mark at a window of one segment.
    pub(super) fn is_marked(&self) -> bool {
        self.marked_until.is_some()
    }

    /// Whether a mark at a window of one segment still keeps the next packet back.
    pub(super) fn is_held(&mut self, now: Instant) -> bool {
        self.marked_until.take_if(|until| *until <= now);
        self.marked_until.is_some()
    }

    /// Whether it is time for the next segment, and this sender's turn.
    pub(super) fn turn(&self, now: Instant) -> Result<(), Limiter> {
        if now < self.pacer.next() {
            return Err(Limiter::Pacer);
        }
        if self.passage.link_busy { Err(Limiter::LinkTurn) } else { Ok(()) }
    }

    /// The moment from which pacing lets the next segment leave.
    pub(super) fn next_send(&self) -> Instant {
        self.pacer.next()
    }

    /// `bytes` on the wire have left, to be followed at `rate`.
    pub(super) fn sent(&mut self, now: Instant, bytes: Bytes, rate: Rate) {
        self.pacer.sent(now, bytes, rate);
    }

    /// When [`SendGate::on_timer`] is to be called, if ever.
    pub(super) fn poll_timer(&self) -> Option<Instant> {
        earliest(self.paced_until(), self.marked_until)
    }

    /// Lets out what has waited until `now`.
    pub(super) fn on_timer(&mut self, now: Instant) {
        self.marked_until.take_if(|until| *until <= now);
        self.passage.paced &= now < self.pacer.next();
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
        let mut gate = SendGate::new();
        gate.sent(at(100), Bytes::new(8_000), Rate::from_bits_per_sec(8_000_000));
        assert_eq!(gate.next_send(), at(103), "it catches up 5 ms");
        gate.set_link_busy(true);
        assert_eq!(gate.turn(at(102)), Err(Limiter::Pacer));
        assert_eq!(gate.poll_timer(), None, "nobody has asked");
        gate.stopped(Limiter::Pacer);
        gate.on_timer(at(102));
        assert_eq!((gate.poll_timer(), gate.limiter()), (Some(at(103)), Some(Limiter::Pacer)));
        gate.on_timer(at(103));
        assert_eq!((gate.poll_timer(), gate.limiter()), (None, Some(Limiter::LinkTurn)));
        assert_eq!(gate.turn(at(103)), Err(Limiter::LinkTurn));
        gate.set_link_busy(false);
        assert_eq!((gate.turn(at(103)), gate.limiter()), (Ok(()), None));
    }

    #[test]
    fn a_mark_holds_until_its_timer() {
        let mut gate = SendGate::new();
        gate.hold(at(10));
        assert!(gate.is_held(at(9)) && gate.is_marked());
        gate.on_timer(at(9));
        assert_eq!(gate.poll_timer(), Some(at(10)));
        gate.on_timer(at(10));
        assert_eq!((gate.poll_timer(), gate.is_marked()), (None, false));
        gate.hold(at(20));
        assert!(!gate.is_held(at(20)) && !gate.is_marked(), "a poll may come before the timer");
    }

    #[test]
    fn one_segment_is_forced_at_a_time() {
        let mut gate = SendGate::new();
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
