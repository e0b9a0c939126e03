//! Experiments: a scenario with its sweep and repetitions, checked.

use crate::control::{Control, externals};
use crate::error;
use bentpipe_lab::{EXAMPLES, Source, SourceError};
use bentpipe_scenario::{Change, Experiment as Checked};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::Arc;

/// A checked experiment.
#[pyclass(frozen, module = "bentpipe._bentpipe")]
pub(crate) struct Experiment {
    name: String,
    pub(crate) checked: Arc<Checked>,
}

fn changes(changes: Vec<(String, String)>) -> Vec<Change> {
    changes.into_iter().map(|(path, value)| Change::new(path, value)).collect()
}

#[pymethods]
impl Experiment {
    /// The text of a scenario's file or of an example, with the folder of the former.
    #[staticmethod]
    fn find(name: PathBuf) -> PyResult<(String, Option<PathBuf>)> {
        let source = Source::find(&name).map_err(|error| match error {
            SourceError::NoFile(_) => error::not_found(error),
            SourceError::Read { .. } => error::os(error),
        })?;
        let folder = name.exists().then(|| name.parent().map(PathBuf::from)).flatten();
        Ok((source.text().to_owned(), folder))
    }

    /// Of a scenario's text, which is called `name` in messages, with changes of fields and
    /// congestion controls in Python.
    #[staticmethod]
    fn parse(
        py: Python<'_>,
        name: String,
        text: &str,
        folder: Option<PathBuf>,
        changed: Vec<(String, String)>,
        controls: Vec<PyRef<'_, Control>>,
    ) -> PyResult<Experiment> {
        let source = Source::of_text(&name, text, folder);
        let changes = changes(changed);
        let controls = externals(&controls);
        let checked = py.detach(|| source.experiment_with(&changes, &controls));
        let checked = Arc::new(checked.map_err(|failed| error::scenario(py, &failed))?);
        for note in checked.notes() {
            let note = CString::new(note.replace('\0', ""))?;
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &note, 0)?;
        }
        Ok(Experiment { name, checked })
    }

    /// Of what `parts` of another has given.
    #[staticmethod]
    fn of_parts(
        py: Python<'_>,
        name: String,
        text: &str,
        files: BTreeMap<String, String>,
        controls: Vec<PyRef<'_, Control>>,
    ) -> PyResult<Experiment> {
        let read =
            |path: &str| files.get(path).cloned().ok_or_else(|| "it was not sent".to_owned());
        let controls = externals(&controls);
        let checked = py.detach(|| Checked::parse_with(&name, text, &[], &read, &controls));
        let checked = Arc::new(checked.map_err(|failed| error::scenario(py, &failed))?);
        Ok(Experiment { name, checked })
    }

    /// All that makes the same experiment in another process: its name, its text, and the files
    /// that it names.
    fn parts(&self) -> (String, String, BTreeMap<String, String>) {
        (self.name.clone(), self.checked.source().to_owned(), self.checked.files().clone())
    }

    /// How many points its sweep has.
    fn __len__(&self) -> usize {
        self.checked.len()
    }

    /// The scenario's title.
    #[getter]
    fn title(&self) -> String {
        self.checked.point(0).scenario.title
    }

    /// What each point is called.
    fn labels(&self) -> Vec<String> {
        (0..self.checked.len()).map(|point| self.checked.label(point)).collect()
    }

    /// The paths of the swept fields.
    fn swept(&self) -> Vec<String> {
        self.checked.swept().into_iter().map(str::to_owned).collect()
    }

    /// The same by groups: the fields of one change in step. Each with the number of its steps.
    fn zipped(&self) -> Vec<(Vec<String>, usize)> {
        let groups = self.checked.zipped().into_iter();
        groups
            .map(|(group, steps)| (group.into_iter().map(str::to_owned).collect(), steps))
            .collect()
    }

    /// The text, changes included.
    fn text(&self) -> String {
        self.checked.source().to_owned()
    }
}

/// The names of the examples that come with bentpipe.
#[pyfunction]
pub(crate) fn examples() -> Vec<&'static str> {
    EXAMPLES.iter().map(|example| example.name).collect()
}
