//! `bentpipe gateway why` says what becomes of a connection, and that is what becomes of it;
//! `enable --try` goes back by itself.

use std::fs;
use std::net::IpAddr;
use std::sync::Arc;

use bentpipe_linux::netns::process::Process;
use bentpipe_testbed::five_hosts::{Testbed, TestbedConfig};
use serde_json::{Value, json};

use crate::life::exchange;
use crate::observation::ask;
use crate::pair::{Pair, pairs, part, talk};
use crate::stage::{
    FAMILIES, Family, GATEWAY, StageEnds, build, fast_link, gateway_by, gateways_wanted,
};
use crate::toolbox::{await_said, wait_until};
use nix::sys::signal::Signal;

pub(crate) const CASES: &[(&str, fn())] = &[
    ("why_says_by_which_route_a_connection_is_not_split", routes),
    ("why_says_which_rule_or_limit_keeps_a_connection_whole", rules),
    ("why_knows_who_is_behind_masquerade", behind_masquerade),
    ("why_knows_connections_from_the_satellite", from_satellite),
    ("what_is_enabled_on_trial_goes_back_unless_confirmed", trial),
];

/// A gateway in G1 with more in its file.
fn stage(more: &str) -> (Arc<Testbed>, Process) {
    let testbed = build(TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() });
    let text = format!("[interfaces]\nlan = [\"lan0\"]\nsatellite = [\"sat0\"]\n{more}\n");
    let gateway = gateway_by(&testbed, &text);
    (Arc::new(testbed), gateway)
}

