//! Scripts of acknowledgments, segment by segment, in virtual time, for every algorithm that is
//! not tried beside the sender.

use super::RecoveryAlgorithm;
use crate::tcp::sender::{Ack, InitialWindow, Sender, SenderConfig};
use crate::time::{Duration, Instant};
use crate::units::{Bytes, Offset};
use std::ops::Range;

const SMSS: Bytes = Bytes::new(100);

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// A sender with its script: `segments` to send, and a peer that keeps `window` segments open.
struct Script {
    sender: Sender,
    now: Instant,
    window: u64,
}

impl Script {
    /// After a handshake that took 100 ms.
    fn new(algorithm: RecoveryAlgorithm, initial_window: u32, segments: u64) -> Script {
        // As these were before RFC 3042.
        let limited_transmit =
            !matches!(algorithm, RecoveryAlgorithm::Tahoe | RecoveryAlgorithm::Reno);
        Script::with(algorithm, limited_transmit, initial_window, segments)
    }

    /// The same with limited transmit or without.
    fn with(
        algorithm: RecoveryAlgorithm,
        limited_transmit: bool,
        initial_window: u32,
        segments: u64,
    ) -> Script {
        let config = SenderConfig {
            smss: SMSS,
            max_burst: SMSS,
            recovery: algorithm,
            limited_transmit,
            initial_window: InitialWindow::Segments(initial_window),
            byte_limit: Some(1),
            ..SenderConfig::default()
        };
        let window = 10_000;
        let mut sender = Sender::new(
            config,
            Offset::FIRST,
            Bytes::new((window * SMSS).count()),
            Some(Duration::from_millis(100)),
        );
        sender.extend(Offset::FIRST + segments * SMSS);
        Script { sender, now: at(0), window }
    }

    /// All that leaves now, as numbers of segments from 0.
    fn sends(&mut self) -> Vec<u64> {
        let mut sent = Vec::new();
        while let Ok(out) = self.sender.poll_transmit(self.now) {
            sent.push((out.range.start - Offset::FIRST) / SMSS);
            assert!(sent.len() < 1_000, "sends without end");
        }
        sent
    }

    /// What an acknowledgment of the first `ack` segments, with SACK blocks, makes leave.
    fn ack_sack(&mut self, ack: u64, sack: &[Range<u64>]) -> Vec<u64> {
        let blocks: Vec<Range<Offset>> = sack
            .iter()
            .map(|s| Offset::FIRST + s.start * SMSS..Offset::FIRST + s.end * SMSS)
            .collect();
        self.take(ack, &blocks, None)
    }

    /// The same in bytes, echoing the timestamp of what left at `echoed`.
    fn take(&mut self, ack: u64, sack: &[Range<Offset>], echoed: Option<Instant>) -> Vec<u64> {
        let window = self.window * SMSS;
        let ack = Offset::FIRST + ack * SMSS;
        let ack = Ack { segment: Offset::FIRST, ack, window, sack, echoed, occupies: false };
        self.sender.on_ack(self.now, &ack);
        self.sends()
    }

    fn ack(&mut self, ack: u64) -> Vec<u64> {
        self.ack_sack(ack, &[])
    }

    /// The same acknowledgment `times` times: what leaves for each.
    fn acks(&mut self, ack: u64, times: usize) -> Vec<Vec<u64>> {
        (0..times).map(|_| self.ack(ack)).collect()
    }

    fn wait_until(&mut self, now: Instant) {
        self.now = now;
    }

    /// The timer expires; what leaves.
    fn time_out(&mut self) -> Vec<u64> {
        self.now = self.sender.poll_timer().expect("a timer runs");
        self.sender.on_timer(self.now);
        self.sends()
    }

    /// Window and threshold in segments.
    fn windows(&self) -> (u64, u64) {
        (self.sender.cwnd() / SMSS, self.sender.ssthresh() / SMSS)
    }
}

#[test]
fn tahoe_begins_anew_with_one_segment() {
    let mut script = Script::new(RecoveryAlgorithm::Tahoe, 10, 40);
    assert_eq!(script.sends(), (0..10).collect::<Vec<_>>());
    // Segment 0 is lost. Nothing leaves for the first duplicates, nor for those after the third.
    script.wait_until(at(100));
    assert_eq!(script.acks(0, 5), [vec![], vec![], vec![0], vec![], vec![]]);
    assert_eq!(script.windows(), (1, 5));
    assert_eq!(script.sender.in_flight(), SMSS, "go-back-N: all but the one sent is lost");
    // The retransmission fills the hole: slow start goes on with new data.
    script.wait_until(at(200));
    assert_eq!(script.ack(10), [10, 11]);
    assert_eq!(script.windows(), (2, 5));
    assert_eq!(script.sender.stats().timeouts, 0);
}

