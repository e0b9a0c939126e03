//! Many alike: a table whose name has `{n}` in it stands for so many, and texts may refer to
//! numbers that have a name.
//!
//! Copies are made in the tree, before anything is read of it. So each is checked like a table that
//! its author has written, and errors point at the pattern. A sweep changes the tree before that:
//! it may change a number, and with it how many copies there are.

use crate::path;
use bentpipe_config::document::{Entry, Node, Table, Value};
use bentpipe_config::hint;
use bentpipe_config::reader::{Context, Result, Section, field};
use std::collections::BTreeMap;

pub(crate) const NUMBERS: Section = Section {
    path: "numbers",
    about: "Whole numbers by names of your own, from 0 to 100000. In any text of the file, `{hops}` is the number `hops`, \
            `{hops+1}` the next one, `{10*hops}` ten times it; a text that is nothing else is a number. They can be \
            swept: `\"numbers.hops\"`.",
    fields: &[],
    example: "[numbers]\nhops = 3",
};

pub(crate) const COPIES: Section = Section {
    path: "a name with `{n}`",
    about: "A table under `host`, `router`, `gateway`, `link`, `middlebox`, `flow` or `fault` whose name has `{n}` in it stands \
            for `count` tables. In each, `{n}` is its own number, from 1 on, in its name and in all of its texts: `{n+1}` and \
            `{10*n}`, too. A value that is different in each is `{ each = … }`: a list of as many values, or a range \
            without `steps`. A sweep names the pattern: `\"link.a{n}.rate\"`. So do lists of flows and links elsewhere in the \
            file (`flows`, `links`, `lan-links`), where `\"f{n}\"` stands for all of them.",
    fields: &[
        field(
            "count",
            "1 to 100000",
            "",
            "how many; `\"{hops}\"`: as many as the number `hops` says",
        ),
        field(
            "each",
            "a list, or `{ from, to, scale }`",
            "",
            "in the place of any value: the first copy's, the second's, and so on",
        ),
    ],
    example: "[host.\"s{n}\"]\ncount = 20\n[link.\"s{n}\"]\ncount = 20\nbetween = [\"s{n}\", \"r1\"]\ndelay = { each = { from = \"10ms\", to = \"200ms\" } }\nrate = \"{10*n}Mbit/s\"",
};

/// The most copies, and the greatest number.
const MAX: i64 = 100_000;

/// Keys whose texts are not looked into.
const PROSE: [&str; 2] = ["title", "about"];

/// Keys whose values are lists of tables by name, and the kind of these.
const LISTS: [(&str, &str); 3] = [("flows", "flow"), ("links", "link"), ("lan-links", "link")];

/// `document` with all copies made and all numbers in their places.
pub(crate) fn expand(context: &Context<'_>, document: &Table) -> Result<Table> {
    let numbers = numbers(context, document)?;
    let none = BTreeMap::new();
    let before = CopyScope { context, numbers: &numbers, copies: &none, copy: None };
    let copies = before.counts(document)?;
    let file = CopyScope { copies: &copies, ..before };
    let mut expanded = Table::default();
    for entry in document.entries.iter().filter(|entry| entry.key != "numbers") {
        let node = match &entry.node.value {
            _ if PROSE.contains(&entry.key.as_str()) => entry.node.clone(),
            Value::Table(named) if path::NAMED.contains(&entry.key.as_str()) => {
                let value = Value::Table(file.copies(&entry.key, named)?);
                Node { value, at: entry.node.at }
            }
            _ => file.fill(&entry.node)?,
        };
        expanded.entries.push(Entry { node, ..entry.clone() });
    }
    Ok(expanded)
}

fn numbers(context: &Context<'_>, document: &Table) -> Result<BTreeMap<String, i64>> {
    let Some(node) = document.get("numbers") else { return Ok(BTreeMap::new()) };
    let Value::Table(table) = &node.value else {
        return Err(context.type_error(node, "a table of whole numbers"));
    };
    let mut numbers = BTreeMap::new();
    for entry in &table.entries {
        let Value::Integer(number) = entry.node.value else {
            return Err(context.type_error(&entry.node, "a whole number"));
        };
        if !(0..=MAX).contains(&number) {
            let why = format!("{} = {number} is out of range (expected 0 to {MAX})", entry.key);
            return Err(context.value_error(&entry.node, why));
        }
        if entry.key == "n" {
            let why = "`n` is the number of a copy: choose another name";
            return Err(context.value_error(&entry.node, why));
        }
        numbers.insert(entry.key.clone(), number);
    }
    Ok(numbers)
}

