//! Typed reading of tables whose keys are declared, with their documentation, in [`Section`]s.
//!
//! The declarations are at once what is accepted, what is suggested for a misspelt key, and the
//! reference in `docs/scenario-format.md`, so that none of them can lag behind.

mod values;

use crate::change::Change;
use crate::document::{self, Entry, Node, Table, Value};
use crate::error::{Place, Problem, ScenarioError, hint};
use bentpipe_core::text::{Choice, renamed};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use strum::VariantNames;

/// A key of a table, with its documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The key.
    pub key: &'static str,
    /// Which values it takes, but for `choices`.
    takes: &'static str,
    /// The names of which it takes one, or several: those of the type that it is read as.
    pub choices: &'static [&'static str],
    /// What holds without it; empty if it must be given or simply is absent.
    pub default: &'static str,
    /// What it says.
    pub about: &'static str,
}

impl Field {
    /// Which values it takes.
    pub fn takes(&self) -> String {
        let choices: Vec<String> = self.choices.iter().map(|name| format!("`{name}`")).collect();
        format!("{}{}", self.takes, choices.join(", "))
    }
}

/// A kind of table, with its documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
pub(crate) const fn field(
    key: &'static str,
    takes: &'static str,
    default: &'static str,
    about: &'static str,
) -> Field {
    Field { key, takes, choices: &[], default, about }
}

/// Declares a key that takes one of the values of `T` by name.
pub(crate) const fn one_of<T: VariantNames>(
    key: &'static str,
    default: &'static str,
    about: &'static str,
) -> Field {
    Field { key, takes: "", choices: T::VARIANTS, default, about }
}

/// Declares a key that takes a list of values of `T` by name.
pub(crate) const fn some_of<T: VariantNames>(key: &'static str, about: &'static str) -> Field {
    Field { key, takes: "a list of ", choices: T::VARIANTS, default: "`[]`", about }
}

pub(crate) type Result<T> = std::result::Result<T, ScenarioError>;

/// How a named file is read: its text, or why not.
pub type ReadFile<'a> = dyn Fn(&str) -> std::result::Result<String, String> + 'a;

/// What reading needs to know besides the tree.
pub(crate) struct Context<'a> {
    pub(crate) file: &'a str,
    pub(crate) source: &'a str,
    pub(crate) read: &'a ReadFile<'a>,
    /// Files that were read, so that each is read once.
    pub(crate) files: RefCell<BTreeMap<String, String>>,
    /// Changes from outside the file.
    pub(crate) changes: &'a [Change],
}

impl Context<'_> {
    /// Where change `index` stands: behind the file's end.
    pub(crate) fn change_at(&self, index: usize) -> usize {
        self.source.len() + 1 + index
    }

    pub(crate) fn place(&self, at: usize) -> Place {
        let change = at.checked_sub(self.source.len() + 1).and_then(|at| self.changes.get(at));
        match change {
            Some(change) => {
                let (file, path) = (format!("change {change}"), change.path().to_owned());
                Place { file, line: 0, column: 0, path }
            }
            None => Place::of(self.file, self.source, at),
        }
    }

    pub(crate) fn error(&self, at: usize, problem: Problem) -> ScenarioError {
        let mut place = self.place(at);
        if place.path.is_empty() {
            let document = document::parse(self.file, self.source);
            place.path = document.ok().and_then(|all| all.path_at(at)).unwrap_or_default();
        }
        ScenarioError { place: Box::new(place), problem: Box::new(problem), point: None }
    }

    pub(crate) fn value_error(&self, node: &Node, why: impl Into<String>) -> ScenarioError {
        self.error(node.at, Problem::Value(why.into()))
    }

    /// An error about a key that `table` does not have; it has those that are `known`.
    pub(crate) fn unknown_key<'k>(
        &self,
        entry: &Entry,
        table: &str,
        known: impl Iterator<Item = &'k str> + Clone,
    ) -> ScenarioError {
        let key = entry.key.clone();
        let problem = match renamed(&key, known.clone()) {
            Some(new) => Problem::Renamed { old: key, new: new.to_owned() },
            None => {
                let hint = hint(&key, known);
                Problem::UnknownKey { key, table: table.to_owned(), hint }
            }
        };
        self.error(entry.key_at, problem)
    }

    pub(crate) fn type_error(&self, node: &Node, expected: &str) -> ScenarioError {
        self.error(node.at, Problem::Type { found: node.found(), expected: expected.to_owned() })
    }

    /// The text of the file that `node` names.
    pub(crate) fn text_of_file(&self, node: &Node) -> Result<String> {
        let path = String::from_node(self, node)?;
        if let Some(text) = self.files.borrow().get(&path) {
            return Ok(text.clone());
        }
        let text = (self.read)(&path)
            .map_err(|why| self.error(node.at, Problem::File { path: path.clone(), why }))?;
        self.files.borrow_mut().insert(path, text.clone());
        Ok(text)
    }

    /// Which `what` the text at `node` names.
    pub(crate) fn choice<T: Choice>(&self, node: &Node, what: &str) -> Result<T> {
        let name = String::from_node(self, node)?;
        let names = || T::VARIANTS.iter().map(|value| value.name());
        T::named(&name).ok_or_else(|| {
            self.error(
                node.at,
                match renamed(&name, names()) {
                    Some(new) => Problem::Renamed { old: name, new: new.to_owned() },
                    None => {
                        let hint = hint(&name, names());
                        Problem::UnknownName { what: what.to_owned(), name, hint }
                    }
                },
            )
        })
    }

    /// The index of the one of `names` that `node` is.
    pub(crate) fn one_of(&self, node: &Node, what: &str, names: &[&str]) -> Result<usize> {
        let name = String::from_node(self, node)?;
        names.iter().position(|known| *known == name).ok_or_else(|| {
            let hint = hint(&name, names.iter().copied());
            self.error(node.at, Problem::UnknownName { what: what.to_owned(), name, hint })
        })
    }
}

