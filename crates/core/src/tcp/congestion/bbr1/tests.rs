//! Against the constants and comments of `tcp_bbr.c`.

use super::super::tests::flow::{Flow, PathConfig};
use super::super::tests::{SMSS, ack_event, millis, near, slow_start};
use super::modes::Mode;
use super::*;
use crate::tcp::congestion::Growth;

/// 8 Mbit/s and half a second: a product of 500 segments, and as much of queue.
const LINK: PathConfig = PathConfig {
    rate: 1_000_000.0,
    rtt: Duration::from_millis(500),
    queue: 500_000.0,
    loss: 0,
    bucket: None,
    jitter: None,
};

fn flow(link: PathConfig) -> Flow<Bbr1> {
    Flow::new(Bbr1::new(slow_start(10, Growth::Doubling), SMSS), link)
}

fn phase(flow: &Flow<Bbr1>) -> Option<usize> {
    match flow.congestion.mode {
        Mode::ProbeBw { phase } => Some(phase),
        _ => None,
    }
}

/// A flow that cycles.
fn cycling(link: PathConfig) -> Flow<Bbr1> {
    let mut flow = flow(link);
    assert!(flow.run_until(|flow| phase(flow).is_some()));
    flow
}

#[test]
fn startup_doubles_each_round_and_paces_at_two_over_ln_two() {
    near(HIGH_GAIN, 2.885, 0.001);
    let mut flow = flow(LINK);
    // The first flight: ten segments in a round trip, times the gain.
    let PacingBasis::Window { gain } = flow.congestion.pacing() else { panic!("no rate yet") };
    near(gain, 2.885 * 0.99, 0.001);
    let mut windows = vec![flow.congestion.window()];
    for _ in 0..6 {
        let round = flow.congestion.rounds.count;
        flow.run_until(|flow| flow.congestion.rounds.count > round);
        windows.push(flow.congestion.window());
        let rate = flow.congestion.pacing_rate.unwrap();
        assert!(rate >= 2.8 * 0.99 * flow.congestion.bandwidth.max(), "{rate}");
    }
    for pair in windows[1..].windows(2) {
        near(pair[1].as_f64() / pair[0].as_f64(), 2.0, 0.1);
    }
    assert_eq!(flow.congestion.mode, Mode::Startup);
}

#[test]
fn the_pipe_is_full_after_three_rounds_without_growth_and_the_queue_then_drains() {
    let mut flow = flow(LINK);
    assert!(flow.run_until(|flow| flow.congestion.mode != Mode::Startup));
    assert_eq!(flow.congestion.mode, Mode::Drain);
    assert_eq!(flow.congestion.full_pipe.rounds, 3);
    near(flow.congestion.bandwidth.max(), LINK.rate, 0.01);
    near(flow.congestion.pacing_gain(), 1.0 / 2.885, 0.001);
    let budget = 3 * 2 * SMSS;
    near(flow.congestion.ssthresh().as_f64(), flow.bdp() + budget.as_f64(), 0.02);
    let began = flow.now;
    assert!(flow.run_until(|flow| phase(flow).is_some()));
    assert!(flow.now.saturating_since(began) < 3 * LINK.rtt);
    assert!(flow.in_flight().as_f64() <= 1.05 * flow.bdp());
}

