//! Other parameters for a gateway that runs.

use super::*;
use crate::policy::{Action, Rule};
use bentpipe_core::tcp::congestion::CongestionAlgorithm;
use bentpipe_core::units::{Bytes, Rate};

const RATE: Rate = Rate::from_bits_per_sec(8_000_000);

fn known(rate: Rate) -> Config {
    let mut config = Config::default();
    config.satellite.rate = Some(rate);
    config.satellite.round_trip = Some(Duration::from_millis(500));
    config
}

fn forwarding() -> Config {
    let rule = Rule { action: Action::Forward, ..Rule::default() };
    let mut config = Config::default();
    config.policy.rules = vec![rule];
    config
}

fn say(table: &mut Table, from: Side, seq: u64, ack: u64, payload: &[u8]) -> Vec<Transmit> {
    let tcp = table.stamp(Table::segment(from, seq, ack, Flags::ACK), 900);
    table.send(from, tcp, payload)
}

/// What becomes of a SYN from another port.
fn another(table: &mut Table) -> Disposition {
    let syn = TcpHeader { src_port: 4001, ..Table::segment(Side::Lan, 0, 0, Flags::SYN) };
    let syn = TcpHeader { options: table.options.clone(), ..syn };
    let (now, ip) = (table.now, Table::ip(Side::Lan));
    table.gateway.handle_packet(now, Side::Lan, &ip, &syn, Payload::EMPTY)
}

#[test]
fn another_policy_is_for_new_connections() {
    let mut table = Table::new(Config::default());
    table.open();
    table.gateway.reconfigure(forwarding());
    assert_eq!(another(&mut table), Disposition::Forward(Reason::Policy));
    let sent = say(&mut table, Side::Lan, 1, 1, b"hello");
    assert!(sent.iter().any(|sent| sent.to == Side::Satellite && sent.payload_len() == 5));
    assert_eq!(table.gateway.flows(), 1);
    table.gateway.reconfigure(Config::default());
    assert_eq!(another(&mut table), Disposition::Consumed);
}

/// No file says what time it is.
#[test]
fn a_reload_leaves_the_wall_clock_as_it_was_set() {
    let mut table = Table::new(Config::default());
    let said = Duration::from_secs(1_796_040_003);
    table.gateway.set_wall_clock(said);
    let mut shared = Config::default();
    shared.satellite.shared_carrier = true;
    table.gateway.reconfigure(shared);
    let leg = &table.gateway.config().satellite;
    assert_eq!((leg.shared_carrier, leg.wall_clock), (true, said));
}

/// No file says what interfaces carry.
#[test]
fn a_reload_leaves_what_the_interfaces_carry() {
    let mut table = Table::new(Config::default());
    assert!(table.gateway.set_mtus([9000, 1492]));
    assert!(!table.gateway.set_mtus([9000, 1492]), "it is so already");
    table.gateway.reconfigure(Config { max_flows: 7, ..Config::default() });
    let Config { lan, satellite, .. } = table.gateway.in_force();
    assert_eq!((lan.mtu, satellite.mtu), (9000, 1492));
}

#[test]
fn what_others_were_promised_stays() {
    let mut table = Table::new(Config::default());
    let mut new = Config { fin: FinMode::Immediate, announce: false, ..forwarding() };
    new.satellite.mtu = 600;
    new.max_flows = 7;
    table.gateway.reconfigure(new.clone());
    let mut expected = Config { max_flows: 7, policy: new.policy, ..Config::default() };
    expected.satellite.mtu = Config::default().satellite.mtu;
    assert_eq!(*table.gateway.config(), expected);
}

#[test]
fn limits_below_what_is_held_are_for_what_comes() {
    let mut table = Table::new(Config::default());
    table.open();
    say(&mut table, Side::Lan, 1, 1, &[7; 1400]);
    assert!(table.gateway.held() > 0);
    let small = Config { memory: Bytes::new(1000), guaranteed: Bytes::ONE, ..Config::default() };
    table.gateway.reconfigure(small);
    assert_eq!(another(&mut table), Disposition::Forward(Reason::NoRoom));
    // What is held is delivered, and the flow goes on.
    say(&mut table, Side::Satellite, 1, 1401, b"");
    assert_eq!(table.gateway.held(), 0);
    let sent = say(&mut table, Side::Satellite, 1, 1401, b"reply");
    assert!(sent.iter().any(|sent| sent.to == Side::Lan && sent.payload_len() == 5), "{sent:?}");
    let few = Config { max_flows: 1, ..Config::default() };
    table.gateway.reconfigure(few);
    assert_eq!(another(&mut table), Disposition::Forward(Reason::NoRoom));
}

