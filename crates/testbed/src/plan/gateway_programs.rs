//! Programs of a scenario's gateways: ours with its `gateway.toml`, or a foreign one.

use super::PlanError;
use crate::network::{GatewayProgram, Layout};
use crate::proxy::ProxyCommand;
use bentpipe_config::gateway::GatewayFile;
use bentpipe_scenario::{Experiment, ForeignProxy, Gateway, NodeKind, Point};
use toml::{Table, Value};

/// The keys of a scenario's gateway that are not the file's.
const OF_SCENARIOS: [&str; 7] =
    ["lan-links", "position", "config", "split", "super-segments", "proxy", "proxy-tcp"];
/// The tables of a file that are a host's own.
const OF_HOSTS: [&str; 3] = ["interfaces", "metrics", "log"];

/// Each gateway of a point: its node's number, and what runs there.
pub(super) fn programs(
    experiment: &Experiment,
    point: &Point,
    layout: &Layout,
    proxies: &[ProxyCommand],
) -> Result<Vec<(usize, GatewayProgram)>, PlanError> {
    let document: Table = toml::from_str(&experiment.written_out(point.index))
        .expect("what was written from a checked scenario can be read");
    let nodes = point.scenario.nodes.iter().enumerate();
    let gateways = nodes.filter_map(|(number, node)| match &node.kind {
        NodeKind::Gateway(gateway) => Some((number, node, gateway)),
        _ => None,
    });
    gateways
        .map(|(number, node, gateway)| {
            if let Some(ForeignProxy { name, .. }) = &gateway.proxy {
                let found = proxies.iter().find(|proxy| proxy.name == *name);
                let missing =
                    || PlanError::NoProxy { gateway: node.name.clone(), proxy: name.clone() };
                let command = found.ok_or_else(missing)?.clone();
                return Ok((number, GatewayProgram::Foreign(command)));
            }
            let own = document.get("gateway").and_then(|all| all.get(&node.name));
            let own = own.and_then(Value::as_table).cloned().unwrap_or_default();
            if own.get("split").and_then(Value::as_bool) == Some(false) {
                return Ok((number, GatewayProgram::Router));
            }
            let text = file(experiment, point, layout, (number, &node.name, gateway), own)?;
            Ok((number, GatewayProgram::Bentpipe(text)))
        })
        .collect()
}

/// The file that makes `bentpipe gateway` the gateway of this number and name, whose own table in
/// the scenario is `own`.
fn file(
    experiment: &Experiment,
    point: &Point,
    layout: &Layout,
    (number, name, gateway): (usize, &str, &Gateway),
    mut own: Table,
) -> Result<String, PlanError> {
    let wrong = |why: String| PlanError::Gateway { gateway: name.to_owned(), why };
    let mut file = match own.get("config").and_then(Value::as_str) {
        None => Table::new(),
        Some(name) => {
            let text = experiment.files().get(name).map_or("", String::as_str);
            toml::from_str(text).map_err(|error| wrong(error.message().to_owned()))?
        }
    };
    OF_SCENARIOS.iter().for_each(|key| drop(own.remove(*key)));
    OF_HOSTS.iter().for_each(|key| drop(file.remove(*key)));
    lay_over(&mut file, own);
    let lan = |link: &str| gateway.lan.iter().any(|index| point.scenario.link(*index).name == link);
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
    Ok(text)
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
    use crate::network::Stacks;
    use crate::plan::{self, ForeignPrograms};

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
        let made = programs(&experiment, &point, &layout, &[]).unwrap();
        let [(2, GatewayProgram::Bentpipe(text))] = &made[..] else { panic!("{made:?}") };
        let made: Table = toml::from_str(text).unwrap();
        assert_eq!(made["interfaces"]["lan"], Value::from(vec!["near"]));
        assert_eq!(made["interfaces"]["satellite"], Value::from(vec!["sat"]));
        assert_eq!(made["satellite"]["rate"].as_str(), Some("8Mbit/s"));
        assert_eq!(made["satellite"]["round-trip"].as_str(), Some("500ms"));
        assert!(!made.contains_key("log") && !made.contains_key("lan-links"));
        assert!(!made.contains_key("policy"));
    }

    #[test]
    fn copies_and_numbers_are_written_out_and_what_does_not_split_is_a_router() {
        let text = r#"
            [run]
            duration = "1s"
            [numbers]
            delay = 250
            [host.a]
            [host.b]
            [gateway."g{n}"]
            count = 2
            lan-links = "near{n}"
            split = { each = [true, false] }
            satellite = { rate = "{n}Mbit/s", round-trip = "{2*delay}ms" }
            [link.near1]
            between = ["a", "g1"]
            [link.sat]
            between = ["g1", "g2"]
            [link.near2]
            between = ["g2", "b"]
            [flow.x]
            from = "a"
            to = "b"
        "#;
        let none = |_: &str| Err("no files".to_owned());
        let experiment = Experiment::parse("x.toml", text, &none).unwrap();
        let point = experiment.point(0);
        let layout = Layout::of(&point.scenario, "x");
        let made = programs(&experiment, &point, &layout, &[]).unwrap();
        let [(2, GatewayProgram::Bentpipe(text)), (3, GatewayProgram::Router)] = &made[..] else {
            panic!("{made:?}")
        };
        let made: Table = toml::from_str(text).unwrap();
        assert_eq!(made["satellite"]["rate"].as_str(), Some("1Mbit/s"));
        assert_eq!(made["satellite"]["round-trip"].as_str(), Some("500ms"));
        assert!(!made.contains_key("count"));
    }

    #[test]
    fn a_variant_may_have_a_foreign_program_whose_command_is_needed() {
        let text = r#"
            tcp = "linux"
            [run]
            duration = "1s"
            [host.a]
            [host.b]
            [gateway.g]
            lan-links = "near"
            proxy-tcp = "congestion=bbr1"
            [link.near]
            between = ["a", "g"]
            [link.sat]
            between = ["g", "b"]
            [[variant]]
            name = "bentpipe"
            [[variant]]
            name = "pepsal"
            set = { "gateway.g.proxy" = "pepsal" }
        "#;
        let none = |_: &str| Err("no files".to_owned());
        let experiment = Experiment::parse("x.toml", text, &none).unwrap();
        let points = |proxies: &[ProxyCommand]| {
            let programs = ForeignPrograms { browser: None, proxies };
            plan::points(&experiment, "x.toml", "x", Stacks::AsAsked, programs)
        };
        let Err(missing) = points(&[]) else { panic!("there is no command") };
        assert_eq!(
            missing.to_string(),
            "gateway.g.proxy: give the command of `pepsal`: --proxy pepsal=COMMAND"
        );
        let pepsal: ProxyCommand = "pepsal=/opt/pepsal".parse().unwrap();
        let points = points(std::slice::from_ref(&pepsal)).unwrap();
        assert!(matches!(points[0].gateways[..], [(2, GatewayProgram::Bentpipe(_))]));
        assert_eq!(points[1].gateways, [(2, GatewayProgram::Foreign(pepsal))]);
        assert!(points[1].canonical().starts_with("# pepsal: /opt/pepsal -p 5000 -c 1024\n"));
        // The program's sockets have their congestion control by their routes.
        assert_eq!(points[0].stack.hosts[2], None);
        let host = points[1].stack.hosts[2].as_ref().unwrap();
        assert_eq!(host.route, "initcwnd 10 rto_min 200ms congctl bbr");
    }
}