/// The scope of a text: the numbers, copies and copy that its names mean.
struct CopyScope<'a> {
    context: &'a Context<'a>,
    numbers: &'a BTreeMap<String, i64>,
    /// How many tables a pattern of a kind stands for.
    copies: &'a BTreeMap<(&'static str, String), i64>,
    /// The copy's number, and of how many.
    copy: Option<(i64, i64)>,
}

impl CopyScope<'_> {
    /// The tables of one kind, with those whose name is a pattern as often as they say.
    fn copies(&self, kind: &str, named: &Table) -> Result<Table> {
        let mut all = Table::default();
        for entry in &named.entries {
            let mut add = |scope: &CopyScope<'_>, node: &Node| -> Result<()> {
                let name = scope.text(&entry.key, &entry.node)?.label();
                if all.get(&name).is_some() {
                    let why = format!("there is another `{kind}.{name}`");
                    return Err(self.context.value_error(&entry.node, why));
                }
                let node = scope.fill(node)?;
                all.entries.push(Entry { key: name, key_at: entry.key_at, node });
                Ok(())
            };
            if !refers_to_n(&entry.key) {
                add(self, &entry.node)?;
                continue;
            }
            let Value::Table(table) = &entry.node.value else {
                let expected = format!("a table of [{kind}.\"{}\"]", entry.key);
                return Err(self.context.type_error(&entry.node, &expected));
            };
            let mut table = table.clone();
            let count = self.count(table.remove("count"), entry)?;
            let node = Node { value: Value::Table(table), at: entry.node.at };
            for n in 1..=count {
                add(&CopyScope { copy: Some((n, count)), ..*self }, &node)?;
            }
        }
        Ok(all)
    }

    /// How many copies there are of each pattern that lists may name.
    fn counts(&self, document: &Table) -> Result<BTreeMap<(&'static str, String), i64>> {
        let mut counts = BTreeMap::new();
        for kind in LISTS.map(|(_, kind)| kind) {
            let Some(Value::Table(named)) = document.get(kind).map(|node| &node.value) else {
                continue;
            };
            for entry in named.entries.iter().filter(|entry| refers_to_n(&entry.key)) {
                if let Value::Table(table) = &entry.node.value {
                    let count = self.count(table.get("count").cloned(), entry)?;
                    counts.insert((kind, entry.key.clone()), count);
                }
            }
        }
        Ok(counts)
    }

    /// A list of tables of one kind, in which a pattern stands for all of its copies.
    fn list(&self, kind: &'static str, node: &Node) -> Result<Node> {
        let alone = std::slice::from_ref(node);
        let items = match &node.value {
            Value::List(list) => list.as_slice(),
            _ => alone,
        };
        let mut filled = Vec::new();
        for item in items {
            let pattern = match &item.value {
                Value::Text(text) => self.copies.get(&(kind, text.clone())).map(|of| (text, *of)),
                _ => None,
            };
            let Some((text, count)) = pattern else {
                filled.push(self.fill(item)?);
                continue;
            };
            for n in 1..=count {
                let copy = CopyScope { copy: Some((n, count)), ..*self };
                filled.push(Node { value: Value::Text(copy.text(text, item)?.label()), ..*item });
            }
        }
        match node.value {
            Value::List(_) => Ok(Node { value: Value::List(filled), at: node.at }),
            _ if filled.len() == 1 => Ok(filled.remove(0)),
            _ => Ok(Node { value: Value::List(filled), at: node.at }),
        }
    }

    /// How many copies there are to be.
    fn count(&self, count: Option<Node>, entry: &Entry) -> Result<i64> {
        let Some(count) = count else {
            let why = format!("`{}` needs `count`: how many there are", entry.key);
            return Err(self.context.value_error(&entry.node, why));
        };
        let filled = self.fill(&count)?;
        match filled.value {
            Value::Integer(number) if (1..=MAX).contains(&number) => Ok(number),
            Value::Integer(number) => {
                let why = format!("count = {number} is out of range (expected 1 to {MAX})");
                Err(self.context.value_error(&count, why))
            }
            _ => Err(self
                .context
                .type_error(&filled, "a whole number, or a text such as \"{hops}\"")),
        }
    }

    /// A value with all numbers in their places.
    fn fill(&self, node: &Node) -> Result<Node> {
        let value = match &node.value {
            Value::Text(text) => return self.text(text, node),
            Value::List(list) => {
                Value::List(list.iter().map(|item| self.fill(item)).collect::<Result<_>>()?)
            }
            Value::Table(table) => match table.get("each") {
                Some(each) => return self.each(table, each),
                None => {
                    let fill = |entry: &Entry| {
                        let kind = LISTS.iter().find(|(key, _)| *key == entry.key);
                        let node = match kind.filter(|_| self.copy.is_none()) {
                            Some((_, kind)) => self.list(kind, &entry.node)?,
                            None => self.fill(&entry.node)?,
                        };
                        Ok(Entry { node, ..entry.clone() })
                    };
                    let entries = table.entries.iter().map(fill).collect::<Result<_>>()?;
                    Value::Table(Table { entries })
                }
            },
            plain => plain.clone(),
        };
        Ok(Node { value, at: node.at })
    }

    /// This copy's value of `{ each = … }`.
    fn each(&self, table: &Table, each: &Node) -> Result<Node> {
        let Some((n, count)) = self.copy else {
            let why = "`each` stands only in a table whose name has `{n}` in it";
            return Err(self.context.value_error(each, why));
        };
        if table.entries.len() > 1 {
            return Err(self.context.value_error(each, "`each` stands alone in its table"));
        }
        let many = usize::try_from(count).unwrap_or(usize::MAX);
        let values = match &each.value {
            Value::List(list) if list.len() == many => list.clone(),
            Value::List(list) => {
                let why = format!("{} values for {count} copies", list.len());
                return Err(self.context.value_error(each, why));
            }
            Value::Table(_) => crate::range::spread(self.context, each, many)?,
            _ => return Err(self.context.type_error(each, "a list, or a range { from, to }")),
        };
        let own = usize::try_from(n - 1).unwrap_or(usize::MAX);
        self.fill(&values[own])
    }

    /// A text with all numbers in their places; a number, if it is nothing else.
    fn text(&self, text: &str, node: &Node) -> Result<Node> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('{') {
            let Some((inside, behind)) = behind.split_once('}') else { break };
            let number = self.number(inside, node)?;
            if before.is_empty() && behind.is_empty() && filled.is_empty() {
                return Ok(Node { value: Value::Integer(number), at: node.at });
            }
            filled.push_str(before);
            filled.push_str(&number.to_string());
            rest = behind;
        }
        filled.push_str(rest);
        Ok(Node { value: Value::Text(filled), at: node.at })
    }

    /// What `hops`, `hops+1`, `10*hops` or `10*hops-1` is.
    fn number(&self, expression: &str, node: &Node) -> Result<i64> {
        let wrong = || {
            let why = format!(
                "`{{{expression}}}` is no number (expected something like `{{n}}`, `{{n+1}}` or `{{10*n}}`)"
            );
            self.context.value_error(node, why)
        };
        let whole = |text: &str| -> Result<i64> {
            let number = text.trim().parse().ok().filter(|number| (0..=MAX).contains(number));
            number.ok_or_else(wrong)
        };
        let sign = expression.find(['+', '-']);
        let (product, more) = match sign {
            Some(at) if expression[at..].starts_with('-') => {
                (&expression[..at], -whole(&expression[at + 1..])?)
            }
            Some(at) => (&expression[..at], whole(&expression[at + 1..])?),
            None => (expression, 0),
        };
        let (factor, name) = match product.split_once('*') {
            Some((factor, name)) => (whole(factor)?, name.trim()),
            None => (1, product.trim()),
        };
        let number = match (name, self.copy) {
            ("n", Some((n, _))) => Some(n),
            ("n", None) => {
                let why = "`{n}` stands only in a table whose name has it";
                return Err(self.context.value_error(node, why));
            }
            _ => self.numbers.get(name).copied(),
        };
        let known = self.numbers.keys().map(String::as_str);
        let number = number.ok_or_else(|| match name.chars().all(char::is_alphanumeric) {
            true => {
                let why = format!("no number is called `{name}` ({})", hint(name, known));
                self.context.value_error(node, why)
            }
            false => wrong(),
        })?;
        Ok(factor * number + more)
    }
}

/// Whether a name is a pattern.
fn refers_to_n(name: &str) -> bool {
    let insides = name.split('{').skip(1).filter_map(|part| part.split('}').next());
    insides.into_iter().any(|inside| inside.split(['+', '-', '*']).any(|part| part.trim() == "n"))
}