#[test]
fn the_cycle_has_eight_phases_of_a_round_trip_each() {
    assert_eq!(CYCLE, [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    let mut flow = cycling(LINK);
    assert_ne!(phase(&flow), Some(1), "it does not begin with the phase that drains");
    assert!(flow.run_until(|flow| phase(flow) == Some(0)));
    let mut last = (flow.now, 0);
    for index in 1..=8 {
        assert!(flow.run_until(|flow| phase(flow) != Some(last.1)));
        assert_eq!(phase(&flow), Some(index % 8));
        let took = flow.now.saturating_since(last.0);
        // The second may end as soon as the queue is gone, the first lasts until it has been built.
        let (min, max) = if last.1 == 0 { (1.0, 2.1) } else { (0.4, 1.1) };
        let share = took.as_secs_f64() / LINK.rtt.as_secs_f64();
        assert!(share >= min && share <= max, "phase {} took {took:?}", last.1);
        last = (flow.now, index % 8);
    }
}

#[test]
fn it_fills_the_link_without_a_standing_queue() {
    let mut flow = cycling(LINK);
    flow.run_for(millis(2000));
    // The window: two products, three bursts of two segments, an even number.
    let target = 2.0 * flow.congestion.bandwidth.max() * 0.5 / SMSS.as_f64();
    let segments = flow.congestion.window() / SMSS;
    assert!((segments as f64) >= target + 5.0 && (segments as f64) <= target + 30.0, "{segments}");
    (flow.delivered, flow.lost, flow.longest) = (Bytes::ZERO, Bytes::ZERO, 0.0);
    let (mut looks, mut empty) = (0, 0);
    let end = flow.now + millis(6000);
    flow.run_until(|flow| {
        looks += 1;
        empty += u32::from(flow.queue() < 0.03 * flow.bdp());
        flow.now >= end
    });
    assert!(flow.delivered.as_f64() >= 0.97 * 6.0 * LINK.rate, "{}", flow.delivered);
    assert!(flow.longest <= 0.3 * flow.bdp(), "{}", flow.longest);
    assert!(empty * 2 > looks, "empty at {empty} of {looks} looks");
    assert_eq!(flow.lost, Bytes::ZERO);
}

#[test]
fn the_round_trip_is_measured_anew_with_four_segments_in_flight() {
    let mut flow = cycling(LINK);
    // The path becomes longer, so that the least time is not seen again.
    flow.link.rtt = millis(520);
    let stamp = flow.congestion.min_rtt_at;
    assert!(flow.run_until(|flow| flow.congestion.mode == Mode::ProbeRtt));
    let after = flow.now.saturating_since(stamp);
    assert!(after > millis(10_000) && after < millis(10_500), "{after:?}");
    assert!(flow.app_limited);
    let before = flow.congestion.repair.saved;
    let bandwidth = flow.congestion.bandwidth.max();
    assert!(flow.run_until(|flow| flow.in_flight() <= 4 * SMSS));
    assert_eq!(flow.congestion.window(), 4 * SMSS);
    let empty = flow.now;
    assert!(flow.run_until(|flow| flow.congestion.mode != Mode::ProbeRtt));
    let took = flow.now.saturating_since(empty);
    assert!(took >= millis(520) && took < millis(1100), "200 ms and a round: {took:?}");
    assert!(flow.congestion.window() >= before.min(900 * SMSS));
    assert!(flow.congestion.min_rtt.unwrap() >= millis(520));
    near(flow.congestion.bandwidth.max(), bandwidth, 0.02);
    // On a short path the 200 ms are what counts.
    let mut flow = cycling(PathConfig { rtt: millis(10), ..LINK });
    flow.link.rtt = millis(11);
    assert!(flow.run_until(|flow| flow.congestion.mode == Mode::ProbeRtt));
    let began = flow.now;
    assert!(flow.run_until(|flow| flow.congestion.mode != Mode::ProbeRtt));
    let took = flow.now.saturating_since(began);
    assert!(took >= millis(200) && took < millis(260), "{took:?}");
}

#[test]
fn losses_that_are_the_links_own_cost_little_more_than_themselves() {
    for (loss, share) in [(200, 0.92), (100, 0.9), (20, 0.8)] {
        let mut flow = cycling(PathConfig { loss, ..LINK });
        flow.run_for(millis(3000));
        flow.delivered = Bytes::ZERO;
        flow.run_for(millis(20_000));
        let got = flow.delivered.as_f64() / (20.0 * LINK.rate);
        assert!(got >= share, "{got} at a loss of 1 in {loss}");
        assert!(flow.congestion.policer.rate().is_none());
    }
}

#[test]
fn a_recovery_begins_with_a_round_of_packet_conservation_and_ends_at_the_former_window() {
    let mut flow = cycling(LINK);
    flow.run_for(millis(3000));
    let before = flow.congestion.window();
    flow.link.loss = 50;
    assert!(flow.run_until(|flow| flow.congestion.repair.state == CaState::Recovery));
    flow.link.loss = 0;
    assert!(flow.congestion.repair.conserve);
    assert_eq!(
        flow.congestion.window(),
        Bytes::new((flow.in_flight() + SMSS).count()),
        "what is in flight and arrived"
    );
    near(flow.congestion.repair.saved.as_f64(), before.as_f64(), 0.02);
    let round = flow.congestion.rounds.count;
    assert!(flow.run_until(|flow| flow.congestion.rounds.count > round));
    assert!(!flow.congestion.repair.conserve);
    assert!(flow.run_until(|flow| flow.congestion.repair.state == CaState::Open));
    assert!(flow.congestion.window().as_f64() >= 0.95 * before.as_f64());
}

#[test]
fn a_timeout_leaves_a_segment_and_the_former_window_comes_back_behind_it() {
    let mut flow = cycling(LINK);
    flow.run_for(millis(3000));
    let (before, bandwidth) = (flow.congestion.window(), flow.congestion.bandwidth.max());
    flow.time_out();
    assert_eq!(flow.congestion.window(), SMSS);
    assert_eq!(flow.congestion.repair.saved, before);
    flow.run_until(|_| true);
    assert!(flow.run_until(|flow| flow.congestion.repair.state == CaState::Open));
    assert!(flow.congestion.window().as_f64() >= 0.95 * before.as_f64());
    near(flow.congestion.bandwidth.max(), bandwidth, 0.02);
}

#[test]
fn a_spurious_reduction_begins_the_search_for_a_full_pipe_anew() {
    let mut flow = flow(LINK);
    flow.run_for(millis(2000));
    flow.congestion.full_pipe.rounds = 2;
    assert!(flow.congestion.full_pipe.bandwidth > 0.0);
    assert!(flow.congestion.undo(Bytes::ZERO));
    assert_eq!(flow.congestion.full_pipe.rounds, 0);
    assert_eq!(flow.congestion.full_pipe.bandwidth, 0.0);
}

#[test]
fn a_policer_is_found_out_and_its_rate_kept_for_forty_eight_rounds() {
    // 1 MB/s by a bucket of 400 KB on a line ten times as fast.
    let link = PathConfig { rtt: millis(50), bucket: Some(400_000.0), ..LINK };
    let mut flow = flow(link);
    assert!(flow.run_until(|flow| flow.congestion.policer.rate().is_some()));
    near(flow.congestion.bandwidth(), 1_000_000.0, 0.15);
    assert_eq!(flow.congestion.pacing_gain(), 1.0);
    let round = flow.congestion.rounds.count;
    (flow.delivered, flow.lost) = (Bytes::ZERO, Bytes::ZERO);
    assert!(flow.run_until(|flow| flow.congestion.policer.rate().is_none()));
    let rounds = flow.congestion.rounds.count - round;
    let kept = u64::from(policer::KEPT_ROUNDS);
    assert!(rounds >= kept && rounds < kept + 20, "{rounds}");
    let lost = flow.lost.as_f64() / flow.delivered.as_f64();
    assert!(lost < 0.1, "of a fifth and more before, {lost} is left");
}

#[test]
fn behind_an_idle_time_it_paces_at_the_bandwidth_and_does_not_empty_the_path() {
    let mut flow = cycling(LINK);
    assert!(flow.run_until(|flow| phase(flow) == Some(0)));
    let now = flow.now;
    let departed = Departed { now, bytes: SMSS, in_flight: Bytes::ZERO, app_limited: true };
    flow.congestion.on_sent(&departed);
    let rate = flow.congestion.pacing_rate.unwrap();
    near(rate, 0.99 * flow.congestion.bandwidth.max(), 0.001);
    // Twelve seconds of silence: the minimum round-trip time is old by then, but the path was
    // empty.
    let mut flow = cycling(LINK);
    flow.pause(millis(12_000));
    let later = flow.now + millis(12_000);
    assert!(flow.run_until(|flow| {
        assert_ne!(flow.congestion.mode, Mode::ProbeRtt);
        flow.now > later
    }));
    assert_eq!(flow.congestion.min_rtt_at, flow.now);
    assert!(!flow.congestion.idle_restart);
}

#[test]
fn a_slow_application_does_not_lower_the_bandwidth() {
    let mut flow = cycling(LINK);
    let bandwidth = flow.congestion.bandwidth.max();
    flow.application = Some(LINK.rate / 10.0);
    flow.run_for(millis(20_000));
    near(flow.congestion.bandwidth.max(), bandwidth, 0.02);
}

#[test]
fn bursts_of_acknowledgments_widen_the_window_by_what_they_hold() {
    let mut aggregation = Aggregation::default();
    aggregation.restart(Instant::from_millis(1000));
    assert_eq!(aggregation.allowance(1e6), Bytes::ZERO);
    let mut rounds = Rounds::default();
    // Nothing for 40 ms, then 40 segments at once, at a megabyte a second.
    for burst in 0..4u64 {
        for _ in 0..40 {
            let now = Instant::from_millis(1040 + 40 * burst);
            aggregation.update(&ack_event(now), &rounds, 1e6, Bytes::new(1_000_000));
        }
    }
    assert!(aggregation.allowance(1e6) >= Bytes::new(39_000), "{}", aggregation.allowance(1e6));
    // At most 100 ms of the bandwidth.
    assert_eq!(aggregation.allowance(1e5), Bytes::new(10_000));
    // Forgotten after five to ten rounds.
    rounds.start = true;
    for round in 0..10u64 {
        let now = Instant::from_millis(2000 + 500 * round);
        aggregation.update(&ack_event(now), &rounds, 1e6, Bytes::new(1_000_000));
    }
    assert!(aggregation.allowance(1e6) <= SMSS);
}
