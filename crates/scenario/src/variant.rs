//! Variants: named steps of a sweep, each of which changes several fields together.
//!
//! A variant's fields are set after the swept ones. So a value may be that of another field at the
//! same point. A swept field that a variant would hide is an error.

use crate::path;
use bentpipe_config::document::{Entry, Node, Table, Value};
use bentpipe_config::reader::{Context, FromNode, Reader, Result, Section, field};
use bentpipe_config::{DocumentError, Problem, hint};

/// The key of variants: in a file, in a sweep, and as a column.
pub const KEY: &str = "variant";

pub(crate) const VARIANT: Section = Section {
    path: KEY,
    about: "A named step of the sweep, which changes several fields together: one table `[[variant]]` each. They are \
            crossed with the swept fields as the last of them, which changes fastest; `variant` in `[sweep]` chooses \
            some, in its own order and at its own place. Labels, tables and figures have the name, in the column \
            `variant`, and figures take it as a swept field.",
    fields: &[
        field("name", "a text", "", "its name, which no other variant has"),
        field(
            "set",
            "a table of paths",
            "nothing: the scenario as it is",
            "fields by their paths, in quotes and as in `[sweep]`, and their values. They are set after the swept fields. \
             `{ same-as = \"link.sat.rate\" }` is the value of another field at the same point",
        ),
    ],
    example: "[[variant]]\nname = \"end to end\"\nset = { \"gateway.g1.split\" = false }\n[[variant]]\n\
              name = \"gateway\"\n[[variant]]\nname = \"gateway, rate configured\"\n\
              set = { \"gateway.g1.satellite.rate\" = { same-as = \"link.sat.rate\" }, \"gateway.g1.satellite.round-trip\" = \"500ms\" }",
};

const SAME_AS: &str = "same-as";

/// Fields that change together, and what that is called.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Variant {
    pub(crate) name: String,
    pub(crate) name_at: usize,
    set: Vec<Entry>,
}

/// Reads the tables `[[variant]]` of a document.
pub(crate) fn read(context: &Context<'_>, node: &Node) -> Result<Vec<Variant>> {
    let expected = "tables [[variant]]";
    let Value::List(tables) = &node.value else {
        return Err(context.type_error(node, expected));
    };
    let mut variants: Vec<Variant> = Vec::new();
    for table in tables {
        let reader = Reader::open(context, table, "[[variant]]", &[&VARIANT])?;
        let name: String = reader.need("name")?;
        if name.is_empty() {
            return Err(reader.bad("name", "a variant without a name"));
        }
        if variants.iter().any(|other| other.name == name) {
            return Err(reader.bad("name", format!("there is another variant called `{name}`")));
        }
        let set = match reader.node("set") {
            None => Vec::new(),
            Some(Node { value: Value::Table(set), .. }) => set.entries.clone(),
            Some(other) => return Err(context.type_error(other, "a table of paths")),
        };
        variants.push(Variant { name, name_at: reader.need_node("name")?.at, set });
    }
    Ok(variants)
}

impl Variant {
    /// Checks that it hides none of the swept fields `paths`.
    pub(crate) fn hides_none(&self, context: &Context<'_>, paths: &[&str]) -> Result<()> {
        for entry in &self.set {
            if let Some(hidden) = paths.iter().find(|path| is_at_or_below(path, &entry.key)) {
                let why = format!("`{}`: `{hidden}` is swept, too", entry.key);
                return Err(self.error(context, entry.key_at, &why));
            }
        }
        Ok(())
    }

    /// Sets its fields in `document`, which has the point's swept values.
    pub(crate) fn apply(&self, context: &Context<'_>, document: &mut Table) -> Result<()> {
        for entry in &self.set {
            let referred = self.referred(context, document, &entry.node)?;
            let value = referred.as_ref().unwrap_or(&entry.node);
            path::set(context, document, &entry.key, entry.key_at, value).map_err(|error| {
                match &*error.problem {
                    Problem::Sweep(why) => self.error(context, entry.key_at, why),
                    _ => error,
                }
            })?;
        }
        Ok(())
    }

    /// The value of the field that `{ same-as = PATH }` names, if `node` is that.
    fn referred(
        &self,
        context: &Context<'_>,
        document: &Table,
        node: &Node,
    ) -> Result<Option<Node>> {
        let Value::Table(table) = &node.value else { return Ok(None) };
        let [Entry { key, node: named, .. }] = &table.entries[..] else { return Ok(None) };
        if key != SAME_AS {
            return Ok(None);
        }
        let path = String::from_node(context, named)?;
        let mut inside = document;
        let mut parts = path.split('.').peekable();
        while let Some(part) = parts.next() {
            match inside.get(part).map(|found| (&found.value, parts.peek())) {
                Some((Value::Table(inner), Some(_))) => inside = inner,
                Some((value, None)) => {
                    return Ok(Some(Node { value: value.clone(), at: node.at }));
                }
                _ => {
                    let hint = hint(part, inside.keys());
                    let why = format!("there is no value at `{path}` ({hint})");
                    return Err(self.error(context, named.at, &why));
                }
            }
        }
        Ok(None)
    }

    fn error(&self, context: &Context<'_>, at: usize, why: &str) -> DocumentError {
        context.error(at, Problem::Value(format!("variant `{}`: {why}", self.name)))
    }
}

/// Lets a change of `path` from outside win over all variants of `document`.
///
/// `node` is the new value; without one the field is swept from outside.
pub(crate) fn overrule(document: &mut Table, path: &str, at: usize, node: Option<&Node>) {
    let Some(Node { value: Value::List(tables), .. }) = document.get_mut(KEY) else { return };
    for table in tables {
        let Value::Table(variant) = &mut table.value else { continue };
        let Some(Node { value: Value::Table(set), .. }) = variant.get_mut("set") else { continue };
        set.entries.retain(|entry| !is_at_or_below(&entry.key, path));
        let replaced = set.keys().any(|key| is_at_or_below(path, key));
        if let (true, Some(node)) = (replaced, node) {
            set.set(path, at, node.clone());
        }
    }
}

/// Whether the field at `path` is the one at `other`, or lies in it.
fn is_at_or_below(path: &str, other: &str) -> bool {
    path.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
