//! Scripts after RFC 8985's words and the three examples of its section 9.1.

use super::*;
use crate::tcp::congestion::CongestionAlgorithm;

fn rack(window: u32, segments: u64) -> Sender {
    sender(config(RecoveryAlgorithm::Rack, window), segments)
}

/// Lets the next timer expire and says when that was.
fn expire(sender: &mut Sender) -> Instant {
    let due = sender.poll_timer().expect("a timer runs");
    sender.on_timer(due);
    due
}

#[test]
fn a_lost_tail_is_probed_and_repaired_without_a_timeout() {
    // 9.1, first example: the last three of ten are lost; the application has no more.
    let mut sender = rack(20, 10);
    drain(&mut sender, at(0));
    acknowledge(&mut sender, at(100), 7, &[]);
    let probe = expire(&mut sender);
    assert_eq!(probe, at(100) + Duration::from_millis(200), "2 SRTT");
    assert_eq!(drain(&mut sender, probe), [9]);
    // 7.3: the retransmission timer runs from the probe.
    assert_eq!(sender.poll_timer(), Some(probe + sender.rtt().rto()));
    let now = probe + Duration::from_millis(100);
    acknowledge(&mut sender, now, 7, &[9..10]);
    // The probe left after 7 and 8, and for those a round trip and a quarter is long over.
    assert_eq!(drain(&mut sender, now), [7, 8]);
    acknowledge(&mut sender, now + Duration::from_millis(100), 10, &[]);
    assert!(sender.is_done());
    let stats = sender.stats();
    assert_eq!((stats.timeouts, stats.recoveries, stats.retransmissions), (0, 1, 3));
    assert_eq!(sender.poll_timer(), None);
}

#[test]
fn a_lost_retransmission_is_sent_again_without_a_timeout() {
    // 9.1, second example.
    let mut sender = rack(10, 40);
    drain(&mut sender, at(0));
    acknowledge(&mut sender, at(100), 0, &[1..10]);
    let sent = drain(&mut sender, at(100));
    assert_eq!((sent[0], sent[1]), (0, 10));
    // What was sent after the retransmission arrives, the retransmission does not. All left at
    // the same moment, so the higher end counts as later.
    acknowledge(&mut sender, at(200), 0, &[1..14]);
    assert_eq!(drain(&mut sender, at(200))[0], 0);
    acknowledge(&mut sender, at(300), 14, &[]);
    let stats = sender.stats();
    assert_eq!((stats.timeouts, stats.recoveries, stats.retransmissions), (0, 1, 2));
}

#[test]
fn a_retransmission_measures_a_round_trip_for_the_link_if_it_can_have_arrived() {
    for (after, measured) in [(120, Some(120)), (99, None)] {
        let shared = CongestionAlgorithm::SharedLink;
        let config = SenderConfig { congestion: shared, ..config(RecoveryAlgorithm::Rack, 10) };
        let mut sender = self::sender(config, 10);
        drain(&mut sender, at(0));
        acknowledge(&mut sender, at(100), 0, &[1..10]);
        assert_eq!(drain(&mut sender, at(100)), [0]);
        let report = sender.take_link_report();
        assert_eq!((report.rtt, report.rtt_again), (Some(Duration::from_millis(100)), None));
        acknowledge(&mut sender, at(100 + after), 10, &[]);
        let report = sender.take_link_report();
        let measured = measured.map(Duration::from_millis);
        assert_eq!((report.rtt, report.rtt_again), (None, measured), "after {after} ms");
    }
}

#[test]
fn after_a_timeout_a_retransmission_measures_nothing() {
    let shared = CongestionAlgorithm::SharedLink;
    let config = SenderConfig { congestion: shared, ..config(RecoveryAlgorithm::Rack, 10) };
    let mut sender = self::sender(config, 10);
    drain(&mut sender, at(0));
    while sender.stats().timeouts == 0 {
        let now = expire(&mut sender);
        drain(&mut sender, now);
    }
    sender.take_link_report();
    let now = sender.poll_timer().expect("the timer runs") - Duration::from_millis(1);
    acknowledge(&mut sender, now, 1, &[]);
    let report = sender.take_link_report();
    assert_eq!((report.delivered, report.rtt_again), (SMSS, None));
}

