//! Reductions for nothing: delay spikes and reordering, by timestamps (RFC 3522) and by DSACK
//! (RFC 3708), and what must not be taken for one.

use super::*;
use crate::tcp::congestion::CongestionAlgorithm;
use proptest::prelude::*;

fn undoing(algorithm: RecoveryAlgorithm) -> SenderConfig {
    SenderConfig { undo: true, ..config(algorithm, 10) }
}

/// As [`acknowledge`], echoing the timestamp of what left at `echoed`.
fn echo(sender: &mut Sender, now: Instant, ack: u64, sack: &[Range<u64>], echoed: Instant) {
    acknowledge_with(sender, now, ack, sack, Some(echoed));
}

/// Ten segments leave, one a millisecond.
fn ten(config: SenderConfig) -> Sender {
    let mut sender = sender(config, 40);
    for number in 0..10 {
        assert_eq!(sender.poll_transmit(at(number)).unwrap().range, segment(number));
    }
    sender
}

fn expire(sender: &mut Sender) -> Instant {
    let due = sender.poll_timer().expect("a timer runs");
    sender.on_timer(due);
    due
}

/// The retransmission timer expires, behind a tail loss probe perhaps, and segment 0 goes again.
fn time_out(sender: &mut Sender) -> Instant {
    loop {
        let now = expire(sender);
        let sent = drain(sender, now);
        if sender.stats().timeouts > 0 {
            assert_eq!((sent, sender.cwnd()), (vec![0], SMSS));
            return now;
        }
    }
}

#[test]
fn after_a_delay_spike_new_data_goes_and_the_window_is_what_it_was() {
    for &algorithm in RecoveryAlgorithm::ALL {
        let mut sender = ten(undoing(algorithm));
        let now = time_out(&mut sender);
        let nxt = sender.snd_nxt();
        let rto = sender.rtt().rto();
        // The original's acknowledgment: nine are in flight, and one may leave for the one that
        // arrived (RFC 4015: FlightSize + min(bytes_acked, IW)).
        let now = now + Duration::from_millis(20);
        echo(&mut sender, now, 1, &[], at(0));
        assert_eq!(sender.in_flight(), nxt - segment(1).start, "{algorithm}: nothing is lost");
        assert_eq!(
            (sender.cwnd(), sender.ssthresh()),
            (Bytes::new(1_000), Bytes::MAX),
            "{algorithm}"
        );
        let sent = drain(&mut sender, now);
        assert!(
            sent.iter().all(|number| *number >= 10) && sent.len() <= 1,
            "{algorithm}: {sent:?}"
        );
        assert!(sender.rtt().rto() < rto, "{algorithm}: no back-off");
        for ack in 2..=10 {
            echo(&mut sender, now, ack, &[], at(ack - 1));
            assert!(drain(&mut sender, now).iter().all(|number| *number >= 10), "{algorithm}");
        }
        // The duplicate that the retransmission brings is no loss.
        echo(&mut sender, now + Duration::from_millis(1), 10, &[0..1], at(9));
        let stats = sender.stats();
        let resent = stats.retransmissions;
        assert!(
            resent == 1 || algorithm == RecoveryAlgorithm::Rack && resent == 2,
            "{algorithm}: {resent}"
        );
        assert_eq!((stats.timeouts, stats.recoveries, stats.spurious), (1, 0, 1), "{algorithm}");
        // RFC 4015, step 11: the timer is patient from the first new round trip on.
        let later = now + Duration::from_millis(400);
        echo(&mut sender, later, 12, &[], now);
        assert!(sender.rtt().rto() >= Duration::from_millis(3 * 350), "{algorithm}");
    }
}

#[test]
fn without_timestamps_or_switch_a_timeout_means_go_back_n() {
    let off = SenderConfig { undo: false, ..undoing(RecoveryAlgorithm::Sack) };
    for (config, echoed) in [(off, Some(at(0))), (undoing(RecoveryAlgorithm::Sack), None)] {
        let mut sender = ten(config);
        let now = time_out(&mut sender) + Duration::from_millis(20);
        acknowledge_with(&mut sender, now, 1, &[], echoed);
        assert_eq!(drain(&mut sender, now), [1, 2]);
        assert_eq!((sender.cwnd(), sender.stats().spurious), (2 * SMSS, 0));
    }
}

