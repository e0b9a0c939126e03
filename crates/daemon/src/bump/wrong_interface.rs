//! The alarm for a wrong interface: connections have left by the satellite for minutes, and none of
//! them was the LAN's. Then the configuration names other interfaces than those where the clients
//! are, which shows in nothing else.

use bentpipe_linux::surroundings::Finding;
use std::time::{Duration, Instant};

/// For so long none is the LAN's …
const WINDOW: Duration = Duration::from_secs(300);
/// … and so many SYNs are others': what is one of a few hosts', repeated, says little.
const STRANGE: u64 = 20;

/// The alarm that the clients are behind another interface than the configured ones.
#[derive(Debug, Default)]
pub(super) struct WrongInterfaceAlarm {
    /// The LAN's, others', and since when, when one of the LAN's had left last, or the alarm was
    /// given.
    since: Option<(u64, u64, Instant)>,
    finding: Option<Finding>,
}

impl WrongInterfaceAlarm {
    /// Takes the counts of `now`: those of the LAN's that have left so far, and others, the last of
    /// which came in by `from`. Whether the alarm is given or ends.
    pub(super) fn look(
        &mut self,
        now: Instant,
        (begun, strange): (u64, u64),
        from: impl FnOnce() -> Option<String>,
    ) -> bool {
        let (begun_before, strange_before, since) =
            *self.since.get_or_insert((begun, strange, now));
        if begun != begun_before {
            self.since = Some((begun, strange, now));
            return self.finding.take().is_some();
        }
        if now < since + WINDOW {
            return false;
        }
        self.since = Some((begun, strange, now));
        let Some(interface) = from().filter(|_| strange - strange_before >= STRANGE) else {
            return false;
        };
        let finding = Some(Finding::Strangers { interface });
        let is_new = self.finding != finding;
        self.finding = finding;
        is_new
    }

    /// The alarm, while it lasts.
    pub(super) fn finding(&self) -> Option<&Finding> {
        self.finding.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_given_where_others_connections_leave_and_none_of_the_lans() {
        let (began, mut alarm) = (Instant::now(), WrongInterfaceAlarm::default());
        let mut look = |seconds: u64, counts: (u64, u64)| {
            let at = began + Duration::from_secs(seconds);
            let changed = alarm.look(at, counts, || Some("guest".into()));
            (changed, alarm.finding().is_some())
        };
        assert_eq!(look(0, (5, 0)), (false, false));
        assert_eq!(look(299, (5, 100)), (false, false));
        assert_eq!(look(300, (5, 100)), (true, true));
        assert_eq!(look(601, (5, 200)), (false, true), "it is said once");
        assert_eq!(look(700, (6, 200)), (true, false));
        assert_eq!(look(999, (6, 300)), (false, false));
        assert_eq!(look(1000, (7, 400)), (false, false), "one of the LAN's");
        assert_eq!(look(1300, (7, 419)), (false, false), "they are few");
        assert_eq!(look(1601, (7, 439)), (true, true));
    }
}
