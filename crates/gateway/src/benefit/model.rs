//! A model of an unsplit transfer: one TCP with CUBIC over the whole path.
//!
//! With the path's round trip R, its loss p, segments of s bytes, and the rate C of its narrowest
//! link (or none), d segments take
//!
//! ```text
//! T = R                              the handshake
//!   + k R                            whole rounds of slow start: 10, 20, 40, … segments, while more
//!                                    are left, and the window is below C R / s
//!   + a s / C + R                    the rest of slow start, and the last acknowledgment
//!   + R + b / min(C / s, W / R)      only if there is a loss: recovery, and the b segments behind it
//! ```
//!
//! Slow start sends (1 - (1 - p)^d) (1 - p) / p + 1 segments before the first loss, d at most
//! (cardwell-2000, eq. 5), and doubles in each round, as Linux does. Behind it the window is that
//! of CUBIC on average, W = 1.054 (R / p)^(3/4) (RFC 8312, 5.1), but no less than Reno's √(3 / 2p)
//! (mathis-1997).
//!
//! What it leaves out makes the model faster than a real TCP: losses by a queue that slow start
//! has filled, timeouts, a slow receiver, and the time that both hosts need.

use bentpipe_core::time::Duration;
use bentpipe_core::units::{Bytes, Rate};

/// The initial window (RFC 6928), in segments.
const INITIAL: f64 = 10.0;
/// Rounds of doubling beyond which no window matters.
const ROUNDS: u32 = 40;
/// No transfer takes longer.
const LONGEST: f64 = 1e6;

/// The path of a transfer between its hosts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnsplitPath {
    /// Its round trip without queues.
    pub round_trip: Duration,
    /// The share of its packets that are lost.
    pub loss: f64,
    /// The payload of a full segment.
    pub mss: Bytes,
    /// The rate of its narrowest link, where that is known.
    pub rate: Option<Rate>,
}

impl UnsplitPath {
    /// How long a transfer of so much payload takes, from its SYN to its last acknowledgment.
    pub fn transfer_time(&self, bytes: Bytes) -> Duration {
        let mss = self.mss.count().max(1) as f64;
        let round_trip = self.round_trip.as_secs_f64();
        let segments = (bytes.count() as f64 / mss).ceil();
        // In segments a second.
        let rate = self.rate.map_or(f64::INFINITY, |it| it.bits_per_sec() as f64 / 8.0 / mss);
        let loss = self.loss.clamp(0.0, 0.5);
        let in_slow_start = before_first_loss(segments, loss).min(segments);
        let (mut sent, mut window, mut time) = (0.0, INITIAL, round_trip);
        for _ in 0..ROUNDS {
            if sent + window >= in_slow_start || window >= rate * round_trip {
                break;
            }
            sent += window;
            time += round_trip;
            window *= 2.0;
        }
        time += (in_slow_start - sent) / rate + round_trip;
        let behind = segments - in_slow_start;
        if behind > 0.0 {
            let sustained = average_window(round_trip, loss) / round_trip.max(1e-6);
            time += round_trip + behind / rate.min(sustained);
        }
        Duration::from_nanos((time.min(LONGEST) * 1e9) as u64)
    }
}

/// Segments that are sent before the first loss, on average; infinite without losses.
fn before_first_loss(segments: f64, loss: f64) -> f64 {
    if loss == 0.0 {
        return f64::INFINITY;
    }
    (1.0 - (1.0 - loss).powf(segments)) * (1.0 - loss) / loss + 1.0
}

/// The average congestion window of CUBIC, in segments.
fn average_window(round_trip: f64, loss: f64) -> f64 {
    let cubic = 1.054 * (round_trip / loss).powf(0.75);
    let reno = (1.5 / loss).sqrt();
    cubic.max(reno).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(loss: f64, rate: Option<u64>) -> UnsplitPath {
        let rate = rate.map(Rate::from_bits_per_sec);
        let round_trip = Duration::from_millis(500);
        UnsplitPath { round_trip, loss, mss: Bytes::new(1000), rate }
    }

    fn seconds(path: UnsplitPath, bytes: u64) -> f64 {
        path.transfer_time(Bytes::new(bytes)).as_secs_f64()
    }

    #[test]
    fn short_transfers_take_rounds_of_slow_start() {
        let path = path(0.0, None);
        for (segments, rounds) in [(1, 1.0), (10, 1.0), (11, 2.0), (30, 2.0), (31, 3.0), (70, 3.0)] {
            assert_eq!(seconds(path, 1000 * segments), 0.5 + 0.5 * rounds, "{segments}");
        }
    }

    #[test]
    fn long_transfers_take_the_links_rate() {
        // 500 segments fit into a round trip: 10, 20, … 320 are sent before the link is full.
        let path = path(0.0, Some(8_000_000));
        let expected = 0.5 + 6.0 * 0.5 + (100_000.0 - 630.0) / 1000.0 + 0.5;
        assert!((seconds(path, 100_000_000) - expected).abs() < 1e-6);
    }

    #[test]
    fn losses_bound_the_rate_of_long_transfers() {
        // 1.054 (0.5 / 0.01)^(3/4) = 19.8 segments in half a second.
        let long = seconds(path(0.01, None), 200_000_000) - seconds(path(0.01, None), 100_000_000);
        assert!((long - 100_000.0 / (2.0 * 19.83)).abs() < 10.0, "{long}");
        let [none, some] = [0.0, 0.01].map(|loss| seconds(path(loss, None), 10_000));
        assert!(none <= some && some < none + 1.0, "{none}, {some}");
    }

    #[test]
    fn nothing_is_infinite_or_less_than_nothing() {
        let nowhere = UnsplitPath { round_trip: Duration::ZERO, loss: 9.0, ..path(0.0, Some(1)) };
        for path in [nowhere, path(f64::NAN, None), path(-1.0, Some(8))] {
            let time = seconds(path, u64::MAX);
            assert!((0.0..=LONGEST).contains(&time), "{time}");
        }
    }
}
