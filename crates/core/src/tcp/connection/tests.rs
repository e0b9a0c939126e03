//! Segment scripts for the state machine; the property suite lives in `tests/properties.rs`.

mod ecn;
mod opening;
mod path;
mod persist;
mod transactions;

use super::*;
use crate::tcp::buffer::Chunks;
use crate::tcp::sender::InitialWindow;
use crate::wire::SackBlock;

type Host = Connection<Chunks>;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// All that `host` sends now, with payloads.
fn drain(host: &mut Host, now: Instant) -> Vec<(TcpHeader, Vec<u8>)> {
    std::iter::from_fn(|| {
        let out = host.poll_transmit(now).ok()?;
        let mut bytes = Vec::new();
        host.payload(out.data, |piece| {
            let Payload::Bytes(piece) = piece else { unreachable!() };
            bytes.extend_from_slice(piece);
        });
        Some((out.tcp, bytes))
    })
    .collect()
}

/// Carries segments to and fro, without delay, until both are silent.
fn exchange(a: &mut Host, b: &mut Host, now: Instant) {
    loop {
        let (from_a, from_b) = (drain(a, now), drain(b, now));
        if from_a.is_empty() && from_b.is_empty() {
            return;
        }
        for (tcp, bytes) in from_a {
            b.handle_segment(now, &tcp, Payload::Bytes(&bytes));
        }
        for (tcp, bytes) in from_b {
            a.handle_segment(now, &tcp, Payload::Bytes(&bytes));
        }
    }
}

fn connected(config: ConnectionConfig) -> (Host, Host) {
    let mut a = Host::connect(at(0), config, SeqNum(0xFFFF_FF00));
    let (syn, _) = drain(&mut a, at(0)).pop().unwrap();
    let mut b = Host::accept(at(0), config, SeqNum(77), &syn).unwrap();
    exchange(&mut a, &mut b, at(0));
    assert_eq!((a.poll_event(), b.poll_event()), (Some(Event::Connected), Some(Event::Connected)));
    (a, b)
}

fn read_all(host: &mut Host) -> Vec<u8> {
    let mut bytes = Vec::new();
    host.read(Bytes::MAX, |piece| {
        let Payload::Bytes(piece) = piece else { unreachable!() };
        bytes.extend_from_slice(piece);
    });
    bytes
}

#[test]
fn bytes_and_ends_cross_in_both_directions() {
    let (mut a, mut b) = connected(ConnectionConfig::default());
    assert_eq!(a.write(Payload::Bytes(b"hello")), 5);
    exchange(&mut a, &mut b, at(1));
    assert_eq!(read_all(&mut b), b"hello");
    a.close();
    exchange(&mut a, &mut b, at(2));
    assert_eq!((a.state(), b.state()), (State::FinWait2, State::CloseWait));
    assert!(b.at_end());
    // Half-closed: the other direction goes on.
    b.write(Payload::Bytes(b"good bye"));
    exchange(&mut a, &mut b, at(3));
    assert_eq!(read_all(&mut a), b"good bye");
    b.close();
    exchange(&mut a, &mut b, at(4));
    assert_eq!((a.state(), b.state()), (State::TimeWait, State::Closed));
    assert_eq!(b.poll_event(), Some(Event::PeerClosed));
    assert_eq!(b.poll_event(), Some(Event::Closed));
    a.handle_timeout(at(4) + TIME_WAIT);
    assert_eq!(a.state(), State::Closed);
    assert_eq!(a.poll_timeout(), None);
}

#[test]
fn what_has_come_can_be_read_after_the_end() {
    let (mut a, mut b) = connected(ConnectionConfig::default());
    a.write(Payload::Bytes(b"last words"));
    a.close();
    b.close();
    exchange(&mut a, &mut b, at(1));
    b.handle_timeout(at(1) + TIME_WAIT);
    assert_eq!(b.state(), State::Closed);
    assert!(!b.at_end());
    assert_eq!(read_all(&mut b), b"last words");
    assert!(b.at_end());
}

