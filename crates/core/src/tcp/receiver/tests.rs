//! Scripts of arriving segments, after the RFCs' own words.

mod causes;

use super::*;
use crate::time::Duration;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// Expects offset 1 and has promised `window` bytes.
fn receiver(window: u64) -> Receiver {
    receiver_with(AckPolicy::Delayed(Duration::from_millis(40)), window)
}

fn receiver_with(ack_policy: AckPolicy, window: u64) -> Receiver {
    let config = ReceiverConfig {
        rmss: Bytes::new(100),
        window_shift: 0,
        sack: true,
        hold_fin: false,
        delay_at_full_window: false,
    };
    Receiver::new(config, ack_policy, Offset::FIRST, Offset::new(1 + window))
}

#[test]
fn an_acknowledgment_right_behind_the_window_is_taken() {
    // The peer has sent all that it may; its first segment was lost.
    let mut receiver = receiver(300);
    receiver.on_data(at(0), Offset::span(101, 301), false);
    assert!(receiver.acceptable(Some(Offset::new(301)), Bytes::ZERO));
    assert!(!receiver.acceptable(Some(Offset::new(302)), Bytes::ZERO));
    assert!(!receiver.acceptable(Some(Offset::new(301)), Bytes::ONE));
}

/// What the next acknowledgment says: the offset, and the SACK blocks.
fn told(receiver: &mut Receiver) -> (Offset, Vec<Range<Offset>>) {
    let blocks = receiver.sack_blocks(3).to_vec();
    receiver.acknowledge();
    (receiver.ack_offset(), blocks)
}

#[test]
fn duplicates_are_reported_first() {
    // After RFC 2883, section 4: below the acknowledgment, above it in a larger block, and a
    // whole block that comes once more.
    let mut receiver = receiver(10_000);
    receiver.on_data(at(0), Offset::span(1, 501), false);
    receiver.note_duplicates(&Offset::span(1, 501));
    assert!(receiver.ack_due(at(0)));
    assert_eq!(told(&mut receiver), (Offset::new(501), vec![Offset::span(1, 501)]));
    assert_eq!(told(&mut receiver), (Offset::new(501), vec![]), "reported once");
    receiver.on_data(at(1), Offset::span(1001, 2001), false);
    receiver.on_data(at(1), Offset::span(3001, 3501), false);
    assert_eq!(
        told(&mut receiver),
        (Offset::new(501), vec![Offset::span(3001, 3501), Offset::span(1001, 2001)])
    );
    receiver.on_data(at(2), Offset::span(1501, 2001), false);
    assert_eq!(
        told(&mut receiver),
        (
            Offset::new(501),
            vec![Offset::span(1501, 2001), Offset::span(1001, 2001), Offset::span(3001, 3501)]
        )
    );
    receiver.on_data(at(3), Offset::span(3001, 3501), false);
    assert_eq!(
        told(&mut receiver),
        (
            Offset::new(501),
            vec![Offset::span(3001, 3501), Offset::span(3001, 3501), Offset::span(1001, 2001)]
        )
    );
    // Partly new: the part below the acknowledgment is the duplicate.
    receiver.on_data(at(4), Offset::span(401, 1001), false);
    assert_eq!(
        told(&mut receiver),
        (Offset::new(2001), vec![Offset::span(401, 501), Offset::span(3001, 3501)])
    );
}

#[test]
fn a_window_opens_by_a_segment_at_least() {
    // RFC 9293, 3.8.6.2.2: the right edge stays until it can move by min(buffer / 2, a segment).
    let mut receiver = receiver(300);
    receiver.on_data(at(0), Offset::span(1, 301), false);
    assert_eq!(receiver.acknowledge(), 0);
    for read in [1, 50, 99] {
        receiver.set_limit(Offset::new(301 + read));
        assert!(!receiver.ack_due(at(1)), "{read} bytes are silly");
        assert_eq!(receiver.acknowledge(), 0);
    }
    receiver.set_limit(Offset::new(401));
    assert!(receiver.ack_due(at(1)));
    assert_eq!(receiver.acknowledge(), 100);
}

