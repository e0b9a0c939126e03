//! Brakmo and Peterson, 1995.

use super::*;

const VEGAS: CongestionAlgorithm =
    CongestionAlgorithm::Vegas { alpha: 1.0, beta: 3.0, gamma: 1.0, decrease: 0.5 };

/// A path of 100 ms that carries `rate` segments a round trip; what is more waits in its queue.
fn queueing_round(path: &mut Path, rate: f64) {
    let waits = (path.cwnd() / rate).max(1.0);
    path.rtt = millis(100).mul_f64(waits);
    path.round();
}

#[test]
fn slow_start_doubles_every_other_round_trip_and_ends_above_gamma() {
    let mut path = Path::new(VEGAS, slow_start(2, Growth::Doubling), millis(100));
    let windows: Vec<f64> = (0..6)
        .map(|_| {
            path.round();
            path.cwnd()
        })
        .collect();
    let doublings = windows.windows(2).filter(|pair| pair[1] > 1.4 * pair[0]).count();
    assert!((2..=3).contains(&doublings), "{windows:?}");
    let mut path = Path::new(VEGAS, slow_start(2, Growth::Doubling), millis(100));
    for _ in 0..40 {
        queueing_round(&mut path, 50.0);
    }
    assert!(path.congestion.window() >= path.congestion.ssthresh());
    assert!(path.cwnd() < 100.0, "no overshoot to twice the path: {}", path.cwnd());
}

#[test]
fn alpha_to_beta_segments_wait_in_the_queue() {
    for begin in [40, 52, 80] {
        let mut path = Path::avoiding(VEGAS, begin, millis(100));
        // Vegas knows the empty path.
        path.ack(Bytes::ZERO);
        for _ in 0..100 {
            queueing_round(&mut path, 50.0);
        }
        let waiting = path.cwnd() - 50.0;
        assert!((1.0..=3.0).contains(&waiting), "{begin}: {waiting}");
        let before = path.cwnd();
        queueing_round(&mut path, 50.0);
        assert_eq!(path.cwnd(), before, "it rests within the band");
    }
}

#[test]
fn it_moves_by_one_segment_a_round_trip() {
    let mut path = Path::avoiding(VEGAS, 40, millis(100));
    path.rounds(11);
    assert_eq!(path.cwnd(), 50.0);
    path.rtt = millis(120);
    path.round();
    let high = path.cwnd();
    path.rounds(5);
    assert_eq!(path.cwnd(), high - 5.0);
    path.lose();
    assert!(path.cwnd() <= high / 2.0);
}

#[test]
fn a_loss_takes_the_part_that_it_is_told_to() {
    let quarter = CongestionAlgorithm::Vegas { alpha: 1.0, beta: 3.0, gamma: 1.0, decrease: 0.25 };
    for (control, left) in [(VEGAS, 20.0), (quarter, 30.0)] {
        let mut path = Path::avoiding(control, 40, millis(100));
        path.lose();
        assert_eq!(path.cwnd(), left, "{control}");
    }
}
