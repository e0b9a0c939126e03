//! A bulk transfer: one connection that carries so many bytes, or as many as it can as long as the
//! flow lasts.

use super::{Ends, Workload};
use crate::record::{Role, TransferId};
use crate::simulation::{Call, Net, Service};
use crate::stream::Notice;
use crate::world::Endpoint;
use bentpipe_core::tcp::connection::Opening;
use bentpipe_scenario as scenario;

/// One transfer.
#[derive(Debug)]
pub struct Bulk {
    ends: Ends,
    /// Who opens the connection: the sender, or, for a download, the receiver.
    opened_by: scenario::FlowEnd,
    /// How much to send; None: without end.
    bytes: Option<u64>,
    transfer: Option<TransferId>,
    /// The connection's ends.
    open: Vec<Endpoint>,
}

const SOURCE: u64 = 0;
const SINK: u64 = 1;

impl Bulk {
    /// So many bytes, or as many as there can be, in one connection.
    pub fn new(ends: Ends, opened_by: scenario::FlowEnd, bytes: Option<u64>) -> Bulk {
        // A prearranged connection has no handshake: whoever sends is the first to be heard of.
        let prearranged = ends.tcp_to.opening == Opening::Prearranged;
        let opened_by = if prearranged { scenario::FlowEnd::From } else { opened_by };
        Bulk { ends, opened_by, bytes, transfer: None, open: Vec::new() }
    }

    fn send(&self, net: &mut Net, end: Endpoint) {
        net.send(end, self.bytes.unwrap_or(u64::MAX));
        if self.bytes.is_some() {
            net.close(end);
        }
    }
}

impl Workload for Bulk {
    fn start(&mut self, net: &mut Net) {
        self.transfer = Some(net.records.begin(net.now(), self.ends.flow));
        let Ends { from, to, tcp_from, tcp_to, .. } = self.ends;
        let call = match self.opened_by {
            // A T/TCP's SYN may carry the first of the data.
            scenario::FlowEnd::From => Call {
                from,
                to,
                service: Service::Other,
                tcp: [tcp_from, tcp_to],
                tags: [SOURCE, SINK],
                send: self.bytes.unwrap_or(u64::MAX),
                close: self.bytes.is_some(),
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

    fn stop(&mut self, net: &mut Net) {
        for end in self.open.drain(..) {
            net.quit(end);
        }
    }

    fn on_notice(&mut self, net: &mut Net, end: Endpoint, tag: u64, notice: Notice) {
        let now = net.now();
        match (notice, tag) {
            (Notice::Begun, SOURCE) => {
                self.open.push(end);
                net.records.attach(end, self.ends.flow, Role::Source);
                if self.opened_by == scenario::FlowEnd::To {
                    self.send(net, end);
                }
            }
            (Notice::Begun, _) => {
                self.open.push(end);
                net.records.attach(end, self.ends.flow, Role::Sink);
                net.expect(end, 1);
            }
            (Notice::Received(read), SINK) => {
                let Some(transfer) = self.transfer else { return };
                match self.bytes {
                    Some(bytes) if read >= bytes => {
                        net.records.first_byte(now, transfer);
                        net.records.complete(now, transfer, bytes);
                        net.records.finish(now, self.ends.flow);
                    }
                    bytes => {
                        net.records.first_byte(now, transfer);
                        if let Some(bytes) = bytes {
                            net.expect(end, bytes);
                        }
                    }
                }
            }
            (Notice::PeerClosed, SINK) => net.close(end),
            (Notice::Reset | Notice::TimedOut, _) => net.records.finish(now, self.ends.flow),
            (Notice::Gone, _) => self.open.retain(|open| *open != end),
            _ => {}
        }
    }
}
