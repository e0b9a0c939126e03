//! The mean length of a queue against closed forms.

use super::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

#[test]
fn a_burst_drains_in_a_staircase() {
    // Ten packets at once, a millisecond each: 10, 9, … 1, whoever looks and when.
    for looks in [vec![], vec![1, 2, 7], vec![3]] {
        let mut link = Link::new(&config());
        for i in 0..10 {
            link.push(Instant::from_millis(5), Numbered(i, 1000));
        }
        let start = link.bottleneck().occupancy();
        for ms in looks {
            link.advance(Instant::from_millis(5 + ms));
        }
        link.advance(Instant::from_millis(25));
        let now = link.bottleneck().occupancy();
        // Over the ten milliseconds until it is empty, and over twenty.
        assert_eq!(now.mean_since(&start), (5.5, 5500.0));
        assert_eq!(now.at(Instant::from_millis(25)).mean_since(&start), (2.75, 2750.0));
        assert_eq!(now.longest(), Count { packets: 10, bytes: 10_000 });
    }
}

#[test]
fn poisson_arrivals_hold_as_many_as_in_m_d_1() {
    for load in [0.5, 0.8] {
        let mut rng = Pcg64Mcg::seed_from_u64(7);
        let mut link = Link::new(&LinkConfig { delay: Duration::ZERO.into(), ..config() });
        let mut now = 0.0;
        for number in 0..400_000 {
            now += -f64::ln(1.0 - rng.random::<f64>()) * 1e6 / load;
            let at = Instant::from_nanos(now as u64);
            link.push(at, Numbered(number, 1000));
            while link.pop(at).is_some() {}
        }
        let (packets, bytes) = link.bottleneck().occupancy().mean_since(&Occupancy::default());
        // Pollaczek and Khinchine: ρ + ρ² / 2(1 − ρ).
        let expected = load + load * load / (2.0 * (1.0 - load));
        assert!((packets / expected - 1.0).abs() < 0.03, "{packets} for {expected}");
        assert!((bytes / packets - 1000.0).abs() < 1e-6);
    }
}
