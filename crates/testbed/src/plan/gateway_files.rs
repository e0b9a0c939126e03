//! The `gateway.toml` of each gateway of a scenario.

use super::PlanError;
use crate::network::Layout;
use bentpipe_config::gateway::GatewayFile;
use bentpipe_scenario::{Experiment, NodeKind, Point};
use toml::{Table, Value};

/// The keys of a scenario's gateway that are not the file's.
const OF_SCENARIOS: [&str; 4] = ["lan-links", "position", "config", "split"];
/// The tables of a file that are a host's own.
const OF_HOSTS: [&str; 3] = ["interfaces", "metrics", "log"];

/// Each gateway of a point: its node's number, and the file that makes `bentpipe gateway` one.
pub(super) fn files(
    experiment: &Experiment,
    point: &Point,
    layout: &Layout,
) -> Result<Vec<(usize, String)>, PlanError> {
    let document: Table = toml::from_str(&point.canonical).unwrap_or_default();
    let nodes = point.scenario.nodes.iter().enumerate();
    let gateways = nodes.filter_map(|(number, node)| match &node.kind {
        NodeKind::Gateway(gateway) => Some((number, node, gateway)),
        _ => None,
    });
    gateways
        .map(|(number, node, gateway)| {
            let wrong = |why: String| PlanError::Gateway { gateway: node.name.clone(), why };
            let own = document.get("gateway").and_then(|all| all.get(&node.name));
            let mut own = own.and_then(Value::as_table).cloned().unwrap_or_default();
            let mut file = match own.get("config").and_then(Value::as_str) {
                None => Table::new(),
                Some(name) => {
                    let text = experiment.files().get(name).map_or("", String::as_str);
                    toml::from_str(text).map_err(|error| wrong(error.message().to_owned()))?
                }
            };
            let splits = own.get("split").and_then(Value::as_bool).unwrap_or(true);
            OF_SCENARIOS.iter().for_each(|key| drop(own.remove(*key)));
            OF_HOSTS.iter().for_each(|key| drop(file.remove(*key)));
            lay_over(&mut file, own);
            if !splits {
                file.insert("policy".to_owned(), Value::Table(forwards_all()));
            }
            let lan = |link: &str| {
                gateway.lan.iter().any(|index| point.scenario.link(*index).name == link)
            };
            let side = |near: bool| -> Value {
                let devices = layout.devices(number).filter(|(link, _)| lan(&link.name) == near);
                Value::Array(devices.map(|(_, device)| device.into()).collect())
            };
            let mut interfaces = Table::new();
            interfaces.insert("lan".to_owned(), side(true));
            interfaces.insert("satellite".to_owned(), side(false));
            file.insert("interfaces".to_owned(), Value::Table(interfaces));
            let text = toml::to_string(&file).map_err(|error| wrong(error.to_string()))?;
            GatewayFile::parse("its gateway.toml", &text, u64::MAX)?;
            Ok((number, text))
        })
        .collect()
}

/// The policy of a gateway that splits nothing.
fn forwards_all() -> Table {
    let rule = Table::from_iter([("action".to_owned(), Value::from("forward"))]);
    Table::from_iter([("rule".to_owned(), Value::Array(vec![Value::Table(rule)]))])
}

/// `over` goes over what `table` says, key by key.
fn lay_over(table: &mut Table, over: Table) {
    for (key, value) in over {
        match (table.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => lay_over(below, above),
            (_, value) => drop(table.insert(key, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_is_told_what_the_scenario_says_over_its_file() {
        let text = r#"
            [run]
            duration = "1s"
            [host.a]
            [host.b]
            [gateway.g]
            lan-links = "near"
            config = "g.toml"
            split = false
            satellite = { rate = "8Mbit/s", rto.min = "2s" }
            [link.near]
            between = ["a", "g"]
            [link.sat]
            between = ["g", "b"]
            [flow.x]
            from = "a"
            to = "b"
        "#;
        let file = "[interfaces]\nlan = [\"eth0\"]\nsatellite = [\"eth1\"]\n[log]\nevery = \"1min\"\n\
                    [satellite]\nrate = \"1Mbit/s\"\nround-trip = \"500ms\"\n";
        let experiment = Experiment::parse("x.toml", text, &|_| Ok(file.to_owned())).unwrap();
        let point = experiment.point(0);
        let layout = Layout::of(&point.scenario, "x");
        let made = files(&experiment, &point, &layout).unwrap();
        assert_eq!(made[0].0, 2);
        let made: Table = toml::from_str(&made[0].1).unwrap();
        assert_eq!(made["interfaces"]["lan"], Value::from(vec!["near"]));
        assert_eq!(made["interfaces"]["satellite"], Value::from(vec!["sat"]));
        assert_eq!(made["satellite"]["rate"].as_str(), Some("8Mbit/s"));
        assert_eq!(made["satellite"]["round-trip"].as_str(), Some("500ms"));
        assert!(!made.contains_key("log") && !made.contains_key("lan-links"));
        assert_eq!(made["policy"]["rule"][0]["action"].as_str(), Some("forward"));
        assert!(!made.contains_key("split"));
    }
}
