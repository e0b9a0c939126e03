//! Flows: who sends what to whom, when, and with which TCP.

use crate::names::NodeIndex;
use crate::node::{Node, NodeKind};
use crate::workload::{self, Workload};
use bentpipe_config::TcpLayer;
use bentpipe_config::reader::{Reader, Result, Section, field, one_of};
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::time::Duration;
use bentpipe_links::RandomTime;

/// A flow, or several of the same kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// Its name in the file.
    pub name: String,
    /// The end that data come from.
    pub from: NodeIndex,
    /// The end that data go to.
    pub to: NodeIndex,
    /// What it carries.
    pub workload: Workload,
    /// When it begins: drawn for each of the `count`, each from a stream of its own.
    pub start: RandomTime,
    /// When it ends at the latest, if before the run.
    pub stop: Option<Duration>,
    /// How many of them.
    pub count: u32,
    /// TCP at `from`.
    pub tcp_from: ConnectionConfig,
    /// TCP at `to`.
    pub tcp_to: ConnectionConfig,
    /// It is there for the others: it does not count for stopping rules, nor for fairness, nor for
    /// `until = "flows-done"`.
    pub background: bool,
}

impl Flow {
    /// The names of the single flows: the flow's own, or with `.1`, `.2` and so on behind it where
    /// there are several.
    pub fn instances(&self) -> impl Iterator<Item = String> + '_ {
        (1..=self.count).map(|number| match self.count {
            1 => self.name.clone(),
            _ => format!("{}.{number}", self.name),
        })
    }
}

pub(crate) const FLOW: Section = Section {
    path: "flow.NAME",
    about: "A flow between two hosts. `workload` says what it carries, and which further keys \
            there are.",
    fields: &[
        field("from", "a host's name", "", "the end that data come from: the server"),
        field("to", "a host's name", "", "the end that data go to: the client"),
        one_of::<workload::WorkloadKind>("workload", "`bulk`", "what it carries"),
        field("start", "a random time", "0s", "when it begins"),
        field("stop", "a time", "", "when it ends at the latest"),
        field(
            "count",
            "1 to 100000",
            "1",
            "so many of the same kind, each with its own random numbers",
        ),
        field("tcp", "TCP settings", "those of the hosts", "at both ends"),
        field("tcp-from", "TCP settings", "", "at `from` only, over `tcp`"),
        field("tcp-to", "TCP settings", "", "at `to` only, over `tcp`"),
        field(
            "background",
            "true or false",
            "true for `web`, `poisson`, `udp`, `ping`",
            "whether it is there for the others only: it does not count for stopping rules and fairness, and `until = \"flows-done\"` does not wait for it",
        ),
    ],
    example: "[flow.main]\nfrom = \"server\"\nto = \"client\"\nbytes = \"10MB\"\nstart = { uniform = [\"0s\", \"5s\"] }\ntcp = { recovery = \"newreno\" }",
};

/// The nodes around a flow, found before its workload is read.
pub(crate) struct FlowContext<'a> {
    pub(crate) nodes: &'a [Node],
    pub(crate) around: workload::Around<'a>,
}

impl Flow {
    pub(crate) fn read(
        reader: &Reader<'_>,
        name: &str,
        kind: workload::WorkloadKind,
        context: &FlowContext<'_>,
        below: ConnectionConfig,
    ) -> Result<Flow> {
        let workload::Around { from, to, .. } = context.around;
        let workload = Workload::read(reader, kind, &context.around)?;
        let both: TcpLayer = reader.or("tcp", TcpLayer::default())?;
        let tcp = |end: NodeIndex, key: &str| -> Result<ConnectionConfig> {
            // Pings reach routers and gateways, which have no TCP of their own.
            let own = match &context.nodes[end.0].kind {
                NodeKind::Host { tcp, .. } => **tcp,
                NodeKind::Router(_) | NodeKind::Gateway(_) => below,
            };
            let layer: TcpLayer = reader.or(key, TcpLayer::default())?;
            Ok(layer.over(both.over(own)))
        };
        let stop = reader.maybe("stop")?;
        Ok(Flow {
            name: name.to_owned(),
            from,
            to,
            start: reader.or("start", RandomTime::ZERO)?,
            stop,
            count: reader.within("count", 1, 1..=100_000)?,
            tcp_from: tcp(from, "tcp-from")?,
            tcp_to: tcp(to, "tcp-to")?,
            background: reader.or("background", workload.is_background())?,
            workload,
        })
    }
}
