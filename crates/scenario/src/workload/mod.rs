//! What flows carry: the applications at their ends.
//!
//! `from` is the end that the bulk of the data comes from (a server), `to` the end that it goes to
//! (a client). Where a client asks first, that is `to`.

mod fields;
mod reading;

pub(crate) use fields::*;
pub(crate) use reading::Around;

use crate::names::LinkIndex;
use crate::web::{self, Page};
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Bytes, Rate};
use bentpipe_links::{Distribution, RandomSize, RandomTime, measured};

/// What a flow carries.
#[derive(Debug, Clone, PartialEq)]
pub enum Workload {
    /// One connection that sends as much as it can.
    Bulk {
        /// How much; `None`: as long as the run lasts.
        bytes: Option<RandomSize>,
        /// Who opens the connection.
        opened_by: FlowEnd,
        /// The barrier at which it waits with its connection until all of that name have theirs.
        barrier: Option<String>,
    },
    /// `to` asks, `from` answers, again and again.
    RequestResponse {
        /// Of a request.
        request: RandomSize,
        /// Of a reply.
        reply: RandomSize,
        /// From a whole request to the reply's first byte.
        server_delay: RandomTime,
        /// From a whole reply to the next request.
        think: RandomTime,
        /// How many; `None`: as long as the run lasts.
        requests: Option<u64>,
        /// On which connection.
        connection: Reuse,
    },
    /// `to` loads pages from `from`.
    Http(Http),
    /// `to` loads pages from `from` over one connection that carries many requests at a time.
    Http2(Http2),
    /// `to` types, `from` echoes.
    Telnet {
        /// Between two keystrokes.
        between: RandomTime,
        /// Of a keystroke.
        keystroke: Bytes,
        /// Of an echo; zero: none.
        echo: Bytes,
    },
    /// Background of Web pages after Mah: pages begin as a Poisson process.
    Web {
        /// The load that their replies offer.
        load: Load,
        /// Pages use at most so many connections at a time.
        connections: u32,
    },
    /// Background of transfers `from` → `to` that begin as a Poisson process, each on a connection
    /// of its own.
    Poisson {
        /// Of a transfer.
        size: RandomSize,
        /// The load that they offer.
        load: Load,
    },
    /// Datagrams without feedback.
    Udp {
        /// When they come.
        arrivals: Arrivals,
        /// IP length of each.
        packet: Bytes,
    },
    /// Echo requests from `from`, and the echoes.
    Ping {
        /// IP length of each.
        packet: Bytes,
        /// When the next goes.
        pace: PingPace,
        /// How many; `None`: as long as the run lasts.
        packets: Option<u64>,
    },
}

/// One of a flow's ends.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum FlowEnd {
    /// The end that data come from.
    #[default]
    From,
    /// The end that data go to.
    To,
}

/// Which connection a request goes on.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Reuse {
    /// All on one.
    #[default]
    Same,
    /// Each on a new one, which the server closes after its reply.
    New,
}

/// Loading of pages.
#[derive(Debug, Clone, PartialEq)]
pub struct Http {
    /// How objects are asked for.
    pub version: HttpVersion,
    /// Connections at a time.
    pub connections: u32,
    /// What is loaded.
    pub page: Page,
    /// Of each request.
    pub request: RandomSize,
    /// From a whole request to its reply's first byte.
    pub server_delay: RandomTime,
    /// From a whole page to the next.
    pub think: RandomTime,
    /// How many pages, one after the other; `None`: as long as the run lasts.
    pub pages: Option<u64>,
}

/// Loading of pages over one connection, in frames.
#[derive(Debug, Clone, PartialEq)]
pub struct Http2 {
    /// What is loaded.
    pub page: Page,
    /// Requests that are open at a time.
    pub streams: u32,
    /// The longest payload of a frame.
    pub frame: Bytes,
    /// What the server hands to its TCP ahead of what is sent.
    pub ahead: Bytes,
    /// Of each request.
    pub request: RandomSize,
    /// From a whole request until its reply is ready.
    pub server_delay: RandomTime,
    /// From a whole page to the next.
    pub think: RandomTime,
    /// How many pages, one after the other; `None`: as long as the run lasts.
    pub pages: Option<u64>,
}

/// How objects are asked for. The objects' requests begin when the document is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpVersion {
    /// Each on a connection of its own, which the server closes (RFC 1945).
    Http10,
    /// One after the other on connections that stay open (RFC 9112).
    Http11,
    /// All at once on connections that stay open, answered in order (RFC 9112, 9.3.2).
    Pipelined,
}

/// How much traffic arrivals offer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Load {
    /// A share of the rate of a link's direction: that which the flow takes first of the two on
    /// its way from `from` to `to`. Payload bytes count.
    Share {
        /// Such as 0.2.
        share: f64,
        /// Of this link.
        link: LinkIndex,
        /// Of that link's rate at the beginning: share × rate.
        rate: Rate,
    },
    /// Arrivals per second.
    PerSecond(f64),
}

/// When datagrams come.
#[derive(Debug, Clone, PartialEq, strum::EnumDiscriminants)]
#[strum_discriminants(
    vis(pub(crate)),
    name(ArrivalKind),
    derive(Default, strum::VariantArray, strum::VariantNames, strum::IntoStaticStr),
    strum(serialize_all = "kebab-case")
)]
pub enum Arrivals {
    /// Evenly at a rate.
    #[strum_discriminants(default)]
    Constant(Rate),
    /// Evenly at a rate while on, not at all while off.
    OnOff {
        /// While on.
        rate: Rate,
        /// How long it is on.
        on: RandomTime,
        /// How long it is off.
        off: RandomTime,
    },
    /// As a Poisson process with this mean rate.
    Poisson(Rate),
}

/// When the next ping goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PingPace {
    /// So long after the last.
    Every(Duration),
    /// When the echo is back, or 10 ms after the last: `ping -f`.
    Flood,
}

impl Load {
    /// Arrivals per second, if each brings `mean_bytes` on the average.
    pub fn per_second(&self, mean_bytes: f64) -> f64 {
        match self {
            Load::Share { rate, .. } => rate.bits_per_sec() as f64 / (8.0 * mean_bytes),
            Load::PerSecond(arrivals) => *arrivals,
        }
    }
}

impl Workload {
    /// Whether it is background unless the file says otherwise.
    pub(crate) fn is_background(&self) -> bool {
        match self {
            Workload::Web { .. } | Workload::Poisson { .. } => true,
            Workload::Udp { .. } | Workload::Ping { .. } => true,
            Workload::Bulk { .. }
            | Workload::RequestResponse { .. }
            | Workload::Http(_)
            | Workload::Http2(_)
            | Workload::Telnet { .. } => false,
        }
    }

    /// Sizes of the replies of Mah's pages.
    pub fn mah_reply() -> RandomSize {
        let distribution = Distribution::Measured(measured::MAH_REPLY.to_vec());
        RandomSize { distribution, multiple_of: 1 }
    }

    /// Whether it is the Web's, which Web caches answer.
    pub fn is_web(&self) -> bool {
        matches!(self, Workload::Http(_) | Workload::Web { .. })
    }

    /// Mean bytes of the replies of one of Mah's pages, as they are drawn.
    pub fn mah_page_bytes() -> f64 {
        web::mah_mean_connections() * Workload::mah_reply().mean_bytes()
    }
}
