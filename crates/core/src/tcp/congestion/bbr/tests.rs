//! The draft's example test cases (its appendix A), and its constants.

use super::super::tests::flow::{Flow, PathConfig};
use super::super::tests::{SMSS, millis, near, slow_start};
use super::*;
use crate::tcp::congestion::Growth;
use crate::tcp::delivery_rate::LossSample;

/// 8 Mbit/s and half a second: a product of 500 segments, and as much of queue.
const LINK: PathConfig = PathConfig {
    rate: 1_000_000.0,
    rtt: Duration::from_millis(500),
    queue: 500_000.0,
    loss: 0,
    bucket: None,
    jitter: None,
};
/// The same rate and a product of 100 segments, with enough queue for Startup.
const MEDIUM: PathConfig = PathConfig { rtt: Duration::from_millis(100), queue: 150_000.0, ..LINK };
/// The same over a short path with more queue than is needed.
const SHORT: PathConfig = PathConfig { rtt: Duration::from_millis(40), queue: 200_000.0, ..LINK };

fn flow(link: PathConfig) -> Flow<Bbr> {
    Flow::new(Bbr::new(slow_start(10, Growth::Doubling), SMSS), link)
}

/// A flow that has come to `state`.
fn in_state(link: PathConfig, state: BbrState) -> Flow<Bbr> {
    let mut flow = flow(link);
    reach(&mut flow, state);
    flow
}

#[track_caller]
fn reach(flow: &mut Flow<Bbr>, state: BbrState) {
    assert!(flow.run_until(|flow| flow.congestion.state == state), "it never comes to {state:?}");
}

/// Until it is in another state: which, and how long that takes.
fn leave(flow: &mut Flow<Bbr>) -> (BbrState, Duration) {
    let (state, began) = (flow.congestion.state, flow.now);
    assert!(flow.run_until(|flow| flow.congestion.state != state), "it stays in {state:?}");
    (flow.congestion.state, flow.now.saturating_since(began))
}

#[test]
fn gains_are_those_of_the_table() {
    near(BbrState::Startup.pacing_gain(), 2.77, 0.001);
    let gains = [
        (BbrState::Startup, 2.77, 2.0),
        (BbrState::Drain, 0.5, 2.0),
        (BbrState::Down, 0.9, 2.0),
        (BbrState::Cruise, 1.0, 2.0),
        (BbrState::Refill, 1.0, 2.0),
        (BbrState::Up, 1.25, 2.25),
        (BbrState::ProbeRtt, 1.0, 0.5),
    ];
    for (state, pacing, cwnd) in gains {
        near(state.pacing_gain(), pacing, 0.001);
        near(state.cwnd_gain(), cwnd, 1e-9);
    }
}

#[test]
fn startup_ends_on_a_plateau_of_three_rounds() {
    let mut flow = flow(MEDIUM);
    let PacingBasis::Window { gain } = flow.congestion.pacing() else { panic!("no rate yet") };
    near(gain, 2.77, 0.001);
    let (state, _) = leave(&mut flow);
    assert_eq!(state, BbrState::Drain);
    near(flow.congestion.max_bw.max(), LINK.rate, 0.02);
    assert_eq!(flow.congestion.full_pipe.rounds, 3);
    assert!(flow.congestion.full_pipe.now && flow.congestion.full_pipe.reached);
}

#[test]
fn startup_ends_on_loss_though_the_application_is_slow() {
    let mut flow = flow(MEDIUM);
    flow.application = Some(LINK.rate / 2.0);
    flow.run_for(millis(4000));
    assert_eq!(flow.congestion.state, BbrState::Startup, "without loss it never ends");
    flow.link.loss = 10;
    let (state, took) = leave(&mut flow);
    assert_eq!(state, BbrState::Down, "no queue is to be drained");
    assert!(took <= 6 * MEDIUM.rtt, "{took:?}");
    assert!(flow.congestion.full_pipe.reached);
    let longterm = flow.congestion.inflight_longterm;
    near(longterm, flow.congestion.bdp().max(flow.congestion.latest.inflight.as_f64()), 0.05);
    assert_eq!(flow.congestion.undo.state, Some(BbrState::Startup));
}

