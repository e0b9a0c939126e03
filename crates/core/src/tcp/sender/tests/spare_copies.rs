//! Retransmissions that leave twice.

use super::*;
use crate::tcp::cause::Cause;
use crate::tcp::limiter::Limiter;
use crate::units::Rate;

fn copying(window: u32) -> SenderConfig {
    SenderConfig { spare_copies: true, ..config(RecoveryAlgorithm::Rack, window) }
}

/// A window of twenty of which the first and the third are lost, with `segments` written in all.
fn two_lost(config: SenderConfig, segments: u64) -> Sender {
    let mut sender = sender(config, segments);
    drain(&mut sender, at(0));
    acknowledge(&mut sender, at(100), 0, &[1..2, 3..20]);
    sender
}

#[test]
fn a_retransmission_leaves_twice_where_nothing_else_is_to_be_sent() {
    let mut sender = two_lost(copying(20), 20);
    let causes: Vec<Cause> =
        std::iter::from_fn(|| sender.poll_transmit(at(100)).ok()).map(|sent| sent.cause).collect();
    let (first, again) = (Cause::FastRetransmit, Cause::SpareCopy);
    assert_eq!(causes, [first, Cause::Rack, again, again]);
    assert_eq!(sender.poll_transmit(at(100)), Err(Limiter::Application));
    assert_eq!(sender.stats().retransmissions, 2, "copies are none");
    assert_eq!(sender.in_flight(), 2 * SMSS, "nor do they fill the window");
    // Whichever arrives: nothing more is sent.
    acknowledge(&mut sender, at(200), 20, &[0..1]);
    assert!(sender.is_done());
    assert_eq!(drain(&mut sender, at(200)), []);
}

#[test]
fn what_else_is_to_be_sent_comes_first() {
    let mut sender = two_lost(copying(20), 25);
    assert_eq!(drain(&mut sender, at(100)), [0, 2, 20, 21, 22, 23, 24, 0, 2]);
    // As long as more is written, none is copied, and none is kept that has arrived.
    let mut sender = two_lost(copying(20), 1_000);
    let sent = drain(&mut sender, at(100));
    assert_eq!(sent[..3], [0, 2, 20], "{sent:?}");
    assert_eq!(sent.iter().filter(|number| **number == 0).count(), 1);
    assert_eq!(sender.poll_transmit(at(100)), Err(Limiter::Cwnd));
    // Its turn, and its pace.
    let mut sender = two_lost(copying(20), 20);
    assert_eq!(sender.poll_transmit(at(100)).map(|sent| sent.cause), Ok(Cause::FastRetransmit));
    assert_eq!(sender.poll_transmit(at(100)).map(|sent| sent.cause), Ok(Cause::Rack));
    sender.set_link_busy(true);
    assert_eq!(sender.poll_transmit(at(100)), Err(Limiter::LinkTurn));
    let cap = Some(Rate::from_bits_per_sec(800_000));
    let mut sender =
        super::sender(SenderConfig { pacing: Pacing::Window { cap }, ..copying(20) }, 20);
    for millis in 0..120 {
        drain(&mut sender, at(millis));
    }
    acknowledge(&mut sender, at(250), 0, &[1..2, 3..20]);
    let mut now = at(250);
    for cause in [Cause::FastRetransmit, Cause::Rack, Cause::SpareCopy] {
        assert_eq!(sender.poll_transmit(now).map(|sent| sent.cause), Ok(cause));
        assert_eq!(sender.poll_transmit(now), Err(Limiter::Pacer), "behind {cause}");
        now = sender.poll_timer().expect("it waits");
        sender.on_timer(now);
    }
    assert_eq!(sender.poll_transmit(now).map(|sent| sent.cause), Ok(Cause::SpareCopy));
    assert_eq!(sender.poll_transmit(now), Err(Limiter::Application));
}

#[test]
fn none_is_copied_twice_or_once_it_has_arrived_or_where_nobody_asked() {
    let mut sender = two_lost(SenderConfig { spare_copies: false, ..copying(20) }, 20);
    assert_eq!(drain(&mut sender, at(100)), [0, 2]);

    let mut sender = two_lost(copying(20), 20);
    for _ in 0..2 {
        sender.poll_transmit(at(100)).expect("two are lost");
    }
    acknowledge(&mut sender, at(200), 2, &[3..20]);
    assert_eq!(drain(&mut sender, at(200)), [2], "the first has arrived");
    assert_eq!(drain(&mut sender, at(210)), []);
}

/// A round trip later one of both is lost again. More is written, and waits for its copy.
#[test]
fn what_is_lost_again_leaves_twice_at_once() {
    let lost_again = || {
        let congestion = CongestionAlgorithm::SharedLink;
        let mut sender = two_lost(SenderConfig { congestion, ..copying(20) }, 20);
        sender.extend(segment(100).start);
        let mut three = |millis: u64| {
            [(); 3].map(|()| sender.poll_transmit(at(millis)).expect("there is enough to send"))
        };
        assert_eq!(three(100).map(|sent| sent.range), [0, 2, 20].map(segment));
        acknowledge(&mut sender, at(200), 0, &[1..21]);
        sender
    };
    let mut sender = lost_again();
    let mut next = || sender.poll_transmit(at(200)).map(|sent| (sent.range, sent.cause));
    assert_eq!(next(), Ok((segment(0), Cause::Rack)));
    assert_eq!(next(), Ok((segment(0), Cause::SpareCopy)));
    assert_eq!(next().map(|sent| sent.0), Ok(segment(21)));

    // Where losses are not the link's own any more, it leaves once.
    let mut sender = lost_again();
    sender.set_spare_copies(false);
    let sent = [(); 2].map(|()| sender.poll_transmit(at(200)).map(|sent| sent.range));
    assert_eq!(sent, [Ok(segment(0)), Ok(segment(21))]);
}

/// Were they taken for what they look like, reordering would be seen, and a reduction undone.
#[test]
fn what_comes_twice_for_them_means_nothing() {
    let lost_after = |copies: bool| {
        let mut sender =
            two_lost(SenderConfig { spare_copies: copies, undo: true, ..copying(20) }, 20);
        let reduced = sender.cwnd();
        drain(&mut sender, at(100));
        acknowledge(&mut sender, at(200), 20, &[0..1]);
        acknowledge(&mut sender, at(200), 20, &[2..3]);
        assert_eq!(sender.stats().spurious > 0, !copies, "{reduced:?}");
        sender.extend(segment(60).start);
        drain(&mut sender, at(300));
        acknowledge(&mut sender, at(400), 20, &[21..22]);
        // By less than three segments the reordering window tells.
        sender.poll_timer().expect("a timer runs")
    };
    assert!(lost_after(true) < lost_after(false), "the reordering window is as wide as it was");
}
