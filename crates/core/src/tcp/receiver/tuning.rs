//! Window auto-tuning: dynamic right-sizing (Fisk and Feng, 2001), as in Linux's
//! `tcp_rcv_space_adjust`. The receive buffer grows to twice what the application has read within
//! one round trip, so that the window is never what holds back a sender that doubles its own.
//!
//! The receiver measures the round trip itself: by the echo of its timestamps, or else by the time
//! in which a whole window arrives, which is a round trip or more.

use crate::time::{Duration, Instant};

/// A receive buffer that grows.
#[derive(Debug, Clone)]
pub struct AutoTuning {
    max: u64,
    buffer: u64,
    rtt: Option<Duration>,
    /// When the present round trip began, and how far the application had read then.
    round: (Instant, u64),
    /// When the measurement of a window's arrival began, and the offset that ends it.
    window: (Instant, u64),
}

/// What is known when a segment with data has arrived.
#[derive(Debug, Clone, Copy)]
pub struct Observed {
    /// When it came.
    pub now: Instant,
    /// The next offset that is expected.
    pub rcv_nxt: u64,
    /// One past the last offset that was promised to the peer.
    pub promised: u64,
    /// The next offset that the application reads.
    pub read: u64,
    /// How long ago the timestamp that it echoes was sent.
    pub echoed: Option<Duration>,
}

impl AutoTuning {
    /// A buffer of `buffer` bytes that may grow to `max`, for a stream that begins at offset 1.
    pub fn new(now: Instant, buffer: u64, max: u64) -> AutoTuning {
        AutoTuning { max: max.max(buffer), buffer, rtt: None, round: (now, 1), window: (now, 1) }
    }

    /// The buffer's size now, in bytes.
    pub fn buffer(&self) -> u64 {
        self.buffer
    }

    /// The round-trip time as the receiver sees it.
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// A segment with data has arrived. True if the buffer has grown.
    pub fn on_data(&mut self, observed: &Observed) -> bool {
        self.measure(observed);
        let Observed { now, read, .. } = *observed;
        let Some(rtt) = self.rtt else { return false };
        let (began, read_then) = self.round;
        if now.saturating_since(began) < rtt {
            return false;
        }
        self.round = (now, read);
        let wanted = (2 * (read - read_then)).min(self.max);
        let grows = wanted > self.buffer;
        self.buffer = self.buffer.max(wanted);
        grows
    }

    fn measure(&mut self, observed: &Observed) {
        let Observed { now, rcv_nxt, promised, echoed, .. } = *observed;
        if let Some(rtt) = echoed {
            self.sample(rtt);
            return;
        }
        let (began, end) = self.window;
        if rcv_nxt < end {
            return;
        }
        if end > 1 {
            self.sample(now.saturating_since(began));
        }
        self.window = (now, promised.max(rcv_nxt + 1));
    }

    /// Takes a measurement: a sender that had nothing to send echoes late, and a window that is
    /// not filled at once arrives late, so the least of them counts. Below a millisecond, the
    /// timestamps' unit, there is nothing to be told apart.
    fn sample(&mut self, rtt: Duration) {
        let rtt = rtt.max(Duration::from_millis(1));
        self.rtt = Some(self.rtt.map_or(rtt, |least| least.min(rtt)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn observed(millis: u64, read: u64, echoed: Option<Duration>) -> Observed {
        let now = Instant::from_millis(millis);
        Observed { now, rcv_nxt: read, promised: read + 1000, read, echoed }
    }

    #[test]
    fn the_buffer_becomes_twice_what_was_read_in_a_round_trip() {
        let mut tuning = AutoTuning::new(Instant::ZERO, 1000, 5000);
        assert!(tuning.on_data(&observed(100, 601, Some(ms(100)))));
        assert_eq!(tuning.buffer(), 1200);
        // Within the round trip nothing changes.
        assert!(!tuning.on_data(&observed(150, 1601, Some(ms(120)))));
        assert!(tuning.on_data(&observed(200, 1801, Some(ms(120)))));
        assert_eq!((tuning.buffer(), tuning.rtt()), (2400, Some(ms(100))));
        // Less was read: it does not shrink. Much was: the maximum.
        assert!(!tuning.on_data(&observed(300, 1901, None)));
        assert!(tuning.on_data(&observed(400, 9901, None)));
        assert_eq!(tuning.buffer(), 5000);
    }

    #[test]
    fn without_timestamps_a_window_takes_a_round_trip() {
        let mut tuning = AutoTuning::new(Instant::ZERO, 1000, 8000);
        for (millis, read) in [(50, 501), (60, 1001), (150, 1501)] {
            tuning.on_data(&observed(millis, read, None));
        }
        // 1500 was promised at 50 ms and has come by 150 ms.
        assert_eq!(tuning.rtt(), Some(ms(100)));
        assert_eq!(tuning.buffer(), 3000);
    }
}
