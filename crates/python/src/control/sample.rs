//! The keyword arguments of a control's methods.

use super::sender::Window;
use crate::clock::seconds;
use bentpipe_core::tcp::congestion::{AckEvent, CongestionEvent};
use bentpipe_core::tcp::delivery_rate::RateSample;
use bentpipe_core::time::Duration;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

/// Those of `on_ack`, in the order of [`ack`].
pub(crate) const ON_ACK: [&str; 19] = [
    "now",
    "cwnd",
    "ssthresh",
    "smss",
    "acked",
    "newly_delivered",
    "delivered",
    "lost",
    "rtt",
    "srtt",
    "min_rtt",
    "in_flight",
    "in_flight_after",
    "delivery_rate",
    "app_limited",
    "round",
    "in_recovery",
    "window_limited",
    "prior_delivered",
];

/// Those of `on_loss`, in the order of [`loss`].
pub(crate) const ON_LOSS: [&str; 6] = ["now", "cwnd", "ssthresh", "smss", "in_flight", "timeout"];

/// A sample of which only some parts are asked for.
struct Sample<'py> {
    dict: Bound<'py, PyDict>,
    /// A bit for each part that is still to come.
    asked: u32,
}

impl<'py> Sample<'py> {
    fn new(py: Python<'py>, asked: u32) -> Sample<'py> {
        Sample { dict: PyDict::new(py), asked }
    }

    /// The next part.
    fn put<T: IntoPyObject<'py>>(
        &mut self,
        name: &Bound<'py, PyString>,
        value: impl FnOnce() -> T,
    ) -> PyResult<()> {
        let asked = self.asked & 1 != 0;
        self.asked >>= 1;
        if asked { self.dict.set_item(name, value()) } else { Ok(()) }
    }
}

fn span(span: Option<Duration>) -> Option<f64> {
    span.map(|span| span.as_secs_f64())
}

/// What an acknowledgment says.
pub(super) fn ack<'py>(
    py: Python<'py>,
    asked: u32,
    window: Window,
    ack: &AckEvent,
) -> PyResult<Bound<'py, PyDict>> {
    let mut sample = Sample::new(py, asked);
    let rates = ack.sample.as_ref();
    sample.put(intern!(py, "now"), || seconds(ack.now))?;
    sample.put(intern!(py, "cwnd"), || window.cwnd.count())?;
    sample.put(intern!(py, "ssthresh"), || window.ssthresh())?;
    sample.put(intern!(py, "smss"), || ack.smss.count())?;
    sample.put(intern!(py, "acked"), || ack.acked.count())?;
    sample.put(intern!(py, "newly_delivered"), || ack.newly.count())?;
    sample.put(intern!(py, "delivered"), || ack.delivered.count())?;
    sample.put(intern!(py, "lost"), || ack.lost.count())?;
    sample.put(intern!(py, "rtt"), || span(ack.rtt))?;
    sample.put(intern!(py, "srtt"), || span(ack.srtt))?;
    sample.put(intern!(py, "min_rtt"), || span(ack.min_rtt))?;
    sample.put(intern!(py, "in_flight"), || ack.in_flight_before.count())?;
    sample.put(intern!(py, "in_flight_after"), || ack.in_flight.count())?;
    sample.put(intern!(py, "delivery_rate"), || {
        rates.and_then(RateSample::rate).map(|rate| rate.bits_per_sec() as f64)
    })?;
    sample.put(intern!(py, "app_limited"), || rates.is_some_and(|sample| sample.app_limited))?;
    sample.put(intern!(py, "round"), || ack.round)?;
    sample.put(intern!(py, "in_recovery"), || ack.in_recovery())?;
    sample.put(intern!(py, "window_limited"), || ack.window_limited)?;
    sample.put(intern!(py, "prior_delivered"), || {
        rates.map(|sample| sample.prior_delivered.count())
    })?;
    Ok(sample.dict)
}

/// What a loss says.
pub(super) fn loss<'py>(
    py: Python<'py>,
    asked: u32,
    window: Window,
    event: &CongestionEvent,
    timeout: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let mut sample = Sample::new(py, asked);
    sample.put(intern!(py, "now"), || seconds(event.now))?;
    sample.put(intern!(py, "cwnd"), || window.cwnd.count())?;
    sample.put(intern!(py, "ssthresh"), || window.ssthresh())?;
    sample.put(intern!(py, "smss"), || event.smss.count())?;
    sample.put(intern!(py, "in_flight"), || event.flight_size.count())?;
    sample.put(intern!(py, "timeout"), || timeout)?;
    Ok(sample.dict)
}