#[test]
fn simultaneous_open_and_close() {
    let config = ConnectionConfig::default();
    let mut a = Host::connect(at(0), config, SeqNum(1));
    let mut b = Host::connect(at(0), config, SeqNum(2));
    exchange(&mut a, &mut b, at(0));
    assert_eq!((a.state(), b.state()), (State::Established, State::Established));
    a.close();
    b.close();
    exchange(&mut a, &mut b, at(1));
    assert_eq!((a.state(), b.state()), (State::TimeWait, State::TimeWait));
}

#[test]
fn a_silent_peer_times_out_after_the_syn_retries() {
    let mut a =
        Host::connect(at(0), ConnectionConfig { syn_retries: 2, ..Default::default() }, SeqNum(1));
    let mut sent = Vec::new();
    while let Some(deadline) = a.poll_timeout() {
        sent.extend(drain(&mut a, deadline).into_iter().map(|(tcp, _)| tcp.flags));
        a.handle_timeout(deadline);
    }
    assert_eq!(sent, [Flags::SYN; 3]);
    assert_eq!(a.poll_event(), Some(Event::TimedOut));
}

#[test]
fn blind_resets_and_syns_are_challenged() {
    // RFC 5961, sections 3.2 and 4.2.
    let (mut a, mut b) = connected(ConnectionConfig::default());
    a.write(Payload::Bytes(b"x"));
    let (data, _) = drain(&mut a, at(1)).pop().unwrap();
    let blind = TcpHeader { seq: data.seq + 1000, flags: Flags::RST, ..data.clone() };
    b.handle_segment(at(1), &blind, Payload::EMPTY);
    let challenge = drain(&mut b, at(1)).pop().expect("a challenge").0;
    assert_eq!((challenge.flags, challenge.ack), (Flags::ACK, data.seq));
    assert_eq!(b.state(), State::Established);
    let syn = TcpHeader { flags: Flags::SYN, ..data.clone() };
    b.handle_segment(at(1000), &syn, Payload::EMPTY);
    assert_eq!(drain(&mut b, at(1000)).len(), 1);
    assert_eq!(b.state(), State::Established);
    b.handle_segment(at(1001), &TcpHeader { flags: Flags::RST, ..data }, Payload::EMPTY);
    assert_eq!(b.state(), State::Closed);
}

#[test]
fn a_closed_window_is_probed_and_reopens() {
    let config = ConnectionConfig {
        receive_buffer: Bytes::new(3000),
        window_scale: None,
        ..Default::default()
    };
    let (mut a, mut b) = connected(config);
    assert_eq!(a.write(Payload::Bytes(&[7; 10_000])), 10_000);
    exchange(&mut a, &mut b, at(1));
    // Silly-window avoidance keeps back less than a segment; the override timer sends it.
    for _ in 0..3 {
        let probe_at = a.poll_timeout().expect("the persist timer runs");
        a.handle_timeout(probe_at);
        exchange(&mut a, &mut b, probe_at);
    }
    assert_eq!(b.readable(), Bytes::new(3000));
    let mut got = 0;
    let mut now = at(100_000);
    while got < 10_000 {
        got += read_all(&mut b).len();
        exchange(&mut a, &mut b, now);
        now = a.poll_timeout().unwrap_or(now);
        a.handle_timeout(now);
        exchange(&mut a, &mut b, now);
    }
    assert_eq!(got, 10_000);
}