/// A conversation with a silence, in which other parameters come; what is sent and seen of it.
fn silence(hibernate_after: Duration) -> Vec<String> {
    let mut table = Table::new(Config { hibernate_after, ..known(RATE) });
    table.options = TcpOptions { sack_permitted: true, window_scale: Some(7), ..Table::stamped() };
    table.open();
    let mut told = Vec::new();
    let mut tell = |table: &mut Table, sent: Vec<Transmit>| {
        told.extend(sent.iter().map(|it| format!("{:?} {:?} {:?}", it.to, it.ip, it.tcp)));
        told.push(format!("{:?}", table.gateway.flow_views(table.now).collect::<Vec<_>>()));
    };
    let sent = say(&mut table, Side::Lan, 1, 1, b"hello");
    tell(&mut table, sent);
    say(&mut table, Side::Satellite, 1, 6, b"");
    table.wait(Duration::from_secs(9));
    let mut new = known(Rate::from_bits_per_sec(2_000_000));
    new.satellite.set_all("iw=3,rto.min=2s,restart-after-idle=on,max-retries=3").unwrap();
    new.lan.set_all("linux,rto.max=5s").unwrap();
    table.gateway.reconfigure(new);
    for (number, from) in [Side::Lan, Side::Satellite].into_iter().enumerate() {
        let (seq, ack) = if from == Side::Lan { (6, 1) } else { (1, 11) };
        let mut sent = say(&mut table, from, seq, ack, b"again");
        // What nobody acknowledges shows the timers.
        sent.extend(table.wait(Duration::from_secs(9 + number as u64)));
        tell(&mut table, sent);
    }
    told
}

#[test]
fn flows_have_the_parameters_of_their_handshake_however_they_rest() {
    let never = silence(Duration::from_secs(1 << 30));
    for hibernate_after in [Duration::ZERO, Duration::from_secs(2)] {
        assert_eq!(silence(hibernate_after), never);
    }
}

/// A flow that takes the link's losses for its own, between two gateways.
fn on_known_link() -> Table {
    let mut table = Table::new(known(RATE));
    table.options = TcpOptions { sack_permitted: true, window_scale: Some(7), ..Table::stamped() };
    let options = table.options.clone();
    let mut announced = options.clone();
    assert!(crate::announce::Announcement::default().put(
        crate::ToldLink::default(),
        None,
        &mut announced
    ));
    let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
    table.send(Side::Lan, TcpHeader { options, ..syn }, b"");
    let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    table.send(Side::Satellite, TcpHeader { options: announced, ..synack }, b"");
    say(&mut table, Side::Lan, 1, 1, b"");
    let controls = table.gateway.controls(Side::Satellite);
    assert_eq!(controls, [CongestionAlgorithm::KnownLink { rate: RATE }]);
    table
}

#[test]
fn flows_on_a_link_that_is_not_known_any_more_believe_their_losses() {
    let usual = Config::default().satellite.sender.congestion;
    for rests in [false, true] {
        let mut table = on_known_link();
        if rests {
            table.wait(Duration::from_secs(5));
            assert_eq!(table.gateway.hibernated(), 1);
        }
        table.gateway.reconfigure(Config::default());
        say(&mut table, Side::Lan, 1, 1, b"hello");
        assert_eq!(table.gateway.controls(Side::Satellite), [usual], "rests: {rests}");
    }
}

#[test]
fn a_circuit_that_is_broken_closes_when_something_else_is_said_of_the_link() {
    let mut table = on_known_link();
    table.gateway.believe_losses(Side::Satellite);
    table.gateway.reconfigure(known(RATE));
    assert!(table.gateway.satellite_link().circuit_broken, "nothing new was said");
    let slower = Rate::from_bits_per_sec(4_000_000);
    table.gateway.reconfigure(known(slower));
    let link = table.gateway.satellite_link();
    assert_eq!((link.circuit_broken, link.used_at), (false, Some(slower)));
}

