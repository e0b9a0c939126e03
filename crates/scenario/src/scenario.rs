//! A whole scenario: one point of an experiment, checked.

use crate::control;
use crate::copies;
use crate::experiment::Experiment;
use crate::fault::{self, Fault, FaultKind};
use crate::flow::{self, Flow};
use crate::group::{self, Group};
use crate::link::{self, Link};
use crate::middlebox::{self, Middlebox};
use crate::names::{LinkIndex, Names, NodeIndex};
use crate::network;
use crate::node::{self, Node, NodeKind};
use crate::proxy::NotSimulated;
use crate::record::{self, SeriesRecording};
use crate::run::{self, Run};
use crate::workload;
use bentpipe_config::document::{Node as Tree, Table, Value};
use bentpipe_config::reader::{Context, Reader, Result, Section, field};
use bentpipe_config::{DocumentError, Problem, TcpLayer, gateway};
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_links::{DIRECTION, IMPAIRMENTS, Seeds};

/// One point of an experiment: a network, what happens on it, and what is recorded. Everything in
/// it has been checked: names are resolved, hosts reach each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// One line.
    pub title: String,
    /// What it shows.
    pub about: String,
    /// How long it runs, and its random seed.
    pub run: Run,
    /// Hosts, routers and gateways: in this order, each kind in the order of the file.
    pub nodes: Vec<Node>,
    /// Links.
    pub links: Vec<Link>,
    /// Middleboxes in the network.
    pub middleboxes: Vec<Middlebox>,
    /// Flows.
    pub flows: Vec<Flow>,
    /// Groups of them.
    pub groups: Vec<Group>,
    /// What breaks.
    pub faults: Vec<Fault>,
    /// Time series and captures.
    pub record: SeriesRecording,
}

impl Scenario {
    /// Reads a scenario that names no other files; of an experiment with a sweep its first point.
    ///
    /// # Errors
    /// [`DocumentError`], with the file called `scenario.toml`.
    pub fn parse(text: &str) -> std::result::Result<Scenario, DocumentError> {
        let no_files = |_: &str| Err("no files can be read here".to_owned());
        Ok(Experiment::parse("scenario.toml", text, &no_files)?.point(0).scenario)
    }

    /// A node.
    pub fn node(&self, index: NodeIndex) -> &Node {
        &self.nodes[index.0]
    }

    /// A link.
    pub fn link(&self, index: LinkIndex) -> &Link {
        &self.links[index.0]
    }

    /// At which hosts and gateways packets are captured, if they are: at those one of whose links
    /// is recorded.
    pub fn captured_nodes(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        let recorded = |node: NodeIndex| {
            let Some(links) = &self.record.links else { return true };
            links.iter().any(|link| self.link(*link).between.contains(&node))
        };
        let nodes = self.nodes.iter().enumerate();
        let with_tcp = nodes.filter(|(_, node)| !matches!(node.kind, NodeKind::Router(_)));
        with_tcp.map(|(index, _)| NodeIndex(index)).filter(move |node| recorded(*node))
    }

    /// Checks that a simulator can play every node.
    ///
    /// # Errors
    /// The first gateway that is a foreign program.
    pub fn check_simulated(&self) -> std::result::Result<(), NotSimulated> {
        let foreign = |kind: &NodeKind| match kind {
            NodeKind::Gateway(gateway) => gateway.proxy.is_some(),
            NodeKind::Host { .. } | NodeKind::Router(_) => false,
        };
        match self.nodes.iter().find(|node| foreign(&node.kind)) {
            Some(node) => Err(NotSimulated { gateway: node.name.clone() }),
            None => Ok(()),
        }
    }

    /// The seeds of run `run`, counted from zero.
    pub fn seeds(&self, run: u64) -> Seeds {
        Seeds::of_run(self.run.seed, run)
    }
}

pub(crate) const SCENARIO: Section = Section {
    path: "the file",
    about: "A scenario file is TOML. Tables under `host`, `router`, `gateway`, `link`, `middlebox`, \
            `flow`, `group` and `fault` are named by their author.",
    fields: &[
        field("title", "a text", "", "one line, over tables and charts"),
        field("about", "a text", "", "what the experiment shows"),
        field("tcp", "TCP settings", "the core's defaults", "of every host that says nothing else"),
        field("run", "a table", "", "how long, and with which random numbers"),
        field("repeat", "a table", "once", "how often"),
        field("host", "tables by name", "", "hosts"),
        field("router", "tables by name", "", "routers"),
        field("gateway", "tables by name", "", "splitting gateways"),
        field("link", "tables by name", "", "links"),
        field("middlebox", "tables by name", "", "remedies inside the network"),
        field("flow", "tables by name", "", "flows"),
        field("group", "tables by name", "", "flows that results have figures of together"),
        field("fault", "tables by name", "", "what breaks"),
        field(
            "control",
            "tables by name",
            "",
            "congestion controls in Python, by which their results are known: [Python](python.md#a-congestion-control-of-your-own) writes these tables",
        ),
        field("numbers", "a table", "", "whole numbers that texts refer to"),
        field("record", "a table", "", "time series and captures"),
        field("sweep", "a table", "", "which fields take several values"),
        field(
            "variant",
            "tables `[[variant]]`",
            "",
            "named steps of the sweep: fields that change together",
        ),
        field("figure", "tables by name", "by the sweep and `record`", "figures of the results"),
    ],
    example: "",
};

