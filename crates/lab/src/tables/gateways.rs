//! What is said of a gateway.

use super::column;
use crate::cell::CellKind::{Count, Number, Text};
use crate::cell::{Cell, Column};
use bentpipe_gateway::Reason;
use bentpipe_gateway::Reason::{
    ClientLimit, HalfOpen, NoRoom, NotTcp, Options, Route, UnknownFlow,
};
use bentpipe_gateway::Side::{Lan, Satellite};
use bentpipe_results::GatewayRow;

/// The columns. Counts are of the measured part of the run.
pub const GATEWAYS: &[Column<GatewayRow>] = &[
    column("gateway", Text, "", "the gateway's name", |g| (&g.name).into()),
    column("split_flows", Count, "flows", "split", |g| g.split.into()),
    column("adopted_flows", Count, "flows", "of those, split in mid-life", |g| g.adopted.into()),
    column("closed_flows", Count, "flows", "split flows that ended in order", |g| g.closed.into()),
    column("reset_flows", Count, "flows", "split flows that ended in a reset", |g| g.reset.into()),
    column(
        "released_flows",
        Count,
        "flows",
        "split flows that went on unsplit, all that was held delivered",
        |g| g.released.into(),
    ),
    column("held_mean_bytes", Number, "bytes", "mean over time of what the buffers held", |g| {
        g.mean_held.into()
    }),
    column("held_max_bytes", Count, "bytes", "maximum held at once, warm-up included", |g| {
        g.max_held.into()
    }),
    column("lost_bytes", Count, "bytes", "acknowledged to their sender and given up", |g| {
        g.lost_bytes.into()
    }),
    column("forwarded_flows", Count, "flows", "connections that were not split", |g| {
        g.forwarded_flows.into()
    }),
    column("forwarded_packets", Count, "packets", "passed on as they came, for any reason", |g| {
        packets(g, &Reason::ALL)
    }),
    column(
        "forwarded_unknown_flow_packets",
        Count,
        "packets",
        "passed on: of no known flow",
        |g| packets(g, &[UnknownFlow]),
    ),
    column(
        "forwarded_options_packets",
        Count,
        "packets",
        "passed on: of connections with an option or data that cannot be split",
        |g| packets(g, &[Options]),
    ),
    column(
        "forwarded_no_room_packets",
        Count,
        "packets",
        "passed on: for want of memory or room in the table, or by a limit",
        |g| packets(g, &[NoRoom, HalfOpen, ClientLimit]),
    ),
    column(
        "forwarded_route_packets",
        Count,
        "packets",
        "passed on: that came on another path than their flow",
        |g| packets(g, &[Route]),
    ),
    column(
        "forwarded_not_opened_packets",
        Count,
        "packets",
        "passed on: of handshakes that were not completed",
        |g| packets(g, &Reason::OF_HANDSHAKES),
    ),
    column("forwarded_not_tcp_packets", Count, "packets", "passed on: that are not TCP", |g| {
        packets(g, &[NotTcp])
    }),
    column(
        "lan_received_bytes",
        Count,
        "bytes",
        "payload that came from the LAN side, once each",
        |g| g.legs[Lan].received_bytes.into(),
    ),
    column("lan_delivered_bytes", Count, "bytes", "payload that the LAN side acknowledged", |g| {
        g.legs[Lan].delivered_bytes.into()
    }),
    column("lan_retransmissions", Count, "segments", "retransmitted to the LAN side", |g| {
        g.legs[Lan].retransmissions.into()
    }),
    column("lan_retransmitted_bytes", Count, "bytes", "retransmitted to the LAN side", |g| {
        g.legs[Lan].retransmitted_bytes.into()
    }),
    column(
        "lan_timeouts",
        Count,
        "events",
        "expiries of retransmission timers towards the LAN side",
        |g| g.legs[Lan].timeouts.into(),
    ),
    column(
        "lan_recovery_timeouts",
        Count,
        "events",
        "of these, those in the midst of fast recovery",
        |g| g.legs[Lan].recovery_timeouts.into(),
    ),
    column(
        "lan_recoveries",
        Count,
        "events",
        "episodes of fast recovery towards the LAN side",
        |g| g.legs[Lan].recoveries.into(),
    ),
    column(
        "lan_window_reductions",
        Count,
        "events",
        "reductions of congestion windows towards the LAN side",
        |g| g.legs[Lan].reductions.into(),
    ),
    column(
        "lan_reduced_again_flows",
        Count,
        "flows",
        "connections whose window towards the LAN side was reduced in a second episode",
        |g| g.legs[Lan].reduced_again.into(),
    ),
    column(
        "satellite_received_bytes",
        Count,
        "bytes",
        "payload that came from the satellite side, once each",
        |g| g.legs[Satellite].received_bytes.into(),
    ),
    column(
        "satellite_delivered_bytes",
        Count,
        "bytes",
        "payload that the satellite side acknowledged",
        |g| g.legs[Satellite].delivered_bytes.into(),
    ),
    column(
        "satellite_retransmissions",
        Count,
        "segments",
        "retransmitted to the satellite side",
        |g| g.legs[Satellite].retransmissions.into(),
    ),
    column(
        "satellite_retransmitted_bytes",
        Count,
        "bytes",
        "retransmitted to the satellite side",
        |g| g.legs[Satellite].retransmitted_bytes.into(),
    ),
    column(
        "satellite_timeouts",
        Count,
        "events",
        "expiries of retransmission timers towards the satellite side",
        |g| g.legs[Satellite].timeouts.into(),
    ),
    column(
        "satellite_recovery_timeouts",
        Count,
        "events",
        "of these, those in the midst of fast recovery",
        |g| g.legs[Satellite].recovery_timeouts.into(),
    ),
    column(
        "satellite_recoveries",
        Count,
        "events",
        "episodes of fast recovery towards the satellite side",
        |g| g.legs[Satellite].recoveries.into(),
    ),
    column(
        "satellite_window_reductions",
        Count,
        "events",
        "reductions of congestion windows towards the satellite side",
        |g| g.legs[Satellite].reductions.into(),
    ),
    column(
        "satellite_reduced_again_flows",
        Count,
        "flows",
        "connections whose window towards the satellite side was reduced in a second episode",
        |g| g.legs[Satellite].reduced_again.into(),
    ),
];

/// Packets forwarded for these reasons.
fn packets(gateway: &GatewayRow, reasons: &[Reason]) -> Cell {
    gateway.forwarded_for(reasons).into()
}
