//! The row of a gateway.

use bentpipe_gateway::{PerSide, Reason};

/// A gateway, over all its lives if it has crashed. Counts are of the measured time; one that its
/// source cannot give is absent.
#[derive(Debug, Clone, PartialEq)]
pub struct GatewayRow {
    /// Its name in the scenario.
    pub name: String,
    /// Flows split.
    pub split: Option<u64>,
    /// Of those, connections that were split in mid-life.
    pub adopted: Option<u64>,
    /// Split flows that ended in order.
    pub closed: Option<u64>,
    /// Split flows that ended in a reset.
    pub reset: Option<u64>,
    /// Split flows that went on unsplit, all that was held delivered.
    pub released: Option<u64>,
    /// Bytes that were acknowledged to their sender and could not be delivered.
    pub lost_bytes: Option<u64>,
    /// Connections that were not split, though there [was](Reason::leaves_a_connection) one to
    /// split.
    pub forwarded_flows: Option<u64>,
    /// Packets forwarded unchanged, in the order of [`Reason::ALL`].
    pub forwarded_packets: [Option<u64>; Reason::ALL.len()],
    /// Counts of all legs towards a side.
    pub legs: PerSide<LegCounts>,
    /// Mean of the bytes that its buffers have held over the measured time.
    pub mean_held: Option<f64>,
    /// The most bytes that they have held since the beginning.
    pub max_held: Option<u64>,
}

/// Counts of all legs of a gateway towards one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegCounts {
    /// Payload bytes received from it, once each.
    pub received_bytes: Option<u64>,
    /// Payload bytes that it has acknowledged.
    pub delivered_bytes: Option<u64>,
    /// Segments retransmitted to it.
    pub retransmissions: Option<u64>,
    /// Bytes retransmitted to it.
    pub retransmitted_bytes: Option<u64>,
    /// Retransmission timeouts towards it.
    pub timeouts: Option<u64>,
    /// Of these, those that ended a fast recovery.
    pub recovery_timeouts: Option<u64>,
    /// Episodes of fast recovery towards it.
    pub recoveries: Option<u64>,
    /// Reductions of congestion windows towards it.
    pub reductions: Option<u64>,
    /// Connections whose window towards it was reduced in a second episode.
    pub reduced_again: Option<u64>,
}

impl GatewayRow {
    /// Packets forwarded unchanged for any of these reasons; absent if one of their counts is.
    pub fn forwarded_for(&self, reasons: &[Reason]) -> Option<u64> {
        reasons.iter().map(|reason| self.forwarded_packets[*reason as usize]).sum()
    }
}