#[test]
fn a_right_edge_is_never_taken_back() {
    let mut receiver = receiver(300);
    receiver.set_limit(Offset::FIRST);
    receiver.on_data(at(0), Offset::span(1, 101), false);
    assert_eq!(receiver.acknowledge(), 200);
    assert!(receiver.acceptable(Some(Offset::new(201)), Bytes::new(100)));
}

#[test]
fn single_bytes_far_apart_do_not_grow_memory_without_bound() {
    let mut receiver = receiver(1 << 20);
    for offset in (3..100_000).step_by(2) {
        receiver.on_data(at(0), Offset::new(offset)..Offset::new(offset + 1), false);
    }
    assert!(receiver.out_of_order().len() <= MAX_RANGES);
    // What is refused comes in once it is in order, or joins what is held.
    let held = receiver.out_of_order().covered();
    assert!(receiver.on_data(at(1), Offset::span(99_999, 100_000), false).store.is_empty());
    assert_eq!(receiver.on_data(at(1), Offset::span(4, 5), false).store, Offset::span(4, 5));
    assert_eq!(receiver.out_of_order().covered(), held + Bytes::ONE);
    assert!(receiver.on_data(at(2), Offset::span(1, 100_000), false).advanced);
    assert_eq!(receiver.rcv_nxt(), Offset::new(100_000));
}

/// The acknowledgments that are due now.
fn due(receiver: &mut Receiver, now: Instant) -> Vec<u64> {
    let mut acks = Vec::new();
    while receiver.ack_due(now) {
        receiver.acknowledge();
        acks.push(receiver.ack_offset().get());
    }
    acks
}

#[test]
fn a_heartbeat_acknowledges_what_came_since_the_last() {
    let mut receiver = receiver_with(AckPolicy::Heartbeat(Duration::from_millis(200)), 10_000);
    receiver.on_data(at(370), Offset::span(1, 101), false);
    assert_eq!(receiver.poll_timer(), Some(at(400)));
    receiver.on_data(at(380), Offset::span(101, 201), false);
    assert_eq!(due(&mut receiver, at(380)), [201], "two full segments");
    receiver.on_data(at(400), Offset::span(201, 301), false);
    assert_eq!(receiver.poll_timer(), Some(at(600)));
    assert_eq!(due(&mut receiver, at(600)), [301]);
}

#[test]
fn thinned_acknowledgments_stand_for_many_segments() {
    let delay = Duration::from_millis(100);
    let mut receiver = receiver_with(AckPolicy::Thinned { segments: 4, delay }, 10_000);
    let mut acks = Vec::new();
    for segment in 0..10u64 {
        let start = 1 + segment * 100;
        receiver.on_data(at(segment), Offset::new(start)..Offset::new(start + 100), false);
        acks.extend(due(&mut receiver, at(segment)));
    }
    assert_eq!(acks, [401, 801]);
    assert_eq!(receiver.poll_timer(), Some(at(108)));
    assert_eq!(due(&mut receiver, at(108)), [1001]);
    // A hole is told at once.
    receiver.on_data(at(200), Offset::span(1101, 1201), false);
    assert_eq!(due(&mut receiver, at(200)), [1001]);
}

