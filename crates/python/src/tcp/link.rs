//! A link in one direction.

use super::segment::Segment;
use super::{Clock, count, refused, seconds};
use bentpipe_core::link::{self, LinkConfig, QueueKind};
use bentpipe_core::time::Duration;
use bentpipe_links::{DirectionSpec, Directions, LinkSettings};
use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::fs;
use std::path::PathBuf;

/// One direction of a link: a queue, a rate, losses, a delay.
#[pyclass(module = "bentpipe._bentpipe")]
pub(crate) struct Link {
    link: link::Link<Segment>,
    clock: Clock,
}

/// A quantity: as text with its unit, or as a number in the base unit.
enum Value {
    Number(f64),
    Text(String),
}

impl<'py> FromPyObject<'_, 'py> for Value {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Value> {
        if let Ok(number) = given.extract() {
            return Ok(Value::Number(number));
        }
        let text = given.extract().map(Value::Text);
        text.map_err(|_| {
            PyTypeError::new_err("expected a number in the base unit, or a text with its unit")
        })
    }
}

impl Value {
    /// As text, with `unit` behind a number.
    fn text(&self, unit: &str) -> String {
        match self {
            Value::Number(number) => format!("{number}{unit}"),
            Value::Text(text) => text.clone(),
        }
    }
}

#[pymethods]
impl Link {
    /// `rate` as "8Mbit/s" or in bit/s (None: it takes no time), `delay` in seconds or as "250ms",
    /// `queue` as "60packets", "100KB" or "codel", `loss` of each packet as a probability or as
    /// "1%", `bit_errors` the probability for each bit, `seed` of what is random. `trace` is a file
    /// with rate, delay and loss over time, as a scenario's link has it; with `fixed_rate` the rate
    /// is the given one all the same.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
    #[pyo3(signature = (rate=None, delay=Value::Number(0.0), queue="unlimited", loss=Value::Number(0.0), bit_errors=0.0, seed=1, trace=None, fixed_rate=false))]
    fn new(
        rate: Option<Value>,
        delay: Value,
        queue: &str,
        loss: Value,
        bit_errors: f64,
        seed: i128,
        trace: Option<PathBuf>,
        fixed_rate: bool,
    ) -> PyResult<Link> {
        let mut settings = LinkSettings::default();
        let mut set = |key: &str, text: &str| settings.set(Directions::Both, key, key, text);
        match rate {
            Some(ref rate) if !fixed_rate => set("rate", &rate.text("bit/s")),
            _ => {}
        }
        set("delay", &delay.text("s"));
        set("loss", &loss.text(""));
        set("bit-errors", &bit_errors.to_string());
        if let Some(trace) = trace {
            set("trace", &format!("{:?}", trace.display().to_string()));
        }
        if let Some(rate) = rate.filter(|_| fixed_rate) {
            settings.set(Directions::Forward, "rate", "rate", &rate.text("bit/s"));
        }
        let read = |path: &str| {
            let opened = fs::File::open(path).map_err(|error| error.to_string());
            opened.and_then(bentpipe_links::file_text)
        };
        let spec = settings.read(&read, 0, Duration::ZERO).map_err(refused)?;
        let [DirectionSpec { rate, delay, loss, bit_errors, .. }, _] = spec.directions;
        let queue: QueueKind = queue.parse().map_err(refused)?;
        let seed = count("seed", seed)?;
        let config = LinkConfig {
            rate,
            delay,
            queue,
            packet_loss: loss,
            bit_errors,
            seed,
            ..LinkConfig::IDEAL
        };
        Ok(Link { link: link::Link::new(&config), clock: Clock::default() })
    }

    /// A segment is offered at `now`. It may be dropped, or lost on the way. If several flows share
    /// the link, `flow` says whose it is, and so does the segment that arrives.
    #[pyo3(signature = (now, segment, flow=0))]
    fn send(&mut self, now: f64, segment: &Segment, flow: u32) -> PyResult<()> {
        self.link.push(self.clock.at(now)?, Segment { flow, ..segment.clone() });
        Ok(())
    }

    /// The next segment that has arrived by `now`; None if there is none.
    fn receive(&mut self, now: f64) -> PyResult<Option<Segment>> {
        Ok(self.link.pop(self.clock.at(now)?))
    }

    /// When to look next; None if nothing is on the way.
    #[getter]
    fn next(&self) -> Option<f64> {
        self.link.next().map(seconds)
    }

    /// Packets in the queue, the one being sent included.
    #[getter]
    fn queued(&self) -> u64 {
        self.link.queued().packets
    }

    /// Packets in it: in the queue and on the way.
    #[getter]
    fn inside(&self) -> u64 {
        self.link.inside().packets
    }

    /// Packets that the queue has dropped, and that were lost on the way.
    #[getter]
    fn lost(&self) -> u64 {
        let counters = self.link.counters();
        counters.dropped.packets + counters.lost.packets
    }
}
