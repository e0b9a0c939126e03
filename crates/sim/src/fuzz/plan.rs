//! What is to happen in a run.

use super::attack::Attack;
use super::edges::Endpoint;
use super::line_faults::Faults;
use crate::host::script::Script;
use crate::world::Segment;
use crate::{Fake, Lies, SessionKey};
use bentpipe_core::link::LinkConfig;
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::time::Instant;
use bentpipe_core::wire::SeqNum;
use bentpipe_gateway::Config;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// Everything that happens in a run, as drawn from a seed.
///
/// Two hosts, 0 and 1, and two boxes in the middle, each near one of them: 0 – box 0 – satellite –
/// box 1 – 1. With a [`Detour`], there are routers between hosts and boxes, and ways around.
#[derive(Debug, Clone)]
pub struct FaultPlan {
    /// What it was drawn from.
    pub seed: u64,
    /// What may befall the packets.
    pub hazards: BTreeSet<Hazard>,
    /// The hosts' addresses.
    pub addresses: [IpAddr; 2],
    /// The connections.
    pub calls: Vec<Call>,
    /// The satellite link, from box 0 to box 1 and back.
    pub satellite: [LinkConfig; 2],
    /// What else befalls packets on it.
    pub faults: Faults,
    /// The cables next to the hosts.
    pub cables: [Cable; 2],
    /// The boxes.
    pub middle: [Middle; 2],
    /// The ways around them, if there are any.
    pub detour: Option<Detour>,
    /// A router that speaks ICMP, if there is one.
    pub strait: Option<Strait>,
    /// Boxes that are neither hosts' nor gateways' friends.
    pub meddlers: Vec<(MiddleboxPosition, Meddler)>,
    /// What changes and when, in order.
    pub changes: Vec<(Instant, Change)>,
}

/// A connection: who calls whom, and what runs at its ends.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// The host that calls.
    pub caller: usize,
    /// When it does.
    pub at: Instant,
    /// The connection's name at the caller, then at the called.
    pub keys: [SessionKey; 2],
    /// Their TCPs.
    pub configs: [ConnectionConfig; 2],
    /// Their initial sequence numbers.
    pub isns: [SeqNum; 2],
    /// What runs there.
    pub applications: [Script; 2],
}

impl Call {
    /// The host of the caller (0) or of the called (1).
    pub fn host(&self, end: usize) -> usize {
        if end == 0 { self.caller } else { 1 - self.caller }
    }

    /// Whether one of the applications resets the connection.
    pub fn aborts(&self) -> bool {
        self.applications.iter().any(|application| application.abort_after.is_some())
    }
}

/// A cable between a host and its box, both directions alike.
#[derive(Debug, Clone)]
pub struct Cable {
    /// The cable.
    pub link: LinkConfig,
    /// What befalls packets on it.
    pub faults: Faults,
}

/// What stands at an end of the satellite link.
#[derive(Debug, Clone)]
pub enum Middle {
    /// Nothing but a router.
    Router,
    /// A gateway.
    Gateway(Box<Config>),
}

/// Ways around the boxes: one around both, and one around each.
#[derive(Debug, Clone)]
pub struct Detour {
    /// Around both, each direction.
    pub beside: LinkConfig,
    /// From each box to the other host's router.
    pub around: LinkConfig,
}

/// The way that packets take towards one of the hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// Through both boxes.
    Both,
    /// Through the box near the sender.
    Near,
    /// Through the box near the receiver.
    Far,
    /// Through neither.
    Beside,
}

/// A router that says by ICMP what it cannot pass on.
#[derive(Debug, Clone, Copy)]
pub struct Strait {
    /// Where it stands.
    pub position: MiddleboxPosition,
    /// The longest packet that passes at first, in bytes.
    pub mtu: u32,
}

/// A position on the path through both boxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MiddleboxPosition {
    /// At the end of the satellite link, before box 1.
    Satellite,
    /// At the end of this host's cable.
    Cable(usize),
}

