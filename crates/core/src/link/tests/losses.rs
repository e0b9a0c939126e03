//! Losses against their closed forms, and outages at their edges.

use super::*;

/// Packets of a millisecond, one after the other.
fn sent(number: u64) -> Transmission {
    let began = Instant::from_millis(number);
    Transmission { began, ended: Instant::from_millis(number + 1), wire_len: 1000 }
}

fn probability(value: f64) -> Probability {
    Probability::new(value).unwrap()
}

fn at(began: u64, ended: u64) -> Transmission {
    let (began, ended) = (Instant::from_nanos(began), Instant::from_nanos(ended));
    Transmission { began, ended, wire_len: 1 }
}

#[test]
fn bit_errors_follow_the_closed_form() {
    let ber = 1e-5;
    let damaged = |ber, len| loss_probability(Probability::ZERO, probability(ber), len);
    assert!((damaged(ber, 1500) - (1.0 - (1.0 - ber).powi(12_000))).abs() < 1e-12);
    // Tiny rates keep their digits: p ≈ bits × ber.
    assert!((damaged(1e-18, 1500) / 1.2e-14 - 1.0).abs() < 1e-9);
    assert!((damaged(1.0, 1) - 1.0).abs() < f64::EPSILON);
    assert!(damaged(1.0, 0).abs() < f64::EPSILON);
    let both = loss_probability(probability(0.5), Probability::ONE, 1);
    assert!((both - 1.0).abs() < f64::EPSILON);
}

