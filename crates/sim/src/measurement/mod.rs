//! The measurement of a run while it lasts: flows, transfers and time series.
//!
//! Every flow of a scenario has a [`FlowMeter`]: it counts over all connections that the flow's
//! workload attaches to it, from the end of the warm-up on. Work that has a beginning and an end (a
//! file, a reply, a page) is a [`Transfer`]. Links and gateways count for themselves; their
//! counts at the end of the warm-up are taken off.

mod flow;
mod output;
mod sequence;
mod series;

pub use flow::{FlowMeter, Role, TransferId};
pub(crate) use sequence::SequenceLog;
pub(crate) use series::Sampler;

use crate::stream::Stream;
use crate::world::{Endpoint, World};
use bentpipe_core::tcp::buffer::Pattern;
use bentpipe_core::tcp::connection::Connection;
use bentpipe_core::time::Instant;
use bentpipe_results::{FlowCounts, FlowId, FlowRow, Transfer, TransferRow};
use slab::Slab;
use std::collections::BTreeMap;

/// The meters of all flows of a run.
#[derive(Debug, Default)]
pub struct FlowMeters {
    flows: Vec<FlowMeter>,
    /// How many flows that are not background there are, and how many of them are over.
    foreground: (usize, usize),
    /// Of flows that are not background.
    transfers: Vec<Transfer>,
    /// Of background, as long as they last: only their number and their times' sum are kept.
    passing: Slab<Transfer>,
    /// Ends that are alive: whose they are, and what they count for.
    ends: BTreeMap<Endpoint, (FlowId, Role)>,
}

impl FlowMeters {
    /// A flow of this name. Background flows count neither for fairness nor for the end of a run.
    pub fn add(&mut self, name: String, background: bool) -> FlowId {
        self.foreground.0 += usize::from(!background);
        self.flows.push(FlowMeter::new(name, background));
        FlowId(self.flows.len() - 1)
    }

    /// The flows, in the order in which they were added.
    pub fn flows(&self) -> &[FlowMeter] {
        &self.flows
    }

    /// Transfers of flows that are not background, in the order in which they began.
    pub fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }

    /// What `end` does counts for `flow` from now on.
    pub fn attach(&mut self, end: Endpoint, flow: FlowId, role: Role) {
        self.ends.insert(end, (flow, role));
        self.flows[flow.0].connections += u64::from(role == Role::Source);
    }

    /// What `end` counts for.
    pub(crate) fn whose(&self, end: Endpoint) -> Option<(FlowId, Role)> {
        self.ends.get(&end).copied()
    }

    /// A transfer of `flow` begins.
    pub fn begin(&mut self, now: Instant, flow: FlowId) -> TransferId {
        let meter = &mut self.flows[flow.0];
        meter.started.get_or_insert(now);
        meter.begun += 1;
        let transfer = Transfer { flow, started: now, first_byte: None, completed: None, bytes: 0 };
        if meter.background {
            return TransferId(flow, self.passing.insert(transfer));
        }
        self.transfers.push(transfer);
        TransferId(flow, self.transfers.len() - 1)
    }

    /// The first byte of a transfer has come.
    pub fn first_byte(&mut self, now: Instant, transfer: TransferId) {
        if let Some(transfer) = self.transfer_mut(transfer) {
            transfer.first_byte.get_or_insert(now);
        }
    }

    /// A transfer is over; `bytes` were to be delivered, and have been.
    pub fn complete(&mut self, now: Instant, id: TransferId, bytes: u64) {
        let Some(transfer) = self.transfer_mut(id) else { return };
        (transfer.completed, transfer.bytes) = (Some(now), bytes);
        let took = now.saturating_since(transfer.started);
        let meter = &mut self.flows[id.0.0];
        meter.completed += 1;
        meter.took += took;
        self.forget(id);
    }

    /// A transfer will not be completed.
    pub fn give_up(&mut self, id: TransferId) {
        self.forget(id);
    }

    /// Background's transfers are not kept.
    fn forget(&mut self, TransferId(flow, index): TransferId) {
        if self.flows[flow.0].background {
            self.passing.try_remove(index);
        }
    }

    fn transfer_mut(&mut self, TransferId(flow, index): TransferId) -> Option<&mut Transfer> {
        match self.flows[flow.0].background {
            true => self.passing.get_mut(index),
            false => self.transfers.get_mut(index),
        }
    }

    /// A flow has sent a datagram, or a ping.
    pub fn sent(&mut self, now: Instant, flow: FlowId) {
        let meter = &mut self.flows[flow.0];
        meter.started.get_or_insert(now);
        meter.past.datagrams += 1;
    }

    /// A datagram of `bytes` has arrived at the sink, or a ping's answer at the source.
    pub fn arrived(&mut self, flow: FlowId, bytes: u64) {
        let meter = &mut self.flows[flow.0];
        meter.past.arrived += 1;
        meter.past.delivered += bytes;
    }

    /// Nothing more will come from `flow`.
    pub fn finish(&mut self, now: Instant, flow: FlowId) {
        let meter = &mut self.flows[flow.0];
        if meter.finished.is_none() {
            meter.finished = Some(now);
            self.foreground.1 += usize::from(!meter.background);
        }
    }

    /// Whether all flows are over that are not background.
    pub fn all_done(&self) -> bool {
        let (all, over) = self.foreground;
        all > 0 && all == over
    }

    /// A connection is gone; this was its end.
    pub(crate) fn depart(
        &mut self,
        end: Endpoint,
        stream: &Stream,
        connection: &Connection<Pattern>,
    ) {
        if let Some((flow, role)) = self.ends.remove(&end) {
            flow::count(&mut self.flows[flow.0].past, role, stream, connection);
        }
    }

    /// The counts of every flow at this moment.
    pub(crate) fn counts(&self, world: &World<Stream>) -> Vec<FlowCounts> {
        let mut counts: Vec<_> = self.flows.iter().map(|flow| flow.past).collect();
        for (&end, &(flow, role)) in &self.ends {
            if let Some((connection, stream)) = world.session(end) {
                flow::count(&mut counts[flow.0], role, stream, connection);
            }
        }
        counts
    }

    /// The live ends that send for `flow`.
    pub fn sources(&self, flow: FlowId) -> impl Iterator<Item = Endpoint> + '_ {
        let of_flow = move |&(_, &(of, role)): &(&Endpoint, &(FlowId, Role))| {
            of == flow && role == Role::Source
        };
        self.ends.iter().filter(of_flow).map(|(&end, _)| end)
    }
}

impl FlowMeters {
    /// The flows' results between two moments, of which `before` are the counts at the first. `max`
    /// is what the path of each could carry.
    pub(crate) fn rows(
        &self,
        world: &World<Stream>,
        before: &[FlowCounts],
        measured: (Instant, Instant),
        max: &[Option<f64>],
    ) -> (Vec<FlowRow>, Vec<TransferRow>) {
        let counts = self.counts(world);
        let mut times = vec![Vec::new(); self.flows.len()];
        for transfer in &self.transfers {
            if let Some(end) = transfer.completed {
                times[transfer.flow.0].push(end.saturating_since(transfer.started));
            }
        }
        let flows = self.flows.iter().zip(times).enumerate().map(|(index, (meter, times))| {
            let counts = before.get(index).map_or(counts[index], |b| counts[index].since(b));
            let max = max.get(index).copied().flatten();
            meter.row(&counts, measured, times, max)
        });
        let transfers = self.transfers.iter().map(|&transfer| TransferRow {
            flow: self.flows[transfer.flow.0].name.clone(),
            transfer,
        });
        (flows.collect(), transfers.collect())
    }
}
