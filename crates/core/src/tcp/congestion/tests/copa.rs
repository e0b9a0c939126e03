//! The numbers of the paper's sections 2.1, 2.2 and 3.

use super::flow::{Flow, PathConfig};
use super::*;

/// 12 Mbit/s and 50 ms: a product of 75 segments.
const LINK: PathConfig = PathConfig {
    rate: 1_500_000.0,
    rtt: Duration::from_millis(50),
    queue: 1_000_000.0,
    loss: 0,
    bucket: None,
    jitter: None,
};

fn flow(delta: f64, link: PathConfig) -> Flow<Copa> {
    Flow::new(Copa::new(slow_start(10, Growth::Doubling), SMSS, delta), link)
}

/// A flow in equilibrium.
fn settled(delta: f64, link: PathConfig) -> Flow<Copa> {
    let mut flow = flow(delta, link);
    flow.run_for(millis(5000));
    flow
}

/// The segments that queue: at every acknowledgment of so long.
fn queues(flow: &mut Flow<Copa>, span: Duration) -> Vec<(f64, f64)> {
    let (mut seen, end) = (Vec::new(), flow.now + span);
    flow.run_until(|flow| {
        seen.push((flow.now.as_secs_f64(), flow.queue() / SMSS.as_f64()));
        flow.now >= end
    });
    seen
}

#[test]
fn the_queue_goes_from_nothing_to_two_and_a_half_over_delta_each_five_round_trips() {
    for delta in [0.1, 0.05] {
        let mut flow = settled(delta, LINK);
        flow.delivered = Bytes::ZERO;
        let seen = queues(&mut flow, millis(10_000));
        let mean = seen.iter().map(|(_, queue)| queue).sum::<f64>() / seen.len() as f64;
        let max = seen.iter().fold(0.0, |max: f64, (_, queue)| max.max(*queue));
        near(mean, 1.25 / delta, 0.05);
        near(max, 2.5 / delta, 0.15);
        near(flow.delivered.as_f64(), 10.0 * LINK.rate, 0.01);
        let above = |(_, queue): &(f64, f64)| *queue > mean;
        let rises = seen.windows(2).filter(|pair| !above(&pair[0]) && above(&pair[1])).count();
        let cycle = 10.0 / rises as f64 / LINK.rtt.as_secs_f64();
        assert!((4.5..=5.5).contains(&cycle), "{cycle}");
    }
}

#[test]
fn the_usual_delta_keeps_the_link_busy_with_few_segments_queueing() {
    for rtt in [50, 300] {
        let mut flow = settled(0.5, PathConfig { rtt: millis(rtt), ..LINK });
        flow.run_for(millis(20_000));
        flow.delivered = Bytes::ZERO;
        let seen = queues(&mut flow, millis(10_000));
        let mean = seen.iter().map(|(_, queue)| queue).sum::<f64>() / seen.len() as f64;
        near(mean, 2.5, 0.1);
        near(flow.delivered.as_f64(), 10.0 * LINK.rate, 0.01);
    }
}

#[test]
fn slow_start_doubles_until_the_target_and_then_leaves_no_queue() {
    let mut flow = flow(0.5, LINK);
    assert!(flow.run_until(|flow| !flow.congestion.slow_start().is_under_way()));
    assert!(flow.in_flight().as_f64() >= 0.8 * flow.bdp(), "{}", flow.in_flight());
    // Ten segments double three times for 75.
    let rounds = flow.now.saturating_since(Instant::from_millis(1000)).as_secs_f64() / 0.05;
    assert!((3.0..8.0).contains(&rounds), "{rounds}");
    flow.run_for(millis(3000));
    assert!(flow.queue() < 6.0 * SMSS.as_f64());
}

#[test]
fn losses_that_are_the_links_own_cost_only_themselves() {
    let mut flow = settled(0.5, PathConfig { loss: 50, ..LINK });
    flow.delivered = Bytes::ZERO;
    flow.run_for(millis(10_000));
    assert!(flow.delivered.as_f64() > 0.97 * 10.0 * LINK.rate, "{}", flow.delivered);
}