#[test]
fn a_slow_application_alone_ends_neither_startup_nor_a_probe() {
    let mut flow = flow(SHORT);
    flow.application = Some(LINK.rate / 10.0);
    flow.run_for(millis(4_500));
    assert_eq!(flow.congestion.state, BbrState::Startup);
    let mut flow = in_state(SHORT, BbrState::Up);
    flow.application = Some(LINK.rate / 10.0);
    flow.run_for(millis(400));
    let end = flow.now + millis(1500);
    flow.run_until(|flow| {
        assert!(matches!(flow.congestion.state, BbrState::Up | BbrState::ProbeRtt));
        flow.now > end
    });
    near(flow.congestion.max_bw.max(), LINK.rate, 0.02);
}

#[test]
fn drain_ends_when_no_more_than_a_product_is_in_flight() {
    let mut flow = in_state(MEDIUM, BbrState::Drain);
    assert!(flow.in_flight().as_f64() > 1.3 * flow.bdp());
    let (state, took) = leave(&mut flow);
    assert_eq!(state, BbrState::Cruise, "nothing is left for Down to do");
    assert!(flow.in_flight().as_f64() <= flow.congestion.inflight(flow.congestion.bw, 1.0));
    assert!(took <= 3 * MEDIUM.rtt, "{took:?}");
}

#[test]
fn drain_ends_after_three_rounds_at_the_latest() {
    // A third of the estimated bandwidth is left: at half of that the queue does not shrink.
    let mut flow = in_state(PathConfig { queue: 5_000_000.0, ..MEDIUM }, BbrState::Cruise);
    flow.link.rate /= 3.0;
    flow.run_for(millis(800));
    flow.congestion.state = BbrState::Drain;
    flow.congestion.drain_start_round = flow.congestion.rounds.count;
    let round = flow.congestion.rounds.count;
    let (state, _) = leave(&mut flow);
    assert_eq!(state, BbrState::Down);
    assert_eq!(flow.congestion.rounds.count, round + 4);
    assert!(flow.in_flight().as_f64() > flow.congestion.inflight(flow.congestion.bw, 1.0));
}

#[test]
fn probes_come_every_two_to_three_seconds_on_a_long_path() {
    let mut flow = in_state(MEDIUM, BbrState::Down);
    for _ in 0..8 {
        reach(&mut flow, BbrState::Down);
        let began = flow.now;
        assert!(flow.congestion.probe.wait >= 2.0 && flow.congestion.probe.wait < 3.0);
        let wait = flow.congestion.probe.wait;
        reach(&mut flow, BbrState::Refill);
        let took = flow.now.saturating_since(began).as_secs_f64();
        // ProbeRTT may come between, and begins the wait anew.
        assert!(took > wait && took < wait + 4.5, "{took} for {wait}");
        let (state, took) = leave(&mut flow);
        if state == BbrState::Up {
            assert!(took >= MEDIUM.rtt && took < 2 * MEDIUM.rtt, "a round: {took:?}");
        }
    }
}

#[test]
fn probes_come_as_often_as_reno_would_fill_a_short_path() {
    // A product of ten segments: ten rounds, less one at most.
    let link = PathConfig { rtt: millis(10), queue: 20_000.0, ..LINK };
    let mut flow = in_state(link, BbrState::Cruise);
    let mut rounds = Vec::new();
    for _ in 0..20 {
        reach(&mut flow, BbrState::Down);
        let round = flow.congestion.rounds.count;
        reach(&mut flow, BbrState::Refill);
        rounds.push(flow.congestion.rounds.count - round);
    }
    let usual = rounds.iter().filter(|rounds| (8..=12).contains(*rounds)).count();
    assert!(usual >= 16, "{rounds:?}");
}

#[test]
fn a_probe_ends_on_a_plateau_and_the_queue_then_drains() {
    let mut flow = in_state(SHORT, BbrState::Up);
    near(flow.congestion.pacing_rate.unwrap(), 1.25 * 0.99 * flow.congestion.bw, 0.001);
    let round = flow.congestion.rounds.count;
    let (state, _) = leave(&mut flow);
    assert_eq!(state, BbrState::Down);
    assert_eq!(flow.congestion.rounds.count, round + 3);
    flow.run_until(|_| true);
    near(flow.congestion.pacing_rate.unwrap(), 0.9 * 0.99 * flow.congestion.bw, 0.001);
    let (state, _) = leave(&mut flow);
    assert_eq!(state, BbrState::Cruise);
    assert!(
        flow.in_flight().as_f64() <= flow.congestion.inflight(flow.congestion.max_bw.max(), 1.0)
    );
}

