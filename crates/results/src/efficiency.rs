//! The limit of flows: the rate of their slowest link, headers taken off.

use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::time::Instant;
use bentpipe_core::wire::{TcpOptions, Timestamps};
use bentpipe_scenario::{Flow, Scenario, Workload, network};

/// Headers of IPv4 and TCP; of IPv4 and UDP.
const TCP_HEADERS: f64 = 40.0;
const UDP_HEADERS: f64 = 28.0;

/// By flow: the most goodput that its path carries in full segments, in bit/s.
///
/// `None` without any link of a rate on the way, and for pings.
pub fn most_goodputs(scenario: &Scenario) -> Vec<Option<f64>> {
    let flows = scenario.flows.iter().flat_map(|flow| {
        let max = most_goodput(scenario, flow);
        std::iter::repeat_n(max, flow.instances().count())
    });
    flows.collect()
}

fn most_goodput(scenario: &Scenario, flow: &Flow) -> Option<f64> {
    let way = network::path(&scenario.nodes, &scenario.links, flow.from, flow.to)?;
    let rates = way.iter().filter_map(|(link, from)| {
        let rate = scenario.link(*link).from(*from)?.rate.as_ref()?;
        Some(rate.at(Instant::ZERO).bits_per_sec() as f64)
    });
    let slowest = rates.reduce(f64::min)?;
    let share = match &flow.workload {
        Workload::Ping { .. } => return None,
        Workload::Udp { packet, .. } => {
            let packet = packet.count() as f64;
            (packet - UDP_HEADERS).max(0.0) / packet
        }
        _ => payload_share(&flow.tcp_from, &flow.tcp_to),
    };
    Some(slowest * share).filter(|max| *max > 0.0)
}

/// Of the largest packet, what is payload.
fn payload_share(from: &ConnectionConfig, to: &ConnectionConfig) -> f64 {
    let mss = f64::from(from.mss.min(to.mss));
    let both = |on: fn(&ConnectionConfig) -> bool| on(from) && on(to);
    let options = TcpOptions {
        timestamps: both(|tcp| tcp.timestamps).then_some(Timestamps { value: 0, echo: 0 }),
        cc: both(|tcp| tcp.transactions).then_some(0),
        ..TcpOptions::default()
    };
    (mss - options.wire_len() as f64) / (mss + TCP_HEADERS)
}