#[test]
fn reports_of_duplicates_alone_undo_a_timeout() {
    let mut sender = ten(undoing(RecoveryAlgorithm::Sack));
    let now = time_out(&mut sender) + Duration::from_millis(20);
    for ack in 1..=10 {
        acknowledge(&mut sender, now, ack, &[]);
        drain(&mut sender, now);
    }
    let again = sender.stats().retransmissions;
    assert!(again > 5, "go-back-N");
    let (cwnd, now) = (sender.cwnd(), now + Duration::from_millis(100));
    for number in 0..again {
        assert_eq!((sender.stats().spurious, sender.cwnd()), (0, cwnd));
        acknowledge(&mut sender, now, 10, &[number..number + 1]);
    }
    assert_eq!((sender.stats().spurious, sender.ssthresh()), (1, Bytes::MAX));
}

/// The algorithms that begin an episode of fast recovery, or anew, by what lies above a hole.
fn fast_retransmits() -> impl Iterator<Item = RecoveryAlgorithm> {
    RecoveryAlgorithm::ALL.iter().copied()
}

/// Segments 1 to 4 arrive before 0, which is retransmitted at 104 ms.
fn overtaken(config: SenderConfig) -> Sender {
    let mut sender = ten(config);
    for last in 2..=5 {
        echo(&mut sender, at(99 + last), 0, &[1..last], at(0));
        let sent = drain(&mut sender, at(99 + last));
        assert_eq!(sent.contains(&0), last == 4, "{:?}: {sent:?}", config.recovery);
    }
    assert!(sender.cwnd() < 10 * SMSS);
    sender
}

#[test]
fn reordering_beyond_three_segments_does_not_keep_the_window_down() {
    for algorithm in fast_retransmits() {
        for reduction in [Reduction::Plain, Reduction::Prr] {
            let mut sender = overtaken(SenderConfig { reduction, ..undoing(algorithm) });
            echo(&mut sender, at(110), 5, &[], at(0));
            let stats = sender.stats();
            assert_eq!((stats.spurious, stats.retransmissions), (1, 1), "{algorithm:?}");
            let (in_flight, before) = (sender.in_flight(), 10 * SMSS);
            assert_eq!(sender.cwnd(), before.min(in_flight + 5 * SMSS), "{algorithm:?}");
            assert!(sender.ssthresh() >= before, "{algorithm:?}");
            assert!(drain(&mut sender, at(110)).iter().all(|number| *number >= 10));
        }
    }
}

#[test]
fn a_duplicate_of_a_fast_retransmission_undoes_it_afterwards() {
    let mut sender = overtaken(undoing(RecoveryAlgorithm::Sack));
    acknowledge(&mut sender, at(110), 10, &[]);
    drain(&mut sender, at(110));
    assert!(sender.cwnd() <= 5 * SMSS && sender.stats().spurious == 0);
    acknowledge(&mut sender, at(210), 10, &[0..1]);
    assert_eq!((sender.stats().spurious, sender.ssthresh()), (1, Bytes::MAX));
    // It is too late for that when more than a round trip has passed.
    let mut sender = overtaken(undoing(RecoveryAlgorithm::Sack));
    acknowledge(&mut sender, at(110), 10, &[]);
    let last = drain(&mut sender, at(110)).pop().unwrap();
    acknowledge(&mut sender, at(210), last, &[]);
    drain(&mut sender, at(210));
    acknowledge(&mut sender, at(310), last + 2, &[]);
    drain(&mut sender, at(310));
    acknowledge(&mut sender, at(311), last + 2, &[0..1]);
    assert_eq!(sender.stats().spurious, 0);
}

#[test]
fn what_was_lost_stays_lost() {
    for algorithm in fast_retransmits() {
        let mut sender = overtaken(undoing(algorithm));
        let ssthresh = sender.ssthresh();
        echo(&mut sender, at(204), 5, &[], at(103));
        assert_eq!((sender.stats().spurious, sender.ssthresh()), (0, ssthresh), "{algorithm:?}");
    }
}

