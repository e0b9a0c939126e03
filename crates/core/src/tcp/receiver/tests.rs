//! Scripts of arriving segments, after the RFCs' own words.

use super::*;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// Expects offset 1 and has promised `window` bytes.
fn receiver(window: u64) -> Receiver {
    let config = ReceiverConfig {
        rmss: 100,
        ack_policy: AckPolicy::Delayed(Duration::from_millis(40)),
        window_shift: 0,
        sack: true,
        hold_fin: false,
    };
    Receiver::new(config, 1, 1 + window)
}

#[test]
fn an_acknowledgment_right_behind_the_window_is_taken() {
    // The peer has sent all that it may; its first segment was lost.
    let mut receiver = receiver(300);
    receiver.on_data(at(0), 101..301, false);
    assert!(receiver.acceptable(Some(301), 0));
    assert!(!receiver.acceptable(Some(302), 0));
    assert!(!receiver.acceptable(Some(301), 1));
}

/// What the next acknowledgment says: the offset, and the SACK blocks.
fn told(receiver: &mut Receiver) -> (u64, Vec<Range<u64>>) {
    let blocks = receiver.sack_blocks(3).to_vec();
    receiver.acknowledge();
    (receiver.ack_offset(), blocks)
}

#[test]
fn duplicates_are_reported_first() {
    // After RFC 2883, section 4: below the acknowledgment, above it in a larger block, and a
    // whole block that comes once more.
    let mut receiver = receiver(10_000);
    receiver.on_data(at(0), 1..501, false);
    receiver.note_duplicates(&(1..501));
    assert!(receiver.ack_due(at(0)));
    assert_eq!(told(&mut receiver), (501, vec![1..501]));
    assert_eq!(told(&mut receiver), (501, vec![]), "reported once");
    receiver.on_data(at(1), 1001..2001, false);
    receiver.on_data(at(1), 3001..3501, false);
    assert_eq!(told(&mut receiver), (501, vec![3001..3501, 1001..2001]));
    receiver.on_data(at(2), 1501..2001, false);
    assert_eq!(told(&mut receiver), (501, vec![1501..2001, 1001..2001, 3001..3501]));
    receiver.on_data(at(3), 3001..3501, false);
    assert_eq!(told(&mut receiver), (501, vec![3001..3501, 3001..3501, 1001..2001]));
    // Partly new: the part below the acknowledgment is the duplicate.
    receiver.on_data(at(4), 401..1001, false);
    assert_eq!(told(&mut receiver), (2001, vec![401..501, 3001..3501]));
}

#[test]
fn a_window_opens_by_a_segment_at_least() {
    // RFC 9293, 3.8.6.2.2: the right edge stays until it can move by min(buffer / 2, a segment).
    let mut receiver = receiver(300);
    receiver.on_data(at(0), 1..301, false);
    assert_eq!(receiver.acknowledge(), 0);
    for read in [1, 50, 99] {
        receiver.set_limit(301 + read);
        assert!(!receiver.ack_due(at(1)), "{read} bytes are silly");
        assert_eq!(receiver.acknowledge(), 0);
    }
    receiver.set_limit(401);
    assert!(receiver.ack_due(at(1)));
    assert_eq!(receiver.acknowledge(), 100);
}

#[test]
fn a_right_edge_is_never_taken_back() {
    let mut receiver = receiver(300);
    receiver.set_limit(1);
    receiver.on_data(at(0), 1..101, false);
    assert_eq!(receiver.acknowledge(), 200);
    assert!(receiver.acceptable(Some(201), 100));
}

#[test]
fn single_bytes_far_apart_do_not_grow_memory_without_bound() {
    let mut receiver = receiver(1 << 20);
    for offset in (3..100_000).step_by(2) {
        receiver.on_data(at(0), offset..offset + 1, false);
    }
    assert!(receiver.beyond().len() <= MOST_RANGES);
    // What is refused comes in once it is in order, or joins what is held.
    let held = receiver.beyond().covered();
    assert!(receiver.on_data(at(1), 99_999..100_000, false).store.is_empty());
    assert_eq!(receiver.on_data(at(1), 4..5, false).store, 4..5);
    assert_eq!(receiver.beyond().covered(), held + 1);
    assert!(receiver.on_data(at(2), 1..100_000, false).advanced);
    assert_eq!(receiver.rcv_nxt(), 100_000);
}
