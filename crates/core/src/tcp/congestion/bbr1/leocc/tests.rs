//! The constants of the authors' module, and the first second behind a reconfiguration.

use super::super::modes::Mode;
use super::*;
use crate::tcp::congestion::tests::flow::{Flow, PathConfig};
use crate::tcp::congestion::tests::{SMSS, ack_event, millis, near, slow_start};
use crate::tcp::congestion::{Congestion, Growth};

/// 16 Mbit/s and 40 ms: a product of 80 segments.
const LINK: PathConfig = PathConfig {
    rate: 2_000_000.0,
    rtt: Duration::from_millis(40),
    queue: 500_000.0,
    loss: 0,
    bucket: None,
    jitter: None,
};

/// When flows of [`Flow`] begin.
const BEGIN: u64 = 1000;

fn leocc(link: PathConfig) -> Flow<Bbr1<LeoCc>> {
    let offset = Some(millis(12_000));
    Flow::new(LeoCc::new(slow_start(10, Growth::Doubling), SMSS, offset, millis(10)), link)
}

fn bbr1(link: PathConfig) -> Flow<Bbr1> {
    Flow::new(Bbr1::new(slow_start(10, Growth::Doubling), SMSS), link)
}

fn mode<V>(flow: &Flow<Bbr1<V>>) -> Mode {
    flow.congestion.mode
}

/// The share of a link that the flow gets in the second second behind a reconfiguration.
fn recovery<C: Congestion>(mut flow: Flow<C>, other: PathConfig) -> f64 {
    flow.run_until(|flow| flow.now >= Instant::from_millis(BEGIN + 11_950));
    flow.link = other;
    flow.run_for(millis(1000));
    flow.delivered = Bytes::ZERO;
    flow.run_for(millis(1000));
    flow.delivered.as_f64() / other.rate
}

#[test]
fn the_kalman_gain_settles_at_the_golden_ratio() {
    let mut filter = Kalman::START;
    filter.update(29.0);
    // 29 / 33 of the way.
    near(filter.value, 29.0 * 29.0 / 33.0, 1e-9);
    for _ in 0..20 {
        filter.update(0.0);
    }
    filter.value = 1.0;
    filter.update(0.0);
    near(1.0 - filter.value, (5.0_f64.sqrt() - 1.0) / 2.0, 1e-6);
}

#[test]
fn every_fifteen_seconds_a_new_model_is_begun() {
    let mut flow = leocc(LINK);
    for reconfiguration in [12_000, 27_000, 42_000] {
        let due = Instant::from_millis(BEGIN + reconfiguration - 100);
        assert!(flow.run_until(|flow| mode(flow) == Mode::ProbeRtt));
        assert!(flow.now >= due && flow.now < due + millis(50), "{:?}", flow.now);
        assert!(flow.run_until(|flow| mode(flow) != Mode::ProbeRtt));
        assert_eq!(mode(&flow), Mode::Startup, "as at the beginning");
        // Half a product in flight for 200 ms and a round.
        assert!(flow.in_flight().as_f64() <= 0.55 * flow.bdp(), "{}", flow.in_flight());
        assert!(flow.congestion.bandwidth.max() == 0.0);
        assert!(flow.run_until(|flow| matches!(mode(flow), Mode::ProbeBw { .. })));
        let took = flow.now.saturating_since(due);
        assert!(took > millis(200) && took < millis(1000), "{took:?}");
        near(flow.congestion.bandwidth.max(), LINK.rate, 0.02);
        assert!(!flow.congestion.variant.reconfigured);
    }
}

#[test]
fn a_path_with_ten_times_as_much_is_full_after_a_second() {
    let other = PathConfig { rate: 20_000_000.0, queue: 2_000_000.0, ..LINK };
    let share = recovery(leocc(LINK), other);
    assert!(share > 0.95, "{share}");
}

#[test]
fn a_path_that_takes_longer_is_full_again_after_a_second() {
    let other = PathConfig { rtt: millis(140), ..LINK };
    let share = recovery(leocc(LINK), other);
    let bbr = recovery(bbr1(LINK), other);
    assert!(share > 0.9, "{share}");
    // Two products of the former path are in flight at most.
    assert!(bbr < 0.7, "{bbr}");
}

#[test]
fn the_minimum_is_the_last_round_trip_time_of_the_new_path() {
    let mut flow = leocc(LINK);
    flow.run_until(|flow| flow.now >= Instant::from_millis(BEGIN + 11_850));
    assert!(flow.congestion.min_rtt.unwrap() < millis(42));
    flow.link.rtt = millis(70);
    assert!(flow.run_until(|flow| mode(flow) == Mode::Startup));
    let min = flow.congestion.min_rtt.unwrap();
    assert!(min >= millis(70) && min < millis(80), "{min:?}");
}

