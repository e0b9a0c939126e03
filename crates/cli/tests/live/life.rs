//! The life of a gateway: it comes while connections stand, it ends, it is killed.

use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bentpipe_linux::netns::Namespace;
use bentpipe_testbed::five_hosts::{BOTH, Firewall, GatewayPosition, Testbed, TestbedConfig};

use crate::observation::ask;
use crate::stage::{
    FAMILIES, Family, StageEnds, build, fast_link, gateways_wanted, start_gateways,
};
use crate::toolbox::{
    accept, assert_same, content, finish, read_through, receive, receive_to_end, send, wait_until,
};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("older_connection_passes", older_connection_passes),
    ("killed_near_gateway", || killed_gateway(GatewayPosition::Near)),
    ("killed_far_gateway", || killed_gateway(GatewayPosition::Far)),
    ("stopped_gateway_leaves_nothing", stopped_gateway_leaves_nothing),
    ("connections_of_stopped_gateways_are_split_again", connections_are_split_again),
    ("firewall_by_device_is_passed", firewall_by_device_is_passed),
    ("one_gateway_is_enough", one_gateway_is_enough),
];

fn on_fast_link() -> Testbed {
    build(TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() })
}

/// G99-D-9: a connection that was there before the gateways goes on through their start.
fn older_connection_passes() {
    const SIZE: usize = 2_000_000;
    let mut testbed = on_fast_link();
    let pairs: Vec<(TcpStream, TcpStream)> = {
        let shared = Arc::new(testbed);
        let pairs = FAMILIES
            .map(|family| {
                let ends = StageEnds::of(&shared, family);
                let (listener, address) = ends.listen();
                let client = ends.connect(address);
                (client, accept(&listener))
            })
            .into();
        testbed = Arc::into_inner(shared).expect("the only holder");
        pairs
    };
    thread::scope(|scope| {
        for (client, server) in &pairs {
            // One end talks on while the gateways start.
            scope.spawn(move || {
                for chunk in content(8, SIZE).chunks(20_000) {
                    send(server, chunk);
                    thread::sleep(Duration::from_millis(20));
                }
            });
            scope.spawn(move || assert_same("down", &content(8, SIZE), &receive(client, SIZE)));
        }
        thread::sleep(Duration::from_millis(300));
        start_gateways(&mut testbed);
    });
    for (client, server) in &pairs {
        let rest = content(9, 100_000);
        thread::scope(|scope| {
            scope.spawn(|| {
                send(client, &rest);
                finish(client);
            });
            assert_same("up", &rest, &receive_to_end(server));
        });
        finish(server);
        assert!(receive_to_end(client).is_empty());
    }
}

/// G01-D-22: with a killed gateway go its devices, so that new connections work at once; an old one
/// may fail, but not end short.
fn killed_gateway(position: GatewayPosition) {
    const SIZE: usize = 20_000_000;
    let mut testbed = on_fast_link();
    start_gateways(&mut testbed);
    let killed = testbed.take_gateway(position);
    let testbed = Arc::new(testbed);
    let sent = content(10, SIZE);
    thread::scope(|scope| {
        for family in FAMILIES {
            let ends = StageEnds::of(&testbed, family);
            let (listener, address) = ends.listen();
            let client = ends.connect(address);
            let server = accept(&listener);
            server.set_write_timeout(Some(Duration::from_secs(8))).expect("timeout");
            scope.spawn({
                let sent = &sent;
                // It may be reset or time out; what the client sees is what counts.
                move || _ = std::io::Write::write_all(&mut &server, sent)
            });
            scope.spawn({
                let sent = &sent;
                move || read_through(sent, &client, Duration::from_secs(8))
            });
        }
        thread::sleep(Duration::from_millis(500));
        if let Some(mut gateway) = killed {
            gateway.kill();
            let devices = testbed.gateway_at(position).1.output("ip", &["-brief", "link"]);
            assert!(!devices.as_deref().expect("devices").contains("bp-"), "{devices:?}");
        }
        FAMILIES.into_iter().for_each(|family| exchange(&StageEnds::of(&testbed, family), 100_000));
    });
}

/// SIGTERM: exit code 0, a summary, and G1 as it was before.
fn stopped_gateway_leaves_nothing() {
    if !gateways_wanted() {
        return;
    }
    let mut testbed = on_fast_link();
    let before = BOTH.map(|position| state(testbed.gateway_at(position).1));
    start_gateways(&mut testbed);
    let during = state(&testbed.g1);
    assert!(before[0] != during, "a running gateway must show");
    let mut gateways = BOTH.map(|position| testbed.take_gateway(position).expect("gateway"));
    let testbed = Arc::new(testbed);
    FAMILIES.into_iter().for_each(|family| exchange(&StageEnds::of(&testbed, family), 100_000));
    for gateway in &mut gateways {
        let status = gateway.stop().expect("it ends by itself upon SIGTERM");
        assert!(status.success(), "{status}: {}", gateway.stderr());
        let summary = gateway.stdout();
        assert!(summary.lines().count() > 1, "no summary: {summary:?}");
    }
    for (position, before) in BOTH.into_iter().zip(before) {
        await_unchanged(&before, testbed.gateway_at(position).1);
    }
    exchange(&StageEnds::of(&testbed, Family::V4), 100_000);
}

