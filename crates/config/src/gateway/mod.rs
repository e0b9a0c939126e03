//! A gateway's configuration: the tables of `gateway.toml`, which are those of a scenario's
//! gateway.
//!
//! What cannot work is refused here, with the place of the key that is at fault: a gateway that is
//! ready and carries nothing would be worse than none.

mod bounds;
mod changes;
mod commented;
mod deployment;
mod example;
mod forms;
mod key;
mod leg;
mod limits;
mod policy;
mod quantity;
mod runs;
mod satellite;
mod splitting;

pub use commented::commented;
pub use deployment::{GatewayFile, Interface};
pub use example::example;
pub use runs::Runs;

use deployment::{FILE, INTERFACES, LOG, METRICS};
use leg::{LEG, LEG_TCP};
use limits::{DRAIN, LIMITS};
use policy::{POLICY, REJECT_QUIC, RULE};
use satellite::SATELLITE;
use splitting::SPLITTING;

use crate::document::Node;
use crate::reader::{Context, Reader, Result, Section, field};
use bentpipe_gateway::Config;

/// Every kind of table with its keys, in the order of the reference.
pub const SECTIONS: &[&Section] = &[
    &TABLES,
    &SATELLITE,
    &LEG,
    &LEG_TCP,
    &SPLITTING,
    &LIMITS,
    &POLICY,
    &RULE,
    &FILE,
    &INTERFACES,
    &DRAIN,
    &REJECT_QUIC,
    &METRICS,
    &LOG,
];

/// The tables that both have.
pub const TABLES: Section = Section {
    path: "gateway.NAME, the tables of gateway.toml",
    about: "The same as in the file of a gateway on a host, where they are tables of their own: `[satellite]` and so \
            on.",
    fields: &[
        field(
            "satellite",
            "a table",
            "",
            "TCP towards the satellite, and what is known of the link",
        ),
        field("lan", "a table", "", "TCP towards the near hosts"),
        field("splitting", "a table", "", "what of the hosts' connections is end to end"),
        field("limits", "a table", "", "how much it may hold, and for how long"),
        field("policy", "a table", "", "which connections are split; without it, all"),
    ],
    example: "",
};

/// Changes `config` as the tables say that `reader` has, those of [`TABLES`].
///
/// # Errors
/// The first thing that is wrong.
pub fn read(reader: &Reader<'_>, config: &mut Config, runs: Runs) -> Result<()> {
    let context = reader.context;
    if let Some(node) = reader.node("satellite") {
        let table = leg::flat(context, node, "[satellite]")?;
        let sections = [&SATELLITE, &LEG, &LEG_TCP];
        let reader = Reader::of_table(context, &table, node.at, "[satellite]", &sections)?;
        leg::read(&reader, &mut config.satellite, runs)?;
        key::read(satellite::KEYS, &reader, config, runs)?;
    }
    if let Some(node) = reader.node("lan") {
        let table = leg::flat(context, node, "[lan]")?;
        let reader = Reader::of_table(context, &table, node.at, "[lan]", &[&LEG, &LEG_TCP])?;
        leg::read(&reader, &mut config.lan, runs)?;
    }
    if let Some(node) = reader.node("splitting") {
        let reader = Reader::open(context, node, "[splitting]", &[&SPLITTING])?;
        key::read(splitting::KEYS, &reader, config, runs)?;
    }
    if let Some(node) = reader.node("limits") {
        let reader = open(context, node, "[limits]", &LIMITS, &DRAIN, runs)?;
        key::read(limits::KEYS, &reader, config, runs)?;
    }
    if let Some(node) = reader.node("policy") {
        let reader = open(context, node, "[policy]", &POLICY, &REJECT_QUIC, runs)?;
        key::read(policy::KEYS, &reader, config, runs)?;
    }
    Ok(())
}

/// Opens a table that has more keys where the gateway is deployed.
fn open<'a>(
    context: &'a Context<'a>,
    node: &'a Node,
    name: &str,
    section: &'static Section,
    deployed: &'static Section,
    runs: Runs,
) -> Result<Reader<'a>> {
    match runs {
        Runs::Simulated => Reader::open(context, node, name, &[section]),
        Runs::Deployed { .. } => Reader::open(context, node, name, &[section, deployed]),
    }
}
