//! Properties of every run, whatever the costs are.

use super::{Case, Machine, Sharing, simulate};

const GIGABIT: Case = Case { name: "", rate: Some(1_000_000_000), turn: 60_000 };

fn of(workers: usize) -> Machine {
    Machine { workers, transfer: 100 }
}

#[test]
fn one_worker_fills_its_link_and_shares_it_equally() {
    for sharing in Sharing::ALL {
        let outcome = simulate(&GIGABIT, sharing, of(1), 1);
        assert!((0.99..=1.0).contains(&outcome.throughput()), "{sharing:?}");
        assert!(outcome.fairness() > 0.999, "{sharing:?}");
        assert!(outcome.waiting() < 0.001, "{sharing:?}: there is nobody to wait for");
    }
}

#[test]
fn claims_of_many_workers_share_as_one_scheduler() {
    let outcome = simulate(&GIGABIT, Sharing::Claims, of(16), 1);
    assert!(outcome.throughput() > 0.99 && outcome.fairness() > 0.999);
    let unequal = simulate(&GIGABIT, Sharing::Static, of(16), 1);
    assert!(unequal.fairness() < 0.9, "workers have unequal numbers of flows");
}

#[test]
fn a_seed_is_the_same_run() {
    let run = || simulate(&GIGABIT, Sharing::Mutex, of(4), 7);
    assert_eq!(format!("{:?}", run()), format!("{:?}", run()));
}
