//! Typed reading of tables whose keys are declared, with their documentation, in [`Section`]s.
//!
//! The declarations are at once what is accepted, what is suggested for a misspelt key, and the
//! reference in `docs/scenario-format.md`, so that none of them can lag behind.

mod values;

use crate::document::{self, Entry, Node, Table, Value};
use crate::error::{DocumentError, Problem, SourcePosition, hint};
use bentpipe_core::tcp::congestion::External;
use bentpipe_core::text::Choice;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use strum::VariantNames;

/// A key of a table, with its documentation.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The key.
    pub key: &'static str,
    values: Values,
    /// What it says.
    pub about: &'static str,
}

/// Which values a key takes, and what holds without it.
#[derive(Debug, Clone, Copy)]
enum Values {
    Written {
        takes: &'static str,
        choices: &'static [&'static str],
        default: &'static str,
    },
    /// As the key's own entry has them.
    Declared(fn() -> Declared),
}

/// The values of a key that is declared with its form and its default.
#[derive(Debug, Clone)]
pub struct Declared {
    /// The values that it takes, but for `choices`.
    pub takes: String,
    /// The names of which it takes one.
    pub choices: &'static [&'static str],
    /// The value without it.
    pub default: String,
}

impl Field {
    /// Which values it takes.
    pub fn takes(&self) -> String {
        let Declared { takes, choices, .. } = self.values();
        let choices: Vec<String> = choices.iter().map(|name| format!("`{name}`")).collect();
        format!("{takes}{}", choices.join(", "))
    }

    /// The names of which it takes one, or several: those of the type that it is read as.
    pub fn choices(&self) -> &'static [&'static str] {
        self.values().choices
    }

    /// What holds without it; empty if it must be given or simply is absent.
    pub fn default(&self) -> String {
        self.values().default
    }

    fn values(&self) -> Declared {
        match self.values {
            Values::Written { takes, choices, default } => {
                Declared { takes: takes.to_owned(), choices, default: default.to_owned() }
            }
            Values::Declared(values) => values(),
        }
    }
}

/// A kind of table, with its documentation.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// Its path, such as `link.NAME`, and its kind if there are several.
    pub path: &'static str,
    /// What it describes.
    pub about: &'static str,
    /// Its keys.
    pub fields: &'static [Field],
    /// An example.
    pub example: &'static str,
}

/// Declares a key.
pub const fn field(
    key: &'static str,
    takes: &'static str,
    default: &'static str,
    about: &'static str,
) -> Field {
    Field { key, values: Values::Written { takes, choices: &[], default }, about }
}

/// Declares a key that takes one of the values of `T` by name.
pub const fn one_of<T: VariantNames>(
    key: &'static str,
    default: &'static str,
    about: &'static str,
) -> Field {
    Field { key, values: Values::Written { takes: "", choices: T::VARIANTS, default }, about }
}

/// Declares a key that takes a list of values of `T` by name.
pub const fn some_of<T: VariantNames>(key: &'static str, about: &'static str) -> Field {
    let values = Values::Written { takes: "a list of ", choices: T::VARIANTS, default: "`[]`" };
    Field { key, values, about }
}

/// Declares a key whose values its own entry describes.
pub(crate) const fn declared(
    key: &'static str,
    values: fn() -> Declared,
    about: &'static str,
) -> Field {
    Field { key, values: Values::Declared(values), about }
}

/// What was read, or what is wrong and where.
pub type Result<T> = std::result::Result<T, DocumentError>;

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

/// A type that a value of the file can be read as.
pub trait FromNode: Sized {
    /// Reads `node`.
    ///
    /// # Errors
    /// What stands there is of another type, or cannot be used.
    fn from_node(context: &Context<'_>, node: &Node) -> Result<Self>;
}

/// A table that is being read.
#[derive(Clone)]
pub struct Reader<'a> {
    /// What is needed besides the table.
    pub context: &'a Context<'a>,
    /// The table.
    pub table: &'a Table,
    /// Its name in messages.
    pub name: String,
    /// Its byte offset.
    pub at: usize,
    sections: Vec<&'static Section>,
}

impl<'a> Reader<'a> {
    /// Begins to read `node`, which must be a table with no other keys than `sections` declare.
    ///
    /// # Errors
    /// It is no table, or has another key.
    pub fn open(
        context: &'a Context<'a>,
        node: &'a Node,
        name: &str,
        sections: &[&'static Section],
    ) -> Result<Reader<'a>> {
        let Value::Table(table) = &node.value else {
            return Err(context.type_error(node, &format!("a table of {name}")));
        };
        Reader::of_table(context, table, node.at, name, sections)
    }

