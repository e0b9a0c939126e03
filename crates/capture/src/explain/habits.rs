//! A sender's habits, which a first look at all of its segments shows.

/// Segments that are closer leave together, in nanoseconds.
pub(super) const BACK_TO_BACK: i64 = 100_000;
/// Of a sender that paces so many of 100 full segments leave by themselves.
const PACES: u64 = 20;

/// Steps in which answers are counted: so many an octave, from this on, in nanoseconds.
const STEPS: (f64, f64, usize) = (4.0, 1000.0, 64);
/// Answers that take longer are none.
const ANSWER_MAX: i64 = 50_000_000;
/// So few say nothing.
const ANSWERS_MIN: u32 = 4;

/// What a sender's segments show of its habits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Habits {
    /// How often a short segment waited for the ACK of a short one.
    pub(super) waited: u32,
    /// A short segment left behind a short one that was outstanding: Nagle's rule is off.
    pub(super) nodelay: bool,
    /// A full segment had PSH: where none has, nothing more was written.
    pub(super) pushes: bool,
    /// Full segments that left while others were outstanding, with an ACK or another segment just
    /// before.
    pub(super) clocked: u64,
    /// Those that had nothing just before.
    pub(super) alone: u64,
    /// The length of its shortest segment behind a short one: of a write, if not of several.
    pub(super) shortest: u32,
    /// The most bytes that were in flight.
    pub(super) max_in_flight: i64,
    /// How long it took from an ACK to the next segment, by steps.
    answers: [u32; STEPS.2],
}

impl Default for Habits {
    /// Of nothing that was seen.
    fn default() -> Habits {
        let answers = [0; STEPS.2];
        Habits {
            waited: 0,
            nodelay: false,
            pushes: false,
            clocked: 0,
            alone: 0,
            shortest: u32::MAX,
            max_in_flight: 0,
            answers,
        }
    }
}

impl Habits {
    /// A segment left so long after an ACK, in nanoseconds.
    pub(super) fn answers_after(&mut self, nanos: i64) {
        if (0..=ANSWER_MAX).contains(&nanos) {
            let octaves = (nanos as f64 / STEPS.1).max(1.0).log2();
            let step = (octaves * STEPS.0) as usize;
            self.answers[step.min(STEPS.2 - 1)] += 1;
        }
    }

    /// How long the host takes to answer, if it always takes about as long: what is paced leaves at
    /// any time after an ACK.
    pub(super) fn answer(&self) -> Option<i64> {
        let all: u32 = self.answers.iter().sum();
        let quantile = |part: u32| {
            let mut sum = 0;
            self.answers.iter().position(|&count| {
                sum += count;
                sum * 4 > all * part
            })
        };
        let (low, high) = (quantile(1)?, quantile(3)?);
        let alike = all >= ANSWERS_MIN && high - low <= STEPS.0 as usize;
        alike.then(|| (((high + 1) as f64 / STEPS.0).exp2() * STEPS.1) as i64)
    }

    /// True if short segments wait for ACKs.
    pub(super) fn nagle(&self) -> bool {
        self.waited > 0 && !self.nodelay
    }

    /// True if a fifth of its full segments or more leave by themselves, and not as ACKs come.
    pub(super) fn paces(&self) -> bool {
        self.alone * 100 > (self.alone + self.clocked) * PACES
    }
}