#[test]
fn tahoe_sends_all_again_that_is_not_acknowledged() {
    let mut script = Script::new(RecoveryAlgorithm::Tahoe, 10, 40);
    script.sends();
    script.wait_until(at(100));
    script.acks(0, 3);
    // Segment 2 was lost as well: 2 and 3 go again, though 3 has arrived.
    script.wait_until(at(200));
    assert_eq!(script.ack(2), [2, 3]);
    script.wait_until(at(300));
    assert_eq!(script.ack(10), [10, 11, 12]);
    assert_eq!(script.sender.stats().retransmissions, 3);
}

#[test]
fn reno_leaves_recovery_with_the_first_new_acknowledgment() {
    // RFC 2581, 3.2.
    let mut script = Script::new(RecoveryAlgorithm::Reno, 10, 60);
    script.sends();
    script.wait_until(at(100));
    // Segment 0 is lost: window 5 + 3 inflated; ten are outstanding, so the sixth to ninth
    // duplicate let 10, 11, ... go.
    let sent = script.acks(0, 9);
    assert_eq!(sent[..5], [vec![], vec![], vec![0], vec![], vec![]]);
    assert_eq!(sent[5..], [vec![10], vec![11], vec![12], vec![13]]);
    // Deflated to ssthresh; four are outstanding.
    script.wait_until(at(200));
    assert_eq!(script.ack(10), [14]);
    assert_eq!(script.windows(), (5, 5));
}

#[test]
fn reno_halves_for_every_loss_and_then_times_out() {
    let mut script = Script::new(RecoveryAlgorithm::Reno, 20, 100);
    script.sends();
    script.wait_until(at(100));
    // Segments 0, 4 and 8 are lost: seventeen duplicates.
    let sent: Vec<u64> = script.acks(0, 17).concat();
    assert_eq!(sent, [0, 20, 21, 22, 23, 24, 25, 26]);
    assert_eq!(script.windows(), (10, 10));
    // The partial acknowledgment ends recovery; three duplicates of the new data begin another.
    script.wait_until(at(200));
    assert!(script.ack(4).is_empty());
    assert_eq!(script.windows(), (10, 10));
    assert_eq!(script.acks(4, 3).concat(), [4]);
    assert_eq!(script.windows(), (5, 5), "twice halved for one window");
    script.acks(4, 4);
    // For the third loss too few duplicates come: a timeout.
    script.wait_until(at(300));
    script.ack(8);
    assert_eq!(script.sends(), []);
    assert_eq!(script.time_out(), [8]);
    assert_eq!(script.windows().0, 1);
    assert_eq!((script.sender.stats().recoveries, script.sender.stats().timeouts), (2, 1));
}

/// Four segments are retransmitted needlessly after a timeout; three duplicates come of them.
fn needless_timeout(algorithm: RecoveryAlgorithm) -> u64 {
    let mut script = Script::new(algorithm, 8, 40);
    script.sends();
    script.time_out();
    // All but the first had arrived, but the acknowledgments were lost: go-back-N goes on.
    script.wait_until(script.now + Duration::from_millis(100));
    script.ack(1);
    script.wait_until(script.now + Duration::from_millis(100));
    script.ack(8);
    script.wait_until(script.now + Duration::from_millis(100));
    script.acks(8, 3);
    script.sender.stats().recoveries
}

#[test]
fn newreno_and_tahoe_avoid_false_fast_retransmits() {
    // RFC 6582, section 5: only acknowledgments beyond `recover` count; RFC 2582's less careful
    // variant, and Reno, enter.
    assert_eq!(needless_timeout(RecoveryAlgorithm::NewReno), 0);
    assert_eq!(needless_timeout(RecoveryAlgorithm::NewRenoLessCareful), 1);
    assert_eq!(needless_timeout(RecoveryAlgorithm::Reno), 1);
    assert_eq!(needless_timeout(RecoveryAlgorithm::Tahoe), 0);
}

