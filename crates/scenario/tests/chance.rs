//! Which scenarios are random, and how gateways are swept on and off.

use bentpipe_scenario::{Experiment, NodeKind, Scenario};

const BASE: &str = r#"
[run]
duration = "10s"
[host.a]
[host.b]
[gateway.g]
lan-links = "near"
[link.near]
between = ["a", "g"]
[link.l]
between = ["g", "b"]
rate = "8Mbit/s"
delay = "250ms"
"#;

fn is_random(of_link: &str, flow: &str) -> bool {
    let text = format!("{BASE}{of_link}\n[flow.f]\nfrom = \"a\"\nto = \"b\"\n{flow}\n");
    Scenario::parse(&text).unwrap_or_else(|error| panic!("{error}")).is_random()
}

#[test]
fn a_scenario_is_random_if_anything_in_it_is_drawn() {
    for (of_link, flow) in [
        ("", "bytes = \"1MB\""),
        ("queue = { kind = \"codel\" }", "count = 3\nstart = \"1s\""),
        ("outages = [{ at = \"1s\", lasting = \"1s\" }]", "workload = \"ping\""),
        ("loss = 0\nbit-errors = 0", "workload = \"request-response\"\nreply = \"10KB\""),
        ("", "workload = \"http/1.1\"\npage = \"bharadwaj-2001-2\""),
        ("", "workload = \"udp\"\nrate = \"1Mbit/s\""),
    ] {
        assert!(!is_random(of_link, flow), "{of_link} {flow}");
    }
    for (of_link, flow) in [
        ("loss = 1e-9", ""),
        ("bit-errors = 1e-9", ""),
        ("back = { loss = 1e-9 }", ""),
        ("gilbert-elliott = { good-to-bad = 0.01, bad-to-good = 0.2 }", ""),
        ("queue = { kind = \"red\", limit = \"50packets\" }", ""),
        ("outages = { every = { exponential = \"5s\" }, lasting = \"1s\" }", ""),
        ("", "start = { uniform = [\"0s\", \"1s\"] }"),
        ("", "bytes = { exponential = \"1MB\" }"),
        ("", "workload = \"request-response\"\nreply = \"10KB\"\nthink = { exponential = \"1s\" }"),
        ("", "workload = \"poisson\"\nload = \"10%\"\nof = \"l\"\nsize = \"10KB\""),
        ("", "workload = \"udp\"\nrate = \"1Mbit/s\"\narrivals = \"poisson\""),
    ] {
        assert!(is_random(of_link, flow), "{of_link} {flow}");
    }
}

fn swept(path: &str, values: &str) -> Result<Experiment, String> {
    let text =
        format!("{BASE}[flow.f]\nfrom = \"a\"\nto = \"b\"\n[sweep]\n\"{path}\" = {values}\n");
    let read = |_: &str| Err(String::new());
    Experiment::parse("s.toml", &text, &read).map_err(|error| error.to_string())
}

#[test]
fn a_gateway_is_swept_on_and_off() {
    let experiment = swept("gateway.g.split", "[true, false]").unwrap();
    let labels: Vec<String> = (0..2).map(|point| experiment.label(point)).collect();
    assert_eq!(labels, ["split=true", "split=false"]);
    let rules = |point: usize| {
        let nodes = experiment.point(point).scenario.nodes;
        let gateways = nodes.into_iter().filter_map(|node| match node.kind {
            NodeKind::Gateway(gateway) => Some(gateway.config.policy.rules),
            _ => None,
        });
        gateways.flatten().collect::<Vec<_>>()
    };
    assert!(rules(0).is_empty());
    assert!(matches!(&rules(1)[..], [rule] if rule.is_for_all()));
}

#[test]
fn what_cannot_be_swept_as_a_whole_says_what_can() {
    let error = swept("gateway", "[true, false]").unwrap_err();
    assert!(
        error.ends_with("expected a field of one of them, such as `gateway.g1.split`"),
        "{error}"
    );
    let error = swept("gateway.g", "[true, false]").unwrap_err();
    assert!(error.ends_with("expected a field of it, such as `gateway.g.split`"), "{error}");
    let error = swept("link.l", "[1, 2]").unwrap_err();
    assert!(error.ends_with("expected a field of it, such as `link.l.delay`"), "{error}");
}

#[test]
fn a_group_names_its_flows() {
    let flows = "[flow.f]\nfrom = \"a\"\nto = \"b\"\n[flow.h]\nfrom = \"b\"\nto = \"a\"\n";
    let parse = |group: &str| {
        let scenario = Scenario::parse(&format!("{BASE}{flows}[group.all]\n{group}\n"));
        scenario.map(|scenario| scenario.groups).map_err(|error| error.to_string())
    };
    assert_eq!(parse("flows = [\"h\", \"f\", \"h\"]").unwrap()[0].flows, [0, 1]);
    assert_eq!(parse("flows = \"h\"").unwrap()[0].flows, [1]);
    assert!(parse("flows = [\"g\"]").unwrap_err().contains("no flow is called `g`"));
    assert!(parse("flows = []").unwrap_err().contains("has no figures"));
}
