//! What can be wrong with a document, and where.

use std::fmt;

/// Why a document cannot be used: one line that points at the file, line and column.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{position}: {problem}{}", point.as_ref().map_or_else(String::new, |point| format!(" (at {point})")))]
pub struct DocumentError {
    /// Where.
    pub position: Box<SourcePosition>,
    /// What.
    pub problem: Box<Problem>,
    /// At which point of the sweep, if there is one.
    pub point: Option<String>,
}

/// A position in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePosition {
    /// The file, as it was named by the caller.
    pub file: String,
    /// Counted from one; zero for what does not stand in a file.
    pub line: usize,
    /// In characters, counted from one.
    pub column: usize,
    /// Of errors: the field or the table that stands there, by its path as in a sweep; empty if
    /// there is none.
    pub path: String,
}

impl SourcePosition {
    /// The position of the byte at `offset` of `source`.
    pub(crate) fn of(file: &str, source: &str, offset: usize) -> SourcePosition {
        let mut offset = offset.min(source.len());
        while !source.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &source[..offset];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        SourcePosition {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            path: String::new(),
        }
    }
}

impl fmt::Display for SourcePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            return f.write_str(&self.file);
        }
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The text is not TOML.
    #[error("not valid TOML: {0}")]
    Syntax(String),
    /// A table has a key that means nothing there.
    #[error("unknown key `{key}` in {table} ({hint})")]
    UnknownKey {
        /// The key.
        key: String,
        /// The table.
        table: String,
        /// The nearest known key, or all of them.
        hint: String,
    },
    /// A table lacks a key that it must have.
    #[error("{table} has no `{key}` (expected {expected})")]
    Missing {
        /// The key.
        key: String,
        /// The table.
        table: String,
        /// What the key would say.
        expected: String,
    },
    /// A value is of another type than can be used there.
    #[error("found {found}, expected {expected}")]
    Type {
        /// What stands there.
        found: String,
        /// What could stand there.
        expected: String,
    },
    /// A value is of the right type but cannot be used.
    #[error("{0}")]
    Value(String),
    /// A name that nothing in this file has.
    #[error("no {what} is called `{name}` ({hint})")]
    UnknownName {
        /// What was looked for.
        what: String,
        /// The name.
        name: String,
        /// The nearest known name, or all of them.
        hint: String,
    },
    /// The network does not hold together.
    #[error("{0}")]
    Network(String),
    /// A sweep cannot be expanded.
    #[error("sweep: {0}")]
    Sweep(String),
    /// A file that the scenario names cannot be read.
    #[error("cannot read `{path}`: {why}")]
    File {
        /// The file.
        path: String,
        /// Why not.
        why: String,
    },
}

/// "did you mean …?" where a known name is near, all known names where none is.
pub fn hint<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let distance = |candidate: &&&str| strsim::damerau_levenshtein(name, candidate);
    let nearest = known.iter().min_by_key(distance);
    match nearest {
        None => "there is none".to_owned(),
        Some(near) if distance(&near) <= 1 + name.len() / 3 => format!("did you mean `{near}`?"),
        Some(_) => format!("there are {}", known.join(", ")),
    }
}
