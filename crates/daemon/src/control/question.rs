//! Questions to a running gateway, and orders.

use bentpipe_core::time::Duration;
use bentpipe_gateway::{Config, FlowView, Side, Unsplit};
use std::net::{IpAddr, SocketAddr};

/// A question to a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// For its totals.
    Totals,
    /// For these, and the prefixes of what passes.
    Status,
    /// For the totals, the prefixes of what passes, and each flow.
    Flows,
    /// For the totals, and the transfers that have ended.
    Report,
    /// For the totals, and the last connections that were not split.
    Unsplit,
    /// For the totals, each flow, connections that were not split, and what would become of a
    /// connection.
    Why(Connection),
}

/// An order to split, or to split nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// To split: for so long, or until it is told otherwise or reconfigured.
    Split(Option<Duration>),
    /// To split nothing, and to count what it would split.
    Observe,
}

/// The outcome of such an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turned {
    /// It is so.
    Done,
    /// It split before, and not on trial: nothing has changed.
    SplitsAlready,
    /// It is being stopped: nothing has changed.
    Drains,
}

/// A connection that there is, or may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// Where its client is.
    pub from: Side,
    /// Its client's address.
    pub client: IpAddr,
    /// Its server.
    pub server: SocketAddr,
}

impl Connection {
    /// Whether a flow's hosts are these: its client is known by its own address and by that which
    /// NAT has given it.
    pub fn is(&self, flow: &FlowView) -> bool {
        self.is_between(flow.opener, flow.client, flow.server)
    }

    /// Whether one that was not split had these hosts.
    pub fn was(&self, unsplit: &Unsplit) -> bool {
        self.is_between(unsplit.opener, unsplit.hosts.client, unsplit.hosts.server)
    }

    fn is_between(&self, opener: IpAddr, client: SocketAddr, server: SocketAddr) -> bool {
        [opener, client.ip()].contains(&self.client) && server == self.server
    }
}

/// What of a running gateway may be changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Reconfiguration {
    /// The parameters; the gateway [takes](bentpipe_gateway::Gateway::reconfigure) what may be
    /// changed.
    pub config: Config,
    /// These also decide whether it splits; else it stays as it was
    /// [turned](super::ControlClient::turn).
    pub turns: bool,
    /// How long it delivers what it holds when it is stopped.
    pub drain: Duration,
    /// How often the log gets a line of totals.
    pub log_every: Option<Duration>,
}
