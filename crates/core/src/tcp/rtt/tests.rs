use super::*;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn follows_rfc_6298() {
    let mut rtt = RttEstimator::new(RtoConfig::default());
    assert_eq!(rtt.rto(), ms(1000));
    rtt.sample(ms(500));
    assert_eq!(rtt.rto(), ms(500 + 4 * 250));
    rtt.sample(ms(600));
    // RTTVAR = 3/4·250 + 1/4·100 = 212.5; SRTT = 7/8·500 + 1/8·600 = 512.5.
    assert_eq!(rtt.rto(), Duration::from_micros(512_500 + 4 * 212_500));
    rtt.back_off();
    rtt.back_off();
    assert_eq!(rtt.rto(), Duration::from_micros(4 * (512_500 + 4 * 212_500)));
    rtt.sample(ms(600));
    assert!(rtt.rto() < ms(1500));
}

#[test]
fn stays_within_its_limits() {
    let mut rtt = RttEstimator::new(RtoConfig::default());
    for _ in 0..50 {
        rtt.sample(Duration::from_micros(50));
    }
    assert_eq!(rtt.rto(), ms(200));
    for _ in 0..40 {
        rtt.back_off();
    }
    assert_eq!(rtt.rto(), Duration::from_secs(60));
}

fn ticking(tick: u64) -> RttEstimator {
    let min = ms(tick);
    RttEstimator::new(RtoConfig { tick: ms(tick), min, ..RtoConfig::default() })
}

#[test]
fn a_slow_clock_counts_the_ticks_of_a_round_trip() {
    // 560 ms span one tick or two of 500 ms, by where they begin.
    for (sent, ticks) in [(10, 1), (430, 1), (440, 2), (490, 2)] {
        let mut rtt = ticking(500);
        rtt.sample_at(Instant::from_millis(sent + 560), ms(560));
        assert_eq!(rtt.srtt(), Some(ms(500 * ticks)), "sent at {sent} ms");
        assert_eq!(rtt.min_rtt(), Some(ms(560)));
    }
    // Less than a tick counts as one.
    let mut rtt = ticking(500);
    rtt.sample_at(Instant::from_millis(30), ms(20));
    assert_eq!(rtt.srtt(), Some(ms(500)));
}

#[test]
fn timeouts_expire_on_ticks() {
    let mut rtt = ticking(500);
    // Two ticks: the timer that is set just before one lasts a little more than the other.
    rtt.sample(ms(20));
    for _ in 0..60 {
        rtt.sample(ms(20));
    }
    assert_eq!(rtt.rto(), ms(1000));
    assert_eq!(rtt.deadline(Instant::from_millis(501)), Instant::from_millis(1500));
    assert_eq!(rtt.deadline(Instant::from_millis(999)), Instant::from_millis(1500));
    assert_eq!(rtt.deadline(Instant::from_millis(1000)), Instant::from_millis(2000));
    rtt.back_off();
    assert_eq!(rtt.deadline(Instant::from_millis(999)), Instant::from_millis(2500));
    // By a fine clock the same path has a timeout right behind its round trip.
    let mut rtt = ticking(1);
    for _ in 0..60 {
        rtt.sample_at(Instant::from_millis(20), ms(20));
    }
    assert_eq!(rtt.deadline(Instant::from_millis(501)), Instant::from_millis(522));
}

#[test]
fn the_clock_of_ns_rounds_and_has_no_ticks_to_expire_on() {
    let config = RtoConfig { tick: ms(500), min: ms(0), ..RtoConfig::default() };
    let ns = || RttEstimator::new(RtoConfig { clock: Clock::Ns, ..config });
    let rto = |samples: &[u64]| {
        let mut rtt = ns();
        samples.iter().for_each(|sample| rtt.sample_at(Instant::from_millis(7_777), ms(*sample)));
        rtt.rto()
    };
    // t_srtt 16, t_rttvar 4; then 16, 3; then 17, 4: six ticks where exact sums have 6.3.
    assert_eq!(rto(&[1_222]), ms(3_000));
    assert_eq!(rto(&[1_222, 1_222]), ms(2_500));
    assert_eq!(rto(&[1_222, 1_222, 1_667]), ms(3_000));
    let mut rtt = ns();
    rtt.sample(ms(1_222));
    assert_eq!(rtt.deadline(Instant::from_millis(9_499)), Instant::from_millis(12_499));
    rtt.back_off();
    assert_eq!(rtt.rto(), ms(6_000));
}

#[test]
fn congestion_control_may_have_a_clock_of_its_own() {
    let tick = RtoConfig { tick: ms(500), min: ms(500), ..RtoConfig::default() };
    let mut alone = RttEstimator::new(tick);
    let mut apart = RttEstimator::new(RtoConfig { rtt_tick: Some(ms(1)), ..tick });
    for round in 1..=80 {
        let now = Instant::from_millis(130 * round);
        alone.sample_at(now, ms(120));
        apart.sample_at(now, ms(120));
    }
    assert_eq!(apart.congestion_srtt(), Some(ms(120)));
    // The timer does not know of it.
    assert_eq!((apart.srtt(), apart.rto()), (alone.srtt(), alone.rto()));
    assert_eq!(alone.congestion_srtt(), alone.srtt());
    assert!(alone.srtt() >= Some(ms(490)), "a tick at least");
    // An exact one.
    let mut exact = RttEstimator::new(RtoConfig { rtt_tick: Some(ms(0)), ..tick });
    exact.sample(Duration::from_micros(1_234));
    assert_eq!(exact.congestion_srtt(), Some(Duration::from_micros(1_234)));
}

#[test]
fn another_connections_estimate_comes_before_what_was_measured() {
    let mut rtt = RttEstimator::new(RtoConfig::default());
    rtt.inherit(ms(500), ms(20));
    assert_eq!((rtt.srtt(), rtt.rto()), (Some(ms(500)), ms(580)));
    // A handshake of 600 ms: the same as if both had been measured here.
    let mut rtt = RttEstimator::new(RtoConfig::default());
    rtt.sample(ms(600));
    rtt.inherit(ms(500), ms(20));
    assert_eq!(rtt.srtt(), Some(Duration::from_micros(512_500)));
    assert_eq!(rtt.rttvar(), ms(40));
}
