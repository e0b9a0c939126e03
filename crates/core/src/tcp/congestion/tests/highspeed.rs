//! RFC 3649, section 5 and appendix B.

use super::super::highspeed::{decrease, increase, loss_rate};
use super::*;

#[test]
fn windows_and_rates_of_loss_are_those_of_table_2() {
    let rows = [(1e-3, 38.0), (1e-4, 263.0), (1e-5, 1795.0), (1e-6, 12_279.0), (1e-7, 83_981.0)];
    for (p, w) in rows {
        near(loss_rate(w), p, 0.02);
    }
    // Section 5: p(w) = 0.078 / w^1.2.
    for w in [100.0_f64, 1000.0, 50_000.0] {
        near(loss_rate(w), 0.078 / w.powf(1.2), 0.05);
    }
}

#[test]
fn increases_and_decreases_are_those_of_appendix_b() {
    // w, a(w) and b(w).
    let rows = [
        (38.0, 1.0, 0.50),
        (118.0, 2.0, 0.44),
        (221.0, 3.0, 0.41),
        (347.0, 4.0, 0.38),
        (495.0, 5.0, 0.37),
        (663.0, 6.0, 0.35),
        (1058.0, 8.0, 0.33),
        (2076.0, 12.0, 0.29),
        (5036.0, 20.0, 0.25),
        (10_661.0, 30.0, 0.21),
        (20_000.0, 41.0, 0.17),
        (48_961.0, 60.0, 0.13),
        (83_000.0, 72.0, 0.10),
    ];
    for (w, a, b) in rows {
        // The table has the windows at which a(w) comes to the next whole number, with p(w) rounded
        // to 0.078 / w^1.2.
        near(increase(w), a, 0.03);
        assert!((decrease(w) - b).abs() <= 0.006, "{} for {w}", decrease(w));
    }
}

#[test]
fn the_window_grows_by_a_and_shrinks_by_b() {
    let mut path = Path::avoiding(CongestionAlgorithm::HighSpeed, 1058, millis(100));
    path.round();
    near(path.cwnd(), 1066.0, 0.001);
    let before = path.cwnd();
    path.lose();
    near(path.cwnd(), before * 0.67, 0.01);
    // Up to 38 segments as the standard.
    let mut path = Path::avoiding(CongestionAlgorithm::HighSpeed, 20, millis(100));
    path.round();
    near(path.cwnd(), 21.0, 0.01);
    path.lose();
    near(path.cwnd(), 10.5, 0.01);
}