/// A box that meddles with packets.
#[derive(Debug, Clone, Copy)]
pub enum Meddler {
    /// A router that clears DF, cuts packets that are longer than `mtu` bytes in two, and loses a
    /// share of the pieces.
    ClearsDf {
        /// The longest packet that passes whole.
        mtu: usize,
        /// The share.
        loss: f64,
        /// Of what it draws.
        seed: u64,
    },
    /// Sends fakes ahead of a share of the data of a host, which is its neighbour.
    Fakes {
        /// What tells a fake.
        fake: Fake,
        /// The share.
        share: f64,
        /// Of what it draws.
        seed: u64,
    },
    /// Drops fakes on their way to its neighbour, which would not take them.
    FakesEnd,
    /// Makes up what gateways tell each other, in the name of its neighbour.
    Lies {
        /// What.
        lies: Lies,
        /// Of what it draws.
        seed: u64,
    },
}

/// What passes a [`Strait`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passage {
    /// Packets of so many bytes at most.
    Open(u32),
    /// Nothing: destinations are unreachable.
    DeadEnd,
}

/// Something that changes at a moment.
#[derive(Debug, Clone)]
pub enum Change {
    /// Packets towards this host take another path.
    Route {
        /// The host.
        towards: usize,
        /// The way.
        path: Path,
    },
    /// This gateway is gone: what it held is lost, and a router stands in its place.
    Crash(usize),
    /// A gateway stands there again, and knows nothing.
    Restart(usize),
    /// This gateway is told to drain, and forwards ever after.
    Drain(usize),
    /// This gateway, which drains, is told a second time, and ends at once. A router stands in its
    /// place.
    End(usize),
    /// This gateway goes on with other parameters.
    Reload(usize, Box<Config>),
    /// The caller of this connection, if it has reset it, calls again from the same port; both ends
    /// begin with these numbers.
    CallAgain(usize, [SeqNum; 2]),
    /// This gateway ends, if it has drained, and leaves records. A router stands in its place.
    Stop(usize),
    /// A gateway that reads these records stands there, if one has ended.
    Start(usize),
    /// The strait lets others through.
    Strait(Passage),
    /// Somebody forges a segment or an ICMP error.
    Attack(Attack),
}

/// What may befall packets, gateways and connections in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hazard {
    /// Packets are lost, one by one.
    Loss,
    /// Packets are lost in bursts (Gilbert–Elliott).
    BurstLoss,
    /// Packets overtake each other.
    Reordering,
    /// Packets arrive twice.
    Duplication,
    /// Bits are turned over.
    Corruption,
    /// The satellite link's delay changes.
    DelayChange,
    /// Nothing arrives for a while.
    Outage,
    /// Applications reset their connections.
    Abort,
    /// A gateway crashes.
    Crash,
    /// A crashed gateway comes back.
    Restart,
    /// A gateway is stopped in good order.
    Drain,
    /// One direction takes another path.
    RouteOneWay,
    /// Both directions take another path.
    RouteTwoWay,
    /// A gateway has little memory or room for few flows.
    Exhaustion,
    /// Forged segments of the connections.
    Attack,
    /// Forged SYNs.
    SynFlood,
    /// A router's MTU is smaller, and changes.
    MtuChange,
    /// A router has no way on for a while, and says so.
    Unreachable,
    /// Forged ICMP errors about the connections' segments.
    ForgedIcmp,
    /// Gateways split connections in mid-life.
    Adoption,
    /// A gateway that is stopped in good order is followed by one that knows its connections.
    Recall,
    /// A gateway that is stopped is told a second time, and ends at once.
    SecondSignal,
    /// A gateway reads its configuration again.
    Reload,
    /// A router clears DF and cuts packets.
    ClearedDf,
    /// Segments that the far host does not take precede true ones.
    Fakes,
    /// A host that has reset a connection calls again from its port.
    PortReuse,
    /// A host poses as a gateway, or a gateway reports what is not true.
    Lies,
}

