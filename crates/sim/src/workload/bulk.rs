//! A bulk transfer: one connection that carries so many bytes, or as many as it can as long as the
//! run lasts.

use super::Workload;
use crate::record::{FlowId, Role, TransferId};
use crate::simulation::Net;
use crate::stream::Notice;
use crate::world::{End, NodeId};
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::time::Instant;
use bentpipe_scenario as scenario;

/// One transfer.
#[derive(Debug)]
pub struct Bulk {
    /// What it counts for.
    pub flow: FlowId,
    /// The end that the data come from.
    pub from: NodeId,
    /// The end that they go to.
    pub to: NodeId,
    /// Who opens the connection: the sender, or, for a download, the receiver.
    pub opened_by: scenario::End,
    /// The other one's port, which no other workload uses there.
    pub port: u16,
    /// The sender's TCP.
    pub tcp_from: ConnectionConfig,
    /// The receiver's.
    pub tcp_to: ConnectionConfig,
    /// How much to send; None: without end.
    pub bytes: Option<u64>,
    /// When the connection is opened.
    pub start: Instant,
    /// None before it has begun.
    pub transfer: Option<TransferId>,
}

const CALLER: u64 = 0;
const CALLED: u64 = 1;

impl Bulk {
    /// Which of the two roles the end with this tag has.
    fn role(&self, tag: u64) -> Role {
        let caller_sends = self.opened_by == scenario::End::From;
        if (tag == CALLER) == caller_sends { Role::Source } else { Role::Sink }
    }
}

impl Workload for Bulk {
    fn start(&mut self, net: &mut Net) {
        match self.opened_by {
            scenario::End::From => net.listen(self.to, self.port, self.tcp_to, CALLED),
            scenario::End::To => net.listen(self.from, self.port, self.tcp_from, CALLED),
        }
        net.wake(self.start, 0);
    }

    fn on_timer(&mut self, net: &mut Net, _mark: u64) {
        self.transfer = Some(net.records.begin(net.now(), self.flow));
        match self.opened_by {
            scenario::End::From => net.open(self.from, self.to, self.port, self.tcp_from, CALLER),
            scenario::End::To => net.open(self.to, self.from, self.port, self.tcp_to, CALLER),
        };
    }

    fn on_notice(&mut self, net: &mut Net, end: End, tag: u64, notice: Notice) {
        let (role, now) = (self.role(tag), net.now());
        match (notice, role) {
            (Notice::Begun, role) => {
                net.records.attach(end, self.flow, role);
                match role {
                    Role::Source => {
                        net.send(end, self.bytes.unwrap_or(u64::MAX));
                        if self.bytes.is_some() {
                            net.close(end);
                        }
                    }
                    Role::Sink => {
                        if let Some(bytes) = self.bytes {
                            net.expect(end, bytes);
                        }
                    }
                }
            }
            (Notice::Received(bytes), Role::Sink) => {
                if let Some(transfer) = self.transfer {
                    net.records.complete(now, transfer, bytes);
                }
                net.records.finish(now, self.flow);
            }
            (Notice::PeerClosed, Role::Sink) => net.close(end),
            (Notice::Reset | Notice::TimedOut, _) => net.records.finish(now, self.flow),
            _ => {}
        }
    }
}
