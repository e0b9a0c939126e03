//! Which connections the gateway has to see, so that others may go by.

use super::*;
use bentpipe_core::units::Bytes;
use std::net::SocketAddr;

fn is_known(table: &Table) -> bool {
    let [client, server]: [SocketAddr; 2] =
        ["10.0.0.1:4000", "10.9.9.9:80"].map(|end| end.parse().expect("an end"));
    let known = table.gateway.knows(client, server);
    assert_eq!(table.gateway.knows(server, client), known, "whichever is named first");
    known
}

fn say(table: &mut Table, from: Side, seq: u64, ack: u64, flags: Flags) {
    table.send(from, Table::segment(from, seq, ack, flags), b"");
}

#[test]
fn a_split_connection_is_known_from_its_syn_until_it_is_forgotten() {
    let mut table = Table::new(Config::default());
    assert!(!is_known(&table));
    say(&mut table, Side::Lan, 0, 0, Flags::SYN);
    assert!(is_known(&table), "half-open");
    say(&mut table, Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    say(&mut table, Side::Lan, 1, 1, Flags::ACK);
    assert_eq!((table.gateway.summary().split, is_known(&table)), (1, true));
    say(&mut table, Side::Lan, 1, 1, Flags::FIN | Flags::ACK);
    say(&mut table, Side::Satellite, 1, 2, Flags::FIN | Flags::ACK);
    say(&mut table, Side::Lan, 2, 2, Flags::ACK);
    table.wait(Duration::from_millis(100));
    assert_eq!((table.gateway.over(), is_known(&table)), (1, true), "its ends are still answered");
    table.wait(Duration::from_secs(60));
    assert_eq!((table.gateway.over(), is_known(&table)), (0, false));
}

#[test]
fn a_connection_that_may_be_split_later_is_known() {
    let mut table = Table::new(Config { adopt_after: Some(Bytes::new(1000)), ..Config::default() });
    say(&mut table, Side::Lan, 0, 0, Flags::SYN);
    assert_eq!((table.gateway.candidates(), is_known(&table)), (1, true));
}

#[test]
fn a_forwarded_connection_that_may_miss_bytes_is_known_until_it_goes_on() {
    let mut table = Table::new(Config::default());
    let data = Table::segment(Side::Lan, 5000, 300, Flags::ACK);
    table.pass(Side::Lan, data, &[1; 100]);
    assert_eq!((table.gateway.kept_of_forwarded(), is_known(&table)), (1, true));
    table.pass(Side::Satellite, Table::segment(Side::Satellite, 300, 5100, Flags::ACK), b"");
    assert!(!is_known(&table));
}

#[test]
fn what_the_policy_forwards_is_not_known() {
    let rule = crate::policy::Rule { action: crate::policy::Action::Forward, ..Default::default() };
    let policy = crate::policy::Policy { rules: vec![rule], ..Default::default() };
    let mut table = Table::new(Config { policy, ..Config::default() });
    say(&mut table, Side::Lan, 0, 0, Flags::SYN);
    assert!(!is_known(&table));
}
