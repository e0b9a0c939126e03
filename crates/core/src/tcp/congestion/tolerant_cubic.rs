//! CUBIC that tells a congested path from a lossy one, for links that corrupt packets.
//!
//! - A loss while a queue stands on the path is congestion. The window comes down as CUBIC's does,
//!   but not below what the path has delivered in the least round-trip time (as Westwood+): less
//!   would leave it idle.
//!   If what was taken for a queue proves to be the path's own delay, which varies, the window
//!   returns.
//! - A loss without a queue is the link's, up to 2 % of a round trip's packets, where BBR draws the
//!   line (draft-ietf-ccwg-bbr, 5.5.10.1), and up to 15 % in slow start, which must not end early:
//!   from there the window takes minutes to grow.
//! - More than that in two round trips in a row (losses come in bursts) is put to the test: the
//!   window comes down by 15 % below what was delivered. If no more than half as much is lost then,
//!   there was a queue too short to be seen. If not, the path loses so much by itself; the window
//!   returns, and the share is usual from now on.
//!
//! Slow start doubles the window up to two and a half times what the path has been seen to deliver,
//! and waits while there is a queue; it ends when one has stood for two round trips, with what
//! fills the path. Behind it segments are paced. While the trains of acknowledgments show room for
//! it, the window is quadrupled ([`AckTrain`]).
//! A timeout begins it anew, up to the window that there was unless a queue stood then.

use super::ack_train::AckTrain;
use super::cubic::Curve;
use super::loss_test::LossTest;
use super::path_signs::PathSigns;
use super::{AckEvent, Congestion, CongestionEvent, Cubic, Departed, Growth, HyStart};
use super::{LinkReport, PacingBasis, Response, SlowStart, SlowStartConfig};
use crate::snapshot::{fraction, unlimited};
use crate::time::Duration;
use crate::units::{Bytes, Rate};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Lost beyond the usual without a queue: this share of a round is still the link's.
const TOLERATED: f64 = 0.02;
/// And in slow start.
const TOLERATED_IN_SLOW_START: f64 = 0.15;
/// In slow start the window is no larger than so many times what the path is known to hold, and so
/// many segments: doubling brings twice as much, and what is known comes with the acknowledgments,
/// and is less by what a burst has waited for itself.
const PROBE: f64 = 2.5;
const PROBE_SEGMENTS: u64 = 16;
/// Nor larger than so many times what the fastest train of acknowledgments would bring in a round
/// trip.
const TRAIN_PROBE: f64 = 1.25;
/// In slow start segments leave faster than in that train by so much.
const TRAIN_PACE: f64 = 1.25;
/// Rounds in a row that must lose more, or show a full path.
const SIGNS: u32 = 2;
/// For so many rounds a reduction may prove a mistake.
const DOUBT_ROUNDS: u32 = 6;
/// In slow start the window grows by this part of what doubling would bring while there may be a
/// queue (as in HyStart++): where there is none, more is delivered, and shows it.
const DOUBT_DIVISOR: u64 = 4;

/// See the module's head.
#[derive(Debug, Serialize, Deserialize)]
pub struct TolerantCubic {
    cubic: Cubic,
    path: PathSigns,
    train: AckTrain,
    /// The share of packets that the path loses by itself, beyond what is tolerated.
    #[serde(with = "fraction")]
    loss: f64,
    /// The latest rounds in a row that lost more, or showed a full path.
    signs: u32,
    test: Option<LossTest>,
    /// When so much is delivered, losses are younger than the last reduction.
    reduced: Bytes,
    /// The latest reductions because of a queue, the last one behind.
    doubted: Vec<Doubted>,
}

/// A reduction because of a queue, while that may prove to be none.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Doubted {
    /// What was taken for a queue.
    rtt: Duration,
    /// Rounds since.
    rounds: u32,
    /// What was before.
    window: Bytes,
    #[serde(with = "unlimited")]
    ssthresh: Bytes,
    curve: Curve,
}

impl TolerantCubic {
    /// At the beginning of a connection with segments of `smss` bytes.
    pub fn new(slow_start: SlowStartConfig, smss: Bytes) -> TolerantCubic {
        TolerantCubic {
            // A large initial window is spread until a train has shown the path's rate.
            cubic: Cubic::new(own_slow_start(slow_start), smss, true).spreading(),
            path: PathSigns::default(),
            train: AckTrain::default(),
            loss: 0.0,
            signs: 0,
            test: None,
            reduced: Bytes::ZERO,
            doubted: Vec::new(),
        }
    }

