//! A firewall that would drop what comes through a gateway: nothing is split, all connections pass, and
//! what the gateway's log says to run is enough.

use std::sync::Arc;
use std::time::Duration;

use bentpipe_net::netns::Namespace;
use bentpipe_net::netns::process::Process;
use bentpipe_net::testbed::{Place, Testbed, TestbedConfig};
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::life::exchange;
use crate::observation::ask;
use crate::stage::{Ends, FAMILIES, build, fast_link, gateways_wanted};
use crate::toolbox::wait_longer;

pub(crate) const CASES: &[(&str, fn())] = &[
    ("remedy_at_the_clients_router_is_enough", || remedy_is_enough(Place::Near, &DEFAULT_DROP)),
    ("remedy_at_the_hub_is_enough", || remedy_is_enough(Place::Far, &DEFAULT_DROP)),
    ("remedy_for_answers_by_interface_is_enough", || {
        remedy_is_enough(Place::Near, &ANSWERS_BY_INTERFACE);
    }),
    ("remedy_for_a_conditional_drop_is_enough", || remedy_is_enough(Place::Near, &CONDITIONAL)),
    ("remedy_for_a_policy_by_interface_is_enough", || remedy_is_enough(Place::Near, &POLICY)),
    ("firewall_that_comes_later_lets_connections_pass", firewall_comes_later),
    ("watchdog_lets_what_sleeps_sleep", watchdog_lets_it_sleep),
    ("port_of_a_bridge_is_named", port_of_a_bridge),
];

/// From one look at the firewall to the next.
const LOOK: Duration = Duration::from_secs(60);
const ASLEEP: &str = "nothing is split until that is out of the way";
const AWAKE: &str = "nothing is in the way any more: new connections are split";

/// What is set up in a router, with the interface where connections begin and the other one.
struct Obstacle {
    commands: fn(from: &str, to: &str) -> String,
}

const DEFAULT_DROP: Obstacle = Obstacle {
    commands: |from, to| {
        format!(
            "nft 'table inet site {{ chain forward {{ type filter hook forward priority 0; policy drop; \
             ct state established,related accept; iifname \"{from}\" oifname \"{to}\" accept; }}; }}'"
        )
    },
};
const ANSWERS_BY_INTERFACE: Obstacle = Obstacle {
    commands: |from, to| {
        format!(
            "nft 'table inet site {{ chain forward {{ type filter hook forward priority 0; policy drop; \
             iifname \"{from}\" oifname \"{to}\" accept; \
             iifname \"{to}\" oifname \"{from}\" ct state established accept; }}; }}'"
        )
    },
};
const CONDITIONAL: Obstacle = Obstacle {
    commands: |from, to| {
        format!(
            "nft 'table inet site {{ chain forward {{ type filter hook forward priority 0; \
             iifname \"{from}\" oifname != \"{to}\" drop; iifname != {{ \"{from}\", \"{to}\" }} reject; }}; }}'"
        )
    },
};
const POLICY: Obstacle = Obstacle {
    commands: |from, _| {
        format!(
            "ip rule add iif {from} lookup main priority 1000; \
             ip -6 rule add iif {from} lookup main priority 1000"
        )
    },
};

/// What a gateway's log says to run is run, word by word; then connections pass, and are split.
fn remedy_is_enough(place: Place, obstacle: &Obstacle) {
    if !gateways_wanted() {
        return;
    }
    let (testbed, gateway) = obstructed(place, obstacle);
    let (_, router) = testbed.gateway_at(place);
    wait_until_said(&gateway, ASLEEP);
    let status = ask(router, "status");
    assert_eq!(status["diverting"], false, "{status}");
    assert!(status["findings"].as_array().is_some_and(|it| !it.is_empty()), "{status}");
    pass(&testbed);
    let said = gateway.stderr();
    assert_eq!(split(router), 0, "{said}");

    let commands = until_you_run(&said);
    assert!(!commands.is_empty(), "{said}");
    for command in commands {
        router.output("sh", &["-c", command]).expect(command);
    }
    wait_until_said(&gateway, AWAKE);
    pass(&testbed);
    assert_eq!(split(router), 2, "{}", gateway.stderr());
    let status = ask(router, "status");
    assert_eq!(status["diverting"], true, "{status}");
    let forbidding = |finding: &Value| finding["forbids_diversion"] == true;
    assert!(!status["findings"].as_array().expect("a list").iter().any(forbidding), "{status}");
}

/// The commands that a log names.
fn until_you_run(said: &str) -> Vec<&str> {
    said.lines().filter_map(|line| Some(line.split_once("until you run: ")?.1)).collect()
}

