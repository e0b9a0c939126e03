//! What else a router does that a gateway stands on: firewalls and policy routing, which it needs
//! nothing of, and what it cannot work with, where nothing is split, all connections pass, and the
//! log says what to do.

use std::sync::Arc;
use std::time::Duration;

use bentpipe_linux::netns::Namespace;
use bentpipe_linux::netns::process::Process;
use bentpipe_testbed::five_hosts::{BOTH, GatewayPosition, Testbed, TestbedConfig};
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::life::exchange;
use crate::observation::{ask, await_split};
use crate::stage::{FAMILIES, StageEnds, build, fast_link, gateways_wanted};
use crate::toolbox::{await_said, wait_longer};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("default_drop_is_no_obstacle", || no_obstacle(&DEFAULT_DROP)),
    ("answers_by_interface_are_no_obstacle", || no_obstacle(&ANSWERS_BY_INTERFACE)),
    ("conditional_drop_is_no_obstacle", || no_obstacle(&CONDITIONAL)),
    ("policy_by_interface_is_no_obstacle", || no_obstacle(&POLICY)),
    ("firewall_that_comes_later_is_no_obstacle", firewall_comes_later),
    ("port_of_a_bridge_is_named", port_of_a_bridge),
];

/// From one look around to the next.
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

/// Connections pass and are split at either end, and nothing is said.
fn no_obstacle(obstacle: &Obstacle) {
    if !gateways_wanted() {
        return;
    }
    for position in BOTH {
        let (testbed, gateway) = obstructed(position, obstacle);
        let (_, router) = testbed.gateway_at(position);
        pass(&testbed);
        assert_eq!(split(router), 2, "{}", gateway.stderr());
        let status = ask(router, "status");
        assert_eq!(status["diverting"], true, "{status}");
        let forbidding = |finding: &Value| finding["forbids_diversion"] == true;
        assert!(!status["findings"].as_array().expect("a list").iter().any(forbidding), "{status}");
        assert!(!gateway.stderr().contains("WARN"), "{}", gateway.stderr());
    }
}

/// A firewall is loaded, flushed with all tables and loaded again, and goes: new connections pass
/// and are split all the time.
fn firewall_comes_later() {
    if !gateways_wanted() {
        return;
    }
    let mut testbed = build(TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() });
    testbed.start_gateway(GatewayPosition::Near).expect("a gateway");
    let gateway = testbed.take_gateway(GatewayPosition::Near).expect("a gateway");
    let testbed = Arc::new(testbed);
    let firewall = (DEFAULT_DROP.commands)("lan0", "sat0");
    let flushed = firewall.replacen("nft '", "nft 'flush ruleset; ", 1);
    let steps = ["true", &firewall, &flushed, "nft delete table inet site"];
    for (step, number) in steps.into_iter().zip(1..) {
        testbed.g1.output("sh", &["-c", step]).expect(step);
        pass(&testbed);
        assert_eq!(split(&testbed.g1), 2 * number, "{step}: {}", gateway.stderr());
    }
}

/// The configured interface is a port of a bridge: connections pass, and the log names the bridge.
/// A watchdog does not change that, and once the bridge is gone connections are split.
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
    let (testbed, mut gateway) = obstructed(GatewayPosition::Near, &BRIDGE);
    wait_until_said(&gateway, ASLEEP);
    wait_until_said(&gateway, "lan0 is a port of br0");
    wait_until_said(&gateway, "configure br0");
    let status = ask(&testbed.g1, "status");
    assert_eq!(status["diverting"], false, "{status}");
    pass(&testbed);
    gateway.signal(Signal::SIGSTOP);
    await_said(&gateway, "the gateway does not answer", 1);
    gateway.signal(Signal::SIGCONT);
    await_said(&gateway, "the gateway answers again", 1);
    pass(&testbed);
    assert_eq!(split(&testbed.g1), 0, "{}", gateway.stderr());

    // Set down and up, it has a link-local address again, without which nobody finds it.
    let back = "ip link delete br0; ip link set lan0 down; ip link set lan0 up; \
                ip address replace 10.91.1.1/24 dev lan0; \
                ip address replace fd00:91:0:1::1/64 dev lan0 nodad";
    testbed.g1.output("sh", &["-c", back]).expect("it goes");
    wait_until_said(&gateway, AWAKE);
    FAMILIES.into_iter().for_each(|family| await_split(&testbed, GatewayPosition::Near, family));
}

/// A testbed with one gateway, which was started when the obstacle was there.
fn obstructed(position: GatewayPosition, obstacle: &Obstacle) -> (Arc<Testbed>, Process) {
    let mut testbed = build(TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() });
    let (from, to) = match position {
        GatewayPosition::Near => ("lan0", "sat0"),
        GatewayPosition::Far => ("sat0", "lan0"),
    };
    let (_, router) = testbed.gateway_at(position);
    router.output("sh", &["-c", &(obstacle.commands)(from, to)]).expect("an obstacle");
    testbed.start_gateway(position).expect("a gateway");
    let gateway = testbed.take_gateway(position).expect("a gateway");
    (Arc::new(testbed), gateway)
}

/// New connections of both families are whole.
fn pass(testbed: &Arc<Testbed>) {
    FAMILIES.into_iter().for_each(|family| exchange(&StageEnds::of(testbed, family), 100_000));
}

fn split(router: &Namespace) -> u64 {
    ask(router, "status")["totals"]["split"].as_u64().expect("a count")
}

fn wait_until_said(gateway: &Process, what: &str) {
    wait_longer(LOOK, what, || match gateway.stderr() {
        said if said.contains(what) => Ok(()),
        said => Err(said),
    });
}
