//! Each acknowledgment's cause.

use super::*;
use crate::tcp::cause::Cause;

/// The causes of all acknowledgments that are due now.
fn causes(receiver: &mut Receiver, now: Instant) -> Vec<Cause> {
    let mut causes = Vec::new();
    while receiver.ack_due(now) {
        causes.push(receiver.ack_cause());
        receiver.acknowledge();
    }
    causes
}

#[test]
fn acknowledgments_say_what_made_them_due() {
    let mut receiver = receiver(10_000);
    let mut data = |now, from, to, fin| {
        receiver.on_data(at(now), Offset::span(from, to), fin);
        causes(&mut receiver, at(now))
    };
    assert_eq!(data(0, 1, 101, false), [], "the first is delayed");
    assert_eq!(data(1, 101, 201, false), [Cause::Segments]);
    assert_eq!(data(2, 301, 401, false), [Cause::OutOfOrder]);
    assert_eq!(data(3, 401, 501, false), [Cause::OutOfOrder]);
    assert_eq!(data(4, 201, 301, false), [Cause::HoleFilled]);
    assert_eq!(data(5, 201, 301, false), [Cause::Duplicate]);
    assert_eq!(data(6, 501, 601, false), []);
    assert_eq!(receiver.poll_timer(), Some(at(46)));
    assert_eq!(causes(&mut receiver, at(46)), [Cause::AckTimer]);
    receiver.on_data(at(47), Offset::span(90_001, 90_101), false);
    assert_eq!(causes(&mut receiver, at(47)), [Cause::Unacceptable], "it is beyond the window");
    receiver.on_data(at(48), Offset::span(601, 701), true);
    assert_eq!(causes(&mut receiver, at(48)), [Cause::EndOfStream]);
}

#[test]
fn an_opening_window_and_division_are_causes() {
    let mut receiver = receiver(100);
    receiver.on_data(at(0), Offset::span(1, 101), false);
    receiver.acknowledge();
    receiver.set_limit(Offset::new(10_000));
    assert_eq!(causes(&mut receiver, at(1)), [Cause::WindowUpdate]);

    let mut receiver = receiver_with(AckPolicy::Division(2), 10_000);
    receiver.on_data(at(0), Offset::span(1, 101), false);
    assert_eq!(causes(&mut receiver, at(0)), [Cause::Segments, Cause::Division]);
}