/// Connections pass from when the gateway has seen it, and are split again once it has gone.
fn firewall_comes_later() {
    if !gateways_wanted() {
        return;
    }
    let mut testbed = build(TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() });
    testbed.start_gateway(Place::Near).expect("a gateway");
    let gateway = testbed.take_gateway(Place::Near).expect("a gateway");
    let testbed = Arc::new(testbed);
    pass(&testbed);
    assert_eq!(split(&testbed.g1), 2);
    testbed.g1.output("sh", &["-c", &(DEFAULT_DROP.commands)("lan0", "sat0")]).expect("a firewall");
    wait_until_said(&gateway, ASLEEP);
    wait_until_asleep(&testbed.g1, &gateway);
    pass(&testbed);
    assert_eq!(split(&testbed.g1), 2, "{}", gateway.stderr());
    // Somebody flushes all tables, in one step with the firewall's return: ours is made again, and sleeps on.
    let firewall = (DEFAULT_DROP.commands)("lan0", "sat0");
    let flush = firewall.replacen("nft '", "nft 'flush ruleset; ", 1);
    testbed.g1.output("sh", &["-c", &flush]).expect("flushed");
    wait_until_said(&gateway, "(gone)");
    wait_until_asleep(&testbed.g1, &gateway);
    pass(&testbed);
    assert_eq!(split(&testbed.g1), 2, "{}", gateway.stderr());

    testbed.g1.output("nft", &["delete", "table", "inet", "site"]).expect("it goes");
    wait_until_said(&gateway, AWAKE);
    pass(&testbed);
    assert_eq!(split(&testbed.g1), 4, "{}", gateway.stderr());
}

/// A gateway whose rules are disabled as something is in the way, and that hangs for a while: its watchdog
/// does not enable them.
fn watchdog_lets_it_sleep() {
    if !gateways_wanted() {
        return;
    }
    let (testbed, mut gateway) = obstructed(Place::Near, &DEFAULT_DROP);
    gateway.signal(Signal::SIGSTOP);
    wait_until_said(&gateway, "the gateway does not answer");
    gateway.signal(Signal::SIGCONT);
    wait_until_said(&gateway, "the gateway answers again");
    assert!(is_asleep(&testbed.g1), "{}", gateway.stderr());
    pass(&testbed);
    assert!(is_asleep(&testbed.g1), "{}", gateway.stderr());
    assert_eq!(split(&testbed.g1), 0, "{}", gateway.stderr());
}

/// The configured interface is a port of a bridge: connections pass, and the log names the bridge.
fn port_of_a_bridge() {
    if !gateways_wanted() {
        return;
    }
    const BRIDGE: Obstacle = Obstacle {
        commands: |_, _| {
            "ip link add br0 type bridge; ip link set br0 up; ip link set lan0 master br0; \
             ip address flush dev lan0; ip address add 10.91.1.1/24 dev br0; \
             ip address add fd00:91:0:1::1/64 dev br0 nodad"
                .into()
        },
    };
    let (testbed, gateway) = obstructed(Place::Near, &BRIDGE);
    wait_until_said(&gateway, "lan0 is a port of br0");
    wait_until_said(&gateway, "configure br0");
    pass(&testbed);
}

/// A testbed with one gateway, which was started when the obstacle was there.
fn obstructed(place: Place, obstacle: &Obstacle) -> (Arc<Testbed>, Process) {
    let mut testbed = build(TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() });
    let (from, to) = match place {
        Place::Near => ("lan0", "sat0"),
        Place::Far => ("sat0", "lan0"),
    };
    let (_, router) = testbed.gateway_at(place);
    router.output("sh", &["-c", &(obstacle.commands)(from, to)]).expect("an obstacle");
    testbed.start_gateway(place).expect("a gateway");
    let gateway = testbed.take_gateway(place).expect("a gateway");
    (Arc::new(testbed), gateway)
}

/// New connections of both families are whole.
fn pass(testbed: &Arc<Testbed>) {
    FAMILIES.into_iter().for_each(|family| exchange(&Ends::of(testbed, family), 100_000));
}

fn split(router: &Namespace) -> u64 {
    ask(router, "status")["totals"]["split"].as_u64().expect("a count")
}

fn is_asleep(router: &Namespace) -> bool {
    let table = ["list", "table", "inet", "bentpipe-gateway"];
    router.output("nft", &table).is_ok_and(|table| table.contains("flags dormant"))
}

fn wait_until_asleep(router: &Namespace, gateway: &Process) {
    wait_until(gateway, "a table that sleeps", || is_asleep(router));
}

fn wait_until_said(gateway: &Process, what: &str) {
    wait_until(gateway, what, || gateway.stderr().contains(what));
}

fn wait_until(gateway: &Process, what: &str, is_so: impl Fn() -> bool) {
    wait_longer(LOOK, what, || if is_so() { Ok(()) } else { Err(gateway.stderr()) });
}