#[test]
fn a_fall_by_forty_five_milliseconds_leaves_the_bandwidth_known() {
    for (rtt, known) in [(60, 0.0), (50, 1e6)] {
        let mut variant = leocc(LINK).congestion.variant;
        variant.follow_schedule(Instant::ZERO);
        (0..20).for_each(|_| variant.on_rtt(millis(100)));
        assert_eq!(variant.path_changed(), None);
        variant.follow_schedule(Instant::from_millis(12_000));
        variant.on_rate(1e6, None);
        variant.on_rate(2e6, Some(millis(rtt)));
        assert_eq!(variant.path_changed(), Some(known), "{rtt} ms");
        variant.settled();
        assert_eq!(variant.path_changed(), None);
    }
}

#[test]
fn a_queue_of_ten_milliseconds_makes_probing_careful() {
    let mut flow = leocc(LINK);
    flow.run_for(millis(3000));
    assert!(matches!(mode(&flow), Mode::ProbeBw { .. }));
    let min_rtt = flow.congestion.min_rtt;
    assert!(!flow.congestion.variant.queues(min_rtt));
    assert_eq!(flow.congestion.variant.probing_gain(min_rtt), 1.25);
    // Without a reconfiguration the path becomes longer, as if others had filled its queue.
    flow.link.rtt = millis(53);
    flow.run_for(millis(500));
    assert!(flow.congestion.variant.queues(min_rtt));
    assert_eq!(flow.congestion.variant.probing_gain(min_rtt), 1.05);
    let bandwidth = flow.congestion.bandwidth_to_use();
    near(bandwidth, LINK.rate, 0.05);
    // The greatest of ten rounds stays where the link becomes slower; the filter follows.
    flow.link.rate = 1_500_000.0;
    flow.run_for(millis(300));
    assert!(flow.congestion.bandwidth() > 1_900_000.0);
    near(flow.congestion.bandwidth_to_use(), 1_500_000.0, 0.1);
}

#[test]
fn a_silence_of_forty_five_milliseconds_is_a_reconfiguration() {
    let begin = Instant::from_millis(1000);
    // At 100 kB/s two segments take 20 ms.
    for (silence, bandwidth, found) in
        [(66, Some(1e5), true), (64, Some(1e5), false), (46, Some(1e8), true), (200, None, false)]
    {
        let control = LeoCc::new(slow_start(10, Growth::Doubling), SMSS, None, millis(10));
        let mut variant = control.variant;
        variant.on_ack(&ack_event(begin), bandwidth);
        variant.on_ack(&ack_event(begin + millis(silence)), bandwidth);
        assert_eq!(variant.reconfigured, found, "{silence} ms at {bandwidth:?}");
    }
    // The next reconfiguration is 15 seconds away: what is silent earlier is a queue.
    let control = LeoCc::new(slow_start(10, Growth::Doubling), SMSS, None, millis(10));
    let mut variant = control.variant;
    for (at, found) in [(0, false), (200, true), (400, false), (14_100, false), (14_300, true)] {
        variant.reconfigured = false;
        variant.on_ack(&ack_event(begin + millis(at)), Some(1e8));
        assert_eq!(variant.reconfigured, found, "at {at} ms");
    }
    // An application that has nothing to send.
    let control = LeoCc::new(slow_start(10, Growth::Doubling), SMSS, None, millis(10));
    let mut variant = control.variant;
    variant.on_ack(&ack_event(begin), Some(1e6));
    let now = begin + millis(5000);
    variant.on_sent(&Departed { now, bytes: SMSS, in_flight: Bytes::ZERO, app_limited: true });
    variant.on_ack(&ack_event(now + millis(100)), Some(1e6));
    assert!(!variant.reconfigured);
}

#[test]
fn a_queue_before_the_first_round_does_not_stop_the_flow() {
    let control = LeoCc::new(slow_start(10, Growth::Doubling), SMSS, None, millis(10));
    let mut variant = control.variant;
    variant.on_rtt(millis(500));
    assert!(variant.queues(Some(millis(40))));
    assert_eq!(variant.bandwidth(1e6, Some(millis(40))), 1e6);
    variant.on_rate(8e5, None);
    variant.end_round(true);
    near(variant.bandwidth(1e6, Some(millis(40))), 8e5 * 29.0 / 33.0, 1e-9);
}

#[test]
fn a_steady_path_has_no_reconfigurations() {
    for rate in [50_000.0, 2_000_000.0] {
        let link = PathConfig { rate, queue: 2.0 * rate, loss: 100, ..LINK };
        let control = LeoCc::new(slow_start(10, Growth::Doubling), SMSS, None, millis(10));
        let mut flow = Flow::new(control, link);
        let end = flow.now + millis(19_000);
        flow.run_until(|flow| {
            let probes = flow.congestion.variant.reconfigured;
            assert!(!probes, "at {:?}, {rate} bytes a second", flow.now);
            flow.now >= end
        });
    }
}
