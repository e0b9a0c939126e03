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
