//! Controls that scenarios name.
//!
//! A scenario's model holds references that outlive it. So each class that is given is kept for as
//! long as the process runs, once.

use super::methods::Methods;
use super::raised;
use super::sender::PythonControl;
use bentpipe_core::tcp::congestion::{
    Classic, Congestion, CongestionAlgorithm, External, ExternalControl, SlowStartConfig, Standard,
};
use bentpipe_core::units::Bytes;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A control, by the name that TCP settings of a scenario have for it.
#[pyclass(frozen, module = "bentpipe._bentpipe")]
pub(crate) struct Control(&'static Registered);

struct Registered {
    name: String,
    about: String,
    digest: String,
    factory: Py<PyAny>,
    methods: Arc<Methods>,
    /// The same with parameters, by their text.
    with: Mutex<BTreeMap<String, External>>,
}

/// All that there are.
static REGISTERED: Mutex<Vec<&'static Registered>> = Mutex::new(Vec::new());

impl Registered {
    /// Of what makes instances. One is made, and looked at.
    fn new(
        factory: Bound<'_, PyAny>,
        name: String,
        about: String,
        digest: String,
    ) -> PyResult<&'static Registered> {
        let methods = Arc::new(Methods::of(&factory.call0()?)?);
        let (factory, with) = (factory.unbind(), Mutex::default());
        Ok(Box::leak(Box::new(Registered { name, about, digest, factory, methods, with })))
    }
}

#[pymethods]
impl Control {
    /// `factory` makes an instance for each connection.
    #[new]
    fn new(
        factory: Bound<'_, PyAny>,
        name: String,
        about: String,
        digest: String,
    ) -> PyResult<Control> {
        if CongestionAlgorithm::NAMES.contains(&name.as_str()) {
            let why = format!("`{name}` is bentpipe's own congestion control: choose another name");
            return Err(PyValueError::new_err(why));
        }
        let same = |known: &&&'static Registered| {
            known.name == name && known.digest == digest && known.factory.is(&factory)
        };
        let known = || REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known().iter().find(same) {
            return Ok(Control(known));
        }
        // Python runs in between, and may come here again.
        let registered = Registered::new(factory, name, about, digest)?;
        known().push(registered);
        Ok(Control(registered))
    }

    /// Its class, in words.
    #[getter]
    fn about(&self) -> &str {
        &self.0.about
    }

    /// Of its code.
    #[getter]
    fn digest(&self) -> &str {
        &self.0.digest
    }
}

/// References to them.
pub(crate) fn externals(controls: &[PyRef<'_, Control>]) -> Vec<External> {
    controls.iter().map(|control| External::new(control.0)).collect()
}

impl ExternalControl for Registered {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        &self.about
    }

    fn digest(&self) -> &str {
        &self.digest
    }

    fn with(&self, parameters: &str) -> Result<External, String> {
        let kept = || self.with.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept().get(parameters) {
            return Ok(*known);
        }
        let made = Python::attach(|py| {
            let inspection = py.import("bentpipe.inspection")?;
            let factory =
                inspection.call_method1("with_parameters", (&self.factory, parameters))?;
            let name = format!("{}:{parameters}", self.name);
            Registered::new(factory, name, self.about.clone(), self.digest.clone())
        });
        let refused = |error: PyErr| {
            let (name, about) = (&self.name, &self.about);
            format!("{name}:{parameters}: {about} cannot be made so: {error}")
        };
        let external = External::new(made.map_err(refused)?);
        kept().insert(parameters.to_owned(), external);
        Ok(external)
    }

    fn begin(&self, config: SlowStartConfig, smss: Bytes) -> Box<dyn Congestion> {
        let begun = Python::attach(|py| {
            let object = self.factory.bind(py).call0()?;
            PythonControl::begin(&object, Arc::clone(&self.methods), config, smss)
        });
        match begun {
            Ok(control) => Box::new(control),
            // The run ends for it: until then any other will do.
            Err(error) => {
                raised::keep(error);
                Box::new(Classic::new(config, smss, Standard::default()))
            }
        }
    }
}