/// Of twenty segments the timeout has sent 0 to 6 again, of which 0 to 2 have been acknowledged and
/// 3 to 6 left at the moment that is returned, if there are timestamps.
fn go_back_n(algorithm: RecoveryAlgorithm, timestamps: bool) -> (Script, Option<Instant>) {
    let mut script = Script::new(algorithm, 20, 60);
    assert_eq!(script.sends().len(), 20);
    assert_eq!(script.time_out(), [0]);
    let round_trip = |script: &mut Script| {
        let sent = script.now;
        script.wait_until(sent + Duration::from_millis(100));
        timestamps.then_some(sent)
    };
    let sent = round_trip(&mut script);
    assert_eq!(script.take(1, &[], sent), [1, 2]);
    let sent = round_trip(&mut script);
    assert_eq!(script.take(2, &[], sent), [3, 4]);
    assert_eq!(script.take(3, &[], sent), [5, 6]);
    let sent = round_trip(&mut script);
    (script, sent)
}

#[test]
fn heuristics_find_a_lost_retransmission() {
    // RFC 6582, 4.1 and 4.2: 3 is lost again, 4 to 6 bring duplicates.
    for (algorithm, timestamps, fast) in [
        (RecoveryAlgorithm::NewReno, true, false),
        (RecoveryAlgorithm::NewRenoAckHeuristic, false, true),
        (RecoveryAlgorithm::NewRenoTimestampHeuristic, true, true),
        (RecoveryAlgorithm::NewRenoTimestampHeuristic, false, false),
    ] {
        let (mut script, echoed) = go_back_n(algorithm, timestamps);
        let sent: Vec<u64> = (0..3).flat_map(|_| script.take(3, &[], echoed)).collect();
        assert_eq!(sent.contains(&3), fast, "{algorithm}, timestamps {timestamps}: {sent:?}");
        assert_eq!(script.sender.stats().recoveries, u64::from(fast), "{algorithm}");
    }
}

#[test]
fn heuristics_pass_over_needless_retransmissions() {
    // 0 to 3 were lost and no more: 3 is acknowledged with all that had arrived, and 4 to 6 bring
    // duplicates of that.
    for (algorithm, fast) in [
        (RecoveryAlgorithm::NewReno, false),
        (RecoveryAlgorithm::NewRenoLessCareful, true),
        (RecoveryAlgorithm::NewRenoAckHeuristic, false),
        (RecoveryAlgorithm::NewRenoTimestampHeuristic, false),
    ] {
        let (mut script, echoed) = go_back_n(algorithm, true);
        assert_eq!(script.take(20, &[], echoed)[0], 20, "new data");
        for _ in 0..3 {
            script.take(20, &[], echoed);
        }
        let stats = script.sender.stats();
        assert_eq!(
            (stats.recoveries, stats.retransmissions),
            (u64::from(fast), 7 + u64::from(fast))
        );
    }
}

/// Losses of segments 0, 4, 8, 12 in a window of 20; the times of the retransmission timer after
/// the partial acknowledgments.
fn deadlines(algorithm: RecoveryAlgorithm) -> Vec<Instant> {
    let mut script = Script::new(algorithm, 20, 20);
    script.sends();
    script.wait_until(at(100));
    script.acks(0, 16);
    let mut deadlines = Vec::new();
    for (step, ack) in [4, 8, 12].into_iter().enumerate() {
        script.wait_until(at(200 + 50 * step as u64));
        assert_eq!(script.ack(ack), [ack]);
        deadlines.push(script.sender.poll_timer().unwrap());
    }
    deadlines
}

#[test]
fn impatient_newreno_restarts_the_timer_once() {
    // RFC 6582, 3.2, step 3, and section 4. The timeout is 100 ms + 4·50 ms.
    assert_eq!(deadlines(RecoveryAlgorithm::NewReno), [at(500), at(550), at(600)]);
    assert_eq!(deadlines(RecoveryAlgorithm::NewRenoImpatient), [at(500), at(500), at(500)]);
}

