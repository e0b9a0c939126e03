//! Which connections the gateway has to see: of all others packets need not come to it.

use super::Gateway;
use crate::key::FlowKey;
use bentpipe_core::tcp::buffer::Buffer;
use std::net::SocketAddr;

impl<B: Buffer> Gateway<B> {
    /// Whether anything is kept of the connection between these ends: it is split, begins or is
    /// over, or it is forwarded and may yet be split, be found to be broken, or is measured. Of any
    /// other a packet that is not a SYN is forwarded as it came.
    pub fn knows(&self, one: SocketAddr, other: SocketAddr) -> bool {
        let [one, other] = [one, other].map(|end| (end.ip(), end.port()));
        let key = FlowKey::between(one, other);
        self.table.contains_key(&key)
            || self.half_open.contains(&key)
            || self.over.contains(&key)
            || self.candidates.contains(&key)
            || self.samples.contains(&key)
            || self.gaps.contains(&key)
    }
}
