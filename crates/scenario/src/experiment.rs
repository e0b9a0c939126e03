//! An experiment: a scenario's file with its sweep and its repetitions.

use crate::change::{self, Change, Changes};
use crate::copies;
use crate::figure::{self, Figure};
use crate::repeat::{self, Repeat};
use crate::scenario::{self, Scenario};
use crate::sweep::Sweep;
use bentpipe_config::DocumentError;
use bentpipe_config::document::{self, Table};
use bentpipe_config::reader::{Context, ReadFile, Reader};
use bentpipe_core::tcp::congestion::External;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A checked experiment: every point of its sweep is known to be a sound scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    file: String,
    source: String,
    /// Without the sweep, its variants, the repetitions and the figures.
    document: Table,
    sweep: Sweep,
    /// How often each point is run.
    pub repeat: Repeat,
    /// The figures that it says are to be drawn of its results.
    pub figures: Vec<Figure>,
    /// The files that the scenario names, with their text.
    files: BTreeMap<String, String>,
    notes: Vec<String>,
    /// Congestion controls that the core does not have.
    controls: Vec<External>,
}

/// One point of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Counted from zero, in the sweep's order.
    pub index: usize,
    /// `delay=10ms, variant=end to end`; empty without a sweep.
    pub label: String,
    /// The paths and values of swept fields, in the sweep's order. Variants have `variant` and the
    /// name.
    pub values: Vec<(String, String)>,
    /// What is run.
    pub scenario: Scenario,
    /// The point as a scenario of its own, with the texts of the files that it names as comments
    /// at the end: two points with the same text give the same results. Title, description and
    /// repetitions are left out, the scenario's seed is in.
    pub canonical: String,
}

impl Experiment {
    /// Reads `text`, which stands in `file` (for messages); `read` gives the text of a file that
    /// it names, or says why it cannot.
    ///
    /// # Errors
    /// [`DocumentError`] for the first thing that is wrong, in whatever point of the sweep.
    pub fn parse(file: &str, text: &str, read: &ReadFile<'_>) -> Result<Experiment, DocumentError> {
        Experiment::parse_changed(file, text, &[], read)
    }

    /// As [`parse`](Experiment::parse), with some fields changed. Its
    /// [`source`](Experiment::source) is then not the author's text, but says the same as the
    /// changed one.
    ///
    /// # Errors
    /// [`DocumentError`].
    pub fn parse_changed(
        file: &str,
        text: &str,
        changes: &[Change],
        read: &ReadFile<'_>,
    ) -> Result<Experiment, DocumentError> {
        Experiment::parse_with(file, text, changes, read, &[])
    }

    /// The same, with congestion controls that the core does not have. Each has a table
    /// `[control.NAME]`, by which its results are known from those of another one.
    ///
    /// # Errors
    /// [`DocumentError`].
    pub fn parse_with(
        file: &str,
        text: &str,
        changes: &[Change],
        read: &ReadFile<'_>,
        controls: &[External],
    ) -> Result<Experiment, DocumentError> {
        let mut document = document::parse(file, text)?;
        let outside = Changes(changes);
        let context = Context::new(file, text, read).with_outside(&outside).with_controls(controls);
        change::apply(&context, &outside, &mut document)?;
        let source = match changes {
            [] => text.to_owned(),
            _ => changed_source(file, changes, &document),
        };
        let sweep = Sweep::take(&context, &mut document)?;
        let repeat = match document.remove("repeat") {
            Some(node) => {
                let reader = Reader::open(&context, &node, "[repeat]", &[&repeat::REPEAT])?;
                Repeat::read(&reader)?
            }
            None => Repeat::Runs(1),
        };
        let figures = match document.remove("figure") {
            Some(node) => figure::read(&context, &node)?,
            None => Vec::new(),
        };
        for index in 0..sweep.len() {
            let document = sweep.changed(&context, &document, index)?;
            scenario::read(&context, &document).map_err(|error| {
                let label = sweep.label(index);
                DocumentError { point: Some(label).filter(|label| !label.is_empty()), ..error }
            })?;
        }
        let (notes, files) = (context.notes(), context.into_files());
        let file = file.to_owned();
        let controls = controls.to_vec();
        Ok(Experiment { file, source, document, sweep, repeat, figures, files, notes, controls })
    }