#[test]
fn behind_a_hole_thinned_acknowledgments_report_three_segments_and_then_many_at_once() {
    let delay = Duration::from_millis(100);
    let mut receiver = receiver_with(AckPolicy::Thinned { segments: 4, delay }, 100_000);
    let mut segment = |number: u64, now: u64| {
        let start = 1 + number * 100;
        receiver.on_data(at(now), Offset::new(start)..Offset::new(start + 100), false);
        let timer = receiver.poll_timer();
        (due(&mut receiver, at(now)).len(), timer, receiver.sack_blocks(1).pop())
    };
    // Segment 0 is missing, and later 20.
    for number in 1..=3 {
        assert_eq!(segment(number, number).0, 1, "{number}");
    }
    for number in 4..=6 {
        let (acks, timer, _) = segment(number, number);
        assert_eq!((acks, timer), (0, Some(at(104))), "{number}");
    }
    assert_eq!(
        segment(7, 7),
        (1, None, Some(Offset::span(101, 801))),
        "four since the last report"
    );
    assert_eq!(segment(8, 8).0, 0);
    for number in 21..=23 {
        assert_eq!(segment(number, 10).0, 1, "{number}: another hole");
    }
    assert_eq!(segment(24, 11).0, 0);
    assert_eq!(segment(0, 12), (1, None, Some(Offset::span(2101, 2501))), "what fills a hole");
    assert_eq!(segment(25, 13).0, 0);
    assert_eq!(segment(25, 13).0, 1, "what comes twice");
}

#[test]
fn without_sack_each_segment_behind_a_hole_is_acknowledged() {
    let delay = Duration::from_millis(100);
    let policy = AckPolicy::Thinned { segments: 4, delay };
    let mut receiver = receiver_with(policy, 100_000);
    receiver.config = ReceiverConfig { sack: false, ..*receiver.config }.into();
    for number in 1..10 {
        receiver.on_data(
            at(number),
            Offset::new(1 + 100 * number)..Offset::new(101 + 100 * number),
            false,
        );
        assert_eq!(due(&mut receiver, at(number)), [1]);
    }
}

#[test]
fn a_divided_acknowledgment_stops_within_the_segment() {
    // Henderson, 4.1.6: a quarter of the segment at a time.
    let mut receiver = receiver_with(AckPolicy::Division(4), 10_000);
    receiver.on_data(at(0), Offset::span(1, 101), false);
    assert_eq!(due(&mut receiver, at(0)), [26, 51, 76, 101]);
    receiver.on_data(at(1), Offset::span(101, 131), false);
    assert_eq!(due(&mut receiver, at(1)), [126, 131]);
    // Beside a hole, and for what fills it, there is one.
    receiver.on_data(at(2), Offset::span(231, 331), false);
    assert_eq!(due(&mut receiver, at(2)), [131]);
    receiver.on_data(at(3), Offset::span(131, 231), false);
    assert_eq!(due(&mut receiver, at(3)), [331]);
    // The peer's next segment stands at the end of what has come, also while we say less.
    receiver.on_data(at(4), Offset::span(331, 431), false);
    receiver.acknowledge();
    assert_eq!((receiver.ack_offset(), receiver.expected()), (Offset::new(356), Offset::new(431)));
    assert!(receiver.acceptable(Some(Offset::new(431)), Bytes::ZERO));
    // With the FIN all is acknowledged.
    receiver.on_data(at(4), Offset::span(431, 531), true);
    assert_eq!(due(&mut receiver, at(4)), [532]);
}

/// A gateway's receiver, which acknowledges each segment as long as there is room.
fn delaying(window: u64) -> Receiver {
    let mut receiver = receiver_with(AckPolicy::PerSegment, window);
    receiver.config = ReceiverConfig { delay_at_full_window: true, ..*receiver.config }.into();
    receiver
}

