//! BBR version 1 (Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5),
//! 2016), as Linux 6.18 has it in `net/ipv4/tcp_bbr.c`.
//!
//! A model of the path, the greatest delivery rate of ten rounds and the minimum round-trip time of
//! ten seconds, says how fast to send and how much may be in flight. Losses say little: the window
//! keeps to what is delivered for the round in which a recovery begins, and a rate that a policer
//! enforces is found out ([`policer`]).
//!
//! Differences: the maximum of the rates is exact ([`WindowedMax`]); rates are in bytes, where
//! Linux counts packets, but a delivery is a whole segment at least; the random phase with which
//! gain cycling begins is a hash of the moment and of the bytes delivered
//! ([`draw`](super::filter::draw)); gains are not rounded to 1/256; losses that a timer finds count
//! at the next acknowledgment.

mod leocc;
mod model;
mod modes;
mod policer;
#[cfg(test)]
mod tests;
mod variant;
mod window;

use super::filter::WindowedMax;
use super::{AckEvent, Congestion, CongestionEvent, Departed, PacingBasis};
use super::{Response, SlowStart, SlowStartConfig};
use crate::time::{Duration, Instant};
use crate::units::{Bytes, Rate};
use model::Aggregation;
use modes::{FullPipe, Mode, ProbeRtt};
use policer::{Policer, PolicerSample};
use serde::{Deserialize, Serialize};
use variant::{Original, Variant};
use window::{CaState, Repair};

pub use leocc::LeoCc;

/// 2 / ln 2: the least gain that doubles the rate each round trip (`bbr_high_gain`).
const HIGH_GAIN: f64 = 2.0 / std::f64::consts::LN_2;
/// What drains in a round the queue that [`HIGH_GAIN`] has built.
const DRAIN_GAIN: f64 = 1.0 / HIGH_GAIN;
/// The window in `ProbeBw`, in bandwidth-delay products: for delayed and stretched acknowledgments.
const CWND_GAIN: f64 = 2.0;
/// The pacing gains of `ProbeBw`'s phases, each about a round trip long.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Less than the estimated bandwidth by 1 %, so that queues drain.
const PACING_MARGIN: f64 = 0.99;
/// The least window, in segments: two for each acknowledgment of a receiver that delays them.
const MIN_WINDOW: u64 = 4;

/// Rounds: one ends when something is acknowledged that left after it began.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Rounds {
    count: u64,
    /// Bytes delivered when this one began.
    began: Bytes,
    /// This acknowledgment begins one.
    start: bool,
}

/// See the module's head.
#[derive(Debug, Serialize, Deserialize)]
pub struct Bbr1<V = Original> {
    /// The window and the threshold; slow start itself is not used.
    slow_start: SlowStart,
    smss: Bytes,
    mode: Mode,
    rounds: Rounds,
    bandwidth: WindowedMax,
    min_rtt: Option<Duration>,
    min_rtt_at: Instant,
    full_pipe: FullPipe,
    probe_rtt: ProbeRtt,
    /// When the phase of `ProbeBw` began.
    phase_at: Instant,
    aggregation: Aggregation,
    policer: Policer,
    repair: Repair,
    /// Sending begins again after an idle time, and nothing is acknowledged since.
    idle_restart: bool,
    /// In bytes a second; none before the first round-trip time.
    pacing_rate: Option<f64>,
    /// All bytes delivered and marked lost so far, and when the last were delivered.
    delivered: Bytes,
    lost: Bytes,
    delivered_at: Instant,
    variant: V,
}

impl Bbr1 {
    /// At the beginning of a connection with segments of `smss` bytes.
    pub fn new(slow_start: SlowStartConfig, smss: Bytes) -> Bbr1 {
        Bbr1::with(slow_start, smss, Original)
    }
}

impl<V: Variant> Bbr1<V> {
    fn with(slow_start: SlowStartConfig, smss: Bytes, variant: V) -> Bbr1<V> {
        let slow_start = SlowStartConfig { initial_ssthresh: None, ..slow_start };
        Bbr1 {
            slow_start: SlowStart::new(slow_start, smss),
            smss,
            mode: Mode::Startup,
            rounds: Rounds::default(),
            bandwidth: WindowedMax::default(),
            min_rtt: None,
            min_rtt_at: Instant::ZERO,
            full_pipe: FullPipe::default(),
            probe_rtt: ProbeRtt::default(),
            phase_at: Instant::ZERO,
            aggregation: Aggregation::default(),
            policer: Policer::default(),
            repair: Repair::default(),
            idle_restart: false,
            pacing_rate: None,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            delivered_at: Instant::ZERO,
            variant,
        }
    }

