//! Variants: named steps of a sweep, where they stand in it, and what is refused.

use bentpipe_core::units::Rate;
use bentpipe_scenario::{Change, Experiment};

const BASE: &str = r#"
[run]
duration = "10s"
[host.a]
tcp = "linux"
[host.b]
[gateway.g1]
lan-links = "near"
[link.near]
between = ["a", "g1"]
[link.sat]
between = ["g1", "b"]
rate = "8Mbit/s"
delay = "250ms"
queue = "60packets"
[flow.f]
from = "a"
to = "b"
"#;

const VARIANTS: &str = r#"
[[variant]]
name = "end to end"
set = { "gateway.g1.split" = false, "host.a.tcp.iw" = 4 }
[[variant]]
name = "gateway"
[[variant]]
name = "rate configured"
set = { "gateway.g1.satellite" = { round-trip = "500ms" }, "gateway.g1.satellite.rate" = { same-as = "link.sat.rate" } }
"#;

fn parse(rest: &str, changes: &[&str]) -> Result<Experiment, String> {
    let changes: Vec<Change> = changes.iter().map(|text| text.parse().unwrap()).collect();
    let read = |_: &str| Err("no files".to_owned());
    let text = format!("{BASE}{rest}");
    Experiment::parse_changed("v.toml", &text, &changes, &read).map_err(|error| error.to_string())
}

fn experiment(rest: &str, changes: &[&str]) -> Experiment {
    parse(rest, changes).unwrap_or_else(|error| panic!("{error}"))
}

fn labels(rest: &str, changes: &[&str]) -> Vec<String> {
    let experiment = experiment(rest, changes);
    (0..experiment.len()).map(|point| experiment.label(point)).collect()
}

/// As [`VARIANTS`], with a sweep.
fn swept(sweep: &str) -> String {
    format!("{VARIANTS}[sweep]\n{sweep}\n")
}

#[test]
fn each_variant_is_a_point_with_its_name() {
    let experiment = experiment(VARIANTS, &[]);
    let labels: Vec<String> = (0..experiment.len()).map(|point| experiment.label(point)).collect();
    assert_eq!(labels, ["variant=end to end", "variant=gateway", "variant=rate configured"]);
    assert_eq!(experiment.swept(), ["variant"]);
    let point = experiment.point(1);
    assert_eq!(point.values, [("variant".to_owned(), "gateway".to_owned())]);
    // A variant that sets nothing is the scenario as it is, and its name is no part of what is run.
    let plain = parse("", &[]).unwrap().point(0);
    assert_eq!((&point.scenario, &point.canonical), (&plain.scenario, &plain.canonical));
    // One that sets a field is the same as a change of it.
    let changes = ["gateway.g1.split=false", "host.a.tcp.iw=4"];
    let changed = parse("", &changes).unwrap().point(0);
    assert_eq!(experiment.point(0).scenario, changed.scenario);
}

#[test]
fn variants_change_fastest_unless_the_sweep_names_them() {
    let queues = "\"link.sat.queue\" = [\"6packets\", \"60packets\"]";
    let last = labels(&swept(queues), &[]);
    assert_eq!((last.len(), last[1].as_str()), (6, "queue=6packets, variant=gateway"));
    let first = swept(&format!("variant = [\"gateway\", \"end to end\"]\n{queues}"));
    assert_eq!(
        labels(&first, &[]),
        [
            "variant=gateway, queue=6packets",
            "variant=gateway, queue=60packets",
            "variant=end to end, queue=6packets",
            "variant=end to end, queue=60packets",
        ]
    );
    let zipped =
        "variant = [\"gateway\", \"end to end\"]\nzip = [[\"link.sat.queue\", \"variant\"]]";
    assert_eq!(
        labels(&swept(&format!("{queues}\n{zipped}")), &[]),
        ["queue=6packets, variant=gateway", "queue=60packets, variant=end to end"]
    );
}

#[test]
fn a_field_may_be_that_of_another_at_the_point() {
    let text = swept("\"link.sat.rate\" = [\"1Mbit/s\", \"2Mbit/s\"]");
    let experiment = experiment(&text, &[]);
    let rate = |point: usize| {
        let scenario = experiment.point(point).scenario;
        let gateway = scenario.nodes.iter().find_map(|node| match &node.kind {
            bentpipe_scenario::NodeKind::Gateway(gateway) => Some(gateway.clone()),
            _ => None,
        });
        gateway.unwrap().config.satellite.rate
    };
    let mbit = |rate: u64| Some(Rate::from_bits_per_sec(rate * 1_000_000));
    assert_eq!([1, 2, 4, 5].map(rate), [None, mbit(1), None, mbit(2)]);
}

