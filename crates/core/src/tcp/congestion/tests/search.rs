//! draft-chung-ccwg-search-09, with the GEO link of its evaluation.

use super::flow::{Flow, PathConfig};
use super::*;

/// 20 Mbit/s and 600 ms: a product of 1500 segments, and a deep queue.
const GEO: PathConfig = PathConfig {
    rate: 2_500_000.0,
    rtt: Duration::from_millis(600),
    queue: 8_000_000.0,
    loss: 0,
    bucket: None,
    jitter: None,
};

fn flow(growth: Growth, link: PathConfig) -> Flow<Cubic> {
    Flow::new(Cubic::new(slow_start(10, growth), SMSS, true), link)
}

/// The window in products, once slow start is over.
fn exit(growth: Growth, link: PathConfig) -> (f64, Flow<Cubic>) {
    let mut flow = flow(growth, link);
    assert!(flow.run_until(|flow| !flow.congestion.slow_start().is_under_way()));
    (flow.congestion.window().as_f64() / flow.bdp(), flow)
}

#[test]
fn slow_start_ends_at_the_product_without_a_loss() {
    let (window, flow) = exit(Growth::Search, GEO);
    // Three bins of 0.35 round trips.
    near(window, 1.05, 0.01);
    assert_eq!(flow.lost, Bytes::ZERO);
    assert!(flow.queue() <= 0.1 * flow.bdp(), "drained: {}", flow.queue());
    // With a queue of 3.5 products norm_diff is D / (D + 3.5) = 0.27, D = ∫ 2^-x from 0 to 3.5.
    // That queue is seen a round trip later, and in bins.
    let products = flow.longest / flow.bdp();
    assert!(products > 3.3 && products < 4.4, "{products}");
}

#[test]
fn a_queue_of_one_product_overflows_before() {
    let (_, flow) = exit(Growth::Search, PathConfig { queue: 1_500_000.0, ..GEO });
    assert!(flow.longest > 1_490_000.0);
    // A loss is found, and fast recovery begins.
    assert!(flow.congestion.window().as_f64() > 1.5 * flow.bdp());
}

#[test]
fn delays_that_vary_end_hystart_early_and_search_at_the_product() {
    // A satellite terminal waits for its turn: up to 120 ms, another time each second.
    let link = PathConfig { jitter: Some((millis(120), millis(1000))), ..GEO };
    let (hystart, _) = exit(Growth::HyStart, link);
    assert!(hystart < 0.5, "{hystart}");
    let (search, flow) = exit(Growth::Search, link);
    near(search, 1.05, 0.1);
    assert_eq!(flow.lost, Bytes::ZERO);
}

#[test]
fn the_drain_sends_a_segment_for_three_that_arrive() {
    let mut flow = flow(Growth::Search, GEO);
    let mut grown = flow.congestion.window();
    assert!(flow.run_until(|flow| {
        let falls = flow.congestion.window() < grown;
        grown = grown.max(flow.congestion.window());
        falls
    }));
    let (delivered, in_flight) = (flow.delivered, flow.in_flight());
    assert!(flow.run_until(|flow| flow.delivered >= delivered + 300 * SMSS));
    near((in_flight - flow.in_flight()).as_f64() / SMSS.as_f64(), 200.0, 0.02);
}

#[test]
fn an_application_that_sends_little_does_not_end_it() {
    let mut flow = flow(Growth::Search, GEO);
    flow.application = Some(GEO.rate / 10.0);
    flow.run_for(millis(30_000));
    assert!(flow.congestion.slow_start().is_under_way());
    // After more than a window of silence the bins begin again, and it still ends in time.
    flow.pause(millis(10_000));
    flow.application = None;
    assert!(flow.run_until(|flow| !flow.congestion.slow_start().is_under_way()));
    near(flow.congestion.window().as_f64() / flow.bdp(), 1.05, 0.05);
}
