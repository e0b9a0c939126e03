//! What a link counts.

use super::LinkPacket;
use std::ops::{Add, Sub};

/// A number of packets and their bytes on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Their bytes, in wire lengths.
    pub bytes: u64,
}

impl Count {
    /// Counts `packet`.
    pub fn add(&mut self, packet: &impl LinkPacket) {
        self.packets += 1;
        self.bytes += packet.wire_len();
    }

    /// Counts `packet` no longer.
    pub(super) fn remove(&mut self, packet: &impl LinkPacket) {
        self.packets -= 1;
        self.bytes -= packet.wire_len();
    }
}

impl Add for Count {
    type Output = Count;
    fn add(self, other: Count) -> Count {
        Count { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

impl Sub for Count {
    type Output = Count;
    fn sub(self, earlier: Count) -> Count {
        Count { packets: self.packets - earlier.packets, bytes: self.bytes - earlier.bytes }
    }
}

/// The fate of every packet offered to a link and no longer inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Offered to the link.
    pub offered: Count,
    /// Dropped by the queue.
    pub dropped: Count,
    /// Sent, then lost on the way.
    pub lost: Count,
    /// Marked "congestion experienced" by the queue; what became of them is in the other counts.
    pub marked: Count,
    /// Arrived.
    pub delivered: Count,
}

impl Sub for Counters {
    type Output = Counters;
    /// What has happened since `earlier`.
    fn sub(self, earlier: Counters) -> Counters {
        Counters {
            offered: self.offered - earlier.offered,
            dropped: self.dropped - earlier.dropped,
            lost: self.lost - earlier.lost,
            marked: self.marked - earlier.marked,
            delivered: self.delivered - earlier.delivered,
        }
    }
}
