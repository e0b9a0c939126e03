//! A model of an unsplit transfer: one TCP with CUBIC over the whole path.
//!
//! It goes by rounds, as the models of Cardwell, Savage and Anderson (Modeling TCP Latency, INFOCOM
//! 2000) do. The handshake takes a round trip. A round sends a window and takes a round trip, or as
//! long as the narrowest link needs for it. The window is ten segments at first (RFC 6928). It
//! doubles until a segment is lost or the link is full. From there it grows as CUBIC's (RFC 9438,
//! 4.2 and 4.3), up to twice what fills the link. A loss multiplies it by 0.7 (4.6) when it is
//! detected, a round later. Until then slow start has doubled the window once more. Half of the
//! round that detects it is sent with the window of before. The last round takes one more round
//! trip if it loses something.
//!
//! Gaps between losses are exponential with a mean of 1/p segments. The model takes them from an
//! evenly spread sequence instead of at random, from eight beginnings, and returns the geometric
//! mean. So the same transfer always takes the same time.
//!
//! The model knows no losses by a queue that slow start has filled, no timeouts, no slow receiver
//! and no time that hosts need. All that makes it faster than a real TCP.

use bentpipe_core::time::Duration;
use bentpipe_core::units::{Bytes, Rate};

/// The initial window (RFC 6928), in segments.
const INITIAL: f64 = 10.0;
/// CUBIC's constants (RFC 9438, 4.6 and 5.1): what is left of a window, and C.
const BETA: f64 = 0.7;
const C: f64 = 0.4;
/// Growth of the Reno-friendly window in a round trip (RFC 9438, 4.3), in segments.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// Rounds that are gone through. The rest of a transfer is as fast as these.
const ROUNDS: u32 = 300;
/// Beginnings of the sequence of gaps.
const BEGINNINGS: u32 = 8;
/// The fraction of the golden ratio: its multiples are spread evenly.
const GOLDEN: f64 = 0.618_033_988_749_895;
/// No transfer takes longer, in seconds.
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
    /// The time of a transfer, from its SYN to its last acknowledgment.
    pub fn transfer_time(&self, bytes: Bytes) -> Duration {
        let mss = self.mss.count().max(1) as f64;
        let rounds = Rounds {
            round_trip: self.round_trip.as_secs_f64().max(1e-6),
            rate: self.rate.map_or(f64::INFINITY, |it| it.bits_per_sec() as f64 / 8.0 / mss),
            loss: if self.loss > 0.0 { self.loss.min(0.5) } else { 0.0 },
        };
        let segments = (bytes.count() as f64 / mss).ceil();
        let beginnings = if rounds.loss > 0.0 { BEGINNINGS } else { 1 };
        let logarithms = (0..beginnings).map(|beginning| {
            let phase = (f64::from(beginning) + 0.5) / f64::from(beginnings);
            rounds.time(segments, phase).ln()
        });
        let mean = (logarithms.sum::<f64>() / f64::from(beginnings)).exp();
        Duration::from_nanos((mean.min(LONGEST) * 1e9) as u64)
    }
}

/// A path in seconds and segments.
struct Rounds {
    round_trip: f64,
    /// Segments a second.
    rate: f64,
    loss: f64,
}