#[test]
fn down_lasts_no_longer_than_the_wait() {
    let mut flow = in_state(PathConfig { queue: 5_000_000.0, ..MEDIUM }, BbrState::Down);
    flow.link.rate /= 3.0;
    flow.congestion.min_rtt.recent_at = flow.now;
    let began = flow.congestion.probe.cycle_at;
    let (state, _) = leave(&mut flow);
    let took = flow.now.saturating_since(began).as_secs_f64();
    assert_eq!(state, BbrState::Refill, "it does not cruise");
    assert!(took >= flow.congestion.probe.wait, "{took}");
}

#[test]
fn it_fills_the_link_without_a_standing_queue() {
    let mut flow = in_state(LINK, BbrState::Cruise);
    (flow.delivered, flow.lost, flow.longest) = (Bytes::ZERO, Bytes::ZERO, 0.0);
    let (mut looks, mut empty) = (0, 0);
    let end = flow.now + millis(30_000);
    flow.run_until(|flow| {
        looks += 1;
        empty += u32::from(flow.queue() < 0.05 * flow.bdp());
        flow.now >= end
    });
    assert!(flow.delivered.as_f64() >= 0.9 * 30.0 * LINK.rate, "{}", flow.delivered);
    assert!(empty * 2 > looks, "empty at {empty} of {looks} looks");
    assert!(flow.lost.as_f64() < 0.002 * flow.delivered.as_f64(), "{}", flow.lost);
}

#[test]
fn probe_rtt_comes_every_five_seconds_with_half_a_product() {
    let mut flow = in_state(SHORT, BbrState::Cruise);
    reach(&mut flow, BbrState::ProbeRtt);
    reach(&mut flow, BbrState::Cruise);
    let ended = flow.now;
    assert_eq!(flow.congestion.min_rtt.recent_at, ended);
    reach(&mut flow, BbrState::ProbeRtt);
    let after = flow.now.saturating_since(ended);
    assert!(after > millis(5000) && after < millis(5100), "{after:?}");
    assert!(flow.app_limited);
    let (saved, bandwidth) = (flow.congestion.repair.saved, flow.congestion.max_bw.max());
    let half = 0.5 * flow.congestion.bdp();
    near(flow.congestion.window().as_f64(), half, 0.01);
    assert!(flow.run_until(|flow| flow.in_flight().as_f64() <= half));
    let began = flow.now;
    assert!(flow.run_until(|flow| flow.congestion.state != BbrState::ProbeRtt));
    let took = flow.now.saturating_since(began);
    assert!(took > millis(200) && took < millis(260), "{took:?}");
    assert_eq!(flow.congestion.state, BbrState::Cruise);
    assert!(flow.congestion.window().as_f64() >= 0.9 * saved.as_f64());
    near(flow.congestion.max_bw.max(), bandwidth, 0.01);
}

#[test]
fn a_longer_path_is_known_within_fifteen_seconds() {
    let mut flow = in_state(SHORT, BbrState::Cruise);
    flow.link.rtt = millis(60);
    flow.run_for(millis(15_500));
    let min = flow.congestion.min_rtt.min.unwrap();
    assert!(min >= millis(60) && min < millis(64), "{min:?}");
}

#[test]
fn an_idle_time_stands_for_probe_rtt_and_sending_begins_at_the_bandwidth() {
    let mut flow = in_state(LINK, BbrState::Up);
    let now = flow.now;
    let departed = Departed { now, bytes: SMSS, in_flight: Bytes::ZERO, app_limited: true };
    flow.congestion.on_sent(&departed);
    assert!(flow.congestion.idle_restart);
    near(flow.congestion.pacing_rate.unwrap(), 0.99 * flow.congestion.bw, 0.001);
    let mut flow = in_state(LINK, BbrState::Cruise);
    flow.pause(millis(6000));
    let later = flow.now + millis(6000);
    assert!(flow.run_until(|flow| {
        assert_ne!(flow.congestion.state, BbrState::ProbeRtt);
        flow.now > later
    }));
}

#[test]
fn probe_rtt_in_startup_leads_back_to_startup() {
    let mut flow = flow(LINK);
    flow.application = Some(LINK.rate / 10.0);
    reach(&mut flow, BbrState::ProbeRtt);
    let (state, _) = leave(&mut flow);
    assert_eq!(state, BbrState::Startup);
}

#[test]
fn a_product_below_a_segment_has_a_window_of_four() {
    let link = PathConfig { rate: 10_000.0, rtt: millis(20), queue: 20_000.0, ..LINK };
    let mut flow = flow(link);
    flow.run_for(millis(30_000));
    // The budget of three bursts of two segments, in a probe two more.
    assert!(flow.congestion.window() >= 4 * SMSS && flow.congestion.window() <= 8 * SMSS);
    flow.delivered = Bytes::ZERO;
    flow.run_for(millis(30_000));
    assert!(flow.delivered.as_f64() >= 0.9 * 30.0 * link.rate, "{}", flow.delivered);
}

