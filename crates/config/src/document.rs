//! A TOML document as an ordered tree that knows where each value stands.
//!
//! A sweep replaces values in this tree, and every point of it is read anew from the tree, so that
//! a swept value is checked by the same code, and complained about at the sweep's line. The tree
//! is written back as the canonical text of a point.

use crate::error::{DocumentError, Problem, SourcePosition};
use std::fmt::Write;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and the byte offset in the source at which it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Its byte offset; beyond the source's end where it comes from outside the file.
    pub at: usize,
}

/// A TOML value. Dates have no use here.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A text in quotes.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// Another number.
    Float(f64),
    /// True or false.
    Switch(bool),
    /// Values in square brackets.
    List(Vec<Node>),
    /// Keys with their values.
    Table(Table),
}

/// Keys and values in the order of the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Each key once.
    pub entries: Vec<Entry>,
}

/// A key with where it stands, and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The key's byte offset.
    pub key_at: usize,
    /// The key's value.
    pub node: Node,
}

impl Table {
    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// The value of `key`, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
    }

    /// All keys, in the order of the file.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.key.as_str())
    }

    /// Puts `node` at `key`, which stands at `key_at` if it is new.
    pub fn set(&mut self, key: &str, key_at: usize, node: Node) {
        match self.get_mut(key) {
            Some(old) => *old = node,
            None => {
                self.entries.push(Entry { key: key.to_owned(), key_at, node });
            }
        }
    }

    /// The path of what stands at `at`, key or value: the innermost.
    pub(crate) fn path_at(&self, at: usize) -> Option<String> {
        self.entries.iter().find_map(|entry| {
            let inside = |node: &Node| match &node.value {
                Value::Table(table) => table.path_at(at),
                _ => None,
            };
            let inner = match &entry.node.value {
                Value::List(tables) => tables.iter().find_map(inside),
                _ => inside(&entry.node),
            };
            let here = entry.key_at == at || entry.node.is_or_has(at);
            match inner {
                Some(inner) => Some(format!("{}.{inner}", entry.key)),
                None => here.then(|| entry.key.clone()),
            }
        })
    }

    /// Takes `key` out, and gives its value.
    pub fn remove(&mut self, key: &str) -> Option<Node> {
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(at).node)
    }
}

