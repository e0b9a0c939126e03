//! The facts of every segment sent and not yet cumulatively acknowledged. No policy: recovery
//! reads the facts and says what is lost; the sender writes that down here.

mod sent_segment;
#[cfg(test)]
mod tests;

pub use sent_segment::{Arrived, SentSegment};

use super::delivery_rate::{DeliveryRate, LossSample, RateSample};
use super::ranges::RangeSet;
use crate::time::{Duration, Instant};
use crate::units::{Bytes, Offset};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

/// What an acknowledgment did to the ledger.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Bytes newly covered by the cumulative acknowledgment.
    pub acked: Bytes,
    /// Bytes newly reported by SACK blocks.
    pub sacked: Bytes,
    /// Time from sending to this acknowledgment for the newest segment among them, if all of
    /// them were sent once (Karn's rule).
    pub rtt: Option<Duration>,
    /// The segments newly reported.
    pub arrived: Arrived,
    /// When the last of the segments was last sent that are newly acknowledged cumulatively.
    pub last_sent: Option<Instant>,
    /// The delivery rate, if anything is newly reported.
    pub sample: Option<RateSample>,
}

/// Every segment in flight, in stream order without gaps from `snd_una` to `snd_nxt`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ledger {
    records: VecDeque<SentSegment>,
    snd_una: Offset,
    snd_nxt: Offset,
    sacked: RangeSet,
    /// Starts of the records that are lost and not retransmitted since.
    lost: BTreeSet<Offset>,
    pipe: Bytes,
    rate: DeliveryRate,
    retransmitted_bytes: Bytes,
}

impl Ledger {
    /// An empty ledger: the next byte to be sent is at `start`.
    pub fn new(start: Offset) -> Ledger {
        Ledger {
            records: VecDeque::new(),
            snd_una: start,
            snd_nxt: start,
            sacked: RangeSet::default(),
            lost: BTreeSet::new(),
            pipe: Bytes::ZERO,
            rate: DeliveryRate::default(),
            retransmitted_bytes: Bytes::ZERO,
        }
    }

    /// The oldest unacknowledged offset.
    pub fn snd_una(&self) -> Offset {
        self.snd_una
    }

    /// The next offset to be sent for the first time.
    pub fn snd_nxt(&self) -> Offset {
        self.snd_nxt
    }

    /// RFC 5681's FlightSize: all that is not cumulatively acknowledged.
    pub fn flight_size(&self) -> Bytes {
        self.snd_nxt - self.snd_una
    }

    /// RFC 6675's pipe: bytes held to be in the network.
    pub fn pipe(&self) -> Bytes {
        self.pipe
    }

    /// Bytes delivered so far, cumulatively or selectively.
    pub fn delivered(&self) -> Bytes {
        self.rate.delivered()
    }

    /// Bytes marked lost so far, each time that they were.
    pub fn lost_bytes(&self) -> Bytes {
        self.rate.lost()
    }

    /// The application has nothing more to send: what is delivered next says nothing about the
    /// path.
    pub fn set_app_limited(&mut self) {
        self.rate.set_app_limited(self.pipe);
    }

    /// Whether what leaves now counts as limited by the application.
    pub fn is_app_limited(&self) -> bool {
        self.rate.is_app_limited()
    }

    /// Bytes retransmitted so far.
    pub fn retransmitted_bytes(&self) -> Bytes {
        self.retransmitted_bytes
    }

    /// What SACK blocks have reported above `snd_una`.
    pub fn sacked(&self) -> &RangeSet {
        &self.sacked
    }

    /// What is to be retransmitted first: the first part that is lost and not retransmitted since,
    /// as long as it was sent, and if that is less than a segment of `smss` with so much of the
    /// lost parts behind it as makes one. What a closing window has cut into pieces would otherwise
    /// be repaired one piece a round trip.
    pub fn first_lost(&self, smss: Bytes) -> Option<Range<Offset>> {
        let start = *self.lost.first()?;
        let mut records = self.records.range(self.index_of(start)..);
        let mut end = records.next()?.range.end;
        let limit = start + smss;
        for record in records.take_while(|record| record.waits()) {
            if end >= limit {
                break;
            }
            end = record.range.end.min(limit);
        }
        Some(start..end)
    }

