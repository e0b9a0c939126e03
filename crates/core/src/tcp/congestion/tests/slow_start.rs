//! RFC 3465, 3742, and where the initial window is used.

use super::*;

#[test]
fn an_acknowledgment_counts_at_most_two_segments_and_one_after_a_timeout() {
    // RFC 3465, 2.2 and 2.3.
    let mut path =
        Path::new(CongestionAlgorithm::Standard, slow_start(4, Growth::Doubling), millis(100));
    path.ack(3 * SMSS);
    assert_eq!(path.cwnd(), 6.0);
    path.round();
    path.round();
    assert_eq!(path.cwnd(), 24.0);
    path.time_out();
    assert_eq!((path.cwnd(), path.congestion.ssthresh()), (1.0, 12 * SMSS));
    path.ack(3 * SMSS);
    assert_eq!(path.cwnd(), 2.0);
    path.rounds(3);
    assert!(path.cwnd() >= 12.0);
    // The rule is over with that slow start.
    path.lose();
    let ssthresh = path.congestion.ssthresh();
    path.congestion.slow_start_mut().set(SMSS, ssthresh);
    path.ack(3 * SMSS);
    assert_eq!(path.cwnd(), 3.0);
}

/// G99-F-2: RFC 2001's slow start and congestion avoidance, as the baseline's hosts have them
/// (`byte-limit=1`).
#[test]
fn a_segment_for_each_acknowledgment_and_then_one_for_each_window() {
    let config = SlowStartConfig {
        byte_limit: Some(1),
        initial_ssthresh: Some(8 * SMSS),
        ..slow_start(1, Growth::Doubling)
    };
    let mut path = Path::new(CongestionAlgorithm::Standard, config, millis(100));
    // Whether it acknowledges one segment or two.
    for (acknowledged, window) in [(1, 2.0), (1, 3.0), (2, 4.0), (2, 5.0), (1, 6.0), (2, 7.0)] {
        path.ack(acknowledged * SMSS);
        assert_eq!(path.cwnd(), window);
    }
    path.ack(SMSS);
    assert_eq!(path.cwnd(), 8.0);
    for window in 8..20 {
        near(path.cwnd(), f64::from(window), 0.02);
        path.round();
    }
}

#[test]
fn the_initial_window_is_used_where_it_may_be() {
    // The four-packet-start draft against ns-1.2's window-init, and RFC 5681.
    let windows = |initial_window_use| {
        let config = SlowStartConfig { initial_window_use, ..slow_start(4, Growth::Doubling) };
        let mut path = Path::new(CongestionAlgorithm::Standard, config, millis(100));
        let first = path.cwnd();
        path.rounds(3);
        path.congestion.on_idle();
        let idle = path.cwnd();
        path.rounds(3);
        path.time_out();
        (first, idle, path.cwnd())
    };
    assert_eq!(windows(InitialWindowUse::Beginning), (4.0, 1.0, 1.0));
    assert_eq!(windows(InitialWindowUse::BeginningAndIdle), (4.0, 4.0, 1.0));
    assert_eq!(windows(InitialWindowUse::EverySlowStart), (4.0, 4.0, 4.0));
}

#[test]
fn limited_slow_start_adds_half_of_max_ssthresh_a_round_trip() {
    // RFC 3742, 2 and 3.
    let growth = Growth::Limited { max_ssthresh: 100 };
    let mut path = Path::new(CongestionAlgorithm::Standard, slow_start(1, growth), millis(100));
    let mut rounds = 0;
    while path.cwnd() <= 100.0 {
        let before = path.cwnd();
        path.round();
        rounds += 1;
        assert!(before == 64.0 || path.cwnd() == 2.0 * before);
    }
    assert_eq!(rounds, 7, "log2(max_ssthresh), rounded up");
    // K = 2 up to 1.5·max_ssthresh, 3 up to twice, 4 beyond, as the window stands at each
    // acknowledgment.
    for (segments, k) in [(120, 2), (149, 2), (151, 3), (199, 3), (201, 4), (251, 5)] {
        let mut path =
            Path::new(CongestionAlgorithm::Standard, slow_start(segments, growth), millis(100));
        path.ack(SMSS);
        assert_eq!(path.congestion.window(), segments * SMSS + SMSS / k);
    }
    // (cwnd - max_ssthresh) / (max_ssthresh / 2) round trips at most.
    let begun = path.cwnd();
    let mut more = 0;
    while path.cwnd() < 2_000.0 {
        let before = path.cwnd();
        path.round();
        more += 1;
        let added = path.cwnd() - before;
        assert!((48.0..=75.0).contains(&added), "{before} + {added}");
    }
    let bound = (2_000.0 - begun) / 50.0;
    assert!(f64::from(more) <= 1.05 * bound && f64::from(more) > 0.8 * bound, "{more}");
}

#[test]
fn paced_slow_start_probes_at_the_rate_of_the_acknowledgments() {
    let config = slow_start(4, Growth::Doubling);
    let basis = |probing, segments| {
        let config = SlowStartConfig { probing, initial_ssthresh: Some(segments * SMSS), ..config };
        Path::new(CongestionAlgorithm::Standard, config, millis(100)).congestion.pacing()
    };
    assert_eq!(basis(Probing::TwiceAckRate, 100), PacingBasis::Window { gain: 2.0 });
    assert_eq!(basis(Probing::AckRate, 100), PacingBasis::Rate(None), "no burst has returned yet");
    // Congestion avoidance begins no faster, once the rate is known.
    assert_eq!(basis(Probing::AckRate, 4), basis(Probing::TwiceAckRate, 4));
    let config =
        SlowStartConfig { probing: Probing::AckRate, initial_ssthresh: Some(32 * SMSS), ..config };
    let mut path = Path::new(CongestionAlgorithm::Standard, config, millis(100));
    path.rounds(6);
    assert!(path.congestion.window() >= path.congestion.ssthresh());
    // A segment each millisecond: 3 % more is sent.
    for segments in 1..=4 {
        let now = Instant::from_millis(1000 + segments);
        let ack = AckEvent { delivered: segments * SMSS, srtt: Some(path.rtt), ..ack_event(now) };
        path.congestion.on_ack(&ack);
    }
    let rate = Rate::from_bits_per_sec(SMSS.count() * 8 * 1030);
    let limited = PacingBasis::WindowUpTo { gain: 1.25, rate };
    assert_eq!(path.congestion.pacing(), limited);
}

#[test]
fn the_4k_initial_window_is_rfc_3390s() {
    use crate::tcp::sender::InitialWindow::Rfc3390;
    let windows = [536, 1000, 1095, 1460, 2190, 4000].map(|smss| Rfc3390.bytes(Bytes::new(smss)));
    assert_eq!(windows, [2144, 4000, 4380, 4380, 4380, 8000].map(Bytes::new));
}
