//! Tables with `{n}` in their names, and numbers.

use bentpipe_core::time::Instant;
use bentpipe_scenario::{Experiment, Scenario};

const HEAD: &str = "run = { duration = \"1s\" }\n";

fn parse(text: &str) -> Scenario {
    let text = format!("{HEAD}{text}");
    Scenario::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

const STAR: &str = r#"
[router.r]
[host.sink]
[host."s{n}"]
count = 4
[link.sink]
between = ["r", "sink"]
[link."s{n}"]
count = 4
between = ["s{n}", "r"]
rate = "{10*n}Mbit/s"
delay = { each = { from = "10ms", to = "40ms" } }
queue = { limit = { each = ["5packets", "6packets", "7packets", "8packets"] } }
[flow."f{n}"]
count = 4
from = "s{n}"
to = "sink"
start = { uniform = ["0s", "{n}s"] }
"#;

#[test]
fn one_table_stands_for_many() {
    let scenario = parse(STAR);
    let names: Vec<&str> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["f1", "f2", "f3", "f4"]);
    let links: Vec<_> = scenario.links.iter().skip(1).map(|link| &link.forward).collect();
    let delays: Vec<_> =
        links.iter().map(|link| link.delay.at(Instant::ZERO).as_millis()).collect();
    assert_eq!(delays, [10, 20, 30, 40]);
    let rates = links.iter().map(|link| link.rate.as_ref().unwrap().at(Instant::ZERO).to_string());
    assert_eq!(rates.collect::<Vec<_>>(), ["10Mbit/s", "20Mbit/s", "30Mbit/s", "40Mbit/s"]);
    let queues: Vec<_> = links.iter().map(|link| link.queue.to_string()).collect();
    assert_eq!(queues[3], "drop-tail:limit=8packets");
    assert_eq!(scenario.node(scenario.flows[2].from).name, "s3");
}

#[test]
fn it_means_what_all_the_tables_would() {
    let mut long = String::from("[router.r]\n[host.sink]\n");
    for n in 1..=4 {
        long += &format!("[host.s{n}]\n");
    }
    long += "[link.sink]\nbetween = [\"r\", \"sink\"]\n";
    for n in 1..=4 {
        long += &format!(
            "[link.s{n}]\nbetween = [\"s{n}\", \"r\"]\nrate = \"{n}0Mbit/s\"\ndelay = \"{n}0ms\"\nqueue = \"{}packets\"\n",
            n + 4
        );
        long += &format!(
            "[flow.f{n}]\nfrom = \"s{n}\"\nto = \"sink\"\nstart = {{ uniform = [\"0s\", \"{n}s\"] }}\n"
        );
    }
    let (short, long) = (parse(STAR), parse(&long));
    assert_eq!((short.nodes, short.links, short.flows), (long.nodes, long.links, long.flows));
}

const PARKING_LOT: &str = r#"
[numbers]
hops = 3
[host.far]
[host.end]
[router."r{n}"]
count = "{hops+1}"
[host."a{n}"]
count = "{hops}"
[host."b{n}"]
count = "{hops}"
[link.far]
between = ["far", "r1"]
[link.end]
between = ["r{hops+1}", "end"]
[link."hop{n}"]
count = "{hops}"
between = ["r{n}", "r{n+1}"]
rate = "1.5Mbit/s"
[link."a{n}"]
count = "{hops}"
between = ["a{n}", "r{n}"]
[link."b{n}"]
count = "{hops}"
between = ["r{n+1}", "b{n}"]
[flow.long]
from = "far"
to = "end"
count = "{hops}"
[flow."short{n}"]
count = "{hops}"
from = "a{n}"
to = "b{n}"
[sweep]
"numbers.hops" = { from = 1, to = 10, steps = 10 }
"#;

