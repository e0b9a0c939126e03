//! The way of the window through fast recovery: as congestion control says, or by proportional
//! rate reduction ([`Prr`]).

use crate::tcp::prr::{Progress, Prr};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// How the window comes down when fast recovery begins.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    Serialize,
    Deserialize,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Reduction {
    /// At once, to what congestion control chose: nothing is sent until so much has left.
    #[default]
    Plain,
    /// At once, and counted from the window instead of what is outstanding, which is up to a
    /// segment less (RFC 2001; ns).
    OfWindow,
    /// Evenly over a round trip (RFC 9937).
    Prr,
    /// The same as Linux does it: it differs without SACK. There RFC 9937 counts no more as
    /// delivered in an episode than was outstanding when it began, so that an episode of many round
    /// trips sends no new data in the end. Linux (net/ipv4/tcp_input.c) counts a duplicate as long
    /// as more is outstanding (`tcp_add_reno_sack`, `tcp_limit_reno_sacked`), and of each partial
    /// acknowledgment a segment at least (`tcp_remove_reno_sacks`).
    PrrAsLinux,
}

/// Where an episode of fast recovery stands.
///
/// Invariant: a proportional reduction counts every byte delivered and sent since it began, and
/// without SACK no byte twice: what duplicate acknowledgments have reported in advance is known.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct RateReduction {
    prr: Option<Prr>,
    /// Without SACK: bytes that duplicate acknowledgments have reported in advance.
    in_advance: Bytes,
}

/// What of an acknowledgment, or of a timer, matters here, and how things stand after it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// Bytes newly acknowledged cumulatively.
    pub(super) acked: Bytes,
    /// It is a duplicate acknowledgment.
    pub(super) duplicate: bool,
    /// It showed a loss.
    pub(super) loss: bool,
    /// Bytes newly delivered as the ledger counts them.
    pub(super) delivered: Bytes,
    /// The peer tells what arrives out of order (SACK).
    pub(super) selective: bool,
    /// Bytes in flight.
    pub(super) in_flight: Bytes,
    /// Bytes that are not acknowledged cumulatively.
    pub(super) outstanding: Bytes,
    /// The slow start threshold, in bytes.
    pub(super) ssthresh: Bytes,
    /// Sender maximum segment size, in bytes.
    pub(super) smss: Bytes,
}

impl RateReduction {
    /// Fast recovery begins; proportionally if with `prr`. The acknowledgment that begins it is yet
    /// to be taken.
    pub(super) fn begin(&mut self, prr: Option<Prr>) {
        self.prr = prr;
    }

    /// Fast recovery ends, or a timeout or an undone reduction has overtaken it. True if it was
    /// proportional.
    pub(super) fn end(&mut self) -> bool {
        self.prr.take().is_some()
    }

    /// Whether the reduction is proportional.
    pub(super) fn is_proportional(&self) -> bool {
        self.prr.is_some()
    }

    /// How much a proportional reduction lets out now.
    pub(super) fn allowance(&self) -> Option<Bytes> {
        self.prr.map(|prr| prr.allowance())
    }

    /// Takes an acknowledgment, or a timer's verdict, after recovery has judged it.
    pub(super) fn step(&mut self, step: &Step) {
        let delivered = self.newly_delivered(step);
        let Step { in_flight, ssthresh, smss, .. } = *step;
        let safe = step.acked > Bytes::ZERO && !step.loss;
        if let Some(prr) = &mut self.prr {
            prr.on_ack(Progress { delivered, in_flight, ssthresh, safe, smss });
        }
    }

