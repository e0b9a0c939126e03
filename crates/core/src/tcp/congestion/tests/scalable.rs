//! Kelly's paper, sections 3 and 4.

use super::*;

const SCALABLE: CongestionAlgorithm =
    CongestionAlgorithm::Scalable { a: Scalable::A, b: Scalable::B };

#[test]
fn a_loss_is_made_up_for_in_as_many_round_trips_whatever_the_window() {
    // ln(8 / 7) / ln(1.01) = 13.4.
    for window in [200, 1000, 10_000] {
        let mut path = Path::avoiding(SCALABLE, window, millis(200));
        path.lose();
        near(path.cwnd(), 0.875 * window as f64, 0.001);
        let mut rounds = 0;
        while path.cwnd() < window as f64 {
            path.round();
            rounds += 1;
        }
        assert!((13..=15).contains(&rounds), "{rounds} from {window}");
    }
}

#[test]
fn small_windows_are_the_standards() {
    let mut path = Path::avoiding(SCALABLE, 12, millis(200));
    path.rounds(3);
    near(path.cwnd(), 15.0, 0.01);
    path.lose();
    assert_eq!(path.cwnd(), 7.5);
}

#[test]
fn others_take_other_parameters() {
    let mut path =
        Path::avoiding(CongestionAlgorithm::Scalable { a: 0.05, b: 0.5 }, 1000, millis(200));
    path.lose();
    assert_eq!(path.cwnd(), 500.0);
    path.round();
    near(path.cwnd(), 525.0, 0.001);
}
