//! RFC 9406, 4.2 and 4.3.

use super::*;

fn path(rtt: u64) -> Path {
    let mut path =
        Path::new(CongestionAlgorithm::Standard, slow_start(10, Growth::HyStart), millis(rtt));
    path.round();
    assert_eq!(path.cwnd(), 20.0);
    path
}

#[test]
fn a_rise_slows_growth_to_a_quarter_and_five_rounds_end_it() {
    let mut path = path(100);
    // The threshold is an eighth of 100 ms. Eight samples are needed to find out.
    path.rtt += millis(13);
    path.round();
    assert_eq!(path.congestion.window(), 20 * SMSS + 7 * SMSS + 13 * SMSS / 4);
    // The round in which it began counts as the first of five.
    for _ in 0..4 {
        let before = path.cwnd();
        path.round();
        near(path.cwnd(), before * 1.25, 0.03);
        assert!(path.congestion.window() < path.congestion.ssthresh());
    }
    let before = path.cwnd();
    path.round();
    assert!(path.congestion.window() >= path.congestion.ssthresh());
    assert!(path.cwnd() <= before + 1.0);
}

#[test]
fn a_fall_takes_slow_start_up_again() {
    let mut path = path(100);
    path.rtt += millis(13);
    path.rounds(2);
    path.rtt -= millis(5);
    path.round();
    let before = path.cwnd();
    path.round();
    assert_eq!(path.cwnd(), before + before.floor());
}

#[test]
fn the_threshold_lies_between_four_and_sixteen_milliseconds() {
    for (rtt, threshold) in [(8, 4), (64, 8), (1_000, 16)] {
        for (rise, doubles) in [(threshold - 1, true), (threshold, false)] {
            let mut path = path(rtt);
            path.rtt += millis(rise);
            path.round();
            assert_eq!(path.cwnd() == 40.0, doubles, "{rtt} + {rise} ms");
        }
    }
}

#[test]
fn it_serves_the_first_slow_start_only() {
    let mut path = path(100);
    path.rounds(2);
    path.time_out();
    path.round();
    path.rounds(3);
    path.rtt += millis(50);
    path.round();
    assert_eq!(path.cwnd(), 32.0);
}