fn run(testbed: &Testbed, arguments: &[&str]) -> String {
    let mut command = testbed.g1.command(GATEWAY);
    let output = command.args(arguments).output().expect("bentpipe");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// What it says of connections from one address to another's port 443, to machines; to people it
/// says as much.
fn why(testbed: &Testbed, client: IpAddr, server: IpAddr, port: u16) -> Value {
    let (client, server, port) = (client.to_string(), server.to_string(), port.to_string());
    let text = run(testbed, &["why", &client, &server, &port]);
    let json = run(testbed, &["why", &client, &server, &port, "--json"]);
    let value: Value = serde_json::from_str(&json).expect("JSON");
    for hindrance in value["hindrances"].as_array().expect("a list") {
        let cause = hindrance["cause"].as_str().expect("a cause");
        assert!(text.contains(cause), "{text} {value}");
    }
    let would_not = value["splits"] == false && value["split_now"] == false;
    assert_eq!(text.contains("would not be split"), would_not, "{text} {value}");
    value
}

fn names(value: &Value) -> Vec<&str> {
    let hindrances = value["hindrances"].as_array().expect("a list");
    hindrances.iter().map(|it| it["name"].as_str().expect("a name")).collect()
}

/// By source, by mark and by destination, policy routing leads past the satellite.
fn routes() {
    if !gateways_wanted() {
        return;
    }
    let (testbed, _gateway) = stage("");
    for family in FAMILIES {
        let value = why(&testbed, family.h1(), family.h2(), 443);
        assert_eq!((&value["splits"], names(&value)), (&json!(true), vec![]), "{value}");
        assert_eq!(value["routes"]["there"]["devices"], json!(["sat0"]), "{value}");
        exchange(&StageEnds::of(&testbed, family), 20_000);
    }
    assert_eq!(ask(&testbed.g1, "status")["totals"]["split"], FAMILIES.len());
    let backup = "ip link add wan1 type veth peer name far1; ip addr add 10.77.0.1/24 dev wan1
        ip -6 addr add fd77::1/64 dev wan1 nodad; ip link set wan1 up; ip link set far1 up
        for family in -4 -6; do
            ip $family route add default dev wan1 table 5
            ip $family rule add fwmark 0x200/0x3f00 lookup 5 pref 2000
        done";
    testbed.g1.output("sh", &["-c", backup]).expect("another way");
    for (family, flag) in [(Family::V4, "-4"), (Family::V6, "-6")] {
        let (client, server) = (family.h1(), family.h2());
        // Only the firewall knows which packets it marks.
        let value = why(&testbed, client, server, 443);
        assert_eq!((&value["splits"], names(&value)), (&Value::Null, vec![]), "{value}");
        let marked = &value["routes"]["there"]["by_mark"]["0x200"];
        assert_eq!(marked["devices"], json!(["wan1"]), "{value}");
        assert!(marked["rule"].as_str().is_some_and(|rule| rule.starts_with("2000:")), "{value}");

        let rule = format!("ip {flag} rule add from {client} lookup 5 pref 1000");
        testbed.g1.output("sh", &["-c", &rule]).expect("a rule");
        let value = why(&testbed, client, server, 443);
        assert_eq!(names(&value), ["other_interface"], "{value}");
        let cause = value["hindrances"][0]["cause"].as_str().expect("a cause");
        assert!(cause.contains("wan1") && cause.contains("1000: from"), "{cause}");
        // A client of nobody's.
        let stranger = if client.is_ipv4() { "10.77.0.9" } else { "fd77::9" };
        let value = why(&testbed, stranger.parse().expect("an address"), server, 443);
        assert_eq!(names(&value), ["other_interface"], "{value}");
    }
    let router = "10.91.1.1".parse().expect("the router's address");
    let value = why(&testbed, Testbed::H1_V4, router, 22);
    assert!(names(&value).contains(&"local"), "{value}");
    // Half of the connections take each hop.
    let hops =
        "ip route add 10.99.0.0/16 nexthop dev sat0 nexthop dev wan1 && ip rule del pref 1000";
    testbed.g1.output("sh", &["-c", hops]).expect("a route");
    let value = why(&testbed, Testbed::H1_V4, "10.99.0.1".parse().expect("an address"), 443);
    assert_eq!((&value["splits"], names(&value)), (&Value::Null, vec![]), "{value}");
    testbed.g1.output("ip", &["route", "add", "blackhole", "10.98.0.0/16"]).expect("a route");
    let value = why(&testbed, Testbed::H1_V4, "10.98.0.1".parse().expect("an address"), 443);
    assert_eq!(names(&value), ["no_route"], "{value}");
    for wrong in
        [&["why", "99"][..], &["why", "f99"], &["why", "x"], &["why", "10.0.0.1", "fd00::1", "443"]]
    {
        let mut command = testbed.g1.command(GATEWAY);
        let output = command.args(wrong).output().expect("bentpipe");
        assert!(!output.status.success() && output.stdout.is_empty(), "{wrong:?}: {output:?}");
    }
}

/// The policy's rules and the limits, and what was not split before.
fn rules() {
    if !gateways_wanted() {
        return;
    }
    let (testbed, _gateway) = stage(
        "[limits]\nflows-per-client = 1\n[[policy.rule]]\naction = \"forward\"\nport = [22]\n[[policy.rule]]\n\
         action = \"observe\"\nport = [23]",
    );
    let (client, server) = (Testbed::H1_V4, Testbed::H2_V4);
    for (port, name, rule) in [(22, "policy", 1), (23, "observed", 2)] {
        let value = why(&testbed, client, server, port);
        assert_eq!((names(&value), &value["policy_rule"]), (vec![name], &json!(rule)), "{value}");
    }
    let split = pairs(&testbed, 1);
    let port = |pairs: &[Pair]| pairs[0].ends()[1].port();
    let value = why(&testbed, client, server, port(&split));
    assert_eq!(value["flows"].as_array().map(Vec::len), Some(1), "{value}");
    let number = value["flows"][0]["number"].to_string();
    let text = run(&testbed, &["why", &number]);
    assert!(text.contains("is split (open"), "{text}");
    assert_eq!(value["split_now"], true, "{value}");
    let value = why(&testbed, client, server, 443);
    assert_eq!((names(&value), &value["flows_of_client"]), (vec!["client-limit"], &json!(1)));
    // It is so, and known afterwards.
    let beyond = pairs(&testbed, 1);
    let value = why(&testbed, client, server, port(&beyond));
    assert_eq!(value["before"][0]["reason"], "client-limit", "{value}");
    let number = value["before"][0]["number"].as_str().expect("a number").to_owned();
    assert!(run(&testbed, &["flows", "--forwarded"]).contains(&number));
    let text = run(&testbed, &["why", &number]);
    assert!(text.contains("`flows-per-client`"), "{text}");
    for pair in split.into_iter().chain(beyond) {
        talk(&pair, 20_000);
        part(pair);
    }
}

/// The client is named by its own address, which the satellite's side never sees.
fn behind_masquerade() {
    if !gateways_wanted() {
        return;
    }
    let (testbed, _gateway) = stage("");
    let masquerade = "table inet nat { chain post { type nat hook postrouting priority 100; oifname sat0 masquerade; }; }\n";
    testbed.g1.nft(masquerade).expect("masquerade");
    let split = pairs(&testbed, 1);
    for pair in &split {
        let [client, server] = pair.ends();
        let value = why(&testbed, client.ip(), server.ip(), server.port());
        assert_eq!(value["flows"].as_array().map(Vec::len), Some(1), "{value}");
        assert_ne!(value["flows"][0]["client"], client.to_string(), "{value}");
    }
    for pair in split {
        talk(&pair, 20_000);
        part(pair);
    }
}

/// From the satellite's side it is the LAN that is to be reached.
fn from_satellite() {
    if !gateways_wanted() {
        return;
    }
    let (testbed, _gateway) = stage("");
    for family in FAMILIES {
        let (client, server) = (family.h2().to_string(), family.h1().to_string());
        let json = run(&testbed, &["why", "--from-satellite", &client, &server, "80", "--json"]);
        let value: Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!((&value["splits"], names(&value)), (&json!(true), vec![]), "{value}");
        assert_eq!(value["routes"]["there"]["devices"], json!(["lan0"]), "{value}");
        let wrong = run(&testbed, &["why", &client, &server, "80", "--json"]);
        let value: Value = serde_json::from_str(&wrong).expect("JSON");
        assert_eq!(names(&value), ["other_interface"; 2], "{value}");
    }
}

/// Packets that the gateway has written into its devices.
fn given_back(testbed: &Testbed) -> u64 {
    let count = |device| {
        let output = testbed.g1.command("ip").args(["-j", "-s", "link", "show", device]).output();
        let shown: Value = serde_json::from_slice(&output.expect("ip").stdout).expect("JSON");
        shown[0]["stats64"]["rx"]["packets"].as_u64().expect("a number")
    };
    count("bp-lan") + count("bp-sat")
}

/// A gateway that observes: on trial it splits, and what it has split then goes on behind the
/// trial.
fn trial() {
    if !gateways_wanted() {
        return;
    }
    let (testbed, mut gateway) = stage("[policy]\nobserve = true");
    let split = || ask(&testbed.g1, "status")["totals"]["split"].as_u64().expect("a number");
    let observes = || ask(&testbed.g1, "status")["observes"] == true;
    // The kernel says something of its own as the devices come up.
    let own = given_back(&testbed);
    let before = pairs(&testbed, 1);
    assert_eq!((split(), observes()), (0, true));
    // It has seen them, and nothing has gone through it.
    assert_eq!(given_back(&testbed), own);
    let status = ask(&testbed.g1, "status");
    assert!(status["totals"]["forwarded_flows"]["observed"].as_u64() >= Some(2), "{status}");
    let checked = |splits: bool| {
        let mut command = testbed.g1.command(GATEWAY);
        let status = command.arg("check").output().expect("bentpipe").status;
        assert_eq!(status.success(), splits);
    };
    checked(false);
    run(&testbed, &["enable", "--try", "1h"]);
    let during = pairs(&testbed, 1);
    assert_eq!((split(), observes()), (FAMILIES.len() as u64, false));
    checked(true);
    during.iter().for_each(|pair| talk(pair, 100_000));
    // Another one in its place, that ends at once.
    run(&testbed, &["enable", "--try", "1ms"]);
    await_said(&gateway, "the trial is over, and nobody has confirmed it", 1);
    wait_until("it observes", || observes().then_some(()).ok_or_else(|| gateway.stderr()));
    wait_until("its flows are released", || {
        let status = ask(&testbed.g1, "status");
        let released = status["totals"]["released"]["observe"] == FAMILIES.len();
        released.then_some(()).ok_or_else(|| status.to_string())
    });
    let behind = pairs(&testbed, 1);
    assert_eq!(split(), FAMILIES.len() as u64);
    run(&testbed, &["enable", "--try", "1h"]);
    run(&testbed, &["enable"]);
    assert_eq!(ask(&testbed.g1, "status")["trial_left_s"], Value::Null);
    let confirmed = pairs(&testbed, 1);
    assert_eq!(split(), 2 * FAMILIES.len() as u64);
    // What splits is not turned off by a trial.
    let mut command = testbed.g1.command(GATEWAY);
    let refused = command.args(["enable", "--try", "1ms"]).output().expect("bentpipe");
    assert!(!refused.status.success() && !observes(), "{refused:?}");
    run(&testbed, &["disable"]);
    assert!(observes());
    // A file that says what it said before does not end a trial, and one that says otherwise does.
    run(&testbed, &["enable", "--try", "1h"]);
    assert!(!observes());
    gateway.signal(Signal::SIGHUP);
    await_said(&gateway, "read again: nothing has changed", 1);
    assert!(!observes());
    let path = testbed.files().join("gateway.toml");
    let file = fs::read_to_string(&path).expect("its file");
    fs::write(&path, file.replace("observe = true", "observe = false")).expect("a file");
    gateway.signal(Signal::SIGHUP);
    await_said(&gateway, "read again: policy changed", 1);
    assert_eq!(ask(&testbed.g1, "status")["trial_left_s"], Value::Null);
    fs::write(&path, file).expect("a file");
    gateway.signal(Signal::SIGHUP);
    await_said(&gateway, "read again: policy changed", 2);
    assert!(observes());
    for pair in [before, during, behind, confirmed].into_iter().flatten() {
        talk(&pair, 100_000);
        part(pair);
    }
}
