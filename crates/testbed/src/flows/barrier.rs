//! Flows that wait for each other: all connect first, then all begin to send at once, one behind
//! the other, in an order that was drawn for the run.

use super::meter::FlowMeter;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

/// How often one that waits looks whether all is over.
const LOOK: Duration = Duration::from_millis(50);

/// The barriers of a run, by their names.
#[derive(Debug, Default)]
pub(super) struct Barriers(BTreeMap<String, Arc<Mutex<Barrier>>>);

#[derive(Debug, Default)]
struct Barrier {
    /// How many have not come.
    missing: usize,
    /// Who waits, by turns.
    waiting: BTreeMap<u64, Thread>,
    /// Whose turn it is.
    going: Option<u64>,
}

impl Barrier {
    /// It is the next one's turn, once all have come.
    fn next(&mut self) {
        self.going = None;
        if self.missing > 0 {
            return;
        }
        if let Some((turn, thread)) = self.waiting.pop_first() {
            self.going = Some(turn);
            thread.unpark();
        }
    }
}

/// One who will come to a barrier. When it is dropped the next one begins; if that is before it has
/// come, nobody waits for it.
#[derive(Debug)]
pub(super) struct Ticket {
    barrier: Arc<Mutex<Barrier>>,
    turn: u64,
    come: bool,
}

impl Barriers {
    /// One more will come to the barrier of this name, and begins behind those with a lower `turn`
    /// ([`Seeds::turn`](bentpipe_links::Seeds::turn)).
    pub(super) fn join(&mut self, name: &str, turn: u64) -> Ticket {
        let barrier = Arc::clone(self.0.entry(name.to_owned()).or_default());
        locked(&barrier).missing += 1;
        Ticket { barrier, turn, come: false }
    }
}

impl Ticket {
    /// Comes, and waits until all have and those before it have begun. It has its turn until it is
    /// dropped. False if all is over before.
    pub(super) fn pass(&mut self, meter: &FlowMeter) -> bool {
        self.come = true;
        {
            let mut barrier = locked(&self.barrier);
            barrier.missing -= 1;
            barrier.waiting.insert(self.turn, thread::current());
            if barrier.missing == 0 {
                barrier.next();
            }
        }
        while locked(&self.barrier).going != Some(self.turn) {
            if meter.is_stopped() {
                return false;
            }
            thread::park_timeout(LOOK);
        }
        true
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut barrier = locked(&self.barrier);
        let its_turn = if self.come {
            barrier.waiting.remove(&self.turn);
            barrier.going == Some(self.turn)
        } else {
            barrier.missing -= 1;
            barrier.missing == 0
        };
        if its_turn {
            barrier.next();
        }
    }
}

fn locked(barrier: &Mutex<Barrier>) -> MutexGuard<'_, Barrier> {
    barrier.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_lets_all_pass_by_turns_and_who_deserts_is_not_waited_for() {
        let meter = FlowMeter::new("x".to_owned(), false);
        let mut barriers = Barriers::default();
        let tickets = [7, 3, 5].map(|turn| barriers.join("a", turn));
        let deserter = barriers.join("a", 4);
        assert!(barriers.join("b", 9).pass(&meter), "it waits for nobody");
        let passed = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for mut ticket in tickets {
                let (passed, meter) = (&passed, &meter);
                scope.spawn(move || {
                    assert!(ticket.pass(meter));
                    passed.lock().unwrap().push(ticket.turn);
                });
            }
            thread::sleep(2 * LOOK);
            assert!(passed.lock().unwrap().is_empty());
            drop(deserter);
        });
        assert_eq!(*passed.lock().unwrap(), [3, 5, 7]);
    }

    #[test]
    fn who_waits_goes_when_all_is_over() {
        let meter = FlowMeter::new("x".to_owned(), false);
        let mut barriers = Barriers::default();
        let (mut one, _other) = (barriers.join("a", 1), barriers.join("a", 2));
        thread::scope(|scope| {
            let waiting = scope.spawn(|| one.pass(&meter));
            meter.stop();
            assert!(!waiting.join().unwrap());
        });
    }
}
