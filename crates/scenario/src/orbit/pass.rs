//! A run over moving satellites: from step to step, who serves and how long the way is.

use super::delay_of;
use bentpipe_core::link::{After, Schedule, Varying};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_links::merge_spans;

/// When a way through the sky is looked at, and what a change of it costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// How often the way is chosen anew; `None`: only when it breaks.
    pub slot: Option<Duration>,
    /// How long nothing passes as another satellite takes over at one of the ends.
    pub handover: Duration,
    /// How often the delay changes.
    pub step: Duration,
    /// How long after the satellites' epoch the run begins.
    pub begin: Duration,
}

/// What a link through the sky is like during a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Pass {
    /// One way.
    pub delay: Varying<Duration>,
    /// Spans (beginning, length) in which nothing passes.
    pub outages: Vec<(Duration, Duration)>,
    /// When which way begins; `None`: there is none.
    pub ways: Vec<(Duration, Option<Way>)>,
}

/// What holds from a moment of a pass on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassChange {
    /// Since the pass began.
    pub at: Duration,
    /// One way.
    pub delay: Duration,
    /// Whether nothing passes.
    pub is_out: bool,
}

impl Pass {
    /// The moments at which the delay changes, or nothing passes any more, or something does again.
    pub fn changes(&self) -> impl Iterator<Item = PassChange> + '_ {
        let delays = match &self.delay {
            Varying::Constant(_) => vec![Duration::ZERO],
            Varying::Scheduled(delay) => delay.steps().iter().map(|(at, _)| *at).collect(),
        };
        let edges = self.outages.iter().flat_map(|(from, length)| [*from, *from + *length]);
        let mut moments: Vec<Duration> = delays.into_iter().chain(edges).collect();
        moments.sort();
        moments.dedup();
        moments.into_iter().map(|at| {
            let delay = self.delay.at(Instant::ZERO + at);
            let is_out =
                self.outages.iter().any(|(from, length)| (*from..*from + *length).contains(&at));
            PassChange { at, delay, is_out }
        })
    }
}

/// The satellites, and stations on the ground between them, that a packet passes: by their numbers.
pub type Way = Vec<u32>;

/// What moves overhead.
pub(super) trait Sky {
    /// Moves on to so many seconds after the epoch.
    fn turn(&mut self, seconds: f64);

    /// The way to take now.
    fn best(&self) -> Option<Way>;

    /// The length of `way` in km; `None` where it is broken.
    fn length(&self, way: &[u32]) -> Option<f64>;
}

/// What a link through `sky` is like for `duration`.
pub(super) fn pass(sky: &mut impl Sky, timing: &Timing, duration: Duration) -> Pass {
    let mut outages = Vec::new();
    let mut ways: Vec<(Duration, Option<Way>)> = Vec::new();
    let mut delays: Vec<(Duration, Duration)> = Vec::new();
    let mut way: Option<Way> = None;
    let mut slot = None;
    let mut out_since: Option<Duration> = None;
    let mut now = Duration::ZERO;
    loop {
        sky.turn((timing.begin + now).as_secs_f64());
        let this_slot = timing.slot.map(|slot| (timing.begin + now).as_nanos() / slot.as_nanos());
        let length = way.as_ref().and_then(|way| sky.length(way));
        if length.is_none() || this_slot != slot {
            slot = this_slot;
            let next = sky.best();
            if next != way || ways.is_empty() {
                if hands_over(way.as_ref(), next.as_ref()) && !timing.handover.is_zero() {
                    outages.push((now, timing.handover));
                }
                ways.push((now, next.clone()));
                way = next;
            }
        }
        match way.as_ref().and_then(|way| sky.length(way)) {
            Some(length) => {
                if let Some(since) = out_since.take() {
                    outages.push((since, now - since));
                }
                let delay = delay_of(length);
                if delays.is_empty() {
                    delays.push((Duration::ZERO, delay));
                } else if delays.last().is_none_or(|last| last.1 != delay) {
                    delays.push((now, delay));
                }
            }
            None => out_since = out_since.or(Some(now)),
        }
        if now >= duration {
            break;
        }
        now += timing.step;
    }
    if let Some(since) = out_since {
        outages.push((since, now.max(duration) + timing.step - since));
    }
    delays.dedup_by_key(|step| step.0);
    merge_spans(&mut outages);
    let delay = Schedule::new(delays, After::Hold).map_or(Duration::ZERO.into(), Into::into);
    Pass { delay, outages, ways }
}

/// Whether one of the two ends turns to another satellite.
fn hands_over(before: Option<&Way>, after: Option<&Way>) -> bool {
    before.zip(after).is_some_and(|(before, after)| {
        before.first() != after.first() || before.last() != after.last()
    })
}
