//! Which connections are split, and how many.

use super::*;
use crate::policy::{Action, Policy, Rule};
use std::net::SocketAddr;

/// A SYN of `client` to `server`, with this DSCP, from the LAN.
fn syn(client: (&str, u16), server: (&str, u16), dscp: u8) -> (IpHeader, TcpHeader) {
    let (src, dst) = (client.0.parse().unwrap(), server.0.parse().unwrap());
    let ip = IpHeader { hop_limit: 60, traffic_class: dscp << 2, ..IpHeader::between(src, dst) };
    let mut tcp = Table::segment(Side::Lan, 0, 0, Flags::SYN);
    (tcp.src_port, tcp.dst_port) = (client.1, server.1);
    (ip, tcp)
}

fn verdict(table: &mut Table, from: Side, (ip, tcp): &(IpHeader, TcpHeader)) -> Disposition {
    table.gateway.handle_packet(table.now, from, ip, tcp, Payload::EMPTY)
}

fn with(rules: Vec<Rule>, observe: bool) -> Table {
    Table::new(Config {
        policy: Policy { rules, observe, ..Policy::default() },
        ..Config::default()
    })
}

const FORWARDED: Disposition = Disposition::Forward(Reason::Policy);
const OBSERVED: Disposition = Disposition::Forward(Reason::Observed);

/// G01-D-14: rules select which connections are split.
#[test]
fn the_first_rule_that_matches_decides() {
    let rule = |action| Rule { action, ..Rule::default() };
    let mut table = with(
        vec![
            Rule { port: vec!["22".parse().unwrap()], ..rule(Action::Split) },
            Rule {
                client: vec!["10.1.0.0/16".parse().unwrap(), "2001:db8::/32".parse().unwrap()],
                ..rule(Action::Forward)
            },
            Rule {
                server: vec!["192.0.2.0/24".parse().unwrap()],
                port: vec!["80".parse().unwrap(), "8000-8999".parse().unwrap()],
                ..rule(Action::Forward)
            },
            Rule { dscp: vec!["ef".parse().unwrap()], ..rule(Action::Observe) },
        ],
        false,
    );
    for (number, (client, server, dscp, expected)) in [
        // All that a rule names must match, and any item of a list will do.
        (("10.1.2.3", 5), ("192.0.2.1", 443), 0, FORWARDED),
        (("10.2.0.1", 5), ("192.0.2.1", 443), 0, Disposition::Consumed),
        (("10.2.0.1", 6), ("192.0.2.1", 80), 0, FORWARDED),
        (("10.2.0.1", 6), ("192.0.2.1", 8500), 0, FORWARDED),
        (("10.2.0.1", 6), ("192.0.3.1", 8500), 0, Disposition::Consumed),
        // It is the server's port that counts.
        (("10.2.0.1", 80), ("192.0.2.1", 6), 0, Disposition::Consumed),
        (("2001:db8::1", 5), ("2001:db9::1", 443), 0, FORWARDED),
        (("2001:db9::1", 5), ("2001:db8::1", 443), 0, Disposition::Consumed),
        // An earlier rule is an exception to a later one.
        (("10.1.2.3", 5), ("192.0.2.1", 22), 0, Disposition::Consumed),
        (("10.2.0.1", 7), ("192.0.2.1", 443), 46, OBSERVED),
        (("10.2.0.1", 7), ("192.0.2.1", 443), 45, Disposition::Consumed),
    ]
    .into_iter()
    .enumerate()
    {
        let syn = syn(client, server, dscp);
        assert_eq!(verdict(&mut table, Side::Lan, &syn), expected, "SYN {number}");
    }
    let summary = table.gateway.summary();
    assert_eq!(summary.forwarded_flows(Reason::Policy), 4);
    assert_eq!(summary.forwarded_flows(Reason::Observed), 1);
}

#[test]
fn a_rule_may_name_the_clients_side() {
    let rule = Rule { from: Some(Side::Satellite), action: Action::Forward, ..Rule::default() };
    let mut table = with(vec![rule], false);
    let syn = syn(("10.0.0.1", 1), ("10.0.0.2", 80), 0);
    assert_eq!(verdict(&mut table, Side::Satellite, &syn), FORWARDED);
    assert_eq!(verdict(&mut table, Side::Lan, &syn), Disposition::Consumed);
}

