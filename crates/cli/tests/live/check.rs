//! `bentpipe gateway check` says what keeps a gateway from splitting, and its remedies, followed
//! word by word, help.

use std::fs;
use std::path::PathBuf;

use bentpipe_testbed::five_hosts::{Testbed, TestbedConfig};
use serde_json::Value;

use crate::stage::{GATEWAY, build, gateways_wanted};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("check_finds_nothing_where_nothing_is_in_the_way", nothing),
    ("check_says_what_keeps_a_gateway_from_starting", keeps_from_starting),
    ("check_says_what_keeps_a_gateway_from_splitting", keeps_from_splitting),
    ("check_advises", advises),
];

/// The exit code, what is said to people, and to machines.
struct Said {
    splits: bool,
    text: String,
    problems: Vec<Value>,
}

impl Said {
    fn names(&self) -> Vec<&str> {
        self.problems.iter().map(|problem| problem["name"].as_str().expect("a name")).collect()
    }

    fn remedy(&self, number: usize) -> &str {
        self.problems[number]["remedy"].as_str().expect("a remedy")
    }
}

/// Checks G1 for a gateway with these interfaces. It has changed nothing.
fn check(testbed: &Testbed, lan: &str, satellite: &str) -> Said {
    let path: PathBuf = testbed.files().join("check.toml");
    let file = format!("[interfaces]\nlan = [\"{lan}\"]\nsatellite = [\"{satellite}\"]\n");
    fs::write(&path, file).expect("a file");
    let devices = || -> Vec<String> {
        let shown = testbed.g1.output("ip", &["-br", "link"]).expect("interfaces");
        shown.lines().filter_map(|line| line.split(' ').next().map(str::to_owned)).collect()
    };
    let before = devices();
    let run = |json: &[&str]| {
        let mut command = testbed.g1.command(GATEWAY);
        command.arg("check").args(json).arg(&path).output().expect("bentpipe")
    };
    let (text, json) = (run(&[]), run(&["--json"]));
    assert_eq!(devices(), before);
    assert_eq!(text.status, json.status);
    let value: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    let splits = text.status.success();
    assert_eq!(value["splits"], splits, "{value}");
    let problems = value["problems"].as_array().expect("a list").clone();
    Said { splits, text: String::from_utf8(text.stdout).expect("text"), problems }
}

fn stage() -> Option<Testbed> {
    gateways_wanted().then(|| build(TestbedConfig::default()))
}

fn nothing() {
    let Some(testbed) = stage() else { return };
    let said = check(&testbed, "lan0", "sat0");
    assert!(said.splits && said.problems.is_empty(), "{}", said.text);
    assert_eq!(said.text, "nothing is in the way: a gateway splits here\n");
}

fn keeps_from_starting() {
    let Some(testbed) = stage() else { return };
    let said = check(&testbed, "lan0", "sat7");
    assert_eq!((said.splits, said.names()), (false, vec!["interface"]), "{}", said.text);
    assert!(said.text.starts_with("does not start: there is no interface sat7"), "{}", said.text);

    testbed.g1.sysctl("net.ipv4.conf.lan0.forwarding", "0").expect("sysctl");
    testbed.g1.sysctl("net.ipv4.conf.sat0.forwarding", "0").expect("sysctl");
    let said = check(&testbed, "lan0", "sat0");
    assert_eq!((said.splits, said.names()), (false, vec!["interface"; 2]), "{}", said.text);
    for remedy in said.text.split('`').skip(1).step_by(2) {
        testbed.g1.output("sh", &["-c", remedy]).expect(remedy);
    }
    let after = check(&testbed, "lan0", "sat0");
    assert!(after.splits, "{} {}", said.text, after.text);
}

fn keeps_from_splitting() {
    let Some(testbed) = stage() else { return };
    testbed
        .g1
        .output(
            "sh",
            &["-c", "ip link add br0 type bridge; ip link set br0 up; ip link set lan0 master br0"],
        )
        .expect("a bridge");
    let said = check(&testbed, "lan0", "sat0");
    assert_eq!((said.splits, said.names()), (false, vec!["port"]), "{}", said.text);
    assert_eq!(said.problems[0]["effect"], "splits-nothing");
    // It says to configure that one.
    let other = said.remedy(0).strip_prefix("configure ").expect("what to configure");
    assert!(check(&testbed, other, "sat0").splits);
}

fn advises() {
    let Some(testbed) = stage() else { return };
    testbed.g1.sysctl("net.ipv6.conf.all.forwarding", "0").expect("sysctl");
    testbed.g1.ip("link set sat0 mtu 1400\n").expect("an MTU");
    // As a router's advertisement leaves it.
    testbed.g1.sysctl("net.ipv6.conf.sat0.accept_ra", "1").expect("sysctl");
    let route = "-6 route add default via fe80::7 dev sat0 proto ra metric 512 onlink";
    testbed.g1.output("ip", &route.split(' ').collect::<Vec<_>>()).expect("a route");
    let said = check(&testbed, "lan0", "sat0");
    assert!(said.splits, "{}", said.text);
    assert_eq!(said.names(), ["ipv6-forwarding", "mtu"], "{}", said.text);
    assert!(said.text.ends_with("\na gateway splits here\n"), "{}", said.text);
    for number in 0..2 {
        testbed.g1.output("sh", &["-c", said.remedy(number)]).expect("it is a command");
    }
    assert_eq!(check(&testbed, "lan0", "sat0").names(), [""; 0], "{}", said.text);

    testbed.g1.sysctl("net.ipv6.conf.sat0.accept_ra", "1").expect("sysctl");
    let said = check(&testbed, "lan0", "sat0");
    assert_eq!(said.names(), ["router-advertisements"], "{}", said.text);
    testbed.g1.output("sh", &["-c", said.remedy(0)]).expect("it is a command");
    assert_eq!(check(&testbed, "lan0", "sat0").names(), [""; 0], "{}", said.text);
}
