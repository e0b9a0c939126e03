//! Signs that a remote's flows have several paths: some always take much longer than others.
//!
//! Two uplinks, between which a router shares out connections, are one remote to us. Its flows
//! cannot find one link together then. On one path all round trips become longer at the same time,
//! as a queue grows. On several those of some flows are always long, and of others short, in turns
//! as they come. So changes from one flow's to the next one's are counted, and changes within a
//! flow.

use super::drr_entry::{DrrEntry, FAR};
use bentpipe_core::time::{Duration, Instant};

/// A round trip is short up to so many times the minimum and so much more, and long from these on,
/// in seconds. An acknowledgment may wait for 40 ms (preset `delayed:40ms`).
const NEAR: [f64; 2] = [1.25, 0.01];
const LONG: [f64; 2] = [1.5, 0.06];

/// How long it is counted, and how often in a row that has to show several paths.
const SPAN: Duration = Duration::from_secs(2);
const SPANS: u32 = 2;

/// Changes from flow to flow that show them, and so many times as many as those within flows.
const CHANGES: u32 = 32;
const TIMES: u32 = 8;

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct Paths {
    began: Instant,
    /// The latest round trip was a long one.
    long: bool,
    /// From one round trip to the next, and from a flow's to its next.
    changes: u32,
    own_changes: u32,
    spans: u32,
}

impl Paths {
    /// A flow's round trip was measured, where the minimum is `base`, in seconds. True if it is
    /// sure that there are several paths.
    pub(super) fn on_rtt(
        &mut self,
        now: Instant,
        turn: &mut DrrEntry,
        rtt: f64,
        base: f64,
    ) -> bool {
        let than = |[times, more]: [f64; 2]| base * times + more;
        let long = match rtt {
            _ if rtt <= than(NEAR) => false,
            _ if rtt >= than(LONG) => true,
            _ => return false,
        };
        self.changes += u32::from(std::mem::replace(&mut self.long, long) != long);
        self.own_changes += u32::from(turn.is(FAR) != long);
        turn.set(FAR, long);
        if now.saturating_since(self.began) < SPAN {
            return false;
        }
        let shows = self.changes >= CHANGES && self.changes >= TIMES * self.own_changes;
        let spans = if shows { self.spans + 1 } else { 0 };
        *self = Paths { began: now, long, spans, ..Paths::default() };
        spans >= SPANS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether several paths are seen in half a minute, in which eight flows in turn have a round
    /// trip every ten milliseconds: so many seconds, by the flow's number and the time.
    fn sees(rtt: impl Fn(usize, f64) -> f64) -> bool {
        let mut paths = Paths::default();
        let mut flows: [DrrEntry; 8] = Default::default();
        (0..3_000).any(|n| {
            let now = Instant::from_millis(10 * n as u64);
            let rtt = rtt(n % 8, n as f64 / 100.0);
            paths.on_rtt(now, &mut flows[n % 8], rtt, 0.05)
        })
    }

    #[test]
    fn flows_of_two_uplinks_are_told_from_one_whose_queue_grows() {
        assert!(sees(|flow, _| if flow % 3 == 0 { 0.6 } else { 0.05 }));
        assert!(sees(|flow, at| if flow == 5 { 0.2 + 0.02 * at.sin() } else { 0.06 }));
        // A queue that comes and goes, of one second and of a tenth.
        for times in [1.0, 10.0] {
            assert!(!sees(|_, at| 0.05 + 0.3 * (times * at).sin().max(0.0)));
        }
        // Acknowledgments of a flow that wait for their timer.
        assert!(!sees(|flow, _| if flow == 5 { 0.1 } else { 0.05 }));
        // A path that varies by chance, another one from some moment on, and one alone.
        assert!(!sees(|flow, at| if (at * 997.0 + flow as f64).sin() > 0.0 { 0.05 } else { 0.2 }));
        assert!(!sees(|_, at| if at > 10.0 { 0.6 } else { 0.05 }));
        assert!(!sees(|_, _| 0.6));
    }
}
