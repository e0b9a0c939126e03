//! A window that stands.

use super::flow::{Flow, PathConfig};
use super::*;

const LINK: PathConfig = PathConfig { loss: 50, ..PathConfig::SHORT };

fn flow() -> Flow<KnownLink> {
    let rate = Rate::from_bits_per_sec(8_000_000);
    Flow::new(KnownLink::new(slow_start(10, Growth::Doubling), SMSS, rate), LINK)
}

#[test]
fn neither_losses_nor_timeouts_nor_idle_times_change_the_window() {
    let mut flow = flow();
    flow.run_for(millis(1000));
    let window = flow.congestion.window();
    near(window.as_f64(), 1.25 * flow.bdp(), 0.02);
    flow.run_for(millis(5000));
    assert!(flow.lost > Bytes::ZERO);
    flow.time_out();
    flow.congestion.on_idle();
    let event = flow.event();
    flow.congestion.on_loss(&event);
    flow.congestion.on_recovered(event.flight_size, SMSS);
    assert_eq!(flow.congestion.window(), window);
    let before = flow.delivered;
    flow.run_for(millis(10_000));
    near((flow.delivered - before).as_f64(), 10.0 * LINK.rate * 0.98, 0.02);
}

#[test]
fn all_that_was_seen_is_reported_once() {
    let mut flow = flow();
    flow.run_for(millis(3000));
    let report = flow.report;
    assert_eq!((report.delivered, report.lost), (flow.delivered, flow.lost));
    assert!(report.rtt.is_some_and(|rtt| rtt >= LINK.rtt && rtt < 2 * LINK.rtt));
}