/// H-D-10: of a window of sixty segments twenty are lost. Each partial acknowledgment brings one
/// retransmission and restarts the timer; no duplicate below `recover` begins another episode.
#[test]
fn newreno_halves_once_for_twenty_losses_and_fills_a_hole_with_each_partial_acknowledgment() {
    for algorithm in [RecoveryAlgorithm::NewReno, RecoveryAlgorithm::NewRenoLessCareful] {
        let mut script = Script::new(algorithm, 60, 60);
        script.sends();
        script.wait_until(at(100));
        // 0, 2, 4, ... 38 are lost: forty others arrive.
        assert_eq!(script.acks(0, 40).concat(), [0], "{algorithm}");
        for hole in 1..20 {
            script.wait_until(at(100 + 100 * hole));
            assert_eq!(script.ack(2 * hole), [2 * hole], "{algorithm}: one hole, and nothing else");
            let deadline = script.sender.poll_timer().expect("a timer runs");
            // The timeout is 100 ms + 4·50 ms.
            assert_eq!(deadline, at(400 + 100 * hole), "{algorithm}: restarted");
            assert_eq!(script.acks(2 * hole, 5).concat(), [], "{algorithm}: no second one");
            assert_eq!(script.sender.ssthresh(), 30 * SMSS, "{algorithm}");
        }
        script.wait_until(at(2100));
        script.ack(60);
        let stats = script.sender.stats();
        let counted = (stats.recoveries, stats.retransmissions, stats.timeouts);
        assert_eq!((counted, script.sender.ssthresh()), ((1, 20, 0), 30 * SMSS), "{algorithm}");
    }
}

/// Segment 0 of 20 is lost, and the peer's window holds new data back meanwhile. What leaves with
/// the full acknowledgment.
fn end_of_recovery(algorithm: RecoveryAlgorithm) -> Vec<u64> {
    let mut script = Script::new(algorithm, 20, 100);
    script.sends();
    // The window closes at what is outstanding; the update itself is no duplicate.
    script.wait_until(at(90));
    script.window = 20;
    assert_eq!(script.ack(0), []);
    script.wait_until(at(100));
    assert_eq!(script.acks(0, 19).concat(), [0]);
    assert_eq!(script.windows(), (10, 10));
    script.wait_until(at(200));
    script.window = 100;
    script.ack(20)
}

#[test]
fn the_end_of_recovery_brings_a_burst_only_where_asked_for() {
    // Henderson's figures 4.15 (correct: nothing is outstanding, so min(ssthresh, 2)) and 4.16
    // (incorrect).
    assert_eq!(end_of_recovery(RecoveryAlgorithm::NewReno), [20, 21]);
    for burst in [RecoveryAlgorithm::NewRenoBurst, RecoveryAlgorithm::NewRenoNs] {
        assert_eq!(end_of_recovery(burst), (20..30).collect::<Vec<_>>());
    }
}

/// Segments 0 and 10 of 20 are lost. What the partial acknowledgment that comes behind seventeen
/// duplicates lets out.
#[test]
fn the_window_is_kept_at_a_partial_acknowledgment_only_where_asked_for() {
    let sent = |algorithm| {
        let mut script = Script::new(algorithm, 20, 100);
        script.sends();
        script.wait_until(at(100));
        (0..18).for_each(|_| _ = script.ack(0));
        script.wait_until(at(200));
        script.ack(10)
    };
    let deflated = sent(RecoveryAlgorithm::NewReno);
    let kept = sent(RecoveryAlgorithm::NewRenoNs);
    assert_eq!((deflated[0], kept[0]), (10, 10), "what is missing");
    assert!(kept.len() > deflated.len() + 8, "{deflated:?}, {kept:?}");
}

/// Segments 0 and 18 of 20 are lost; the second loss comes to light in the round trip after the
/// first. What leaves with the last acknowledgment, the windows, and the number of reductions.
fn late_second_loss(algorithm: RecoveryAlgorithm) -> (Vec<u64>, (u64, u64), u64) {
    let mut script = Script::new(algorithm, 20, 100);
    script.sends();
    script.wait_until(at(100));
    let mut sent = Vec::new();
    for sacked in 2..=18 {
        sent.extend(script.ack_sack(0, std::slice::from_ref(&(1..sacked))));
    }
    sent.extend(script.ack_sack(0, &[19..20, 1..18]));
    // RFC 6675 and limited transmit: two new segments, then the loss, then new ones as the pipe
    // falls below ten.
    assert_eq!(sent[..3], [20, 21, 0]);
    assert!(sent.len() > 5 && sent[3..].is_sorted(), "{sent:?}");
    assert_eq!(script.windows(), (10, 10));
    script.wait_until(at(200));
    script.ack_sack(18, std::slice::from_ref(&(19..20)));
    script.ack_sack(18, std::slice::from_ref(&(19..21)));
    script.ack_sack(18, std::slice::from_ref(&(19..22)));
    let sent = script.ack_sack(18, std::slice::from_ref(&(19..23)));
    (sent, script.windows(), script.sender.stats().recoveries)
}

