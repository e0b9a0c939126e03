//! `docs/scenario-format.md` is what the code accepts, and its examples are sound.

use bentpipe_scenario::{Experiment, Scenario, reference};
use std::path::PathBuf;

/// The page holds what is `wanted` behind its mark. Everything before is written by hand.
fn compare(page: &str, test: &str, wanted: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let begin = format!("<!-- From here on written by the test `{test}`. -->\n\n");
    let text = std::fs::read_to_string(&path).unwrap();
    let (head, found) = text.split_once(&begin).expect("the page has its mark");
    if std::env::var_os("BENTPIPE_BLESS").is_some() {
        std::fs::write(path, format!("{head}{begin}{wanted}")).unwrap();
    } else {
        assert_eq!(found, wanted, "BENTPIPE_BLESS=1 writes {page} anew");
    }
}

#[test]
fn the_page_is_what_the_code_accepts() {
    let test = "the_page_is_what_the_code_accepts";
    compare("scenario-format.md", test, &reference::markdown());
}

#[test]
fn the_page_of_tcp_has_every_parameter() {
    let test = "the_page_of_tcp_has_every_parameter";
    compare("tcp-parameters.md", test, &bentpipe_core::tcp::presets::markdown());
}

#[test]
fn keys_are_declared_once() {
    for section in reference::sections() {
        let mut keys: Vec<&str> = section.fields.iter().map(|field| field.key).collect();
        keys.sort_unstable();
        let all = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), all, "{}", section.path);
        assert!(section.fields.iter().all(|field| !field.about.is_empty()), "{}", section.path);
    }
}

/// A network in which every example finds what it names.
const NETWORK: [(&str, &str); 21] = [
    ("[run]", "duration = \"1000s\""),
    ("[host.server]", "position = \"50.0N 8.0E\""),
    ("[host.client]", "position = \"48.0N 11.0E\""),
    ("[host.a]", ""),
    ("[host.b]", ""),
    ("[host.b1]", ""),
    ("[host.b2]", ""),
    ("[router.r1]", "position = \"51.0N 7.0E\""),
    ("[router.client-router]", ""),
    ("[gateway.g1]", "lan-links = \"access\""),
    ("[gateway.g2]", "lan-links = \"far\""),
    ("[link.access]", "between = [\"server\", \"g1\"]"),
    ("[link.up]", "between = [\"g1\", \"r1\"]"),
    ("[link.sat]", "between = [\"r1\", \"client\"]\nrate = \"1Mbit/s\""),
    ("[link.return]", "between = [\"client-router\", \"r1\"]"),
    ("[link.far]", "between = [\"b\", \"g2\"]"),
    ("[link.down]", "between = [\"g2\", \"r1\"]"),
    ("[link.a]", "between = [\"a\", \"r1\"]"),
    ("[link.b1]", "between = [\"b1\", \"r1\"]"),
    ("[link.bottleneck]", "between = [\"r1\", \"b2\"]\nrate = \"1Mbit/s\""),
    ("[flow.main]", "from = \"server\"\nto = \"client\""),
];

#[test]
fn the_examples_are_sound() {
    for section in reference::sections().filter(|section| !section.example.is_empty()) {
        // Where a line without a table belongs.
        let at = match section.path {
            path if path.starts_with("link") || path.starts_with("queue") => {
                "[link.sat]\nbetween = [\"r1\", \"client\"]\nrate = \"1Mbit/s\"\n"
            }
            path if path.starts_with("gateway") => "[gateway.g1]\nlan-links = \"access\"\n",
            "a random time or size" => {
                "[flow.main]\nfrom = \"a\"\nto = \"b\"\nworkload = \"request-response\"\n"
            }
            "a page" => "[flow.main]\nfrom = \"a\"\nto = \"b\"\nworkload = \"http/1.0\"\n",
            _ => "[sweep]\n",
        };
        let table = if section.example.starts_with('[') { "" } else { at };
        let example = format!("{table}{}\n", section.example);
        let others = NETWORK.iter().filter(|(header, _)| !example.contains(header));
        let network: String = others.map(|(header, keys)| format!("{header}\n{keys}\n")).collect();
        let text = format!("{network}{example}");
        let read = |path: &str| match path.ends_with(".tle") {
            true => Ok(include_str!("../../../scenarios/shell.tle").to_owned()),
            false => Ok("time,rate\n0s,1Mbit/s\n".to_owned()),
        };
        if let Err(error) = Experiment::parse(section.path, &text, &read) {
            panic!("{error}\n{text}");
        }
    }
}

/// A queue that is given a declared default is as one of which nothing is said.
#[test]
fn the_declared_defaults_of_queues_hold() {
    let queue = |table: &str| {
        let network = "run = { duration = \"1s\" }\n[host]\na = {}\nb = {}\n[link.l]\nbetween = [\"a\", \"b\"]\n";
        let text = format!("{network}rate = \"8Mbit/s\"\nqueue = {{ {table} }}\n");
        let scenario = Scenario::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        scenario.links[0].forward.queue
    };
    let mut compared = 0;
    for section in reference::sections() {
        let Some(kind) = section.path.strip_prefix("queue, ") else { continue };
        let needed = if kind == "policer" { ", rate = \"8Mbit/s\", burst = \"30KB\"" } else { "" };
        let usual = queue(&format!("kind = \"{kind}\"{needed}"));
        for field in section.fields.iter().filter(|field| !field.default().contains(' ')) {
            let default = field.default();
            let default = default.trim_matches('`');
            if default.is_empty() || field.key == "kind" {
                continue;
            }
            let plain = default == "true" || default == "false" || default.parse::<f64>().is_ok();
            let value = if plain { default.to_owned() } else { format!("\"{default}\"") };
            assert_eq!(
                queue(&format!("kind = \"{kind}\"{needed}, {} = {value}", field.key)),
                usual
            );
            compared += 1;
        }
    }
    assert!(compared >= 10, "{compared}");
}
