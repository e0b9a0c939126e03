//! Connections whose handshake has not passed here (G01-W-1): another gateway has recorded them, or
//! this one has released them long ago. They are split once both hosts have shown where they are.

use super::*;
use crate::policy::{Action, Policy, Rule};
use bentpipe_core::units::Bytes;

const SHORT: Disposition = Disposition::Forward(Reason::Short);
const UNKNOWN: Disposition = Disposition::Forward(Reason::UnknownFlow);

fn config() -> Config {
    Config { soft_state: true, ..Config::default() }
}

/// A handshake with all that a gateway might lose.
fn full() -> TcpOptions {
    TcpOptions { window_scale: Some(3), sack_permitted: true, ..Table::stamped() }
}

impl Table {
    /// What it would leave to the next gateway.
    fn records(&self) -> Vec<SessionRecord> {
        self.gateway.records().collect()
    }

    /// The next gateway, to which this one has left its records as text.
    fn successor(&self, config: Config) -> Table {
        let text = write_session_records(7, self.gateway.records());
        let mut next = Table::new(config);
        (next.now, next.options) = (self.now, self.options.clone());
        for record in parse_session_records(&text).expect("as it was written").1 {
            next.gateway.recall(next.now, &record);
        }
        next
    }

    /// A connection of hosts with these options, of which each has sent 1000 bytes, is handed over
    /// by a gateway that split it to the next one, while both hosts go on to 2000.
    fn handed_over(options: TcpOptions) -> Table {
        let mut table = Table::new(config());
        table.options = options;
        table.open();
        table.at(Side::Lan, 1, 1, &[1; 1000]);
        table.at(Side::Satellite, 1, 1001, &[2; 1000]);
        table.at(Side::Lan, 1001, 1001, b"");
        table.gateway.drain(table.now);
        assert!(table.gateway.is_drained());
        let mut next = table.successor(config());
        assert_eq!(next.gateway.candidates(), 1);
        next.now += Duration::from_secs(1);
        next
    }

    /// A segment of a host at these offsets, with a clock that counts what it and its peer have
    /// sent.
    fn at(&mut self, from: Side, seq: u64, ack: u64, data: &[u8]) -> (Disposition, Vec<Transmit>) {
        let mut tcp = Self::segment(from, seq, ack, Flags::ACK);
        let (value, echo) = (500 + (seq + ack) as u32, 500 + (seq + ack) as u32 / 2);
        tcp.options.timestamps = self.options.timestamps.map(|_| Timestamps { value, echo });
        let payload = Payload::Bytes(data);
        let ip = Self::ip(from);
        let fate = self.gateway.handle_packet(self.now, from, &ip, &tcp, payload);
        (fate, self.sent())
    }

    /// It is forwarded, and that is all.
    fn passes(&mut self, from: Side, seq: u64, ack: u64, data: &[u8]) {
        let (fate, sent) = self.at(from, seq, ack, data);
        assert_eq!((fate, sent.len()), (SHORT, 0), "{from:?} {seq} {ack}");
    }

    /// Both hosts show where they are, at 2001; then time passes.
    fn shown(options: TcpOptions) -> Table {
        let mut table = Table::handed_over(options);
        table.passes(Side::Lan, 1901, 2001, &[3; 100]);
        table.passes(Side::Satellite, 2001, 2001, b"");
        table.now += Duration::from_secs(1);
        table
    }

    fn split_again(&self) -> u64 {
        self.gateway.summary().adopted
    }
}

#[test]
fn a_connection_is_split_again_by_the_next_gateway() {
    for options in [full(), TcpOptions { mss: Some(1460), ..TcpOptions::default() }] {
        let mut table = Table::shown(options.clone());
        table.passes(Side::Lan, 2001, 2001, &[4; 100]);
        let (fate, sent) = table.at(Side::Satellite, 2001, 2101, b"");
        assert_eq!((fate, table.split_again()), (SHORT, 1));
        // What each host is promised is in the other one's units.
        let to_server = sent.iter().find(|sent| sent.to == Side::Satellite).expect("one");
        assert_eq!(to_server.tcp.window, 60_000);
        let views: Vec<FlowView> = table.gateway.flow_views(table.now).collect();
        assert_eq!(views.len(), 1);
        // It goes on as any flow.
        let (fate, sent) = table.at(Side::Lan, 2101, 2001, &[5; 500]);
        assert_eq!(fate, Disposition::Consumed);
        let onwards = sent.iter().find(|sent| sent.payload_len() > 0).expect("sent on");
        assert_eq!((onwards.to, onwards.tcp.seq), (Side::Satellite, CLIENT_ISN + 2101));
        assert_eq!(onwards.tcp.options.timestamps.is_some(), options.timestamps.is_some());
        table.at(Side::Satellite, 2001, 2601, b"");
        assert_eq!(table.gateway.held(), 0);
    }
}