#[test]
fn changes_from_outside_choose_and_overrule_variants() {
    assert_eq!(labels(VARIANTS, &["variant=gateway"]), ["variant=gateway"]);
    assert_eq!(
        labels(VARIANTS, &["sweep.variant=[\"gateway\", \"end to end\"]"]),
        ["variant=gateway", "variant=end to end"]
    );
    let split = experiment(VARIANTS, &["gateway.g1.split=true", "host.a.tcp.iw=2"]);
    let plain = parse("", &["gateway.g1.split=true", "host.a.tcp.iw=2"]).unwrap();
    assert_eq!(split.point(0).scenario, plain.point(0).scenario);
    // One that changes a part of what a variant sets as a whole is not lost.
    let part = experiment(VARIANTS, &["gateway.g1.satellite.round-trip=300ms"]);
    assert!(part.point(2).canonical.contains("round-trip = \"300ms\""));
    // What is said to have been run can be run, and is the same.
    let read = |_: &str| Err("no files".to_owned());
    let again = Experiment::parse("y.toml", part.source(), &read).unwrap();
    assert_eq!(again.point(2).canonical, part.point(2).canonical);
    // What is swept from outside is set by no variant.
    let swept = experiment(VARIANTS, &["sweep.gateway.g1.split=[true, false]"]);
    assert_eq!(swept.len(), 6);
}

#[test]
fn variants_come_after_a_change_of_the_base() {
    let read = |_: &str| Err("no files".to_owned());
    let text = format!("{BASE}{VARIANTS}");
    let rtt = Change::of_base("gateway.g1.satellite.round-trip", "\"300ms\"");
    let windows = Change::of_base("host.a.tcp.iw", "2");
    let experiment = Experiment::parse_changed("v.toml", &text, &[rtt, windows], &read).unwrap();
    let has = |point: usize, field: &str| experiment.point(point).canonical.contains(field);
    assert!(has(0, "round-trip = \"300ms\"") && has(0, "iw = 4"), "the variant's own window");
    assert!(has(1, "round-trip = \"300ms\"") && has(1, "iw = 2"));
    assert!(has(2, "round-trip = \"500ms\"") && has(2, "iw = 2"), "it sets the table as a whole");
}

#[test]
fn mistakes_are_placed_and_named() {
    let base = BASE.lines().count();
    for (rest, line, word) in [
        ("[[variant]]\nset = {}", 1, "[[variant]] has no `name` (expected a text)"),
        ("[[variant]]\nname = \"\"", 2, "a variant without a name"),
        ("[[variant]]\nname = \"a\"\nsets = {}", 3, "did you mean `set`?"),
        ("[[variant]]\nname = \"a\"\nset = []", 3, "found a list, expected a table of paths"),
        ("[variant]\nname = \"a\"", 1, "found a table, expected tables [[variant]]"),
        (
            "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"a\"",
            4,
            "there is another variant called `a`",
        ),
        (
            "[[variant]]\nname = \"a\"\nset = { \"host.aa.tcp\" = \"linux\" }",
            3,
            "variant `a`: `host.aa.tcp`: there is no `host.aa` (did you mean `a`?)",
        ),
        (
            "[[variant]]\nname = \"a\"\nset = { \"link.sat.dealy\" = \"1ms\" }",
            3,
            "unknown key `dealy` in [link.sat] (did you mean `delay`?) (at variant=a)",
        ),
        ("[[variant]]\nname = \"a\"\nset = { \"run.duration\" = \"soon\" }", 3, "(at variant=a)"),
        (
            "[[variant]]\nname = \"a\"\nset = { \"title\" = \"b\" }",
            3,
            "variant `a`: `title`: `title` cannot be",
        ),
        (
            "[[variant]]\nname = \"a\"\nset = { \"link.sat.rate\" = { same-as = \"link.sta.rate\" } }",
            3,
            "variant `a`: there is no value at `link.sta.rate` (did you mean `sat`?)",
        ),
        (
            "[[variant]]\nname = \"a\"\nset = { \"gateway.g1.satellite\" = {} }\n\
             [sweep]\n\"gateway.g1.satellite.rate\" = [\"1Mbit/s\"]",
            3,
            "variant `a`: `gateway.g1.satellite`: `gateway.g1.satellite.rate` is swept, too",
        ),
        (
            "[[variant]]\nname = \"near\"\n[sweep]\nvariant = [\"naer\"]",
            4,
            "no variant is called `naer` (did you mean `near`?)",
        ),
        ("[sweep]\nvariant = [\"near\"]", 2, "no variant is called `near` (there is none)"),
        ("[[variant]]\nname = \"a\"\n[sweep]\nvariant = []", 4, "leaves no points"),
        ("[[variant]]\nname = \"a\"\n[sweep]\nvariant = \"a\"", 4, "a list of names of variants"),
    ] {
        let error = parse(rest, &[]).unwrap_err();
        assert!(error.starts_with(&format!("v.toml:{}:", base + line)), "{rest}\n{error}");
        assert!(error.contains(word), "{rest}\n{error}");
    }
    let error = parse(VARIANTS, &["variant=gatewya"]).unwrap_err();
    let wanted = "change variant=gatewya: no variant is called `gatewya` (did you mean `gateway`?)";
    assert_eq!(error, wanted);
}
