//! Why connections are not split: each cause has its reason, which is counted, told and kept.

use super::*;
use crate::policy::{Action, Policy, Rule};
use bentpipe_core::wire::{IcmpError, IcmpErrorKind, Quoted};

impl Table {
    /// What was told and kept of the connection from the client's port 4000: the reasons are the
    /// same.
    fn reasons(&mut self) -> Vec<Reason> {
        let client = (Table::ip(Side::Lan).src, 4000).into();
        let told = std::iter::from_fn(|| self.gateway.poll_event());
        let told: Vec<Reason> = told
            .filter_map(|event| match event {
                Event::NotSplit(hosts, reason, 0) => {
                    assert_eq!(hosts.client, client);
                    Some(reason)
                }
                _ => None,
            })
            .collect();
        let mut kept: Vec<_> = self.gateway.unsplit().collect();
        kept.sort_by_key(|it| it.number);
        assert!(kept.iter().all(|it| it.hosts.client == client && it.opener == client.ip()));
        assert_eq!(kept.iter().map(|it| it.reason).collect::<Vec<_>>(), told);
        let summary = self.gateway.summary();
        for reason in Reason::ALL {
            let counted = told.iter().filter(|it| **it == reason).count() as u64;
            assert_eq!(summary.forwarded_flows(reason), counted, "{reason:?}");
        }
        assert_eq!(self.gateway.summary().split, 0);
        told
    }

    fn answer(&mut self) {
        self.send(
            Side::Satellite,
            Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK),
            b"",
        );
    }
}

/// Once the connection is established nothing of it is a reason, and no SYN that is forged.
#[test]
fn what_is_forged_about_a_flow_makes_it_no_connection_that_was_not_split() {
    let mut table = Table::new(Config::default());
    table.open();
    let forged = Table::segment(Side::Lan, 1 << 30, 0, Flags::SYN);
    table.send(Side::Satellite, forged.clone(), b"");
    table.send(Side::Lan, forged, b"early");
    assert_eq!(table.gateway.unsplit().count(), 0);
}

/// A SYN of the server's as well: the hosts do it between themselves.
#[test]
fn a_simultaneous_open_is_told_once() {
    let mut table = Table::new(Config::default());
    table.send(Side::Lan, Table::segment(Side::Lan, 0, 0, Flags::SYN), b"");
    table.send(Side::Satellite, Table::segment(Side::Satellite, 0, 0, Flags::SYN), b"");
    let kept: Vec<_> = table.gateway.unsplit().map(|it| it.reason).collect();
    assert_eq!(kept, [Reason::NotOpened]);
}

/// A flow that is being opened, one that is split, one that is to be adopted and one that begins:
/// none is split when the gateway has been told to observe, and none is lost.
#[test]
fn a_gateway_that_only_observes_gives_its_flows_back() {
    let mut table = Table::new(Config { soft_state: true, ..Config::default() });
    table.open();
    table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::ACK), &[7; 1000]);
    let port = |tcp: TcpHeader| TcpHeader { src_port: 4001, ..tcp };
    table.send(Side::Lan, port(Table::segment(Side::Lan, 0, 0, Flags::SYN)), b"");
    let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    table.send(Side::Satellite, TcpHeader { dst_port: 4001, ..synack }, b"");
    table.gateway.only_observe(table.now, true);
    assert!(table.gateway.observes());
    // What is held is delivered.
    table.send(Side::Satellite, Table::segment(Side::Satellite, 1, 1001, Flags::ACK), b"");
    // The handshake that was under way is completed, and its flow given back.
    table.send(Side::Lan, port(Table::segment(Side::Lan, 1, 1, Flags::ACK)), b"");
    assert_eq!(table.gateway.flows(), 0);
    assert_eq!(table.gateway.summary().released(Release::Observe), 2);
    for (from, ack) in [(Side::Lan, 1), (Side::Satellite, 1001)] {
        let segment =
            Table::segment(from, if from == Side::Lan { 1001 } else { 1 }, ack, Flags::ACK);
        let verdict = table.gateway.handle_packet(
            table.now,
            from,
            &Table::ip(from),
            &segment,
            Payload::Bytes(b"more"),
        );
        assert!(matches!(verdict, Disposition::Forward(_)), "{verdict:?}");
    }
    let third = TcpHeader { src_port: 4002, ..Table::segment(Side::Lan, 0, 0, Flags::SYN) };
    table.send(Side::Lan, third.clone(), b"");
    assert_eq!(table.gateway.half_open(), 0);
    assert_eq!((table.gateway.flows(), table.gateway.summary().lost_bytes), (0, 0));
    table.gateway.only_observe(table.now, false);
    table.send(Side::Lan, third, b"");
    assert_eq!((table.gateway.half_open(), table.gateway.observes()), (1, false));
    // What drains goes on draining.
    table.gateway.drain(table.now);
    table.gateway.only_observe(table.now, false);
    assert!(table.gateway.drains() && !table.gateway.observes());
}

/// Behind a SYN.
fn behind_a_syn(then: impl FnOnce(&mut Table)) -> Vec<Reason> {
    let mut table = Table::new(Config::default());
    table.send(Side::Lan, Table::segment(Side::Lan, 0, 0, Flags::SYN), b"");
    then(&mut table);
    table.wait(Duration::from_secs(200));
    assert_eq!(table.gateway.flows(), 0);
    table.reasons()
}