impl Hazard {
    /// All of them.
    pub const ALL: [Hazard; 27] = [
        Hazard::Loss,
        Hazard::BurstLoss,
        Hazard::Reordering,
        Hazard::Duplication,
        Hazard::Corruption,
        Hazard::DelayChange,
        Hazard::Outage,
        Hazard::Abort,
        Hazard::Crash,
        Hazard::Restart,
        Hazard::Drain,
        Hazard::RouteOneWay,
        Hazard::RouteTwoWay,
        Hazard::Exhaustion,
        Hazard::Attack,
        Hazard::SynFlood,
        Hazard::MtuChange,
        Hazard::Unreachable,
        Hazard::ForgedIcmp,
        Hazard::Adoption,
        Hazard::Recall,
        Hazard::SecondSignal,
        Hazard::Reload,
        Hazard::ClearedDf,
        Hazard::Fakes,
        Hazard::PortReuse,
        Hazard::Lies,
    ];

    /// Whether it may take away what was acknowledged.
    pub(super) fn breaks(self) -> bool {
        matches!(
            self,
            Hazard::Crash | Hazard::RouteOneWay | Hazard::RouteTwoWay | Hazard::SecondSignal
        )
    }

    /// A word for messages and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Hazard::Loss => "loss",
            Hazard::BurstLoss => "burst-loss",
            Hazard::Reordering => "reordering",
            Hazard::Duplication => "duplication",
            Hazard::Corruption => "corruption",
            Hazard::DelayChange => "delay-change",
            Hazard::Outage => "outage",
            Hazard::Abort => "abort",
            Hazard::Crash => "crash",
            Hazard::Restart => "restart",
            Hazard::Drain => "drain",
            Hazard::RouteOneWay => "route-one-way",
            Hazard::RouteTwoWay => "route-two-way",
            Hazard::Exhaustion => "exhaustion",
            Hazard::Attack => "attack",
            Hazard::SynFlood => "syn-flood",
            Hazard::MtuChange => "mtu-change",
            Hazard::Unreachable => "unreachable",
            Hazard::ForgedIcmp => "forged-icmp",
            Hazard::Adoption => "adoption",
            Hazard::Recall => "recall",
            Hazard::SecondSignal => "second-signal",
            Hazard::Reload => "reload",
            Hazard::ClearedDf => "cleared-df",
            Hazard::Fakes => "fakes",
            Hazard::PortReuse => "port-reuse",
            Hazard::Lies => "lies",
        }
    }
}

impl FaultPlan {
    /// The address of routers that speak ICMP, true or forged.
    pub(super) fn router(&self) -> IpAddr {
        match self.addresses[0] {
            IpAddr::V4(_) => IpAddr::from([10, 8, 8, 8]),
            IpAddr::V6(_) => IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, 0x88]),
        }
    }

    /// Whether gateways or routes may take away what was acknowledged, so that connections may
    /// break and need not be whole. All that happens on lines TCP makes good, and what attackers
    /// may do here must do no harm.
    pub fn may_break(&self) -> bool {
        self.hazards.iter().any(|hazard| hazard.breaks())
    }

    /// What the gateway in this place goes by, from its first configuration to its last.
    pub(super) fn configs(&self, place: usize) -> impl Iterator<Item = &Config> {
        let first = match &self.middle[place] {
            Middle::Gateway(config) => Some(&**config),
            Middle::Router => None,
        };
        let reloads = self.changes.iter().filter_map(move |(_, change)| match change {
            Change::Reload(at, config) if *at == place => Some(&**config),
            _ => None,
        });
        first.into_iter().chain(reloads)
    }

    /// Whether a segment is one of a connection's.
    pub(super) fn is_of(&self, call: &Call, segment: &Segment) -> bool {
        let ends = [0, 1].map(|end| self.endpoint(call, end));
        ends.contains(&segment.src) && ends.contains(&segment.dst)
    }

    /// An end of a connection.
    pub(super) fn endpoint(&self, call: &Call, end: usize) -> Endpoint {
        (self.addresses[call.host(end)], call.keys[end].0)
    }

    /// Whether a gateway is told to drain.
    pub(super) fn drains(&self) -> bool {
        self.changes.iter().any(|(_, change)| matches!(change, Change::Drain(_)))
    }
}
