//! A bulk transfer: the sender opens a connection and sends so many bytes, or as long as the run
//! lasts.

use super::Workload;
use crate::simulation::Net;
use crate::stream::Notice;
use crate::world::{End, NodeId};
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::time::Instant;

/// One transfer.
#[derive(Debug)]
pub struct Bulk {
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// The receiver's port, which no other workload uses there.
    pub port: u16,
    /// The sender's TCP.
    pub sender: ConnectionConfig,
    /// The receiver's.
    pub receiver: ConnectionConfig,
    /// How much to send; None: without end.
    pub bytes: Option<u64>,
    /// When the sender opens its connection.
    pub start: Instant,
}

impl Workload for Bulk {
    fn start(&mut self, net: &mut Net) {
        net.listen(self.to, self.port, self.receiver, 1);
        net.wake(self.start, 0);
    }

    fn on_timer(&mut self, net: &mut Net, _mark: u64) {
        let end = net.open(self.from, self.to, self.port, self.sender, 0);
        net.send(end, self.bytes.unwrap_or(u64::MAX));
        if self.bytes.is_some() {
            net.close(end);
        }
    }

    fn on_notice(&mut self, net: &mut Net, end: End, tag: u64, notice: Notice) {
        match (tag, notice) {
            (1, Notice::PeerClosed) => net.close(end),
            _ => {}
        }
    }
}
