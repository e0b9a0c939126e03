//! What the gateway counts.

use super::reason::{Reason, Release};
use crate::{PerSide, Side};
use std::array;
use std::ops::{Add, Sub};

/// Counters of all legs towards one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SideStats {
    /// Payload bytes received from it, once each.
    pub received_bytes: u64,
    /// Payload bytes that it has acknowledged.
    pub delivered_bytes: u64,
    /// Segments sent to it again.
    pub retransmissions: u64,
    /// Bytes sent to it again.
    pub retransmitted_bytes: u64,
    /// Retransmission timeouts towards it.
    pub timeouts: u64,
    /// Of these, those that ended a fast recovery.
    pub recovery_timeouts: u64,
    /// Episodes of fast recovery towards it.
    pub recoveries: u64,
    /// Reductions of congestion windows towards it: for losses, timeouts and ECN marks.
    pub reductions: u64,
    /// Connections whose window towards it was reduced in a second episode. A whole cycle of
    /// congestion avoidance lies between.
    pub reduced_again: u64,
    /// Segments from it that were discarded because their stream had a backlog.
    pub discarded: u64,
}

/// Packets, and their bytes with IP and TCP headers. What the kernel hands over as one
/// super-segment counts as one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Packets.
    pub packets: u64,
    /// Their length at the IP layer, in bytes.
    pub bytes: u64,
}

impl Traffic {
    fn count(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }

    fn each(self, other: Traffic, by: impl Fn(u64, u64) -> u64) -> Traffic {
        Traffic { packets: by(self.packets, other.packets), bytes: by(self.bytes, other.bytes) }
    }
}

impl Add for Traffic {
    type Output = Traffic;
    fn add(self, other: Traffic) -> Traffic {
        self.each(other, |a, b| a + b)
    }
}

/// The gateway's counters since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Flows split.
    pub split: u64,
    /// Of those, connections that were split in mid-life.
    pub adopted: u64,
    /// Split flows that ended in order.
    pub closed: u64,
    /// Split flows that ended in a reset.
    pub reset: u64,
    /// Split flows that go on unsplit, all that was held delivered, by [`Release`].
    released: [u64; Release::ALL.len()],
    /// Flows that a defect of the gateway has ended. They are among those that were reset.
    pub panicked: u64,
    /// Flows whose route was seen to have changed.
    pub route_changes: u64,
    /// Times that a leg's segments became shorter because ICMP told of a smaller MTU.
    pub path_mtu_falls: u64,
    /// Bytes that were acknowledged to their sender and could not be delivered.
    pub lost_bytes: u64,
    /// Forwarded connections that were reset, as bytes of theirs had been lost with another
    /// gateway.
    pub forwarded_resets: u64,
    /// SYNs and SYN-ACKs in which somebody announces himself as a gateway without our key.
    pub foreign_announcements: u64,
    /// Connections not split, by reason.
    forwarded_flows: [u64; Reason::ALL.len()],
    /// What came in and was forwarded unchanged, by reason.
    forwarded: [Traffic; Reason::ALL.len()],
    /// What came in and was dealt with: handshakes, and all segments of split flows.
    pub split_traffic: Traffic,
    sides: PerSide<SideStats>,
}

impl Summary {
    /// Connections that were not split, by reason. One whose SYN is repeated counts again.
    pub fn forwarded_flows(&self, reason: Reason) -> u64 {
        self.forwarded_flows[reason as usize]
    }

    /// Packets forwarded unchanged, by reason.
    pub fn forwarded_packets(&self, reason: Reason) -> u64 {
        self.forwarded[reason as usize].packets
    }

    /// What came in and was forwarded unchanged, by reason.
    pub fn forwarded(&self, reason: Reason) -> Traffic {
        self.forwarded[reason as usize]
    }

    /// What came in and was forwarded unchanged, for whatever reason.
    pub fn all_forwarded(&self) -> Traffic {
        self.forwarded.iter().fold(Traffic::default(), |sum, &some| sum + some)
    }