#[test]
fn at_a_full_window_no_two_segments_wait_for_an_acknowledgment() {
    let mut receiver = delaying(4_000);
    receiver.on_data(at(0), Offset::span(1, 2_301), false);
    assert_eq!(due(&mut receiver, at(0)), [2_301]);
    receiver.on_data(at(0), Offset::span(2_301, 2_401), false);
    assert_eq!(due(&mut receiver, at(0)), [2_401], "there is room for 16 segments");
    receiver.on_data(at(0), Offset::span(2_401, 2_601), false);
    assert_eq!(due(&mut receiver, at(0)), [2_601], "a super-segment");
    receiver.on_data(at(0), Offset::span(2_601, 2_701), false);
    assert_eq!(due(&mut receiver, at(0)), [], "a lone one");
    receiver.on_data(at(1), Offset::span(2_701, 2_711), false);
    assert_eq!(due(&mut receiver, at(1)), [2_711], "two, though one is short");
    receiver.on_data(at(2), Offset::span(2_711, 2_811), false);
    assert_eq!(due(&mut receiver, at(41)), []);
    assert_eq!(receiver.poll_timer(), Some(at(42)));
    assert_eq!(due(&mut receiver, at(42)), [2_811]);
    // What is out of order is told at once.
    receiver.on_data(at(43), Offset::span(2_911, 3_011), false);
    assert_eq!(due(&mut receiver, at(43)), [2_811]);
}

#[test]
fn a_closed_window_opens_in_steps_of_many_segments_or_after_a_while() {
    let mut receiver = delaying(10_000);
    receiver.on_data(at(0), Offset::span(1, 10_001), false);
    assert_eq!(due(&mut receiver, at(0)), [10_001]);
    receiver.open_in_steps(at(1), Offset::new(10_101));
    assert_eq!(receiver.poll_timer(), None, "room for one segment");
    receiver.open_in_steps(at(2), Offset::new(10_201));
    receiver.open_in_steps(at(3), Offset::new(11_501));
    assert!(!receiver.ack_due(at(41)) && receiver.ack_due(at(42)), "40 ms after room for two");
    receiver.open_in_steps(at(4), Offset::new(11_601));
    assert!(receiver.ack_due(at(4)), "16 segments");
    assert_eq!(receiver.acknowledge(), 1_600);
    // A window that is not closed opens further by two segments and a quarter.
    receiver.open_in_steps(at(5), Offset::new(12_001));
    assert_eq!(receiver.poll_timer(), None);
    receiver.open_in_steps(at(5), Offset::new(12_201));
    assert!(receiver.ack_due(at(5)));
}

#[test]
fn a_small_buffer_opens_by_half() {
    let mut receiver = delaying(400);
    receiver.on_data(at(0), Offset::span(1, 401), false);
    due(&mut receiver, at(0));
    receiver.open_in_steps(at(1), Offset::new(601));
    assert!(receiver.ack_due(at(1)));
}

#[test]
fn a_hole_before_a_fin_is_acknowledged_at_once() {
    // RFC 5681, 4.2, for a FIN that came early: nothing lies behind the hole but its number.
    let mut receiver = receiver(300);
    receiver.on_data(at(0), Offset::span(51, 51), true);
    receiver.acknowledge();
    receiver.on_data(at(1), Offset::span(1, 51), false);
    assert!(receiver.ack_due(at(1)));
    assert_eq!(told(&mut receiver).0, Offset::new(52));
}

#[test]
fn what_follows_a_held_fin_is_in_order_only_behind_what_was_acknowledged() {
    // RFC 7323, 4.3, rule 2: the first of the segments that an acknowledgment is for is echoed.
    let mut receiver = receiver(300);
    receiver.config = ReceiverConfig { hold_fin: true, ..*receiver.config }.into();
    receiver.on_data(at(0), Offset::span(1, 51), true);
    assert_eq!(receiver.acknowledged_or_held(), Offset::FIRST);
    receiver.acknowledge();
    assert_eq!(receiver.acknowledged_or_held(), Offset::new(52));
    receiver.acknowledge_fin();
    receiver.acknowledge();
    assert_eq!(receiver.acknowledged_or_held(), Offset::new(52));
}

#[test]
fn a_sack_block_holds_the_fin() {
    let mut receiver = receiver(300);
    receiver.on_data(at(0), Offset::span(51, 101), true);
    assert_eq!(told(&mut receiver), (Offset::new(1), vec![Offset::span(51, 102)]));
    receiver.on_data(at(1), Offset::span(1, 51), false);
    assert_eq!(told(&mut receiver), (Offset::new(102), vec![]));
}