#[test]
fn the_number_of_hops_is_swept() {
    let text = format!("{HEAD}{PARKING_LOT}");
    let none = |_: &str| Err("no files".to_owned());
    let experiment = Experiment::parse("lot.toml", &text, &none).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((experiment.len(), experiment.label(4)), (10, "hops=5".to_owned()));
    for (index, point) in experiment.points().enumerate() {
        let (hops, scenario) = (index + 1, point.scenario);
        assert_eq!(scenario.flows.len(), hops + 1);
        // Without `{n}`, `count` is as it was: one flow, so often.
        assert_eq!(scenario.flows[0].count as usize, hops);
        let (from, to) = (scenario.flows[0].from, scenario.flows[0].to);
        let path = bentpipe_scenario::network::path(&scenario.nodes, &scenario.links, from, to);
        assert_eq!(path.unwrap().len(), hops + 2);
    }
    // Two points never have the same text.
    let texts: std::collections::BTreeSet<String> =
        experiment.points().map(|p| p.canonical).collect();
    assert_eq!(texts.len(), 10);
}

#[test]
fn what_is_wrong_is_said() {
    for (text, part) in [
        ("[host.\"s{n}\"]\n", "needs `count`"),
        ("[host.\"s{n}\"]\ncount = 0\n", "count = 0 is out of range"),
        ("[host.\"s{n}\"]\ncount = \"many\"\n", "a whole number"),
        ("[host.s1]\n[host.\"s{n}\"]\ncount = 2\n", "another `host.s1`"),
        ("[host.a]\ntcp = \"linux,iw={n}\"\n", "only in a table whose name has it"),
        (
            "[host.a]\ntcp = \"linux,iw={hosp}\"\n[numbers]\nhops = 1\n",
            "no number is called `hosp` (did you mean `hops`?)",
        ),
        ("[host.a]\ntcp = \"linux,iw={1+}\"\n", "is no number"),
        ("[numbers]\nhops = \"3\"\n", "a whole number"),
        ("[numbers]\nhops = -1\n", "out of range"),
        ("[numbers]\nn = 1\n", "choose another name"),
        ("[host.a]\ntcp = { each = [\"linux\"] }\n", "`each` stands only in"),
        ("[host.\"s{n}\"]\ncount = 2\ntcp = { each = [\"linux\"] }\n", "1 values for 2 copies"),
        (
            "[host.\"s{n}\"]\ncount = 2\ntcp = { each = { from = 1, to = 2, steps = 2 } }\n",
            "`steps` is not needed",
        ),
    ] {
        let error = Scenario::parse(&format!("{HEAD}{text}")).unwrap_err().to_string();
        assert!(error.contains(part), "{error}, not {part}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn braces_in_titles_are_braces() {
    let scenario = parse("title = \"a {n} and {x}\"\n[host.a]\n");
    assert_eq!(scenario.title, "a {n} and {x}");
}

/// A list outside of the copies names all of them by their pattern.
#[test]
fn a_pattern_in_a_list_stands_for_all_copies() {
    let more = r#"
[gateway.g]
lan-links = ["s{n}"]
[record]
flow = ["cwnd"]
flows = ["f{n}"]
links = ["sink", "s{n}"]
[group.all]
flows = "f{n}"
[group.two]
flows = ["f1", "f{n}"]
"#;
    let star = STAR.replace("[router.r]", "").replace("\"r\"", "\"g\"");
    let scenario = parse(&format!("{star}{more}"));
    assert_eq!(scenario.record.flows, Some(vec![0, 1, 2, 3]));
    assert_eq!(scenario.record.links.map(|links| links.len()), Some(5));
    assert_eq!(scenario.groups[0].flows, [0, 1, 2, 3]);
    assert_eq!(scenario.groups[1].flows, [0, 1, 2, 3]);
}

/// Another pattern than a table's is a mistake, as before, and one copy is no list.
#[test]
fn a_list_takes_a_pattern_only_as_it_is_declared() {
    let text = format!("{HEAD}{STAR}[record]\nflows = [\"f{{n+1}}\"]\n");
    let message = Scenario::parse(&text).unwrap_err().to_string();
    assert!(message.contains("`{n}` stands only"), "{message}");
    let one = STAR
        .replace("count = 4", "count = 1")
        .replace("[\"5packets\", \"6packets\", \"7packets\", \"8packets\"]", "[\"5packets\"]");
    let scenario = parse(&format!("{one}[record]\nflows = [\"f{{n}}\"]\n"));
    assert_eq!(scenario.record.flows, Some(vec![0]));
}