    /// The record that holds `offset`, if it is outstanding.
    pub fn record_at(&self, offset: Offset) -> Option<&SentSegment> {
        (self.snd_una <= offset && offset < self.snd_nxt)
            .then(|| &self.records[self.index_of(offset)])
    }

    /// The records that overlap `range`, in order.
    pub fn records_in(&self, range: Range<Offset>) -> impl Iterator<Item = &SentSegment> {
        let from = if range.start >= self.snd_nxt {
            self.records.len()
        } else {
            self.index_of(range.start.max(self.snd_una))
        };
        self.records.range(from..).take_while(move |record| record.range.start < range.end)
    }

    /// New data was sent: `range` begins at `snd_nxt`.
    pub fn sent(&mut self, now: Instant, range: Range<Offset>) {
        assert_eq!(range.start, self.snd_nxt, "new data follows what was sent");
        if range.is_empty() {
            return;
        }
        let alone = self.pipe == Bytes::ZERO;
        self.snd_nxt = range.end;
        self.pipe += range.end - range.start;
        let departure = self.rate.departure(now, self.pipe, alone);
        self.records.push_back(SentSegment {
            range,
            sent_at: now,
            transmissions: 1,
            sacked: false,
            lost: false,
            retransmitted: false,
            departure,
        });
    }

    /// Outstanding data was retransmitted.
    pub fn resent(&mut self, now: Instant, range: Range<Offset>) {
        self.retransmitted_bytes += range.end - range.start;
        let in_flight = self.pipe + (range.end - range.start);
        let departure = self.rate.departure(now, in_flight, self.pipe == Bytes::ZERO);
        self.update(range, |record| {
            record.sent_at = now;
            record.transmissions += 1;
            record.retransmitted = true;
            record.departure = departure;
        });
    }

    /// Outstanding data went out once more, not because it was marked lost: when it arrives says
    /// nothing of the round trip (Karn's rule).
    pub fn repeated(&mut self, range: Range<Offset>) {
        self.update(range, |record| record.transmissions += 1);
    }

    /// Recovery holds `range` lost: what of it is not sacked leaves the pipe. What had been
    /// retransmitted counts as lost a second time.
    pub fn mark_lost(&mut self, range: Range<Offset>) {
        self.mark_lost_telling(range, |_| {});
    }

    /// The same; `tell` hears of each segment that was not marked lost before.
    pub fn mark_lost_telling(&mut self, range: Range<Offset>, mut tell: impl FnMut(LossSample)) {
        let range = range.start.max(self.snd_una)..range.end.min(self.snd_nxt);
        let mut rate = self.rate;
        self.update(range, |record| {
            if !record.sacked {
                if !record.lost || record.retransmitted {
                    tell(rate.note_lost(record.departure, record.len()));
                }
                record.lost = true;
                record.retransmitted = false;
            }
        });
        self.rate = rate;
    }

    /// What was marked lost is on its way after all, except what was retransmitted: that counts
    /// once.
    pub fn unmark_lost(&mut self) {
        self.update(self.snd_una..self.snd_nxt, |record| record.lost &= record.retransmitted);
    }

    /// The peer has dropped what it had sacked (RFC 2018, section 8): forget the SACK blocks.
    pub fn forget_sacked(&mut self) {
        self.sacked.clear();
        self.update(self.snd_una..self.snd_nxt, |record| record.sacked = false);
    }

