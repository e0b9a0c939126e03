//! The retransmission timer (RFC 6298, section 5) and the persist timer (RFC 9293, 3.8.6.1), with
//! the measurements that they go by.

use crate::tcp::recovery::Timing;
use crate::tcp::rtt::{RtoConfig, RttEstimator, RttSampling};
use crate::time::{Duration, Instant, earliest};
use crate::units::Offset;
use serde::{Deserialize, Serialize};

/// The path's round-trip times, and the timers that follow from them.
///
/// Invariant: the retransmission timer runs exactly while something is outstanding. The persist
/// timer is begun while nothing is, and stopped by whatever is acknowledged or sent, but for its
/// own probes. Each expiry of either counts as unanswered until the peer is heard.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Timers {
    rtt: RttEstimator,
    /// When the retransmission timer expires.
    retransmission: Option<Instant>,
    persist: Option<Persist>,
    /// SND.NXT when a round trip was last measured: where one segment is timed, it is the one
    /// behind.
    timed: Offset,
    /// SND.UNA when the retransmission timer last expired.
    timed_out_at: Option<Offset>,
    /// After a spurious timeout: the first sample of data beyond raises the estimate.
    adopt_rtt_beyond: Option<Offset>,
    /// Expiries since the peer was last heard of.
    unanswered: u32,
}

/// Probing a closed window.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Persist {
    deadline: Instant,
    interval: Duration,
    /// A probe has been sent.
    probed: bool,
}

impl Persist {
    const MAX_INTERVAL: Duration = Duration::from_secs(60);
}

impl Timers {
    /// None runs. The handshake took `rtt`, if that is known.
    pub(super) fn new(config: RtoConfig, rtt: Option<Duration>) -> Timers {
        let mut estimator = RttEstimator::new(config);
        if let Some(rtt) = rtt {
            estimator.sample(rtt);
        }
        Timers {
            rtt: estimator,
            retransmission: None,
            persist: None,
            timed: Offset::SYN,
            timed_out_at: None,
            adopt_rtt_beyond: None,
            unanswered: 0,
        }
    }

    /// The parameters are the sender's, and are kept in its snapshot.
    pub(super) fn restore(&mut self, config: RtoConfig) {
        self.rtt.set_config(config);
    }

    pub(super) fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// The path's times.
    pub(super) fn timing(&self) -> Timing {
        let rtt = &self.rtt;
        Timing { srtt: rtt.srtt(), min_rtt: rtt.min_rtt(), rttvar: rtt.rttvar(), rto: rtt.rto() }
    }

    /// When the next of them expires.
    pub(super) fn poll(&self) -> Option<Instant> {
        earliest(self.retransmission, self.persist())
    }

    /// Whether the retransmission timer runs.
    pub(super) fn retransmits(&self) -> bool {
        self.retransmission.is_some()
    }

    /// When the retransmission timer expires, while it runs.
    pub(super) fn retransmission(&self) -> Option<Instant> {
        self.retransmission
    }

    /// When the persist timer expires, while it runs.
    pub(super) fn persist(&self) -> Option<Instant> {
        self.persist.map(|persist| persist.deadline)
    }

    /// Whether the retransmission timer has expired.
    pub(super) fn is_timed_out(&self, now: Instant) -> bool {
        self.retransmission.is_some_and(|deadline| deadline <= now)
    }

    /// Whether the persist timer has expired once since it was begun.
    pub(super) fn has_probed(&self) -> bool {
        self.persist.is_some_and(|persist| persist.probed)
    }

    /// Expiries since the peer was last heard of.
    pub(super) fn unanswered(&self) -> u32 {
        self.unanswered
    }

    /// The peer is asked something that it has to answer.
    pub(super) fn ask(&mut self) {
        self.unanswered += 1;
    }

    /// The peer is heard.
    pub(super) fn heard(&mut self) {
        self.unanswered = 0;
    }

    /// An acknowledgment at `now` measures a round trip of `rtt`; the newest segment that it
    /// reports and that was sent once ends at `newest`; what was sent ends at `nxt`.
    pub(super) fn measured(&mut self, now: Instant, rtt: Duration, newest: Offset, nxt: Offset) {
        if self.rtt.samples() == RttSampling::RoundTrip && newest <= self.timed {
            return self.rtt.end_back_off();
        }
        self.timed = nxt;
        self.rtt.sample_at(now, rtt);
        if self.adopt_rtt_beyond.take_if(|point| newest > *point).is_some() {
            self.rtt.adopt(rtt);
        }
    }

