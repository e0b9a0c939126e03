//! Scripts of acknowledgments, segment by segment, after the RFCs' own words.

mod adoption;
mod causes;
mod cwnd;
mod ecn;
mod hearsay;
mod limits;
mod prr;
mod rack;
mod rack_examples;
mod sack;
mod spare_copies;
mod undo;

use super::*;
use crate::tcp::pacing::Pacing;
use crate::tcp::recovery::RecoveryAlgorithm;

const SMSS: Bytes = Bytes::new(100);

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn config(algorithm: RecoveryAlgorithm, initial_window: u32) -> SenderConfig {
    SenderConfig {
        smss: SMSS,
        max_burst: SMSS,
        recovery: algorithm,
        initial_window: InitialWindow::Segments(initial_window),
        ..SenderConfig::default()
    }
}

/// A sender with `segments` segments to send and a wide window, after a round trip of 100 ms.
fn sender(config: SenderConfig, segments: u64) -> Sender {
    let mut sender =
        Sender::new(config, Offset::FIRST, Bytes::new(1_000_000), Some(Duration::from_millis(100)));
    sender.extend(Offset::FIRST + segments * SMSS);
    sender
}

/// Segment `number` (from 0).
fn segment(number: u64) -> Range<Offset> {
    Offset::FIRST + number * SMSS..Offset::FIRST + (number + 1) * SMSS
}

/// All that leaves now, as numbers of segments; a panic if it never ends.
fn drain(sender: &mut Sender, now: Instant) -> Vec<u64> {
    let mut sent = Vec::new();
    while let Ok(out) = sender.poll_transmit(now) {
        sent.push((out.range.start - Offset::FIRST) / SMSS);
        assert!(sent.len() < 1_000, "sends without end");
    }
    sent
}

/// An acknowledgment of the first `ack` segments, with SACK blocks in segments.
fn acknowledge(sender: &mut Sender, now: Instant, ack: u64, sack: &[Range<u64>]) {
    acknowledge_with(sender, now, ack, sack, None);
}

/// The same, with the time that it echoes.
fn acknowledge_with(
    sender: &mut Sender,
    now: Instant,
    ack: u64,
    sack: &[Range<u64>],
    echoed: Option<Instant>,
) {
    let blocks: Vec<Range<Offset>> =
        sack.iter().map(|s| segment(s.start).start..segment(s.end).start).collect();
    let ack = segment(ack).start;
    let window = Offset::new(1_000_001) - ack;
    sender.on_ack(
        now,
        &Ack { segment: Offset::FIRST, ack, window, sack: &blocks, echoed, occupies: false },
    );
}

#[test]
fn a_recovery_without_sack_does_as_if_there_was_none() {
    for algorithm in [RecoveryAlgorithm::Tahoe, RecoveryAlgorithm::Reno, RecoveryAlgorithm::NewReno]
    {
        let now = Instant::from_millis(200);
        let [told, untold] = [true, false].map(|told| {
            let mut sender = sender(config(algorithm, 20), 60);
            let mut sent = vec![drain(&mut sender, Instant::from_millis(100))];
            for last in 2..=20 {
                let block = 1..last;
                acknowledge(
                    &mut sender,
                    now,
                    0,
                    if told { std::slice::from_ref(&block) } else { &[] },
                );
                sent.push(drain(&mut sender, now));
            }
            sent
        });
        assert_eq!(told, untold, "{algorithm}");
    }
}

#[test]
fn sack_sends_a_hole_that_is_not_yet_lost_once() {
    // RFC 6675, NextSeg, rule 3: a hole moves HighRxt.
    let mut sender = sender(config(RecoveryAlgorithm::Sack, 20), 20);
    assert_eq!(drain(&mut sender, at(0)).len(), 20);
    // Segments 0 and 17 are lost; the application has nothing more.
    for sacked in 2..=17 {
        acknowledge(&mut sender, at(100), 0, &[1..sacked]);
    }
    assert_eq!(drain(&mut sender, at(100)), [0], "and no rescue yet");
    acknowledge(&mut sender, at(100), 0, &[18..19, 1..17]);
    assert_eq!(drain(&mut sender, at(100)), [17]);
    // Once it is marked lost it is not retransmitted either: it lies below HighRxt.
    acknowledge(&mut sender, at(101), 0, &[18..20, 1..17]);
    assert_eq!(drain(&mut sender, at(101)), []);
    acknowledge(&mut sender, at(200), 17, &[18..20]);
    assert_eq!(drain(&mut sender, at(200)), []);
    acknowledge(&mut sender, at(200), 20, &[]);
    assert!(sender.is_done());
    assert_eq!(sender.stats().retransmissions, 2);
}