#[test]
fn losses_have_the_asked_frequency_and_repeat_with_the_seed() {
    let run = |seed| {
        let mut loss = RandomLoss::new(probability(0.1), Probability::ZERO, seed);
        (0..100_000).map(|i| loss.loses(&sent(i))).collect::<Vec<_>>()
    };
    let lost = run(3).iter().filter(|&&lost| lost).count();
    // Five standard deviations of a binomial: 5·√(n·p·(1−p)) ≈ 474.
    assert!((9_526..=10_474).contains(&lost), "{lost} of 100000");
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

#[test]
fn a_fade_damages_by_the_length_of_each_packet() {
    // Ten seconds of ber 1e-4 in every hundred; lengths alternate.
    let fade =
        vec![(Duration::ZERO, Probability::ZERO), (Duration::from_secs(90), probability(1e-4))];
    let fade = Schedule::new(fade, After::Repeat(Duration::from_secs(100))).unwrap();
    let mut loss = RandomLoss::new(Probability::ZERO, fade, 5);
    let mut lost = [[0u32; 2]; 2];
    for i in 0..400_000 {
        let wire_len = [100, 1000][i as usize % 2];
        let sent = Transmission { wire_len, ..sent(i) };
        let fading = sent.ended.as_nanos() / 1_000_000_000 % 100 >= 90;
        lost[usize::from(fading)][i as usize % 2] += u32::from(loss.loses(&sent));
    }
    assert_eq!(lost[0], [0, 0]);
    for (lost, len) in lost[1].iter().zip([100, 1000]) {
        let p = loss_probability(Probability::ZERO, probability(1e-4), len);
        let deviation = (20_000.0 * p * (1.0 - p)).sqrt();
        assert!((f64::from(*lost) - 20_000.0 * p).abs() < 5.0 * deviation, "{lost} of {len}");
    }
}

/// Share of losses, mean burst, and the autocorrelation at lags 1, 2 and 3.
fn moments(channel: GilbertElliott, packets: u64, seed: u64) -> (f64, f64, [f64; 3]) {
    let mut loss = BurstLoss::new(channel, seed);
    let lost: Vec<bool> = (0..packets).map(|i| loss.loses(&sent(i))).collect();
    let mean = lost.iter().filter(|&&lost| lost).count() as f64 / packets as f64;
    let bursts = lost.windows(2).filter(|pair| pair[1] && !pair[0]).count() as f64;
    let correlation = |lag: usize| {
        let pairs = lost.windows(lag + 1).filter(|run| run[0] && run[lag]).count() as f64;
        (pairs / (packets - lag as u64) as f64 - mean * mean) / (mean * (1.0 - mean))
    };
    (mean, mean * packets as f64 / bursts, [correlation(1), correlation(2), correlation(3)])
}

/// G99-D-16.
#[test]
fn bursts_of_gilbert_have_the_moments_of_the_chain() {
    // From bursts of five and one per cent: r = 0.2, p = 0.2·0.01/0.99; correlation (1 − p − r)ⁿ.
    let channel = GilbertElliott::from_bursts(5.0, probability(0.01)).unwrap();
    let States::PerPacket { p, r } = channel.states else { panic!("per packet") };
    assert!((channel.mean_loss() - 0.01).abs() < 1e-15);
    let (mean, burst, correlation) = moments(channel, 4_000_000, 11);
    // Variance of the mean: μ(1−μ)/n · (1+ρ)/(1−ρ), so a standard deviation of 1.5e-4; of the mean
    // of 8000 geometric bursts, √20/√8000 = 0.05.
    assert!((mean - 0.01).abs() < 6e-4, "{mean}");
    assert!((burst - 5.0).abs() < 0.2, "{burst}");
    for (lag, found) in correlation.iter().enumerate() {
        let expected = (1.0 - p.value() - r.value()).powi(lag as i32 + 1);
        assert!((found - expected).abs() < 0.03, "lag {}: {found} for {expected}", lag + 1);
    }
}

#[test]
fn both_states_of_elliott_lose_their_shares() {
    let states = States::PerPacket { p: probability(0.05), r: probability(0.15) };
    let channel = GilbertElliott { states, k: probability(0.99), h: probability(0.6) };
    // A quarter bad: 0.75·0.01 + 0.25·0.4.
    assert!((channel.mean_loss() - 0.1075).abs() < 1e-15);
    let (mean, _, correlation) = moments(channel, 2_000_000, 3);
    assert!((mean - 0.1075).abs() < 0.002, "{mean}");
    // Covariance at lag n: π_B·π_G·(loss_B − loss_G)²·(1 − p − r)ⁿ.
    for (lag, found) in correlation.iter().enumerate() {
        let covariance = 0.25 * 0.75 * 0.39f64.powi(2) * 0.8f64.powi(lag as i32 + 1);
        let expected = covariance / (0.1075 * 0.8925);
        assert!((found - expected).abs() < 0.01, "lag {}: {found} for {expected}", lag + 1);
    }
}

#[test]
fn states_in_time_have_their_sojourns_whatever_the_traffic() {
    let (good, bad) = (Duration::from_secs(9), Duration::from_secs(1));
    let states = States::InTime { good, bad };
    let channel = GilbertElliott { states, k: Probability::ONE, h: Probability::ZERO };
    assert!((channel.mean_loss() - 0.1).abs() < 1e-15);
    // Instants, 10 ms apart, over 20,000 s.
    let look = |every: u64| {
        let mut loss = BurstLoss::new(channel, 8);
        let at = |i: u64| at(i * 10_000_000, i * 10_000_000);
        (0..2_000_000).step_by(every as usize).map(|i| loss.loses(&at(i))).collect::<Vec<_>>()
    };
    let all = look(1);
    let mean = all.iter().filter(|&&lost| lost).count() as f64 / all.len() as f64;
    // 2000 cycles: the deviation of the share is about 0.09·√2/√2000 = 0.003.
    assert!((mean - 0.1).abs() < 0.015, "{mean}");
    let bursts = all.windows(2).filter(|pair| pair[1] && !pair[0]).count() as f64;
    let burst = mean * all.len() as f64 / bursts;
    assert!((burst - 100.0).abs() < 12.0, "{burst} times 10 ms");
    // A seventh of the traffic meets the same states.
    let some: Vec<bool> = all.into_iter().step_by(7).collect();
    assert_eq!(look(7), some);
}

#[test]
fn a_packet_longer_than_a_bad_time_meets_it() {
    let states = States::InTime { good: Duration::from_micros(10), bad: Duration::from_micros(10) };
    let channel = GilbertElliott { states, k: Probability::ONE, h: Probability::ZERO };
    let mut loss = BurstLoss::new(channel, 1);
    assert!((0..1000).all(|i| loss.loses(&sent(i))));
}

#[test]
fn impossible_bursts_are_refused() {
    assert_eq!(GilbertElliott::from_bursts(0.5, probability(0.1)), None);
    assert_eq!(GilbertElliott::from_bursts(f64::NAN, probability(0.1)), None);
    assert_eq!(GilbertElliott::from_bursts(2.0, probability(0.7)), None);
    assert_eq!(GilbertElliott::from_bursts(2.0, Probability::ONE), None);
    let none = GilbertElliott::from_bursts(2.0, Probability::ZERO).unwrap();
    assert!(none.mean_loss().abs() < f64::EPSILON);
}

#[test]
fn outages_begin_and_end_to_the_nanosecond() {
    let times = |start, end| Instant::from_nanos(start)..Instant::from_nanos(end);
    let listed = Outages::listed(vec![times(100, 200), times(300, 400)]).unwrap();
    let period = [100, 100, 200].map(Duration::from_nanos);
    let periodic = Outages::periodic(period[0], period[1], period[2]).unwrap();
    for outages in [&listed, &periodic] {
        for (began, ended, hit) in [
            (0, 50, false),
            (0, 100, false),
            (0, 101, true),
            (0, 250, true),
            (150, 160, true),
            (199, 200, true),
            (200, 300, false),
            (200, 301, true),
            (250, 450, true),
            (0, 1000, true),
            (400, 500, false),
            // In no time: an outage holds its beginning and not its end.
            (99, 99, false),
            (100, 100, true),
            (199, 199, true),
            (200, 200, false),
        ] {
            assert_eq!(outages.hit(&at(began, ended)), hit, "{outages:?} {began} {ended}");
        }
    }
    assert!(!listed.hit(&at(500, 600)));
    assert!(periodic.hit(&at(500, 600)) && !periodic.hit(&at(10_000, 10_100)));
    assert!(!Outages::NONE.hit(&at(0, u64::MAX)));
}

#[test]
fn impossible_outages_are_refused() {
    let times = |start, end| Instant::from_nanos(start)..Instant::from_nanos(end);
    let span = Duration::from_nanos;
    assert!(matches!(Outages::listed(vec![times(5, 5)]), Err(OutagesError::Empty(_))));
    let mixed = vec![times(5, 9), times(8, 12)];
    assert!(matches!(Outages::listed(mixed), Err(OutagesError::Order(..))));
    assert_eq!(Outages::listed(Vec::new()), Ok(Outages::NONE));
    let all = Outages::periodic(span(0), span(5), span(5));
    assert!(matches!(all, Err(OutagesError::Period { .. })));
}

#[test]
fn a_link_loses_what_an_outage_meets() {
    // Packets of 1 ms, back to back; 2.5 to 4 ms is out: the third and fourth are lost.
    let times = vec![Instant::from_nanos(2_500_000)..Instant::from_millis(4)];
    let outages = Outages::listed(times).unwrap();
    let mut link = Link::new(&LinkConfig { outages, ..config() });
    for i in 0..6 {
        link.push(Instant::ZERO, Numbered(i, 1000));
    }
    let order: Vec<_> = arrivals(&mut link).into_iter().map(|(number, _)| number).collect();
    assert_eq!(order, [0, 1, 4, 5]);
    assert_eq!(link.counters().lost.packets, 2);
}
