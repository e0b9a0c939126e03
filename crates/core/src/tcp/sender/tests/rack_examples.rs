//! The examples of RFC 8985's own text, one test each, named by its section.

use super::*;
use crate::tcp::ledger::Ledger;
use crate::tcp::recovery::{Rack, Recovery, SentFacts, Timing};

fn rack(window: u32, segments: u64) -> Sender {
    sender(config(RecoveryAlgorithm::Rack, window), segments)
}

/// Lets the next timer expire and says when that was.
fn expire(sender: &mut Sender) -> Instant {
    let due = sender.poll_timer().expect("a timer runs");
    sender.on_timer(due);
    due
}

/// Sends one segment a time, `apart` milliseconds from one to the next.
fn send_apart(sender: &mut Sender, count: u64, apart: u64) {
    for number in 0..count {
        let one = sender.poll_transmit(at(number * apart)).expect("there is data");
        assert_eq!(one.range, segment(number));
    }
}

#[test]
fn figure_1_a_lost_tail_and_a_lost_retransmission() {
    // 3.4: events are numbered as there.
    let mut sender = rack(10, 4);
    assert_eq!(drain(&mut sender, at(0)), [0, 1, 2, 3], "1");
    acknowledge(&mut sender, at(100), 1, &[]); // 2
    let probe = expire(&mut sender);
    assert_eq!(probe, at(300), "3a: 2 RTTs after 2");
    assert_eq!(drain(&mut sender, probe), [3], "3b");
    acknowledge(&mut sender, at(400), 1, &[3..4]); // 4
    assert_eq!(drain(&mut sender, at(400)), [1, 2], "5");
    // The retransmission of 1 is lost again.
    acknowledge(&mut sender, at(500), 1, &[2..4]); // 6
    assert_eq!(drain(&mut sender, at(500)), [1], "7");
    acknowledge(&mut sender, at(600), 4, &[]); // 8
    assert!(sender.is_done());
    assert_eq!((sender.stats().timeouts, sender.stats().recoveries), (0, 1));
    // The probe found the loss and is not taken for its repair: one reduction is enough.
    let window = sender.cwnd();
    sender.extend(segment(8).start);
    drain(&mut sender, at(600));
    acknowledge(&mut sender, at(700), 5, &[]);
    assert!(sender.cwnd() >= window);
}

#[test]
fn section_3_5_a_timeout_marks_only_what_is_overdue() {
    // The first was sent an RTO of a second ago, two more right before it. (A sender with probes
    // does not come here: the probe's timer is due first and begins the other anew.)
    let (mut ledger, mut rack) = (Ledger::new(Offset::FIRST), Rack::default());
    let (srtt, rto) = (Some(Duration::from_millis(100)), Duration::from_secs(1));
    for (number, now) in [(0, at(0)), (1, at(990)), (2, at(990))] {
        let range = segment(number);
        ledger.sent(now, range.clone());
        let timing = Timing { srtt, min_rtt: srtt, rttvar: Duration::ZERO, rto };
        rack.on_sent(&SentFacts { now, range, again: false, timing, smss: SMSS }, &ledger);
    }
    assert_eq!(rack.lost_by_timeout(at(1000), &ledger), [segment(0)]);
    // A round trip later they are overdue as well.
    let all = [segment(0), segment(1), segment(2)];
    assert_eq!(rack.lost_by_timeout(at(1090), &ledger), all);
}

#[test]
fn section_9_1_drops_at_the_end_of_a_flight() {
    // P1 and P3 of three are lost, each sent a reordering window after the one before.
    let mut sender = rack(10, 3);
    send_apart(&mut sender, 3, 30);
    acknowledge(&mut sender, at(130), 0, &[1..2]);
    assert_eq!(drain(&mut sender, at(130)), [0], "marked by the SACK of P2");
    acknowledge(&mut sender, at(230), 2, &[]);
    assert_eq!(drain(&mut sender, at(230)), [2], "marked by the acknowledgment of R1");
    acknowledge(&mut sender, at(330), 3, &[]);
    assert!(sender.is_done());
    assert_eq!((sender.stats().timeouts, sender.stats().retransmissions), (0, 2));
}

#[test]
fn section_9_1_a_lost_retransmission() {
    // P1 and P2 of three are lost, and R1 too.
    let mut sender = rack(10, 3);
    send_apart(&mut sender, 3, 30);
    acknowledge(&mut sender, at(160), 0, &[2..3]);
    assert_eq!(drain(&mut sender, at(160)), [0, 1]);
    acknowledge(&mut sender, at(260), 0, &[1..3]);
    assert_eq!(drain(&mut sender, at(260)), [0]);
    acknowledge(&mut sender, at(360), 3, &[]);
    assert_eq!((sender.stats().timeouts, sender.stats().recoveries), (0, 1));
}