    /// Takes what an acknowledgment says of the path. Whether the window is reduced for that.
    fn observe(&mut self, ack: &AckEvent) -> bool {
        let round = self.path.on_ack(ack);
        let in_train = self.slow_start_mut().reports_train(ack.newly, round.is_some());
        if round.is_some() {
            self.train.begin(ack, self.window());
        } else {
            self.train.on_ack(ack, in_train);
        }
        if ack.in_flight == Bytes::ZERO {
            self.train.end(ack.smss);
        }
        let answered = ack.after_timeout || ack.delivered < self.reduced;
        let congested = ack.lost > Bytes::ZERO && !answered && self.path.queues();
        if congested {
            self.test = None;
            let (window, ssthresh, curve) = (self.window(), self.ssthresh(), self.cubic.curve());
            if let Some(rtt) = self.path.latest() {
                self.doubted.push(Doubted { rtt, rounds: 0, window, ssthresh, curve });
            }
            self.reduce(ack, self.path.product().unwrap_or(Bytes::ZERO).min(window)..=window);
        }
        let Some(round) = round else { return congested };
        self.reconsider();
        self.judge(ack, round) || congested
    }

    /// The window grows by an acknowledgment by which it may.
    fn grow(&mut self, ack: &AckEvent) {
        // What is doubtful is not made worse.
        let full = self.slow_start().is_under_way() && self.path.queues();
        let doubtful = full || self.signs > 0 || self.test.is_some();
        let before = self.window();
        let probes = self.slow_start().is_under_way() && self.test.is_none();
        let acked = if doubtful { ack.acked / DOUBT_DIVISOR } else { ack.acked };
        let window_limited = ack.window_limited && (probes || !doubtful);
        self.cubic.grow(&AckEvent { window_limited, acked, ..*ack });
        if !self.slow_start().is_under_way() {
            return;
        }
        // What a doubled window brings is seen a round trip later: more than that only makes a
        // queue longer.
        let smss = ack.smss;
        let mut window = self.window();
        if let (Some(base), Some(product)) = (self.path.held_base(), self.path.product()) {
            let held = Bytes::from_f64(PROBE * product.as_f64());
            let fastest = self.train.fastest().unwrap_or(f64::INFINITY);
            let carried = Bytes::from_f64(TRAIN_PROBE * fastest * base.as_secs_f64());
            window =
                window.min(held.min(carried).saturating_add(PROBE_SEGMENTS * smss).max(before));
        }
        // What is paced is not all in flight yet.
        let limited = ack.window_limited || ack.in_flight_before * 4 >= before;
        let clear = self.path.is_clear() && !doubtful;
        if let Some(base) = self.path.base().filter(|_| limited && clear) {
            let grown = self.train.window(base, smss).unwrap_or(Bytes::ZERO);
            window = window.max(grown).min(self.ssthresh());
        }
        self.slow_start_mut().set_window(window);
    }

    /// Brings the window down, as CUBIC does, but into `range`.
    fn reduce(&mut self, ack: &AckEvent, range: RangeInclusive<Bytes>) {
        let AckEvent { now, smss, in_flight, in_flight_before, sample, .. } = *ack;
        let window = self.window();
        let flight_size =
            sample.map_or(Bytes::ZERO, |sample| sample.in_flight).max(in_flight_before);
        let flight_size = flight_size.min(window);
        let event = CongestionEvent { now, flight_size, in_flight, smss };
        let ssthresh = self.cubic.decrease(&event, false);
        let ssthresh = ssthresh.clamp(*range.start(), *range.end()).max(2 * smss);
        self.cubic.slow_start_mut().reduce(ssthresh, ssthresh);
        self.reduced = ack.delivered + in_flight;
        self.signs = 0;
    }

    /// Whether slow start is to reach a window that there was before.
    fn is_restarting(&self) -> bool {
        self.slow_start().is_under_way() && self.ssthresh() < Bytes::MAX
    }

    /// A round is over: undoes the latest reductions as far as there was no queue. So it is if the
    /// rest of the round has shown none, which has left before the reduction, or if what was taken
    /// for one is usual.
    fn reconsider(&mut self) {
        if self.test.is_some() {
            return;
        }
        let none = |doubted: &Doubted, path: &PathSigns| {
            let rest_clear = doubted.rounds == 0 && !path.queued();
            rest_clear || !path.is_queue(Some(doubted.rtt))
        };
        while let Some(doubted) = self.doubted.pop_if(|doubted| none(doubted, &self.path)) {
            if doubted.window > self.window() {
                self.cubic.slow_start_mut().set(doubted.window, doubted.ssthresh);
                self.cubic.set_curve(doubted.curve);
            }
        }
        for doubted in &mut self.doubted {
            doubted.rounds += 1;
        }
        self.doubted.retain(|doubted| doubted.rounds < DOUBT_ROUNDS);
    }

    /// A round is over. Whether the window is reduced for what was lost in it.
    fn judge(&mut self, ack: &AckEvent, round: LinkReport) -> bool {
        if let Some(test) = self.test.take() {
            self.go_on(test, round);
            return false;
        }
        let full = self.is_full();
        let began = ack.delivered - round.delivered;
        if !full && (began < self.reduced || !self.is_lossy(round, ack.smss)) {
            self.signs = 0;
            return false;
        }
        self.signs += 1;
        if self.signs < SIGNS {
            return false;
        }
        self.signs = 0;
        if full {
            self.end_slow_start(ack.smss);
        } else {
            self.begin_test(ack, round);
        }
        !full
    }