    /// See [`RttEstimator::inherit`].
    pub(super) fn inherit(&mut self, srtt: Duration, rttvar: Duration) {
        self.rtt.inherit(srtt, rttvar);
    }

    /// New data was acknowledged, and measured a round trip or not. What is then still
    /// `outstanding` gets a timeout of its own unless the timer is to be kept (RFC 6298, rules 5.2
    /// and 5.3).
    pub(super) fn acknowledged(&mut self, now: Instant, measured: bool, next: Running) {
        self.persist = None;
        if !measured {
            self.rtt.end_back_off();
        }
        match next {
            Running::Stop => self.retransmission = None,
            Running::Restart => self.restart(now),
            Running::Keep => {}
        }
    }

    /// The retransmission timer begins anew.
    pub(super) fn restart(&mut self, now: Instant) {
        self.retransmission = Some(self.rtt.deadline(now));
    }

    /// A segment has left (RFC 6298, rule 5.1).
    pub(super) fn sent(&mut self, now: Instant) {
        self.persist = None;
        self.sent_to_probe(now);
    }

    /// The persist timer has sent data: it runs on.
    pub(super) fn sent_to_probe(&mut self, now: Instant) {
        self.retransmission.get_or_insert_with(|| self.rtt.deadline(now));
    }

    /// What could be sent waits for a whole timeout: when that is over. What runs begins anew.
    pub(super) fn wait(&mut self, now: Instant) -> Instant {
        let until = self.rtt.deadline(now);
        self.retransmission = self.retransmission.map(|_| until);
        until
    }

    /// The peer is heard, though it has acknowledged nothing new: the next timeout is a plain one,
    /// and never later than it would have been.
    pub(super) fn end_back_off(&mut self, now: Instant) {
        self.rtt.end_back_off();
        let plain = self.rtt.deadline(now);
        self.retransmission = self.retransmission.map(|deadline| deadline.min(plain));
    }

    /// The retransmission timer has expired, with `snd_una` as the first outstanding offset: it is
    /// backed off and begins anew (RFC 6298, rules 5.5 and 5.6). True if this offset has timed out
    /// before.
    pub(super) fn on_timeout(&mut self, now: Instant, snd_una: Offset) -> bool {
        self.unanswered += 1;
        self.rtt.back_off();
        self.restart(now);
        self.timed_out_at.replace(snd_una) == Some(snd_una)
    }

    /// The last timeout was too early: nothing had been lost. `point` was SND.NXT then.
    pub(super) fn was_spurious(&mut self, point: Offset) {
        self.timed_out_at = None;
        self.adopt_rtt_beyond = Some(point);
    }

    /// The peer's window is closed, and nothing outstanding would bring an acknowledgment: the
    /// persist timer begins to run, unless it does.
    pub(super) fn begin_to_persist(&mut self, now: Instant) {
        let (deadline, interval) = (self.rtt.deadline(now), self.rtt.rto());
        self.persist.get_or_insert(Persist { deadline, interval, probed: false });
    }

    /// Lets the persist timer expire if it is due. True if so: the window is to be probed.
    pub(super) fn probe_if_due(&mut self, now: Instant) -> bool {
        let Some(persist) = self.persist.as_mut().filter(|persist| persist.deadline <= now) else {
            return false;
        };
        let interval = (persist.interval * 2).min(Persist::MAX_INTERVAL);
        *persist = Persist { deadline: self.rtt.expiry(now, interval), interval, probed: true };
        self.unanswered += 1;
        true
    }
}