    /// `bytes` were sent.
    pub(super) fn sent(&mut self, bytes: Bytes) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent(bytes);
        }
    }

    /// RFC 9937, DeliveredData.
    fn newly_delivered(&mut self, step: &Step) -> Bytes {
        let Step { delivered, smss, .. } = *step;
        if step.selective {
            return delivered;
        }
        if self.prr.is_some_and(|prr| !prr.is_bounded()) {
            return self.as_linux(step);
        }
        // Without SACK a duplicate stands for one segment, which the next acknowledgment of new
        // data then counts no second time.
        let reported = if step.duplicate {
            self.in_advance += smss;
            smss
        } else {
            let known = self.in_advance.min(delivered);
            self.in_advance -= known;
            delivered - known
        };
        if self.prr.is_none() && step.acked > Bytes::ZERO {
            // What the duplicates before it stood for has been acknowledged, or never was.
            self.in_advance = Bytes::ZERO;
        }
        self.prr.map_or(reported, |prr| reported.min(prr.deliverable()))
    }

    /// What Linux counts as delivered without SACK: see [`Reduction::PrrAsLinux`].
    fn as_linux(&mut self, step: &Step) -> Bytes {
        let Step { delivered, outstanding, smss, .. } = *step;
        if step.duplicate {
            // One segment at least is missing.
            let before = self.in_advance;
            let max = outstanding.saturating_sub(smss).max(before);
            self.in_advance = (before + smss).min(max);
            return self.in_advance - before;
        }
        let known = self.in_advance.min(delivered.saturating_sub(smss));
        self.in_advance -= known;
        delivered - known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One segment is one byte here, and of ten in flight half may stay.
    fn acknowledge(rate_reduction: &mut RateReduction, acked: u64) {
        rate_reduction.step(&Step {
            acked: Bytes::new(acked),
            duplicate: acked == 0,
            loss: false,
            delivered: Bytes::new(acked),
            selective: false,
            in_flight: Bytes::new(10),
            outstanding: Bytes::new(20),
            ssthresh: Bytes::new(5),
            smss: Bytes::ONE,
        });
    }

    #[test]
    fn duplicates_count_once_without_sack() {
        let mut rate_reduction = RateReduction::default();
        rate_reduction.begin(Some(Prr::new(Bytes::new(10))));
        for _ in 0..4 {
            acknowledge(&mut rate_reduction, 0);
        }
        assert_eq!(rate_reduction.allowance(), Some(Bytes::new(2)), "half of four");
        // All four duplicates stood for what is now acknowledged, with one more.
        acknowledge(&mut rate_reduction, 5);
        assert_eq!(rate_reduction.allowance(), Some(Bytes::new(3)), "half of five, rounded up");
        rate_reduction.sent(Bytes::new(3));
        assert_eq!(rate_reduction.allowance(), Some(Bytes::ZERO));
        assert!(rate_reduction.end() && !rate_reduction.is_proportional() && !rate_reduction.end());
    }

    #[test]
    fn duplicates_before_an_episode_are_forgotten_with_new_data() {
        let mut rate_reduction = RateReduction::default();
        acknowledge(&mut rate_reduction, 0);
        acknowledge(&mut rate_reduction, 0);
        acknowledge(&mut rate_reduction, 1);
        rate_reduction.begin(Some(Prr::new(Bytes::new(10))));
        acknowledge(&mut rate_reduction, 4);
        assert_eq!(
            rate_reduction.allowance(),
            Some(Bytes::new(2)),
            "half of four: none was known before"
        );
    }

    #[test]
    fn duplicates_count_for_no_more_than_was_outstanding() {
        let mut rate_reduction = RateReduction::default();
        rate_reduction.begin(Some(Prr::new(Bytes::new(4))));
        for _ in 0..100 {
            acknowledge(&mut rate_reduction, 0);
        }
        assert_eq!(
            rate_reduction.allowance(),
            Some(Bytes::new(5)),
            "all four, of which half may follow, and a half"
        );
    }

    #[test]
    fn as_in_linux_they_count_as_long_as_more_is_outstanding() {
        let mut rate_reduction = RateReduction::default();
        rate_reduction.begin(Some(Prr::new(Bytes::new(4)).unbounded()));
        let deliver = |reduction: &mut RateReduction, acked: u64| {
            let step = Step {
                acked: Bytes::new(acked),
                duplicate: acked == 0,
                loss: false,
                delivered: Bytes::new(acked),
                selective: false,
                in_flight: Bytes::new(3),
                outstanding: Bytes::new(8),
                ssthresh: Bytes::new(5),
                smss: Bytes::ONE,
            };
            reduction.newly_delivered(&step).count()
        };
        // Four were outstanding at its beginning, and seven of eight may have arrived.
        let delivered: u64 = (0..100).map(|_| deliver(&mut rate_reduction, 0)).sum();
        assert_eq!(delivered, 7);
        // Of three that are acknowledged two were known. The hole counts.
        assert_eq!(deliver(&mut rate_reduction, 3), 1);
        assert_eq!((0..100).map(|_| deliver(&mut rate_reduction, 0)).sum::<u64>(), 2);
        assert_eq!(deliver(&mut rate_reduction, 1), 1);
        assert_eq!(deliver(&mut rate_reduction, 8), 1);
    }
}
