//! Flows that wait for each other: all connect first, then all begin to send at once.

use super::record::FlowRecord;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often one that waits looks whether all is over.
const LOOK: Duration = Duration::from_millis(50);

/// The barriers of a run, by their names.
#[derive(Debug, Default)]
pub(super) struct Barriers(BTreeMap<String, Arc<Barrier>>);

#[derive(Debug, Default)]
struct Barrier {
    /// How many have not come.
    missing: Mutex<usize>,
    open: Condvar,
}

impl Barrier {
    fn missing(&self) -> MutexGuard<'_, usize> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One who will come to a barrier. If it is dropped before, the others do not wait for it.
#[derive(Debug)]
pub(super) struct Ticket {
    barrier: Arc<Barrier>,
    come: bool,
}

impl Barriers {
    /// One more will come to the barrier of this name.
    pub(super) fn join(&mut self, name: &str) -> Ticket {
        let barrier = Arc::clone(self.0.entry(name.to_owned()).or_default());
        *barrier.missing() += 1;
        Ticket { barrier, come: false }
    }
}

impl Ticket {
    /// Comes, and waits until all have. False if all is over before.
    pub(super) fn pass(mut self, record: &FlowRecord) -> bool {
        self.come();
        let mut missing = self.barrier.missing();
        while *missing > 0 {
            if record.is_stopped() {
                return false;
            }
            let waited = self.barrier.open.wait_timeout(missing, LOOK);
            missing = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn come(&mut self) {
        if !std::mem::replace(&mut self.come, true) {
            let mut missing = self.barrier.missing();
            *missing -= 1;
            if *missing == 0 {
                self.barrier.open.notify_all();
            }
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.come();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    #[test]
    fn the_last_one_lets_all_pass_and_who_deserts_is_not_waited_for() {
        let record = FlowRecord::new("x".to_owned(), false);
        let mut barriers = Barriers::default();
        let tickets = [(); 3].map(|()| barriers.join("a"));
        let deserter = barriers.join("a");
        assert!(barriers.join("b").pass(&record), "it waits for nobody");
        let passed = AtomicUsize::new(0);
        thread::scope(|scope| {
            for ticket in tickets {
                scope.spawn(|| {
                    passed.fetch_add(usize::from(ticket.pass(&record)), Ordering::SeqCst)
                });
            }
            thread::sleep(2 * LOOK);
            assert_eq!(passed.load(Ordering::SeqCst), 0);
            drop(deserter);
        });
        assert_eq!(passed.load(Ordering::SeqCst), 3);
    }

    #[test]
    fn who_waits_goes_when_all_is_over() {
        let record = FlowRecord::new("x".to_owned(), false);
        let mut barriers = Barriers::default();
        let (one, _other) = (barriers.join("a"), barriers.join("a"));
        thread::scope(|scope| {
            let waiting = scope.spawn(|| one.pass(&record));
            record.stop();
            assert!(!waiting.join().unwrap());
        });
    }
}
