//! What the hosts of a scenario do: each kind of traffic is a [`Workload`], which opens
//! connections through [`Net`], is told what happens to them, and sets timers. [`Timed`] lets it
//! begin and end when its flow does.

mod bulk;
mod conversation;
mod http;
mod http2;
mod multiplex;
mod page;
mod ping;
mod poisson;
mod replies;
mod request;
mod telnet;
mod timed;
mod udp;
mod web;

pub use bulk::Bulk;
pub use http::{Http, HttpRng};
pub use http2::{Http2, Http2Rng};
pub use ping::Ping;
pub use poisson::{Poisson, PoissonRng};
pub use request::{RequestPlan, RequestResponse, RequestRng};
pub use telnet::Telnet;
pub use timed::Timed;
pub use udp::{Udp, UdpRng};
pub use web::{Web, WebRng};

use crate::packet::Echo;
use crate::simulation::{Net, Socket};
use crate::stream::Notice;
use crate::world::{Endpoint, NodeId};
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_links::{Distribution, RandomTime};
use bentpipe_results::FlowId;
use std::fmt;

/// Traffic of one kind.
pub trait Workload: fmt::Debug + Send {
    /// The flow begins.
    fn start(&mut self, net: &mut Net);

    /// The flow ends before its time: its connections are killed. Nothing is told any more.
    fn stop(&mut self, net: &mut Net);

    /// Something has happened to a connection that is this workload's.
    fn on_notice(&mut self, net: &mut Net, end: Endpoint, tag: u64, notice: Notice) {
        let _ = (net, end, tag, notice);
    }

    /// A moment set with [`Net::set_timer`] has come.
    fn on_timer(&mut self, net: &mut Net, mark: u64) {
        let _ = (net, mark);
    }

    /// A ping was answered at `at`.
    fn on_echo(&mut self, net: &mut Net, at: Instant, echo: Echo) {
        let _ = (net, at, echo);
    }

    /// A datagram of `len` payload bytes has arrived.
    fn on_datagram(&mut self, net: &mut Net, socket: Socket, len: u16) {
        let _ = (net, socket, len);
    }
}

/// The ends of a flow: their nodes and their TCPs.
#[derive(Debug, Clone, Copy)]
pub struct FlowEnds {
    /// What they count for.
    pub flow: FlowId,
    /// The end that data come from: the server.
    pub from: NodeId,
    /// The end that they go to: the client.
    pub to: NodeId,
    /// The server's TCP.
    pub tcp_from: ConnectionConfig,
    /// The client's.
    pub tcp_to: ConnectionConfig,
}

impl FlowEnds {
    /// Without Nagle's algorithm, which programs that ask and answer on connections that stay open
    /// switch off: it would keep each reply's last segment back for a round trip (Heidemann 1997,
    /// "Performance Interactions Between P-HTTP and TCP Implementations", 4.3).
    #[must_use]
    pub fn prompt(mut self) -> FlowEnds {
        self.tcp_from.sender.nagle = false;
        self.tcp_to.sender.nagle = false;
        self
    }
}

/// The mark of a workload's own timer: to go on.
const AGAIN: u64 = 1 << 63;

/// After how long a client calls again whose connection broke.
const RETRY: Duration = Duration::from_secs(1);

/// When what began at `since` is done again, `pause` from now: not at the same moment, which would
/// never pass between hosts without any distance.
fn next_moment(now: Instant, since: Instant, pause: Duration) -> Instant {
    (now + pause).max(since + Duration::from_micros(1))
}

/// The times between the events of a Poisson process of this rate; None if there are none.
fn poisson_process(per_second: f64) -> Option<RandomTime> {
    (per_second > 0.0).then(|| RandomTime(Distribution::Exponential(1.0 / per_second)))
}
