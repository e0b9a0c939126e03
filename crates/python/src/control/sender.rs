//! The sender's side of a control.
//!
//! It keeps the window and the threshold, and asks Python's object for new ones.

use super::methods::Methods;
use super::{raised, sample};
use bentpipe_core::tcp::congestion::{
    AckEvent, Congestion, CongestionEvent, InitialWindowUse, PacingBasis, Probing, Response,
    SlowStart, SlowStartConfig, ThresholdEstimate,
};
use bentpipe_core::units::{Bytes, Rate};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// No peer can offer more (RFC 7323, 2.3).
const LARGEST: u64 = 1 << 30;

/// Window and threshold, as a control is shown them.
#[derive(Clone, Copy)]
pub(super) struct Window {
    pub(super) cwnd: Bytes,
    threshold: Bytes,
}

impl Window {
    /// The threshold in bytes, unless it is as good as infinite.
    pub(super) fn ssthresh(&self) -> Option<u64> {
        Some(self.threshold.count()).filter(|&bytes| bytes < Bytes::MAX.count())
    }
}

/// See the module's head.
#[derive(Serialize)]
pub(crate) struct PythonControl {
    slow_start: SlowStart,
    #[serde(skip)]
    object: Py<PyAny>,
    #[serde(skip)]
    methods: Arc<Methods>,
    /// Of the payload, if the control paces.
    #[serde(skip)]
    pacing: Option<Rate>,
}

impl fmt::Debug for PythonControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonControl")
            .field("class", &self.methods.class)
            .field("slow_start", &self.slow_start)
            .finish_non_exhaustive()
    }
}

impl PythonControl {
    /// Of an object whose methods are these, for segments of `smss` bytes.
    pub(crate) fn begin(
        object: &Bound<'_, PyAny>,
        methods: Arc<Methods>,
        config: SlowStartConfig,
        smss: Bytes,
    ) -> PyResult<PythonControl> {
        let initial_window = if methods.first_window {
            let answer = object.call_method1("initial_window", (smss.count(),))?;
            window_of(methods.count("initial_window", &answer)?, smss)
        } else {
            config.initial_window
        };
        let slow_start = SlowStart::new(SlowStartConfig { initial_window, ..config }, smss);
        let pacing = rate(&methods, object)?;
        let object = object.clone().unbind();
        Ok(PythonControl { slow_start, object, methods, pacing })
    }

    /// What slow start begins with where no configuration says it.
    pub(crate) fn usual(smss: Bytes) -> SlowStartConfig {
        SlowStartConfig {
            initial_window: 10 * smss,
            initial_ssthresh: None,
            ssthresh_estimate: ThresholdEstimate::Off,
            byte_limit: None,
            initial_window_use: InitialWindowUse::default(),
            growth: Default::default(),
            probing: Probing::default(),
        }
    }

    /// What a method answers, in bytes, one segment at least. Nothing if it raises, or if another
    /// control of this run has.
    fn ask(
        &mut self,
        method: &str,
        smss: Bytes,
        sample: impl for<'py> FnOnce(Python<'py>, &Methods, Window) -> PyResult<Bound<'py, PyDict>>,
    ) -> Option<Bytes> {
        if raised::is_there() {
            return None;
        }
        let window = Window { cwnd: self.window(), threshold: self.ssthresh() };
        let answer = Python::attach(|py| -> PyResult<(u64, Option<Rate>)> {
            let object = self.object.bind(py);
            let sample = sample(py, &self.methods, window)?;
            let bytes = self.methods.bytes(object, method, &sample)?;
            Ok((bytes, rate(&self.methods, object)?))
        });
        match answer {
            Ok((bytes, pacing)) => {
                self.pacing = pacing;
                Some(window_of(bytes, smss))
            }
            Err(error) => {
                raised::keep(error);
                None
            }
        }
    }

    fn ask_on_loss(&mut self, event: &CongestionEvent, timeout: bool) -> Option<Bytes> {
        self.ask("on_loss", event.smss, |py, methods, window| {
            sample::loss(py, methods.on_loss, window, event, timeout)
        })
    }

    /// A loss in a control whose window is its own at any time.
    fn decide(&mut self, event: &CongestionEvent, timeout: bool) {
        if let Some(window) = self.ask_on_loss(event, timeout) {
            self.slow_start.set_window(window);
        }
    }
}

fn window_of(bytes: u64, smss: Bytes) -> Bytes {
    Bytes::new(bytes.min(LARGEST)).max(smss)
}

fn rate(methods: &Methods, object: &Bound<'_, PyAny>) -> PyResult<Option<Rate>> {
    let rate = methods.pacing_rate(object)?;
    Ok(rate.map(|rate| Rate::from_bits_per_sec((rate as u64).max(1))))
}

impl Congestion for PythonControl {
    fn slow_start(&self) -> &SlowStart {
        &self.slow_start
    }

    fn slow_start_mut(&mut self) -> &mut SlowStart {
        &mut self.slow_start
    }

    fn on_ack(&mut self, ack: &AckEvent) -> Response {
        let asks = match self.methods.decides_in_recovery {
            true => ack.reports(),
            false => ack.may_grow(),
        };
        if asks
            && let Some(window) = self.ask("on_ack", ack.smss, |py, methods, window| {
                sample::ack(py, methods.on_ack, window, ack)
            })
        {
            self.slow_start.set_window(window);
        }
        Response::default()
    }

    fn decrease(&mut self, event: &CongestionEvent, timeout: bool) -> Bytes {
        self.ask_on_loss(event, timeout).unwrap_or_else(|| event.half())
    }

    fn on_loss(&mut self, event: &CongestionEvent) {
        if self.methods.decides_in_recovery {
            return self.decide(event, false);
        }
        let ssthresh = self.decrease(event, false);
        self.slow_start.reduce(ssthresh, ssthresh);
    }

    fn on_recovered(&mut self, flight_size: Bytes, smss: Bytes) {
        if !self.methods.decides_in_recovery {
            self.slow_start.on_recovered(flight_size, smss);
        }
    }

    fn on_timeout(&mut self, event: &CongestionEvent, again: bool) {
        if self.methods.decides_in_recovery {
            return self.decide(event, true);
        }
        // RFC 5681, 3.1: the threshold is held when the same data times out again.
        let ssthresh = if again { self.ssthresh() } else { self.decrease(event, true) };
        self.slow_start.on_timeout(ssthresh, event.smss);
    }

    fn save_undo(&mut self) {
        if !self.methods.decides_in_recovery {
            self.slow_start.save_undo();
        }
    }

    fn undo(&mut self, max: Bytes) -> bool {
        self.methods.decides_in_recovery || self.slow_start.undo(max)
    }

    fn on_idle(&mut self) {
        if !self.methods.decides_in_recovery {
            self.slow_start.on_idle();
        }
    }

    fn pacing(&self) -> PacingBasis {
        match self.pacing {
            Some(rate) => PacingBasis::Rate(Some(rate)),
            None => self.slow_start.pacing(),
        }
    }

    fn needs_pacing(&self) -> bool {
        self.pacing.is_some()
    }

    fn reduces_proportionally(&self) -> bool {
        !self.methods.decides_in_recovery
    }
}
