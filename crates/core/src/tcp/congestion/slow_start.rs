//! Slow start (RFC 5681, 3.1), which [`Classic`](super::Classic), [`Cubic`](super::Cubic) and
//! others share: the window, the threshold, and the way from one to the other.
//!
//! How the window grows is a [`Growth`]: doubled each round trip or limited (RFC 3742). Doubling
//! may end with round-trip times that rise (HyStart++, RFC 9406), or by deliveries (SEARCH).
//! Appropriate byte counting is RFC 3465's.

use super::ack_rate::AckRate;
use super::first_threshold::{FirstThreshold, ThresholdEstimate};
use super::hystart::{HyStart, HyStartPhase};
use super::search::{Search, SearchPhase};
use super::spread::Spread;
use super::{AckEvent, Departed, Growth, PacingBasis};
use crate::snapshot::unlimited;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// What no peer can offer more than (RFC 7323, 2.3).
pub(super) const LARGEST_WINDOW: Bytes = Bytes::new(1 << 30);

/// In congestion avoidance a window is paced so many times a round trip.
const AVOIDING_GAIN: f64 = 1.25;
const AVOIDING: PacingBasis = PacingBasis::Window { gain: AVOIDING_GAIN };

/// In which slow starts the initial window is used.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    Serialize,
    Deserialize,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum InitialWindowUse {
    /// At the connection's beginning only: every other slow start begins with one segment. So
    /// Shepard and Partridge changed ns-1.2 for the four-packet start (RFC 2416).
    Beginning,
    /// Also after an idle time (RFC 5681, 4.1), but not after a timeout.
    #[default]
    BeginningAndIdle,
    /// At every slow start, as ns-1.2 did with its `window-init`.
    EverySlowStart,
}

/// How fast pacing lets slow start probe.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    Serialize,
    Deserialize,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Probing {
    /// At twice the rate of the returning acknowledgments, as plain slow start does: pacing does
    /// not hold its growth back.
    #[default]
    TwiceAckRate,
    /// At the rate at which the acknowledgments of a burst return (Shepard, 1997), so that slow
    /// start fills the pauses between bursts and not a queue at the bottleneck. Congestion
    /// avoidance sends no faster either.
    AckRate,
}

/// Parameters of slow start.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SlowStartConfig {
    /// The initial window in bytes (RFC 6928 allows ten segments).
    pub initial_window: Bytes,
    /// Where it is used.
    pub initial_window_use: InitialWindowUse,
    /// The initial slow start threshold; without one slow start goes on until a loss.
    pub initial_ssthresh: Option<Bytes>,
    /// What that becomes once acknowledgments tell the path's rate.
    pub ssthresh_estimate: ThresholdEstimate,
    /// The most that one acknowledgment may add, in segments: 1 is RFC 5681 to the letter,
    /// 2 is RFC 3465's L; None counts all bytes, as receivers that merge segments need.
    /// After a timeout 2 counts as 1 (RFC 3465, 2.3). HyStart++ has its own: 8, or none.
    pub byte_limit: Option<u32>,
    /// How the window grows.
    pub growth: Growth,
    /// How fast pacing lets it probe.
    pub probing: Probing,
}

/// The window, the threshold, and slow start while the one is below the other.
#[derive(Debug, Serialize, Deserialize)]
pub struct SlowStart {
    config: SlowStartConfig,
    smss: Bytes,
    window: Bytes,
    #[serde(with = "unlimited")]
    ssthresh: Bytes,
    hystart: Option<HyStart>,
    search: Option<Box<Search>>,
    /// What [`Probing::AckRate`] needs.
    ack_rate: Option<Box<AckRate>>,
    /// The estimate of the first threshold, if there is to be one.
    first_threshold: Option<Box<FirstThreshold>>,
    /// Spreads a large initial window, if it is to be.
    spread: Option<Box<Spread>>,
    after_timeout: bool,
    /// What the last reduction found, until it is known whether it was right.
    before: Option<Box<Before>>,
}

/// What a reduction changes.
#[derive(Debug, Serialize, Deserialize)]
struct Before {
    window: Bytes,
    #[serde(with = "unlimited")]
    ssthresh: Bytes,
    hystart: Option<HyStart>,
    search: Option<Box<Search>>,
}

impl SlowStart {
    /// At the beginning of a connection with segments of `smss` bytes.
    pub fn new(config: SlowStartConfig, smss: Bytes) -> SlowStart {
        SlowStart {
            window: config.initial_window.max(smss),
            ssthresh: config.initial_ssthresh.unwrap_or(Bytes::MAX).max(2 * smss),
            hystart: (config.growth == Growth::HyStart).then(HyStart::default),
            search: (config.growth == Growth::Search).then(Box::default),
            ack_rate: (config.probing == Probing::AckRate).then(Box::default),
            first_threshold: FirstThreshold::new(config.ssthresh_estimate).map(Box::new),
            spread: None,
            after_timeout: false,
            before: None,
            smss,
            config,
        }
    }

