//! Remedies inside the network (RFC 3135, RFC 3449): boxes that look at the packets which pass
//! between a node and one of its links. "Out" is from the node (port 0) onto the link (port 1).
//!
//! What is out of what a box can do between two ports acts on the link itself: filtering needs its
//! queue.

mod ack_decimator;
mod ack_spacer;
mod bottleneck_rate;
mod clears_df;
mod fakes;
mod liar;
mod resender;
mod snoop;
mod spoof;
mod web_cache;

use crate::line::Line;
use crate::node::Middlebox;
use crate::packet::{Content, Packet};
use ack_decimator::AckDecimator;
use ack_spacer::AckSpacer;
use bentpipe_scenario::{self as scenario, MiddleboxKind};
pub use clears_df::{ClearsDf, Pieced};
pub(crate) use fakes::is_fake;
pub use fakes::{Fake, Fakes, FakesEnd};
pub use liar::{Alias, Liar, Lies};
use snoop::Snoop;
use spoof::Spoof;
use std::net::IpAddr;
use web_cache::Interceptor;
pub(crate) use web_cache::{CALLER, FACES, WebCache};

/// The box for `middlebox`, whose packets go out on `line`; None if the line does it all. A Web
/// cache calls from `own` and stands for `servers`. A liar draws from `seed`.
pub(crate) fn build(
    middlebox: &scenario::Middlebox,
    line: &mut Line,
    own: IpAddr,
    servers: &[IpAddr],
    seed: u64,
) -> Option<Box<dyn Middlebox>> {
    Some(match middlebox.kind {
        MiddleboxKind::AckFilter => {
            line.direction_mut().filter_superseded();
            return None;
        }
        MiddleboxKind::AckDecimator { one_in, longest } => {
            Box::new(AckDecimator::new(one_in, longest))
        }
        MiddleboxKind::AckSpacer { rate } => Box::new(AckSpacer::new(rate)),
        MiddleboxKind::Snoop { memory, min_timeout } => Box::new(Snoop::new(memory, min_timeout)),
        MiddleboxKind::Spoof { memory } => Box::new(Spoof::new(memory)),
        MiddleboxKind::WebCache { .. } => Box::new(Interceptor::new(own, servers.to_vec())),
        MiddleboxKind::Liar { alias, bytes, clock } => {
            let alias = match alias {
                scenario::Alias::Own => Alias::Own(seed as u32),
                scenario::Alias::New => Alias::New,
                scenario::Alias::Stolen => Alias::Stolen,
            };
            Box::new(Liar::new(Lies { alias, share: 1.0, bytes, clock, announces: true }, seed))
        }
    })
}

/// A direction of a TCP connection: source and destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FourTuple([(IpAddr, u16); 2]);

impl FourTuple {
    /// That of a TCP packet.
    fn of(packet: &Packet) -> Option<FourTuple> {
        let Content::Tcp(tcp, _) = &packet.content else { return None };
        Some(FourTuple([(packet.ip.src, tcp.src_port), (packet.ip.dst, tcp.dst_port)]))
    }

    fn reversed(self) -> FourTuple {
        let FourTuple([source, destination]) = self;
        FourTuple([destination, source])
    }
}