static EMPTY: Table = Table { entries: Vec::new() };

/// Reads the scenario that `document` describes, its sweep and repetitions apart.
pub(crate) fn read(context: &Context<'_>, document: &Table) -> Result<Scenario> {
    let document = &copies::expand(context, document)?;
    let top = Reader::of_table(context, document, 0, "the file", &[&SCENARIO])?;
    let run = Run::read(&Reader::open(context, top.need_node("run")?, "[run]", &[&run::RUN])?)?;
    control::check(&top)?;
    let below = top.or("tcp", TcpLayer::default())?.over(ConnectionConfig::default());
    let names = names(&top)?;
    let nodes = nodes(&top, &names, below)?;
    let around = link::Around { names: &names, nodes: &nodes, duration: run.duration };
    let links = each(&top, "link", |name, node, table| {
        let reader = Reader::open(context, node, table, &[&link::LINK, &DIRECTION, &IMPAIRMENTS])?;
        Link::read(&reader, name, &around)
    })?;
    check_gateways(&top, &nodes, &links)?;
    let parts = Parts { names: &names, nodes: &nodes, links: &links };
    let middleboxes = each(&top, "middlebox", |name, node, table| {
        middlebox(context, name, node, table, &parts, below)
    })?;
    let flows =
        each(&top, "flow", |name, node, table| flow(context, name, node, table, &parts, below))?;
    let groups = each(&top, "group", |name, node, table| {
        Group::read(&Reader::open(context, node, table, &[&group::GROUP])?, name, &names)
    })?;
    if run.end == run::RunEnd::FlowsDone && flows.iter().all(|flow| flow.background) {
        let Value::Table(table) = &top.need_node("run")?.value else { unreachable!("just read") };
        let at = table.get("until").map_or(0, |until| until.at);
        let why = "no flow but background: there is nothing to wait for".to_owned();
        return Err(context.error(at, Problem::Network(why)));
    }
    let faults = each(&top, "fault", |name, node, table| {
        let reader = Reader::open(context, node, table, &[&fault::FAULT])?;
        let fault = Fault::read(&reader, name, &names)?;
        if let FaultKind::GatewayCrash(which) = fault.kind
            && !matches!(nodes[which.0].kind, NodeKind::Gateway(_))
        {
            let why = format!("`{}` is no gateway", nodes[which.0].name);
            return Err(reader.bad("gateway", why));
        }
        Ok(fault)
    })?;
    let record = match top.node("record") {
        Some(node) => Reader::open(context, node, "[record]", &[&record::RECORD])?,
        None => Reader::of_table(context, &EMPTY, 0, "[record]", &[&record::RECORD])?,
    };
    let scenario = Scenario {
        title: top.or("title", String::new())?,
        about: top.or("about", String::new())?,
        run,
        nodes,
        links,
        middleboxes,
        flows,
        groups,
        faults,
        record: SeriesRecording::read(&record, &names)?,
    };
    if scenario.record.has_captures() && scenario.captured_nodes().next().is_none() {
        let why = "no host or gateway is at any of these links: nothing is captured";
        return Err(record.bad("links", why));
    }
    Ok(scenario)
}

/// Reads each of the tables under `kind`.
fn each<'a, T>(
    top: &Reader<'a>,
    kind: &str,
    mut read: impl FnMut(&'a str, &'a Tree, &str) -> Result<T>,
) -> Result<Vec<T>> {
    let Some(node) = top.node(kind) else { return Ok(Vec::new()) };
    let Value::Table(table) = &node.value else {
        return Err(top.context.type_error(node, &format!("tables such as [{kind}.a]")));
    };
    let entries = table.entries.iter();
    entries.map(|e| read(&e.key, &e.node, &format!("[{kind}.{}]", e.key))).collect()
}

/// All names, in the order of the model; names of nodes must differ across kinds.
fn names(top: &Reader<'_>) -> Result<Names> {
    let mut names = Names::default();
    for kind in ["host", "router", "gateway"] {
        each(top, kind, |name, node, table| {
            if names.nodes.iter().any(|known| known == name) {
                let why = format!("there is another node called `{name}`");
                return Err(top.context.value_error(node, format!("{table}: {why}")));
            }
            names.nodes.push(name.to_owned());
            Ok(())
        })?;
    }
    names.links = each(top, "link", |name, _, _| Ok(name.to_owned()))?;
    names.flows = each(top, "flow", |name, _, _| Ok(name.to_owned()))?;
    Ok(names)
}

