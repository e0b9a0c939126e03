//! References between the parts of a scenario: names in the file, indices in the model.

use bentpipe_config::document::Node;
use bentpipe_config::reader::{Context, FromNode, Result};
use bentpipe_config::{Problem, hint};

/// Which of a scenario's nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIndex(pub usize);

/// Which of a scenario's links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkIndex(pub usize);

/// The names that there are.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) nodes: Vec<String>,
    pub(crate) links: Vec<String>,
    pub(crate) flows: Vec<String>,
}

impl Names {
    pub(crate) fn node(&self, context: &Context<'_>, node: &Node) -> Result<NodeIndex> {
        index(context, node, "host, router or gateway", &self.nodes).map(NodeIndex)
    }

    pub(crate) fn link(&self, context: &Context<'_>, node: &Node) -> Result<LinkIndex> {
        index(context, node, "link", &self.links).map(LinkIndex)
    }

    pub(crate) fn flow(&self, context: &Context<'_>, node: &Node) -> Result<usize> {
        index(context, node, "flow", &self.flows)
    }
}

fn index(context: &Context<'_>, node: &Node, what: &str, known: &[String]) -> Result<usize> {
    let name = String::from_node(context, node)?;
    known.iter().position(|known| *known == name).ok_or_else(|| {
        let hint = hint(&name, known.iter().map(String::as_str));
        context.error(node.at, Problem::UnknownName { what: what.to_owned(), name, hint })
    })
}
