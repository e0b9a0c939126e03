//! Raises of the window to see whether more is delivered, on paths that vary.
//!
//! A queue there may be none, but the path's own delay. A raise by a quarter stands if it brings at
//! least half as much more. Then a larger one follows; else the next comes later.

/// The parts of the window by which it is raised, at first and at most: at first by no more than
/// makes a queue of so many seconds.
const RAISE: f64 = 0.25;
const MAX_RAISE: f64 = 1.0;
const QUEUE: f64 = 0.05;

/// Rounds until it shows.
const ROUNDS: u32 = 2;

/// Rounds from one to the next, at first and at most: twice as many each time that no more was
/// delivered.
const APART: u32 = 10;
const MAX_APART: u32 = 80;

/// A raise that is being tried.
#[derive(Debug, Clone, Copy)]
struct Probe {
    /// By what part.
    raise: f64,
    /// The window and what was delivered a second, before.
    window: f64,
    rate: f64,
    rounds: u32,
}

/// See the module's head. Bytes and seconds.
#[derive(Debug)]
pub(super) struct Probes {
    present: Option<Probe>,
    /// Rounds until the next one, and from that to the one after it.
    hold: u32,
    next_hold: u32,
}

impl Probes {
    /// None yet.
    pub(super) fn new() -> Probes {
        Probes { present: None, hold: APART, next_hold: APART }
    }

    /// Whether one is under way.
    pub(super) fn is_under_way(&self) -> bool {
        self.present.is_some()
    }

    /// Another round without one. Whether it is time for the next.
    pub(super) fn is_due(&mut self) -> bool {
        self.hold = self.hold.saturating_sub(1);
        self.hold == 0
    }

    /// What is under way shows nothing any more: the window is another one for another reason.
    pub(super) fn give_up(&mut self) {
        self.present = None;
    }

    /// Begins one, where a round trip takes `base` seconds without a queue. The window then.
    pub(super) fn begin(&mut self, window: f64, rate: f64, base: f64) -> f64 {
        self.raise(RAISE.min(QUEUE / base.max(QUEUE)), window, rate)
    }

    fn raise(&mut self, raise: f64, window: f64, rate: f64) -> f64 {
        self.present = Some(Probe { raise, window, rate, rounds: 0 });
        window * (1.0 + raise)
    }

    /// Another round of the present one, in which `rate` was delivered with `window`, and there may
    /// be a queue of so many seconds. The window then.
    pub(super) fn go_on(&mut self, window: f64, rate: f64, queue: f64) -> f64 {
        let Some(probe) = &mut self.present else { return window };
        probe.rounds += 1;
        if probe.rounds < ROUNDS {
            return window;
        }
        let Probe { raise, window: before, rate: rate_before, .. } = *probe;
        self.present = None;
        // A long queue is one: somebody else has made room for a while.
        let more = rate > rate_before * (1.0 + raise / 2.0) && queue < QUEUE;
        self.next_hold = if more { APART } else { (self.next_hold * 2).min(MAX_APART) };
        self.hold = self.next_hold;
        match more {
            true => self.raise((raise * 2.0).min(MAX_RAISE), window, rate),
            false => before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raise_stands_where_it_brings_more_and_is_followed_by_a_larger_one() {
        let mut probes = Probes::new();
        assert_eq!((0..12).position(|_| probes.is_due()), Some(9));
        let window = probes.begin(100.0, 50.0, 0.2);
        assert_eq!(window, 125.0);
        assert_eq!(probes.go_on(window, 50.0, 0.01), 125.0, "it does not show yet");
        assert_eq!(probes.go_on(window, 60.0, 0.01), 187.5);
        assert_eq!(probes.go_on(187.5, 60.0, 0.01), 187.5);
        assert_eq!(
            probes.go_on(187.5, 70.0, 0.01),
            125.0,
            "it brought less than half of what it was"
        );
        assert!(!probes.is_under_way());
        let window = Probes::new().begin(100.0, 50.0, 0.5);
        assert!((window - 110.0).abs() < 1e-6, "no queue of 125 ms: {window}");
        assert_eq!((0..40).position(|_| probes.is_due()), Some(19));
    }

    #[test]
    fn one_that_is_given_up_changes_nothing() {
        let mut probes = Probes::new();
        probes.begin(100.0, 50.0, 0.2);
        probes.give_up();
        assert_eq!(probes.go_on(20.0, 50.0, 0.0), 20.0);
        assert_eq!(probes.go_on(20.0, 50.0, 0.0), 20.0);
    }

    #[test]
    fn a_raise_does_not_stand_where_a_long_queue_does() {
        for (queue, then) in [(0.04, 187.5), (0.06, 100.0)] {
            let mut probes = Probes::new();
            let window = probes.begin(100.0, 50.0, 0.2);
            probes.go_on(window, 50.0, 0.0);
            assert_eq!(probes.go_on(window, 75.0, queue), then);
        }
    }
}
