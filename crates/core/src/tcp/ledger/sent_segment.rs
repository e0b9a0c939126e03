//! One entry of the ledger, and what an acknowledgment reports of several.

use crate::tcp::delivery_rate::{DeliveryRate, Departure, Newest};
use crate::time::Instant;
use crate::units::{Bytes, Offset};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// One contiguous part of the stream that was last sent as a whole.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SentSegment {
    /// The offsets that it covers.
    pub range: Range<Offset>,
    /// When it was last sent.
    pub sent_at: Instant,
    /// How often it was sent.
    pub transmissions: u32,
    /// Reported by a SACK block.
    pub sacked: bool,
    /// Marked lost by recovery.
    pub lost: bool,
    /// Retransmitted since it was marked lost (or on suspicion).
    pub retransmitted: bool,
    /// What had happened when it was last sent, for rate samples.
    pub departure: Departure,
}

impl SentSegment {
    pub(super) fn len(&self) -> Bytes {
        self.range.end - self.range.start
    }

    /// Lost and waiting to be retransmitted.
    pub(super) fn waits(&self) -> bool {
        self.lost && !self.retransmitted && !self.sacked
    }

    pub(super) fn deliver(&self, rate: &mut DeliveryRate, newest: &mut Option<Newest>) {
        rate.note_delivered((self.sent_at, self.departure), self.len(), self.range.end, newest);
    }

    /// Its share of the bytes in flight (RFC 6675's SetPipe): the original, unless it was
    /// sacked or lost, and its retransmission.
    pub(super) fn pipe(&self) -> Bytes {
        if self.sacked {
            return Bytes::ZERO;
        }
        self.len() * (u64::from(!self.lost) + u64::from(self.retransmitted))
    }
}

/// The segments that an acknowledgment newly reports, for RFC 8985. Each has the time at which it
/// was last sent, and its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Arrived {
    /// The most recently sent among those that were sent once.
    pub once: Option<(Instant, Offset)>,
    /// The most recently sent among those that were retransmitted.
    pub again: Option<(Instant, Offset)>,
    /// The lowest end of those that were sent once.
    pub lowest_once: Option<Offset>,
}

impl Arrived {
    pub(super) fn note(&mut self, record: &SentSegment) {
        let (sent, end) = (Some((record.sent_at, record.range.end)), record.range.end);
        if record.transmissions > 1 {
            self.again = self.again.max(sent);
        } else {
            self.once = self.once.max(sent);
            self.lowest_once = Some(self.lowest_once.map_or(end, |lowest| lowest.min(end)));
        }
    }
}
