//! ICMP errors about what the gateway has sent, and about what it has not.

use super::*;
use bentpipe_core::wire::{IcmpError, IcmpErrorKind, Quoted};

/// A router's error about a segment at `offset` of the stream towards `side`.
fn error(kind: IcmpErrorKind, side: Side, offset: u64) -> IcmpError {
    let ip = Table::ip(side.other());
    let tcp = Table::segment(side.other(), offset, 1, Flags::ACK);
    let (src, dst, src_port, dst_port) = (ip.src, ip.dst, tcp.src_port, tcp.dst_port);
    let quoted = Quoted { src, dst, src_port, dst_port, seq: tcp.seq, wire_len: 1500 };
    IcmpError { kind, quoted }
}

fn too_big(mtu: u32, side: Side, offset: u64) -> IcmpError {
    error(IcmpErrorKind::PacketTooBig { mtu }, side, offset)
}

impl Table {
    /// What becomes of an error that comes in on `from`, and what the gateway sends then.
    fn complain(&mut self, from: Side, error: &IcmpError) -> (Disposition, Vec<Transmit>) {
        let verdict = self.gateway.handle_icmp(self.now, from, error, 100);
        (verdict, self.sent())
    }
}

/// Offsets behind the handshake and lengths of the wire segments towards `side`.
fn wire_segments(side: Side, sent: &[Transmit]) -> Vec<(u64, usize)> {
    let isn = if side == Side::Satellite { CLIENT_ISN } else { SERVER_ISN };
    let towards = sent.iter().filter(|sent| sent.to == side && sent.payload_len() > 0);
    towards
        .flat_map(|sent| {
            let (start, len) = (sent.tcp.seq.distance_from(isn) as usize, sent.payload_len());
            let size = sent.gso_size.map_or(len, usize::from);
            (0..len).step_by(size).map(move |at| ((start + at) as u64, size.min(len - at)))
        })
        .collect()
}

#[test]
fn each_leg_learns_the_mtu_of_its_own_path() {
    for side in [Side::Satellite, Side::Lan] {
        let mut table = Table::new(Config::default());
        table.open();
        let data = Table::segment(side.other(), 1, 1, Flags::ACK);
        let sent = table.send(side.other(), data, &[7; 4 * 1460]);
        let first: Vec<(u64, usize)> = (0..4).map(|i| (1 + i * 1460, 1460)).collect();
        assert_eq!(wire_segments(side, &sent), first);
        // Retransmitted at once, whole, in the new size, and to nobody else.
        let (verdict, sent) = table.complain(side, &too_big(1240, side, 1));
        assert_eq!(verdict, Disposition::Consumed);
        let again = wire_segments(side, &sent);
        assert!(again.iter().all(|(_, len)| *len <= 1200), "{again:?}");
        let mut end = 1;
        for (start, len) in &again {
            assert_eq!(*start, end);
            end += *len as u64;
        }
        assert_eq!(end, 1 + 4 * 1460);
        assert!(wire_segments(side.other(), &sent).is_empty());
        // The other three say the same.
        let (verdict, sent) = table.complain(side, &too_big(1240, side, 1 + 1460));
        assert_eq!((verdict, sent.len()), (Disposition::Consumed, 0));
        assert_eq!(table.gateway.summary().path_mtu_falls, 1);
        // The other leg's path is another one.
        let answer = Table::segment(side, 1, 1 + 4 * 1460, Flags::ACK);
        let sent = table.send(side, answer, &[8; 1460]);
        assert_eq!(wire_segments(side.other(), &sent), [(1, 1460)]);
    }
}

#[test]
fn who_has_not_seen_the_segment_is_not_believed() {
    let mut table = Table::new(Config::default());
    table.open();
    table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::ACK), &[7; 1460]);
    for seq in [0, 1461, 1 << 30] {
        let (verdict, sent) = table.complain(Side::Satellite, &too_big(600, Side::Satellite, seq));
        assert_eq!((verdict, sent.len()), (Disposition::Consumed, 0), "{seq}");
    }
    // About what the client sends itself, or from where the segment has not been.
    let (verdict, _) = table.complain(Side::Lan, &too_big(600, Side::Satellite, 1));
    assert_eq!(verdict, Disposition::Forward(Reason::Route));
    // About a connection that is not ours.
    let mut other = too_big(600, Side::Satellite, 1);
    other.quoted.src_port = 4001;
    let (verdict, _) = table.complain(Side::Satellite, &other);
    assert_eq!(verdict, Disposition::Forward(Reason::NotTcp));
    assert_eq!(table.gateway.summary().path_mtu_falls, 0);
    // Never below what a path must carry.
    let (_, sent) = table.complain(Side::Satellite, &too_big(68, Side::Satellite, 1));
    assert_eq!(wire_segments(Side::Satellite, &sent)[0], (1, 552 - 40));
}

