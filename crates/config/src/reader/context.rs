//! The surroundings of a tree that is read. Positions, named files, what a program brings.

use super::{FromNode, Result};
use crate::document::{self, Entry, Node};
use crate::error::{DocumentError, Problem, SourcePosition, hint};
use bentpipe_core::tcp::congestion::External;
use bentpipe_core::text::Choice;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// How a named file is read: its text, or why not.
pub type ReadFile<'a> = dyn Fn(&str) -> std::result::Result<String, String> + 'a;

/// The positions of values from outside the file. In the tree they stand behind the file's end:
/// [`Context::outside_at`].
pub trait OutsidePlaces {
    /// The position of value `index`, if there are so many.
    fn position(&self, index: usize) -> Option<SourcePosition>;
}

/// No values from outside.
struct FileAlone;

impl OutsidePlaces for FileAlone {
    fn position(&self, _: usize) -> Option<SourcePosition> {
        None
    }
}

/// What reading needs to know besides the tree.
pub struct Context<'a> {
    file: &'a str,
    source: &'a str,
    read: &'a ReadFile<'a>,
    /// Files that were read, so that each is read once.
    files: RefCell<BTreeMap<String, String>>,
    /// What its reader should hear of, once each.
    notes: RefCell<Vec<String>>,
    outside: &'a dyn OutsidePlaces,
    /// Congestion controls that are none of the core's.
    controls: &'a [External],
}

impl<'a> Context<'a> {
    /// The text `source` stands in `file` (for messages); `read` gives the text of a file that it
    /// names.
    pub fn new(file: &'a str, source: &'a str, read: &'a ReadFile<'a>) -> Context<'a> {
        let (files, notes) = (RefCell::default(), RefCell::default());
        Context { file, source, read, files, notes, outside: &FileAlone, controls: &[] }
    }

    /// The same, with values from outside the file.
    pub fn with_outside(self, outside: &'a dyn OutsidePlaces) -> Context<'a> {
        Context { outside, ..self }
    }

    /// The same, with congestion controls that the core does not have.
    pub fn with_controls(self, controls: &'a [External]) -> Context<'a> {
        Context { controls, ..self }
    }

    /// All notes, in order.
    pub fn notes(&self) -> Vec<String> {
        self.notes.borrow().clone()
    }

    /// The files that were read, and their texts.
    pub fn into_files(self) -> BTreeMap<String, String> {
        self.files.into_inner()
    }
}

impl Context<'_> {
    /// The offset of the value `index` from outside: behind the file's end.
    pub fn outside_at(&self, index: usize) -> usize {
        self.source.len() + 1 + index
    }

    /// The position of the byte at offset `at`, or of the value from outside that stands there.
    pub fn position(&self, at: usize) -> SourcePosition {
        let outside = at.checked_sub(self.source.len() + 1);
        let outside = outside.and_then(|index| self.outside.position(index));
        outside.unwrap_or_else(|| SourcePosition::of(self.file, self.source, at))
    }

    /// An error about what stands at `at`.
    pub fn error(&self, at: usize, problem: Problem) -> DocumentError {
        let mut position = self.position(at);
        if position.path.is_empty() {
            let document = document::parse(self.file, self.source);
            position.path = document.ok().and_then(|all| all.path_at(at)).unwrap_or_default();
        }
        DocumentError { position: Box::new(position), problem: Box::new(problem), point: None }
    }

    /// An error about the value of `node`.
    pub fn value_error(&self, node: &Node, why: impl Into<String>) -> DocumentError {
        self.error(node.at, Problem::Value(why.into()))
    }

    /// An error about a key that `table` does not have; it has those that are `known`.
    pub fn unknown_key<'k>(
        &self,
        entry: &Entry,
        table: &str,
        known: impl Iterator<Item = &'k str> + Clone,
    ) -> DocumentError {
        let key = entry.key.clone();
        let hint = hint(&key, known);
        self.error(entry.key_at, Problem::UnknownKey { key, table: table.to_owned(), hint })
    }

    /// An error about the type of `node`.
    pub fn type_error(&self, node: &Node, expected: &str) -> DocumentError {
        self.error(node.at, Problem::Type { found: node.found(), expected: expected.to_owned() })
    }

    /// Notes what is not wrong, but has been left out or taken as something.
    pub fn note(&self, note: String) {
        let mut notes = self.notes.borrow_mut();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// The congestion controls that the core does not have.
    pub fn controls(&self) -> &[External] {
        self.controls
    }

    /// The one of them that `text`, which stands at `node`, names: `copa` or `copa:delta=0.1`.
    ///
    /// # Errors
    /// It does not take these parameters.
    pub(crate) fn external_control(&self, node: &Node, text: &str) -> Option<Result<External>> {
        let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
        let control = self.controls.iter().find(|control| control.name() == name.trim())?;
        if parameters.is_empty() {
            return Some(Ok(*control));
        }
        // In a list of settings semicolons part them.
        let with = control.with(&parameters.replace(';', ","));
        Some(with.map_err(|why| self.value_error(node, why)))
    }

    /// A message about the setting `key` of a TCP, with the controls that it could have named, too.
    pub(crate) fn with_own_controls(&self, key: &str, why: String) -> String {
        let own: Vec<&str> = self.controls.iter().map(|control| control.name()).collect();
        match key {
            "congestion" if !own.is_empty() => {
                format!("{why}; of your own there are {}", own.join(", "))
            }
            _ => why,
        }
    }

    /// The text of the file that `node` names.
    ///
    /// # Errors
    /// `node` is no text, or the file cannot be read.
    pub fn text_of_file(&self, node: &Node) -> Result<String> {
        self.text_at(node, &String::from_node(self, node)?)
    }

    /// The text of the file at `path`, which `node` names.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn text_at(&self, node: &Node, path: &str) -> Result<String> {
        if let Some(text) = self.files.borrow().get(path) {
            return Ok(text.clone());
        }
        let text = (self.read)(path)
            .map_err(|why| self.error(node.at, Problem::File { path: path.to_owned(), why }))?;
        self.files.borrow_mut().insert(path.to_owned(), text.clone());
        Ok(text)
    }

    /// Which `what` the text at `node` names.
    ///
    /// # Errors
    /// There is no such `what`; the message has the nearest name.
    pub fn choice<T: Choice>(&self, node: &Node, what: &str) -> Result<T> {
        let name = String::from_node(self, node)?;
        let names = || T::VARIANTS.iter().map(|value| value.name());
        T::named(&name).ok_or_else(|| {
            let hint = hint(&name, names());
            self.error(node.at, Problem::UnknownName { what: what.to_owned(), name, hint })
        })
    }

    /// The index of the one of `names` that `node` is.
    ///
    /// # Errors
    /// It is none of them.
    pub fn one_of(&self, node: &Node, what: &str, names: &[&str]) -> Result<usize> {
        let name = String::from_node(self, node)?;
        names.iter().position(|known| *known == name).ok_or_else(|| {
            let hint = hint(&name, names.iter().copied());
            self.error(node.at, Problem::UnknownName { what: what.to_owned(), name, hint })
        })
    }
}