#[test]
fn sack_recovers_when_the_same_hole_gathers_more_evidence() {
    let mut sender = sender(config(RecoveryAlgorithm::Sack, 10), 10);
    drain(&mut sender, at(0));
    acknowledge(&mut sender, at(100), 0, &[1..4]);
    assert_eq!(drain(&mut sender, at(100))[0], 0);
    // Sent by rule 3 while two segments above are sacked, marked lost when a third is.
    acknowledge(&mut sender, at(101), 0, &[5..7, 1..4]);
    let again = drain(&mut sender, at(101));
    acknowledge(&mut sender, at(102), 0, &[5..8, 1..4]);
    let later = drain(&mut sender, at(102));
    let fours = again.iter().chain(&later).filter(|number| **number == 4).count();
    assert_eq!(fours, 1, "{again:?} {later:?}");
}

#[test]
fn a_closed_window_is_probed_though_pacing_forbids_to_send() {
    let rate = crate::units::Rate::from_bits_per_sec(8_000);
    let pacing = crate::tcp::pacing::Pacing::Window { cap: Some(rate) };
    let config = SenderConfig { pacing, ..config(RecoveryAlgorithm::Sack, 10) };
    let mut sender = sender(config, 2);
    assert_eq!(drain(&mut sender, at(0)), [0]);
    // At a byte a millisecond the second segment must wait; meanwhile the window closes.
    let ack = Ack {
        segment: Offset::FIRST,
        ack: Offset::new(101),
        window: Bytes::ZERO,
        sack: &[],
        echoed: None,
        occupies: false,
    };
    sender.on_ack(at(100), &ack);
    assert_eq!(drain(&mut sender, at(100)), []);
    assert!(sender.poll_timer().is_some(), "nothing would ever happen again");
}

#[test]
fn newreno_follows_rfc_6582() {
    let mut sender = sender(config(RecoveryAlgorithm::NewReno, 10), 40);
    assert_eq!(drain(&mut sender, at(0)), (0..10).collect::<Vec<_>>());
    // Segments 0 and 4 are lost. Limited transmit: a new segment for each of two duplicates.
    acknowledge(&mut sender, at(100), 0, &[]);
    assert_eq!(drain(&mut sender, at(100)), [10]);
    acknowledge(&mut sender, at(100), 0, &[]);
    assert_eq!(drain(&mut sender, at(100)), [11]);
    // The third brings the fast retransmission; ssthresh is half of ten segments.
    acknowledge(&mut sender, at(100), 0, &[]);
    assert_eq!(drain(&mut sender, at(100)), [0]);
    assert_eq!((sender.cwnd(), sender.ssthresh()), (Bytes::new(500), Bytes::new(500)));
    // Five more duplicates, of 5 to 9: each lets one segment go once the window has room:
    // 12 outstanding + 1 retransmitted - 8 left = 5.
    for _ in 0..5 {
        acknowledge(&mut sender, at(101), 0, &[]);
    }
    assert_eq!(drain(&mut sender, at(101)), [12]);
    // Partial acknowledgment up to the second loss: that is retransmitted at once, and the window
    // deflated lets one more go.
    acknowledge(&mut sender, at(200), 4, &[]);
    assert_eq!(drain(&mut sender, at(200)), [4, 13]);
    // Full acknowledgment of what was outstanding at the beginning.
    acknowledge(&mut sender, at(300), 12, &[]);
    assert_eq!(sender.cwnd(), Bytes::new(300), "min(ssthresh, FlightSize + SMSS)");
    assert_eq!(sender.stats().recoveries, 1);
    assert_eq!(sender.stats().timeouts, 0);
}

#[test]
fn duplicates_of_needless_retransmissions_begin_no_recovery() {
    // RFC 6582, 3.2, step 1, and section 6.
    let mut sender = sender(config(RecoveryAlgorithm::NewReno, 4), 20);
    assert_eq!(drain(&mut sender, at(0)).len(), 4);
    let deadline = sender.poll_timer().unwrap();
    sender.on_timer(deadline);
    assert_eq!(drain(&mut sender, deadline), [0]);
    // All had arrived: the acknowledgments come late, then duplicates for what was sent twice.
    acknowledge(&mut sender, deadline, 4, &[]);
    let sent = drain(&mut sender, deadline).len();
    for _ in 0..6 {
        acknowledge(&mut sender, deadline, 4, &[]);
    }
    assert_eq!(sender.stats().recoveries, 0);
    let more = drain(&mut sender, deadline).len();
    assert!(more <= 2, "limited transmit sends at most two, not {more} beyond {sent}");
}

