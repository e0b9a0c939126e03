//! Arrivals from a link's other end, to be reported to it.
//!
//! One report in ten milliseconds shows a rate. Where data comes after a pause, as with a flow that
//! begins, each may show how fast a train of segments has come. The windows of flows that begin
//! here follow the same trains.

use super::trains::Trains;
use crate::announce::{Arrivals, ByteCount, Report};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Bytes;

/// From one report to the next.
const APART: Duration = Duration::from_millis(10);

/// What comes after so long without any is a train, as far as so many bytes.
const PAUSE: Duration = Duration::from_millis(200);
const TRAIN: u64 = 64 * 1_024;

/// See the module's head.
#[derive(Debug, Default)]
pub(in crate::table) struct Arrived {
    latest: Instant,
    /// The flow whose data that was.
    flow: Option<usize>,
    /// Bytes of payload.
    bytes: u64,
    /// As many as there were when the train that came last is over.
    train_end: u64,
    /// The latest report: when it left, and what it has told.
    reported: Instant,
    told: u64,
    trains: Trains,
    /// The best rate that they have shown, in bytes a second.
    rate: f64,
}

impl Arrived {
    /// It is remembered that so many bytes a second came.
    pub(in crate::table) fn remembering(rate: f64) -> Arrived {
        Arrived { rate, ..Arrived::default() }
    }

    /// The best rate that has shown, in bytes a second.
    pub(in crate::table) fn rate(&self) -> f64 {
        self.rate
    }

    /// So many bytes of a flow's payload have come.
    pub(in crate::table) fn on_data(&mut self, now: Instant, flow: usize, bytes: u64) {
        if self.bytes == 0 || now.saturating_since(self.latest) > PAUSE {
            self.train_end = self.bytes + TRAIN;
        }
        self.bytes += bytes;
        (self.latest, self.flow) = (now, Some(flow));
    }

    /// What is to be reported now, in an acknowledgment of a flow, as the count of this number. It
    /// is when that flow's latest segment came, or the peer would not know what has come then.
    pub(in crate::table) fn due(&self, now: Instant, flow: usize, count: u8) -> Option<Arrivals> {
        let is_due = self.is_in_train() || now.saturating_since(self.reported) >= APART;
        let is_new = self.bytes > self.told && self.flow == Some(flow);
        (is_new && is_due).then_some(Arrivals {
            count,
            micros: (self.latest.as_nanos() / 1_000) as u32,
            bytes: ByteCount::of(self.bytes),
        })
    }

    /// Whether acknowledgments are to show how a train comes.
    pub(in crate::table) fn is_in_train(&self) -> bool {
        self.told < self.train_end
    }

    /// It leaves in this report.
    pub(in crate::table) fn note_reported(&mut self, now: Instant, report: Report) {
        (self.reported, self.told) = (now, self.bytes);
        self.trains.on_report(report, None);
        self.rate = self.trains.fastest().map_or(self.rate, |rate| rate.max(self.rate));
    }

    /// What may come in so much time, as far as was shown.
    pub(in crate::table) fn expected_in(&self, time: Duration) -> Bytes {
        Bytes::from_f64(self.rate * time.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::announce::Identity;

    #[test]
    fn each_acknowledgment_of_a_train_is_reported_and_then_one_in_ten_milliseconds() {
        let mut arrived = Arrived::default();
        let mut reports = |from: u64, segments: u64| {
            let due = (0..segments).filter_map(|n| {
                let now = Instant::from_millis(from + n);
                arrived.on_data(now, 1, 4 * 1_024);
                assert_eq!(arrived.due(now, 2, 5), None, "another flow's has come since");
                let due = arrived.due(now, 1, 5)?;
                let identity = Identity::OF_CARRIER;
                arrived.note_reported(now, Report::of(identity).with(Some(due)));
                assert_eq!(arrived.due(now, 1, 5), None, "nothing has come since");
                assert_eq!(u64::from(due.micros), (from + n) * 1_000);
                due.bytes.since(ByteCount::of(0)).map(|bytes| bytes / (4 * 1_024))
            });
            due.collect::<Vec<_>>()
        };
        let first: Vec<u64> = (1..=16).chain([26, 36]).collect();
        assert_eq!(reports(1_000, 40), first);
        // No pause, and one.
        assert_eq!(reports(1_140, 10), [41]);
        assert_eq!(reports(1_400, 10), (51..=60).collect::<Vec<_>>());
    }
}