impl Rounds {
    /// Seconds for so many segments, with gaps between losses from a `phase` on.
    fn time(&self, segments: f64, mut phase: f64) -> f64 {
        let mut gap = || {
            let share = phase.max(1e-9);
            phase = (phase + GOLDEN).fract();
            if self.loss > 0.0 { -share.ln() / self.loss } else { f64::INFINITY }
        };
        let pipe = self.rate * self.round_trip;
        let limit = 2.0 * pipe;
        let (mut time, mut left, mut until_loss) = (self.round_trip, segments, gap());
        let mut window = Window::Doubles(INITIAL);
        for _ in 0..ROUNDS {
            let size = window.size(self.round_trip).min(limit).max(1.0);
            let sends = size.min(left);
            let mut lost = 0.0;
            until_loss -= sends;
            while until_loss < 0.0 && lost < sends {
                lost += 1.0;
                until_loss += gap();
            }
            if sends >= left {
                let repair = if lost > 0.0 { self.round_trip } else { 0.0 };
                return time + left / self.rate + self.round_trip + repair;
            }
            left -= sends - lost;
            let takes = self.round_trip.max(size / self.rate);
            time += takes;
            window = match window {
                Window::Doubles(size) if lost > 0.0 => Window::reduced((2.0 * size).min(limit)),
                Window::Doubles(size) if 2.0 * size < pipe => Window::Doubles(2.0 * size),
                Window::Doubles(_) => Window::Grows { max: pipe, since: regrowth(pipe) },
                Window::Detects { max } => Window::reduced(max),
                Window::Grows { .. } if lost > 0.0 => Window::Detects { max: size },
                Window::Grows { max, since } => Window::Grows { max, since: since + takes },
            };
        }
        time * segments / (segments - left).max(1.0)
    }
}

/// The congestion window, in segments.
#[derive(Debug, Clone, Copy)]
enum Window {
    /// Slow start.
    Doubles(f64),
    /// The round in which a loss is detected. Losses in it are of the same recovery.
    Detects { max: f64 },
    /// It was reduced from so much, so many seconds ago.
    Grows { max: f64, since: f64 },
}

impl Window {
    fn reduced(max: f64) -> Window {
        Window::Grows { max, since: 0.0 }
    }

    fn size(self, round_trip: f64) -> f64 {
        match self {
            Window::Doubles(size) => size,
            Window::Detects { max } => max * (1.0 + BETA) / 2.0,
            Window::Grows { max, since } => {
                let cubic = C * (since - regrowth(max)).powi(3) + max;
                cubic.max(max * BETA + ALPHA * since / round_trip)
            }
        }
    }
}

/// After how many seconds a reduced window is as large as before (RFC 9438, 4.2: K).
fn regrowth(max: f64) -> f64 {
    (max * (1.0 - BETA) / C).cbrt()
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
        for (segments, rounds) in [(1, 1.0), (10, 1.0), (11, 2.0), (30, 2.0), (31, 3.0), (70, 3.0)]
        {
            let expected = 0.5 + 0.5 * rounds;
            assert!((seconds(path, 1000 * segments) - expected).abs() < 1e-6, "{segments}");
        }
    }

    #[test]
    fn long_transfers_take_the_links_rate() {
        // 500 segments fit into a round trip: 10, 20, … 320 are sent before the link is full.
        let path = path(0.0, Some(8_000_000));
        let expected = 0.5 + 6.0 * 0.5 + (100_000.0 - 630.0) / 1000.0 + 0.5;
        let found = seconds(path, 100_000_000);
        assert!((found / expected - 1.0).abs() < 0.02, "{found}, {expected}");
    }

    #[test]
    fn losses_bound_the_rate_of_long_transfers() {
        // RFC 9438's average window is 1.054 (0.5 / 0.01)^(3/4) = 19.8 segments if losses come
        // evenly; where they come at random it is larger.
        let long = seconds(path(0.01, None), 200_000_000) - seconds(path(0.01, None), 100_000_000);
        let window = 100_000.0 * 0.5 / long;
        assert!((18.0..32.0).contains(&window), "{window}");
        let [none, some] = [0.0, 0.01].map(|loss| seconds(path(loss, None), 10_000));
        assert!(none <= some && some < none + 1.0, "{none}, {some}");
    }

    #[test]
    fn more_losses_and_more_bytes_take_longer() {
        for loss in [0.0, 0.001, 0.01, 0.1] {
            for bytes in [10_000, 100_000, 1_000_000, 10_000_000] {
                let [now, more] = [1, 4].map(|times| seconds(path(loss, None), times * bytes));
                let worse = seconds(path(4.0 * loss + 0.001, None), bytes);
                assert!(now < more && now <= worse, "{loss}, {bytes}: {now}, {more}, {worse}");
            }
        }
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
