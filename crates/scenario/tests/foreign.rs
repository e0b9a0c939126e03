//! Foreign programs in gateways' places: what of it is read, and what a simulator refuses.

use bentpipe_scenario::{Experiment, ForeignProxy, NodeKind, Scenario};

const COMPARED: &str = r#"
tcp = "linux"
run = { duration = "10s" }
[host]
server = {}
client = {}
[link.a]
between = ["server", "g"]
[link.b]
between = ["g", "client"]
[gateway.g]
lan-links = "a"
[[variant]]
name = "end to end"
set = { "gateway.g.split" = false }
[[variant]]
name = "bentpipe"
[[variant]]
name = "pepsal"
set = { "gateway.g.proxy" = "pepsal", "gateway.g.proxy-tcp" = "congestion=bbr1" }
"#;

fn parse(text: &str) -> Result<Experiment, String> {
    let no_files = |_: &str| Err("no files".to_owned());
    Experiment::parse("s.toml", text, &no_files).map_err(|error| error.to_string())
}

fn proxy(scenario: &Scenario) -> Option<&ForeignProxy> {
    match &scenario.nodes[2].kind {
        NodeKind::Gateway(gateway) => gateway.proxy.as_ref(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn variants_switch_a_gateway_to_a_foreign_program() {
    let experiment = parse(COMPARED).unwrap();
    let scenarios: Vec<Scenario> = experiment.points().map(|point| point.scenario).collect();
    let names = scenarios.iter().map(|scenario| proxy(scenario).map(|proxy| proxy.name.as_str()));
    assert_eq!(names.collect::<Vec<_>>(), [None, None, Some("pepsal")]);
    assert_eq!(*proxy(&scenarios[2]).unwrap().tcp, "linux,congestion=bbr1".parse().unwrap());
    let checked: Vec<String> = scenarios
        .iter()
        .map(|scenario| {
            scenario.check_simulated().map_or_else(|it| it.to_string(), |()| String::new())
        })
        .collect();
    let why = "gateway.g.proxy: a foreign program, which only a testbed can play (`bentpipe testbed run`)";
    assert_eq!(checked, ["", "", why]);
}

#[test]
fn a_gateway_that_does_not_split_needs_no_program() {
    let text = COMPARED.replace("lan-links = \"a\"", "lan-links = \"a\"\nproxy = \"pepsal\"");
    let experiment = parse(&text).unwrap();
    assert_eq!(proxy(&experiment.point(0).scenario), None);
    let other = experiment.point(1).scenario;
    assert_eq!(*proxy(&other).unwrap().tcp, "linux".parse().unwrap(), "the scenario's");
}

#[test]
fn a_programs_name_is_a_word() {
    for name in ["", "pep sal", "a=b"] {
        let text = COMPARED.replace("proxy\" = \"pepsal\"", &format!("proxy\" = \"{name}\""));
        let why = parse(&text).unwrap_err();
        assert!(why.contains("a name without blanks and `=`"), "{why}");
    }
}
