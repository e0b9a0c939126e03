//! CUBIC (RFC 9438): after a loss the window follows a cubic function of the time since, flat near
//! the window at which the loss came, and never grows slower than a standard connection's.
//!
//! In the RFC's formulas windows are in segments and times in seconds; so they are here.

use super::{AckEvent, Congestion, CongestionEvent, Response, SlowStart, SlowStartConfig};
use crate::snapshot::fraction;
use crate::time::Instant;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// CUBIC's multiplicative decrease factor.
const BETA: f64 = 0.7;
/// How fast the cubic function rises, in segments per second cubed.
const C: f64 = 0.4;
/// The additive increase at which a connection that decreases by [`BETA`] is as fast as Reno's
/// (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// See the module's head.
#[derive(Debug, Serialize, Deserialize)]
pub struct Cubic {
    slow_start: SlowStart,
    fast_convergence: bool,
    as_linux: bool,
    #[serde(with = "course")]
    course: Course,
}

/// The window's way since the connection began.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Course {
    curve: Curve,
    /// The curve before the reduction that may be undone (section 4.9).
    before: Curve,
    /// When the last acknowledgment came; not kept before the first epoch.
    last_ack: Instant,
}

impl Course {
    const START: Course =
        Course { curve: Curve::START, before: Curve::START, last_ack: Instant::ZERO };
}

/// A connection that was never in congestion avoidance: one byte of what an idle one keeps.
mod course {
    use super::Course;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(course: &Course, to: S) -> Result<S::Ok, S::Error> {
        (*course != Course::START).then_some(course).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Course, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(Course::START))
    }
}

/// What the window does in congestion avoidance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Curve {
    /// W_max.
    #[serde(with = "fraction")]
    w_max: f64,
    /// K, in seconds.
    #[serde(with = "fraction")]
    k: f64,
    /// W_est, and the window before the last reduction, up to which it grows by [`ALPHA`].
    #[serde(with = "fraction")]
    w_est: f64,
    #[serde(with = "fraction")]
    cwnd_prior: f64,
    /// t_epoch; none until congestion avoidance begins.
    epoch: Option<Instant>,
    /// The last reduction left W_max to be reached again; it was no timeout.
    plateau: bool,
    /// Fractions of a byte that are still to be added.
    #[serde(with = "fraction")]
    fraction: f64,
}

impl Curve {
    const START: Curve = Curve {
        w_max: 0.0,
        k: 0.0,
        w_est: 0.0,
        cwnd_prior: 0.0,
        epoch: None,
        plateau: false,
        fraction: 0.0,
    };

    /// Section 4.2: congestion avoidance begins with `cwnd`.
    fn begin(&mut self, now: Instant, cwnd: f64) {
        // Section 4.8 for a timeout; a slow start that ended by itself (HyStart++) is like it
        // (section 4.10), and so is a window that has outgrown W_max already.
        if !self.plateau || self.w_max < cwnd {
            self.w_max = cwnd;
        }
        self.k = ((self.w_max - cwnd) / C).cbrt();
        self.w_est = cwnd;
        self.epoch = Some(now);
    }

    /// Figure 1: W_cubic at `t` seconds.
    fn w_cubic(&self, t: f64) -> f64 {
        C * (t - self.k).powi(3) + self.w_max
    }
}

impl Cubic {
    /// At the beginning of a connection with segments of `smss` bytes.
    pub fn new(slow_start: SlowStartConfig, smss: Bytes, fast_convergence: bool) -> Cubic {
        Cubic {
            slow_start: SlowStart::new(slow_start, smss),
            fast_convergence,
            as_linux: false,
            course: Course::START,
        }
    }

    /// The same, whether or not W_est is that of Linux's `bictcp_update()`.
    #[must_use]
    pub fn as_linux(self, as_linux: bool) -> Cubic {
        Cubic { as_linux, ..self }
    }

    /// The same, with a large initial window spread over the round trip.
    #[must_use]
    pub(super) fn spreading(self) -> Cubic {
        Cubic { slow_start: self.slow_start.spreading(), ..self }
    }

    /// What the window does in congestion avoidance, to be restored where a reduction proves a
    /// mistake.
    pub(super) fn curve(&self) -> Curve {
        self.course.curve
    }

    /// A reduction has proved a mistake: the curve is what it was before.
    pub(super) fn set_curve(&mut self, curve: Curve) {
        self.course.curve = curve;
    }

