//! How often what somebody else removes is made again.
//!
//! Who reloads a firewall removes our rules once. Where they are removed again and again there is
//! somebody who does not want them, or a script that runs wild: neither is to be fought, as each
//! turn costs the connections that were split meanwhile.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// So many mends …
const MAX: usize = 3;
/// … in so much time.
const WITHIN: Duration = Duration::from_secs(60);
/// The first rest, when these did not last. It doubles with each that follows …
const REST: Duration = Duration::from_secs(60);
/// … up to this.
const LONGEST_REST: Duration = Duration::from_secs(480);
/// What has lasted for so long is over.
const FORGOTTEN: Duration = Duration::from_secs(600);

/// How long nothing must change before the next look, and how long that is waited for, by the number
/// of mends within the last minute. Once is a reload; what comes again is to be waited out.
const SETTLING: [Settling; MAX] =
    [Settling::of(200, 1_000), Settling::of(1_000, 5_000), Settling::of(5_000, 20_000)];

/// Waiting for whoever changes things to come to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Settling {
    /// So long nothing must have changed …
    pub(super) quiet: Duration,
    /// … or so long changes have gone on.
    pub(super) longest: Duration,
}

impl Settling {
    const fn of(quiet: u64, longest: u64) -> Settling {
        let [quiet, longest] = [Duration::from_millis(quiet), Duration::from_millis(longest)];
        Settling { quiet, longest }
    }
}

/// Counts mends.
#[derive(Debug)]
pub(super) struct Budget {
    mends: VecDeque<Instant>,
    rest: Duration,
    until: Option<Instant>,
}

/// Whether something may be mended now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Permit {
    /// It may, and has been counted.
    Granted,
    /// Not before then. `first`: this is the beginning of a rest.
    Refused { until: Instant, first: bool },
}

impl Budget {
    pub(super) fn new() -> Budget {
        Budget { mends: VecDeque::with_capacity(MAX), rest: REST, until: None }
    }

    /// Asks to mend something.
    pub(super) fn ask(&mut self, now: Instant) -> Permit {
        if let Some(until) = self.until.filter(|until| now < *until) {
            return Permit::Refused { until, first: false };
        }
        self.until = None;
        if self.mends.back().is_some_and(|last| now.duration_since(*last) > FORGOTTEN) {
            self.rest = REST;
        }
        if self.recent(now) >= MAX {
            let until = now + self.rest;
            self.rest = (2 * self.rest).min(LONGEST_REST);
            self.until = Some(until);
            return Permit::Refused { until, first: true };
        }
        if self.mends.len() == MAX {
            self.mends.pop_front();
        }
        self.mends.push_back(now);
        Permit::Granted
    }

    /// How to wait for an end of changes before the next look.
    pub(super) fn settling(&self, now: Instant) -> Settling {
        SETTLING[self.recent(now).min(MAX - 1)]
    }

    fn recent(&self, now: Instant) -> usize {
        self.mends.iter().filter(|at| now.duration_since(**at) < WITHIN).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When it was granted, in seconds, where somebody removes what is made, at once, for `lasting`.
    fn mends_against(lasting: u64) -> Vec<u64> {
        let begin = Instant::now();
        let mut budget = Budget::new();
        (0..lasting)
            .filter(|second| budget.ask(begin + Duration::from_secs(*second)) == Permit::Granted)
            .collect()
    }

    #[test]
    fn three_in_a_minute_and_fewer_as_it_goes_on() {
        let day = mends_against(86_400);
        for three in day.windows(4) {
            assert!(three[3] - three[0] >= 60, "{three:?}");
        }
        assert_eq!(day[..7], [0, 1, 2, 63, 64, 65, 186]);
        assert!(day.len() < 3 * 86_400 / 480 + 20, "{}", day.len());
    }

    #[test]
    fn what_happens_now_and_then_is_always_mended() {
        let begin = Instant::now();
        let mut budget = Budget::new();
        for number in 0..100 {
            let at = begin + Duration::from_secs(number * 25);
            assert_eq!(budget.ask(at), Permit::Granted, "{number}");
        }
    }

    #[test]
    fn a_rest_begins_once_and_is_short_again_after_a_good_time() {
        let begin = Instant::now();
        let at = |second| begin + Duration::from_secs(second);
        let mut budget = Budget::new();
        assert!((0..3).all(|second| budget.ask(at(second)) == Permit::Granted));
        assert_eq!(budget.settling(at(3)), SETTLING[2]);
        assert_eq!(budget.ask(at(3)), Permit::Refused { until: at(63), first: true });
        assert_eq!(budget.ask(at(4)), Permit::Refused { until: at(63), first: false });
        assert_eq!(budget.ask(at(63)), Permit::Granted);
        assert_eq!(budget.settling(at(200)), SETTLING[0]);
        assert!((1000..1003).all(|second| budget.ask(at(second)) == Permit::Granted));
        assert_eq!(budget.ask(at(1003)), Permit::Refused { until: at(1063), first: true });
    }
}