    /// The same, and an initial window of more than ten segments is spread over the first round
    /// trip.
    #[must_use]
    pub fn spreading(self) -> SlowStart {
        let spread = Spread::of(self.config.initial_window, self.smss).map(Box::new);
        SlowStart { spread, ..self }
    }

    /// The congestion window in bytes.
    pub fn window(&self) -> Bytes {
        self.window
    }

    /// The slow start threshold in bytes.
    pub fn ssthresh(&self) -> Bytes {
        self.ssthresh
    }

    /// Whether slow start is under way.
    pub fn is_under_way(&self) -> bool {
        self.window < self.ssthresh
    }

    /// Congestion avoidance has changed the window.
    pub fn set_window(&mut self, window: Bytes) {
        self.window = window;
    }

    /// Sets the window and the threshold.
    pub fn set(&mut self, window: Bytes, ssthresh: Bytes) {
        (self.window, self.ssthresh) = (window, ssthresh);
    }

    /// Slow start ends here.
    pub fn end(&mut self) {
        self.ssthresh = self.window;
    }

    /// Takes what an acknowledgment says of the path.
    ///
    /// Controls that go by slow start pass on all acknowledgments, and let the window
    /// [grow](SlowStart::grow) by those by which it may.
    pub fn on_ack(&mut self, ack: &AckEvent) {
        if let Some(ack_rate) = self.ack_rate.as_mut().filter(|_| ack.newly > Bytes::ZERO) {
            ack_rate.on_ack(ack);
        }
        if let Some(first) = &mut self.first_threshold
            && let Some(estimate) = first.on_ack(ack)
        {
            self.ssthresh = estimate.max(2 * self.smss);
        }
        self.follow_search(ack);
    }

    fn follow_search(&mut self, ack: &AckEvent) {
        let under_way = self.is_under_way();
        let Some(search) = self.search.as_mut().filter(|_| under_way) else { return };
        match search.on_ack(ack) {
            SearchPhase::SlowStart => {}
            SearchPhase::Drain(window) => self.window = self.window.min(window),
            SearchPhase::Over(window) => {
                self.search = None;
                self.window = self.window.min(window);
                self.end();
            }
        }
    }

    /// What the first threshold was estimated to be, if it was.
    pub fn ssthresh_estimate(&self) -> Option<Bytes> {
        self.first_threshold.as_ref()?.estimate()
    }

    /// A segment has left.
    pub fn on_sent(&mut self, departed: &Departed) {
        if let Some(spread) = &mut self.spread {
            spread.on_sent(departed);
        }
    }

    /// Takes how many bytes more were reported, which may have ended a round trip. Whether they
    /// left in one train, and not spread by the sender itself.
    pub(super) fn reports_train(&mut self, newly: Bytes, round_over: bool) -> bool {
        self.spread.take_if(|spread| round_over && spread.is_over());
        self.spread.as_mut().is_none_or(|spread| spread.on_ack(newly))
    }

    /// Whether what leaves next is paced because the initial window is spread.
    pub(super) fn paces_spread(&self) -> bool {
        self.spread.as_ref().is_some_and(|spread| spread.is_paced())
    }

    /// Whether a large initial window is being sent, spread over the round trip.
    pub fn is_spreading(&self) -> bool {
        self.spread.as_ref().is_some_and(|spread| spread.is_under_way())
    }

    /// Bytes of that window beyond what leaves at once, sent since this was last asked.
    pub fn take_spread(&mut self) -> Bytes {
        self.spread.as_mut().map_or(Bytes::ZERO, |spread| spread.take())
    }

    /// The initial window is what has left of it, and at least what leaves at once.
    pub fn end_spread(&mut self) {
        if let Some(spread) = self.spread.as_mut().filter(|spread| spread.is_under_way()) {
            self.window = spread.end().min(self.window);
        }
    }

    /// A loss has shown where the threshold is.
    fn estimate_no_more(&mut self) {
        if let Some(first) = &mut self.first_threshold {
            first.stop();
        }
    }

    /// Grows the window if slow start is under way. False if congestion avoidance is to.
    pub fn grow(&mut self, ack: &AckEvent) -> bool {
        self.grow_times(ack, 1.0)
    }

    /// As [`SlowStart::grow`], but `factor` times as much.
    pub fn grow_times(&mut self, ack: &AckEvent, factor: f64) -> bool {
        if !self.is_under_way() {
            self.after_timeout = false;
            return false;
        }
        if self.search.as_ref().is_some_and(|search| search.drains()) {
            return true;
        }
        let increase = self.increase(ack).as_f64() * factor;
        let grown = self.window.saturating_add(Bytes::from_f64(increase)).min(LARGEST_WINDOW);
        self.window = grown.min(self.ssthresh.max(self.window + ack.smss)).max(self.window);
        true
    }

