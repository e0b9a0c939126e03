//! `[policy]`: which connections are split.

use super::deployment::GatewayFile;
use super::forms::{PORTION, Switch};
use super::key::{Help, Key, Reload, fields, key};
use crate::document::{Node, Value};
use crate::reader::{Context, Reader, Result, Section, field, one_of};
use bentpipe_gateway::policy::{Action, Network, Rule};
use bentpipe_gateway::{Config, Side};
use std::fmt::Display;
use std::str::FromStr;

pub(super) const POLICY: Section = Section {
    path: "gateway.NAME.policy",
    about: "Which connections are split; without it, all.",
    fields: &fields::<_, { KEYS.len() }>(KEYS),
    example: "policy = { rule = [{ action = \"forward\", port = [22, \"8000-8999\"] }] }",
};

pub(super) const REJECT_QUIC: Section = Section {
    path: "gateway.toml, policy",
    about: "In `gateway.toml` alone.",
    fields: &fields::<_, { DEPLOYED_KEYS.len() }>(DEPLOYED_KEYS),
    example: "",
};

pub(super) const KEYS: &[Key<Config>] = &[
    key!(Config: "observe" => policy.observe,
        Switch,
        "split nothing, and count what would be",
        help: Help { value: "", remark: "true: split nothing, and count what would be" },
    ),
    key!(Config: "sample" => policy.sample,
        PORTION,
        "so many of the connections that would be split are left unsplit and measured, for `bentpipe gateway report`",
        help: Help { value: "", remark: "left unsplit and measured: see `report`" },
    ),
    Key {
        field: field(
            "rule",
            "a list of tables",
            "`[]`",
            "the first that matches a SYN decides (`[[policy.rule]]` in `gateway.toml`)",
        ),
        read: |reader, config, _| {
            if reader.node("rule").is_some() {
                config.policy.rules = rules(reader)?;
            }
            Ok(())
        },
        differs: |a, b| a.policy.rules != b.policy.rules,
        ..Key::USUAL
    },
];

/// Those of a gateway on a host alone.
pub(super) const DEPLOYED_KEYS: &[Key<GatewayFile>] = &[key!(
    GatewayFile: "reject-quic" => reject_quic,
    Switch,
    "UDP to port 443 is rejected, so that browsers take TCP",
    reload: Reload::Refused,
    help: Help {
        value: "",
        remark: "true: UDP to port 443 is rejected, so that browsers take TCP",
    },
)];

pub(super) const RULE: Section = Section {
    path: "gateway.NAME.policy.rule",
    about: "A rule. It matches if all match that it has; each may be a list, of which one must. In a simulation, \
            hosts, routers and gateways have the addresses 10.0.0.1, 10.0.0.2 and so on, each kind in the order \
            of the file.",
    fields: &[
        one_of::<Action>("action", "", "what becomes of its connections"),
        one_of::<Side>("from", "", "the client's side"),
        field("client", "networks or addresses", "all", "where the client is"),
        field("server", "networks or addresses", "all", "where the server is"),
        field("port", "ports, or ranges such as `8000-8999`", "all", "the server's"),
        field("dscp", "0 to 63, or names such as `ef`, `af11`, `cs1`", "all", "the SYN's"),
    ],
    example: "",
};

/// The rules. None is out of reach of every connection.
fn rules(reader: &Reader<'_>) -> Result<Vec<Rule>> {
    let context = reader.context;
    let list = match reader.node("rule") {
        None => &[] as &[Node],
        Some(Node { value: Value::List(list), .. }) => list,
        Some(node) => return Err(context.type_error(node, "a list of tables")),
    };
    let mut rules = Vec::with_capacity(list.len());
    let mut for_all: Option<&Node> = None;
    for node in list {
        if let Some(before) = for_all {
            let line = context.position(before.at).line;
            let why = format!("the rule on line {line} is for all connections: none is left");
            return Err(context.value_error(node, why));
        }
        let rule = rule(&Reader::open(context, node, "[[policy.rule]]", &[&RULE])?)?;
        if rule.is_for_all() {
            for_all = Some(node);
        }
        rules.push(rule);
    }
    Ok(rules)
}

fn rule(reader: &Reader<'_>) -> Result<Rule> {
    let client: Vec<Network> = items(reader, "client")?;
    let server: Vec<Network> = items(reader, "server")?;
    if let Some(first) = server.first() {
        let apart = |network: &Network| network.is_ipv4() != first.is_ipv4();
        let one_family = server.iter().all(|network| !apart(network));
        if one_family && !client.is_empty() && client.iter().all(apart) {
            let why = "clients and servers of one connection are both of IPv4 or both of IPv6";
            return Err(reader.bad("server", why));
        }
    }
    let action = reader.context.choice(reader.need_node("action")?, "action")?;
    let from = reader.node("from").map(|node| reader.context.choice(node, "side")).transpose()?;
    Ok(Rule {
        from,
        client,
        server,
        port: items(reader, "port")?,
        dscp: items(reader, "dscp")?,
        action,
    })
}

/// One item or a list of them. A list that is there has some: an empty one could be meant to match
/// everything or nothing.
fn items<T: FromStr<Err: Display>>(reader: &Reader<'_>, key: &str) -> Result<Vec<T>> {
    let context = reader.context;
    let Some(node) = reader.node(key) else { return Ok(Vec::new()) };
    match &node.value {
        Value::List(list) if list.is_empty() => {
            Err(reader.bad(key, "an empty list: leave it out to match everything"))
        }
        Value::List(list) => list.iter().map(|node| item(context, node)).collect(),
        _ => Ok(vec![item(context, node)?]),
    }
}

fn item<T: FromStr<Err: Display>>(context: &Context<'_>, node: &Node) -> Result<T> {
    let text = match &node.value {
        Value::Text(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        _ => return Err(context.type_error(node, "a number, a text in quotes, or a list of these")),
    };
    text.parse().map_err(|why: T::Err| context.value_error(node, why.to_string()))
}
