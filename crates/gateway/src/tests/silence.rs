//! Hosts that say nothing for long, and those that are gone.

use super::*;

fn probes_to(side: Side, sent: &[Transmit]) -> usize {
    let probe = |transmit: &&Transmit| transmit.to == side && !transmit.tcp.has(Flags::RST);
    sent.iter().filter(probe).count()
}

/// The near host's keep-alive is answered by us, so we ask the far host; when that does not answer,
/// the near one hears of it.
#[test]
fn a_dead_far_host_is_noticed_by_the_near_one() {
    let mut table = Table::new(Config::default());
    table.open();
    let keep_alive = Table::segment(Side::Lan, 0, 1, Flags::ACK);
    let mut sent = table.send(Side::Lan, keep_alive, b"");
    sent.extend(table.wait(Duration::from_secs(1)));
    assert_eq!(probes_to(Side::Lan, &sent), 1, "the near host has its answer");
    assert_eq!(probes_to(Side::Satellite, &sent), 1, "and the far host is asked");
    let sent = table.wait(Duration::from_secs(30 * 60));
    assert!((10..=20).contains(&probes_to(Side::Satellite, &sent)), "asked again and again");
    assert!(sent.iter().any(|e| e.to == Side::Lan && e.tcp.has(Flags::RST)), "then reset");
    assert_eq!(table.gateway.flows(), 0);
}

#[test]
fn a_far_host_that_answers_keeps_its_connection() {
    let mut table = Table::new(Config::default());
    table.open();
    for _ in 0..40 {
        table.send(Side::Lan, Table::segment(Side::Lan, 0, 1, Flags::ACK), b"");
        table.send(Side::Satellite, Table::segment(Side::Satellite, 1, 1, Flags::ACK), b"");
        table.wait(Duration::from_secs(60));
    }
    assert_eq!((table.gateway.flows(), table.gateway.summary().reset), (1, 0));
}

/// One host's silence is not hidden by the other's talk.
#[test]
fn a_host_that_is_silent_alone_is_asked() {
    let mut table = Table::new(Config::default());
    table.options = Table::stamped();
    table.open();
    let mut sent = Vec::new();
    for minute in 0..150 {
        let ack = table.stamp(Table::segment(Side::Lan, 1, 1, Flags::ACK), 600 + minute);
        sent.extend(table.send(Side::Lan, ack, b""));
        sent.extend(table.wait(Duration::from_secs(60)));
    }
    assert!(sent.iter().any(|e| e.to == Side::Lan && e.tcp.has(Flags::RST)));
    assert_eq!(table.gateway.summary().released(Release::Idle), 0);
}

/// A server may send its file, close and forget; a reset for whatever the client says later cuts
/// nothing of what the client is still reading.
#[test]
fn what_is_owed_behind_a_fin_outlives_its_sender() {
    let mut table = Table::new(Config::default());
    table.open();
    let file = Table::segment(Side::Satellite, 1, 1, Flags::ACK | Flags::FIN);
    table.send(Side::Satellite, file, &[7; 1000]);
    table.wait(Duration::from_secs(31));
    table.send(Side::Satellite, Table::segment(Side::Satellite, 1002, 1, Flags::RST), b"");
    let mut sent = Vec::new();
    for _ in 0..10 {
        // The reader has no room for more, and says that it is there.
        let full = TcpHeader { window: 0, ..Table::segment(Side::Lan, 1, 1, Flags::ACK) };
        sent.extend(table.send(Side::Lan, full, b""));
        sent.extend(table.wait(Duration::from_secs(30)));
    }
    assert!(!sent.iter().any(|e| e.to == Side::Lan && e.tcp.has(Flags::RST)), "not cut off");
    assert!(table.gateway.held() > 0);
    let all = table.send(Side::Lan, Table::segment(Side::Lan, 1, 1002, Flags::ACK), b"");
    assert!(all.iter().any(|e| e.to == Side::Lan && e.tcp.has(Flags::RST)), "in the end");
    assert_eq!(table.gateway.summary().lost_bytes, 0);
}

/// What is owed to the far host goes where the near host's last packet went, until another one
/// shows where its packets go now.
#[test]
fn a_host_is_asked_for_its_way_when_nothing_comes_back_over_the_satellite() {
    let is_probe = |sent: &Transmit| sent.to == Side::Lan && sent.tcp.seq == SERVER_ISN;
    let probes = |sent: &[Transmit]| sent.iter().filter(|sent| is_probe(sent)).count();
    for closes in [false, true] {
        let mut table = Table::new(Config::default());
        table.open();
        let flags = if closes { Flags(Flags::ACK.0 | Flags::FIN.0) } else { Flags::ACK };
        let data = Table::segment(Side::Lan, 1, 1, flags);
        table.send(Side::Lan, data, &[1; 3000]);
        let sent = table.wait(Duration::from_secs(2));
        assert_eq!(probes(&sent), usize::from(!closes), "at the first timeout");
        let again = probes(&table.wait(Duration::from_secs(20)));
        assert_eq!(again > 0, !closes, "at each");
        // It sleeps, and the far host has all: nobody is asked any more, and nothing is reset.
        let all = 3001 + u64::from(closes);
        table.send(Side::Satellite, Table::segment(Side::Satellite, 1, all, Flags::ACK), b"");
        assert_eq!(probes(&table.wait(Duration::from_secs(1800))), 0);
        assert_eq!(table.gateway.summary().reset, 0);
    }
    // Whose packets come all the time is not asked, nor is the far host.
    let mut table = Table::new(Config::default());
    table.open();
    table.send(Side::Satellite, Table::segment(Side::Satellite, 1, 1, Flags::ACK), &[1; 3000]);
    let sent = table.wait(Duration::from_secs(20));
    assert!(sent.iter().all(|sent| sent.to == Side::Lan), "{sent:?}");
}