#[test]
fn the_timer_does_not_run_while_what_left_before_a_retransmission_still_arrives() {
    // A flight of forty leaves at once, the first is lost, and the others arrive 40 ms apart: the
    // retransmission waits behind them in the queue.
    let mut sender = rack(40, 40);
    drain(&mut sender, at(0));
    for number in 1..40 {
        let now = at(100 + 40 * number);
        while let Some(due) = sender.poll_timer().filter(|due| *due <= now) {
            sender.on_timer(due);
            drain(&mut sender, due);
        }
        acknowledge(&mut sender, now, 0, &[1..number + 1]);
        drain(&mut sender, now);
    }
    let stats = sender.stats();
    assert_eq!((stats.timeouts, stats.recoveries, stats.retransmissions), (0, 1, 1));
    // Then it is overdue.
    expire(&mut sender);
    assert_eq!(sender.stats().timeouts, 1);
}

#[test]
fn reordering_within_the_window_costs_nothing() {
    // 9.1, third example: every other segment comes a little later.
    let mut sender = rack(10, 10);
    for number in 0..10 {
        let one = sender.poll_transmit(at(number)).unwrap();
        assert_eq!(one.range, segment(number));
    }
    acknowledge(&mut sender, at(101), 0, &[1..2]);
    assert_eq!(sender.poll_timer(), Some(at(125)), "sent at 0, RTT 100 ms, a quarter of it");
    acknowledge(&mut sender, at(110), 2, &[]);
    // Reordering was seen: three segments above do not make a loss any more.
    acknowledge(&mut sender, at(111), 2, &[3..9]);
    assert_eq!(drain(&mut sender, at(111)), []);
    assert_eq!(sender.poll_timer().map(|due| due > at(111)), Some(true));
    acknowledge(&mut sender, at(120), 10, &[]);
    assert_eq!((sender.stats().retransmissions, sender.stats().recoveries), (0, 0));
}

#[test]
fn the_reordering_timer_finds_what_no_acknowledgment_does() {
    let mut sender = rack(4, 4);
    drain(&mut sender, at(0));
    acknowledge(&mut sender, at(100), 0, &[1..3]);
    assert_eq!(drain(&mut sender, at(100)), [], "two segments are no DupThresh");
    assert_eq!(expire(&mut sender), at(125));
    assert_eq!(drain(&mut sender, at(125)), [0]);
    assert_eq!(sender.stats().timeouts, 0);
}

#[test]
fn duplicates_widen_the_window_for_sixteen_recoveries() {
    // 6.2, step 4. The timer shows the window: min_RTT is 100 ms throughout.
    let mut sender = rack(10, 400);
    let mut base = 0;
    let mut now = at(0);
    let mut window_of = |dsack: bool| {
        drain(&mut sender, now);
        // One of the flight is missing until the reordering timer has expired.
        let later = now + Duration::from_millis(100);
        acknowledge(&mut sender, later, base, &[base + 1..base + 2]);
        let due = sender.poll_timer().unwrap();
        let window = due.saturating_since(later);
        sender.on_timer(due);
        drain(&mut sender, due);
        let end = (sender.snd_nxt() - Offset::FIRST) / SMSS;
        now = due + Duration::from_millis(100);
        let blocks = if dsack { vec![base..base + 1] } else { vec![] };
        acknowledge(&mut sender, now, end, &blocks);
        base = end;
        window.as_millis()
    };
    assert_eq!(window_of(true), 25);
    // The window was widened by the acknowledgment that ended this recovery; fifteen more that
    // end without duplicates leave it so.
    for recovery in 1..=16 {
        assert_eq!(window_of(false), 50, "recovery {recovery}");
    }
    assert_eq!(window_of(false), 25);
}

/// The path was slow when it was measured, and is faster now: what is retransmitted is answered
/// sooner than RACK believes. The peer takes what comes in order, and reports nothing else (its
/// window is closed for that).
#[test]
fn probes_whose_answers_come_too_soon_leave_the_rest_to_the_timeout() {
    let mut sender = sender(config(RecoveryAlgorithm::RackPto, 40), 25);
    drain(&mut sender, at(0));
    for number in 1..=10 {
        acknowledge(&mut sender, at(100), number, &[]);
        drain(&mut sender, at(100));
    }
    // All that is outstanding now is lost.
    let (mut now, mut una, mut lossy) = (at(100), 10, true);
    while !sender.is_done() {
        now = expire(&mut sender).max(now);
        loop {
            let (mut sent, before) = (drain(&mut sender, now), una);
            // Of what slow start sends in the end, all is lost but the first.
            if sent.len() >= 5 && std::mem::take(&mut lossy) {
                sent.truncate(1);
            }
            una += sent.iter().fold(0, |taken, number| taken + u64::from(*number == una + taken));
            if una == before {
                break;
            }
            now += Duration::from_millis(50);
            acknowledge(&mut sender, now, una, &[]);
        }
    }
    let stats = sender.stats();
    assert!(now < at(4_000), "one segment a probe would take much longer: {now:?}, {stats:?}");
    assert_eq!((stats.probes, stats.timeouts), (3, 2));
}

