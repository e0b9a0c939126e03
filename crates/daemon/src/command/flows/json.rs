//! Flows as JSON.
//!
//! There may be thousands, and `top` asks for them every second. So they are written as they are,
//! without a tree of values between.

use bentpipe_core::tcp::limiter::Limiter;
use bentpipe_core::time::Duration;
use bentpipe_core::units::Bytes;
use bentpipe_gateway::{FlowView, LegView};
use serde::Serialize;
use std::net::{IpAddr, SocketAddr};

/// A flow, by the names of its figures.
#[derive(Serialize)]
pub(in super::super) struct FlowJson {
    number: usize,
    opener: IpAddr,
    client: SocketAddr,
    server: SocketAddr,
    state: &'static str,
    age_s: f64,
    idle_s: f64,
    held_bytes: u64,
    remote: Option<String>,
    legs: Option<Legs>,
}

#[derive(Serialize)]
struct Legs {
    client: Leg,
    server: Leg,
}

#[derive(Serialize)]
struct Leg {
    side: &'static str,
    srtt_s: Option<f64>,
    rttvar_s: Option<f64>,
    min_rtt_s: Option<f64>,
    cwnd_bytes: u64,
    ssthresh_bytes: Option<u64>,
    in_flight_bytes: u64,
    usable_window_bytes: u64,
    received_bytes: u64,
    delivered_bytes: u64,
    backlog_bytes: u64,
    retransmissions: u64,
    retransmitted_bytes: u64,
    timeouts: u64,
    limiter: Option<&'static str>,
    goodput_bps: u64,
}

impl From<&FlowView> for FlowJson {
    fn from(flow: &FlowView) -> FlowJson {
        FlowJson {
            number: flow.number,
            opener: flow.opener,
            client: flow.client,
            server: flow.server,
            state: flow.state.name(),
            age_s: flow.age.as_secs_f64(),
            idle_s: flow.idle.as_secs_f64(),
            held_bytes: flow.held.count(),
            remote: flow.remote.map(|remote| remote.to_string()),
            legs: flow
                .legs
                .as_ref()
                .map(|[client, server]| Legs { client: client.into(), server: server.into() }),
        }
    }
}

impl From<&LegView> for Leg {
    fn from(leg: &LegView) -> Leg {
        let seconds = |span: Duration| span.as_secs_f64();
        Leg {
            side: leg.side.name(),
            srtt_s: leg.srtt.map(seconds),
            rttvar_s: leg.srtt.map(|_| seconds(leg.rttvar)),
            min_rtt_s: leg.min_rtt.map(seconds),
            cwnd_bytes: leg.cwnd.count(),
            ssthresh_bytes: leg.ssthresh.map(Bytes::count),
            in_flight_bytes: leg.in_flight.count(),
            usable_window_bytes: leg.usable_window.count(),
            received_bytes: leg.received.count(),
            delivered_bytes: leg.delivered.count(),
            backlog_bytes: leg.backlog.count(),
            retransmissions: leg.retransmissions,
            retransmitted_bytes: leg.retransmitted.count(),
            timeouts: leg.timeouts,
            limiter: leg.limiter.map(Limiter::name),
            goodput_bps: leg.goodput.bits_per_sec(),
        }
    }
}

/// A list of flows, in a line.
pub(in super::super) fn json(flows: &[FlowView]) -> serde_json::Result<Vec<u8>> {
    let flows: Vec<FlowJson> = flows.iter().map(FlowJson::from).collect();
    let mut text = serde_json::to_vec(&flows)?;
    text.push(b'\n');
    Ok(text)
}