#[test]
fn a_lost_retransmission_is_no_spurious_timeout() {
    for algorithm in fast_retransmits() {
        let mut sender = overtaken(undoing(algorithm));
        let first = time_out(&mut sender);
        let again = expire(&mut sender);
        assert!(drain(&mut sender, again).contains(&0));
        let ssthresh = sender.ssthresh();
        echo(&mut sender, again + Duration::from_millis(100), 10, &[], again);
        assert_eq!(sender.stats().spurious, 0, "{algorithm:?}: {first:?}");
        assert_eq!(sender.ssthresh(), ssthresh, "{algorithm:?}");
    }
}

#[test]
fn one_late_segment_says_nothing_of_the_next_hole() {
    // Segment 0 was late, segment 5 is lost; both are retransmitted before the first arrives.
    for algorithm in [RecoveryAlgorithm::Sack, RecoveryAlgorithm::Fack, RecoveryAlgorithm::Rack] {
        let mut sender = ten(undoing(algorithm));
        echo(&mut sender, at(110), 0, &[1..5, 6..10], at(0));
        assert_eq!(drain(&mut sender, at(110))[..2], [0, 5], "{algorithm:?}");
        echo(&mut sender, at(115), 5, &[6..10], at(0));
        let before = sender.ssthresh();
        drain(&mut sender, at(115));
        echo(&mut sender, at(215), 10, &[], at(110));
        assert_eq!((sender.stats().spurious, sender.ssthresh()), (0, before), "{algorithm:?}");
    }
}

#[test]
fn lost_acknowledgments_are_no_delay() {
    // RFC 3522, step 5: all had arrived, and the retransmission brings an old timestamp.
    let mut sender = ten(undoing(RecoveryAlgorithm::Sack));
    let now = time_out(&mut sender) + Duration::from_millis(100);
    echo(&mut sender, now, 10, &[], at(9));
    assert_eq!(sender.stats().spurious, 0);
    // To RFC 3708 a duplicate is a duplicate, for what it is worth.
    let mut sender = ten(undoing(RecoveryAlgorithm::Sack));
    let now = time_out(&mut sender) + Duration::from_millis(100);
    echo(&mut sender, now, 10, &[0..1], at(9));
    assert_eq!(sender.stats().spurious, 1);
}

#[test]
fn a_report_of_congestion_lets_the_reduction_stand() {
    let mut sender = overtaken(undoing(RecoveryAlgorithm::Sack));
    sender.on_ecn_echo(at(105), Bytes::ZERO);
    let ssthresh = sender.ssthresh();
    echo(&mut sender, at(110), 5, &[], at(0));
    assert_eq!((sender.stats().spurious, sender.ssthresh()), (0, ssthresh));
}

#[test]
fn what_was_never_sent_again_or_never_sent_proves_nothing() {
    let mut sender = overtaken(undoing(RecoveryAlgorithm::Sack));
    let window = sender.cwnd();
    for number in 1..5 {
        acknowledge(&mut sender, at(106), 0, &[number..number + 1, 1..5]);
    }
    // Half of the retransmission is not all of it.
    let half = [segment(0).start..segment(0).start + SMSS / 2];
    let (ack, window_field) = (segment(5).start, 1_000_000);
    sender.on_ack(
        at(107),
        &Ack {
            segment: Offset::FIRST,
            ack,
            window: Bytes::new(window_field),
            sack: &half,
            echoed: None,
            occupies: false,
        },
    );
    assert_eq!((sender.stats().spurious, sender.cwnd()), (0, window));
    // A timestamp from before the original left is nobody's.
    let mut sender = sender_late();
    let now = time_out(&mut sender) + Duration::from_millis(20);
    echo(&mut sender, now, 1, &[], at(499));
    assert_eq!(sender.stats().spurious, 0);
}

/// Ten segments that leave after half a second.
fn sender_late() -> Sender {
    let mut sender = sender(undoing(RecoveryAlgorithm::Sack), 40);
    assert_eq!(drain(&mut sender, at(500)).len(), 10);
    sender
}