#[test]
fn three_duplicates_bring_a_fast_retransmission() {
    for sack in [true, false] {
        let mut config = ConnectionConfig { sack, ..Default::default() };
        config.sender.initial_window = InitialWindow::Segments(8);
        let (mut a, mut b) = connected(config);
        a.write(Payload::Bytes(&[1; 1448 * 8]));
        let mut segments = drain(&mut a, at(10));
        assert_eq!(segments.len(), 8);
        let lost = segments.remove(1);
        for (tcp, bytes) in &segments {
            b.handle_segment(at(20), tcp, Payload::Bytes(bytes));
            for (ack, _) in drain(&mut b, at(20)) {
                a.handle_segment(at(30), &ack, Payload::EMPTY);
            }
        }
        let again = drain(&mut a, at(30));
        assert_eq!(again.len(), 1, "sack {sack}");
        assert_eq!(again[0].0.seq, lost.0.seq, "sack {sack}");
        assert!(again[0].1 == lost.1);
        let tcb = a.tcb().unwrap();
        assert_eq!(tcb.sender.stats().recoveries, 1);
        assert_eq!(tcb.sender.cwnd(), tcb.sender.ssthresh());
        exchange(&mut a, &mut b, at(31));
        b.handle_segment(at(31), &again[0].0, Payload::Bytes(&again[0].1));
        exchange(&mut a, &mut b, at(40));
        assert_eq!(b.readable(), Bytes::new(1448 * 8));
        assert!(a.tcb().unwrap().sender.is_done());
    }
}

#[test]
fn an_old_segment_brings_a_duplicate_report() {
    // RFC 2883, 4.1: the acknowledgment was lost, so the segment comes once more.
    let (mut a, mut b) = connected(ConnectionConfig::default());
    a.write(Payload::Bytes(&[3; 500]));
    let (tcp, bytes) = drain(&mut a, at(1)).pop().unwrap();
    for time in [2, 3] {
        b.handle_segment(at(time), &tcp, Payload::Bytes(&bytes));
    }
    let acks = drain(&mut b, at(3));
    let blocks: Vec<_> = acks.iter().flat_map(|(ack, _)| ack.options.sack.clone()).collect();
    assert_eq!(blocks, [SackBlock { left: tcp.seq, right: tcp.seq + 500 }]);
}

#[test]
fn after_a_lost_syn_the_first_flight_is_one_segment_and_patient() {
    // RFC 5681, 3.1; RFC 6298, rule 5.7.
    let config = ConnectionConfig::default();
    let mut a = Host::connect(at(0), config, SeqNum(1));
    drain(&mut a, at(0));
    a.handle_timeout(at(1000));
    let (syn, _) = drain(&mut a, at(1000)).pop().unwrap();
    let mut b = Host::accept(at(1500), config, SeqNum(2), &syn).unwrap();
    let (answer, _) = drain(&mut b, at(1500)).pop().unwrap();
    a.handle_segment(at(2000), &answer, Payload::EMPTY);
    a.write(Payload::Bytes(&[0; 5000]));
    assert_eq!(drain(&mut a, at(2000)).len(), 1);
    assert_eq!(a.poll_timeout(), Some(at(5000)));
}

#[test]
fn every_second_segment_of_a_peer_with_small_segments_is_acknowledged() {
    // RFC 1122, 4.2.3.2, in the peer's full segments.
    let large = ConnectionConfig::default();
    let mut a = Host::connect(at(0), ConnectionConfig { mss: 536, ..large }, SeqNum(1));
    let (syn, _) = drain(&mut a, at(0)).pop().unwrap();
    let mut b = Host::accept(at(0), large, SeqNum(2), &syn).unwrap();
    exchange(&mut a, &mut b, at(0));
    a.write(Payload::Bytes(&[0; 524 * 2]));
    for (number, (tcp, bytes)) in drain(&mut a, at(1)).into_iter().enumerate() {
        b.handle_segment(at(1), &tcp, Payload::Bytes(&bytes));
        assert_eq!(drain(&mut b, at(1)).len(), number);
    }
}