#[test]
fn without_the_key_nothing_is_remembered() {
    let mut table = Table::new(Config::default());
    table.open();
    table.gateway.drain(table.now);
    assert!(table.gateway.is_drained() && table.records().is_empty());
    let record = Table::handed_over(full()).records()[0];
    let mut table = Table::new(Config::default());
    table.gateway.recall(table.now, &record);
    assert_eq!(table.gateway.candidates(), 0);
}

/// A record says what hosts have agreed on, and not where they are now.
#[test]
fn both_hosts_must_have_shown_where_they_are() {
    let mut table = Table::handed_over(full());
    for step in 0..20 {
        table.passes(Side::Lan, 2001 + 100 * step, 2001, &[3; 100]);
        table.now += Duration::from_secs(1);
    }
    assert_eq!(table.split_again(), 0);
    // The server acknowledges less than the client has sent, by more than its window of 480,000
    // bytes.
    let mut table = Table::handed_over(full());
    table.passes(Side::Satellite, 2001, 1001, b"");
    table.passes(Side::Lan, 600_001, 2001, b"");
    table.now += Duration::from_secs(2);
    table.passes(Side::Lan, 600_001, 2001, &[3; 100]);
    table.passes(Side::Satellite, 2001, 1001, b"");
    assert_eq!(table.split_again(), 0);
}

#[test]
fn what_had_passed_before_is_no_progress() {
    let mut table = Table::shown(full());
    // Both are as they were.
    table.passes(Side::Lan, 2001, 2001, b"");
    table.passes(Side::Satellite, 2001, 2001, b"");
    assert_eq!(table.split_again(), 0);
}

/// Before that, somebody may forge segments of both hosts.
#[test]
fn it_takes_a_while() {
    let mut table = Table::handed_over(full());
    table.passes(Side::Lan, 1901, 2001, &[3; 100]);
    table.passes(Side::Satellite, 2001, 2001, b"");
    table.passes(Side::Lan, 2001, 2001, &[4; 100]);
    table.passes(Side::Satellite, 2001, 2101, b"");
    assert_eq!(table.split_again(), 0);
    table.now += Duration::from_secs(1);
    table.passes(Side::Lan, 2101, 2001, &[4; 100]);
    table.at(Side::Satellite, 2001, 2201, b"");
    assert_eq!(table.split_again(), 1);
}

/// The hosts answer what is forged with where they are.
#[test]
fn who_speaks_for_both_hosts_is_contradicted() {
    let forged = 2001 + (1 << 24);
    let mut table = Table::handed_over(full());
    table.passes(Side::Lan, forged, forged, &[9; 100]);
    table.passes(Side::Satellite, forged, forged, b"");
    table.now += Duration::from_secs(1);
    table.passes(Side::Lan, 2001, 2001, b"");
    table.passes(Side::Lan, forged + 100, forged, &[9; 100]);
    table.passes(Side::Satellite, forged, forged + 200, b"");
    assert_eq!(table.split_again(), 0);
}

/// What repeats or probes is none.
#[test]
fn a_repetition_contradicts_nobody() {
    let mut table = Table::shown(full());
    table.passes(Side::Lan, 1901, 2001, &[3; 100]);
    table.passes(Side::Satellite, 2000, 2001, b"");
    table.passes(Side::Lan, 2001, 2001, &[4; 100]);
    table.at(Side::Satellite, 2001, 2101, b"");
    assert_eq!(table.split_again(), 1);
}

