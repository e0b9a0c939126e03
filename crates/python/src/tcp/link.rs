//! A link in one direction.

use super::segment::Segment;
use super::{instant, refused, seconds};
use bentpipe_core::link::{self, LinkConfig, LossKind, QueueKind, Varying};
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Probability, Rate, parse_duration};
use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// One direction of a link: a queue, a rate, losses, a delay.
#[pyclass(module = "bentpipe._bentpipe")]
pub(crate) struct Link(link::Link<Segment>);

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

#[pymethods]
impl Link {
    /// `rate` as "8Mbit/s" or in bit/s (None: it takes no time), `delay` in seconds or as "250ms",
    /// `queue` as "60packets", "100KB" or "codel", `loss` of each packet as a probability or as
    /// "1%", `bit_errors` the probability for each bit, `seed` of what is random.
    #[new]
    #[pyo3(signature = (rate=None, delay=Value::Number(0.0), queue="unlimited", loss=Value::Number(0.0), bit_errors=0.0, seed=1))]
    fn new(
        rate: Option<Value>,
        delay: Value,
        queue: &str,
        loss: Value,
        bit_errors: f64,
        seed: u64,
    ) -> PyResult<Link> {
        let rate = rate.map(|rate| match rate {
            Value::Text(text) => text.parse::<Rate>(),
            Value::Number(rate) => format!("{rate}bit/s").parse(),
        });
        let rate = rate.transpose().map_err(refused)?;
        let delay = match delay {
            Value::Text(text) => parse_duration(&text).map_err(refused)?,
            Value::Number(seconds) => Duration::try_from_secs_f64(seconds).map_err(refused)?,
        };
        let queue: QueueKind = queue.parse().map_err(refused)?;
        let packet_loss: LossKind = match loss {
            Value::Text(text) => text.parse(),
            Value::Number(probability) => probability.to_string().parse(),
        }
        .map_err(refused)?;
        let bit_errors: Probability = bit_errors.to_string().parse().map_err(refused)?;
        let config = LinkConfig {
            rate: rate.map(Varying::Constant),
            delay: Varying::Constant(delay),
            queue,
            packet_loss,
            bit_errors: Varying::Constant(bit_errors),
            seed,
            ..LinkConfig::IDEAL
        };
        Ok(Link(link::Link::new(&config)))
    }

    /// A segment is offered at `now`. It may be dropped, or lost on the way.
    fn send(&mut self, now: f64, segment: &Segment) -> PyResult<()> {
        self.0.push(instant(now)?, segment.clone());
        Ok(())
    }

    /// The next segment that has arrived by `now`; None if there is none.
    fn receive(&mut self, now: f64) -> PyResult<Option<Segment>> {
        Ok(self.0.pop(instant(now)?))
    }

    /// When to look next; None if nothing is on the way.
    #[getter]
    fn next(&self) -> Option<f64> {
        self.0.next().map(seconds)
    }

    /// Packets in the queue, the one being sent included.
    #[getter]
    fn queued(&self) -> u64 {
        self.0.queued().packets
    }

    /// Packets in it: in the queue and on the way.
    #[getter]
    fn inside(&self) -> u64 {
        self.0.inside().packets
    }

    /// Packets that the queue has dropped, and that were lost on the way.
    #[getter]
    fn lost(&self) -> u64 {
        let counters = self.0.counters();
        counters.dropped.packets + counters.lost.packets
    }
}