#[test]
fn every_repeated_fin_is_acknowledged() {
    let (mut a, mut b) = connected(ConnectionConfig::default());
    a.close();
    let (fin, _) = drain(&mut a, at(1)).pop().unwrap();
    for time in [2, 202, 402] {
        b.handle_segment(at(time), &fin, Payload::EMPTY);
        assert_eq!(drain(&mut b, at(time)).len(), 1, "at {time} ms");
    }
}

#[test]
fn segments_from_a_former_lap_are_dropped_and_answered() {
    // PAWS (RFC 7323, section 5.3).
    let (mut a, mut b) = connected(ConnectionConfig::default());
    a.write(Payload::Bytes(b"old"));
    let (old, bytes) = drain(&mut a, at(1)).pop().unwrap();
    let mut new = old.clone();
    new.options.timestamps.as_mut().unwrap().value += 10;
    b.handle_segment(at(11), &new, Payload::Bytes(&bytes));
    b.handle_segment(at(51), &new, Payload::EMPTY);
    drain(&mut b, at(60));
    let next = TcpHeader { seq: old.seq + 3, ..old.clone() };
    b.handle_segment(at(61), &next, Payload::Bytes(b"lap"));
    assert_eq!(drain(&mut b, at(61)).len(), 1);
    assert_eq!(read_all(&mut b), b"old");
    // Without timestamps it is dropped in silence (3.2).
    let mut bare = next;
    bare.options.timestamps = None;
    b.handle_segment(at(62), &bare, Payload::Bytes(b"lap"));
    assert_eq!(drain(&mut b, at(62)).len(), 0);
    assert_eq!(b.readable(), Bytes::ZERO);
}

#[test]
fn a_tuned_window_keeps_ahead_of_the_sender() {
    for timestamps in [true, false] {
        let config = ConnectionConfig {
            receive_buffer: Bytes::new(16 << 10),
            receive_buffer_max: Some(Bytes::new(1 << 20)),
            timestamps,
            ..Default::default()
        };
        let (mut a, mut b) = connected(config);
        let mut max = 0;
        for round in 1..=12 {
            let (sent_at, now) = (at(round * 200), at(round * 200 + 100));
            a.write(Payload::Bytes(&vec![0; 1 << 20]));
            let segments = drain(&mut a, sent_at);
            max = max.max(segments.len() * 1448);
            for (tcp, bytes) in segments {
                b.handle_segment(now, &tcp, Payload::Bytes(&bytes));
                read_all(&mut b);
                for (ack, _) in drain(&mut b, now) {
                    a.handle_segment(at(round * 200 + 200), &ack, Payload::EMPTY);
                }
            }
        }
        assert!(max > 400_000, "timestamps {timestamps}: {max} bytes a round trip");
        assert!(b.receive_buffer() <= Bytes::new(1 << 20));
        // What is not read does not make it grow.
        let (mut a, mut b) = connected(config);
        a.write(Payload::Bytes(&vec![0; 1 << 20]));
        for round in 1..=12 {
            exchange(&mut a, &mut b, at(round * 200));
        }
        assert_eq!(b.receive_buffer(), Bytes::new(16 << 10));
    }
}

#[test]
fn a_window_of_8_kb_without_options_stays_there() {
    let config = ConnectionConfig {
        receive_buffer: Bytes::new(8192),
        window_scale: None,
        sack: false,
        timestamps: false,
        ..Default::default()
    };
    let (mut a, mut b) = connected(config);
    a.write(Payload::Bytes(&[0; 100_000]));
    let sent = drain(&mut a, at(1));
    assert_eq!(sent.iter().map(|(_, bytes)| bytes.len()).sum::<usize>(), 5 * 1460);
    assert!(sent.iter().all(|(tcp, _)| tcp.options == Default::default()));
    for (tcp, bytes) in sent {
        b.handle_segment(at(2), &tcp, Payload::Bytes(&bytes));
        read_all(&mut b);
    }
    assert!(drain(&mut b, at(2)).iter().all(|(ack, _)| ack.window <= 8192));
}
