//! Background of transfers that begin as a Poisson process, each on a connection of its own that
//! its sender opens.

use super::{AGAIN, FlowEnds, Workload};
use crate::measurement::{Role, TransferId};
use crate::simulation::{Call, Net, Service};
use crate::stream::Notice;
use crate::world::Endpoint;
use bentpipe_links::{RandomSize, RandomTime};
use bentpipe_scenario::Load;
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;

/// Transfers of many users.
#[derive(Debug)]
pub struct Poisson {
    ends: FlowEnds,
    size: RandomSize,
    between: Option<RandomTime>,
    rng: PoissonRng,
    begun: u64,
    /// Those that have not arrived, by their numbers.
    transfers: BTreeMap<u64, Sending>,
}

/// The flow's random numbers.
#[derive(Debug)]
pub struct PoissonRng {
    /// Of the transfers' beginnings.
    pub arrival: Pcg64Mcg,
    /// Of their sizes.
    pub size: Pcg64Mcg,
}

#[derive(Debug)]
struct Sending {
    transfer: TransferId,
    bytes: u64,
    ends: Vec<Endpoint>,
}

const SINK: u64 = 1;

impl Poisson {
    /// Transfers of these sizes that together offer `load`.
    pub fn new(ends: FlowEnds, size: RandomSize, load: &Load, rng: PoissonRng) -> Poisson {
        // The mean of sizes as they are drawn, rounded up: the load is what it says.
        let between = super::poisson_process(load.per_second(size.mean_bytes()));
        Poisson { ends, size, between, rng, begun: 0, transfers: BTreeMap::new() }
    }

    fn await_next(&mut self, net: &mut Net) {
        if let Some(between) = &self.between {
            net.set_timer(net.now() + between.sample(&mut self.rng.arrival), AGAIN);
        }
    }

    fn send(&mut self, net: &mut Net) {
        self.begun += 1;
        let id = self.begun;
        let bytes = self.size.sample(&mut self.rng.size).count();
        let FlowEnds { flow, from, to, tcp_from, tcp_to } = self.ends;
        let transfer = net.meters.begin(net.now(), flow);
        let tags = [id << 1, id << 1 | SINK];
        let tcp = [tcp_from, tcp_to];
        let source = net.open(Call {
            from,
            to,
            service: Service::Other,
            tcp,
            tags,
            send: bytes,
            close: true,
        });
        net.meters.attach(source, flow, Role::Source);
        self.transfers.insert(id, Sending { transfer, bytes, ends: vec![source] });
    }
}

impl Workload for Poisson {
    fn start(&mut self, net: &mut Net) {
        self.await_next(net);
    }

    fn stop(&mut self, net: &mut Net) {
        for sending in std::mem::take(&mut self.transfers).into_values() {
            sending.quit(net);
        }
    }

    fn on_timer(&mut self, net: &mut Net, _mark: u64) {
        self.send(net);
        self.await_next(net);
    }

    fn on_notice(&mut self, net: &mut Net, end: Endpoint, tag: u64, notice: Notice) {
        let (id, at_sink) = (tag >> 1, tag & 1 == SINK);
        if notice == Notice::Begun && at_sink {
            net.meters.attach(end, self.ends.flow, Role::Sink);
        }
        if notice == Notice::PeerClosed {
            net.close(end);
        }
        let Some(sending) = self.transfers.get_mut(&id) else { return };
        match notice {
            Notice::Begun if at_sink => {
                sending.ends.push(end);
                net.expect(end, 1);
            }
            Notice::Received(read) => {
                net.meters.first_byte(net.now(), sending.transfer);
                if read < sending.bytes {
                    return net.expect(end, sending.bytes);
                }
                net.meters.complete(net.now(), sending.transfer, sending.bytes);
                self.transfers.remove(&id);
            }
            Notice::Reset | Notice::TimedOut | Notice::Gone => {
                net.meters.give_up(sending.transfer);
                self.transfers.remove(&id).expect("it was just seen").quit(net);
            }
            _ => {}
        }
    }
}

impl Sending {
    fn quit(self, net: &mut Net) {
        for end in self.ends {
            net.quit(end);
        }
    }
}
