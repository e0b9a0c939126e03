//! Input queue management: a stream with a backlog discards a segment now and then, so that its
//! sender slows down before the window makes it.
//!
//! bharadwaj-2001, 3.2, discards one as soon as a backlog begins to build; bharadwaj-1999, 3.1, has a
//! queue management similar to RED, which here is RED (Floyd and Jacobson 1993, gentle) over the bytes
//! that have arrived and not been sent on. Either discards only what is in order, never while
//! something waits behind a hole, and never two in one window, so that no sender loses more
//! than its fast retransmission can repair. What was acknowledged is never touched: a discarded
//! segment is one that the network lost.
//!
//! The papers give no thresholds. Both begin at a quarter of the room that is left beside what is in
//! flight, and RED's upper one is half of it.
//!
//! A discard alone shortens no queue: a sender that is 2 ms away repairs the loss in as much time and
//! still fills whatever window it is offered. (One in a window shortened the queue of a 384 kbit/s
//! link by less than 1 %, one in two segments by 4 %.) So the window also follows, as in
//! bharadwaj-1999: it stops opening where the backlog reaches the threshold, RED's upper one there.

use super::leg::LegTcp;
use super::memory::Allowance;
use super::split::{Packet, Split};
use crate::config::Discard;
use crate::leg::{Leg, PerLeg};
use bentpipe_core::link::{QueueLimit, RedConfig};
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::units::{Bytes, Probability};
use bentpipe_core::wire::Flags;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

/// Nothing is discarded while so many segments wait, or fewer (as in RED).
const LEAST_SEGMENTS: u64 = 2;

/// Weight of the newest sample in the mean: a queue of some tens of segments follows its senders
/// within as many arrivals.
const WEIGHT: f64 = 1.0 / 32.0;

/// What one stream's discards go by.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Discarding {
    mode: Discard,
    /// Nothing that begins below is discarded: the right edge as it stood at the last discard.
    not_before: u64,
    /// The hole that a discard leaves has not shown yet.
    leaves_hole: bool,
    /// The mean backlog in segments, and the arrivals since the last discard.
    average: f64,
    count: f64,
    rng: Pcg64Mcg,
}

/// A stream at the moment when a segment arrives.
#[derive(Debug, Clone, Copy)]
struct Backlog {
    /// Bytes that have not been sent on.
    bytes: u64,
    /// The most that this may be.
    room: u64,
    /// A full segment, in bytes.
    segment: u64,
}

impl Backlog {
    /// Of the stream that is fed by `leg` and may hold `capacity`.
    fn of(legs: &PerLeg<LegTcp>, leg: Leg, capacity: u64) -> Backlog {
        let (receiver, sender) = (&legs[leg].tcb.receiver, &legs[leg.other()].tcb.sender);
        Backlog {
            bytes: receiver.rcv_nxt().saturating_sub(sender.snd_nxt()),
            room: capacity.saturating_sub(sender.snd_nxt() - sender.snd_una()),
            segment: receiver.rmss().max(1),
        }
    }

    /// Below this, in bytes, nothing is discarded.
    fn threshold(&self) -> u64 {
        (self.room / 4).max(LEAST_SEGMENTS * self.segment)
    }
}

impl Discarding {
    /// For the stream that is fed by `leg`, if there is anything to do.
    pub(super) fn new(leg: &LegTcp) -> Option<Box<Discarding>> {
        let mode = leg.discard;
        let agreed = leg.tcb.agreed();
        // Runs repeat: the same connection meets the same chance.
        let seed = u64::from(agreed.snd_isn.0) << 32 | u64::from(agreed.rcv_isn.0);
        let fresh = Discarding::fresh(mode, seed);
        (mode != Discard::Off).then(|| Box::new(fresh))
    }

    fn fresh(mode: Discard, seed: u64) -> Discarding {
        Discarding {
            mode,
            not_before: 0,
            leaves_hole: false,
            average: 0.0,
            count: 0.0,
            rng: Pcg64Mcg::seed_from_u64(seed),
        }
    }

    /// Whether the next segment, whose bytes begin at `start`, goes to waste.
    fn strikes(&mut self, start: u64, backlog: Backlog) -> bool {
        let strikes = match self.mode {
            Discard::Off => false,
            Discard::Single => backlog.bytes > backlog.threshold(),
            Discard::RandomEarly => self.strikes_at_random(backlog),
        };
        strikes && start >= self.not_before
    }