    /// The window grows by an acknowledgment by which it may.
    pub(super) fn grow(&mut self, ack: &AckEvent) {
        if !ack.window_limited {
            // Section 4.2: time in which the application held sending back does not count.
            if let Some(epoch) = &mut self.course.curve.epoch {
                *epoch += ack.now.saturating_since(self.course.last_ack);
                self.course.last_ack = ack.now;
            }
            return;
        }
        if self.slow_start.grow(ack) {
            self.course.curve.epoch = None;
            return;
        }
        let cwnd = self.window().as_f64() / ack.smss.as_f64();
        if self.course.curve.epoch.is_none() {
            self.course.curve.begin(ack.now, cwnd);
        }
        self.course.last_ack = ack.now;
        let bytes = self.increase(ack, cwnd) * ack.smss.as_f64() + self.course.curve.fraction;
        self.course.curve.fraction = bytes.fract();
        self.slow_start.set_window(self.window() + Bytes::from_f64(bytes));
    }

    /// Sections 4.3 to 4.5: by how many segments an acknowledgment of `segments` increases `cwnd`.
    fn increase(&mut self, ack: &AckEvent, cwnd: f64) -> f64 {
        let segments = ack.acked.as_f64() / ack.smss.as_f64();
        let epoch = *self.course.curve.epoch.get_or_insert(ack.now);
        let t = ack.now.saturating_since(epoch).as_secs_f64();
        let rtt = ack.srtt.unwrap_or_default().as_secs_f64();
        // Section 4.3: once W_est has come to where the loss was, it grows as Reno does.
        // Linux keeps RFC 8312's increase (`delta = (cwnd * beta_scale) >> 3`).
        let as_reno = self.course.curve.w_est >= self.course.curve.cwnd_prior && !self.as_linux;
        self.course.curve.w_est += if as_reno { 1.0 } else { ALPHA } * segments / cwnd;
        let target = self.course.curve.w_cubic(t + rtt).clamp(cwnd, 1.5 * cwnd);
        let cubic = (target - cwnd) / cwnd * segments;
        if self.as_linux {
            // Both windows count whole segments, and it takes a round trip to come to W_est
            // (`max_cnt = cwnd / delta`).
            let behind = (self.course.curve.w_est.floor() - cwnd.floor()).max(0.0);
            return cubic.max(behind / cwnd * segments);
        }
        if self.course.curve.w_cubic(t) < self.course.curve.w_est {
            return (self.course.curve.w_est - cwnd).max(0.0);
        }
        cubic
    }

    /// Sections 4.6 and 4.7: what a reduction does to the curve, and the new threshold.
    fn reduce(&mut self, event: &CongestionEvent, plateau: bool) -> Bytes {
        let cwnd = self.window().as_f64() / event.smss.as_f64();
        let less = self.fast_convergence && cwnd < self.course.curve.w_max;
        let w_max = if less { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.course.curve = Curve { w_max, cwnd_prior: cwnd, plateau, ..Curve::START };
        Bytes::from_f64((event.flight_size.as_f64() * BETA).round())
    }
}

impl Congestion for Cubic {
    fn slow_start(&self) -> &SlowStart {
        &self.slow_start
    }

    fn slow_start_mut(&mut self) -> &mut SlowStart {
        &mut self.slow_start
    }

    fn on_ack(&mut self, ack: &AckEvent) -> Response {
        self.slow_start.on_ack(ack);
        if ack.may_grow() {
            self.grow(ack);
        }
        Response::default()
    }

    fn decrease(&mut self, event: &CongestionEvent, timeout: bool) -> Bytes {
        // Section 4.6: at least two segments.
        self.reduce(event, !timeout).max(2 * event.smss)
    }

    fn on_ecn(&mut self, event: &CongestionEvent) {
        // Section 4.6: after a mark the window may be one segment, the threshold not.
        let ssthresh = self.reduce(event, true).max(event.smss);
        self.slow_start.reduce(ssthresh, ssthresh.max(2 * event.smss));
    }

    fn save_undo(&mut self) {
        self.slow_start.save_undo();
        self.course.before = self.course.curve;
    }

    fn undo(&mut self, max: Bytes) -> bool {
        // Section 4.9.
        let undone = self.slow_start.undo(max);
        if undone {
            self.course.curve = self.course.before;
        }
        undone
    }

    fn on_idle(&mut self) {
        self.slow_start.on_idle();
        self.course.curve.epoch = None;
    }
}
