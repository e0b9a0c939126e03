//! A control's methods, and which part of a sample each asks for.

use super::sample::{ON_ACK, ON_LOSS};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// What is known of a control's class.
#[derive(Debug)]
pub(crate) struct Methods {
    /// The name of the class.
    pub(super) class: String,
    /// The parts of a sample that `on_ack` asks for, by a bit each.
    pub(super) on_ack: u32,
    /// The same of `on_loss`.
    pub(super) on_loss: u32,
    /// The window is the control's in recovery, too.
    pub(super) decides_in_recovery: bool,
    /// It has a first window of its own.
    pub(super) first_window: bool,
}

/// As `bentpipe.inspection.methods` returns them.
type Inspected = (String, Vec<String>, Vec<String>, bool, bool);

impl Methods {
    /// Of an object that has the methods of `bentpipe.tcp.CongestionControl`.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Methods> {
        let inspection = object.py().import("bentpipe.inspection")?;
        let (class, on_ack, on_loss, decides_in_recovery, first_window): Inspected =
            inspection.call_method1("methods", (object,))?.extract()?;
        let (on_ack, on_loss) = (bits(&on_ack, &ON_ACK), bits(&on_loss, &ON_LOSS));
        Ok(Methods { class, on_ack, on_loss, decides_in_recovery, first_window })
    }

    /// Calls a method that answers with a number of bytes.
    pub(super) fn bytes(
        &self,
        object: &Bound<'_, PyAny>,
        method: &str,
        sample: &Bound<'_, PyDict>,
    ) -> PyResult<u64> {
        self.count(method, &object.call_method(method, (), Some(sample))?)
    }

    /// An answer as a number of bytes.
    pub(super) fn count(&self, method: &str, answer: &Bound<'_, PyAny>) -> PyResult<u64> {
        // Above what any peer can offer there is no difference.
        let number = answer.extract::<i64>().ok();
        if let Some(Ok(bytes)) = number.map(u64::try_from) {
            return Ok(bytes);
        }
        let (class, shown) = (&self.class, answer.repr()?);
        let kind = match number {
            Some(_) => String::new(),
            None => format!(" ({})", answer.get_type().name()?),
        };
        let expected = "bytes as an int from 0 on expected";
        let why = format!("{class}.{method} returned {shown}{kind}: {expected}");
        Err(PyTypeError::new_err(why))
    }

    /// The rate that the control paces at, in bit/s, if it does.
    pub(super) fn pacing_rate(&self, object: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
        let name = pyo3::intern!(object.py(), "pacing_rate");
        let Some(given) = object.getattr_opt(name)?.filter(|given| !given.is_none()) else {
            return Ok(None);
        };
        match given.extract::<f64>() {
            Ok(rate) if rate > 0.0 => Ok(Some(rate)),
            _ => {
                let (class, shown, kind) = (&self.class, given.repr()?, given.get_type().name()?);
                let expected = "bit/s as a number above 0 expected, or None";
                let why = format!("{class}.pacing_rate is {shown} ({kind}): {expected}");
                Err(PyTypeError::new_err(why))
            }
        }
    }
}

fn bits(asked: &[String], all: &[&str]) -> u32 {
    let place = |name: &String| all.iter().position(|known| known == name);
    asked.iter().filter_map(place).fold(0, |bits, place| bits | 1 << place)
}