    fn strikes_at_random(&mut self, backlog: Backlog) -> bool {
        let threshold = backlog.threshold();
        let segments = |bytes: u64| bytes as f64 / backlog.segment as f64;
        self.average += WEIGHT * (segments(backlog.bytes) - self.average);
        let red = RedConfig {
            limit: QueueLimit::Unlimited,
            min_threshold: segments(threshold),
            max_threshold: 2.0 * segments(threshold),
            weight: WEIGHT,
            max_p: Probability::new(0.1).unwrap_or_default(),
            mean_packet: Bytes::new(backlog.segment),
            gentle: true,
            ..RedConfig::default()
        };
        let probability = red.probability(self.average);
        if probability <= 0.0 {
            self.count = 0.0;
            return false;
        }
        self.count += 1.0;
        let strikes = self.rng.random::<f64>() < red.spread(probability, self.count);
        if strikes {
            self.count = 0.0;
        }
        strikes
    }
}

impl<B: Buffer> Split<B> {
    /// How many bytes at the beginning of a packet's payload are discarded: none, or one segment.
    pub(super) fn discards(
        &mut self,
        leg: Leg,
        packet: &Packet<'_>,
        allowance: Allowance,
    ) -> usize {
        let capacity = self.room(leg, allowance);
        let Some(discarding) = &mut self.discarding[leg] else { return 0 };
        let tcb = &self.legs[leg].tcb;
        let start = tcb.receiver.rcv_nxt();
        let len = packet.payload.len() as u64;
        let in_order = packet.tcp.seq.offset_near(tcb.agreed().rcv_isn, start) == Some(start)
            && packet.tcp.flags.0 & (Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0) == 0
            && tcb.receiver.beyond().is_empty()
            && start + len <= tcb.receiver.promised();
        if len == 0 || !in_order {
            return 0;
        }
        let backlog = Backlog::of(&self.legs, leg, capacity);
        if !discarding.strikes(start, backlog) {
            return 0;
        }
        discarding.not_before = tcb.receiver.promised().max(start + capacity);
        discarding.leaves_hole = true;
        // Of a super-segment only the first: two in one window would be too many.
        len.min(backlog.segment) as usize
    }

    /// How far the window of `leg` may open, whose stream may hold up to `limit`: where the backlog is
    /// to stay short, only as long as it is.
    pub(super) fn edge(&self, leg: Leg, limit: u64) -> u64 {
        let Some(discarding) = &self.discarding[leg] else { return limit };
        let sender = &self.legs[leg.other()].tcb.sender;
        let backlog = Backlog::of(&self.legs, leg, limit.saturating_sub(sender.snd_una()));
        let most = match discarding.mode {
            Discard::Off => return limit,
            Discard::Single => backlog.threshold(),
            Discard::RandomEarly => 2 * backlog.threshold(),
        };
        limit.min(sender.snd_nxt() + most)
    }

    /// Of `holes` that have come up in what arrives on `leg`, those that the network has made.
    pub(super) fn lost_on_the_way(&mut self, leg: Leg, holes: usize) -> usize {
        match &mut self.discarding[leg] {
            Some(discarding) if holes > 0 && discarding.leaves_hole => {
                discarding.leaves_hole = false;
                holes - 1
            }
            _ => holes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backlog(segments: u64) -> Backlog {
        Backlog { bytes: 1000 * segments, room: 80_000, segment: 1000 }
    }

    #[test]
    fn a_single_discard_waits_for_a_quarter_of_the_room_and_for_its_window() {
        let mut single = Discarding::fresh(Discard::Single, 1);
        assert!(!single.strikes(1, backlog(20)));
        assert!(single.strikes(1, backlog(21)));
        single.not_before = 50_000;
        assert!(!single.strikes(49_999, backlog(60)));
        assert!(single.strikes(50_000, backlog(60)));
        let small = Backlog { bytes: 1900, room: 2000, segment: 1000 };
        assert!(!single.strikes(60_000, small), "two segments are no backlog");
    }

    #[test]
    fn early_discards_follow_the_mean_and_not_a_burst() {
        let mut early = Discarding::fresh(Discard::RandomEarly, 1);
        let struck = |early: &mut Discarding, segments, arrivals: u32| {
            (0..arrivals).filter(|_| early.strikes(1, backlog(segments))).count()
        };
        // A burst beyond the upper threshold, from a queue that was empty.
        assert_eq!(struck(&mut early, 50, 8), 0);
        assert_eq!(struck(&mut early, 0, 500), 0);
        // Half-way between the thresholds, one in 1.5 / (max_p / 2).
        assert_eq!(struck(&mut early, 19, 1_000), 0);
        struck(&mut early, 30, 500);
        let halfway = struck(&mut early, 30, 3_000);
        assert!((80..=120).contains(&halfway), "{halfway}");
        struck(&mut early, 79, 500);
        assert_eq!(struck(&mut early, 79, 1_000), 500, "every second where p is nearly one");
    }
}
