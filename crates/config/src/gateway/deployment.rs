//! `gateway.toml`: what a gateway on a host is told.

use super::bounds::Span;
use super::forms::{Form, Optional};
use super::key::{self, Configured, Help, Key, Reload, fields, key};
use super::quantity::within;
use super::runs::Runs;
use super::{DRAIN, LIMITS, POLICY, REJECT_QUIC, TABLES, limits, policy};
use crate::document::{self, Node, Value};
use crate::error::{DocumentError, SourcePosition};
use crate::reader::{Context, FromNode, Reader, Result, Section, field};
use bentpipe_core::time::Duration;
use bentpipe_gateway::Config;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// The kernel's longest name (`IFNAMSIZ`, which counts a zero behind it).
const MAX_NAME: usize = 15;

/// Each takes a rule of its own, which every packet is compared with.
const MAX_INTERFACES: usize = 256;

/// What is no interface of hosts: our own devices, and the loopback, through which nothing is
/// forwarded.
fn not_of_hosts(name: &str) -> Option<&'static str> {
    match name.split('-').collect::<Vec<_>>()[..] {
        ["bp", "lan" | "sat"] | ["bp", "lan" | "sat", _] => Some("a gateway's own device"),
        ["lo"] => Some("the loopback: nothing is forwarded through it"),
        _ => None,
    }
}

pub(super) const FILE: Section = Section {
    path: "gateway.toml",
    about: "What a gateway on a host has besides. A simulation looks at none of it.",
    fields: &[
        field("interfaces", "a table", "", "the interfaces of the two sides"),
        field("metrics", "a table", "", "for Prometheus, at /metrics"),
        field("log", "a table", "", "what is told while it runs"),
    ],
    example: "",
};

pub(super) const INTERFACES: Section = Section {
    path: "gateway.toml, interfaces",
    about: "The interfaces of the two sides.",
    fields: &[
        field("lan", "a list of interfaces", "", "towards the near hosts"),
        field("satellite", "a list of interfaces", "", "towards the satellite"),
    ],
    example: "",
};

pub(super) const METRICS: Section = Section {
    path: "gateway.toml, metrics",
    about: "Where metrics are to be had.",
    fields: &fields::<_, { METRICS_KEYS.len() }>(METRICS_KEYS),
    example: "",
};

pub(super) const LOG: Section = Section {
    path: "gateway.toml, log",
    about: "What is told while it runs.",
    fields: &fields::<_, { LOG_KEYS.len() }>(LOG_KEYS),
    example: "",
};

pub(super) const METRICS_KEYS: &[Key<GatewayFile>] = &[key!(GatewayFile: "listen" => metrics,
    Listen,
    "such as `127.0.0.1:9464`",
    reload: Reload::Refused,
    help: Help { value: "\"127.0.0.1:9464\"", remark: "a loopback address" },
)];

pub(super) const LOG_KEYS: &[Key<GatewayFile>] = &[key!(GatewayFile: "every" => log_every,
    // Lines of totals that keep a log readable, and come at all.
    Optional {
        form: within(Span(Duration::from_secs(1))..=Span(Duration::from_secs(24 * 3600))),
        absent: "",
    },
    "how often the log gets a line of totals",
    help: Help { value: "\"10min\"", remark: "a line of totals" },
)];

/// An interface, and where it is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Where it stands in the file.
    pub position: SourcePosition,
}

/// What a `gateway.toml` says, with the defaults for what it does not.
#[derive(Debug, Clone, PartialEq)]
pub struct GatewayFile {
    /// Those towards the LAN.
    pub lan: Vec<Interface>,
    /// Those towards the satellite.
    pub satellite: Vec<Interface>,
    /// The gateway's parameters.
    pub config: Config,
    /// How long a gateway that is stopped goes on delivering what it holds.
    pub drain: Duration,
    /// Whether UDP to port 443 is rejected.
    pub reject_quic: bool,
    /// Where Prometheus may ask for metrics.
    pub metrics: Option<SocketAddr>,
    /// How often the log gets a line of totals.
    pub log_every: Option<Duration>,
}

/// How long a GEO link takes to deliver a full stream of 4 MiB at 8 Mbit/s six times over; systemd
/// waits three times as long.
const USUAL_DRAIN: Duration = Duration::from_secs(30);

/// A file that says nothing.
impl Default for GatewayFile {
    fn default() -> GatewayFile {
        GatewayFile {
            lan: Vec::new(),
            satellite: Vec::new(),
            config: Config::default(),
            drain: USUAL_DRAIN,
            reject_quic: false,
            metrics: None,
            log_every: None,
        }
    }
}

impl Configured for GatewayFile {
    fn usual() -> GatewayFile {
        GatewayFile::default()
    }
}

