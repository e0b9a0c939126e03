//! A scenario's flows as workloads.

use super::Layout;
use crate::simulation::Simulation;
use crate::workload::{
    Bulk, FlowEnds, Http, Http2, Http2Rng, HttpRng, Ping, Poisson, PoissonRng, RequestPlan,
    RequestResponse, RequestRng, Telnet, Timed, Udp, UdpRng, Web, WebRng, Workload as Traffic,
};
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::time::Instant;
use bentpipe_links::Seeds;
use bentpipe_results::FlowId;
use bentpipe_scenario::{Flow, NodeIndex, Scenario, Workload};
use rand_pcg::Pcg64Mcg;

/// Adds the workload of every flow.
pub(super) fn add(simulation: &mut Simulation, scenario: &Scenario, layout: &Layout, seeds: Seeds) {
    for flow in &scenario.flows {
        for instance in flow.instances() {
            let id = simulation.meters_mut().add(instance.clone(), flow.background);
            let ends = FlowEnds {
                flow: id,
                from: layout.node(flow.from),
                to: layout.node(flow.to),
                tcp_from: fitting(scenario, flow.from, flow.tcp_from),
                tcp_to: fitting(scenario, flow.to, flow.tcp_to),
            };
            one(simulation, flow, ends, &Streams { seeds, instance });
        }
    }
}

/// A host's TCP, with an MSS that fits into the packets of its links (RFC 9293, 3.7.1).
fn fitting(scenario: &Scenario, host: NodeIndex, mut tcp: ConnectionConfig) -> ConnectionConfig {
    const HEADERS: u32 = 40;
    let own = scenario.links.iter().filter(|link| link.between.contains(&host));
    if let Some(mtu) = own.filter_map(|link| link.mtu).min() {
        let mss = u16::try_from(mtu.saturating_sub(HEADERS)).unwrap_or(u16::MAX);
        tcp.mss = tcp.mss.min(mss);
    }
    tcp
}

/// A flow's streams of random numbers, one for each thing that is drawn: a change to one does not
/// shift the others.
struct Streams {
    seeds: Seeds,
    instance: String,
}

impl Streams {
    fn of(&self, what: &str) -> Pcg64Mcg {
        self.seeds.rng(&format!("flow.{}/{what}", self.instance))
    }
}

fn one(simulation: &mut Simulation, flow: &Flow, ends: FlowEnds, rng: &Streams) {
    let mut timed = Timing { simulation, flow, id: ends.flow, rng };
    match flow.workload.clone() {
        Workload::Bulk { bytes, opened_by, barrier } => {
            let bytes = bytes.map(|bytes| bytes.sample(&mut rng.of("size")).count());
            // One that is to stop when it starts never comes.
            let start = flow.start.sample(&mut rng.of("start"));
            let comes = flow.stop.is_none_or(|stop| stop > start);
            let barrier = barrier.filter(|_| comes);
            let turn = rng.seeds.turn(&rng.instance);
            let barrier = barrier.map(|name| timed.simulation.barriers_mut().join(&name, turn));
            timed.add(Bulk::new(ends, opened_by, bytes).waiting(barrier));
        }
        Workload::RequestResponse { request, reply, server_delay, think, requests, connection } => {
            let plan = RequestPlan { request, reply, server_delay, think, requests, connection };
            let rng = RequestRng {
                request: rng.of("request"),
                reply: rng.of("reply"),
                delay: rng.of("server-delay"),
                think: rng.of("think"),
            };
            timed.add(RequestResponse::new(ends.prompt(), plan, rng));
        }
        Workload::Http(plan) => {
            let rng = HttpRng {
                request: rng.of("request"),
                delay: rng.of("server-delay"),
                think: rng.of("think"),
                cache: rng.of("web-cache"),
            };
            timed.add(Http::new(ends.prompt(), plan, rng));
        }
        Workload::Http2(plan) => {
            let rng = Http2Rng {
                request: rng.of("request"),
                delay: rng.of("server-delay"),
                think: rng.of("think"),
            };
            timed.add(Http2::new(ends.prompt(), plan, rng));
        }
        Workload::Telnet { between, keystroke, echo } => {
            let (keystroke, echo) = (keystroke.count(), echo.count());
            timed.add(Telnet::new(ends, between, keystroke, echo, rng.of("between")));
        }
        Workload::Web { load, connections } => {
            let rng = WebRng {
                arrival: rng.of("arrival"),
                objects: rng.of("objects"),
                request: rng.of("request"),
                reply: rng.of("reply"),
                cache: rng.of("web-cache"),
            };
            timed.add(Web::new(ends, &load, connections, rng));
        }
        Workload::Poisson { size, load } => {
            let rng = PoissonRng { arrival: rng.of("arrival"), size: rng.of("size") };
            timed.add(Poisson::new(ends, size, &load, rng));
        }
        Workload::Udp { arrivals, packet } => {
            let rng = UdpRng { arrival: rng.of("arrival"), on: rng.of("on"), off: rng.of("off") };
            timed.add(Udp::new(ends, arrivals, packet.count(), rng));
        }
        Workload::Ping { packet, pace, packets } => {
            timed.add(Ping::new(ends, packet.count(), pace, packets));
        }
    }
}

/// When a flow's workload begins and ends.
struct Timing<'a> {
    simulation: &'a mut Simulation,
    flow: &'a Flow,
    id: FlowId,
    rng: &'a Streams,
}

impl Timing<'_> {
    fn add(&mut self, workload: impl Traffic + 'static) {
        let start = Instant::ZERO + self.flow.start.sample(&mut self.rng.of("start"));
        let stop = self.flow.stop.map(|stop| Instant::ZERO + stop);
        self.simulation.add(Timed::new(self.id, start, stop, workload));
    }
}