    /// Connections that were not split, though there [was](Reason::leaves_a_connection) one to
    /// split.
    pub fn all_forwarded_flows(&self) -> u64 {
        let reasons = Reason::ALL.iter().filter(|reason| reason.leaves_a_connection());
        reasons.map(|reason| self.forwarded_flows(*reason)).sum()
    }

    /// Counters of the legs towards `side`.
    pub fn side(&self, side: Side) -> SideStats {
        self.sides[side]
    }

    /// Split flows that were released to plain forwarding because of `why`.
    pub fn released(&self, why: Release) -> u64 {
        self.released[why as usize]
    }

    /// Split flows that were released to plain forwarding, for whatever reason.
    pub fn all_released(&self) -> u64 {
        self.released.iter().sum()
    }

    pub(crate) fn count_released(&mut self, why: Release) {
        self.released[why as usize] += 1;
    }

    pub(crate) fn count_consumed(&mut self, bytes: usize) {
        self.split_traffic.count(bytes);
    }

    pub(crate) fn count_forwarded(&mut self, reason: Reason, bytes: usize) {
        self.forwarded[reason as usize].count(bytes);
    }

    pub(crate) fn count_unsplit(&mut self, reason: Reason) {
        self.forwarded_flows[reason as usize] += 1;
    }

    pub(crate) fn side_mut(&mut self, side: Side) -> &mut SideStats {
        &mut self.sides[side]
    }
}

impl Summary {
    /// Each counter of `self` and of `other` by `by`.
    fn each(&self, other: &Summary, by: impl Fn(u64, u64) -> u64) -> Summary {
        Summary {
            split: by(self.split, other.split),
            adopted: by(self.adopted, other.adopted),
            closed: by(self.closed, other.closed),
            reset: by(self.reset, other.reset),
            released: array::from_fn(|i| by(self.released[i], other.released[i])),
            panicked: by(self.panicked, other.panicked),
            route_changes: by(self.route_changes, other.route_changes),
            path_mtu_falls: by(self.path_mtu_falls, other.path_mtu_falls),
            lost_bytes: by(self.lost_bytes, other.lost_bytes),
            forwarded_resets: by(self.forwarded_resets, other.forwarded_resets),
            foreign_announcements: by(self.foreign_announcements, other.foreign_announcements),
            forwarded_flows: array::from_fn(|i| {
                by(self.forwarded_flows[i], other.forwarded_flows[i])
            }),
            forwarded: array::from_fn(|i| self.forwarded[i].each(other.forwarded[i], &by)),
            split_traffic: self.split_traffic.each(other.split_traffic, &by),
            sides: PerSide::of(|side| {
                let (a, b) = (&self.sides[side], &other.sides[side]);
                SideStats {
                    received_bytes: by(a.received_bytes, b.received_bytes),
                    delivered_bytes: by(a.delivered_bytes, b.delivered_bytes),
                    retransmissions: by(a.retransmissions, b.retransmissions),
                    retransmitted_bytes: by(a.retransmitted_bytes, b.retransmitted_bytes),
                    timeouts: by(a.timeouts, b.timeouts),
                    recovery_timeouts: by(a.recovery_timeouts, b.recovery_timeouts),
                    recoveries: by(a.recoveries, b.recoveries),
                    reductions: by(a.reductions, b.reductions),
                    reduced_again: by(a.reduced_again, b.reduced_again),
                    discarded: by(a.discarded, b.discarded),
                }
            }),
        }
    }
}

/// Of two gateways, or of two lives of one.
impl Add for Summary {
    type Output = Summary;
    fn add(self, other: Summary) -> Summary {
        self.each(&other, |a, b| a + b)
    }
}

/// Since an earlier moment.
impl Sub for Summary {
    type Output = Summary;
    fn sub(self, earlier: Summary) -> Summary {
        self.each(&earlier, |now, then| now - then)
    }
}
