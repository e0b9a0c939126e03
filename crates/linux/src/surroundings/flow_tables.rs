//! Flow tables that hardware works off: what they have taken passes no program.

use super::{Finding, Side};
use crate::command::{CommandError, run};
use serde_json::Value;

/// Those with one of the interfaces of `sides`.
pub(super) fn find(sides: &[Side; 2]) -> Vec<Finding> {
    let shown = run("nft", &["list", "flowtables"], "");
    if matches!(shown, Err(CommandError::Missing { .. })) {
        return vec![Finding::NftMissing];
    }
    let offloaded = offloaded(&shown.unwrap_or_default());
    if offloaded.is_empty() {
        return Vec::new();
    }
    let ruleset = run("nft", &["-t", "-j", "list", "ruleset"], "").unwrap_or_default();
    let ruleset: Value = serde_json::from_str(&ruleset).unwrap_or_default();
    let objects = ruleset["nftables"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut found = flow_tables(objects, sides);
    found.retain(|it| matches!(it, Finding::FlowTable { table, .. } if offloaded.contains(table)));
    found
}

/// Flow tables that hardware works off, of what `nft list flowtables` shows, each with its family
/// and table.
fn offloaded(shown: &str) -> Vec<String> {
    let (mut table, mut name, mut found) = ("", "", Vec::new());
    for line in shown.lines().map(str::trim) {
        let named = |kind: &str| line.strip_prefix(kind).and_then(|rest| rest.strip_suffix(" {"));
        if let Some(of) = named("table ") {
            table = of;
        } else if let Some(of) = named("flowtable ") {
            name = of;
        } else if line.starts_with("flags ") && line.contains("offload") {
            found.push(format!("{table} {name}"));
        }
    }
    found
}

/// Flow tables with a configured interface, and with a rule that fills them.
fn flow_tables(objects: &[Value], sides: &[Side; 2]) -> Vec<Finding> {
    let interfaces: Vec<&String> = sides.iter().flat_map(|side| &side.interfaces).collect();
    let rules = || objects.iter().filter_map(|object| object.get("rule"));
    let tables = objects.iter().filter_map(|object| object.get("flowtable"));
    tables
        .filter_map(|table| {
            let names = |key| (text(table, "family"), text(table, "table"), text(table, key));
            let (family, of, name) = names("name");
            let devices = [&table["dev"]].into_iter().flat_map(|dev| match dev {
                Value::Array(list) => list.iter().collect(),
                one => vec![one],
            });
            let mut devices = devices.filter_map(Value::as_str);
            if !devices.any(|device| interfaces.iter().any(|name| *name == device)) {
                return None;
            }
            let fills = |rule: &&Value| {
                (text(rule, "family"), text(rule, "table")) == (family, of)
                    && rule["expr"].as_array().into_iter().flatten().any(|statement| {
                        let flow = text(&statement["flow"], "flowtable");
                        flow.strip_prefix('@').unwrap_or(flow) == name && !flow.is_empty()
                    })
            };
            let remedy: Vec<String> = rules()
                .filter(fills)
                .map(|rule| {
                    let (chain, handle) = (text(rule, "chain"), &rule["handle"]);
                    format!("nft delete rule {family} {of} {chain} handle {handle}")
                })
                .collect();
            let table = format!("{family} {of} {name}");
            (!remedy.is_empty()).then_some(Finding::FlowTable { table, remedy })
        })
        .collect()
}

/// A text of an object, empty if it has none.
fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::offloaded;

    #[test]
    fn flow_tables_of_hardware_are_told_from_others() {
        let shown = "table inet fw4 {\n\tflowtable ft {\n\t\thook ingress priority filter\n\t\tdevices = { lan, sat }\n\
                     \t\tflags offload\n\t\tcounter\n\t}\n}\ntable ip soft {\n\tflowtable f {\n\
                     \t\thook ingress priority filter\n\t\tdevices = { sat }\n\t}\n}\n";
        assert_eq!(offloaded(shown), ["inet fw4 ft"]);
        assert!(offloaded("").is_empty());
    }
}