#[test]
fn sack_reno_halves_for_each_loss_event_of_a_window() {
    // Henderson, 4.2: with SACK but Reno's episodes the window is cut several times.
    let (_, windows, recoveries) = late_second_loss(RecoveryAlgorithm::Sack);
    assert_eq!((windows, recoveries), ((10, 10), 1));
    let (sent, windows, recoveries) = late_second_loss(RecoveryAlgorithm::SackReno);
    assert_eq!(sent, [18]);
    assert_eq!((windows, recoveries), ((5, 5), 2));
}

/// A window of forty segments into a path of 100 ms that loses every fourth of them, ten in all,
/// and none later: the thresholds that the sender has had, in segments, until all has arrived.
fn ten_lost(algorithm: RecoveryAlgorithm) -> (Vec<u64>, u64) {
    let mut script = Script::new(algorithm, 40, 200);
    let mut arrived = [false; 200];
    let mut path: Vec<u64> = script.sends().into_iter().filter(|n| n % 4 != 0).collect();
    let mut thresholds = Vec::new();
    for round in 1..100 {
        script.wait_until(at(100 * round));
        let mut left = if path.is_empty() { script.time_out() } else { Vec::new() };
        for segment in std::mem::take(&mut path) {
            arrived[segment as usize] = true;
            let next = arrived.iter().position(|there| !there).unwrap_or(200) as u64;
            // The newest block first.
            let mut end = segment + 1;
            while end < 200 && arrived[end as usize] {
                end += 1;
            }
            let begin = (next..segment).rev().take_while(|n| arrived[*n as usize]).last();
            let block = begin.unwrap_or(segment)..end;
            let blocks = if block.start > next { vec![block] } else { Vec::new() };
            left.extend(script.ack_sack(next, &blocks));
            let threshold = script.windows().1;
            if threshold < 1000 && thresholds.last() != Some(&threshold) {
                thresholds.push(threshold);
            }
            if next >= 40 {
                return (thresholds, script.sender.stats().timeouts);
            }
        }
        path = left;
    }
    panic!("{algorithm} never repairs them");
}

/// H-D-12.
#[test]
fn ten_losses_halve_once_with_sack_newreno_and_again_with_sack_reno() {
    assert_eq!(ten_lost(RecoveryAlgorithm::Sack), (vec![20], 0));
    let (thresholds, _) = ten_lost(RecoveryAlgorithm::SackReno);
    assert!(thresholds.len() >= 2, "{thresholds:?}");
    assert!(thresholds.windows(2).all(|pair| pair[1] <= pair[0] / 2 + 1), "{thresholds:?}");
}

/// B-4PKT-11: a larger initial window is for connections' beginnings.
#[test]
fn after_a_timeout_every_variant_sends_one_segment() {
    for &algorithm in RecoveryAlgorithm::ALL {
        for initial_window in [4, 16] {
            let mut script = Script::new(algorithm, initial_window, 200);
            assert_eq!(script.sends().len() as u64, u64::from(initial_window), "{algorithm}");
            let timeouts = |script: &Script| script.sender.stats().timeouts;
            // A tail loss probe comes first where there is one.
            let mut left = script.time_out();
            while timeouts(&script) == 0 {
                left = script.time_out();
            }
            assert_eq!((left, script.windows().0), (vec![0], 1), "{algorithm}, {initial_window}");
            // Slow start goes on from there.
            script.wait_until(script.now + Duration::from_millis(100));
            assert_eq!(script.ack(1).len(), 2, "{algorithm}, {initial_window}");
        }
    }
}

/// What each of the acknowledgments of segments 3 to 19 makes leave when 0 to 2 are lost.
fn three_lost(script: &mut Script) -> Vec<Vec<u64>> {
    script.sends();
    script.wait_until(at(100));
    (4..=20).map(|end| script.ack_sack(0, std::slice::from_ref(&(3..end)))).collect()
}

#[test]
fn fack_begins_when_the_forward_acknowledgment_is_three_segments_ahead() {
    let mut script = Script::new(RecoveryAlgorithm::FackAbrupt, 20, 100);
    let sent = three_lost(&mut script);
    // The first duplicate says that three segments have left without arriving.
    assert_eq!(sent[0], [0]);
    // awnd = snd_nxt - snd_fack + retran_data is 17 then and has to fall below 10 first.
    assert_eq!(sent[1..8].concat(), []);
    assert_eq!(sent[8..].concat(), [1, 2, 20, 21, 22, 23, 24, 25, 26]);
    assert_eq!(script.windows(), (10, 10));
    assert_eq!(script.sender.in_flight(), Bytes::new((10 * SMSS).count()));
    // The holes are filled one by one; the episode is one, and nothing goes twice.
    script.wait_until(at(200));
    for acked in [1, 2] {
        script.ack_sack(acked, std::slice::from_ref(&(3..20)));
    }
    script.ack(20);
    let stats = script.sender.stats();
    assert_eq!((stats.retransmissions, stats.recoveries, stats.timeouts), (3, 1, 0));
    assert_eq!(script.windows().1, 10);
}