#[test]
fn ten_times_the_bandwidth_is_found_and_ten_times_less_too() {
    let mut flow = in_state(SHORT, BbrState::Cruise);
    flow.link = PathConfig { rate: 10.0 * SHORT.rate, queue: 2_000_000.0, ..SHORT };
    let began = flow.now;
    assert!(flow.run_until(|flow| flow.congestion.max_bw.max() > 0.95 * flow.link.rate));
    let took = flow.now.saturating_since(began);
    assert!(took < millis(15_000), "{took:?}");
    flow.link = SHORT;
    let (began, cycle) = (flow.now, flow.congestion.cycle_count);
    assert!(flow.run_until(|flow| flow.congestion.max_bw.max() < 1.1 * flow.link.rate));
    let took = flow.now.saturating_since(began);
    assert!(took < millis(15_000), "{took:?}");
    assert!(flow.congestion.cycle_count <= cycle + 3);
}

#[test]
fn losses_between_probes_lower_the_short_term_model_by_three_tenths_a_round_at_most() {
    let mut flow = in_state(LINK, BbrState::Cruise);
    let window = flow.congestion.window().as_f64();
    flow.link.loss = 30;
    assert!(flow.run_until(|flow| flow.congestion.bw_shortterm.is_finite()));
    let bandwidth = flow.congestion.max_bw.max();
    let min = flow.congestion.latest.bw.max(0.7 * bandwidth);
    assert!(
        flow.congestion.bw_shortterm >= 0.7 * bandwidth
            && flow.congestion.bw_shortterm <= bandwidth
    );
    assert!(flow.congestion.bw_shortterm >= 0.9 * min);
    assert!(flow.congestion.inflight_shortterm >= 0.7 * window);
    assert!(flow.congestion.window().as_f64() <= flow.congestion.inflight_shortterm);
    reach(&mut flow, BbrState::Refill);
    assert!(flow.congestion.bw_shortterm.is_infinite());
    assert!(flow.congestion.inflight_shortterm.is_infinite());
}

#[test]
fn a_probe_that_loses_more_than_the_threshold_sets_the_long_term_bound() {
    let mut flow = in_state(MEDIUM, BbrState::Up);
    let target = flow.congestion.target_inflight();
    flow.link.loss = 12;
    let (state, _) = leave(&mut flow);
    flow.link.loss = 0;
    assert_eq!(state, BbrState::Down);
    assert!(flow.congestion.probe.too_high);
    let longterm = flow.congestion.inflight_longterm;
    assert!(longterm >= 0.7 * target && longterm <= 1.5 * target, "{longterm} of {target}");
    // Head room: 15 % less while it cruises.
    reach(&mut flow, BbrState::Cruise);
    flow.run_until(|_| true);
    assert!(flow.in_flight().as_f64() <= 0.85 * flow.congestion.inflight_longterm);
    assert!(flow.congestion.window().as_f64() <= 0.85 * flow.congestion.inflight_longterm + 1.0);
    // The next probe only looks; as that is well, another follows behind a round, and stays.
    reach(&mut flow, BbrState::Up);
    let (state, took) = leave(&mut flow);
    assert_eq!(state, BbrState::Down);
    assert!(took < 2 * MEDIUM.rtt && flow.congestion.probe.precautionary, "{took:?}");
    let began = flow.now;
    reach(&mut flow, BbrState::Refill);
    let took = flow.now.saturating_since(began);
    assert!(took < 2 * MEDIUM.rtt, "{took:?}");
    reach(&mut flow, BbrState::Up);
    assert!(!flow.congestion.probe.too_high);
}

#[test]
fn the_bound_is_where_losses_came_to_exceed_the_threshold() {
    // 5.5.10.2: (2 % of what was in flight before, less what was lost) / 98 %.
    let sample = |in_flight, lost, bytes| LossSample { bytes, in_flight, lost, app_limited: false };
    near(
        losses::inflight_at_loss(&sample(
            Bytes::new(110_000),
            Bytes::new(10_000),
            Bytes::new(10_000),
        )),
        100_000.0 + 2000.0 / 0.98,
        1e-9,
    );
    near(
        losses::inflight_at_loss(&sample(
            Bytes::new(100_000),
            Bytes::new(5_000),
            Bytes::new(1_000),
        )),
        99_000.0,
        1e-9,
    );
}

