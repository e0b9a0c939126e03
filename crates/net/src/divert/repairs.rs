//! What the loop that carries packets is told of mends, and how it shows that it turns.

use super::state::DivertState;
use crate::tun::Tun;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Something that the loop must know.
#[derive(Debug)]
pub enum Repair {
    /// The device of a side had been deleted, and this is the new one.
    Device {
        /// The side's number.
        side: usize,
        /// The device.
        tun: Tun,
    },
    /// For so long packets may have passed by.
    Passed(Duration),
    /// In a moment packets will pass by, as something in the way forbids to divert them.
    FallingAsleep,
}

/// The loop's end.
#[derive(Debug)]
pub struct Repairs {
    told: Receiver<Repair>,
    turns: Turns,
    state: DivertState,
}

/// The mender's end.
#[derive(Debug)]
pub(super) struct Teller {
    told: Sender<Repair>,
    turns: Turns,
}

/// When the loop turned last, in milliseconds since `epoch`.
#[derive(Debug, Clone)]
struct Turns {
    epoch: Instant,
    last: Arc<AtomicU64>,
}

impl Turns {
    fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

pub(super) fn channels(state: DivertState) -> (Teller, Repairs) {
    let turns = Turns { epoch: Instant::now(), last: Arc::default() };
    let (send, receive) = channel();
    (Teller { told: send, turns: turns.clone() }, Repairs { told: receive, turns, state })
}

impl Repairs {
    /// From turn to turn, at most. A loop that is silent for longer may hang, and to send packets its
    /// way would be wrong.
    pub const TURN: Duration = Duration::from_millis(200);

    /// Nothing is diverted for now.
    pub fn is_asleep(&self) -> bool {
        self.state.is_asleep()
    }

    /// The loop turns. What it is told, one after the other.
    pub fn turn(&self) -> Option<Repair> {
        self.turns.last.store(self.turns.now(), Ordering::Relaxed);
        self.told.try_recv().ok()
    }
}

impl Teller {
    pub(super) fn tell(&self, repair: Repair) {
        // A loop that has ended needs to know nothing.
        let _ = self.told.send(repair);
    }

    /// Whether the loop has turned lately. Before its first turn it has just been set up.
    pub(super) fn turns(&self) -> bool {
        self.turned_by(self.turns.now())
    }

    /// The same at a moment, in milliseconds.
    fn turned_by(&self, now: u64) -> bool {
        const SILENCE: u64 = 3 * Repairs::TURN.as_millis() as u64;
        now.saturating_sub(self.turns.last.load(Ordering::Relaxed)) < SILENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_does_not_turn_is_seen() {
        let (teller, repairs) = channels(DivertState::default());
        let silence = 4 * Repairs::TURN.as_millis() as u64;
        assert!(teller.turned_by(0) && !teller.turned_by(silence));
        while teller.turns.now() < silence {
            std::thread::sleep(Repairs::TURN);
        }
        assert!(!teller.turns());
        teller.tell(Repair::Passed(Duration::from_secs(1)));
        assert!(matches!(repairs.turn(), Some(Repair::Passed(_))));
        assert!(repairs.turn().is_none());
        assert!(teller.turned_by(silence + silence / 4) && !teller.turned_by(u64::MAX));
        drop(repairs);
        teller.tell(Repair::Passed(Duration::from_secs(1)));
    }
}