/// A control and its path, of which only the delays are known.
struct Script {
    copa: Copa,
    now: Instant,
    round: u64,
}

impl Script {
    /// Out of slow start, with RTTmin = 100 ms.
    fn new() -> Script {
        let copa = Copa::new(slow_start(100, Growth::Doubling), SMSS, 0.5);
        let mut script = Script { copa, now: Instant::ZERO, round: 0 };
        script.rounds(1, 100);
        script.rounds(1, 110);
        assert!(!script.copa.slow_start().is_under_way());
        script
    }

    /// Round trips of ten acknowledgments, each for a tenth of the window.
    fn rounds(&mut self, count: u32, rtt: u64) {
        for _ in 0..count {
            self.round += 1;
            for _ in 0..10 {
                self.now += millis(rtt) / 10;
                let bytes = self.copa.window() / 10;
                self.copa.on_ack(&AckEvent {
                    acked: bytes,
                    newly: bytes,
                    rtt: Some(millis(rtt)),
                    srtt: Some(millis(rtt)),
                    round: self.round,
                    ..ack_event(self.now)
                });
            }
        }
    }

    fn delta(&self) -> f64 {
        1.0 / self.copa.inverse
    }
}

#[test]
fn a_queue_that_never_empties_is_competed_for() {
    let mut script = Script::new();
    script.rounds(5, 200);
    assert_eq!(script.delta(), 0.5);
    script.rounds(8, 200);
    let inverse = script.copa.inverse;
    assert!((9.0..=10.0).contains(&inverse), "one a round trip: {inverse}");
    let window = script.copa.window();
    let event =
        CongestionEvent { now: script.now, flight_size: window, in_flight: window, smss: SMSS };
    script.copa.on_loss(&event);
    assert_eq!(script.copa.inverse, inverse / 2.0);
    assert_eq!(script.copa.window(), window, "the window follows by itself");
    for _ in 0..5 {
        script.copa.on_loss(&event);
    }
    assert_eq!(script.delta(), 0.5, "no more than usual");
    script.rounds(3, 200);
    // The queue empties: no competitor.
    script.rounds(1, 100);
    assert_eq!(script.delta(), 0.5);
    script.copa.on_loss(&event);
    assert_eq!(script.delta(), 0.5);
}

#[test]
fn the_velocity_doubles_from_the_third_round_trip_in_one_direction_on() {
    let mut script = Script::new();
    let mut steps = Vec::new();
    for _ in 0..7 {
        let before = script.copa.window();
        script.rounds(1, 100);
        steps.push((script.copa.window() - before).as_f64() / SMSS.as_f64());
    }
    // 1 / δ segments are two.
    for (step, expected) in steps.into_iter().zip([2.0, 2.0, 2.0, 2.0, 4.0, 8.0, 16.0]) {
        near(step, expected, 0.01);
    }
}

#[test]
fn behind_a_timeout_the_window_grows_without_a_measurement() {
    let mut script = Script::new();
    let window = script.copa.window();
    let event =
        CongestionEvent { now: script.now, flight_size: window, in_flight: window, smss: SMSS };
    script.copa.on_timeout(&event, false);
    assert_eq!(script.copa.window(), SMSS);
    // Karn's algorithm: retransmitted segments measure nothing.
    for _ in 0..8 {
        script.now += millis(100);
        script.round += 1;
        let round = script.round;
        for _ in 0..script.copa.window() / SMSS {
            let ack = AckEvent { acked: SMSS, newly: SMSS, round, ..ack_event(script.now) };
            script.copa.on_ack(&ack);
        }
    }
    // Ten of 110 ms were queueing: 1 / (δ d_q) is 22 segments in RTTstanding.
    near(script.copa.window().as_f64(), 22.0 * SMSS.as_f64(), 0.05);
}
