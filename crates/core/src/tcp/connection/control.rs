//! A congestion control from outside the catalogue.

use super::{Connection, Phase};
use crate::tcp::buffer::Buffer;
use crate::tcp::congestion::Congestion;

impl<B: Buffer> Connection<B> {
    /// Another congestion control from now on, once the handshake is complete. It is not part of
    /// the configuration: a snapshot of the connection does not bring it back.
    pub fn use_congestion(&mut self, congestion: Box<dyn Congestion>) {
        if let Phase::Synchronised(tcb) = &mut self.phase {
            tcb.sender.use_congestion(congestion);
        }
    }
}
