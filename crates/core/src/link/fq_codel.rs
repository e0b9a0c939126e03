//! FQ-CoDel (RFC 8290): a queue for each flow, served in turns by their bytes, CoDel in each.
//!
//! A packet goes to the queue that the hash of its flow names. Queues take turns by deficit round
//! robin: each may send a *quantum* of bytes before its next turn. A queue that was empty comes
//! before those that stand in the row already, for one turn; so flows that send little hardly wait.
//! When all queues together exceed the limit, the one with most bytes loses half of its packets
//! from its head, 64 at most (section 4.1).
//!
//! CoDel leaves a queue of no more than one full-sized packet alone, each queue by itself; Linux
//! takes all queues together for that. An urgent packet comes before all that waits in its own
//! queue.

use super::{CoDel, CoDelConfig, Count, FqCoDelConfig, LinkPacket, Queue, QueueLimit};
use crate::time::Instant;
use std::collections::VecDeque;

/// The most packets that one arrival pushes out.
const BATCH: u64 = 64;

/// A flow's queue and its credit.
#[derive(Debug)]
struct Flow<P> {
    queue: CoDel<P>,
    /// Bytes that it may still send in its turn.
    deficit: i64,
    /// It stands in one of the two rows.
    listed: bool,
}

/// An FQ-CoDel queue.
#[derive(Debug)]
pub struct FqCoDel<P> {
    limit: QueueLimit,
    quantum: i64,
    flows: Vec<Flow<P>>,
    /// Queues that were empty and have their first turn.
    new: VecDeque<usize>,
    /// All others that hold something, or did at their last turn.
    old: VecDeque<usize>,
    /// Whose packet is being sent.
    sending: Option<usize>,
    /// Where the packet that came last waits.
    newest: Option<usize>,
    /// In the hash, so that nobody foretells which flows share a queue.
    salt: u64,
    held: Count,
    dropped: Count,
    marked: Count,
}

impl<P: LinkPacket> FqCoDel<P> {
    /// Empty queues.
    pub fn new(config: FqCoDelConfig, seed: u64) -> FqCoDel<P> {
        let codel = CoDelConfig {
            limit: QueueLimit::Unlimited,
            target: config.target,
            interval: config.interval,
            ecn: config.ecn,
        };
        let flow = |_| Flow { queue: CoDel::new(codel), deficit: 0, listed: false };
        FqCoDel {
            limit: config.limit,
            quantum: i64::try_from(config.quantum.count().max(1)).unwrap_or(i64::MAX / 2),
            flows: (0..config.flows.max(1)).map(flow).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            sending: None,
            newest: None,
            salt: seed ^ 0x6671,
            held: Count::default(),
            dropped: Count::default(),
            marked: Count::default(),
        }
    }

    /// Which queue a packet belongs to.
    pub(super) fn place(&self, packet: &P) -> usize {
        // The output function of SplitMix64 mixes the salt in.
        let mut z = packet.flow_hash() ^ self.salt.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % self.flows.len() as u64) as usize
    }

    /// Does something to one queue and keeps the counts of all.
    fn at<T>(&mut self, place: usize, act: impl FnOnce(&mut CoDel<P>) -> T) -> T {
        let queue = &mut self.flows[place].queue;
        let counts = |queue: &CoDel<P>| (queue.held(), queue.dropped(), queue.marked());
        let (held, dropped, marked) = counts(queue);
        let done = act(queue);
        let after = counts(queue);
        self.held = self.held + after.0 - held;
        self.dropped = self.dropped + after.1 - dropped;
        self.marked = self.marked + after.2 - marked;
        done
    }

    /// Makes room: the longest queue loses what waits longest, until all queues together are
    /// within the limit.
    fn push_out(&mut self) {
        while self.limit.exceeded(self.held) {
            let waiting = |place: usize| {
                let queue = &self.flows[place].queue;
                queue.waiting(usize::from(self.sending == Some(place)))
            };
            let listed = self.new.iter().chain(&self.old).copied();
            let longest = listed.fold(None, |max: Option<(usize, Count)>, place| {
                let held = waiting(place);
                let more = max.is_none_or(|(_, max)| held.bytes > max.bytes);
                if more && held.packets > 0 { Some((place, held)) } else { max }
            });
            let Some((place, held)) = longest else { return };
            let from = usize::from(self.sending == Some(place));
            let goes = held.packets.div_ceil(2).min(BATCH);
            self.at(place, |queue| (0..goes).for_each(|_| queue.drop_at(from)));
            if goes == held.packets && self.newest == Some(place) {
                self.newest = None;
            }
        }
    }

    /// The queue whose turn it is, if any holds something (section 4.2).
    fn select(&mut self) -> Option<usize> {
        loop {
            let (row, place) = match (self.new.front(), self.old.front()) {
                (Some(&place), _) => (&mut self.new, place),
                (None, Some(&place)) => (&mut self.old, place),
                (None, None) => return None,
            };
            let flow = &mut self.flows[place];
            if flow.deficit > 0 {
                return Some(place);
            }
            flow.deficit += self.quantum;
            row.pop_front();
            self.old.push_back(place);
        }
    }

    /// The queue at the head of its row has turned out to be empty.
    fn step_back(&mut self, place: usize) {
        if self.new.front() == Some(&place) {
            // Once through the row of the old ones, so that none comes back as new at once.
            self.new.pop_front();
            self.old.push_back(place);
        } else {
            self.old.pop_front();
            self.flows[place].listed = false;
        }
    }
}

impl<P: LinkPacket> Queue<P> for FqCoDel<P> {
    fn enqueue(&mut self, now: Instant, packet: P) -> Result<(), P> {
        let place = self.place(&packet);
        let Ok(()) = self.at(place, |queue| queue.enqueue(now, packet)) else {
            unreachable!("a flow's queue has no limit of its own")
        };
        let flow = &mut self.flows[place];
        if !flow.listed {
            flow.listed = true;
            flow.deficit = self.quantum;
            self.new.push_back(place);
        }
        self.newest = Some(place);
        self.push_out();
        Ok(())
    }

    fn head(&mut self, now: Instant) -> Option<&P> {
        while self.sending.is_none() {
            let place = self.select()?;
            match self.at(place, |queue| queue.head(now).map(LinkPacket::wire_len)) {
                Some(wire_len) => {
                    let sent = i64::try_from(wire_len).unwrap_or(i64::MAX);
                    let deficit = &mut self.flows[place].deficit;
                    *deficit = deficit.saturating_sub(sent);
                    self.sending = Some(place);
                }
                None => self.step_back(place),
            }
        }
        self.flows[self.sending?].queue.front()
    }

    fn dequeue(&mut self, now: Instant) -> Option<P> {
        let place = self.sending.take()?;
        self.at(place, |queue| queue.dequeue(now))
    }

    fn drop_superseded(&mut self, newer: &P, _from: usize) {
        let place = self.place(newer);
        let from = usize::from(self.sending == Some(place));
        self.at(place, |queue| queue.drop_superseded(newer, from));
    }

    fn bring_forward(&mut self, _from: usize) {
        if let Some(place) = self.newest {
            let from = usize::from(self.sending == Some(place));
            self.at(place, |queue| queue.bring_forward(from));
        }
    }

    fn held(&self) -> Count {
        self.held
    }

    fn dropped(&self) -> Count {
        self.dropped
    }

    fn marked(&self) -> Count {
        self.marked
    }
}