/// G01-W-1: with `soft-state` the next gateways split the connections that the stopped ones have
/// left, without a SYN, once both ends have spoken again.
fn connections_are_split_again() {
    if !gateways_wanted() {
        return;
    }
    let config = TestbedConfig { link: Some(fast_link()), soft_state: true, ..Default::default() };
    let mut testbed = build(config);
    start_gateways(&mut testbed);
    let mut shared = Arc::new(testbed);
    let pairs = FAMILIES.map(|family| {
        let ends = StageEnds::of(&shared, family);
        let (listener, address) = ends.listen();
        let client = ends.connect(address);
        let server = accept(&listener);
        talk(&client, &server, 20_000, 11);
        (client, server)
    });
    let mut testbed = Arc::get_mut(&mut shared).expect("the only holder");
    for position in BOTH {
        let mut gateway = testbed.take_gateway(position).expect("gateway");
        let status = gateway.stop().expect("it ends by itself upon SIGTERM");
        assert!(status.success(), "{status}: {}", gateway.stderr());
    }
    start_gateways(testbed);
    // What nobody contradicts for a second is believed.
    wait_until("both are split in mid-life", || {
        pairs.iter().for_each(|(client, server)| talk(client, server, 20_000, 12));
        thread::sleep(Duration::from_millis(500));
        let totals =
            BOTH.map(|position| ask(testbed.gateway_at(position).1, "status")["totals"].take());
        match totals.iter().all(|totals| totals["adopted"] == FAMILIES.len()) {
            true => Ok(()),
            false => Err(format!("{totals:?}")),
        }
    });
    testbed = Arc::get_mut(&mut shared).expect("the only holder");
    for position in BOTH {
        let mut gateway = testbed.take_gateway(position).expect("gateway");
        gateway.stop().expect("it ends by itself upon SIGTERM");
        let summary = gateway.stdout();
        assert!(summary.contains("flows split in mid-life: 2"), "{position:?}: {summary}");
    }
    for (client, server) in &pairs {
        talk(client, server, 20_000, 15);
        finish(client);
        assert!(receive_to_end(server).is_empty());
    }
}

/// So many bytes go down, and come up again.
fn talk(client: &TcpStream, server: &TcpStream, size: usize, seed: u64) {
    let sent = content(seed, size);
    thread::scope(|scope| {
        scope.spawn(|| send(server, &sent));
        assert_same("down", &sent, &receive(client, size));
        scope.spawn(|| send(client, &sent));
        assert_same("up", &sent, &receive(server, size));
    });
}

/// A firewall that knows no devices of ours: connections pass and are split, and nothing is said.
fn firewall_by_device_is_passed() {
    if !gateways_wanted() {
        return;
    }
    let firewall = Firewall::StatefulByDevice;
    let mut testbed =
        build(TestbedConfig { link: Some(fast_link()), firewall, ..TestbedConfig::default() });
    start_gateways(&mut testbed);
    let gateways = BOTH.map(|position| testbed.take_gateway(position).expect("gateway"));
    let testbed = Arc::new(testbed);
    FAMILIES.into_iter().for_each(|family| exchange(&StageEnds::of(&testbed, family), 100_000));
    for (position, gateway) in BOTH.into_iter().zip(&gateways) {
        let (_, namespace) = testbed.gateway_at(position);
        assert_eq!(ask(namespace, "status")["totals"]["split"], FAMILIES.len());
        let said = gateway.stderr();
        assert!(!said.contains("in the way") && !said.contains("out of the way"), "{said}");
    }
}

/// H-D-14: either gateway alone carries connections too.
fn one_gateway_is_enough() {
    if !gateways_wanted() {
        return;
    }
    for position in BOTH {
        let mut testbed = on_fast_link();
        testbed.start_gateway(position).expect("gateway");
        let testbed = Arc::new(testbed);
        FAMILIES
            .into_iter()
            .for_each(|family| exchange(&StageEnds::of(&testbed, family), 3_000_000));
    }
}

/// Up and back again over a new connection.
pub(crate) fn exchange(ends: &StageEnds, size: usize) {
    let sent = content(12, size);
    let (listener, address) = ends.listen();
    thread::scope(|scope| {
        scope.spawn(|| {
            let server = accept(&listener);
            send(&server, &receive_to_end(&server));
        });
        let client = ends.connect(address);
        send(&client, &sent);
        finish(&client);
        assert_same("exchange", &sent, &receive_to_end(&client));
    });
}

/// Waits until `namespace` is again as it was `before`. The kernel takes devices and addresses away
/// in its own time.
pub(crate) fn await_unchanged(before: &str, namespace: &Namespace) {
    wait_until("nothing is left behind", || {
        let after = state(namespace);
        let missing_in = |text: &str, other: &str| -> Vec<String> {
            let known: Vec<&str> = other.lines().collect();
            text.lines().filter(|line| !known.contains(line)).map(str::to_owned).collect()
        };
        let (left, gone) = (missing_in(&after, before), missing_in(before, &after));
        match left.is_empty() && gone.is_empty() {
            true => Ok(()),
            false => Err(format!("left behind: {left:#?}, removed: {gone:#?}")),
        }
    });
}

/// Everything that a gateway could leave in a namespace: devices, addresses, rules, routes,
/// tables of nftables, reverse-path filters.
pub(crate) fn state(namespace: &Namespace) -> String {
    let questions: [&[&str]; 7] = [
        &["ip", "-brief", "link"],
        &["ip", "-brief", "address"],
        &["ip", "rule"],
        &["ip", "-6", "rule"],
        &["ip", "route", "show", "table", "all"],
        &["ip", "-6", "route", "show", "table", "all"],
        &["nft", "--stateless", "list", "ruleset"],
    ];
    let answers = questions.map(|words| {
        let answer = namespace.output(words[0], &words[1..]).expect("a question to the kernel");
        format!("# {}\n{answer}", words.join(" "))
    });
    answers.concat()
}