#[test]
fn observing_splits_nothing_and_counts_what_would_have_been() {
    let port = vec!["22".parse().unwrap()];
    let rule = Rule { port, action: Action::Forward, ..Rule::default() };
    let mut table = with(vec![rule], true);
    for (port, expected) in [(80, OBSERVED), (22, FORWARDED)] {
        let syn = syn(("10.0.0.1", 1), ("10.0.0.2", port), 0);
        assert_eq!(verdict(&mut table, Side::Lan, &syn), expected);
    }
    // What cannot be split would not be.
    let (ip, mut fast_open) = syn(("10.0.0.1", 1), ("10.0.0.2", 80), 0);
    fast_open.options.other = vec![34, 2];
    let options = Disposition::Forward(Reason::Options);
    assert_eq!(verdict(&mut table, Side::Lan, &(ip, fast_open)), options);
    assert!(table.sent().is_empty());
    assert_eq!(table.gateway.flows(), 0);
}

/// G01-D-14: with the limit reached, new connections are forwarded.
#[test]
fn a_client_cannot_take_the_whole_table() {
    let mut table = Table::new(Config { max_flows_per_client: 2, ..Config::default() });
    let of = |client, port| syn((client, port), ("10.9.9.9", 80), 0);
    let beyond = Disposition::Forward(Reason::ClientLimit);
    for (client, port, expected) in [
        ("10.0.0.1", 4000, Disposition::Consumed),
        ("10.0.0.1", 4001, Disposition::Consumed),
        ("10.0.0.1", 4002, beyond),
        ("10.0.0.2", 4002, Disposition::Consumed),
    ] {
        assert_eq!(verdict(&mut table, Side::Lan, &of(client, port)), expected);
    }
    // A server refuses the first one, and the second one is split: one place is free again.
    table.send(
        Side::Satellite,
        Table::segment(Side::Satellite, 0, 1, Flags::RST | Flags::ACK),
        b"",
    );
    let second = |mut tcp: TcpHeader| {
        let port = if tcp.src_port == 80 { &mut tcp.dst_port } else { &mut tcp.src_port };
        *port = 4001;
        tcp
    };
    let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    table.send(Side::Satellite, second(synack), b"");
    table.send(Side::Lan, second(Table::segment(Side::Lan, 1, 1, Flags::ACK)), b"");
    assert_eq!(table.gateway.summary().split, 1);
    assert_eq!(verdict(&mut table, Side::Lan, &of("10.0.0.1", 4003)), Disposition::Consumed);
    assert_eq!(verdict(&mut table, Side::Lan, &of("10.0.0.1", 4004)), beyond);
    // The handshake that nobody answers is forgotten, and the split flow is reset.
    let reset = second(Table::segment(Side::Lan, 1, 1, Flags::RST));
    table.send(Side::Lan, reset, b"");
    table.wait(Duration::from_secs(72));
    assert_eq!(table.gateway.flows(), 0);
    for (port, expected) in [(1, Disposition::Consumed), (2, Disposition::Consumed), (3, beyond)] {
        assert_eq!(verdict(&mut table, Side::Lan, &of("10.0.0.1", port)), expected);
    }
}

/// Behind masquerade on the gateway's own host all clients have one address; who opens a connection
/// counts all the same.
#[test]
fn clients_are_told_apart_behind_the_same_address() {
    let rule = Rule {
        action: Action::Forward,
        client: vec!["10.1.0.0/16".parse().unwrap()],
        ..Rule::default()
    };
    let policy = Policy { rules: vec![rule], observe: false, ..Policy::default() };
    let mut table = Table::new(Config { policy, max_flows_per_client: 2, ..Config::default() });
    let server: SocketAddr = "192.0.2.1:443".parse().unwrap();
    let open = |table: &mut Table, port, origin: &str| {
        let client = SocketAddr::new("198.51.100.1".parse().unwrap(), port);
        table.gateway.introduce(client, server, origin.parse().unwrap());
        let fate = verdict(table, Side::Lan, &syn(("198.51.100.1", port), ("192.0.2.1", 443), 0));
        table.gateway.dismiss(client, server);
        fate
    };
    assert_eq!(open(&mut table, 1, "10.1.0.7"), FORWARDED);
    for (port, client) in [(2, "10.2.0.1"), (3, "10.2.0.1"), (4, "10.2.0.2")] {
        assert_eq!(open(&mut table, port, client), Disposition::Consumed);
    }
    assert_eq!(open(&mut table, 5, "10.2.0.1"), Disposition::Forward(Reason::ClientLimit));
    assert_eq!(open(&mut table, 6, "10.2.0.2"), Disposition::Consumed);
    assert_eq!(table.gateway.origins(), 4, "of what is not split nothing is kept");
    table.wait(Duration::from_secs(200));
    assert_eq!((table.gateway.flows(), table.gateway.origins()), (0, 0));
    assert_eq!(open(&mut table, 7, "10.2.0.1"), Disposition::Consumed);
}