#[test]
fn fack_ramps_the_window_down_over_the_round_trip() {
    let mut script = Script::new(RecoveryAlgorithm::Fack, 20, 100);
    let sent = three_lost(&mut script);
    // The retransmission makes awnd 17, of which 6 is excess: 11 for a window of 10. Then one
    // segment leaves for every two that have left the network, the losses first, until no excess
    // is left.
    let left: Vec<usize> = sent.iter().map(Vec::len).collect();
    assert_eq!(left, [1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1]);
    assert_eq!(sent.concat(), [0, 1, 2, 20, 21, 22, 23, 24, 25, 26]);
    // The round trip over, the window is the abrupt one's.
    assert_eq!(
        (script.windows(), script.sender.in_flight()),
        ((10, 10), Bytes::new((10 * SMSS).count()))
    );
}

#[test]
fn fack_waits_while_segments_may_only_be_reordered() {
    let mut script = Script::new(RecoveryAlgorithm::Fack, 20, 20);
    script.sends();
    script.wait_until(at(100));
    script.ack_sack(0, std::slice::from_ref(&(1..2)));
    script.ack_sack(0, std::slice::from_ref(&(1..3)));
    // What was reordered is not in flight in between: snd_nxt - snd_fack.
    assert_eq!(script.sender.in_flight(), Bytes::new((17 * SMSS).count()));
    script.ack(3);
    assert_eq!(script.sender.stats().recoveries, 0);
    assert_eq!(script.sender.in_flight(), Bytes::new((17 * SMSS).count()));
}

#[test]
fn limited_transmit_sends_a_new_segment_for_each_of_two_duplicates() {
    for &algorithm in RecoveryAlgorithm::ALL {
        let sack = |count: u64| -> Vec<Range<u64>> {
            if algorithm.needs_sack() { vec![1..1 + count] } else { Vec::new() }
        };
        for limited_transmit in [true, false] {
            let mut script = Script::with(algorithm, limited_transmit, 10, 40);
            assert_eq!(script.sends(), (0..10).collect::<Vec<_>>());
            // Segment 0 is lost.
            script.wait_until(at(100));
            let sent = [script.ack_sack(0, &sack(1)), script.ack_sack(0, &sack(2))];
            // For FACK the hole has left the network as well.
            let fack = matches!(algorithm, RecoveryAlgorithm::Fack | RecoveryAlgorithm::FackAbrupt);
            let expected = match limited_transmit {
                true if fack => [vec![10, 11], vec![12]],
                true => [vec![10], vec![11]],
                false => [vec![], vec![]],
            };
            assert_eq!(sent, expected, "{algorithm}, {limited_transmit}");
            // The third is the loss, whatever has left before; half of ten segments stays.
            let third = script.ack_sack(0, &sack(3));
            assert_eq!(third.first(), Some(&0), "{algorithm}, {limited_transmit}");
            assert_eq!(script.windows().1, 5, "{algorithm}, {limited_transmit}");
            // All that was outstanding comes, and sending goes on.
            script.wait_until(at(200));
            let next = script.sender.snd_nxt().get() / SMSS.count();
            let sent = script.ack(next);
            assert_eq!(sent.first(), Some(&next), "{algorithm}, {limited_transmit}");
            assert_eq!(script.sender.stats().timeouts, 0);
        }
    }
}

#[test]
fn without_limited_transmit_what_was_reordered_is_not_kept_back() {
    for &algorithm in RecoveryAlgorithm::ALL {
        let mut script = Script::with(algorithm, false, 10, 40);
        script.sends();
        script.wait_until(at(100));
        let sack: &[Range<u64>] = if algorithm.needs_sack() { &[1..3] } else { &[] };
        assert!(script.ack_sack(0, sack).is_empty(), "{algorithm}");
        // Segment 0 was only late: three have left, and slow start counts one segment of them.
        assert_eq!(script.ack(3), [10, 11, 12, 13], "{algorithm}");
    }
}