/// A gateway that has crashed had acknowledged 500 bytes of the client's, which the server has not.
/// They are lost.
#[test]
fn a_connection_that_misses_bytes_is_not_split() {
    let mut table = Table::handed_over(full());
    table.passes(Side::Lan, 2001, 2001, &[3; 100]);
    table.passes(Side::Satellite, 2001, 1501, b"");
    table.now += Duration::from_secs(1);
    for step in 0..20 {
        // The other direction goes on.
        let at = 2001 + 100 * step;
        table.passes(Side::Satellite, at, 1501, &[4; 100]);
        table.passes(Side::Lan, 2001, at + 100, &[3; 100]);
        table.now += Duration::from_millis(100);
    }
    assert_eq!((table.split_again(), table.gateway.flows()), (0, 0));
}

#[test]
fn a_connection_that_ends_or_begins_anew_is_forgotten() {
    for flags in [Flags::FIN | Flags::ACK, Flags::RST, Flags::SYN, Flags::SYN | Flags::ACK] {
        for from in [Side::Lan, Side::Satellite] {
            for shown in [false, true] {
                let options = TcpOptions { mss: Some(1460), ..TcpOptions::default() };
                let mut table = match shown {
                    true => Table::shown(options),
                    false => Table::handed_over(options),
                };
                table.send(from, Table::segment(from, 2001, 2001, flags), b"");
                assert_eq!(table.gateway.candidates(), 0, "{flags:?} {from:?} {shown}");
            }
        }
    }
    // So it is while the gateway that records it waits for others.
    let mut table = Table::new(config());
    table.open();
    table.gateway.drain(table.now);
    assert_eq!(table.records().len(), 1);
    table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::FIN | Flags::ACK), b"");
    assert_eq!(table.records(), []);
}

/// What is held is delivered first. By then a host may have ended its direction.
#[test]
fn who_has_ended_a_direction_is_not_recorded() {
    for ends in [false, true] {
        let mut table = Table::new(config());
        table.open();
        table.at(Side::Lan, 1, 1, &[1; 1000]);
        table.gateway.drain(table.now);
        assert_eq!((table.gateway.is_drained(), table.records().len()), (false, 0));
        let flags = if ends { Flags::FIN | Flags::ACK } else { Flags::ACK };
        table.send(Side::Lan, Table::segment(Side::Lan, 1001, 1, flags), b"");
        table.at(Side::Satellite, 1, 1001, b"");
        assert!(table.gateway.is_drained());
        assert_eq!(table.records().len(), usize::from(!ends));
    }
}

/// Options that only gateways have agreed on, the hosts know nothing of.
#[test]
fn what_hosts_have_not_agreed_on_is_not_recorded() {
    let mut table = Table::new(Config { add_options: AddOptions::Always, ..config() });
    table.open();
    let mut synack = Table::new(Config { add_options: AddOptions::Always, ..config() });
    let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
    synack.send(Side::Lan, TcpHeader { options: synack.options.clone(), ..syn }, b"");
    let answer = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    synack.send(Side::Satellite, TcpHeader { options: full(), ..answer }, b"");
    synack.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::ACK), b"");
    for (mut table, recorded) in [(table, 1), (synack, 0)] {
        assert_eq!(table.gateway.summary().split, 1);
        table.gateway.drain(table.now);
        assert_eq!(table.records().len(), recorded);
    }
}

/// Forwarded so far, as it was short: the next gateway adopts it when it is long.
#[test]
fn a_short_connection_is_recorded_and_proves_long_later() {
    let config = Config { adopt_after: Some(Bytes::new(1000)), ..config() };
    let mut table = Table::new(config.clone());
    table.options = full();
    let (syn, options) = (Table::segment(Side::Lan, 0, 0, Flags::SYN), full());
    table.send(Side::Lan, TcpHeader { options: options.clone(), ..syn }, b"");
    assert_eq!(table.records(), [], "its handshake is not complete");
    let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    table.send(Side::Satellite, TcpHeader { options, ..synack }, b"");
    table.passes(Side::Lan, 1, 1, &[1; 500]);
    table.gateway.drain(table.now);
    // While it waits for others it splits nothing.
    for at in (501..5001).step_by(500) {
        table.passes(Side::Lan, at, 1, &[1; 500]);
        table.passes(Side::Satellite, 1, at + 500, b"");
    }
    let mut next = table.successor(config);
    next.passes(Side::Lan, 5001, 1, &[2; 500]);
    next.passes(Side::Satellite, 1, 5501, b"");
    next.now += Duration::from_secs(1);
    next.passes(Side::Lan, 5501, 1, &[2; 999]);
    next.passes(Side::Satellite, 1, 6500, b"");
    assert_eq!(next.split_again(), 0);
    next.passes(Side::Lan, 6500, 1, &[2; 1]);
    next.at(Side::Satellite, 1, 6501, b"");
    assert_eq!(next.split_again(), 1);
}

