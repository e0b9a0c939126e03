//! What was recorded besides packets: windows, timers and queues over time.

use crate::direction::Direction;

/// A quantity over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// The congestion window, in bytes.
    Cwnd,
    /// The slow start threshold, in bytes.
    Ssthresh,
    /// What the sender itself counts as outstanding, in bytes.
    Flight,
    /// The smoothed round-trip time, in nanoseconds.
    SmoothedRtt,
    /// The retransmission timeout, in nanoseconds.
    Rto,
    /// The rate of the pacer, in bit/s.
    PacingRate,
    /// A queue, in packets.
    QueuePackets,
    /// A queue, in bytes.
    QueueBytes,
}

impl Quantity {
    /// All.
    pub const ALL: [Quantity; 8] = [
        Quantity::Cwnd,
        Quantity::Ssthresh,
        Quantity::Flight,
        Quantity::SmoothedRtt,
        Quantity::Rto,
        Quantity::PacingRate,
        Quantity::QueuePackets,
        Quantity::QueueBytes,
    ];

    /// Its name in tables of results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Cwnd => "cwnd",
            Quantity::Ssthresh => "ssthresh",
            Quantity::Flight => "flight",
            Quantity::SmoothedRtt => "srtt",
            Quantity::Rto => "rto",
            Quantity::PacingRate => "spacing-rate",
            Quantity::QueuePackets => "queue-packets",
            Quantity::QueueBytes => "queue-bytes",
        }
    }

    /// The unit in which it is shown.
    #[must_use]
    pub fn unit(self) -> &'static str {
        self.look().1
    }

    /// On the page: its panel, its unit, its color, and the dashes of its line.
    pub(crate) fn look(self) -> (u8, &'static str, &'static str, &'static str) {
        match self {
            Quantity::Cwnd => (1, "B", "#0072b2", "[]"),
            Quantity::Ssthresh => (1, "B", "#cc79a7", "[6,3]"),
            Quantity::Flight => (1, "B", "#56b4e9", "[1,2]"),
            Quantity::SmoothedRtt => (3, "s", "#0072b2", "[]"),
            Quantity::Rto => (3, "s", "#d55e00", "[6,3]"),
            Quantity::PacingRate => (2, "bit/s", "#009e73", "[6,3]"),
            Quantity::QueuePackets => (4, "packets", "#24292f", "[]"),
            Quantity::QueueBytes => (4, "B", "#24292f", "[]"),
        }
    }
}

/// A quantity as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// What.
    pub quantity: Quantity,
    /// Its name in the legend.
    pub name: String,
    /// Whose it is, if it is an end's.
    pub end: Option<Direction>,
    /// Nanoseconds since 1970, and the value, in the order of time.
    pub values: Vec<(i64, i64)>,
}
