//! Why connections are not split: each cause has its reason, which is counted, told and kept.

use super::*;
use crate::policy::{Action, Policy, Rule};
use bentpipe_core::wire::{IcmpError, IcmpErrorKind, Quoted};

impl Table {
    /// What was told and kept of the connection from the client's port 4000: the reasons are the same.
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
        for reason in &told {
            assert!(self.gateway.summary().forwarded_flows(*reason) > 0, "{reason:?}");
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
        let error = IcmpError { kind: IcmpErrorKind::Unreachable { code: 1 }, quoted };
        let verdict = table.gateway.handle_icmp(table.now, Side::Satellite, &error, 100);
        assert_eq!(verdict, Disposition::Forward(Reason::Unreachable));
    });
    assert_eq!(unreachable, [Reason::Unreachable]);
    let one_way = behind_a_syn(|table| {
        table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::ACK), b"");
    });
    assert_eq!(one_way, [Reason::OneWay]);
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
    let policy = Policy { rules: vec![rule], observe: false };
    let mut table = Table::new(Config { policy, ..Config::default() });
    table.send(Side::Lan, Table::segment(Side::Lan, 0, 0, Flags::SYN), b"");
    assert_eq!(table.reasons(), [Reason::Policy]);
}

#[test]
fn a_prospect_is_what_becomes_of_the_syn() {
    let (client, server) = (Table::ip(Side::Lan).src, (Table::ip(Side::Lan).dst, 80).into());
    let port = |port| Rule { port: vec![port], action: Action::Forward, ..Rule::default() };
    let policy = |rules| Policy { rules, observe: false };
    let rules = vec![port("22".parse().unwrap()), port("80-90".parse().unwrap())];
    for (config, reason, rule) in [
        (Config::default(), None, None),
        (Config { policy: policy(rules), ..Config::default() }, Some(Reason::Policy), Some(2)),
        (
            Config { policy: Policy { observe: true, rules: Vec::new() }, ..Config::default() },
            Some(Reason::Observed),
            None,
        ),
        (Config { max_half_open: 0, ..Config::default() }, Some(Reason::HalfOpen), None),
        (Config { max_flows_per_client: 0, ..Config::default() }, Some(Reason::ClientLimit), None),
    ] {
        let mut table = Table::new(config);
        let prospect = table.gateway.prospect(Side::Lan, client, server);
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
        let flows = table.gateway.prospect(Side::Lan, client, server).flows_of_client;
        assert_eq!(flows, usize::from(reason.is_none()));
    }
}
