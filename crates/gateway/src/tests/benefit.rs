//! Transfers that have ended: what split ones took, and those of the sample.

use super::*;
use crate::benefit::{ServiceStats, SizeClass};
use crate::policy::Policy;

const SAMPLE: Disposition = Disposition::Forward(Reason::Sample);
/// No more than a first window.
const SERVED: [u8; 10_000] = [7; 10_000];

fn sampling() -> Config {
    let policy = Policy { sample: "100%".parse().unwrap(), ..Policy::default() };
    Config { policy, ..Config::default() }
}

impl Table {
    fn until(&mut self, millis: u64) -> &mut Table {
        self.wait(Instant::from_millis(millis).saturating_since(self.now));
        self
    }

    fn becomes(&mut self, from: Side, tcp: &TcpHeader, data: &[u8]) -> Disposition {
        let payload = Payload::Bytes(data);
        let fate = self.gateway.handle_packet(self.now, from, &Self::ip(from), tcp, payload);
        self.sent();
        fate
    }

    /// A connection by which the server sends 10,000 bytes in 1.5 s, and then nobody anything for
    /// a minute. What became of its packets.
    fn download(&mut self) -> Vec<Disposition> {
        let (lan, satellite) = (Side::Lan, Side::Satellite);
        let of = |side, seq, ack, flags| Table::segment(side, seq, ack, flags);
        let options = self.options.clone();
        let syn = TcpHeader { options: options.clone(), ..of(lan, 0, 0, Flags::SYN) };
        let synack = TcpHeader { options, ..of(satellite, 0, 1, Flags::SYN | Flags::ACK) };
        let mut fates = vec![self.until(0).becomes(lan, &syn, b"")];
        fates.push(self.until(500).becomes(satellite, &synack, b""));
        fates.push(self.until(510).becomes(lan, &of(lan, 1, 1, Flags::ACK), b""));
        fates.push(self.until(510).becomes(lan, &of(lan, 1, 1, Flags::ACK), &[1; 100]));
        fates.push(self.until(1010).becomes(
            satellite,
            &of(satellite, 1, 101, Flags::ACK),
            &SERVED,
        ));
        fates.push(self.until(1020).becomes(lan, &of(lan, 101, 10_001, Flags::ACK), b""));
        let fin = Flags::FIN | Flags::ACK;
        fates.push(self.until(61_020).becomes(lan, &of(lan, 101, 10_001, fin), b""));
        fates.push(self.until(61_500).becomes(satellite, &of(satellite, 10_001, 102, fin), b""));
        fates.push(self.until(61_510).becomes(lan, &of(lan, 102, 10_002, Flags::ACK), b""));
        fates
    }

    fn is_seen(&self) -> bool {
        let ends = [([10, 0, 0, 1].into(), 4000), ([10, 9, 9, 9].into(), 80)];
        let [client, server] = ends.map(|(ip, port): (IpAddr, u16)| (ip, port).into());
        self.gateway.knows(client, server)
    }

    fn stats(&self) -> ServiceStats {
        let (key, stats) = self.gateway.transfers().services().next().expect("a transfer");
        assert_eq!((key.prefix.first(), key.port), (IpAddr::from([10, 0, 0, 0]), 80));
        stats.clone()
    }
}

#[test]
fn a_split_connection_is_a_transfer_once_it_has_ended() {
    let mut table = Table::new(Config::default());
    let fates = table.download();
    assert!(fates.iter().all(|fate| *fate == Disposition::Consumed), "{fates:?}");
    let stats = table.stats();
    assert_eq!((stats.connections, stats.bytes, stats.sampled()), (1, [100, 10_000], 0));
    let means = stats.classes[SizeClass::Under100kB as usize].split.means().expect("one");
    assert!((means.took - 1.02).abs() < 0.001, "{means:?}");
    assert!(stats.round_trips[1].median().is_some_and(|ms| (360.0..730.0).contains(&ms)));
}

#[test]
fn a_connection_of_the_sample_passes_and_is_measured() {
    let mut table = Table::new(sampling());
    let fates = table.download();
    assert!(fates.iter().all(|fate| *fate == SAMPLE), "{fates:?}");
    assert_eq!(table.gateway.summary().forwarded_flows(Reason::Sample), 1);
    let stats = table.stats();
    assert_eq!((stats.connections, stats.sampled()), (0, 1));
    let means = stats.classes[SizeClass::Under100kB as usize].sample.means().expect("one");
    assert!((means.took - 1.02).abs() < 0.001 && (means.size - 10_000.0).abs() < 1.0, "{means:?}");
    // 510 ms of both legs together: a handshake, and a round for seven segments.
    assert!((means.model - 2.0 * 0.51).abs() < 0.001, "{means:?}");
    assert!(!table.is_seen(), "nothing is kept of it");
}

/// What the model says of a sampled download of twelve segments, some of which come once more, one
/// after the other, so many milliseconds apart.
fn modelled(again: u64, apart: u64) -> f64 {
    let (mut table, [lan, satellite]) = (Table::new(sampling()), [Side::Lan, Side::Satellite]);
    let of = |side, seq, ack, flags| Table::segment(side, seq, ack, flags);
    let options = table.options.clone();
    let syn = TcpHeader { options: options.clone(), ..of(lan, 0, 0, Flags::SYN) };
    let synack = TcpHeader { options, ..of(satellite, 0, 1, Flags::SYN | Flags::ACK) };
    table.until(0).becomes(lan, &syn, b"");
    table.until(500).becomes(satellite, &synack, b"");
    table.until(510).becomes(lan, &of(lan, 1, 1, Flags::ACK), b"");
    let data = |table: &mut Table, number: u64| {
        table.becomes(satellite, &of(satellite, 1 + 1000 * number, 1, Flags::ACK), &[7; 1000]);
    };
    (0..12).for_each(|number| data(&mut table, number));
    for number in 0..again {
        table.wait(Duration::from_millis(apart));
        data(&mut table, number);
    }
    table.becomes(lan, &of(lan, 1, 12_001, Flags::ACK), b"");
    table.becomes(lan, &of(lan, 1, 12_001, Flags::RST | Flags::ACK), b"");
    let means = table.stats().classes[SizeClass::Under100kB as usize].sample.means();
    means.expect("one").model
}

#[test]
fn losses_of_a_round_are_one() {
    let [none, one, burst, several] =
        [(0, 0), (1, 1), (6, 1), (6, 600)].map(|(n, ms)| modelled(n, ms));
    assert!(
        none < one && (one - burst).abs() < 0.001 && burst < several,
        "{none} {one} {burst} {several}"
    );
}

#[test]
fn forged_segments_of_a_sampled_connection_end_no_more_than_its_measurement() {
    let mut table = Table::new(sampling());
    let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
    assert_eq!(table.becomes(Side::Lan, &syn, b""), SAMPLE);
    assert!(table.is_seen(), "its packets come to the gateway");
    for (seq, ack, flags) in [
        (1 << 30, 1 << 31, Flags::ACK),
        (u64::from(u32::MAX), 7, Flags::ACK | Flags::FIN),
        (0, 0, Flags::RST),
    ] {
        table.becomes(
            Side::Satellite,
            &Table::segment(Side::Satellite, seq, ack, flags),
            &[1; 1000],
        );
    }
    let unknown = Disposition::Forward(Reason::UnknownFlow);
    assert_eq!(
        table.becomes(Side::Lan, &Table::segment(Side::Lan, 1, 1, Flags::ACK), b""),
        unknown
    );
    assert_eq!(table.gateway.transfers().services().count(), 0);
}
