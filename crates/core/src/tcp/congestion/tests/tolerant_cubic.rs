//! What is taken for congestion, and what for the link's own.

use super::flow::{Flow, PathConfig};
use super::*;

const LINK: PathConfig = PathConfig::SHORT;

fn tolerant(link: PathConfig) -> Flow<TolerantCubic> {
    Flow::new(TolerantCubic::new(slow_start(10, Growth::HyStart), SMSS), link)
}

fn cubic(link: PathConfig) -> Flow<Cubic> {
    Flow::new(Cubic::new(slow_start(10, Growth::HyStart), SMSS, true), link)
}

/// The share of the link that `flow` uses in the next `seconds`.
fn utilisation<C: Congestion>(flow: &mut Flow<C>, seconds: u64) -> f64 {
    let before = flow.delivered;
    flow.run_for(millis(1000 * seconds));
    (flow.delivered - before).as_f64() / (flow.link.rate * seconds as f64)
}

#[test]
fn losses_without_a_queue_cost_what_they_lose() {
    for (loss, min) in [(1000, 0.97), (100, 0.95), (50, 0.93), (20, 0.85)] {
        let mut flow = tolerant(PathConfig { loss, ..LINK });
        flow.run_for(millis(3000));
        let used = utilisation(&mut flow, 60);
        assert!(used > min, "one of {loss} lost: {used}");
    }
    let mut flow = cubic(PathConfig { loss: 100, ..LINK });
    assert!(utilisation(&mut flow, 60) < 0.3, "which CUBIC takes for congestion");
}

#[test]
fn a_path_that_is_slower_at_times_is_no_queue() {
    for (jitter, span) in [(120, 30), (120, 100), (120, 500), (60, 500), (60, 2000)] {
        let jitter = Some((millis(jitter), millis(span)));
        let link = PathConfig { rtt: millis(500), queue: 500_000.0, loss: 100, jitter, ..LINK };
        let mut flow = tolerant(link);
        flow.run_for(millis(8000));
        let used = utilisation(&mut flow, 30);
        assert!(used > 0.85, "{jitter:?}: {used}");
    }
}

#[test]
fn a_loss_in_slow_start_does_not_end_it() {
    let mut flow = tolerant(PathConfig { loss: 40, ..LINK });
    flow.run_until(|flow| flow.lost > Bytes::ZERO);
    assert!(flow.congestion.slow_start().is_under_way());
    flow.run_for(millis(1500));
    assert!(flow.congestion.window().as_f64() > flow.bdp(), "{}", flow.congestion.window());
}

#[test]
fn slow_start_quadruples_as_long_as_trains_of_acknowledgments_are_short() {
    let mut flow = tolerant(PathConfig { rate: 40.0 * LINK.rate, queue: 1e9, ..LINK });
    let began = flow.now;
    for (round, window) in (1u32..).zip([40.0, 160.0, 640.0]) {
        // The first acknowledgment of the next round.
        flow.run_until(|flow| flow.now >= began + flow.link.rtt * round + flow.link.rtt / 2);
        near(flow.congestion.window().as_f64() / SMSS.as_f64(), window, 0.03);
    }
    // From half of what the path holds it doubles.
    flow.run_until(|flow| flow.now >= began + 5 * flow.link.rtt);
    let products = flow.congestion.window().as_f64() / flow.bdp();
    assert!((0.5..1.0).contains(&products), "{products}");
}

/// A path of 500 ms that carries 8 Mbit/s, with a queue of `segments`.
fn geostationary(segments: u64) -> PathConfig {
    PathConfig { rtt: millis(500), queue: (segments * SMSS).as_f64(), ..LINK }
}

fn begins_with(segments: u64, link: PathConfig) -> Flow<TolerantCubic> {
    Flow::new(TolerantCubic::new(slow_start(segments, Growth::HyStart), SMSS), link)
}

#[test]
fn a_large_initial_window_meets_a_queue_with_ten_segments() {
    let mut flow = begins_with(50, geostationary(10));
    flow.run_until(|flow| flow.delivered > Bytes::ZERO);
    assert!(flow.in_flight() >= 48 * SMSS, "{}", flow.in_flight());
    assert_eq!(flow.lost, Bytes::ZERO);
    assert!(flow.longest <= (10 * SMSS).as_f64(), "{}", flow.longest);
}

#[test]
fn what_left_at_once_shows_how_fast_a_large_initial_window_may_grow() {
    let windows = [10, 50].map(|segments| {
        let mut flow = begins_with(segments, PathConfig { queue: 1e9, ..geostationary(0) });
        let round = flow.now + flow.link.rtt + millis(30);
        flow.run_until(|flow| flow.now >= round);
        flow.congestion.window().as_f64() / SMSS.as_f64()
    });
    near(windows[0], 40.0, 0.05);
    near(windows[1], 200.0, 0.05);
}

