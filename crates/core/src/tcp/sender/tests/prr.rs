//! Proportional rate reduction (RFC 9937) from the sender's side.

use super::*;

fn prr(algorithm: RecoveryAlgorithm, segments: u64) -> Sender {
    sender(SenderConfig { reduction: Reduction::Prr, ..config(algorithm, 20) }, segments)
}

#[test]
fn one_loss_of_twenty_goes_through_a_round_trip_evenly() {
    // RFC 9937's first comparison: the first of twenty is lost, ssthresh is ten. Two segments by
    // limited transmit, the retransmission, then one for every other acknowledgment.
    let mut sender = prr(RecoveryAlgorithm::Sack, 100);
    drain(&mut sender, at(0));
    let mut sent = Vec::new();
    for arrived in 2..=20 {
        acknowledge(&mut sender, at(100), 0, &[1..arrived]);
        sent.push(drain(&mut sender, at(100)).len());
    }
    assert_eq!(&sent[..3], [1, 1, 1]);
    assert_eq!(sender.in_flight(), 10 * SMSS, "{sent:?}");
    assert!(sent.iter().all(|count| *count <= 1), "{sent:?}");
    // The episode ends at ssthresh, without the burst or the gap of a plain reduction.
    let all = (sender.snd_nxt() - Offset::FIRST) / SMSS;
    acknowledge(&mut sender, at(200), all, &[]);
    assert_eq!((sender.cwnd(), sender.ssthresh()), (10 * SMSS, 10 * SMSS));
}

#[test]
fn fifteen_losses_of_twenty_bring_no_burst() {
    // RFC 9937's second comparison: the first fifteen are lost, where RFC 6675 sends a burst.
    let mut sender = prr(RecoveryAlgorithm::Rack, 100);
    drain(&mut sender, at(0));
    let mut max = 0;
    for arrived in 16..=20 {
        acknowledge(&mut sender, at(100), 0, &[15..arrived]);
        max = max.max(drain(&mut sender, at(100)).len());
    }
    assert_eq!(max, 1, "packet conservation");
    // Retransmissions arrive: at most two for each.
    for ack in 1..4 {
        acknowledge(&mut sender, at(200), ack, &[15..20]);
        assert!(drain(&mut sender, at(200)).len() <= 2);
    }
    assert_eq!(sender.stats().timeouts, 0);
}

#[test]
fn duplicates_clock_it_where_there_is_no_sack() {
    let mut sender = prr(RecoveryAlgorithm::NewReno, 100);
    drain(&mut sender, at(0));
    let mut max = 0;
    for _ in 0..19 {
        acknowledge(&mut sender, at(100), 0, &[]);
        max = max.max(drain(&mut sender, at(100)).len());
    }
    assert_eq!(max, 1);
    let nxt = (sender.snd_nxt() - Offset::FIRST) / SMSS;
    assert!((28..=32).contains(&nxt), "about half as many go out as come in: {nxt}");
}

#[test]
fn a_peer_that_makes_up_duplicates_gains_nothing() {
    // RFC 9937, 6.2: without SACK no more counts as delivered than was outstanding.
    let mut sender = prr(RecoveryAlgorithm::NewReno, 400);
    drain(&mut sender, at(0));
    let mut sent = 0;
    for _ in 0..200 {
        acknowledge(&mut sender, at(100), 0, &[]);
        sent += drain(&mut sender, at(100)).len();
    }
    assert!(sent <= 22, "no more than was outstanding: {sent}");
}
