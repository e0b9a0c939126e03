//! Henderson's thesis, section 4.1.

use super::*;

#[test]
fn the_window_grows_by_a_segments_each_round_trip() {
    // 4.1.1: a / RTT segments a second. Increase-by-K (4.1.5) makes a = K.
    let controls = [
        (CongestionAlgorithm::Standard, 1.0),
        (CongestionAlgorithm::IncreaseByK { k: 1.0, above_rtt: None }, 1.0),
        (CongestionAlgorithm::IncreaseByK { k: 2.0, above_rtt: None }, 2.0),
        (CongestionAlgorithm::IncreaseByK { k: 4.0, above_rtt: None }, 4.0),
    ];
    for (control, a) in controls {
        for rtt in [10, 100, 200, 300, 600] {
            let mut path = Path::avoiding(control, 50, millis(rtt));
            path.rounds(100);
            let rate = (path.cwnd() - 50.0) / path.now.as_secs_f64();
            near(rate, a / millis(rtt).as_secs_f64(), 0.05);
        }
    }
}

#[test]
fn constant_rate_grows_by_c_segments_a_second_each_second() {
    // 4.1.4: c·RTT² a round trip, whatever the RTT is while the bound is not reached.
    for rtt in [10, 100, 200, 300, 600] {
        let mut path =
            Path::avoiding(CongestionAlgorithm::ConstantRate { c: 100.0 }, 100, millis(rtt));
        path.rounds(50);
        let rtt = millis(rtt).as_secs_f64();
        let growth = (path.cwnd() - 100.0) / rtt / path.now.as_secs_f64();
        near(growth, 100.0, 0.05);
    }
    // c = 100 equals the standard increase at 100 ms, 4 at 500 ms, 1600 at 25 ms.
    for (c, rtt) in [(4.0, 500), (100.0, 100), (1600.0, 25)] {
        let mut path = Path::avoiding(CongestionAlgorithm::ConstantRate { c }, 20, millis(rtt));
        path.round();
        near(path.cwnd() - 20.0, 1.0, 0.05);
    }
}

#[test]
fn no_acknowledgment_adds_more_than_a_segment() {
    // 4.1.4, 4.1.5: then the window doubles, as in slow start.
    for control in [
        CongestionAlgorithm::ConstantRate { c: 1600.0 },
        CongestionAlgorithm::IncreaseByK { k: 64.0, above_rtt: None },
    ] {
        let mut path = Path::avoiding(control, 16, millis(500));
        path.ack(2 * SMSS);
        assert_eq!(path.cwnd(), 17.0);
        path.round();
        assert_eq!(path.cwnd(), 34.0);
    }
}

#[test]
fn below_its_threshold_increase_by_k_is_the_standard_increase() {
    // 4.1.7: invoked when the connection has a round-trip time above a certain threshold.
    let far = CongestionAlgorithm::IncreaseByK { k: 4.0, above_rtt: Some(millis(500)) };
    for (rtt, segments) in [(10, 1.0), (500, 1.0), (501, 4.0), (600, 4.0)] {
        let mut path = Path::avoiding(far, 50, millis(rtt));
        path.rounds(100);
        near((path.cwnd() - 50.0) / 100.0, segments, 0.05);
    }
    // A queue does not make it bolder: the minimum counts.
    let mut path = Path::avoiding(far, 50, millis(300));
    path.round();
    path.rtt = millis(700);
    path.rounds(10);
    near(path.cwnd() - 50.0, 11.0, 0.1);
}

#[test]
fn whether_the_bound_is_in_effect_is_said() {
    // c·RTT² = 576 segments at 600 ms and c = 1600: until the window is that large, always.
    let count = |c: f64, segments: u64, rtt: u64| {
        let control = CongestionAlgorithm::ConstantRate { c };
        let mut path = Path::avoiding(control, segments, millis(rtt));
        let bound: Vec<bool> = (0..10).filter_map(|_| path.ack(SMSS).bound).collect();
        (bound.len(), bound.into_iter().filter(|bound| *bound).count())
    };
    assert_eq!(count(1600.0, 20, 600), (10, 10));
    assert_eq!(count(1600.0, 600, 600), (10, 0));
    assert_eq!(count(4.0, 20, 600), (10, 0));
    let mut standard = Path::avoiding(CongestionAlgorithm::Standard, 20, millis(600));
    assert_eq!(standard.ack(SMSS).bound, None);
}
