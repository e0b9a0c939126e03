//! RFC 6675, rule by rule.

use super::*;

fn sack(window: u32, segments: u64) -> Sender {
    sender(config(RecoveryAlgorithm::Sack, window), segments)
}

#[test]
fn a_segment_is_lost_by_bytes_or_by_ranges_above_it() {
    // IsLost: more than (DupThresh - 1) SMSS sacked above it ...
    let mut sender = sack(20, 20);
    drain(&mut sender, at(0));
    acknowledge(&mut sender, at(100), 0, &[1..3]);
    assert_eq!(drain(&mut sender, at(100)), [], "two segments are not more than two");
    // ... in one acknowledgment, though it is the second duplicate (section 5, step 2).
    acknowledge(&mut sender, at(100), 0, &[1..4]);
    assert_eq!(drain(&mut sender, at(100)), [0]);
    // Three discontiguous ranges count, however short.
    let mut sender = super::sender(config(RecoveryAlgorithm::Sack, 20), 20);
    drain(&mut sender, at(0));
    acknowledge(&mut sender, at(100), 0, &[1..2, 3..4, 5..6]);
    assert_eq!(drain(&mut sender, at(100)), [0]);
    // 2 and 4 have fewer than three above them; the pipe forbids all else.
    assert_eq!(sender.in_flight(), (20 - 3) * SMSS, "20 less 3 sacked, 1 lost, 1 retransmitted");
}

#[test]
fn limited_transmit_precedes_recovery() {
    // Section 5, step 3: one new segment for each duplicate, and the window stays.
    let mut sender = sack(10, 40);
    drain(&mut sender, at(0));
    let window = sender.cwnd();
    acknowledge(&mut sender, at(100), 0, &[1..2]);
    assert_eq!(drain(&mut sender, at(100)), [10]);
    acknowledge(&mut sender, at(100), 0, &[1..3]);
    assert_eq!((drain(&mut sender, at(100)), sender.cwnd()), (vec![11], window));
    acknowledge(&mut sender, at(100), 0, &[1..4]);
    assert_eq!(drain(&mut sender, at(100)), [0]);
    // Step 4.2: half of FlightSize, without what limited transmit has sent.
    assert_eq!(sender.ssthresh(), window / 2);
}

#[test]
fn one_rescue_and_not_before_the_first_retransmission_was_acknowledged() {
    // Section 4, rule 4; section 5, step 4.3: the first and the last two of twenty are lost, and
    // the application has nothing more.
    let mut sender = sack(20, 20);
    drain(&mut sender, at(0));
    acknowledge(&mut sender, at(100), 0, &[1..18]);
    assert_eq!(drain(&mut sender, at(100)), [0], "HighACK is not above RescueRxt");
    acknowledge(&mut sender, at(200), 18, &[]);
    assert_eq!(drain(&mut sender, at(200)), [19], "the highest that is not sacked");
    // The rescue has left HighRxt where it was: the hole below it is sent by rule 3.
    acknowledge(&mut sender, at(300), 18, &[19..20]);
    assert_eq!(drain(&mut sender, at(300)), [18]);
    acknowledge(&mut sender, at(400), 20, &[]);
    assert!(sender.is_done());
    assert_eq!((sender.stats().timeouts, sender.stats().retransmissions), (0, 3));
}

#[test]
fn no_new_recovery_before_all_that_a_timeout_found_outstanding() {
    // Section 5.1.
    let mut sender = sack(10, 60);
    drain(&mut sender, at(0));
    let rto = sender.poll_timer().unwrap();
    sender.on_timer(rto);
    drain(&mut sender, rto);
    let now = rto + Duration::from_millis(100);
    acknowledge(&mut sender, now, 1, &[]);
    drain(&mut sender, now);
    acknowledge(&mut sender, now, 1, &[4..10]);
    drain(&mut sender, now);
    assert_eq!((sender.stats().recoveries, sender.stats().timeouts), (0, 1));
    acknowledge(&mut sender, now, 10, &[]);
    let sent = drain(&mut sender, now);
    assert!(sent[0] >= 10);
    acknowledge(&mut sender, now + Duration::from_millis(100), 10, &[11..14]);
    drain(&mut sender, now + Duration::from_millis(100));
    assert_eq!(sender.stats().recoveries, u64::from(sent.len() >= 4));
}
