//! Flows that results have figures of together.

use crate::names::Names;
use bentpipe_config::document::{Node, Value};
use bentpipe_config::reader::{Reader, Result, Section, field};

/// Flows with a common name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its name in the file.
    pub name: String,
    /// Which flows, by index; of one with a `count`, all.
    pub flows: Vec<usize>,
}

pub(crate) const GROUP: Section = Section {
    path: "group.NAME",
    about: "Flows whose sums, means and spread are in the results (`groups`, `summary-groups`). A flow may be in \
            several groups, or in none.",
    fields: &[field(
        "flows",
        "a flow's name, or a list",
        "",
        "which; of one with a `count`, all of them",
    )],
    example: "[group.far]\nflows = [\"main\"]",
};

impl Group {
    pub(crate) fn read(reader: &Reader<'_>, name: &str, names: &Names) -> Result<Group> {
        let node = reader.need_node("flows")?;
        let flow = |node: &Node| names.flow(reader.context, node);
        let mut flows = match &node.value {
            Value::List(list) => list.iter().map(flow).collect::<Result<Vec<_>>>()?,
            _ => vec![flow(node)?],
        };
        flows.sort_unstable();
        flows.dedup();
        if flows.is_empty() {
            return Err(reader.bad("flows", "a group without flows has no figures"));
        }
        Ok(Group { name: name.to_owned(), flows })
    }
}