#[test]
fn a_spread_window_can_be_ended() {
    let mut flow = begins_with(50, geostationary(100));
    assert!(flow.congestion.slow_start().is_spreading());
    flow.congestion.slow_start_mut().end_spread();
    assert!(!flow.congestion.slow_start().is_spreading());
    assert_eq!(
        (flow.congestion.window(), flow.congestion.slow_start_mut().take_spread()),
        (10 * SMSS, Bytes::ZERO)
    );
    let mut flow = begins_with(50, geostationary(100));
    flow.run_until(|flow| flow.delivered > Bytes::ZERO);
    let spread = flow.congestion.slow_start_mut().take_spread();
    assert!(spread <= 40 * SMSS, "{spread}");
    assert_eq!(flow.congestion.slow_start_mut().take_spread(), Bytes::ZERO, "it is told once");
    flow.congestion.slow_start_mut().end_spread();
    assert!(flow.congestion.window() >= 50 * SMSS, "it is over");
    assert!(!begins_with(10, geostationary(100)).congestion.slow_start().is_spreading());
}

#[test]
fn slow_start_takes_a_queue_of_a_sixth_of_what_the_path_holds() {
    let mut flow = tolerant(PathConfig { rate: 4.0 * LINK.rate, queue: 70_000.0, ..LINK });
    assert!(flow.run_until(|flow| flow.congestion.window().as_f64() > 0.9 * flow.bdp()));
    assert_eq!(flow.lost, Bytes::ZERO);
}

#[test]
fn slow_start_ends_when_the_path_is_full_without_a_loss() {
    let mut flow = tolerant(PathConfig { queue: 200_000.0, ..LINK });
    assert!(flow.run_until(|flow| !flow.congestion.slow_start().is_under_way()));
    assert_eq!(flow.lost, Bytes::ZERO);
    near(flow.congestion.window().as_f64(), 1.25 * flow.bdp(), 0.05);
}

#[test]
fn a_loss_with_a_queue_is_answered_as_cubic_does_but_not_below_what_the_path_carries() {
    let mut flow = tolerant(LINK);
    assert!(flow.run_until(|flow| !flow.congestion.slow_start().is_under_way()));
    flow.run_for(millis(1000));
    let lost = flow.lost;
    let mut before = 0;
    assert!(flow.run_until(|flow| {
        let over = flow.lost > lost;
        before = if over { before } else { flow.congestion.window().count() };
        over
    }));
    let after = flow.congestion.window().as_f64();
    assert!(before as f64 > 1.9 * flow.bdp(), "{before}");
    near(after, 0.7 * before as f64, 0.02);
    // With less of a queue seven tenths would leave the path idle.
    let mut flow = tolerant(PathConfig { queue: 20_000.0, ..LINK });
    flow.run_for(millis(10_000));
    assert!(utilisation(&mut flow, 60) > 0.98);
    assert!(flow.congestion.window().as_f64() > 0.95 * flow.bdp());
}

#[test]
fn a_queue_too_short_to_be_seen_is_found_by_its_losses() {
    let mut flow = tolerant(PathConfig { queue: 3_000.0, ..LINK });
    flow.run_for(millis(5_000));
    let (delivered, lost) = (flow.delivered, flow.lost);
    let used = utilisation(&mut flow, 120);
    let lost = (flow.lost - lost).as_f64() / (flow.delivered - delivered).as_f64();
    assert!(used > 0.85 && lost < 0.03, "{used} used, {lost} lost");
}

#[test]
fn much_loss_that_a_smaller_window_does_not_lessen_is_the_links() {
    let mut flow = tolerant(PathConfig { loss: 12, ..LINK });
    flow.run_for(millis(60_000));
    assert!(utilisation(&mut flow, 60) > 0.7, "of eleven twelfths");
}

#[test]
fn a_timeout_halves_nothing_unless_a_queue_stood() {
    let mut flow = tolerant(PathConfig { loss: 100, ..LINK });
    flow.run_for(millis(6000));
    let window = flow.congestion.window();
    flow.time_out();
    assert_eq!((flow.congestion.window(), flow.congestion.ssthresh()), (SMSS, window));
    // The acknowledgments that are still on their way change nothing of that, nor does another
    // timeout.
    flow.run_for(millis(20));
    flow.time_out();
    assert_eq!(flow.congestion.ssthresh(), window);
    let mut flow = tolerant(LINK);
    flow.run_until(|flow| flow.congestion.window().as_f64() > 1.8 * flow.bdp());
    flow.run_for(millis(300));
    let in_flight = flow.in_flight().as_f64();
    flow.time_out();
    near(flow.congestion.ssthresh().as_f64(), 0.7 * in_flight, 0.02);
}

#[test]
fn a_mark_is_congestion_in_any_case() {
    let mut flow = tolerant(PathConfig { loss: 100, ..LINK });
    flow.run_for(millis(5000));
    let event = flow.event();
    flow.congestion.on_ecn(&event);
    near(flow.congestion.window().as_f64(), 0.7 * event.flight_size.as_f64(), 0.02);
}
