//! A bulk transfer: one connection that carries so many bytes, or as many as it can as long as the
//! flow lasts.

use super::{AGAIN, FlowEnds, Workload};
use crate::barrier::Ticket;
use crate::measurement::{Role, TransferId};
use crate::simulation::{Call, Net, Service};
use crate::stream::Notice;
use crate::world::Endpoint;
use bentpipe_core::tcp::connection::Opening;
use bentpipe_scenario as scenario;

/// One transfer.
#[derive(Debug)]
pub struct Bulk {
    ends: FlowEnds,
    /// Who opens the connection: the sender, or, for a download, the receiver.
    opened_by: scenario::FlowEnd,
    /// How much to send; None: without end.
    bytes: Option<u64>,
    transfer: Option<TransferId>,
    /// It has its connection before it sends, and waits there for others.
    barrier: Option<Ticket>,
    /// The connection's ends.
    open: Vec<Endpoint>,
}

const SOURCE: u64 = 0;
const SINK: u64 = 1;

impl Bulk {
    /// So many bytes, or as many as there can be, in one connection.
    pub fn new(ends: FlowEnds, opened_by: scenario::FlowEnd, bytes: Option<u64>) -> Bulk {
        // A prearranged connection has no handshake: whoever sends is the first to be heard of.
        let prearranged = ends.tcp_to.opening == Opening::Prearranged;
        let opened_by = if prearranged { scenario::FlowEnd::From } else { opened_by };
        Bulk { ends, opened_by, bytes, transfer: None, barrier: None, open: Vec::new() }
    }

    /// Connects first, and sends when all have that wait at the same barrier.
    #[must_use]
    pub fn waiting(self, barrier: Option<Ticket>) -> Bulk {
        Bulk { barrier, ..self }
    }

    fn is_prearranged(&self) -> bool {
        self.ends.tcp_to.opening == Opening::Prearranged
    }

    /// The barrier is passed: the transfer begins.
    fn pass(&mut self, net: &mut Net) {
        if self.is_prearranged() {
            return self.connect(net, true);
        }
        self.transfer = Some(net.meters.begin(net.now(), self.ends.flow));
        let source = self.open.iter().copied().find(|end| end.host == self.ends.from);
        if let Some(source) = source {
            self.send(net, source);
        }
    }

    /// It has come to its barrier, if it has one.
    fn arrive(&mut self, net: &mut Net) {
        if let Some(barrier) = self.barrier.take() {
            net.reach(barrier, Some(AGAIN));
        }
    }

    /// It will not come to its barrier, if it has not.
    fn desert(&mut self, net: &mut Net) {
        if let Some(barrier) = self.barrier.take() {
            net.reach(barrier, None);
        }
    }

    fn send(&self, net: &mut Net, end: Endpoint) {
        net.send(end, self.bytes.unwrap_or(u64::MAX));
        if self.bytes.is_some() {
            net.close(end);
        }
    }
}

impl Bulk {
    /// Opens the connection; `sends`: the transfer begins with it.
    fn connect(&mut self, net: &mut Net, sends: bool) {
        if sends {
            self.transfer = Some(net.meters.begin(net.now(), self.ends.flow));
        }
        let FlowEnds { from, to, tcp_from, tcp_to, .. } = self.ends;
        let call = match self.opened_by {
            // A T/TCP's SYN may carry the first of the data.
            scenario::FlowEnd::From => Call {
                from,
                to,
                service: Service::Other,
                tcp: [tcp_from, tcp_to],
                tags: [SOURCE, SINK],
                send: if sends { self.bytes.unwrap_or(u64::MAX) } else { 0 },
                close: sends && self.bytes.is_some(),
            },
            scenario::FlowEnd::To => Call {
                from: to,
                to: from,
                service: Service::Other,
                tcp: [tcp_to, tcp_from],
                tags: [SINK, SOURCE],
                send: 0,
                close: false,
            },
        };
        net.open(call);
    }
}

impl Workload for Bulk {
    fn start(&mut self, net: &mut Net) {
        match self.barrier {
            // Without a handshake there is nothing to wait for but the others.
            Some(_) if self.is_prearranged() => self.arrive(net),
            barrier => self.connect(net, barrier.is_none()),
        }
    }

    fn on_timer(&mut self, net: &mut Net, mark: u64) {
        if mark == AGAIN {
            self.pass(net);
        }
    }

    fn stop(&mut self, net: &mut Net) {
        self.desert(net);
        for end in self.open.drain(..) {
            net.quit(end);
        }
    }

    fn on_notice(&mut self, net: &mut Net, end: Endpoint, tag: u64, notice: Notice) {
        let now = net.now();
        match (notice, tag) {
            (Notice::Begun, SOURCE) => {
                self.open.push(end);
                net.meters.attach(end, self.ends.flow, Role::Source);
                if self.opened_by == scenario::FlowEnd::To && self.transfer.is_some() {
                    self.send(net, end);
                }
            }
            (Notice::Connected, SOURCE) => self.arrive(net),
            (Notice::Begun, _) => {
                self.open.push(end);
                net.meters.attach(end, self.ends.flow, Role::Sink);
                net.expect(end, 1);
            }
            (Notice::Received(read), SINK) => {
                let Some(transfer) = self.transfer else { return };
                match self.bytes {
                    Some(bytes) if read >= bytes => {
                        net.meters.first_byte(now, transfer);
                        net.meters.complete(now, transfer, bytes);
                        net.meters.finish(now, self.ends.flow);
                    }
                    bytes => {
                        net.meters.first_byte(now, transfer);
                        if let Some(bytes) = bytes {
                            net.expect(end, bytes);
                        }
                    }
                }
            }
            (Notice::PeerClosed, SINK) => net.close(end),
            (Notice::Reset | Notice::TimedOut, _) => {
                self.desert(net);
                net.meters.finish(now, self.ends.flow);
            }
            (Notice::Gone, _) => self.open.retain(|open| *open != end),
            _ => {}
        }
    }
}