impl Value {
    /// Its text in TOML, on one line.
    pub(crate) fn inline(&self) -> String {
        match self {
            Value::Text(text) => quoted(text),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => format!("{number:?}"),
            Value::Switch(on) => on.to_string(),
            Value::List(list) => {
                format!("[{}]", list.iter().map(Node::inline).collect::<Vec<_>>().join(", "))
            }
            Value::Table(table) => {
                let pairs = table.entries.iter();
                let pairs = pairs.map(|e| format!("{} = {}", bare(&e.key), e.node.inline()));
                format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// The same, a text without quotes.
    pub(crate) fn label(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            _ => self.inline(),
        }
    }
}

impl Node {
    /// Whether it stands at `at`, or an item of it if it is a list.
    fn is_or_has(&self, at: usize) -> bool {
        let items = if let Value::List(items) = &self.value { items.as_slice() } else { &[] };
        self.at == at || items.iter().any(|item| item.is_or_has(at))
    }

    /// What it is, for messages.
    pub(crate) fn found(&self) -> String {
        match &self.value {
            Value::Text(text) => format!("the text \"{text}\""),
            Value::Integer(number) => format!("the number {number}"),
            Value::Float(number) => format!("the number {number}"),
            Value::Switch(on) => format!("{on}"),
            Value::List(_) => "a list".to_owned(),
            Value::Table(_) => "a table".to_owned(),
        }
    }

    /// A single value as the text that the core reads; None for a list or a table.
    pub fn scalar(&self) -> Option<String> {
        match &self.value {
            Value::Text(text) => Some(text.clone()),
            Value::Switch(true) => Some("on".to_owned()),
            Value::Switch(false) => Some("off".to_owned()),
            Value::Integer(number) => Some(number.to_string()),
            Value::Float(number) => Some(number.to_string()),
            Value::List(_) | Value::Table(_) => None,
        }
    }

    /// Its text in TOML, on one line.
    pub(crate) fn inline(&self) -> String {
        self.value.inline()
    }

    /// The same, as if it and all in it stood at `at`.
    pub(crate) fn moved(mut self, at: usize) -> Node {
        self.at = at;
        self.value = match self.value {
            Value::List(list) => Value::List(list.into_iter().map(|node| node.moved(at)).collect()),
            Value::Table(table) => {
                let entries = table.entries.into_iter();
                let moved = |e: Entry| Entry { key_at: at, node: e.node.moved(at), ..e };
                Value::Table(Table { entries: entries.map(moved).collect() })
            }
            plain => plain,
        };
        self
    }

    /// Its text in TOML on one line, a text without quotes: for labels.
    pub fn label(&self) -> String {
        self.value.label()
    }
}

/// Reads `source`, which stands in `file` (for messages).
///
/// # Errors
/// It is not TOML, or has a date or a number that cannot be represented.
pub fn parse(file: &str, source: &str) -> Result<Table, DocumentError> {
    let error = |at: usize, message: &str| DocumentError {
        position: Box::new(SourcePosition::of(file, source, at)),
        problem: Box::new(Problem::Syntax(message.replace('\n', ", "))),
        point: None,
    };
    let document = DeTable::parse(source)
        .map_err(|found| error(found.span().map_or(0, |span| span.start), found.message()))?;
    table(document.get_ref()).map_err(|(at, message)| error(at, message))
}

fn table(from: &DeTable<'_>) -> Result<Table, (usize, &'static str)> {
    let mut entries = Vec::with_capacity(from.len());
    for (key, value) in from.iter() {
        let key_at = key.span().start;
        entries.push(Entry { key: key.get_ref().to_string(), key_at, node: node(value)? });
    }
    // The parser's map is sorted by key; a file's order is its author's.
    entries.sort_by_key(|entry| entry.key_at);
    Ok(Table { entries })
}

fn node(from: &Spanned<DeValue<'_>>) -> Result<Node, (usize, &'static str)> {
    let at = from.span().start;
    let value = match from.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(integer) => Value::Integer(
            i64::from_str_radix(integer.as_str(), integer.radix())
                .map_err(|_| (at, "the number is too large"))?,
        ),
        DeValue::Float(float) => Value::Float(
            float.as_str().parse().map_err(|_| (at, "the number cannot be represented"))?,
        ),
        DeValue::Boolean(on) => Value::Switch(*on),
        DeValue::Datetime(_) => return Err((at, "dates have no use here")),
        DeValue::Array(list) => Value::List(list.iter().map(node).collect::<Result<_, _>>()?),
        DeValue::Table(inner) => Value::Table(table(inner)?),
    };
    Ok(Node { value, at })
}

/// The value that `text` is in TOML, standing at `at`; a text where it is none, so that texts may
/// go without quotes.
pub fn loose(text: &str, at: usize) -> Node {
    let plain = || Node { value: Value::Text(text.to_owned()), at };
    let Ok(mut table) = parse("", &format!("v = {text}")) else { return plain() };
    match (table.entries.len(), table.remove("v")) {
        (1, Some(node)) => node.moved(at),
        _ => plain(),
    }
}

/// Writes `table` as TOML: its own values first, then its tables, each in the given order.
pub fn write(table: &Table) -> String {
    let mut text = String::new();
    section(&mut text, "", table);
    text
}

fn section(text: &mut String, path: &str, table: &Table) {
    for entry in &table.entries {
        if !matches!(entry.node.value, Value::Table(_)) {
            let _ = writeln!(text, "{} = {}", bare(&entry.key), entry.node.inline());
        }
    }
    for entry in &table.entries {
        let Value::Table(inner) = &entry.node.value else { continue };
        let dot = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{dot}{}", bare(&entry.key));
        let _ = writeln!(text, "[{path}]");
        section(text, &path, inner);
    }
}

fn bare(key: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !key.is_empty() && key.bytes().all(is_bare) { key.to_owned() } else { quoted(key) }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            char if char.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(char));
            }
            char => out.push(char),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let source =
            "b = 1\na = \"x\\\"y\\n\"\n[z.\"odd key\"]\nf = 1.0\ng = [1, {h = true}]\n[y]\n";
        let read = parse("f", source).unwrap();
        assert_eq!(read.keys().collect::<Vec<_>>(), ["b", "a", "z", "y"]);
        let written = write(&read);
        assert_eq!(write(&parse("f", &written).unwrap()), written);
        assert!(written.contains("[z.\"odd key\"]\nf = 1.0\ng = [1, { h = true }]"), "{written}");
    }

    #[test]
    fn broken_toml_is_placed() {
        let error = parse("f.toml", "a = 1\nb = = 2\n").unwrap_err().to_string();
        assert!(error.starts_with("f.toml:2:5: not valid TOML"), "{error}");
        let error = parse("f.toml", "a = 1979-05-27\n").unwrap_err().to_string();
        assert!(error.starts_with("f.toml:1:5: "), "{error}");
    }
}
