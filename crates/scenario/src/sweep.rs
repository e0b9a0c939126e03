//! Sweeps: fields that take several values, crossed, or in step where they are zipped.

use crate::path;
use crate::range::range;
use crate::variant::{self, Variant};
use bentpipe_config::document::{Entry, Node, Table, Value};
use bentpipe_config::reader::{Context, FromNode, Result, Section, field};
use bentpipe_config::{Problem, hint};
use std::collections::BTreeSet;

pub(crate) const SWEEP: Section = Section {
    path: "sweep",
    about: "Each key is the path of a field, in quotes, such as `\"link.sat.queue\"` or \
            `\"flow.main.tcp.recovery\"`; its value is a list of values or a range. Several keys \
            are crossed, the last one changing fastest. A path may lead into what is written as a \
            text: `link.sat.queue.limit`, `host.a.tcp.iw`.",
    fields: &[
        field(
            "zip",
            "a list of lists of paths",
            "",
            "paths that change in step instead of being crossed; their lists are equally long",
        ),
        field(
            variant::KEY,
            "a list of names",
            "all, as the last key",
            "which variants (`[[variant]]`), in which order, crossed at which place",
        ),
    ],
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
    /// What the values of the axis `variant` stand for.
    variants: Vec<Variant>,
}

impl Sweep {
    /// Reads the table `sweep` and the tables `[[variant]]` of a document, and takes them out.
    pub(crate) fn take(context: &Context<'_>, document: &mut Table) -> Result<Sweep> {
        let variants = match document.remove(variant::KEY) {
            Some(node) => variant::read(context, &node)?,
            None => Vec::new(),
        };
        let node = document.remove("sweep");
        let at = node.as_ref().map_or(0, |node| node.at);
        let table = match node {
            Some(Node { value: Value::Table(table), .. }) => table,
            Some(other) => return Err(context.type_error(&other, "a table of paths")),
            None => Table::default(),
        };
        let mut groups = Vec::new();
        for entry in table.entries.iter().filter(|entry| entry.key != "zip") {
            groups.push(vec![axis(context, entry, &variants)?]);
        }
        if table.get(variant::KEY).is_none() {
            groups.extend(all_variants(&variants).map(|axis| vec![axis]));
        }
        let mut sweep = Sweep { groups, variants };
        let paths = sweep.paths();
        for variant in &sweep.variants {
            variant.hides_none(context, &paths)?;
        }
        if let Some(zip) = table.get("zip") {
            sweep.zip(context, zip)?;
        }
        let count = sweep.groups.iter().try_fold(1_usize, |count, group| {
            count.checked_mul(group[0].values.len()).filter(|count| *count <= MAX)
        });
        match count {
            Some(_) => Ok(sweep),
            None => Err(error(context, at, format!("more than {MAX} points"))),
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

    /// The paths of the axes, in their order.
    pub(crate) fn paths(&self) -> Vec<&str> {
        self.groups.iter().flatten().map(|axis| axis.path.as_str()).collect()
    }

    /// The same by groups, of which each has those that change in step; and the number of steps.
    pub(crate) fn zipped(&self) -> Vec<(Vec<&str>, usize)> {
        let groups = self.groups.iter();
        let paths =
            groups.clone().map(|group| group.iter().map(|axis| axis.path.as_str()).collect());
        paths.zip(groups.map(|group| group[0].values.len())).collect()
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

    /// Gives `document` the values of point `index`, the variant's last.
    pub(crate) fn changed(
        &self,
        context: &Context<'_>,
        document: &Table,
        index: usize,
    ) -> Result<Table> {
        let mut document = document.clone();
        let mut chosen = None;
        for (axis, value) in self.point(index) {
            if axis.path == variant::KEY {
                chosen = self.variants.iter().find(|variant| variant.name == value.label());
                continue;
            }
            path::set(context, &mut document, &axis.path, axis.path_at, value)?;
        }
        if let Some(variant) = chosen {
            variant.apply(context, &mut document)?;
        }
        Ok(document)
    }

    /// `delay=10ms, recovery=sack`: the values of point `index`, each behind its path's last part,
    /// or behind all of it where two paths end alike. Of many zipped fields one that differs at
    /// each step stands for all.
    pub(crate) fn label(&self, index: usize) -> String {
        fn last(path: &str) -> &str {
            path.rsplit('.').next().unwrap_or(path)
        }
        let paths = self.paths();
        let name = |path: &str| {
            let alike = paths.iter().filter(|other| last(other) == last(path)).count();
            if alike > 1 { path.to_owned() } else { last(path).to_owned() }
        };
        let said: Vec<&str> = self.groups.iter().flat_map(|group| distinct(group)).collect();
        let pairs = self.point(index).into_iter();
        let pairs = pairs.filter(|(axis, _)| said.contains(&axis.path.as_str()));
        let pairs = pairs.map(|(axis, value)| format!("{}={}", name(&axis.path), value.label()));
        pairs.collect::<Vec<_>>().join(", ")
    }
}

/// The paths of a group that its labels have: of more than two one that tells its steps apart, the
/// variant's name before others.
fn distinct(group: &[Axis]) -> Vec<&str> {
    let differs = |axis: &&Axis| {
        let labels: BTreeSet<String> = axis.values.iter().map(Node::label).collect();
        labels.len() == axis.values.len()
    };
    let named = group.iter().filter(|axis| axis.path == variant::KEY);
    match named.chain(group).find(differs) {
        Some(axis) if group.len() > 2 => vec![axis.path.as_str()],
        _ => group.iter().map(|axis| axis.path.as_str()).collect(),
    }
}

fn error(context: &Context<'_>, at: usize, why: String) -> bentpipe_config::DocumentError {
    context.error(at, Problem::Sweep(why))
}

/// The axis of all variants.
fn all_variants(variants: &[Variant]) -> Option<Axis> {
    let names = variants.iter();
    let names = names.map(|v| Node { value: Value::Text(v.name.clone()), at: v.name_at });
    let path_at = variants.first()?.name_at;
    Some(Axis { path: variant::KEY.to_owned(), path_at, values: names.collect() })
}

/// The axis of those that `entry`, which stands in `[sweep]`, names.
fn chosen_variants(context: &Context<'_>, entry: &Entry, variants: &[Variant]) -> Result<Axis> {
    let Value::List(names) = &entry.node.value else {
        return Err(context.type_error(&entry.node, "a list of names of variants"));
    };
    let known: Vec<&str> = variants.iter().map(|variant| variant.name.as_str()).collect();
    for name in names {
        context.one_of(name, variant::KEY, &known)?;
    }
    if names.is_empty() {
        let why = "a list without variants leaves no points";
        return Err(context.value_error(&entry.node, why));
    }
    Ok(Axis { path: variant::KEY.to_owned(), path_at: entry.key_at, values: names.clone() })
}

/// The axis that `entry` of the table `sweep` is.
fn axis(context: &Context<'_>, entry: &Entry, variants: &[Variant]) -> Result<Axis> {
    if entry.key == variant::KEY {
        return chosen_variants(context, entry, variants);
    }
    let values = values(context, &entry.node)?;
    Ok(Axis { path: entry.key.clone(), path_at: entry.key_at, values })
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
