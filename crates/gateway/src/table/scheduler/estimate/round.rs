//! A round trip of all flows together, as it is counted.

use bentpipe_core::tcp::congestion::LinkReport;
use bentpipe_core::time::Instant;

/// The shortest round, in seconds.
const MIN_LENGTH: f64 = 0.04;

/// Nothing came for long if a round takes so many times its length, and this besides, in seconds.
const SILENT: f64 = 3.0;
const SILENT_AFTER: f64 = 0.1;

/// So many times what arrives in a round trip may be in flight in the next one, until a queue
/// stands.
pub(super) const START_GROWTH: f64 = 4.0;

/// See the module's head.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Round {
    began: Instant,
    /// Of all flows. Its round trip is not used.
    pub(super) seen: LinkReport,
    /// Most bytes in flight.
    pub(super) peak: f64,
    /// Something waited as the window was full.
    pub(super) full: bool,
    /// Bytes that were delivered and had not waited long.
    clear: f64,
    /// The minimum round trip of its second half, in seconds: what is older shows windows of long
    /// ago.
    rtt: Option<f64>,
    /// That of retransmissions.
    rtt_again: Option<f64>,
    /// The same for one way, by a peer's clock.
    pub(super) one_way: Option<f64>,
}

impl Round {
    /// Begins now.
    pub(super) fn beginning(now: Instant) -> Round {
        Round { began: now, ..Round::default() }
    }

    /// A flow has seen something, where a round trip takes `base` seconds without a queue and
    /// `in_flight` bytes are in flight.
    pub(super) fn take(&mut self, now: Instant, base: f64, report: LinkReport, in_flight: u64) {
        self.seen = self.seen.and(report);
        let peak = in_flight + report.delivered.count();
        self.peak = self.peak.max(peak as f64);
        let rtt = report.rtt.map(|rtt| rtt.as_secs_f64());
        if rtt.is_none_or(|rtt| rtt < base + own_queue(base)) {
            self.clear += report.delivered.as_f64();
        }
        if self.shows_queue(now, base) {
            self.rtt = self.rtt.into_iter().chain(rtt).reduce(f64::min);
            let again = report.rtt_again.map(|rtt| rtt.as_secs_f64());
            self.rtt_again = self.rtt_again.into_iter().chain(again).reduce(f64::min);
        }
    }

    /// The minimum round trip of its second half, in seconds: by retransmissions if all was lost
    /// before.
    pub(super) fn rtt(&self) -> Option<f64> {
        self.rtt.or(self.rtt_again)
    }

    /// Segments have taken so long one way.
    pub(super) fn take_one_way(&mut self, now: Instant, base: f64, took: f64) {
        if self.shows_queue(now, base) {
            self.one_way = self.one_way.into_iter().chain([took]).reduce(f64::min);
        }
    }

    fn shows_queue(&self, now: Instant, base: f64) -> bool {
        self.span(now) >= length(base) / 2.0
    }

    /// Seconds since it began.
    pub(super) fn span(&self, now: Instant) -> f64 {
        now.saturating_since(self.began).as_secs_f64()
    }

    /// Whether it began before this moment, if there is one.
    pub(super) fn is_before(&self, moment: Option<Instant>) -> bool {
        moment.is_some_and(|moment| self.began < moment)
    }

    /// Whether it is over.
    pub(super) fn is_over(&self, now: Instant, base: f64) -> bool {
        self.span(now) >= length(base)
    }

    /// Whether nothing came for long: a fade, or nobody had anything to send.
    pub(super) fn is_silent(&self, now: Instant, base: f64) -> bool {
        self.span(now) > SILENT * length(base) + SILENT_AFTER || self.seen.delivered.is_zero()
    }

    /// What may be in flight beyond what flows begin with, in bytes.
    pub(super) fn room_to_begin(&self) -> f64 {
        START_GROWTH * self.clear
    }
}

fn length(base: f64) -> f64 {
    base.max(MIN_LENGTH)
}

/// A segment may have waited so long, in seconds, for others of its own burst.
fn own_queue(base: f64) -> f64 {
    (base / 4.0).max(0.02)
}

#[cfg(test)]
mod tests {
    use super::super::segment::SEGMENT;
    use super::*;
    use bentpipe_core::time::Duration;
    use bentpipe_core::units::Bytes;

    #[test]
    fn only_what_has_not_waited_lets_more_begin_and_only_the_second_half_tells_the_queue() {
        let mut round = Round::default();
        let at = Instant::from_millis;
        for (millis, rtt) in [(10, 500), (200, 620), (300, 700), (450, 640)] {
            let rtt = Some(Duration::from_millis(rtt));
            let delivered = Bytes::new(SEGMENT as u64);
            round.take(
                at(millis),
                0.5,
                LinkReport { delivered, lost: Bytes::ZERO, rtt, ..LinkReport::default() },
                9_000,
            );
        }
        assert_eq!(round.room_to_begin(), START_GROWTH * 2.0 * SEGMENT);
        assert_eq!((round.rtt(), round.peak), (Some(0.64), 9_000.0 + SEGMENT));
        assert!(!round.is_over(at(499), 0.5) && round.is_over(at(500), 0.5));
        assert!(!round.is_silent(at(600), 0.5) && round.is_silent(at(1_700), 0.5));
    }

    #[test]
    fn retransmissions_tell_the_queue_where_nothing_else_does() {
        let mut round = Round::default();
        let at = Instant::from_millis;
        let [once, again] = [600, 640].map(|rtt| Some(Duration::from_millis(rtt)));
        let report = LinkReport { rtt_again: again, ..LinkReport::default() };
        round.take(at(400), 0.5, report, 0);
        assert_eq!(round.rtt(), Some(0.64));
        round.take(at(450), 0.5, LinkReport { rtt: once, ..report }, 0);
        assert_eq!(round.rtt(), Some(0.6));
    }
}