#[test]
fn the_timer_halves_once_for_each_segment_and_backs_off() {
    // RFC 5681, 3.1; RFC 6298, rules 5.4 to 5.6 and Karn's rule.
    let mut sender = sender(config(RecoveryAlgorithm::Sack, 20), 20);
    drain(&mut sender, at(0));
    for sacked in 2..5 {
        acknowledge(&mut sender, at(100), 0, &[1..sacked]);
    }
    assert_eq!(sender.ssthresh(), Bytes::new(1000));
    drain(&mut sender, at(100));
    // The retransmission is lost, too: that is a second sign of congestion.
    let first = sender.poll_timer().unwrap();
    sender.on_timer(first);
    assert_eq!((sender.cwnd(), sender.ssthresh()), (Bytes::new(100), Bytes::new(500)));
    assert_eq!(drain(&mut sender, first), [0]);
    let rto = sender.rtt().rto();
    assert_eq!(sender.poll_timer(), Some(first + rto));
    sender.on_timer(first + rto);
    assert_eq!((sender.cwnd(), sender.ssthresh()), (Bytes::new(100), Bytes::new(500)), "held");
    assert_eq!(sender.rtt().rto(), rto * 2);
    assert_eq!(drain(&mut sender, first + rto), [0]);
    // What was retransmitted measures nothing.
    let srtt = sender.rtt().srtt();
    acknowledge(&mut sender, first + rto + Duration::from_secs(3), 1, &[]);
    assert_eq!(sender.rtt().srtt(), srtt);
}

#[test]
fn the_timer_waits_for_a_fast_retransmission() {
    // RFC 6675, section 6: it takes a round trip of its own, longer than what is left of a timeout
    // that is hardly more than one.
    for &algorithm in RecoveryAlgorithm::ALL {
        let mut config = config(algorithm, 8);
        config.rto.min = Duration::ZERO;
        let mut sender = sender(config, 10_000);
        let (mut now, mut sent) = (at(0), 0);
        for _ in 0..30 {
            sent += drain(&mut sender, now).len() as u64;
            now += Duration::from_millis(100);
            acknowledge(&mut sender, now, sent, &[]);
        }
        assert_eq!(sender.rtt().rto().as_millis(), 101, "{algorithm}");
        let next = sent + drain(&mut sender, now).len() as u64;
        now += Duration::from_millis(100);
        for end in sent + 2..=next {
            acknowledge(&mut sender, now, sent, &[sent + 1..end]);
        }
        // RACK waits whether it is reordering.
        let mut again = drain(&mut sender, now);
        while !again.contains(&sent) {
            now = sender.poll_timer().expect("something is outstanding");
            sender.on_timer(now);
            again = drain(&mut sender, now);
        }
        let due = sender.poll_timer().expect("something is outstanding");
        assert!(due > now + Duration::from_millis(100), "{algorithm}: {due:?} after {now:?}");
        assert_eq!(sender.stats().timeouts, 0, "{algorithm}");
    }
}

#[test]
fn old_acknowledgments_do_not_keep_a_hopeless_connection_alive() {
    // RFC 1122, 4.2.3.5: R2 counts retransmissions of one segment. A peer that lacks what was
    // acknowledged in its name can only repeat itself.
    for (ack, gives_up) in [(0, true), (2, false)] {
        let mut sender = sender(config(RecoveryAlgorithm::Sack, 4), 4);
        let mut now = at(0);
        drain(&mut sender, now);
        acknowledge(&mut sender, now, 2, &[]);
        for _ in 0..40 {
            now = sender.poll_timer().unwrap();
            sender.on_timer(now);
            drain(&mut sender, now);
            acknowledge(&mut sender, now, ack, &[]);
        }
        assert_eq!(sender.gave_up(), gives_up);
    }
}