/// Two hours of silence release it. When it becomes active it is split again.
#[test]
fn a_connection_that_was_silent_is_split_again() {
    let mut table = Table::new(config());
    table.options = full();
    table.open();
    table.at(Side::Lan, 1, 1, &[1; 1000]);
    table.at(Side::Satellite, 1, 1001, b"");
    table.wait(Duration::from_secs(7201));
    assert_eq!((table.gateway.flows(), table.gateway.candidates()), (0, 1));
    table.passes(Side::Lan, 1001, 1, &[2; 1000]);
    table.passes(Side::Satellite, 1, 2001, b"");
    table.now += Duration::from_secs(1);
    table.passes(Side::Satellite, 1, 2001, &[3; 500]);
    assert_eq!(table.split_again(), 0);
    table.at(Side::Lan, 2001, 501, b"");
    assert_eq!((table.split_again(), table.gateway.flows()), (1, 1));
}

/// An operator may have changed what is split; and there are no more than flows.
#[test]
fn what_the_next_gateway_does_not_split_it_does_not_recall() {
    let record = Table::handed_over(full()).records()[0];
    let mut policy = Policy::default();
    policy.rules.push(Rule { action: Action::Forward, ..Default::default() });
    for config in [Config { policy, ..config() }, Config { max_flows: 0, ..config() }] {
        let mut table = Table::new(config);
        table.gateway.recall(table.now, &record);
        assert_eq!(table.gateway.candidates(), 0);
        table.options = full();
        assert_eq!(table.at(Side::Lan, 2001, 2001, b"").0, UNKNOWN);
    }
    // Nor what it has.
    let mut table = Table::new(config());
    table.open();
    table.gateway.recall(table.now, &record);
    assert_eq!(table.gateway.candidates(), 0);
}

/// A record of another connection of the same name, or a forged one, is of no use.
#[test]
fn a_record_that_is_far_from_where_hosts_are_is_of_no_use() {
    let mut table = Table::handed_over(full());
    let text = table.records()[0].to_string().replace(":1001", ":1000000001");
    let record: SessionRecord = text.parse().expect("a record");
    table = Table::new(config());
    table.options = full();
    table.gateway.recall(table.now, &record);
    for step in 0..20 {
        let at = 2001 + 100 * step;
        table.passes(Side::Lan, at, 1, &[3; 100]);
        table.passes(Side::Satellite, 1, at + 100, b"");
        table.now += Duration::from_secs(1);
    }
    assert_eq!(table.split_again(), 0);
}

/// Fault seed 24057: a gateway that has left had offered more than the host does. What is sent for
/// that is taken. Fault seed 147175722: also where it had added timestamps, which the hosts have
/// not agreed on.
#[test]
fn what_was_promised_before_is_taken() {
    let bare = TcpOptions { timestamps: None, ..full() };
    for options in [full(), bare] {
        let mut table = Table::handed_over(options);
        let wide = Table::segment(Side::Satellite, 2001, 2001, Flags::ACK);
        let stamps = Some(Timestamps { value: 4501, echo: 2501 });
        let options = TcpOptions { timestamps: stamps, ..TcpOptions::default() };
        table.send(Side::Satellite, TcpHeader { window: 60_500, options, ..wide }, b"");
        table.passes(Side::Satellite, 2001, 2001, b"");
        table.passes(Side::Lan, 2001, 2001, &[3; 100]);
        table.now += Duration::from_secs(1);
        table.passes(Side::Lan, 2101, 2001, &[3; 100]);
        let (_, sent) = table.at(Side::Satellite, 2001, 2201, b"");
        assert_eq!(table.split_again(), 1);
        let to_client = sent.iter().find(|sent| sent.to == Side::Lan);
        let window = to_client.map(|sent| u64::from(sent.tcp.window) * 8 + 200);
        assert!(window.is_none_or(|window| window + 7 >= 8 * 60_500), "{window:?}");
    }
}
