//! Changes to a scenario from outside its file: `run.duration=5s`.
//!
//! A path is that of a sweep, and a changed value is read by the same code as any other. A field
//! that is swept in the file, or set by its variants, is no longer once it is changed;
//! `sweep.run.duration=["5s", "9s"]` sweeps one. `variant=NAME` chooses one of the variants,
//! `sweep.variant=["a", "b"]` several. A change [of the base](Change::of_base) leaves the variants'
//! fields as they are.

use crate::{path, variant};
use bentpipe_config::document::{self, Node, Table, Value};
use bentpipe_config::reader::{Context, OutsidePlaces, Result};
use bentpipe_config::{DocumentError, Problem, SourcePosition};
use std::fmt;
use std::str::FromStr;

/// A field and its new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    path: String,
    value: String,
    /// Variants are set after it.
    of_base: bool,
}

impl Change {
    /// `path` takes the value `value`, written as in TOML; texts may go without quotes.
    pub fn new(path: impl Into<String>, value: impl Into<String>) -> Change {
        Change { path: path.into(), value: value.into(), of_base: false }
    }

    /// The same, before variants: one that sets a whole table has nothing of it there.
    pub fn of_base(path: impl Into<String>, value: impl Into<String>) -> Change {
        Change { of_base: true, ..Change::new(path, value) }
    }

    fn node(&self, at: usize) -> Node {
        document::loose(&self.value, at)
    }
}

/// What a change looks like is not what was given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no change (expected PATH=VALUE, such as `run.duration=5s`)")]
pub struct ChangeError(String);

impl FromStr for Change {
    type Err = ChangeError;
    fn from_str(text: &str) -> std::result::Result<Change, ChangeError> {
        match text.split_once('=') {
            Some((path, value)) if !path.trim().is_empty() && !value.trim().is_empty() => {
                Ok(Change::new(path.trim(), value.trim()))
            }
            _ => Err(ChangeError(text.to_owned())),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.path, self.value)
    }
}

/// The changes to one scenario, in their order.
pub(crate) struct Changes<'a>(pub(crate) &'a [Change]);

impl OutsidePlaces for Changes<'_> {
    fn position(&self, index: usize) -> Option<SourcePosition> {
        let change = self.0.get(index)?;
        let (file, path) = (format!("change {change}"), change.path.clone());
        Some(SourcePosition { file, line: 0, column: 0, path })
    }
}

/// Applies `changes`, whose positions `context` has, to `document`, the sweep and the repetitions
/// included.
pub(crate) fn apply(
    context: &Context<'_>,
    changes: &Changes<'_>,
    document: &mut Table,
) -> Result<()> {
    for (index, change) in changes.0.iter().enumerate() {
        let at = context.outside_at(index);
        let node = change.node(at);
        if let Some(key) = change.path.strip_prefix("repeat.") {
            set_repeat(document, key, node);
            continue;
        }
        if let Some(path) = change.path.strip_prefix("sweep.") {
            variant::overrule(document, path, at, None);
            set_sweep(document, path, node);
            continue;
        }
        if change.path == variant::KEY {
            // A name may look like a number.
            let name = Node { value: Value::Text(node.label()), at };
            set_sweep(document, variant::KEY, Node { value: Value::List(vec![name]), at });
            continue;
        }
        if let Some(Node { value: Value::Table(sweep), .. }) = document.get_mut("sweep") {
            sweep.remove(&change.path);
            unzip(sweep, &change.path);
        }
        if !change.of_base {
            variant::overrule(document, &change.path, at, Some(&node));
        }
        path::set(context, document, &change.path, at, &node).map_err(|error| {
            match *error.problem {
                Problem::Sweep(why) => {
                    DocumentError { problem: Box::new(Problem::Value(why)), ..error }
                }
                _ => error,
            }
        })?;
    }
    Ok(())
}

/// A number of runs replaces whatever rule the file has, and a rule the number.
fn set_repeat(document: &mut Table, key: &str, node: Node) {
    let at = node.at;
    if key == "runs" || document.get("repeat").is_none() {
        document.set("repeat", at, Node { value: Value::Table(Table::default()), at });
    }
    if let Some(Node { value: Value::Table(repeat), .. }) = document.get_mut("repeat") {
        if key != "runs" {
            repeat.remove("runs");
        }
        repeat.set(key, at, node);
    }
}

/// What a field is swept over, whether it was swept before or not.
fn set_sweep(document: &mut Table, path: &str, node: Node) {
    let at = node.at;
    if document.get("sweep").is_none() {
        document.set("sweep", at, Node { value: Value::Table(Table::default()), at });
    }
    if let Some(Node { value: Value::Table(sweep), .. }) = document.get_mut("sweep") {
        sweep.set(path, at, node);
    }
}

/// Takes `path` out of the lists of what is swept in step.
fn unzip(sweep: &mut Table, path: &str) {
    let Some(Node { value: Value::List(groups), .. }) = sweep.get_mut("zip") else { return };
    for group in groups {
        if let Value::List(paths) = &mut group.value {
            paths.retain(|node| !matches!(&node.value, Value::Text(text) if text == path));
        }
    }
}