#[test]
fn a_handshake_that_comes_to_nothing_has_a_reason() {
    let unanswered = behind_a_syn(|_| {});
    assert_eq!(unanswered, [Reason::Unanswered]);
    let refused = behind_a_syn(|table| {
        table.send(
            Side::Satellite,
            Table::segment(Side::Satellite, 0, 1, Flags::RST | Flags::ACK),
            b"",
        );
    });
    assert_eq!(refused, [Reason::Refused]);
    let given_up = behind_a_syn(|table| {
        table.send(Side::Lan, Table::segment(Side::Lan, 1, 0, Flags::RST), b"");
    });
    assert_eq!(given_up, [Reason::Aborted]);
    let unreachable = behind_a_syn(|table| {
        let (ip, tcp) = (Table::ip(Side::Lan), Table::segment(Side::Lan, 0, 0, Flags::SYN));
        let (src, dst, src_port, dst_port) = (ip.src, ip.dst, tcp.src_port, tcp.dst_port);
        let quoted = Quoted { src, dst, src_port, dst_port, seq: tcp.seq, wire_len: 60 };
        // Those that are not about the SYN, or say something else, are no reason.
        let unreachable = IcmpErrorKind::Unreachable { code: 1 };
        let other = Quoted { seq: tcp.seq + 1, ..quoted };
        for (kind, quoted, from, reason) in [
            (IcmpErrorKind::PacketTooBig { mtu: 1280 }, quoted, Side::Satellite, Reason::NotOpened),
            (unreachable, other, Side::Satellite, Reason::NotOpened),
            (unreachable, quoted, Side::Lan, Reason::NotOpened),
            (unreachable, quoted, Side::Satellite, Reason::Unreachable),
        ] {
            let error = IcmpError { kind, quoted };
            let verdict = table.gateway.handle_icmp(table.now, from, &error, 100);
            assert_eq!(verdict, Disposition::Forward(reason), "{error:?} {from:?}");
        }
    });
    assert_eq!(unreachable, [Reason::Unreachable]);
    let one_way = behind_a_syn(|table| {
        table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::ACK), b"");
        let far = Table::segment(Side::Lan, 1_000_001, 1, Flags::ACK);
        table.send(Side::Lan, far, b"much later");
        assert_eq!(table.gateway.summary().forwarded_packets(Reason::OneWay), 2);
    });
    assert_eq!(one_way, [Reason::OneWay]);
    let other_way = behind_a_syn(|table| {
        table.send(Side::Satellite, Table::segment(Side::Satellite, 1, 101, Flags::ACK), b"");
    });
    assert_eq!(other_way, [Reason::OneWay]);
    // Of a server that has another connection in its place, and of somebody who guesses.
    for (seq, ack) in [(7, 1 << 30), (7, 1), (1 << 30, 0)] {
        let challenged = behind_a_syn(|table| {
            table.send(Side::Satellite, Table::segment(Side::Satellite, seq, ack, Flags::ACK), b"");
            let guess = Table::segment(Side::Lan, 1 << 30, 1, Flags::ACK);
            table.send(Side::Lan, guess, b"");
        });
        assert_eq!(challenged, [Reason::Unanswered], "{seq} {ack}");
    }
    let unfinished = behind_a_syn(Table::answer);
    assert_eq!(unfinished, [Reason::Unfinished]);
    let refused_late = behind_a_syn(|table| {
        table.answer();
        table.send(Side::Lan, Table::segment(Side::Lan, 1, 0, Flags::RST), b"");
    });
    assert_eq!(refused_late, [Reason::Aborted]);
}

#[test]
fn what_is_in_a_syn_or_the_policy_is_a_reason() {
    let mut table = Table::new(Config::default());
    table.send(Side::Lan, Table::segment(Side::Lan, 0, 0, Flags::SYN), b"early");
    assert_eq!(table.reasons(), [Reason::Options]);
    let rule = Rule { action: Action::Forward, ..Rule::default() };
    let policy = Policy { rules: vec![rule], observe: false, ..Policy::default() };
    let mut table = Table::new(Config { policy, ..Config::default() });
    table.send(Side::Lan, Table::segment(Side::Lan, 0, 0, Flags::SYN), b"");
    assert_eq!(table.reasons(), [Reason::Policy]);
}

#[test]
fn a_prospect_is_what_becomes_of_the_syn() {
    let (client, server) = (Table::ip(Side::Lan).src, (Table::ip(Side::Lan).dst, 80).into());
    let port = |port| Rule { port: vec![port], action: Action::Forward, ..Rule::default() };
    let policy = |rules| Policy { rules, observe: false, ..Policy::default() };
    let rules = vec![port("22".parse().unwrap()), port("80-90".parse().unwrap())];
    for (config, reason, rule) in [
        (Config::default(), None, None),
        (Config { policy: policy(rules), ..Config::default() }, Some(Reason::Policy), Some(2)),
        (
            Config { policy: Policy { observe: true, ..Policy::default() }, ..Config::default() },
            Some(Reason::Observed),
            None,
        ),
        (Config { max_half_open: 0, ..Config::default() }, Some(Reason::HalfOpen), None),
        (Config { max_flows_per_client: 0, ..Config::default() }, Some(Reason::ClientLimit), None),
    ] {
        let mut table = Table::new(config);
        let prospect = table.gateway.prospect(table.now, Side::Lan, client, server);
        let rule = rule.map(|rule| (rule, Action::Forward));
        assert_eq!(prospect, Prospect { reason, rule, flows_of_client: 0 });
        let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
        let verdict = table.gateway.handle_packet(
            table.now,
            Side::Lan,
            &Table::ip(Side::Lan),
            &syn,
            Payload::EMPTY,
        );
        let becomes = reason.map_or(Disposition::Consumed, Disposition::Forward);
        assert_eq!(verdict, becomes);
        let flows = table.gateway.prospect(table.now, Side::Lan, client, server).flows_of_client;
        assert_eq!(flows, usize::from(reason.is_none()));
    }
}