/// What is counted of flows by link stays right whatever is said of the link in turn.
#[test]
fn sums_survive_every_change_of_the_link() {
    let mut unwatched = known(RATE);
    unwatched.satellite.set_all("congestion=cubic").unwrap();
    let mut from_load = known(RATE);
    from_load.satellite.set_all("iw=from-load").unwrap();
    let mut slow = known(Rate::from_bits_per_sec(1_000));
    slow.satellite.set_all("iw=from-load").unwrap();
    let configs = [known(RATE), unwatched, from_load, slow, Config::default()];
    for first in &configs {
        for second in &configs {
            let mut table = Table::new(first.clone());
            table.options = Table::stamped();
            table.open();
            let mut seq = 1;
            for config in [second, first, second, first] {
                say(&mut table, Side::Lan, seq, 1, &[3; 700]);
                table.gateway.reconfigure(config.clone());
                table.wait(Duration::from_secs(60));
                seq += 700;
                say(&mut table, Side::Satellite, 1, seq, b"");
                table.wait(Duration::from_secs(5));
                assert_eq!(table.gateway.held(), 0, "what waited has left");
            }
            table.gateway.reset_all(table.now);
            table.sent();
            table.wait(Duration::from_secs(60));
            assert_eq!(table.gateway.flows(), 0);
        }
    }
}

/// What was promised in the client's SYN holds, however little a stream may hold when it comes
/// again and when the SYN-ACK comes.
#[test]
fn a_window_that_a_syn_has_promised_stays_promised() {
    let small = Config { max_stream: Some(Bytes::new(4_000)), ..Config::default() };
    let syn = || Table::segment(Side::Lan, 0, 0, Flags::SYN);
    let mut table = Table::new(Config::default());
    assert_eq!(table.send(Side::Lan, syn(), b"")[0].tcp.window, 60_000);
    table.gateway.reconfigure(small);
    assert_eq!(table.send(Side::Lan, syn(), b"")[0].tcp.window, 60_000);
    let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    table.send(Side::Satellite, synack, b"");
    say(&mut table, Side::Lan, 1, 1, b"");
    say(&mut table, Side::Satellite, 59_001, 1, &[7; 1000]);
    assert!(table.gateway.held() > 0, "the last segment within what was promised");
}

/// Of a pool that is full nobody is guaranteed more than before (fault seed 128576011).
#[test]
fn more_is_guaranteed_once_there_is_room() {
    let config = |guaranteed| Config {
        memory: Bytes::new(70_000),
        guaranteed: Bytes::new(guaranteed),
        max_stream: Some(Bytes::new(100_000)),
        ..Config::default()
    };
    let mut table = Table::new(config(4096));
    let ports = [4000, 4001, 4002];
    for port in ports {
        for (from, flags) in
            [(Side::Lan, Flags::SYN), (Side::Satellite, Flags(0x12)), (Side::Lan, Flags::ACK)]
        {
            let offsets =
                [0, 1].map(|it| u64::from(from == Side::Lan && flags == Flags::ACK || it == 1));
            let tcp = Table::segment(from, offsets[0], offsets[1], flags);
            table.send(from, at(port, from, tcp), b"");
        }
    }
    table.gateway.reconfigure(config(16_384));
    for segment in 0..20 {
        for port in ports {
            for from in Side::BOTH {
                let tcp = Table::segment(from, 1 + 1000 * segment, 1, Flags::ACK);
                table.send(from, at(port, from, tcp), &[7; 1000]);
                assert!(table.gateway.held() <= 70_000, "{} bytes", table.gateway.held());
            }
        }
    }
}

/// The same segment, of the connection of the client's `port`.
fn at(port: u16, from: Side, tcp: TcpHeader) -> TcpHeader {
    match from {
        Side::Lan => TcpHeader { src_port: port, ..tcp },
        Side::Satellite => TcpHeader { dst_port: port, ..tcp },
    }
}
