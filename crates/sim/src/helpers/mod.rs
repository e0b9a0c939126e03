//! Remedies inside the network (RFC 3135, RFC 3449): boxes that look at the packets which pass
//! between a node and one of its links. "Out" is from the node (port 0) onto the link (port 1).
//!
//! What is out of what a box can do between two ports acts on the link itself: filtering needs its
//! queue.

mod ack_decimator;
mod ack_spacer;
mod resender;
mod snoop;
mod spoof;
mod web_cache;

use crate::line::Line;
use crate::node::Helper;
use crate::packet::{Content, Packet};
use ack_decimator::AckDecimator;
use ack_spacer::AckSpacer;
use bentpipe_scenario::{self as scenario, HelperKind};
use snoop::Snoop;
use spoof::Spoof;
use std::net::IpAddr;
use web_cache::Interceptor;
pub(crate) use web_cache::{CALLER, FACES, WebCache};

/// The box for `helper`, whose packets go out on `line`; None if the line does it all. A Web cache
/// calls from `own` and stands for `servers`.
pub(crate) fn build(
    helper: &scenario::Helper,
    line: &mut Line,
    own: IpAddr,
    servers: &[IpAddr],
) -> Option<Box<dyn Helper>> {
    Some(match helper.kind {
        HelperKind::AckFilter => {
            line.filter_superseded();
            return None;
        }
        HelperKind::AckDecimator { one_in, longest } => {
            Box::new(AckDecimator::new(one_in, longest))
        }
        HelperKind::AckSpacer { rate } => Box::new(AckSpacer::new(rate)),
        HelperKind::Snoop { memory, min_timeout } => Box::new(Snoop::new(memory, min_timeout)),
        HelperKind::Spoof { memory } => Box::new(Spoof::new(memory)),
        HelperKind::WebCache { .. } => Box::new(Interceptor::new(own, servers.to_vec())),
    })
}

/// A direction of a TCP connection: source and destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Way([(IpAddr, u16); 2]);

impl Way {
    /// That of a TCP packet.
    fn of(packet: &Packet) -> Option<Way> {
        let Content::Tcp(tcp, _) = &packet.content else { return None };
        Some(Way([(packet.ip.src, tcp.src_port), (packet.ip.dst, tcp.dst_port)]))
    }

    fn back(self) -> Way {
        let Way([source, destination]) = self;
        Way([destination, source])
    }
}
