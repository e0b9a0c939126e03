//! Westwood+'s papers, and the constants of `tcp_westwood.c`.

use super::flow::{Flow, PathConfig};
use super::*;

const LINK: PathConfig = PathConfig::SHORT;

fn flow(link: PathConfig) -> Flow<Westwood> {
    let config = slow_start(10, Growth::Doubling);
    let config = SlowStartConfig { initial_ssthresh: Some(100 * SMSS), ..config };
    Flow::new(Westwood::new(config, SMSS), link)
}

#[test]
fn a_loss_leaves_what_the_path_carries_in_the_min_round_trip() {
    let mut flow = flow(LINK);
    flow.run_for(millis(9_000));
    assert!(flow.congestion.window().as_f64() > 1.5 * flow.bdp(), "there is a queue");
    flow.congestion.on_loss(&flow.event());
    let ssthresh = flow.congestion.ssthresh().as_f64();
    near(ssthresh, flow.bdp(), 0.1);
    assert_eq!(flow.congestion.window(), flow.congestion.ssthresh());
    // Half would have been less, and the standard's answer to the next one would be half again.
    flow.congestion.on_loss(&flow.event());
    assert_eq!(flow.congestion.ssthresh().as_f64(), ssthresh);
}

#[test]
fn a_timeout_keeps_the_threshold_and_forgets_the_min_round_trip() {
    let mut flow = flow(LINK);
    flow.run_for(millis(5_000));
    flow.time_out();
    assert_eq!(flow.congestion.window(), SMSS);
    near(flow.congestion.ssthresh().as_f64(), flow.bdp(), 0.1);
    // Nothing is known of the path: as the standard's.
    let event = CongestionEvent { flight_size: 40 * SMSS, ..flow.event() };
    assert_eq!(flow.congestion.decrease(&event, false), 20 * SMSS);
}

#[test]
fn samples_span_a_round_trip_and_fifty_milliseconds_at_least_and_are_filtered_twice() {
    let mut westwood = Westwood::new(slow_start(10, Growth::Doubling), SMSS);
    let deliver = |westwood: &mut Westwood, at: u64, newly: u64| {
        westwood.on_ack(&AckEvent {
            newly: Bytes::new(newly),
            rtt: Some(millis(10)),
            srtt: Some(millis(10)),
            min_rtt: Some(millis(10)),
            ..ack_event(Instant::from_millis(at))
        });
    };
    let event = CongestionEvent {
        now: Instant::ZERO,
        flight_size: Bytes::ZERO,
        in_flight: Bytes::ZERO,
        smss: SMSS,
    };
    deliver(&mut westwood, 0, 59_999);
    deliver(&mut westwood, 40, 1);
    assert_eq!(westwood.decrease(&event, false), 2 * SMSS, "no sample yet");
    // 60 KB in 60 ms, and 10 ms of that.
    deliver(&mut westwood, 60, 120_000);
    assert_eq!(westwood.decrease(&event, false), Bytes::new(10_000));
    // Twice as much: an eighth of an eighth of the difference.
    deliver(&mut westwood, 120, 1);
    assert_eq!(westwood.decrease(&event, false), Bytes::new(10_000 + 10_000 / 64));
}

#[test]
fn losses_of_the_link_cost_less_than_with_halving() {
    let link = PathConfig { loss: 1000, ..LINK };
    let mut westwood = flow(link);
    westwood.run_for(millis(60_000));
    let standard = Classic::new(slow_start(10, Growth::Doubling), SMSS, Standard::default());
    let mut standard = Flow::new(standard, link);
    standard.run_for(millis(60_000));
    let (westwood, standard) = (westwood.delivered, standard.delivered);
    assert!(westwood.as_f64() > 1.2 * standard.as_f64(), "{westwood} to {standard}");
}
