//! What connections to the same peer may tell each other (RFC 9040, TCP control block
//! interdependence): window, threshold and round-trip time. Who has several decides what is shared.

use super::Sender;
use crate::time::Duration;
use crate::units::Bytes;

/// What a sender knows of its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathState {
    /// The congestion window.
    pub cwnd: Bytes,
    /// The slow start threshold, once there is one.
    pub ssthresh: Option<Bytes>,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Its smoothed deviation.
    pub rttvar: Duration,
}

impl PathState {
    /// What one of `sharers` has if they share what `members` have together (RFC 9040, 7): sums of
    /// windows and thresholds in equal parts, means of times. None if there are none.
    pub fn share(members: &[PathState], sharers: u32) -> Option<PathState> {
        let count = u32::try_from(members.len()).ok().filter(|count| *count > 0)?;
        let part = |sum: Bytes| sum / u64::from(sharers.max(1));
        let thresholds: Option<Vec<Bytes>> = members.iter().map(|one| one.ssthresh).collect();
        let sum =
            |all: &mut dyn Iterator<Item = Bytes>| all.fold(Bytes::ZERO, Bytes::saturating_add);
        Some(PathState {
            cwnd: part(sum(&mut members.iter().map(|one| one.cwnd))),
            ssthresh: thresholds.map(|all| part(sum(&mut all.into_iter()))),
            srtt: members.iter().map(|one| one.srtt).sum::<Duration>() / count,
            rttvar: members.iter().map(|one| one.rttvar).sum::<Duration>() / count,
        })
    }
}

impl Sender {
    /// What it knows of its path; None before the first measurement.
    pub fn path_state(&self) -> Option<PathState> {
        let (rtt, ssthresh) = (self.rtt(), self.ssthresh());
        Some(PathState {
            cwnd: self.cwnd(),
            ssthresh: Some(ssthresh).filter(|ssthresh| *ssthresh < Bytes::MAX),
            srtt: rtt.srtt()?,
            rttvar: rtt.rttvar(),
        })
    }

    /// Begins with what another one has known of the path (RFC 9040, 6.1), and not with the initial
    /// window. What the handshake has measured is newer, and is taken for the sample behind that.
    pub fn inherit(&mut self, state: &PathState) {
        let cwnd = state.cwnd.max(self.smss());
        self.cwnd.set(cwnd, state.ssthresh.unwrap_or(Bytes::MAX));
        self.timers.inherit(state.srtt, state.rttvar);
    }

    /// Begins with a window of so many bytes, one segment at least, instead of the initial window.
    /// Nothing has been sent yet.
    pub fn begin_with(&mut self, window: Bytes) {
        self.cwnd.set(window.max(self.smss()), self.ssthresh());
    }

    /// Whether it is sending a large initial window, spread over the round trip.
    pub fn is_spreading(&self) -> bool {
        self.cwnd.slow_start().is_spreading()
    }

    /// Bytes of that window beyond what leaves at once, sent since this was last asked.
    pub fn take_spread(&mut self) -> Bytes {
        self.cwnd.slow_start_mut().take_spread()
    }

    /// The initial window is what has left of it, and at least what leaves at once: others begin,
    /// too.
    pub fn end_spread(&mut self) {
        self.cwnd.slow_start_mut().end_spread();
    }

    /// Gives up a part of its window to another one: `kept` of `of` parts are left. In fast
    /// recovery the window is not touched.
    pub fn give_up_share(&mut self, kept: u64, of: u64) {
        if self.flight.in_recovery() || of == 0 {
            return;
        }
        let part = |whole: Bytes| kept * (whole / of);
        let ssthresh = match self.ssthresh() {
            Bytes::MAX => Bytes::MAX,
            ssthresh => part(ssthresh).max(2 * self.smss()),
        };
        self.cwnd.set(part(self.cwnd()).max(self.smss()), ssthresh);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::sender::{InitialWindow, SenderConfig};
    use crate::units::Offset;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn state(cwnd: u64, ssthresh: Option<u64>, srtt: u64) -> PathState {
        let ssthresh = ssthresh.map(Bytes::new);
        PathState { cwnd: Bytes::new(cwnd), ssthresh, srtt: ms(srtt), rttvar: ms(srtt / 10) }
    }

    #[test]
    fn windows_are_divided_and_times_are_not() {
        assert_eq!(PathState::share(&[], 1), None);
        let two = [state(20_000, Some(30_000), 100), state(40_000, Some(30_000), 300)];
        assert_eq!(PathState::share(&two, 3), Some(state(20_000, Some(20_000), 200)));
        // Who still looks for its threshold keeps the others from having one.
        let one_starts = [state(20_000, None, 100), state(40_000, Some(30_000), 300)];
        assert_eq!(PathState::share(&one_starts, 3), Some(state(20_000, None, 200)));
    }

    fn sender() -> Sender {
        let config = SenderConfig {
            smss: Bytes::new(1_000),
            initial_window: InitialWindow::Segments(10),
            ..SenderConfig::default()
        };
        Sender::new(config, Offset::FIRST, Bytes::new(1_000_000), Some(ms(100)))
    }

    #[test]
    fn a_sender_begins_where_another_one_was() {
        let mut new = sender();
        assert_eq!(new.path_state().map(|state| state.ssthresh), Some(None));
        new.inherit(&state(64_000, Some(50_000), 100));
        assert_eq!((new.cwnd(), new.ssthresh()), (Bytes::new(64_000), Bytes::new(50_000)));
        // Never less than a segment.
        new.inherit(&state(400, None, 100));
        assert_eq!((new.cwnd(), new.ssthresh()), (Bytes::new(1_000), Bytes::MAX));
    }

    #[test]
    fn a_sender_gives_up_a_part() {
        let mut sender = sender();
        sender.give_up_share(3, 4);
        assert_eq!((sender.cwnd(), sender.ssthresh()), (Bytes::new(7_500), Bytes::MAX));
        sender.inherit(&state(8_000, Some(4_000), 100));
        sender.give_up_share(1, 4);
        assert_eq!((sender.cwnd(), sender.ssthresh()), (Bytes::new(2_000), Bytes::new(2_000)));
    }
}