    /// How many points the sweep has; one without a sweep.
    #[expect(clippy::len_without_is_empty, reason = "there is always a point")]
    pub fn len(&self) -> usize {
        self.sweep.len()
    }

    /// The text that was read, or one that says the same with the changes.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Notes of its traces' reader: things left out, or taken as something.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The files that the scenario names, and their texts.
    pub fn files(&self) -> &BTreeMap<String, String> {
        &self.files
    }

    /// The paths of the swept fields.
    pub fn swept(&self) -> Vec<&str> {
        self.sweep.paths()
    }

    /// The same by groups, each with the number of its steps. The fields of a group change in step;
    /// groups are crossed, and the last one changes fastest.
    pub fn zipped(&self) -> Vec<(Vec<&str>, usize)> {
        self.sweep.zipped()
    }

    /// The congestion controls that the core does not have.
    pub fn controls(&self) -> &[External] {
        &self.controls
    }

    /// The swept fields' paths and values at point `index`, in the sweep's order.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn values(&self, index: usize) -> Vec<(String, String)> {
        assert!(index < self.len(), "point {index} of {}", self.len());
        let chosen = self.sweep.point(index).into_iter();
        chosen.map(|(axis, value)| (axis.path.clone(), value.label())).collect()
    }

    /// `delay=10ms, recovery=sack`: point `index`, in short; empty without a sweep.
    pub fn label(&self, index: usize) -> String {
        self.sweep.label(index)
    }

    /// Point `index` of the sweep.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn point(&self, index: usize) -> Point {
        assert!(index < self.len(), "point {index} of {}", self.len());
        let read = |path: &str| Ok(self.files[path].clone());
        let (file, source) = (self.file.as_str(), self.source.as_str());
        let context = Context::new(file, source, &read).with_controls(&self.controls);
        let document = self.sweep.changed(&context, &self.document, index);
        let document = document.expect("every point was expanded when the file was read");
        let scenario = scenario::read(&context, &document);
        Point {
            index,
            label: self.sweep.label(index),
            values: self.values(index),
            scenario: scenario.expect("every point was checked when the file was read"),
            canonical: canonical(document, &context.into_files()),
        }
    }

    /// A point as a scenario of its own, with copies and numbers written out.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn written_out(&self, index: usize) -> String {
        let read = |path: &str| Ok(self.files[path].clone());
        let context = Context::new(&self.file, &self.source, &read);
        let document = self.sweep.changed(&context, &self.document, index);
        let document = document.expect("every point was expanded when the file was read");
        let written_out = copies::expand(&context, &document);
        document::write(&written_out.expect("every point was checked when the file was read"))
    }

    /// All points, in order.
    pub fn points(&self) -> impl Iterator<Item = Point> + '_ {
        (0..self.len()).map(|index| self.point(index))
    }
}

/// What is run, without what is only said of it; with the files that it names.
fn canonical(mut document: Table, files: &BTreeMap<String, String>) -> String {
    for key in ["title", "about"] {
        document.remove(key);
    }
    let mut text = document::write(&document);
    for (path, content) in files {
        let _ = writeln!(text, "# {path}");
        for line in content.lines() {
            let _ = writeln!(text, "#   {line}");
        }
    }
    text
}

fn changed_source(file: &str, changes: &[Change], document: &Table) -> String {
    let mut text = format!("# {file} with");
    for change in changes {
        let _ = write!(text, " {}", change.to_string().replace('\n', " "));
    }
    text.push('\n');
    text.push_str(&document::write(document));
    text
}
