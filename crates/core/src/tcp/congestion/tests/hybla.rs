//! Caini and Firrincieli, 2004.

use super::*;

const HYBLA: CongestionAlgorithm = CongestionAlgorithm::Hybla { rtt0: Duration::from_millis(25) };

#[test]
fn congestion_avoidance_is_as_fast_as_at_25_ms() {
    // rho² segments a round trip: the rate grows by as many segments a second, each second,
    // as a standard connection's at 25 ms: 1600.
    for rtt in [25, 50, 100, 250] {
        let mut path = Path::avoiding(HYBLA, 2_000, millis(rtt));
        path.round();
        let rho = rtt as f64 / 25.0;
        near(path.cwnd() - 2_000.0, rho * rho, 0.05);
    }
}

#[test]
fn slow_start_adds_two_to_the_rho_less_one() {
    for (rtt, added) in [(10, 1.0), (25, 1.0), (50, 3.0), (100, 15.0)] {
        let mut path = Path::new(HYBLA, slow_start(10, Growth::Doubling), millis(rtt));
        path.ack(SMSS);
        assert_eq!(path.cwnd(), 10.0 + added);
    }
    // The window begins with rho segments, and stops at the threshold.
    let config = slow_start(1, Growth::Doubling);
    let config = SlowStartConfig { initial_ssthresh: Some(64 * SMSS), ..config };
    let mut path = Path::new(HYBLA, config, millis(500));
    path.ack(SMSS);
    assert_eq!(path.cwnd(), 64.0);
}

#[test]
fn no_round_trip_time_overflows_it() {
    let mut path = Path::new(HYBLA, slow_start(10, Growth::Doubling), millis(100_000));
    for _ in 0..10 {
        path.ack(SMSS);
    }
    assert_eq!(path.congestion.window(), Bytes::new(1 << 30));
    path.lose();
    path.ack(SMSS);
    assert!(path.congestion.window() <= Bytes::new(1 << 30));
}
