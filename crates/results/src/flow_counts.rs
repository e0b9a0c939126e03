//! Counts of a flow, and of several flows together.

use crate::ExtendedCounts;
use bentpipe_core::time::Duration;

/// Counts of a flow, over all its connections. One that the flow's TCP cannot give is absent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowCounts {
    /// Bytes read by the applications at the sinks.
    pub delivered: u64,
    /// UDP datagrams, or pings, sent.
    pub datagrams: u64,
    /// The number of them that have arrived, or were answered, in the same time.
    ///
    /// The rest was lost, or is on its way.
    pub arrived: u64,
    /// Segments sent by the sources.
    pub segments: u64,
    /// Segments of data that they retransmitted; probes are not counted where they are told apart.
    pub retransmissions: u64,
    /// Bytes of data that they retransmitted, probes included.
    pub retransmitted_bytes: u64,
    /// Expiries of their retransmission timers with data outstanding; absent of Linux before 6.7.
    pub timeouts: Option<u64>,
    /// Their episodes of fast recovery.
    pub recoveries: u64,
    /// The minimum round-trip time that a source measured.
    pub min_rtt: Option<Duration>,
    /// The smoothed round-trip time of the source that was counted last.
    pub srtt: Option<Duration>,
    /// The first recovery of the first source that had one: its length, and its reductions.
    pub first_recovery: Option<(Duration, u64)>,
    /// The first slow start threshold that a source has estimated, in bytes.
    pub ssthresh_estimate: Option<u64>,
    /// Counts of a TCP of our own alone.
    pub extended: Option<ExtendedCounts>,
}

impl FlowCounts {
    /// Nothing yet, and nothing that cannot be counted.
    pub const ZERO: FlowCounts = FlowCounts {
        delivered: 0,
        datagrams: 0,
        arrived: 0,
        segments: 0,
        retransmissions: 0,
        retransmitted_bytes: 0,
        timeouts: Some(0),
        recoveries: 0,
        min_rtt: None,
        srtt: None,
        first_recovery: None,
        ssthresh_estimate: None,
        extended: Some(ExtendedCounts::ZERO),
    };

    /// Adds up several flows. A count is absent if one of them lacks it. There is no smoothed
    /// round-trip time of several, no first recovery and no first threshold.
    pub fn total<'a>(counts: impl Iterator<Item = &'a FlowCounts>) -> FlowCounts {
        counts.fold(FlowCounts::ZERO, |sum, counts| FlowCounts {
            min_rtt: [sum.min_rtt, counts.min_rtt].into_iter().flatten().min(),
            ..sum.each(counts, |sum, more| sum + more)
        })
    }

    /// The counts since `earlier`; times and the threshold are the latest.
    #[must_use]
    pub fn since(&self, earlier: &FlowCounts) -> FlowCounts {
        self.each(earlier, |now, then| now - then)
    }

    /// Each count of `self` and of `other` by `by`; all else is that of `self`.
    fn each(&self, other: &FlowCounts, by: impl Fn(u64, u64) -> u64) -> FlowCounts {
        let extended = self.extended.zip(other.extended);
        FlowCounts {
            delivered: by(self.delivered, other.delivered),
            datagrams: by(self.datagrams, other.datagrams),
            arrived: by(self.arrived, other.arrived),
            segments: by(self.segments, other.segments),
            retransmissions: by(self.retransmissions, other.retransmissions),
            retransmitted_bytes: by(self.retransmitted_bytes, other.retransmitted_bytes),
            timeouts: self.timeouts.zip(other.timeouts).map(|(a, b)| by(a, b)),
            recoveries: by(self.recoveries, other.recoveries),
            extended: extended.map(|(a, b)| a.each(&b, &by)),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(timeouts: Option<u64>, probes: Option<u64>) -> FlowCounts {
        let extended = |probes| ExtendedCounts { probes, ..ExtendedCounts::ZERO };
        FlowCounts { segments: 10, timeouts, extended: probes.map(extended), ..FlowCounts::ZERO }
    }

    #[test]
    fn a_sum_lacks_what_one_of_its_flows_lacks() {
        let total = |counts: &[FlowCounts]| FlowCounts::total(counts.iter());
        let all = counted(Some(2), Some(3));
        assert_eq!(total(&[all, all]), FlowCounts { segments: 20, ..counted(Some(4), Some(6)) });
        let without_timeouts = total(&[all, counted(None, Some(3)), all]);
        assert_eq!((without_timeouts.segments, without_timeouts.timeouts), (30, None));
        assert_eq!(without_timeouts.extended.map(|extended| extended.probes), Some(9));
        let live = total(&[all, counted(Some(2), None)]);
        assert_eq!((live.segments, live.timeouts, live.extended), (20, Some(4), None));
        assert_eq!(total(&[]), FlowCounts::ZERO);
    }

    #[test]
    fn a_difference_lacks_what_one_of_its_moments_lacks() {
        let (now, then) = (counted(Some(5), Some(3)), counted(Some(2), Some(1)));
        assert_eq!(now.since(&then), FlowCounts { segments: 0, ..counted(Some(3), Some(2)) });
        assert_eq!(
            now.since(&counted(None, None)),
            FlowCounts { segments: 0, ..counted(None, None) }
        );
    }

    #[test]
    fn times_are_the_latest_of_a_flow_and_the_least_of_several() {
        let rtt = |millis| Some(Duration::from_millis(millis));
        let counts =
            |millis| FlowCounts { min_rtt: rtt(millis), srtt: rtt(millis), ..FlowCounts::ZERO };
        let since = counts(7).since(&counts(9));
        assert_eq!((since.min_rtt, since.srtt), (rtt(7), rtt(7)));
        let total = FlowCounts::total([counts(9), counts(7)].iter());
        assert_eq!((total.min_rtt, total.srtt), (rtt(7), None));
    }
}