    /// Applies an acknowledgment: all below `ack`, and `blocks` above it. The caller has
    /// checked that `ack` and the blocks lie between `snd_una` and `snd_nxt`.
    pub fn acknowledge(
        &mut self,
        now: Instant,
        ack: Offset,
        blocks: impl IntoIterator<Item = Range<Offset>>,
    ) -> Delivered {
        let mut delivered = Delivered::default();
        let mut arrived = Arrived::default();
        let (mut rate, mut newest) = (self.rate, None);
        if ack > self.snd_una {
            while let Some(record) = self.pop_below(ack) {
                delivered.last_sent = Some(record.sent_at);
                self.pipe -= record.pipe();
                if record.waits() {
                    self.lost.remove(&record.range.start);
                }
                if !record.sacked {
                    record.deliver(&mut rate, &mut newest);
                    arrived.note(&record);
                }
            }
            delivered.acked = ack - self.snd_una;
            self.snd_una = ack;
            self.sacked.remove_below(ack);
        }
        for block in blocks {
            for part in self.sacked.insert(block.start.max(self.snd_una)..block.end) {
                delivered.sacked += part.end - part.start;
                self.update(part, |record| {
                    record.deliver(&mut rate, &mut newest);
                    arrived.note(record);
                    record.sacked = true;
                });
            }
        }
        let measured = arrived.once.filter(|_| arrived.again.is_none());
        delivered.rtt = measured.map(|(sent_at, _)| now.saturating_since(sent_at));
        delivered.arrived = arrived;
        delivered.sample = rate.sample(now, newest);
        self.rate = rate;
        delivered
    }

    /// Takes out the first record, or what of it lies below `ack`.
    fn pop_below(&mut self, ack: Offset) -> Option<SentSegment> {
        let first = self.records.front_mut().filter(|first| first.range.start < ack)?;
        if first.range.end <= ack {
            return self.records.pop_front();
        }
        let mut head = first.clone();
        head.range.end = ack;
        first.range.start = ack;
        if first.waits() {
            self.lost.insert(ack);
        }
        Some(head)
    }

    /// Applies `change` to the records of `range`, splitting those at its edges, and keeps the
    /// sums right.
    fn update(&mut self, range: Range<Offset>, mut change: impl FnMut(&mut SentSegment)) {
        if range.is_empty() {
            return;
        }
        self.split_at(range.start);
        self.split_at(range.end);
        let from = self.index_of(range.start);
        for record in self.records.range_mut(from..) {
            if record.range.start >= range.end {
                break;
            }
            let waited = record.waits();
            self.pipe -= record.pipe();
            change(record);
            self.pipe += record.pipe();
            match (waited, record.waits()) {
                (false, true) => drop(self.lost.insert(record.range.start)),
                (true, false) => drop(self.lost.remove(&record.range.start)),
                _ => {}
            }
        }
    }

    /// Makes `offset` the boundary of two records, if it lies inside one.
    fn split_at(&mut self, offset: Offset) {
        if offset <= self.snd_una || offset >= self.snd_nxt {
            return;
        }
        let index = self.index_of(offset);
        let record = &mut self.records[index];
        if record.range.start == offset {
            return;
        }
        let mut tail = record.clone();
        record.range.end = offset;
        tail.range.start = offset;
        if record.waits() {
            self.lost.insert(offset);
        }
        self.records.insert(index + 1, tail);
    }

    /// The index of the record that holds `offset`, which must be outstanding.
    ///
    /// Records are mostly of one length, so the place is guessed by proportion, and searched for
    /// in steps that double away from there: a binary search through 100,000 records would miss
    /// the cache at each step.
    fn index_of(&self, offset: Offset) -> usize {
        let len = self.records.len();
        if offset >= self.snd_nxt {
            return len;
        }
        let ends_by = |index: usize| self.records[index].range.end <= offset;
        let share = (offset - self.snd_una) * len as u64 / self.flight_size();
        let guess = usize::try_from(share).unwrap_or(len).min(len - 1);
        // The record is among low..=high.
        let (mut low, mut high, mut step) = (0, len - 1, 1);
        if ends_by(guess) {
            low = guess + 1;
            while guess + step < high && ends_by(guess + step) {
                (low, step) = (guess + step + 1, step * 2);
            }
            high = high.min(guess + step);
        } else {
            high = guess;
            while guess >= step && !ends_by(guess - step) {
                (high, step) = (guess - step, step * 2);
            }
            low = if guess >= step { guess - step + 1 } else { low };
        }
        while low < high {
            let middle = (low + high) / 2;
            (low, high) = if ends_by(middle) { (middle + 1, high) } else { (low, middle) };
        }
        low
    }
}