#[test]
fn unreachable_is_a_soft_error_once_a_flow_is_split() {
    // RFC 5927, 5.2: "port unreachable" and "administratively prohibited" as well.
    for code in [0, 1, 3, 13] {
        let kind = IcmpErrorKind::Unreachable { code };
        let mut table = Table::new(Config::default());
        let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
        table.send(Side::Lan, TcpHeader { options: table.options.clone(), ..syn }, b"");
        // The SYN is the client's: it is to hear of it.
        let (verdict, _) = table.complain(Side::Satellite, &error(kind, Side::Satellite, 0));
        assert!(matches!(verdict, Disposition::Forward(_)));
        let mut table = Table::new(Config::default());
        table.open();
        table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::ACK), b"hello");
        let (verdict, sent) = table.complain(Side::Satellite, &error(kind, Side::Satellite, 1));
        assert_eq!((verdict, sent.len()), (Disposition::Consumed, 0));
        table.send(Side::Satellite, Table::segment(Side::Satellite, 1, 6, Flags::ACK), b"");
        assert_eq!((table.gateway.held(), table.gateway.summary().reset), (0, 0));
    }
}

#[test]
fn while_a_flow_leaves_its_hosts_hear_of_the_mtu_too() {
    let mut table = Table::new(Config::default());
    table.open();
    table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::ACK), &[7; 2920]);
    table.gateway.drain(table.now);
    let (verdict, sent) = table.complain(Side::Satellite, &too_big(1000, Side::Satellite, 1));
    assert_eq!(verdict, Disposition::Forward(Reason::Draining));
    assert!(wire_segments(Side::Satellite, &sent).iter().all(|(_, len)| *len <= 960));
    assert!(!sent.is_empty());
}

#[test]
fn the_former_size_is_tried_again() {
    // RFC 1191, 6.3.
    let mut table = Table::new(Config::default());
    table.open();
    table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::ACK), &[7; 1460]);
    table.complain(Side::Satellite, &too_big(1000, Side::Satellite, 1));
    table.send(Side::Satellite, Table::segment(Side::Satellite, 1, 1461, Flags::ACK), b"");
    for (pause, len) in [(1, 960), (600, 1460)] {
        table.wait(Duration::from_secs(pause));
        let at = if len == 960 { 1461 } else { 2921 };
        let sent = table.send(Side::Lan, Table::segment(Side::Lan, at, 1, Flags::ACK), &[7; 1460]);
        assert_eq!(wire_segments(Side::Satellite, &sent)[0], (at, len));
        let ack = Table::segment(Side::Satellite, 1, at + 1460, Flags::ACK);
        table.send(Side::Satellite, ack, b"");
    }
}

/// Hosts believe nothing below 552, and let routers cut what is too long (Linux's `min_pmtu`).
#[test]
fn below_the_smallest_mtu_that_is_believed_routers_cut_our_packets() {
    for mtu in [500, 296, 256, 68] {
        let mut table = Table::new(Config::default());
        table.open();
        let data = Table::segment(Side::Lan, 1, 1, Flags::ACK);
        let sent = table.send(Side::Lan, data, &[7; 4 * 1460]);
        assert!(sent.iter().all(|sent| sent.ip.dont_fragment));
        let (_, sent) = table.complain(Side::Satellite, &too_big(mtu, Side::Satellite, 1));
        let again = wire_segments(Side::Satellite, &sent);
        assert_eq!(again.iter().map(|(_, len)| len).sum::<usize>(), 4 * 1460);
        assert!(again.iter().all(|(_, len)| *len <= 512), "{again:?}");
        assert!(sent.iter().all(|sent| !sent.ip.dont_fragment), "{mtu}");
        assert_eq!(table.gateway.summary().path_mtu_falls, 1);
        // The other leg's path is another one.
        let answer = Table::segment(Side::Satellite, 1, 1 + 4 * 1460, Flags::ACK);
        let sent = table.send(Side::Satellite, answer, &[8; 1460]);
        let there = sent.iter().find(|sent| sent.to == Side::Lan).unwrap();
        assert!(there.ip.dont_fragment);
    }
}

/// The hosts' segments are short already, and still too long for a router.
#[test]
fn short_segments_that_are_still_too_long_are_cut_as_well() {
    let mut table = Table::new(Config::default());
    table.options.mss = Some(400);
    table.open();
    table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::ACK), &[7; 800]);
    let (_, sent) = table.complain(Side::Satellite, &too_big(296, Side::Satellite, 1));
    assert_eq!(wire_segments(Side::Satellite, &sent), [(1, 400), (401, 400)]);
    assert!(sent.iter().all(|sent| !sent.ip.dont_fragment));
}

/// Routers may cut what the hosts let them cut: one whose ICMP is filtered is passed as without a
/// gateway.
#[test]
fn a_host_without_df_has_none_on_the_other_leg_either() {
    let mut table = Table::new(Config::default());
    table.open();
    let ip = IpHeader { dont_fragment: false, ..Table::ip(Side::Lan) };
    let data = Table::segment(Side::Lan, 1, 1, Flags::ACK);
    let sent = table.give(Side::Lan, &ip, &data, b"hello");
    let data = sent.iter().find(|sent| sent.to == Side::Satellite).unwrap();
    assert!(!data.ip.dont_fragment);
}
