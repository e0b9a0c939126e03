//! RFC 9438.

use super::*;

const CUBIC: CongestionAlgorithm =
    CongestionAlgorithm::Cubic { fast_convergence: true, as_linux: false };

/// Seconds in congestion avoidance and the window then, after a loss at `w_max` segments.
fn curve(w_max: u64, rtt: Duration, seconds: f64) -> Vec<(f64, f64)> {
    let mut path = Path::avoiding(CUBIC, w_max, rtt);
    path.lose();
    let (begun, mut curve) = (path.now, Vec::new());
    loop {
        path.round();
        let t = path.now.saturating_since(begun).as_secs_f64();
        curve.push((t, path.cwnd()));
        if t > seconds {
            return curve;
        }
    }
}

#[test]
fn the_window_follows_the_cubic_function() {
    // W_max 1000, beta 0.7: K = cbrt(300 / 0.4) = 9.086 s.
    let k = (1000.0_f64 * 0.3 / 0.4).cbrt();
    near(k, 9.086, 0.001);
    let curve = curve(1000, millis(100), 15.0);
    for (t, window) in &curve {
        let w_cubic = 0.4 * (t - k).powi(3) + 1000.0;
        near(*window, w_cubic, 0.02);
    }
    // Concave up to W_max, convex beyond.
    let at = |t: f64| curve.iter().find(|(at, _)| *at >= t).unwrap().1;
    near(at(9.1), 1000.0, 0.005);
    let gains = [1.0, 4.0, 8.0, 11.0, 14.0].map(|t| at(t + 1.0) - at(t));
    assert!(gains[0] > gains[1] && gains[1] > gains[2], "{gains:?}");
    assert!(gains[2] < gains[3] && gains[3] < gains[4], "{gains:?}");
}

#[test]
fn it_is_never_slower_than_reno() {
    // Section 4.3: a short path. From 70 % up by alpha a round trip to the prior window, then
    // by one.
    let mut path = Path::avoiding(CUBIC, 20, millis(10));
    path.lose();
    assert_eq!(path.cwnd(), 14.0);
    path.rounds(10);
    near(path.cwnd(), 14.0 + 10.0 * 3.0 * 0.3 / 1.7, 0.02);
    while path.cwnd() < 20.1 {
        path.round();
    }
    let before = path.cwnd();
    path.rounds(10);
    near(path.cwnd() - before, 10.0, 0.08);
}

#[test]
fn as_in_linux_it_is_slower_than_reno() {
    // Linux's W_est grows by RFC 8312's alpha for ever, beyond the prior window too, and the window
    // comes to its whole segments within a round trip.
    let mut path = Path::avoiding(
        CongestionAlgorithm::Cubic { fast_convergence: true, as_linux: true },
        20,
        millis(10),
    );
    path.lose();
    assert_eq!(path.cwnd(), 14.0);
    for rounds in [10, 20, 40] {
        path.rounds(rounds);
    }
    let w_est = 14.0 + 70.0 * 3.0 * 0.3 / 1.7;
    assert!(path.cwnd() <= w_est && path.cwnd() > w_est - 2.5, "{} of {w_est}", path.cwnd());
    // Where the cubic function is above W_est, nothing is different.
    let mut long = [true, false].map(|as_linux| {
        let control = CongestionAlgorithm::Cubic { fast_convergence: true, as_linux };
        let mut path = Path::avoiding(control, 1000, millis(100));
        path.lose();
        path
    });
    long.iter_mut().for_each(|path| path.rounds(80));
    assert_eq!(long[0].cwnd(), long[1].cwnd());
}

#[test]
fn average_windows_are_those_of_the_rfc() {
    // Section 5.1, table 1 (RTT 0.1 s, C = 0.4): a loss at W_max after every 1/p packets, from
    // which follow (1 - 0.3 / 4) W_max = W_avg and the time K between losses.
    for (packets, average) in [(1e4, 187.0), (1e5, 1054.0), (1e6, 5926.0)] {
        let w_max: f64 = average / 0.925;
        let mut path = Path::avoiding(CUBIC, w_max as u64, millis(100));
        path.lose();
        let rounds = ((0.3 * w_max / 0.4).cbrt() / 0.1).round();
        let mut sent = 0.0;
        for _ in 0..rounds as u32 {
            sent += path.cwnd();
            path.round();
        }
        near(path.cwnd(), w_max, 0.01);
        near(sent, packets, 0.03);
        near(sent / rounds, average, 0.02);
    }
}

#[test]
fn reductions_follow_the_rfc() {
    // 4.6: by 0.7, two segments at least, one after a mark.
    let mut path = Path::avoiding(CUBIC, 100, millis(100));
    path.lose();
    assert_eq!((path.cwnd(), path.congestion.ssthresh()), (70.0, 70 * SMSS));
    // 4.7: a loss below W_max releases bandwidth: of 700 segments the plateau lies at
    // 700 * 0.85 = 595, to be reached from 490 after cbrt(105 / 0.4) = 6.4 s.
    let mut path = Path::avoiding(CUBIC, 1000, millis(100));
    path.lose();
    path.lose();
    assert_eq!(path.cwnd(), 490.0);
    path.rounds(64);
    near(path.cwnd(), 595.0, 0.01);
    let mut path = Path::avoiding(CUBIC, 2, millis(100));
    path.lose();
    assert_eq!(path.cwnd(), 2.0);
    let event = CongestionEvent { flight_size: SMSS, ..path.event() };
    path.congestion.on_ecn(&event);
    assert_eq!((path.cwnd(), path.congestion.ssthresh()), (1.0, 2 * SMSS));
}

#[test]
fn a_timeout_begins_a_new_curve_at_the_threshold() {
    // 4.8: K = 0 and W_max is the window with which congestion avoidance begins.
    let mut path = Path::avoiding(CUBIC, 100, millis(100));
    path.time_out();
    assert_eq!((path.cwnd(), path.congestion.ssthresh()), (1.0, 70 * SMSS));
    while path.congestion.window() < path.congestion.ssthresh() {
        path.round();
    }
    let begun = path.now;
    path.rounds(100);
    let t = path.now.saturating_since(begun).as_secs_f64();
    near(path.cwnd(), 70.0 + 0.4 * t.powi(3), 0.05);
    // The same data again: the threshold is held.
    let held = path.congestion.ssthresh();
    let event = path.event();
    path.congestion.on_timeout(&event, true);
    assert_eq!(path.congestion.ssthresh(), held);
}

#[test]
fn a_mistaken_reduction_is_undone() {
    // 4.9.
    let mut path = Path::avoiding(CUBIC, 100, millis(100));
    path.lose();
    path.rounds(5);
    let (window, ssthresh) = (path.congestion.window(), path.congestion.ssthresh());
    let mut same = Path::avoiding(CUBIC, 100, millis(100));
    same.lose();
    same.rounds(5);
    path.lose();
    path.congestion.undo(Bytes::MAX);
    assert_eq!((path.congestion.window(), path.congestion.ssthresh()), (window, ssthresh));
    path.congestion.undo(Bytes::MAX);
    path.rounds(5);
    same.rounds(5);
    assert_eq!(path.congestion.window(), same.congestion.window(), "the same curve");
    path.time_out();
    path.congestion.undo(Bytes::MAX);
    assert_eq!(path.congestion.window(), same.congestion.window());
}
