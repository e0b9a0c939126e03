//! Hosts, routers and gateways.

use crate::names::{LinkIndex, Names};
use crate::orbit::Position;
use crate::proxy::ForeignProxy;
use bentpipe_config::TcpLayer;
use bentpipe_config::document::Value;
use bentpipe_config::gateway::{self, GatewayFile, Runs};
use bentpipe_config::reader::{Reader, Result, Section, field, one_of};
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_gateway::Config as GatewayConfig;
use bentpipe_gateway::policy::{Action, Policy, Rule};

/// A node of the network.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its name in the file.
    pub name: String,
    /// Where it stands, if that matters.
    pub position: Option<Position>,
    /// What it is.
    pub kind: NodeKind,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeKind {
    /// Ends connections; forwards nothing.
    Host {
        /// Its TCP. A flow may have other settings: see [`Flow`](crate::Flow).
        tcp: Box<ConnectionConfig>,
        /// What its connections to the same peer tell each other.
        share: Sharing,
    },
    /// Forwards packets by shortest paths.
    Router(Ecmp),
    /// Splits TCP connections between its LAN side and its satellite side.
    Gateway(Box<Gateway>),
}

/// What a host's connections to the same peer tell each other (RFC 9040).
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Sharing {
    /// Nothing.
    #[default]
    Off,
    /// A new one begins with the window, the threshold and the round-trip time that the last one
    /// had at its end.
    Temporal,
    /// A new one has its part of the windows and thresholds of those that there are, which give it
    /// up, and the mean of their round-trip times.
    Ensemble,
}

/// Which of several shortest paths a router takes (equal-cost multipath, RFC 2992).
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Ecmp {
    /// That with the earlier links in the file.
    #[default]
    Off,
    /// Each flow its own, by a hash that is the same for both of its directions.
    Symmetric,
    /// Each direction of a flow its own.
    Directed,
}

/// A splitting gateway.
#[derive(Debug, Clone, PartialEq)]
pub struct Gateway {
    /// Links on the LAN side; its other links are on the satellite side.
    pub lan: Vec<LinkIndex>,
    /// The parameters of the very code that is deployed.
    pub config: GatewayConfig,
    /// The foreign program in its place; none if it only forwards.
    pub proxy: Option<ForeignProxy>,
}

pub(crate) const HOST: Section = Section {
    path: "host.NAME",
    about: "A host: connections begin and end here. It forwards nothing.",
    fields: &[
        field(
            "tcp",
            "TCP settings",
            "the scenario's `tcp`",
            "how its TCP behaves, at both ends of a connection each its own",
        ),
        one_of::<Sharing>(
            "share",
            "`off`",
            "what its connections to the same peer tell each other (RFC 9040): `temporal`: a new one begins with the congestion window, threshold and round-trip time that the last one had at its end; `ensemble`: with its part of the windows and thresholds of those that there are, which give it up",
        ),
        field("position", "such as `50.1N 8.7E`", "", "where it stands, for links with an `orbit`"),
    ],
    example: "[host.server]\ntcp = \"linux,iw=4\"",
};

pub(crate) const ROUTER: Section = Section {
    path: "router.NAME",
    about: "A router: forwards packets along the shortest path (least sum of the links' `cost`).",
    fields: &[
        one_of::<Ecmp>(
            "ecmp",
            "`off`",
            "over several shortest paths, whether each flow takes one of them by a hash of its addresses and ports: the same for both directions, or each direction its own. Paths count in the order of the file, and two routers agree on them if their links are in the same order. With `off`, all take the path with the earlier links",
        ),
        field("position", "such as `50.1N 8.7E`", "", "where it stands, for links with an `orbit`"),
    ],
    example: "[router.r1]\necmp = \"symmetric\"",
};

pub(crate) const GATEWAY: Section = Section {
    path: "gateway.NAME",
    about: "A gateway that splits TCP connections: the very code of `bentpipe gateway`. Besides these keys it has the \
            tables of `gateway.toml` (below), which go over what a file says that `config` names.",
    fields: &[
        field(
            "lan-links",
            "a link's name, or a list",
            "",
            "its links towards the near hosts; its other links are the satellite side",
        ),
        field(
            "split",
            "true or false",
            "true",
            "`false`: it only forwards, whatever else is said of it, as a router does. To compare both: \
             `\"gateway.NAME.split\" = [true, false]` in `[sweep]`",
        ),
        field(
            "super-segments",
            "true or false",
            "false",
            "`true`: its TCP hands over up to 64 KB at once, which its line cuts into packets, as a deployed gateway does; \
             `false`: packet by packet",
        ),
        field(
            "proxy",
            "a name",
            "our gateway",
            "a foreign program that splits in its place: a transparent TCP proxy such as `pepsal`, which only \
             [a testbed](testbed.md) can play. Its command is given there: `--proxy NAME=COMMAND`. To compare both, \
             `set = { \"gateway.NAME.proxy\" = \"pepsal\" }` in a `[[variant]]`",
        ),
        field(
            "proxy-tcp",
            "TCP settings",
            "the scenario's `tcp`",
            "with `proxy`: the TCP of its machine, by which the program's sockets send",
        ),
        field("position", "such as `50.1N 8.7E`", "", "where it stands, for links with an `orbit`"),
        field(
            "config",
            "a file's name",
            "",
            "the `gateway.toml` of a gateway on a host, which is simulated; found beside the scenario. What it says of interfaces, metrics and the log is left aside",
        ),
    ],
    example: "[gateway.g1]\nlan-links = \"access\"\nsatellite = { rate = \"8Mbit/s\", round-trip = \"500ms\" }",
};

impl Node {
    pub(crate) fn host(reader: &Reader<'_>, name: &str, below: ConnectionConfig) -> Result<Node> {
        let layer: TcpLayer = reader.or("tcp", TcpLayer::default())?;
        let kind =
            NodeKind::Host { tcp: Box::new(layer.over(below)), share: reader.choice("share")? };
        Ok(Node { name: name.to_owned(), position: reader.maybe("position")?, kind })
    }

    pub(crate) fn router(reader: &Reader<'_>, name: &str) -> Result<Node> {
        let ecmp = reader.choice("ecmp")?;
        let (name, position) = (name.to_owned(), reader.maybe("position")?);
        Ok(Node { name, position, kind: NodeKind::Router(ecmp) })
    }

    pub(crate) fn gateway(
        reader: &Reader<'_>,
        name: &str,
        names: &Names,
        below: ConnectionConfig,
    ) -> Result<Node> {
        let context = reader.context;
        let lan = reader.need_node("lan-links")?;
        let lan = match &lan.value {
            Value::List(list) => {
                list.iter().map(|link| names.link(context, link)).collect::<Result<Vec<_>>>()?
            }
            _ => vec![names.link(context, lan)?],
        };
        let mut config = match reader.node("config") {
            None => GatewayConfig::default(),
            Some(node) => {
                let text = context.text_of_file(node)?;
                GatewayFile::simulated(&node.label(), &text)?
            }
        };
        gateway::read(reader, &mut config, Runs::Simulated)?;
        let mut proxy = ForeignProxy::read(reader, below)?;
        if !reader.or("split", true)? {
            let rules = vec![Rule { action: Action::Forward, ..Rule::default() }];
            config.policy = Policy { rules, ..Policy::default() };
            proxy = None;
        }
        config.super_segments = reader.or("super-segments", false)?;
        let position = reader.maybe("position")?;
        let kind = NodeKind::Gateway(Box::new(Gateway { lan, config, proxy }));
        Ok(Node { name: name.to_owned(), position, kind })
    }
}