/// What becomes of the retransmission timer as new data is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Running {
    /// Nothing is outstanding any more.
    Stop,
    /// What is still outstanding has a timeout of its own.
    Restart,
    /// Recovery has it run on.
    Keep,
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// After a round trip of 100 ms: a timeout of 300 ms.
    fn timers() -> Timers {
        Timers::new(RtoConfig::default(), Some(ms(100)))
    }

    #[test]
    fn the_retransmission_timer_runs_from_the_first_segment_to_the_last_acknowledgment() {
        let mut timers = timers();
        assert_eq!(timers.poll(), None);
        timers.sent(at(0));
        timers.sent(at(50));
        assert_eq!(timers.poll(), Some(at(300)), "rule 5.1");
        timers.acknowledged(at(100), false, Running::Restart);
        assert_eq!(timers.poll(), Some(at(400)), "rule 5.3");
        timers.acknowledged(at(150), false, Running::Keep);
        assert_eq!(timers.poll(), Some(at(400)));
        timers.acknowledged(at(200), false, Running::Stop);
        assert!(!timers.retransmits() && timers.poll().is_none(), "rule 5.2");
    }

    #[test]
    fn a_timeout_is_backed_off_until_new_data_is_acknowledged() {
        let mut timers = timers();
        timers.sent(at(0));
        assert!(!timers.is_timed_out(at(299)) && timers.is_timed_out(at(300)));
        assert!(!timers.on_timeout(at(300), Offset::new(7)));
        assert!(timers.on_timeout(at(900), Offset::new(7)), "the same data");
        assert_eq!((timers.poll(), timers.unanswered()), (Some(at(2100)), 2));
        timers.heard();
        assert_eq!((timers.poll(), timers.unanswered()), (Some(at(2100)), 0));
        timers.acknowledged(at(1000), false, Running::Restart);
        assert_eq!(timers.poll(), Some(at(1300)));
        timers.on_timeout(at(1300), Offset::new(8));
        timers.was_spurious(Offset::new(20));
        assert!(!timers.on_timeout(at(1900), Offset::new(8)), "what was no timeout does not count");
    }

    #[test]
    fn a_spurious_timeout_raises_the_estimate_with_new_data_only() {
        let mut timers = timers();
        timers.was_spurious(Offset::new(20));
        timers.measured(at(500), ms(400), Offset::new(20), Offset::new(22));
        assert!(timers.rtt().srtt() < Some(ms(200)));
        timers.measured(at(900), ms(400), Offset::new(21), Offset::new(22));
        assert_eq!(timers.rtt().srtt(), Some(ms(400)));
        timers.measured(at(900), ms(800), Offset::new(22), Offset::new(22));
        assert_eq!(timers.rtt().srtt(), Some(ms(450)), "once");
    }

    /// Ten segments of each round trip are acknowledged one by one; the queue grows by 20 ms in a
    /// round trip.
    #[test]
    fn one_segment_in_a_round_trip_is_timed() {
        let rto = |samples| {
            let mut timers = Timers::new(RtoConfig { samples, ..RtoConfig::default() }, None);
            for number in 1..=100 {
                let (newest, nxt) = (Offset::new(number), Offset::new(number + 10));
                timers.measured(at(number * 10), ms(200 + number * 2), newest, nxt);
            }
            (timers.rtt().srtt().unwrap(), timers.rtt().rttvar())
        };
        let (srtt, rttvar) = rto(RttSampling::EachSegment);
        assert!(srtt > ms(380) && rttvar < ms(20), "{srtt:?} {rttvar:?}");
        let (srtt, rttvar) = rto(RttSampling::RoundTrip);
        assert!(srtt < ms(330) && rttvar > ms(60), "{srtt:?} {rttvar:?}");
    }

    #[test]
    fn the_persist_timer_doubles_and_outlasts_its_own_probes() {
        let mut timers = timers();
        timers.begin_to_persist(at(0));
        timers.begin_to_persist(at(100));
        assert_eq!((timers.poll(), timers.has_probed()), (Some(at(300)), false));
        assert!(!timers.probe_if_due(at(299)) && timers.probe_if_due(at(300)));
        assert_eq!((timers.poll(), timers.has_probed()), (Some(at(900)), true));
        assert_eq!(timers.unanswered(), 1);
        timers.sent_to_probe(at(300));
        assert_eq!(timers.poll(), Some(at(600)), "the data of a probe is outstanding");
        timers.acknowledged(at(400), true, Running::Stop);
        assert!(timers.poll().is_none() && !timers.has_probed());
        timers.begin_to_persist(at(400));
        timers.sent(at(500));
        assert_eq!(timers.poll(), Some(at(800)), "the window has opened");
    }
}
