//! HyStart++ (RFC 9406): leave slow start when round-trip times rise, before the queue overflows.
//!
//! A rise leads to Conservative Slow Start, which grows by a quarter as much. If round-trip times
//! fall again the rise was jitter, and slow start goes on; after five rounds it is over. It
//! serves the connection's first slow start only (section 4.3).

use super::AckEvent;
use crate::time::Duration;
use serde::{Deserialize, Serialize};

/// What the window is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HyStartPhase {
    /// Grow by what is acknowledged.
    SlowStart,
    /// Grow by a quarter of it: Conservative Slow Start.
    Conservative,
    /// Go over to congestion avoidance.
    Over,
}

/// The round-trip times of slow start.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct HyStart {
    round: u64,
    last_round_min: Option<Duration>,
    current_round_min: Option<Duration>,
    samples: u32,
    conservative: Option<Conservative>,
}

/// Conservative Slow Start.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Conservative {
    /// cssBaselineMinRtt.
    baseline: Duration,
    rounds: u32,
}

// RFC 9406, 4.3, names and recommended values.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
const MIN_RTT_DIVISOR: u32 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_ROUNDS: u32 = 5;

impl HyStart {
    /// RFC 9406's L: the most segments that an acknowledgment adds where nothing is paced.
    pub const LIMIT: u64 = 8;
    /// By what growth is divided in Conservative Slow Start.
    pub const CSS_GROWTH_DIVISOR: u64 = 4;

    /// An acknowledgment in slow start.
    pub fn on_ack(&mut self, ack: &AckEvent) -> HyStartPhase {
        if ack.round != self.round {
            self.begin_round(ack.round);
            if self.conservative.as_ref().is_some_and(|css| css.rounds >= CSS_ROUNDS) {
                return HyStartPhase::Over;
            }
        }
        if let Some(rtt) = ack.rtt {
            self.current_round_min = Some(self.current_round_min.map_or(rtt, |min| min.min(rtt)));
            self.samples += 1;
        }
        if let (Some(current), true) = (self.current_round_min, self.samples >= N_RTT_SAMPLE) {
            self.judge(current);
        }
        if self.conservative.is_some() {
            HyStartPhase::Conservative
        } else {
            HyStartPhase::SlowStart
        }
    }

    fn begin_round(&mut self, round: u64) {
        self.round = round;
        // A round without samples says nothing about the next.
        self.last_round_min = self.current_round_min.take();
        self.samples = 0;
        if let Some(css) = &mut self.conservative {
            // A round in the middle of which it began counts (section 4.2).
            css.rounds += 1;
        }
    }

    /// The round has enough samples, the least of them `current`.
    fn judge(&mut self, current: Duration) {
        match (&self.conservative, self.last_round_min) {
            (Some(css), _) => {
                if current < css.baseline {
                    self.conservative = None;
                }
            }
            (None, Some(last)) => {
                let threshold = (last / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                if current >= last + threshold {
                    self.conservative = Some(Conservative { baseline: current, rounds: 0 });
                }
            }
            (None, None) => {}
        }
    }
}
