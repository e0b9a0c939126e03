//! A congestion control written in Python. Every acknowledgment calls it: that costs some
//! microseconds each.

use bentpipe_core::tcp::congestion::{
    AckEvent, Congestion, CongestionEvent, InitialWindowUse, Probing, Response, SlowStart,
    SlowStartConfig, ThresholdEstimate,
};
use bentpipe_core::units::Bytes;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;
use std::fmt;
use std::sync::{Arc, Mutex};

/// What the control has raised, until somebody asks.
#[derive(Clone, Default)]
pub(super) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    fn keep(&self, error: PyErr) {
        if let Ok(mut kept) = self.0.lock() {
            kept.get_or_insert(error);
        }
    }

    /// Raises it.
    pub(super) fn check(&self) -> PyResult<()> {
        match self.0.lock().ok().and_then(|mut kept| kept.take()) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// The sender's side of it: it keeps window and threshold, and asks Python's object for new ones.
#[derive(Serialize)]
pub(super) struct PythonControl {
    slow_start: SlowStart,
    #[serde(skip)]
    object: Py<PyAny>,
    #[serde(skip)]
    raised: Raised,
}

impl fmt::Debug for PythonControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonControl")
            .field("slow_start", &self.slow_start)
            .finish_non_exhaustive()
    }
}

impl PythonControl {
    /// Of an object that has the methods of `bentpipe.tcp.CongestionControl`.
    pub(super) fn new(object: Py<PyAny>) -> PythonControl {
        PythonControl {
            slow_start: slow_start(Bytes::new(1), Bytes::new(1)),
            object,
            raised: Raised::default(),
        }
    }

    /// Where its exceptions are to be found.
    pub(super) fn raised(&self) -> Raised {
        self.raised.clone()
    }

    /// The handshake is complete: its initial window.
    pub(super) fn begin(&mut self, smss: Bytes) -> PyResult<()> {
        let window = Python::attach(|py| {
            self.object.bind(py).call_method1("initial_window", (smss.count(),))?.extract::<u64>()
        })?;
        self.slow_start = slow_start(Bytes::new(window).max(smss), smss);
        Ok(())
    }

    /// What a method answers: a number of bytes, one segment at least. If it raises, what stood
    /// before.
    fn ask(
        &self,
        method: &str,
        smss: Bytes,
        before: Bytes,
        sample: impl Fn(&Bound<'_, PyDict>) -> PyResult<()>,
    ) -> Bytes {
        let answer = Python::attach(|py| -> PyResult<u64> {
            let dict = PyDict::new(py);
            dict.set_item("cwnd", self.window().count())?;
            dict.set_item(
                "ssthresh",
                Some(self.ssthresh().count()).filter(|&it| it < Bytes::MAX.count()),
            )?;
            dict.set_item("smss", smss.count())?;
            sample(&dict)?;
            self.object.bind(py).call_method(method, (), Some(&dict))?.extract()
        });
        match answer {
            // What no peer can offer more than (RFC 7323, 2.3).
            Ok(bytes) => Bytes::new(bytes.min(1 << 30)).max(smss),
            Err(error) => {
                self.raised.keep(error);
                before
            }
        }
    }
}

fn slow_start(window: Bytes, smss: Bytes) -> SlowStart {
    let config = SlowStartConfig {
        initial_window: window,
        initial_ssthresh: None,
        ssthresh_estimate: ThresholdEstimate::Off,
        byte_limit: None,
        initial_window_use: InitialWindowUse::default(),
        growth: Default::default(),
        probing: Probing::default(),
    };
    SlowStart::new(config, smss)
}

impl Congestion for PythonControl {
    fn slow_start(&self) -> &SlowStart {
        &self.slow_start
    }

    fn slow_start_mut(&mut self) -> &mut SlowStart {
        &mut self.slow_start
    }

    fn on_ack(&mut self, ack: &AckEvent) -> Response {
        if !ack.may_grow() {
            return Response::default();
        }
        let window = self.ask("on_ack", ack.smss, self.window(), |dict| {
            dict.set_item("now", super::seconds(ack.now))?;
            dict.set_item("acked", ack.acked.count())?;
            dict.set_item("rtt", ack.rtt.map(|span| span.as_secs_f64()))?;
            dict.set_item("srtt", ack.srtt.map(|span| span.as_secs_f64()))?;
            dict.set_item("min_rtt", ack.min_rtt.map(|span| span.as_secs_f64()))?;
            dict.set_item("in_flight", ack.in_flight_before.count())?;
            dict.set_item("window_limited", ack.window_limited)
        });
        self.slow_start.set_window(window);
        Response::default()
    }

    fn decrease(&mut self, event: &CongestionEvent, timeout: bool) -> Bytes {
        self.ask("on_loss", event.smss, event.half(), |dict| {
            dict.set_item("now", super::seconds(event.now))?;
            dict.set_item("in_flight", event.flight_size.count())?;
            dict.set_item("timeout", timeout)
        })
    }
}
