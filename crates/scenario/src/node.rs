//! Hosts, routers and gateways.

use crate::document::{Node as Tree, Value};
use crate::names::{LinkIndex, Names};
use crate::orbit::Position;
use crate::reader::{Context, Reader, Result, Section, field, one_of};
use crate::tcp::TcpLayer;
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_gateway::{
    AddOptions, Config as GatewayConfig, Discard, FinMode, Handshake, LegConfig, Losses,
};

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
    },
    /// Forwards packets by shortest paths.
    Router(Ecmp),
    /// Splits TCP connections between its LAN side and its satellite side.
    Gateway(Box<Gateway>),
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
    about: "A gateway that splits TCP connections: the very code of `bentpipe gateway`.",
    fields: &[
        field(
            "lan",
            "a link's name, or a list",
            "",
            "its links towards the near hosts; its other links are the satellite side",
        ),
        field("position", "such as `50.1N 8.7E`", "", "where it stands, for links with an `orbit`"),
        field("memory", "bytes", "512MiB", "all that it holds"),
        field(
            "stream",
            "bytes",
            "by its link",
            "what each direction of a flow may hold at most; less where its bandwidth-delay product is less. Without it five times `rate` × `round-trip` of the satellite leg, at least 4MiB",
        ),
        field(
            "guaranteed",
            "bytes",
            "16KiB",
            "what each direction of a flow may hold whatever the others do",
        ),
        field("flows", "a whole number", "20000", "the most flows that it splits"),
        one_of::<AddOptions>(
            "add-options",
            "`known-peer`",
            "whether TCP options that hosts lack are added on the satellite leg",
        ),
        one_of::<Handshake>(
            "handshake",
            "`end-to-end`",
            "whether a server's SYN-ACK is acknowledged when the client has done so, or at once",
        ),
        one_of::<FinMode>(
            "fin",
            "`end-to-end`",
            "whether a FIN is acknowledged when the far host has done so, or at once",
        ),
        field("announce", "true or false", "true", "announce itself to other gateways in SYNs"),
        field(
            "fin-hold",
            "a time",
            "30s",
            "how long a FIN's acknowledgment waits for the far side's",
        ),
        field(
            "reset-drain",
            "a time",
            "60s",
            "how long acknowledged bytes may take to be delivered after a RST",
        ),
        field("satellite-leg", "a table", "", "TCP towards the satellite"),
        field("lan-leg", "a table", "", "TCP towards the near hosts"),
    ],
    example: "[gateway.g1]\nlan = \"access\"\nsatellite-leg = { rate = \"8Mbit/s\", round-trip = \"500ms\" }",
};

pub(crate) const LEG: Section = Section {
    path: "gateway.NAME.satellite-leg, gateway.NAME.lan-leg",
    about: "TCP of a gateway towards one side.",
    fields: &[
        field(
            "rate",
            "a rate",
            "unknown",
            "of the link behind it: paces every flow, and sizes the initial window together with `round-trip`",
        ),
        field(
            "return-rate",
            "a rate",
            "unknown",
            "of what comes from that link: where acknowledgments to a gateway would take more than a tenth of `rate`, they are thinned (`ack=thinned:8:200ms`) unless `tcp` has `ack`",
        ),
        field("round-trip", "a time", "unknown", "of that link"),
        field(
            "tcp",
            "TCP settings",
            "satellite `gateway-satellite`, LAN `gateway-terrestrial`",
            "recovery, congestion control, timers and all else that a leg decides itself",
        ),
        one_of::<Losses>(
            "losses",
            "`link`; with a preset or a congestion control in `tcp`, `believed`",
            "what a loss is taken for: the link's own where `rate` is given and the other end is a gateway, and elsewhere unless a queue stands; or congestion in any case",
        ),
        field("mtu", "bytes, 576 to 65535", "65535", "the largest IP packet"),
        one_of::<Discard>(
            "discard",
            "`off`",
            "whether segments from this side are discarded while what they bring has a backlog",
        ),
    ],
    example: "satellite-leg = { rate = \"8Mbit/s\", round-trip = \"500ms\", tcp = \"recovery=fack,iw=4\" }",
};

impl Node {
    pub(crate) fn host(reader: &Reader<'_>, name: &str, below: ConnectionConfig) -> Result<Node> {
        let layer: TcpLayer = reader.or("tcp", TcpLayer::default())?;
        let kind = NodeKind::Host { tcp: Box::new(layer.over(below)) };
        Ok(Node { name: name.to_owned(), position: reader.maybe("position")?, kind })
    }

    pub(crate) fn router(reader: &Reader<'_>, name: &str) -> Result<Node> {
        let ecmp = reader.choice("ecmp")?;
        let (name, position) = (name.to_owned(), reader.maybe("position")?);
        Ok(Node { name, position, kind: NodeKind::Router(ecmp) })
    }

    pub(crate) fn gateway(reader: &Reader<'_>, name: &str, names: &Names) -> Result<Node> {
        let context = reader.context;
        let lan = reader.need_node("lan")?;
        let lan = match &lan.value {
            Value::List(list) => {
                list.iter().map(|link| names.link(context, link)).collect::<Result<Vec<_>>>()?
            }
            _ => vec![names.link(context, lan)?],
        };
        let default = GatewayConfig::default();
        let config = GatewayConfig {
            memory: reader.or("memory", default.memory)?,
            max_stream: reader.maybe("stream")?,
            guaranteed: reader.or("guaranteed", default.guaranteed)?,
            max_flows: reader.or("flows", default.max_flows)?,
            add_options: reader.choice("add-options")?,
            handshake: reader.choice("handshake")?,
            fin: reader.choice("fin")?,
            announce: reader.or("announce", default.announce)?,
            fin_hold: reader.or("fin-hold", default.fin_hold)?,
            reset_drain: reader.or("reset-drain", default.reset_drain)?,
            satellite: leg(context, reader.node("satellite-leg"), default.satellite)?,
            lan: leg(context, reader.node("lan-leg"), default.lan)?,
            // Links carry packets of at most one MTU.
            super_segments: false,
            ..default
        };
        let position = reader.maybe("position")?;
        let kind = NodeKind::Gateway(Box::new(Gateway { lan, config }));
        Ok(Node { name: name.to_owned(), position, kind })
    }
}

fn leg(context: &Context<'_>, node: Option<&Tree>, default: LegConfig) -> Result<LegConfig> {
    let Some(node) = node else { return Ok(default) };
    let reader = Reader::open(context, node, "a gateway's leg", &[&LEG])?;
    let tcp: TcpLayer = reader.or("tcp", TcpLayer::default())?;
    let leg = tcp.over_leg(default).map_err(|why| reader.bad("tcp", why.to_string()))?;
    Ok(LegConfig {
        discard: reader.choice("discard")?,
        rate: reader.maybe("rate")?.or(default.rate),
        return_rate: reader.maybe("return-rate")?.or(default.return_rate),
        round_trip: reader.maybe("round-trip")?.or(default.round_trip),
        losses: reader.maybe_choice("losses")?.unwrap_or(leg.losses),
        mtu: reader.within("mtu", default.mtu, 576..=u16::MAX)?,
        ..leg
    })
}