#[test]
fn silly_segments_wait_for_the_window_or_the_override_timer() {
    // RFC 9293, 3.8.6.2.1 and 3.8.6.1.
    let mut sender =
        Sender::new(config(RecoveryAlgorithm::Sack, 10), Offset::FIRST, Bytes::new(250), None);
    sender.extend(Offset::new(1_001));
    assert_eq!(drain(&mut sender, at(0)), [0, 1]);
    // Half a segment of window is left: not worth a segment, so the persist timer decides.
    sender.on_ack(
        at(1),
        &Ack {
            segment: Offset::FIRST,
            ack: Offset::new(201),
            window: Bytes::new(50),
            sack: &[],
            echoed: None,
            occupies: false,
        },
    );
    assert_eq!(drain(&mut sender, at(1)), []);
    let probe_at = sender.poll_timer().unwrap();
    sender.on_timer(probe_at);
    assert_eq!(sender.poll_transmit(probe_at).unwrap().range, Offset::span(201, 251));
    // Closed altogether: probes that occupy nothing, twice as far apart each time.
    let closed = Ack {
        segment: Offset::FIRST,
        ack: Offset::new(251),
        window: Bytes::ZERO,
        sack: &[],
        echoed: None,
        occupies: false,
    };
    let mut now = probe_at + Duration::from_millis(1);
    sender.on_ack(now, &closed);
    let mut waits = Vec::new();
    for _ in 0..3 {
        assert_eq!(drain(&mut sender, now), []);
        let next = sender.poll_timer().unwrap();
        waits.push(next.saturating_since(now));
        sender.on_timer(next);
        let probe = sender.poll_transmit(next).unwrap();
        assert_eq!((probe.range, probe.fin), (Offset::span(250, 250), false));
        sender.on_ack(next, &closed);
        now = next;
    }
    assert_eq!(waits[1], waits[0] * 2);
    assert_eq!(waits[2], waits[0] * 4);
    assert!(!sender.gave_up());
    sender.on_ack(now, &Ack { window: Bytes::new(750), ..closed });
    // Nagle keeps the last half segment.
    assert_eq!(drain(&mut sender, now).len(), 7);
}

#[test]
fn sacked_bytes_do_not_cut_segments() {
    let mut sender =
        sender(SenderConfig { max_burst: 5 * SMSS, ..config(RecoveryAlgorithm::Sack, 20) }, 20);
    drain(&mut sender, at(0));
    for offset in (2..(2 * SMSS).count()).step_by(2) {
        let sack = [Offset::span(offset, offset + 1)];
        let window = 1_000_000;
        sender.on_ack(
            at(100),
            &Ack {
                segment: Offset::FIRST,
                ack: Offset::FIRST,
                window: Bytes::new(window),
                sack: &sack,
                echoed: None,
                occupies: false,
            },
        );
    }
    assert_eq!(sender.in_flight(), 20 * SMSS);
    assert_eq!(
        sender.flight.ledger().records_in(Offset::FIRST..Offset::FIRST + 20 * SMSS).count(),
        4,
        "records as they were sent"
    );
    // Of a block, the whole segments count.
    let sack = [Offset::span(290, 611)];
    let window = 1_000_000;
    sender.on_ack(
        at(101),
        &Ack {
            segment: Offset::FIRST,
            ack: Offset::FIRST,
            window: Bytes::new(window),
            sack: &sack,
            echoed: None,
            occupies: false,
        },
    );
    let sacked: Vec<Range<Offset>> = sender.flight.ledger().sacked().iter().collect();
    assert_eq!(sacked, [Offset::FIRST + 3 * SMSS..Offset::FIRST + 6 * SMSS]);
}

#[test]
fn a_paced_window_that_is_in_use_grows() {
    // By a segment each round trip of 100 ms, though the pacer spreads the segments over it.
    let config = SenderConfig {
        pacing: Pacing::Window { cap: None },
        overhead: Bytes::ZERO,
        initial_ssthresh: Some(10 * SMSS),
        ..config(RecoveryAlgorithm::Sack, 10)
    };
    let mut sender = sender(config, 10_000);
    let mut arrivals = std::collections::VecDeque::new();
    for now in 0..2_000 {
        while arrivals.front().is_some_and(|(due, _)| *due <= now) {
            let (_, number) = arrivals.pop_front().expect("it is there");
            acknowledge(&mut sender, at(now), number + 1, &[]);
            arrivals.extend(drain(&mut sender, at(now)).into_iter().map(|sent| (now + 100, sent)));
        }
        arrivals.extend(drain(&mut sender, at(now)).into_iter().map(|sent| (now + 100, sent)));
    }
    let segments = sender.cwnd() / SMSS;
    assert!((25..=31).contains(&segments), "{segments}");
}
