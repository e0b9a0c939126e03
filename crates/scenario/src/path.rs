//! Paths such as `link.sat.delay`: a value put where a path leads.

use bentpipe_config::document::{Node, Table, Value};
use bentpipe_config::reader::{Context, Result};
use bentpipe_config::{Problem, hint};

/// Tables whose inner tables are named by the file's author.
pub(crate) const NAMED: [&str; 8] =
    ["host", "router", "gateway", "link", "middlebox", "flow", "group", "fault"];

/// Keys whose value may be a text that stands for a table, and the key that the text is there.
const SHORT: [(&str, &str); 4] =
    [("tcp", "preset"), ("tcp-from", "preset"), ("tcp-to", "preset"), ("queue", "limit")];

/// Puts `value` in `document` at `path`, which stands at `at`.
pub(crate) fn set(
    context: &Context<'_>,
    document: &mut Table,
    path: &str,
    at: usize,
    value: &Node,
) -> Result<()> {
    let parts: Vec<&str> = path.split('.').collect();
    let bad = |why: String| context.error(at, Problem::Sweep(format!("`{path}`: {why}")));
    if ["sweep", "repeat", "title", "about", "figure", "variant"].contains(&parts[0]) {
        return Err(bad(format!("`{}` cannot be swept", parts[0])));
    }
    if parts.iter().any(|part| part.is_empty()) {
        return Err(bad("expected a path such as `link.sat.delay`".to_owned()));
    }
    let mut table = document;
    for (depth, part) in parts[..parts.len() - 1].iter().enumerate() {
        let named = depth == 1 && NAMED.contains(&parts[0]);
        if table.get(part).is_none() {
            // Fields may be swept that the file does not mention, but nothing is made up.
            if named || (depth == 0 && NAMED.contains(part)) {
                let why = hint(part, table.keys());
                return Err(bad(format!("there is no `{}` ({why})", parts[..=depth].join("."))));
            }
            table.set(part, at, Node { value: Value::Table(Table::default()), at });
        }
        let node = table.get_mut(part).expect("it is there, or was just put there");
        let short = SHORT.iter().find(|(key, _)| key == part);
        if let (Some((_, key)), Value::Text(_)) = (short, &node.value) {
            let mut inner = Table::default();
            inner.set(key, at, node.clone());
            node.value = Value::Table(inner);
        }
        match &mut node.value {
            Value::Table(inner) => table = inner,
            _ => {
                let why = format!("`{}` is no table", parts[..=depth].join("."));
                return Err(bad(why));
            }
        }
    }
    let last = parts[parts.len() - 1];
    if parts.len() < 2 && last != "tcp" {
        if let Some(example) = field_of(last, None) {
            return Err(bad(format!("expected a field of one of them, such as `{example}`")));
        }
        let known = document_keys();
        return Err(bad(format!(
            "expected a path such as `link.sat.delay` ({})",
            hint(last, known)
        )));
    }
    // The whole of a table that the author named must not be replaced by a value.
    if parts.len() == 2 && NAMED.contains(&parts[0]) {
        let example = field_of(parts[0], Some(last)).unwrap_or_default();
        return Err(bad(format!("expected a field of it, such as `{example}`")));
    }
    table.set(last, at, value.clone());
    Ok(())
}

/// The path of a field that may be swept, of the table `name` of this kind.
fn field_of(kind: &str, name: Option<&str>) -> Option<String> {
    let (usual, field) = match kind {
        "host" => ("server", "tcp"),
        "router" => ("r1", "ecmp"),
        "gateway" => ("g1", "split"),
        "link" => ("sat", "delay"),
        "middlebox" => ("h1", "kind"),
        "flow" => ("main", "bytes"),
        "group" => ("far", "flows"),
        "fault" => ("f1", "at"),
        _ => return None,
    };
    Some(format!("{kind}.{}.{field}", name.unwrap_or(usual)))
}

fn document_keys() -> impl Iterator<Item = &'static str> {
    crate::scenario::SCENARIO.fields.iter().map(|field| field.key)
}
