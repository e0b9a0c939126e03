//! The link that a testbed emulates.

use std::time::Duration;

use bentpipe_core::units::{Bytes, Probability, Rate};

/// The emulated satellite link, the same in both directions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SatelliteLink {
    /// The bottleneck's rate.
    pub rate: Rate,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// How many bytes the bottleneck's drop-tail queue holds.
    pub queue: Bytes,
    /// How many packets the link loses at random.
    pub loss: Probability,
}

impl SatelliteLink {
    /// A link that loses nothing, whose queue holds one bandwidth-delay product.
    pub fn with_bdp_queue(rate: Rate, delay: Duration) -> SatelliteLink {
        let queue = Bytes::new(rate.bytes_in(2 * delay));
        SatelliteLink { rate, delay, queue, loss: Probability::ZERO }
    }

    /// The same link with packets lost at random.
    #[must_use]
    pub fn with_loss(self, loss: Probability) -> SatelliteLink {
        SatelliteLink { loss, ..self }
    }
}