impl GatewayFile {
    /// Reads `text`, which stands in `file` (for messages), for a host with so many bytes of
    /// memory.
    ///
    /// # Errors
    /// [`DocumentError`] for the first thing that is wrong.
    pub fn parse(file: &str, text: &str, memory: u64) -> std::result::Result<Self, DocumentError> {
        with_context(file, text, |context, document| {
            let top = Reader::of_table(context, document, 0, "the file", &[&FILE, &TABLES])?;
            let runs = Runs::Deployed { memory };
            let (lan, satellite) = interfaces(&top)?;
            let mut file = GatewayFile { lan, satellite, ..GatewayFile::default() };
            super::read(&top, &mut file.config, runs)?;
            let table = |key: &str, sections: &[&'static Section]| {
                let node = top.node(key);
                node.map(|node| Reader::open(context, node, &format!("[{key}]"), sections))
                    .transpose()
            };
            let tables = [
                ("policy", &[&POLICY, &REJECT_QUIC] as &[_], policy::DEPLOYED_KEYS),
                ("metrics", &[&METRICS], METRICS_KEYS),
                ("log", &[&LOG], LOG_KEYS),
                ("limits", &[&LIMITS, &DRAIN], limits::DEPLOYED_KEYS),
            ];
            for (name, sections, keys) in tables {
                if let Some(table) = table(name, sections)? {
                    key::read(keys, &table, &mut file, runs)?;
                }
            }
            Ok(file)
        })
    }

    /// The gateway's parameters alone, for a simulation: the host's interfaces and memory do not
    /// matter.
    ///
    /// # Errors
    /// [`DocumentError`] for the first thing that is wrong.
    pub fn simulated(file: &str, text: &str) -> Result<Config> {
        // As much memory as any host has.
        with_context(file, text, |context, document| {
            let top = Reader::of_table(context, document, 0, "the file", &[&FILE, &TABLES])?;
            let mut config = Config::default();
            super::read(&top, &mut config, Runs::Deployed { memory: 1 << 50 })?;
            Ok(config)
        })
    }
}

fn with_context<T>(
    file: &str,
    text: &str,
    read: impl FnOnce(&Context<'_>, &document::Table) -> Result<T>,
) -> Result<T> {
    let document = document::parse(file, text)?;
    let no_files = |_: &str| Err("no files can be read here".to_owned());
    read(&Context::new(file, text, &no_files), &document)
}

/// Both sides' interfaces, each of which is named once.
fn interfaces(top: &Reader<'_>) -> Result<(Vec<Interface>, Vec<Interface>)> {
    let node = top.need_node("interfaces")?;
    let reader = Reader::open(top.context, node, "[interfaces]", &[&INTERFACES])?;
    let mut named = BTreeMap::new();
    Ok((side(&reader, "lan", &mut named)?, side(&reader, "satellite", &mut named)?))
}

fn side(
    reader: &Reader<'_>,
    key: &str,
    named: &mut BTreeMap<String, usize>,
) -> Result<Vec<Interface>> {
    let context = reader.context;
    let node = reader.need_node(key)?;
    let Value::List(list) = &node.value else {
        return Err(context.type_error(node, "a list of interfaces in square brackets"));
    };
    if list.is_empty() {
        return Err(reader.bad(key, format!("{key}: this side has no interface")));
    }
    if list.len() > MAX_INTERFACES {
        return Err(reader.bad(key, format!("{key}: more than {MAX_INTERFACES} interfaces")));
    }
    list.iter().map(|node| interface(context, node, named)).collect()
}

fn interface(
    context: &Context<'_>,
    node: &Node,
    named: &mut BTreeMap<String, usize>,
) -> Result<Interface> {
    let name = String::from_node(context, node)?;
    let wrong = |why: String| context.value_error(node, why);
    let ordinary = |c: char| c.is_ascii_alphanumeric() || "._-@".contains(c);
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(ordinary) {
        return Err(wrong(format!(
            "`{name}` is no interface name: 1 to {MAX_NAME} letters, digits and `._-@`"
        )));
    }
    if let Some(what) = not_of_hosts(&name) {
        return Err(wrong(format!("`{name}` is {what}")));
    }
    let position = context.position(node.at);
    if let Some(line) = named.insert(name.clone(), position.line) {
        return Err(wrong(format!("`{name}` is named twice: on line {line} already")));
    }
    Ok(Interface { name, position })
}

/// An address that only this host reaches, with a port that can be known.
struct Listen;

impl Form<GatewayFile> for Listen {
    type Value = Option<SocketAddr>;

    fn takes(&self) -> String {
        "a loopback address and a port".to_owned()
    }

    fn read(
        &self,
        reader: &Reader<'_>,
        key: &str,
        _: &GatewayFile,
        _: Runs,
    ) -> Result<Option<Self::Value>> {
        let Some(text) = reader.maybe::<String>(key)? else { return Ok(None) };
        let wrong = |why: String| reader.bad(key, why);
        let address: SocketAddr = text.parse().map_err(|_| {
            let expected = "expected something like `127.0.0.1:9464`";
            wrong(format!("listen: `{text}` is no address with a port ({expected})"))
        })?;
        if !address.ip().is_loopback() {
            let why = "is not a loopback address (take 127.0.0.1 or [::1])";
            return Err(wrong(format!("listen: {address} {why}")));
        }
        if address.port() == 0 {
            return Err(wrong("listen: port 0 would be another one each time".to_owned()));
        }
        Ok(Some(Some(address)))
    }

    fn write(&self, value: &Self::Value) -> Option<Value> {
        value.map(|address| Value::Text(address.to_string()))
    }
}