#[test]
fn section_9_1_reordering_of_a_short_segment() {
    for (late, retransmissions) in [(124, 0), (126, 1)] {
        let mut sender = rack(10, 2);
        sender.extend(segment(2).start + Bytes::ONE);
        sender.finish();
        // All leave at once: ties are broken by sequence, so the last counts as sent later.
        while sender.poll_transmit(at(0)).is_ok() {}
        let last = segment(2).start..segment(2).start + Bytes::new(2);
        let blocks = [last];
        let ack = Ack {
            segment: Offset::FIRST,
            ack: Offset::FIRST,
            window: Bytes::new(1 << 20),
            sack: &blocks,
            occupies: false,
            echoed: None,
        };
        sender.on_ack(at(100), &ack);
        assert!(sender.poll_transmit(at(100)).is_err());
        let due = sender.poll_timer().unwrap();
        assert_eq!(due, at(125), "a quarter of the minimum round-trip time");
        if late > 125 {
            sender.on_timer(due);
            while sender.poll_transmit(due).is_ok() {}
        }
        let ack = Ack { ack: segment(2).start + Bytes::new(2), sack: &[], ..ack };
        sender.on_ack(at(late), &ack);
        assert!(sender.is_done());
        assert_eq!(sender.stats().recoveries, retransmissions, "P1 and P2 come at {late} ms");
    }
}

#[test]
fn section_9_3_all_of_ten_are_lost() {
    // Window 20, ten sent, all lost: the probe, then 1 + 2 + 4 + 2 in slow start under PRR, whose
    // bound lets each acknowledgment bring one more than it reports.
    let reduction = Reduction::Prr;
    let config = SenderConfig { reduction, ..config(RecoveryAlgorithm::Rack, 20) };
    let mut sender = sender(config, 10);
    drain(&mut sender, at(0));
    let probe = expire(&mut sender);
    assert_eq!(probe, at(200), "2 RTT");
    assert_eq!(drain(&mut sender, probe), [9]);
    let mut rounds = Vec::new();
    let mut now = probe + Duration::from_millis(100);
    acknowledge(&mut sender, now, 0, &[9..10]);
    let mut flight = drain(&mut sender, now);
    while !flight.is_empty() {
        rounds.push(flight.len());
        now += Duration::from_millis(100);
        let mut sent = Vec::new();
        for number in flight {
            acknowledge(&mut sender, now, if number == 8 { 10 } else { number + 1 }, &[]);
            sent.extend(drain(&mut sender, now));
        }
        flight = sent;
    }
    assert_eq!(rounds, [1, 2, 4, 2]);
    assert!(sender.is_done());
    assert_eq!(sender.ssthresh(), 5 * SMSS, "half of the ten that were in flight");
    assert_eq!((sender.stats().timeouts, sender.cwnd()), (0, sender.ssthresh()));
    assert_eq!(now.saturating_since(at(0)), Duration::from_millis(200 + 5 * 100));
}

#[test]
fn section_9_3_a_lost_retransmission_is_a_second_sign_of_congestion() {
    for (reduction, halvings) in [(Reduction::Plain, 2), (Reduction::Prr, 1)] {
        let config = SenderConfig { reduction, ..config(RecoveryAlgorithm::Rack, 16) };
        let mut sender = sender(config, 100);
        drain(&mut sender, at(0));
        acknowledge(&mut sender, at(100), 0, &[1..16]);
        assert_eq!(drain(&mut sender, at(100))[0], 0);
        assert_eq!(sender.ssthresh(), 8 * SMSS);
        acknowledge(&mut sender, at(200), 0, &[1..18]);
        drain(&mut sender, at(200));
        let expected = if halvings == 2 { 4 } else { 8 };
        assert_eq!(sender.ssthresh(), expected * SMSS, "{reduction:?}");
    }
}

#[test]
fn section_6_2_the_round_trip_time_is_of_the_newest_acknowledgment() {
    // Step 2: P3 arrives first, P2 later. Then RACK.rtt is P2's, longer than RACK.segment's.
    let mut sender = rack(10, 4);
    send_apart(&mut sender, 4, 10);
    acknowledge(&mut sender, at(125), 0, &[2..3]);
    // Sent at 0, RTT 105 ms, a quarter of 100 ms.
    assert_eq!(sender.poll_timer(), Some(at(130)));
    acknowledge(&mut sender, at(126), 0, &[1..3]);
    assert_eq!(sender.poll_timer(), Some(at(116 + 25)), "RTT of the second: 116 ms");
}

#[test]
fn section_7_3_no_probe_without_a_measurement() {
    // No handshake measured a round trip: the retransmission timer begins anew instead.
    let config = config(RecoveryAlgorithm::Rack, 4);
    let mut sender = Sender::new(config, Offset::FIRST, Bytes::new(1 << 20), None);
    sender.extend(segment(4).start);
    drain(&mut sender, at(0));
    let pto = expire(&mut sender);
    assert_eq!(pto, at(1000), "without SRTT one second");
    assert!(sender.poll_transmit(pto).is_err());
    assert_eq!(sender.poll_timer(), Some(at(2000)), "RTO from now");
    assert_eq!(sender.stats().timeouts, 0);
}

#[test]
fn section_7_4_2_a_duplicate_without_sack_tells_of_a_needless_probe() {
    // Case 2: nothing is outstanding any more when it comes.
    let mut sender = rack(10, 2);
    drain(&mut sender, at(0));
    acknowledge(&mut sender, at(100), 1, &[]);
    let probe = expire(&mut sender);
    assert_eq!(drain(&mut sender, probe), [1]);
    let window = sender.cwnd();
    acknowledge(&mut sender, probe, 2, &[]);
    acknowledge(&mut sender, probe + Duration::from_millis(100), 2, &[]);
    sender.extend(segment(4).start);
    drain(&mut sender, probe + Duration::from_millis(100));
    acknowledge(&mut sender, probe + Duration::from_millis(200), 4, &[]);
    assert!(sender.cwnd() >= window);
}