    /// Begins to read `table`, which stands at `at`, as [`open`](Reader::open) does.
    ///
    /// # Errors
    /// It has another key.
    pub fn of_table(
        context: &'a Context<'a>,
        table: &'a Table,
        at: usize,
        name: &str,
        sections: &[&'static Section],
    ) -> Result<Reader<'a>> {
        let fields = || sections.iter().flat_map(|section| section.fields);
        for entry in &table.entries {
            if !fields().any(|field| field.key == entry.key) {
                let known = fields().map(|field| field.key);
                return Err(context.unknown_key(entry, name, known));
            }
        }
        Ok(Reader { context, table, name: name.to_owned(), at, sections: sections.to_vec() })
    }

    /// The value of `key` as it stands, if there is one.
    pub fn node(&self, key: &str) -> Option<&'a Node> {
        debug_assert!(self.declares(key), "`{key}` is not declared for {}", self.name);
        self.table.get(key)
    }

    fn declares(&self, key: &str) -> bool {
        self.sections.iter().any(|section| section.fields.iter().any(|field| field.key == key))
    }

    /// The value of `key`, if there is one.
    ///
    /// # Errors
    /// It cannot be read as a `T`.
    pub fn maybe<T: FromNode>(&self, key: &str) -> Result<Option<T>> {
        self.node(key).map(|node| T::from_node(self.context, node)).transpose()
    }

    /// The value of `key`, or `default`.
    ///
    /// # Errors
    /// It cannot be read as a `T`.
    pub fn or<T: FromNode>(&self, key: &str, default: T) -> Result<T> {
        Ok(self.maybe(key)?.unwrap_or(default))
    }

    /// The value of `key`.
    ///
    /// # Errors
    /// There is none, or it cannot be read as a `T`.
    pub fn need<T: FromNode>(&self, key: &str) -> Result<T> {
        T::from_node(self.context, self.need_node(key)?)
    }

    /// The value of `key` as it stands.
    ///
    /// # Errors
    /// There is none.
    pub fn need_node(&self, key: &str) -> Result<&'a Node> {
        self.node(key).ok_or_else(|| {
            let takes = self.sections.iter().flat_map(|section| section.fields);
            let takes = takes.filter(|field| field.key == key).map(Field::takes);
            let expected = takes.collect::<String>();
            let (key, table) = (key.to_owned(), self.name.clone());
            self.context.error(self.at, Problem::Missing { key, table, expected })
        })
    }

    /// A number or `default`, which must lie in `range`.
    ///
    /// # Errors
    /// It is no number, or lies outside.
    pub fn within<T>(&self, key: &str, default: T, range: RangeInclusive<T>) -> Result<T>
    where
        T: FromNode + PartialOrd + std::fmt::Display,
    {
        let read = self.maybe::<T>(key);
        let value = match read {
            Ok(None) => return Ok(default),
            Ok(Some(value)) if range.contains(&value) => return Ok(value),
            Ok(Some(value)) => value.to_string(),
            // A number that is none of the type's, such as -1.
            Err(error) => match self.maybe::<i64>(key) {
                Ok(Some(number)) => number.to_string(),
                _ => return Err(error),
            },
        };
        let (min, max) = range.into_inner();
        let why = format!("{key} = {value} is out of range (expected {min} to {max})");
        Err(self.context.value_error(self.need_node(key)?, why))
    }

    /// The value of `key` by name, if there is one.
    ///
    /// # Errors
    /// There is no such name.
    pub fn maybe_choice<T: Choice>(&self, key: &str) -> Result<Option<T>> {
        self.node(key).map(|node| self.context.choice(node, key)).transpose()
    }

    /// The value of `key` by name, or its type's default.
    ///
    /// # Errors
    /// There is no such name.
    pub fn choice<T: Choice + Default>(&self, key: &str) -> Result<T> {
        let usual = T::default();
        debug_assert!(
            self.sections
                .iter()
                .flat_map(|section| section.fields)
                .any(|field| field.key == key && field.default() == format!("`{}`", usual.name())),
            "`{key}` is declared with another default than `{}`",
            usual.name()
        );
        Ok(self.maybe_choice(key)?.unwrap_or(usual))
    }

    /// An error about the value of `key`, or about the table if there is none.
    pub fn bad(&self, key: &str, why: impl Into<String>) -> DocumentError {
        let at = self.table.get(key).map_or(self.at, |node| node.at);
        self.context.error(at, Problem::Value(why.into()))
    }
}
