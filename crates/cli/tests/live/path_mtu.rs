//! Paths that carry less than the gateways' own interfaces: routers say so by ICMP to the host
//! whose address a segment bears, and the gateway that sent it must hear it. Where a host lets
//! them, routers cut its segments into fragments instead.

use std::net::TcpStream;
use std::sync::Arc;
use std::thread;

use bentpipe_testbed::five_hosts::{BOTH, Firewall, GatewayPosition, Testbed, TestbedConfig};

use crate::observation::ask;
use crate::stage::{FAMILIES, Family, StageEnds, build, gateways_wanted, start_gateways};
use crate::toolbox::{accept, assert_same, content, finish, receive_to_end, send, wait_until};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("each_leg_learns_its_path_mtu", || smaller_mtu(Firewall::None)),
    ("each_leg_learns_its_path_mtu_behind_a_firewall", || smaller_mtu(Firewall::Stateful)),
    ("hosts_of_unsplit_connections_hear_of_the_mtu", unsplit),
    ("fragments_are_made_whole", || fragments(Firewall::None)),
    ("fragments_are_made_whole_behind_a_firewall", || fragments(Firewall::Stateful)),
];

/// SAT's routes carry 1400 bytes in both directions, and that of G2's own kernel towards H2 1300.
/// (Not the interfaces, whose MTU the gateways see when they start.)
fn narrow(testbed: &Testbed) {
    let sat = "route change 10.91.1.0/24 via 10.91.2.1 mtu lock 1400\n\
               route change fd00:91:0:1::/64 via fd00:91:0:2::1 mtu lock 1400\n\
               route change 10.91.4.0/24 via 10.91.3.1 mtu lock 1400\n\
               route change fd00:91:0:4::/64 via fd00:91:0:3::1 mtu lock 1400\n";
    testbed.sat.ip(sat).expect("routes of SAT");
    let far = "route add 10.91.4.2/32 dev lan0 mtu lock 1300\n\
               route add fd00:91:0:4::2/128 dev lan0 mtu lock 1300\n";
    testbed.g2.ip(far).expect("routes of G2");
}

fn smaller_mtu(firewall: Firewall) {
    const SIZE: usize = 1_000_000;
    let mut testbed = build(TestbedConfig { firewall, ..TestbedConfig::default() });
    narrow(&testbed);
    start_gateways(&mut testbed);
    let mut gateways = BOTH.map(|position| testbed.take_gateway(position));
    let testbed = Arc::new(testbed);
    for family in FAMILIES {
        // A black hole takes for ever.
        exchange(&StageEnds::of(&testbed, family), SIZE);
    }
    // A host that nobody tells of the MTU of another's path has nothing to remember.
    if gateways_wanted() {
        let known = testbed.h1.output("ip", &["route", "get", &Family::V4.h2().to_string()]);
        assert!(!known.as_deref().expect("ip route").contains("mtu"), "{known:?}");
    }
    // Two flows each: of G1 the satellite legs, of G2 both.
    for (gateway, falls) in gateways.iter_mut().flatten().zip([2, 4]) {
        let status = gateway.stop().expect("it ends by itself upon SIGTERM");
        let summary = gateway.stdout();
        let told = format!("legs told of a smaller path MTU: {falls}");
        assert!(status.success() && summary.contains(&told), "{told} expected: {summary}");
    }
}

/// Connections older than the gateways: errors about their segments, by SAT and by G2's own kernel,
/// pass through the gateways on their way to the hosts.
fn unsplit() {
    const SIZE: usize = 300_000;
    let mut shared = Arc::new(build(TestbedConfig::default()));
    let pairs = FAMILIES.map(|family| {
        let ends = StageEnds::of(&shared, family);
        let (listener, address) = ends.listen();
        let client = ends.connect(address);
        (client, accept(&listener))
    });
    let testbed = Arc::get_mut(&mut shared).expect("the only holder");
    start_gateways(testbed);
    narrow(testbed);
    for (client, server) in &pairs {
        talk(client, server, SIZE);
    }
    if gateways_wanted() {
        let mut far = testbed.take_gateway(GatewayPosition::Far).expect("a gateway");
        assert!(far.stop().expect("it ends by itself upon SIGTERM").success());
        let summary = far.stdout();
        assert!(summary.contains("flows split: 0 "), "{summary}");
    }
}

/// Bytes each way that are cut at first.
const FRAGMENTED: usize = 4_000_000;

/// H1 allows fragmentation, and SAT makes use of it before the only gateway, G2. (With a firewall,
/// connection tracking makes packets whole and cuts them again on their way into the gateway.)
fn fragments(firewall: Firewall) {
    let mut testbed = build(TestbedConfig { firewall, ..TestbedConfig::default() });
    testbed.h1.sysctl("net.ipv4.ip_no_pmtu_disc", "1").expect("sysctl of H1");
    let sat = "route change 10.91.4.0/24 via 10.91.3.1 mtu lock 1000\n";
    testbed.sat.ip(sat).expect("route of SAT");
    if gateways_wanted() {
        testbed.start_gateway(GatewayPosition::Far).expect("gateway");
    }
    let gateway = testbed.take_gateway(GatewayPosition::Far);
    let testbed = Arc::new(testbed);
    exchange(&StageEnds::of(&testbed, Family::V4), FRAGMENTED);
    let counts = testbed.sat.output("nstat", &["-asz", "IpFragCreates"]).expect("nstat");
    let created = counts.lines().find_map(|line| line.strip_prefix("IpFragCreates"));
    let created: u64 =
        created.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).expect("a count");
    // What cannot be on its way whole at first is cut, into two; then its senders know. On a busy
    // machine that takes a while.
    let all_cut = 2 * FRAGMENTED as u64 / 1_448;
    assert!((1..all_cut / 2).contains(&created), "{created} of {all_cut}: {counts}");
    if let Some(mut gateway) = gateway {
        // The last acknowledgment may be on its way.
        wait_until("the connection is closed", || {
            match ask(&testbed.g2, "status")["totals"].take() {
                totals if totals["closed"] == 1 => Ok(()),
                totals => Err(totals.to_string()),
            }
        });
        assert!(gateway.stop().expect("it ends by itself upon SIGTERM").success());
        let summary = gateway.stdout();
        let split = "flows split: 1 (1 closed, 0 reset, 0 released)";
        assert!(summary.contains(split), "{split} expected: {summary}");
    }
}

/// A new connection, on which both hosts send `size` bytes at the same time and close.
fn exchange(ends: &StageEnds, size: usize) {
    let (listener, address) = ends.listen();
    let client = ends.connect(address);
    talk(&client, &accept(&listener), size);
}

fn talk(client: &TcpStream, server: &TcpStream, size: usize) {
    let contents = [content(21, size), content(22, size)];
    thread::scope(|scope| {
        for (from, to, sent) in [(client, server, &contents[0]), (server, client, &contents[1])] {
            scope.spawn(move || {
                send(from, sent);
                finish(from);
            });
            scope.spawn(move || assert_same("what was sent", sent, &receive_to_end(to)));
        }
    });
}
