//! How connections open, or do not: as if nobody stood between the hosts.

use std::io;
use std::net::SocketAddr;
use std::thread;

use crate::Case;
use crate::stage::{Family, StageEnds};
use crate::toolbox::accept;

pub(crate) const CASES: &[Case] = &[
    ("addresses_and_ports_are_the_hosts_own", addresses_are_the_hosts_own),
    ("refused_port_is_refused", refused),
    ("unreachable_host_is_as_without_gateways", unreachable_host),
    ("silent_host_times_out_as_without_gateways", silent_host),
];

/// A port whose SYNs H2 drops.
const SILENT_PORT: u16 = 9;

/// G01-D-4: each host sees the other one's address and port.
fn addresses_are_the_hosts_own(ends: &StageEnds) {
    let (listener, address) = ends.listen();
    let client = ends.connect(address);
    let server = accept(&listener);
    assert_eq!(server.peer_addr().unwrap(), client.local_addr().unwrap());
    assert_eq!(server.local_addr().unwrap(), client.peer_addr().unwrap());
    assert_eq!(server.peer_addr().unwrap().ip(), ends.family.h1());
}

/// G01-D-5: a refusal is the server's own.
fn refused(ends: &StageEnds) {
    let (listener, address) = ends.listen();
    drop(listener);
    let error = ends.try_connect(address, |_| ()).expect_err("nobody listens");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused, "{error}");
}

/// G2's kernel finds nobody at the address, and says so by ICMP.
fn unreachable_host(ends: &StageEnds) {
    same_failure(ends, SocketAddr::new(ends.family.dead(), 80));
}

/// G01-D-5: H2 takes the SYNs and never answers.
fn silent_host(ends: &StageEnds) {
    for ends in [ends, &ends.without_gateways()] {
        let table = if ends.family == Family::V4 { "ip" } else { "ip6" };
        let ruleset = format!(
            "table {table} silent {{\nchain input {{\n\
             type filter hook input priority 0;\n\
             tcp dport {SILENT_PORT} drop\n}}\n}}\n"
        );
        ends.testbed.h2.nft(&ruleset).expect("nft");
    }
    same_failure(ends, SocketAddr::new(ends.family.h2(), SILENT_PORT));
}

/// Connects with and without gateways, at the same time, and compares what the hosts' kernels say.
fn same_failure(ends: &StageEnds, address: SocketAddr) {
    let bare = ends.without_gateways();
    for ends in [ends, &bare] {
        ends.testbed.h1.sysctl("net.ipv4.tcp_syn_retries", "2").expect("sysctl");
    }
    let attempt = |ends: &StageEnds| {
        ends.try_connect(address, |_| ()).expect_err("nobody answers").raw_os_error()
    };
    let (with, without) = thread::scope(|scope| {
        let without = scope.spawn(|| attempt(&bare));
        (attempt(ends), without.join().expect("attempt"))
    });
    assert_eq!(with, without, "with and without gateways");
}