    /// `bbr_set_pacing_rate`: until the pipe has been full, the rate does not fall.
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = (self.bandwidth_to_use() * gain * PACING_MARGIN).max(1.0);
        if let Some(before) = self.pacing_rate {
            let falls = rate <= before && !self.full_pipe.reached;
            self.pacing_rate = Some(if falls { before } else { rate });
        }
    }

    /// The first rate: that of the window and of the first round-trip time.
    fn begin_pacing(&mut self, srtt: Option<Duration>) {
        if let (None, Some(srtt)) = (self.pacing_rate, srtt.filter(|srtt| !srtt.is_zero())) {
            let window = self.window().as_f64();
            self.pacing_rate = Some(window / srtt.as_secs_f64() * HIGH_GAIN * PACING_MARGIN);
        }
    }

    /// What the policer's detector looks at.
    fn seen(&self, lossy: bool, app_limited: bool) -> PolicerSample {
        PolicerSample {
            at: self.delivered_at,
            round_start: self.rounds.start,
            lossy,
            app_limited,
            delivered: self.delivered,
            lost: self.lost,
            probing_bandwidth: matches!(self.mode, Mode::ProbeBw { .. }),
        }
    }
}

impl<V: Variant> Congestion for Bbr1<V> {
    fn slow_start(&self) -> &SlowStart {
        &self.slow_start
    }

    fn slow_start_mut(&mut self) -> &mut SlowStart {
        &mut self.slow_start
    }

    fn on_ack(&mut self, ack: &AckEvent) -> Response {
        if !ack.reports() {
            return Response::default();
        }
        self.smss = ack.smss;
        let cruises = matches!(self.mode, Mode::ProbeBw { .. });
        let bandwidth = cruises.then(|| self.bandwidth.max());
        self.variant.on_ack(ack, bandwidth);
        self.delivered = ack.delivered;
        self.lost += ack.lost;
        if ack.newly > Bytes::ZERO {
            self.delivered_at = ack.now;
        }
        self.begin_pacing(ack.srtt);
        self.update_model(ack);
        self.update_mode(ack);
        if let Some(rtt) = ack.rtt {
            self.variant.on_rtt(rtt);
        }
        self.set_pacing_rate(self.pacing_gain());
        self.set_window(ack);
        Response { app_limited: self.mode == Mode::ProbeRtt, ..Response::default() }
    }

    fn on_sent(&mut self, departed: &Departed) {
        self.variant.on_sent(departed);
        if departed.in_flight > Bytes::ZERO || !departed.app_limited {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(departed.now);
        // As fast as the path is known to be, and no faster: nothing waits that would need it.
        match self.mode {
            Mode::ProbeBw { .. } => self.set_pacing_rate(1.0),
            Mode::ProbeRtt => self.end_probe_rtt(departed.now, None),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn on_loss(&mut self, _event: &CongestionEvent) {
        self.save_window();
    }

    fn on_recovered(&mut self, _flight_size: Bytes, _smss: Bytes) {}

    fn on_timeout(&mut self, event: &CongestionEvent, _again: bool) {
        self.save_window();
        self.repair.state = CaState::Loss;
        self.full_pipe.bandwidth = 0.0;
        // A timeout ends a round.
        self.rounds.start = true;
        self.look_for_policer(true, false, event.now);
        self.slow_start.set_window(event.in_flight + event.smss);
    }

    /// Marks are no signal of this version's.
    fn on_ecn(&mut self, _event: &CongestionEvent) {}

    fn save_undo(&mut self) {}

    /// The window itself comes back with the acknowledgment, as at the end of every repair.
    fn undo(&mut self, _most: Bytes) -> bool {
        self.full_pipe.bandwidth = 0.0;
        self.full_pipe.rounds = 0;
        self.policer.reset(&self.seen(false, false));
        self.repair.undone = true;
        true
    }

    fn on_idle(&mut self) {}

    fn pacing(&self) -> PacingBasis {
        match self.pacing_rate {
            None => PacingBasis::Window { gain: HIGH_GAIN * PACING_MARGIN },
            Some(rate) => PacingBasis::Rate(Some(Rate::from_bits_per_sec((rate * 8.0) as u64))),
        }
    }

    fn needs_pacing(&self) -> bool {
        true
    }

    fn reduces_proportionally(&self) -> bool {
        false
    }
}