#[test]
fn the_long_term_bound_grows_by_one_two_four_segments_a_round() {
    let mut flow = in_state(LINK, BbrState::Up);
    let mut growths = Vec::new();
    flow.congestion.probe = Probe::default();
    for _ in 0..6 {
        flow.congestion.raise_slope();
        growths.push(flow.congestion.window() / flow.congestion.probe.up_acked_per_segment);
    }
    assert_eq!(growths, [1, 2, 4, 8, 16, 32]);
}

#[test]
fn a_policer_leaves_a_stable_point() {
    let link = PathConfig { rtt: millis(50), bucket: Some(100_000.0), ..LINK };
    let mut flow = flow(link);
    flow.run_for(millis(20_000));
    (flow.delivered, flow.lost) = (Bytes::ZERO, Bytes::ZERO);
    flow.run_for(millis(20_000));
    let lost = flow.lost.as_f64() / flow.delivered.as_f64();
    assert!(flow.delivered.as_f64() >= 0.8 * 20.0 * link.rate, "{}", flow.delivered);
    assert!(lost < 0.05, "{lost}");
}

#[test]
fn spurious_losses_lead_back_to_where_they_came_from() {
    // A probe that was ended is begun anew, by refilling.
    let mut flow = in_state(MEDIUM, BbrState::Up);
    flow.link.loss = 12;
    let (_, _) = leave(&mut flow);
    assert_eq!(flow.congestion.undo.state, Some(BbrState::Up));
    assert!(flow.congestion.inflight_longterm.is_finite());
    let saved = flow.congestion.repair.saved;
    assert!(flow.congestion.undo(Bytes::ZERO));
    assert_eq!(flow.congestion.state, BbrState::Refill);
    assert!(flow.congestion.inflight_longterm.is_infinite());
    assert!(flow.congestion.bw_shortterm.is_infinite());
    assert!(flow.congestion.window() >= saved);
    // Startup too.
    let mut flow = self::flow(MEDIUM);
    flow.application = Some(MEDIUM.rate / 2.0);
    flow.run_for(millis(3000));
    flow.link.loss = 10;
    reach(&mut flow, BbrState::Down);
    assert!(flow.congestion.undo(Bytes::ZERO));
    assert_eq!(flow.congestion.state, BbrState::Startup);
    assert!(!flow.congestion.full_pipe.reached);
    assert!(flow.congestion.inflight_longterm.is_infinite());
}

#[test]
fn a_timeout_leaves_a_segment_and_the_former_window_comes_back_behind_it() {
    let mut flow = in_state(SHORT, BbrState::Cruise);
    flow.run_for(millis(200));
    let before = flow.congestion.window();
    flow.time_out();
    assert_eq!(flow.congestion.window(), SMSS);
    assert_eq!(flow.congestion.repair.saved, before);
    assert!(flow.run_until(|flow| !flow.congestion.repair.under_way));
    flow.run_for(millis(8_000));
    flow.delivered = Bytes::ZERO;
    flow.run_for(millis(10_000));
    assert!(flow.delivered.as_f64() >= 0.9 * 10.0 * SHORT.rate, "{}", flow.delivered);
}

#[test]
fn losses_that_are_the_links_own() {
    for (loss, share) in [(1000, 0.88), (200, 0.85), (100, 0.83)] {
        let mut flow = in_state(PathConfig { loss, ..LINK }, BbrState::Cruise);
        flow.run_for(millis(3000));
        flow.delivered = Bytes::ZERO;
        flow.run_for(millis(60_000));
        let got = flow.delivered.as_f64() / (60.0 * LINK.rate);
        assert!(got >= share, "{got} at a loss of 1 in {loss}");
    }
}

#[test]
fn a_mark_is_a_loss_above_the_threshold() {
    let mut flow = in_state(LINK, BbrState::Up);
    let event = flow.event();
    flow.congestion.on_ecn(&event);
    assert_eq!(flow.congestion.state, BbrState::Down);
    near(flow.congestion.inflight_longterm, event.flight_size.as_f64(), 0.01);
    let mut flow = self::flow(LINK);
    flow.run_for(millis(1500));
    flow.congestion.on_ecn(&flow.event());
    flow.run_until(|_| true);
    assert_eq!(flow.congestion.state, BbrState::Drain);
    let mut flow = in_state(LINK, BbrState::Cruise);
    flow.congestion.on_ecn(&flow.event());
    assert!(flow.run_until(|flow| flow.congestion.bw_shortterm.is_finite()));
}