#[test]
fn no_burst_follows() {
    // RFC 4015, step 9, with an initial window of two segments and one of eight by now.
    let mut sender = sender(SenderConfig { undo: true, ..config(RecoveryAlgorithm::Sack, 2) }, 100);
    drain(&mut sender, at(0));
    for ack in 1..=6 {
        echo(&mut sender, at(100 * ack), ack, &[], at(100 * (ack - 1)));
        drain(&mut sender, at(100 * ack));
    }
    let (cwnd, una) = (sender.cwnd(), sender.snd_una());
    assert_eq!((cwnd, sender.snd_nxt() - una), (8 * SMSS, 8 * SMSS));
    let original = at(600);
    let now = expire(&mut sender);
    assert_eq!(drain(&mut sender, now), [6]);
    echo(&mut sender, now + Duration::from_millis(20), 11, &[], original);
    assert_eq!((sender.stats().spurious, sender.in_flight()), (1, 3 * SMSS));
    assert_eq!((sender.cwnd(), sender.ssthresh()), ((3 + 2) * SMSS, Bytes::MAX));
}

#[test]
fn what_was_sent_again_twice_cannot_be_told_by_one_report() {
    // RFC 3708, section 3: fast retransmit and the timer have sent segment 0 again.
    let mut sender = overtaken(undoing(RecoveryAlgorithm::Sack));
    let now = time_out(&mut sender) + Duration::from_millis(20);
    acknowledge(&mut sender, now, 1, &[1..5]);
    acknowledge(&mut sender, now, 10, &[0..1]);
    assert_eq!(sender.stats().spurious, 0);
}

/// What a peer may claim.
#[derive(Debug, Clone)]
enum Claim {
    Ack { further: u64, sack: Option<(u64, u64)>, twice: Option<u64>, echoed: Option<u64> },
    Silence,
    Congestion,
}

fn claims() -> impl Strategy<Value = Claim> {
    let sack = proptest::option::of((1u64..12, 1u64..6));
    let (twice, echoed) = (proptest::option::of(0u64..12), proptest::option::of(0u64..5_000));
    prop_oneof![
        8 => (0u64..4, sack, twice, echoed)
            .prop_map(|(further, sack, twice, echoed)| Claim::Ack { further, sack, twice, echoed }),
        2 => Just(Claim::Silence),
        1 => Just(Claim::Congestion),
    ]
}

proptest! {
    #[test]
    fn no_lie_raises_the_window_beyond_what_it_was(
        algorithm in proptest::sample::select(RecoveryAlgorithm::ALL.to_vec()),
        // A known link's window is what the link holds, as soon as a round trip is measured.
        control in proptest::sample::select(CongestionAlgorithm::ALL.to_vec())
            .prop_filter("not by reductions", |control| !matches!(control, CongestionAlgorithm::KnownLink { .. })),
        claims in proptest::collection::vec(claims(), 1..120),
    ) {
        let config = SenderConfig { congestion: control, ..undoing(algorithm) };
        let mut sender = sender(config, 900);
        let mut now = at(0);
        let (mut peak, mut spurious) = (sender.cwnd(), 0);
        drain(&mut sender, now);
        for claim in claims {
            now += Duration::from_millis(7);
            match claim {
                Claim::Silence => {
                    now = sender.poll_timer().unwrap_or(now).max(now);
                    sender.on_timer(now);
                }
                Claim::Congestion => sender.on_ecn_echo(now, Bytes::ZERO),
                Claim::Ack { further, sack, twice, echoed } => {
                    let una = (sender.snd_una() - Offset::FIRST) / SMSS;
                    let nxt = (sender.snd_nxt() - Offset::FIRST) / SMSS;
                    let ack = (una + further).min(nxt);
                    let mut blocks = Vec::new();
                    if let Some(back) = twice {
                        let number = (ack + 2).saturating_sub(back);
                        blocks.push(number..number + 1);
                    }
                    if let Some((from, len)) = sack {
                        let start = (ack + from).min(nxt);
                        blocks.push(start..(start + len).min(nxt));
                    }
                    let echoed = echoed.map(at).map(|echoed| echoed.min(now));
                    acknowledge_with(&mut sender, now, ack, &blocks, echoed);
                }
            }
            let undone = sender.stats().spurious > spurious;
            spurious = sender.stats().spurious;
            prop_assert!(!undone || sender.cwnd() <= peak, "{} after {}", sender.cwnd(), peak);
            peak = peak.max(sender.cwnd());
            prop_assert!(sender.cwnd() >= SMSS);
            drain(&mut sender, now);
        }
    }
}