#[test]
fn a_probe_that_repairs_the_only_loss_reduces_the_window() {
    // 7.4.1: nothing else would tell congestion control of the loss.
    let mut sender = rack(10, 12);
    drain(&mut sender, at(0));
    acknowledge(&mut sender, at(100), 10, &[]);
    assert_eq!(drain(&mut sender, at(100)), [10, 11]);
    let window = sender.cwnd();
    let probe = expire(&mut sender);
    assert_eq!(drain(&mut sender, probe), [11]);
    let now = probe + Duration::from_millis(100);
    // Whether the original or the probe arrived cannot be told from this one.
    acknowledge(&mut sender, now, 12, &[]);
    assert_eq!(sender.cwnd(), window, "the acknowledgment does not go beyond the probe");
    sender.extend(segment(20).start);
    drain(&mut sender, now);
    acknowledge(&mut sender, now + Duration::from_millis(100), 14, &[]);
    assert!(sender.cwnd() < window, "no duplicate was reported: the original was lost");
}

#[test]
fn a_probe_that_was_needless_costs_nothing() {
    let mut sender = rack(10, 12);
    drain(&mut sender, at(0));
    acknowledge(&mut sender, at(100), 10, &[]);
    drain(&mut sender, at(100));
    let window = sender.cwnd();
    let probe = expire(&mut sender);
    assert_eq!(drain(&mut sender, probe), [11]);
    acknowledge(&mut sender, probe, 12, &[]);
    acknowledge(&mut sender, probe + Duration::from_millis(100), 12, &[11..12]);
    sender.extend(segment(20).start);
    drain(&mut sender, probe + Duration::from_millis(100));
    acknowledge(&mut sender, probe + Duration::from_millis(200), 20, &[]);
    assert!(sender.cwnd() >= window);
    assert_eq!(sender.stats().recoveries, 0);
}

#[test]
fn probes_prefer_new_data_and_there_is_one_at_a_time() {
    let mut sender = rack(2, 10);
    assert_eq!(drain(&mut sender, at(0)), [0, 1]);
    let probe = expire(&mut sender);
    assert_eq!(drain(&mut sender, probe), [2], "the congestion window does not count");
    let rto = sender.poll_timer().unwrap();
    assert_eq!(rto, probe + sender.rtt().rto());
    sender.on_timer(rto);
    assert_eq!(sender.stats().timeouts, 1);
    // 6.3: what was sent less than a round trip and the window ago is not marked lost.
    assert_eq!(drain(&mut sender, rto), [0]);
}

#[test]
fn behind_a_probe_the_retransmission_timer_expires_on_a_tick() {
    let rto = crate::tcp::rtt::RtoConfig { tick: Duration::from_millis(500), ..Default::default() };
    let mut sender = sender(SenderConfig { rto, ..config(RecoveryAlgorithm::Rack, 20) }, 10);
    drain(&mut sender, at(0));
    acknowledge(&mut sender, at(130), 7, &[]);
    let probe = expire(&mut sender);
    assert_eq!(drain(&mut sender, probe), [9]);
    let expiry = sender.poll_timer().expect("the retransmission timer runs");
    assert_eq!(expiry.as_nanos() % 500_000_000, 0, "{expiry:?}, probed at {probe:?}");
    assert!(expiry > probe);
}

/// Fault seed 1415281: a smaller MTU sets the retransmission timer anew. What leaves at the moment
/// for which it was set before asks for no probe at that very moment.
#[test]
fn a_timer_that_was_set_anew_does_not_make_a_probe_due_at_once() {
    let config = SenderConfig { max_burst: 2 * SMSS, ..config(RecoveryAlgorithm::RackPto, 4) };
    let mut sender = Sender::new(config, Offset::FIRST, Bytes::new(1_000_000), None);
    sender.extend(Offset::FIRST + 4 * SMSS);
    drain(&mut sender, at(0));
    assert_eq!(expire(&mut sender), at(1_000));
    assert_eq!(drain(&mut sender, at(1_000)), [], "a probe needs a round trip to go by");
    assert!(sender.set_smss(at(1_100), SMSS / 2));
    // Its turn on the link comes when the timer would have expired.
    assert!(!drain(&mut sender, at(2_000)).is_empty());
    let due = sender.poll_timer();
    assert!(due.is_some_and(|due| due > at(2_000)), "{due:?}");
}
