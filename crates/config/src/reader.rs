//! Typed reading of tables whose keys are declared, with their documentation, in [`Section`]s.
//!
//! The declarations are at once what is accepted, what is suggested for a misspelt key, and the
//! reference in `docs/scenario-format.md`, so that none of them can lag behind.

mod context;
mod values;

pub use context::{Context, OutsidePlaces, ReadFile};

use crate::document::{Node, Table, Value};
use crate::error::{DocumentError, Problem};
use bentpipe_core::text::Choice;
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
