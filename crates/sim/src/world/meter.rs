//! What a gateway has held over time, and counted over all its lives.

use super::{NodeId, World};
use crate::host::Application;
use crate::node::Node;
use bentpipe_core::link::{Count, Occupancy};
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::Instant;
use bentpipe_gateway::{Gateway, Summary};

/// The meter of a node that is a gateway, or was one.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// Its buffers' bytes.
    held: Occupancy,
    /// The counts of its former lives.
    former: Summary,
}

impl Meter {
    /// Something has happened to `gateway`.
    #[inline]
    pub(super) fn read<B: Buffer>(&mut self, now: Instant, gateway: &Gateway<B>) {
        self.held.set(now, Count { packets: 0, bytes: gateway.held() as u64 });
    }

    /// This life of `gateway` is over, and what it held is gone.
    pub(super) fn close<B: Buffer>(&mut self, now: Instant, gateway: &Gateway<B>) {
        self.held.set(now, Count::default());
        self.former = self.former + gateway.summary();
    }
}

impl<A: Application> World<A> {
    /// What gateway `id` has held, in bytes, and counted up to now.
    pub(crate) fn gateway_counts(&self, id: NodeId) -> (Occupancy, Summary) {
        let Meter { held, former } = &self.meters[id];
        let summary = match &self.nodes[id] {
            Node::Gateway(gateway, _) => *former + gateway.summary(),
            _ => *former,
        };
        (held.at(self.now), summary)
    }
}