fn nodes(top: &Reader<'_>, names: &Names, below: ConnectionConfig) -> Result<Vec<Node>> {
    let context = top.context;
    let mut nodes = each(top, "host", |name, node, table| {
        Node::host(&Reader::open(context, node, table, &[&node::HOST])?, name, below)
    })?;
    nodes.extend(each(top, "router", |name, node, table| {
        Node::router(&Reader::open(context, node, table, &[&node::ROUTER])?, name)
    })?);
    nodes.extend(each(top, "gateway", |name, node, table| {
        let sections = [&node::GATEWAY, &gateway::TABLES];
        Node::gateway(&Reader::open(context, node, table, &sections)?, name, names, below)
    })?);
    Ok(nodes)
}

/// A gateway's LAN links must end at it, and it must have others.
fn check_gateways(top: &Reader<'_>, nodes: &[Node], links: &[Link]) -> Result<()> {
    each(top, "gateway", |name, table, _| {
        let found = nodes.iter().position(|node| node.name == name).map(NodeIndex);
        let index = found.expect("every gateway is a node");
        let NodeKind::Gateway(gateway) = &nodes[index.0].kind else { return Ok(()) };
        let Value::Table(inner) = &table.value else { return Ok(()) };
        let at = inner.get("lan-links").map_or(table.at, |lan| lan.at);
        let error = |why: String| top.context.error(at, Problem::Network(why));
        for lan in &gateway.lan {
            let link = &links[lan.0];
            if !link.between.contains(&index) {
                return Err(error(format!(
                    "link `{}` does not end at gateway `{name}`",
                    link.name
                )));
            }
        }
        let satellite = links.iter().enumerate().any(|(at, link)| {
            link.between.contains(&index) && !gateway.lan.contains(&LinkIndex(at))
        });
        if satellite {
            return Ok(());
        }
        Err(error(format!("gateway `{name}` has no link on its satellite side")))
    })?;
    Ok(())
}

fn middlebox(
    context: &Context<'_>,
    name: &str,
    node: &Tree,
    table: &str,
    parts: &Parts<'_>,
    below: ConnectionConfig,
) -> Result<Middlebox> {
    let Value::Table(inner) = &node.value else {
        return Err(context.type_error(node, &format!("a table of {table}")));
    };
    let kind = inner.get("kind").map(|kind| context.choice(kind, "middlebox")).transpose()?;
    let own = kind.map_or(&middlebox::MIDDLEBOX, middlebox::Kind::section);
    let reader = Reader::open(context, node, table, &[&middlebox::MIDDLEBOX, own])?;
    let names = parts.names;
    let middlebox = Middlebox::read(&reader, name, names, below)?;
    let link = &parts.links[middlebox.link.0];
    if !link.between.contains(&middlebox.at) {
        let why = format!("link `{}` does not end at `{}`", link.name, names.nodes[middlebox.at.0]);
        return Err(context.error(reader.need_node("link")?.at, Problem::Network(why)));
    }
    Ok(middlebox)
}

/// What middleboxes and flows refer to.
struct Parts<'a> {
    names: &'a Names,
    nodes: &'a [Node],
    links: &'a [Link],
}

fn flow(
    context: &Context<'_>,
    name: &str,
    node: &Tree,
    table: &str,
    parts: &Parts<'_>,
    below: ConnectionConfig,
) -> Result<Flow> {
    let Value::Table(inner) = &node.value else {
        return Err(context.type_error(node, &format!("a table of {table}")));
    };
    let kind = match inner.get("workload") {
        Some(node) => context.choice(node, "workload")?,
        None => workload::WorkloadKind::default(),
    };
    let mut sections = vec![&flow::FLOW];
    sections.extend(kind.sections());
    let reader = Reader::open(context, node, table, &sections)?;
    let end = |key: &str| -> Result<NodeIndex> {
        let node = reader.need_node(key)?;
        let index = parts.names.node(context, node)?;
        let is_host = matches!(parts.nodes[index.0].kind, NodeKind::Host { .. });
        if is_host || kind == workload::WorkloadKind::Ping {
            return Ok(index);
        }
        let why = format!("`{}` is no host: flows begin and end at hosts", node.label());
        Err(context.error(node.at, Problem::Network(why)))
    };
    let (from, to) = (end("from")?, end("to")?);
    if from == to {
        let why = format!("a flow from `{}` to itself", parts.names.nodes[from.0]);
        return Err(context.error(reader.need_node("to")?.at, Problem::Network(why)));
    }
    let way = |from, to| network::path(parts.nodes, parts.links, from, to);
    let (Some(path), Some(_)) = (way(from, to), way(to, from)) else {
        let name = |index: NodeIndex| parts.names.nodes[index.0].as_str();
        let why = format!("no way leads from `{}` to `{}`", name(from), name(to));
        return Err(context.error(reader.need_node("to")?.at, Problem::Network(why)));
    };
    let around = workload::Around { names: parts.names, links: parts.links, from, to, path: &path };
    Flow::read(&reader, name, kind, &flow::FlowContext { nodes: parts.nodes, around }, below)
}