    /// By how much this acknowledgment lets the window grow.
    fn increase(&mut self, ack: &AckEvent) -> Bytes {
        if let Some(hystart) = &mut self.hystart {
            let limit = self.config.byte_limit.map_or(Bytes::MAX, |_| HyStart::LIMIT * ack.smss);
            let bytes = ack.acked.min(limit);
            return match hystart.on_ack(ack) {
                HyStartPhase::SlowStart => bytes,
                HyStartPhase::Conservative => bytes / HyStart::CSS_GROWTH_DIVISOR,
                HyStartPhase::Over => {
                    self.hystart = None;
                    self.ssthresh = self.window;
                    Bytes::ZERO
                }
            };
        }
        let limit = match self.config.byte_limit {
            Some(limit) => u64::from(if self.after_timeout { limit.min(1) } else { limit }),
            None => u64::MAX,
        };
        let bytes = ack.acked.min(ack.smss.saturating_mul(limit));
        match self.config.growth {
            Growth::Limited { max_ssthresh } => {
                bytes / limited_divisor(self.window, u64::from(max_ssthresh) * ack.smss)
            }
            Growth::Doubling | Growth::HyStart | Growth::Search => bytes,
        }
    }

    /// See [`Congestion::save_undo`](super::Congestion::save_undo).
    pub fn save_undo(&mut self) {
        let (hystart, search) = (self.hystart.clone(), self.search.clone());
        let before = Before { window: self.window, ssthresh: self.ssthresh, hystart, search };
        self.before = Some(Box::new(before));
    }

    /// See [`Congestion::undo`](super::Congestion::undo).
    pub fn undo(&mut self, max: Bytes) -> bool {
        let Some(before) = self.before.take().filter(|before| self.window < before.window) else {
            return false;
        };
        (self.hystart, self.search) = (before.hystart, before.search);
        self.after_timeout = false;
        self.ssthresh = before.ssthresh;
        self.window = before.window.min(max).max(self.window);
        if self.window < before.window {
            // RFC 4015, step 9: pipe_prev.
            self.ssthresh = self.ssthresh.max(before.window);
        }
        true
    }

    /// A loss or mark: the threshold and the window become these, but the window does not grow (it
    /// may be one segment after a timeout, where a threshold is two at least).
    pub fn reduce(&mut self, window: Bytes, ssthresh: Bytes) {
        self.estimate_no_more();
        (self.hystart, self.search) = (None, None);
        (self.window, self.ssthresh) = (window.min(self.window), ssthresh);
    }

    /// A timeout, for which the threshold becomes `ssthresh`: begin anew.
    pub fn on_timeout(&mut self, ssthresh: Bytes, smss: Bytes) {
        self.estimate_no_more();
        let window = match self.config.initial_window_use {
            InitialWindowUse::EverySlowStart => self.config.initial_window.max(smss),
            InitialWindowUse::Beginning | InitialWindowUse::BeginningAndIdle => smss,
        };
        self.hystart = None;
        // Bins and the round-trip time of before say nothing about what comes.
        self.search = (self.config.growth == Growth::Search).then(Box::default);
        (self.window, self.ssthresh) = (window, ssthresh);
        self.after_timeout = true;
    }

    /// Fast recovery ends with `flight_size` bytes outstanding.
    pub fn on_recovered(&mut self, flight_size: Bytes, smss: Bytes) {
        // RFC 6582, 3.2, step 3, option 1: no burst at the end of recovery.
        self.window = self.ssthresh.min(flight_size.max(smss) + smss);
    }

    /// The connection was idle (RFC 5681, 4.1).
    pub fn on_idle(&mut self) {
        let restart = match self.config.initial_window_use {
            InitialWindowUse::Beginning => self.smss,
            InitialWindowUse::BeginningAndIdle | InitialWindowUse::EverySlowStart => {
                self.config.initial_window.max(self.smss)
            }
        };
        self.window = self.window.min(restart);
    }

    /// See [`Congestion::pacing`](super::Congestion::pacing).
    pub fn pacing(&self) -> PacingBasis {
        if let Some(rate) = self.spread.as_ref().and_then(|spread| spread.rate()) {
            return PacingBasis::Rate(Some(rate));
        }
        match (self.is_under_way(), &self.ack_rate) {
            (true, None) => PacingBasis::Window { gain: 2.0 },
            (true, Some(ack_rate)) => PacingBasis::Rate(ack_rate.probing()),
            // Nor is a queue filled faster where slow start ends, while the window's first round is
            // sent.
            (false, Some(ack_rate)) => ack_rate
                .probing()
                .map_or(AVOIDING, |rate| PacingBasis::WindowUpTo { gain: AVOIDING_GAIN, rate }),
            (false, None) => AVOIDING,
        }
    }
}

/// RFC 3742's K: above `max_ssthresh` bytes an acknowledgment adds a Kth of what it does below,
/// which is about half of `max_ssthresh` a round trip.
fn limited_divisor(window: Bytes, max_ssthresh: Bytes) -> u64 {
    if window <= max_ssthresh { 1 } else { (2 * window / max_ssthresh.max(Bytes::ONE)).max(1) }
}
