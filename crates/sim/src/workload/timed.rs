//! A flow between its start and its stop.

use super::Workload;
use crate::packet::Echo;
use crate::simulation::{Net, Socket};
use crate::stream::Notice;
use crate::world::Endpoint;
use bentpipe_core::time::Instant;
use bentpipe_results::FlowId;

/// A workload that begins at one moment, and ends at another at the latest.
#[derive(Debug)]
pub struct Timed<W> {
    /// What it counts for.
    pub flow: FlowId,
    /// When it begins.
    pub start: Instant,
    /// When it ends.
    pub stop: Option<Instant>,
    /// What happens between.
    pub workload: W,
    /// The stop has come.
    stopped: bool,
}

/// Marks that no workload uses.
const START: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;

impl<W> Timed<W> {
    /// A workload between two moments.
    pub fn new(flow: FlowId, start: Instant, stop: Option<Instant>, workload: W) -> Timed<W> {
        Timed { flow, start, stop, workload, stopped: false }
    }
}

impl<W: Workload> Workload for Timed<W> {
    fn start(&mut self, net: &mut Net) {
        // A flow that is to stop when it starts does not start.
        if let Some(stop) = self.stop {
            net.set_timer(stop, STOP);
        }
        net.set_timer(self.start, START);
    }

    fn stop(&mut self, net: &mut Net) {
        self.stopped = true;
        if self.start < net.now() {
            self.workload.stop(net);
        }
        net.meters.finish(net.now(), self.flow);
    }

    fn on_timer(&mut self, net: &mut Net, mark: u64) {
        match mark {
            _ if self.stopped => {}
            START => self.workload.start(net),
            STOP => self.stop(net),
            mark => self.workload.on_timer(net, mark),
        }
    }

    fn on_notice(&mut self, net: &mut Net, end: Endpoint, tag: u64, notice: Notice) {
        if !self.stopped {
            self.workload.on_notice(net, end, tag, notice);
        } else if notice == Notice::PeerClosed {
            // A connection whose work was done, and that is still closing.
            net.close(end);
        }
    }

    fn on_echo(&mut self, net: &mut Net, at: Instant, echo: Echo) {
        if !self.stopped {
            self.workload.on_echo(net, at, echo);
        }
    }

    fn on_datagram(&mut self, net: &mut Net, socket: Socket, len: u16) {
        if !self.stopped {
            self.workload.on_datagram(net, socket, len);
        }
    }
}
