//! Sweeps: fields that take several values, crossed, or in step where they are zipped.

use crate::range::range;
use bentpipe_config::document::{Node, Table, Value};
use bentpipe_config::reader::{Context, FromNode, Result, Section, field};
use bentpipe_config::{Problem, hint};

pub(crate) const SWEEP: Section = Section {
    path: "sweep",
    about: "Each key is the path of a field, in quotes, such as `\"link.sat.queue\"` or \
            `\"flow.main.tcp.recovery\"`; its value is a list of values or a range. Several keys \
            are crossed, the last one changing fastest. A path may lead into what is written as a \
            text: `link.sat.queue.limit`, `host.a.tcp.iw`.",
    fields: &[field(
        "zip",
        "a list of lists of paths",
        "",
        "paths that change in step instead of being crossed; their lists are equally long",
    )],
    example: "[sweep]\n\"link.sat.queue\" = [\"6packets\", \"20packets\", \"60packets\"]\n\"flow.main.tcp.recovery\" = [\"reno\", \"sack\"]\n\"link.sat.delay\" = { from = \"10ms\", to = \"300ms\", steps = 3 }\nzip = [[\"link.sat.delay\", \"link.sat.queue\"]]",
};

const MAX: usize = 1_000_000;

/// A swept field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    pub(crate) path: String,
    pub(crate) path_at: usize,
    pub(crate) values: Vec<Node>,
}

/// Axes that are crossed; those of one group change in step.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Sweep {
    pub(crate) groups: Vec<Vec<Axis>>,
}

impl Sweep {
    /// Reads the table `sweep` of a document.
    pub(crate) fn read(context: &Context<'_>, node: &Node) -> Result<Sweep> {
        let Value::Table(table) = &node.value else {
            return Err(context.type_error(node, "a table of paths"));
        };
        let mut axes = Vec::new();
        for entry in table.entries.iter().filter(|entry| entry.key != "zip") {
            let values = values(context, &entry.node)?;
            axes.push(Axis { path: entry.key.clone(), path_at: entry.key_at, values });
        }
        let mut sweep = Sweep { groups: axes.into_iter().map(|axis| vec![axis]).collect() };
        if let Some(zip) = table.get("zip") {
            sweep.zip(context, zip)?;
        }
        let count = sweep.groups.iter().try_fold(1_usize, |count, group| {
            count.checked_mul(group[0].values.len()).filter(|count| *count <= MAX)
        });
        match count {
            Some(_) => Ok(sweep),
            None => Err(error(context, node.at, format!("more than {MAX} points"))),
        }
    }

    /// Puts the axes that `zip` names together.
    fn zip(&mut self, context: &Context<'_>, zip: &Node) -> Result<()> {
        let Value::List(groups) = &zip.value else {
            return Err(context.type_error(zip, "a list of lists of paths"));
        };
        for group in groups {
            let Value::List(paths) = &group.value else {
                return Err(context.type_error(group, "a list of paths"));
            };
            let mut into: Option<usize> = None;
            for node in paths {
                let path = String::from_node(context, node)?;
                let found = self.groups.iter().position(|g| g.len() == 1 && g[0].path == path);
                let Some(found) = found else {
                    let known = self.groups.iter().flatten().map(|axis| axis.path.as_str());
                    let why = format!("`{path}` is not swept alone ({})", hint(&path, known));
                    return Err(error(context, node.at, why));
                };
                match into {
                    None => into = Some(found),
                    Some(first) => {
                        let axis = self.groups.remove(found).remove(0);
                        // Taking one out moves those behind it.
                        let first = if found < first { first - 1 } else { first };
                        into = Some(first);
                        let wanted = self.groups[first][0].values.len();
                        if axis.values.len() != wanted {
                            let found = axis.values.len();
                            let why = format!("`{path}` has {found} values, its group {wanted}");
                            return Err(error(context, node.at, why));
                        }
                        self.groups[first].push(axis);
                    }
                }
            }
        }
        Ok(())
    }

    /// How many points there are.
    pub(crate) fn len(&self) -> usize {
        self.groups.iter().map(|group| group[0].values.len()).product()
    }

    /// The axes and values of point `index`.
    pub(crate) fn point(&self, index: usize) -> Vec<(&Axis, &Node)> {
        let mut rest = index;
        let mut chosen = Vec::new();
        for group in self.groups.iter().rev() {
            let count = group[0].values.len();
            let at = rest % count;
            rest /= count;
            chosen.push(group.iter().map(|axis| (axis, &axis.values[at])).collect::<Vec<_>>());
        }
        chosen.into_iter().rev().flatten().collect()
    }

    /// `delay=10ms, recovery=sack`: the values of point `index`, each behind its path's last part,
    /// or behind all of it where two paths end alike.
    pub(crate) fn label(&self, index: usize) -> String {
        fn last(path: &str) -> &str {
            path.rsplit('.').next().unwrap_or(path)
        }
        let paths: Vec<&str> =
            self.groups.iter().flatten().map(|axis| axis.path.as_str()).collect();
        let name = |path: &str| {
            let alike = paths.iter().filter(|other| last(other) == last(path)).count();
            if alike > 1 { path.to_owned() } else { last(path).to_owned() }
        };
        let pairs = self.point(index).into_iter();
        let pairs = pairs.map(|(axis, value)| format!("{}={}", name(&axis.path), value.label()));
        pairs.collect::<Vec<_>>().join(", ")
    }
}

fn error(context: &Context<'_>, at: usize, why: String) -> bentpipe_config::DocumentError {
    context.error(at, Problem::Sweep(why))
}

/// Tables whose inner tables are named by the file's author.
pub(crate) const NAMED: [&str; 8] =
    ["host", "router", "gateway", "link", "middlebox", "flow", "group", "fault"];

/// Keys whose value may be a text that stands for a table, and the key that the text is there.
const SHORT: [(&str, &str); 4] =
    [("tcp", "preset"), ("tcp-from", "preset"), ("tcp-to", "preset"), ("queue", "limit")];

/// Puts `value` at the axis' path in `document`.
pub(crate) fn set(
    context: &Context<'_>,
    document: &mut Table,
    axis: &Axis,
    value: &Node,
) -> Result<()> {
    let parts: Vec<&str> = axis.path.split('.').collect();
    let at = axis.path_at;
    let bad = |why: String| error(context, at, format!("`{}`: {why}", axis.path));
    if ["sweep", "repeat", "title", "about", "figure"].contains(&parts[0]) {
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

fn values(context: &Context<'_>, node: &Node) -> Result<Vec<Node>> {
    let values = match &node.value {
        Value::List(list) => list.clone(),
        Value::Table(_) => range(context, node)?,
        _ => {
            let expected = "a list of values, or a range { from, to, steps }";
            return Err(context.type_error(node, expected));
        }
    };
    if values.is_empty() {
        return Err(error(context, node.at, "a list without values leaves no points".to_owned()));
    }
    Ok(values)
}