    /// Whether slow start has filled the path.
    fn is_full(&self) -> bool {
        let filled = self.path.product().is_some_and(|product| self.window() >= product);
        self.slow_start().is_under_way() && filled && self.path.queued()
    }

    fn is_lossy(&self, round: LinkReport, smss: Bytes) -> bool {
        let slow_start = self.slow_start().is_under_way();
        let tolerated = if slow_start { TOLERATED_IN_SLOW_START } else { TOLERATED };
        round.loses_more_than(self.loss, tolerated, smss)
    }

    /// With what fills the path, and a quarter: acknowledgments also wait for their timer.
    fn end_slow_start(&mut self, smss: Bytes) {
        let product = self.path.product().unwrap_or_default();
        let window = (product + product / 4).max(2 * smss).min(self.window());
        self.cubic.slow_start_mut().set(window, window);
    }

    fn begin_test(&mut self, ack: &AckEvent, round: LinkReport) {
        let test = LossTest::new((self.window(), self.ssthresh()), round.loss());
        self.reduce(ack, test.window()..=test.window());
        self.test = Some(test);
    }

    /// Another round of a test.
    fn go_on(&mut self, mut test: LossTest, round: LinkReport) {
        if !test.is_over_with(round) {
            self.test = Some(test);
        } else if let Some(loss) = test.of_the_path(self.loss) {
            self.loss = self.loss.max(loss);
            let (window, ssthresh) = test.before();
            self.cubic.slow_start_mut().set(window, ssthresh);
        }
    }
}

/// Slow start without HyStart++: the end of it is found here.
fn own_slow_start(config: SlowStartConfig) -> SlowStartConfig {
    let byte_limit = config.byte_limit.map(|_| HyStart::LIMIT as u32);
    match config.growth {
        Growth::HyStart => SlowStartConfig { growth: Growth::Doubling, byte_limit, ..config },
        Growth::Doubling | Growth::Limited { .. } | Growth::Search => config,
    }
}

impl Congestion for TolerantCubic {
    fn slow_start(&self) -> &SlowStart {
        self.cubic.slow_start()
    }

    fn slow_start_mut(&mut self) -> &mut SlowStart {
        self.cubic.slow_start_mut()
    }

    fn on_ack(&mut self, ack: &AckEvent) -> Response {
        self.cubic.slow_start_mut().on_ack(ack);
        let reduced = ack.reports() && self.observe(ack);
        // A loss need not mean congestion.
        if ack.may_grow_in_recovery() {
            self.grow(ack);
        }
        Response { reduced, report: LinkReport::of(ack), ..Response::default() }
    }

    fn on_sent(&mut self, departed: &Departed) {
        self.slow_start_mut().on_sent(departed);
    }

    fn decrease(&mut self, event: &CongestionEvent, timeout: bool) -> Bytes {
        self.cubic.decrease(event, timeout)
    }

    fn on_loss(&mut self, _event: &CongestionEvent) {}

    fn on_recovered(&mut self, _flight_size: Bytes, _smss: Bytes) {}

    fn on_timeout(&mut self, event: &CongestionEvent, again: bool) {
        let ssthresh = if again || self.is_restarting() {
            self.ssthresh()
        } else if self.path.queues() {
            self.decrease(event, true)
        } else {
            self.window()
        };
        (self.test, self.signs) = (None, 0);
        self.doubted.clear();
        self.path.forget_queue();
        self.cubic.slow_start_mut().on_timeout(ssthresh, event.smss);
    }

    fn on_ecn(&mut self, event: &CongestionEvent) {
        self.doubted.clear();
        self.cubic.on_ecn(event);
    }

    fn save_undo(&mut self) {
        self.cubic.save_undo();
    }

    fn undo(&mut self, most: Bytes) -> bool {
        self.test = None;
        self.cubic.undo(most)
    }

    fn on_idle(&mut self) {
        self.cubic.on_idle();
    }

    fn pacing(&self) -> PacingBasis {
        let slow_start = self.slow_start();
        match (self.train.fastest(), self.path.base()) {
            (Some(fastest), Some(base)) if slow_start.is_under_way() => {
                let bytes = fastest.max(slow_start.window().as_f64() / base.as_secs_f64());
                let bits = (bytes * 8.0 * TRAIN_PACE).min(u64::MAX as f64) as u64;
                PacingBasis::Rate(Some(Rate::from_bits_per_sec(bits)))
            }
            _ => slow_start.pacing(),
        }
    }

    fn needs_pacing(&self) -> bool {
        // Where a repair has held the window back, what it lets out at once would fill the queue.
        // So would slow start, but for the beginning, whose train shows how fast is right.
        let begins = self.slow_start().is_under_way() && self.train.fastest().is_none();
        !begins || self.slow_start().paces_spread()
    }

    fn reduces_proportionally(&self) -> bool {
        false
    }
}