/// A type that a value of the file can be read as.
pub(crate) trait FromNode: Sized {
    fn from_node(context: &Context<'_>, node: &Node) -> Result<Self>;
}

/// A table that is being read.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) table: &'a Table,
    pub(crate) name: String,
    pub(crate) at: usize,
    sections: Vec<&'static Section>,
}

impl<'a> Reader<'a> {
    /// Begins to read `node`, which must be a table with no other keys than `sections` declare.
    pub(crate) fn open(
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

    pub(crate) fn of_table(
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

    /// The value of `key` as it stands.
    pub(crate) fn node(&self, key: &str) -> Option<&'a Node> {
        debug_assert!(self.declares(key), "`{key}` is not declared for {}", self.name);
        self.table.get(key)
    }

    fn declares(&self, key: &str) -> bool {
        self.sections.iter().any(|section| section.fields.iter().any(|field| field.key == key))
    }

    pub(crate) fn maybe<T: FromNode>(&self, key: &str) -> Result<Option<T>> {
        self.node(key).map(|node| T::from_node(self.context, node)).transpose()
    }

    pub(crate) fn or<T: FromNode>(&self, key: &str, default: T) -> Result<T> {
        Ok(self.maybe(key)?.unwrap_or(default))
    }

    pub(crate) fn need<T: FromNode>(&self, key: &str) -> Result<T> {
        T::from_node(self.context, self.need_node(key)?)
    }

    pub(crate) fn need_node(&self, key: &str) -> Result<&'a Node> {
        self.node(key).ok_or_else(|| {
            let takes = self.sections.iter().flat_map(|section| section.fields);
            let takes = takes.filter(|field| field.key == key).map(Field::takes);
            let expected = takes.collect::<String>();
            let (key, table) = (key.to_owned(), self.name.clone());
            self.context.error(self.at, Problem::Missing { key, table, expected })
        })
    }

    /// A number or `default`, which must lie in `range`.
    pub(crate) fn within<T>(&self, key: &str, default: T, range: RangeInclusive<T>) -> Result<T>
    where
        T: FromNode + PartialOrd + std::fmt::Display,
    {
        let Some(value) = self.maybe::<T>(key)? else { return Ok(default) };
        if range.contains(&value) {
            return Ok(value);
        }
        let (min, max) = range.into_inner();
        let why = format!("{key} = {value} is out of range (expected {min} to {max})");
        Err(self.context.value_error(self.need_node(key)?, why))
    }

    /// The value of `key` by name, if there is one.
    pub(crate) fn maybe_choice<T: Choice>(&self, key: &str) -> Result<Option<T>> {
        self.node(key).map(|node| self.context.choice(node, key)).transpose()
    }

    /// The value of `key` by name, or its type's default.
    pub(crate) fn choice<T: Choice + Default>(&self, key: &str) -> Result<T> {
        let usual = T::default();
        debug_assert!(
            self.sections
                .iter()
                .flat_map(|section| section.fields)
                .any(|field| field.key == key && field.default == format!("`{}`", usual.name())),
            "`{key}` is declared with another default than `{}`",
            usual.name()
        );
        Ok(self.maybe_choice(key)?.unwrap_or(usual))
    }

    /// An error about the value of `key`, or about the table if there is none.
    pub(crate) fn bad(&self, key: &str, why: impl Into<String>) -> ScenarioError {
        let at = self.table.get(key).map_or(self.at, |node| node.at);
        self.context.error(at, Problem::Value(why.into()))
    }
}
