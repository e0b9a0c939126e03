//! What the gateway counts.

use crate::{PerSide, Side};
use std::array;
use std::ops::{Add, Sub};

/// Why a packet or a flow is forwarded and not split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// No flow in the table: older than the gateway, released, or never opened through it.
    UnknownFlow,
    /// The SYN carries data or an option that cannot be split (TFO, MPTCP, TCP-AO, MD5, unknown).
    Options,
    /// No memory or no room in the table.
    NoRoom,
    /// Too many connections whose SYN has no SYN-ACK yet: a flood of SYNs.
    HalfOpen,
    /// Its client has too many flows already.
    ClientLimit,
    /// A rule of the policy says so.
    Policy,
    /// It would be split, if the policy did not say to observe only.
    Observed,
    /// It is split once it has proved long.
    Short,
    /// The connection takes, or took meanwhile, another path than through both of our sides.
    Route,
    /// The gateway is being stopped: new connections are not split, and old ones released.
    Draining,
    /// The handshake was not completed through us: refused, reset or timed out.
    NotOpened,
    /// A segment of a split connection with a signature that its SYN had not, or with a low hop limit: the far
    /// host's alone, if it reaches it.
    Past,
    /// Not whole, plain TCP.
    NotTcp,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Reason; 13] = [
        Reason::UnknownFlow,
        Reason::Options,
        Reason::NoRoom,
        Reason::HalfOpen,
        Reason::ClientLimit,
        Reason::Policy,
        Reason::Observed,
        Reason::Short,
        Reason::Route,
        Reason::Draining,
        Reason::NotOpened,
        Reason::Past,
        Reason::NotTcp,
    ];

    /// A word for logs and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Reason::UnknownFlow => "unknown_flow",
            Reason::Options => "options",
            Reason::NoRoom => "no_room",
            Reason::HalfOpen => "half_open",
            Reason::ClientLimit => "client_limit",
            Reason::Policy => "policy",
            Reason::Observed => "observed",
            Reason::Short => "short",
            Reason::Route => "route",
            Reason::Draining => "draining",
            Reason::NotOpened => "not_opened",
            Reason::Past => "past",
            Reason::NotTcp => "not_tcp",
        }
    }
}

/// Why a flow is released to plain forwarding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Release {
    /// Nothing has come for long, and nothing is held.
    Idle,
    /// The route of a direction has changed.
    Route,
    /// The gateway at the other end of a leg has forgotten it: what comes is the host's own.
    Peer,
    /// A host has taken a segment that was forwarded past the flow.
    Past,
    /// The gateway is being stopped.
    Drain,
}

impl Release {
    /// All of them.
    pub const ALL: [Release; 5] =
        [Release::Idle, Release::Route, Release::Peer, Release::Past, Release::Drain];

    /// A word for logs and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Release::Idle => "idle",
            Release::Route => "route",
            Release::Peer => "peer",
            Release::Past => "past",
            Release::Drain => "drain",
        }
    }
}

impl From<Release> for Reason {
    fn from(why: Release) -> Reason {
        match why {
            Release::Idle => Reason::UnknownFlow,
            Release::Route | Release::Peer => Reason::Route,
            Release::Past => Reason::Past,
            Release::Drain => Reason::Draining,
        }
    }
}

/// Counters of all legs towards one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SideStats {
    /// Payload bytes received from it, once each.
    pub received_bytes: u64,
    /// Payload bytes that it has acknowledged.
    pub delivered_bytes: u64,
    /// Segments sent to it again.
    pub retransmissions: u64,
    /// Bytes sent to it again.
    pub retransmitted_bytes: u64,
    /// Retransmission timeouts towards it.
    pub timeouts: u64,
    /// Segments from it that were discarded because their stream had a backlog.
    pub discarded: u64,
}

/// Packets, and their bytes with IP and TCP headers. What the kernel hands over as one
/// super-segment counts as one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Packets.
    pub packets: u64,
    /// Their length at the IP layer, in bytes.
    pub bytes: u64,
}

impl Traffic {
    fn count(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }

    fn each(self, other: Traffic, by: impl Fn(u64, u64) -> u64) -> Traffic {
        Traffic { packets: by(self.packets, other.packets), bytes: by(self.bytes, other.bytes) }
    }
}

impl Add for Traffic {
    type Output = Traffic;
    fn add(self, other: Traffic) -> Traffic {
        self.each(other, |a, b| a + b)
    }
}

/// The gateway's counters since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Flows split.
    pub split: u64,
    /// Of those, connections that were split in mid-life.
    pub adopted: u64,
    /// Split flows that ended in order.
    pub closed: u64,
    /// Split flows that ended in a reset.
    pub reset: u64,
    /// Split flows that go on unsplit, all that was held delivered, by [`Release`].
    released: [u64; Release::ALL.len()],
    /// Flows that a defect of the gateway has ended. They are among those that were reset.
    pub panicked: u64,
    /// Flows whose route was seen to have changed.
    pub route_changes: u64,
    /// Times that a leg's segments became shorter because ICMP told of a smaller MTU.
    pub path_mtu_falls: u64,
    /// Bytes that were acknowledged to their sender and could not be delivered.
    pub lost_bytes: u64,
    /// Forwarded connections that were reset, as bytes of theirs had been lost with another gateway.
    pub forwarded_resets: u64,
    /// SYNs not split, by reason.
    forwarded_flows: [u64; Reason::ALL.len()],
    /// What came in and was forwarded unchanged, by reason.
    forwarded: [Traffic; Reason::ALL.len()],
    /// What came in and was dealt with: handshakes, and all segments of split flows.
    pub split_traffic: Traffic,
    sides: PerSide<SideStats>,
}

impl Summary {
    /// Connections that were not split, by reason.
    pub fn forwarded_flows(&self, reason: Reason) -> u64 {
        self.forwarded_flows[reason as usize]
    }

    /// Packets forwarded unchanged, by reason.
    pub fn forwarded_packets(&self, reason: Reason) -> u64 {
        self.forwarded[reason as usize].packets
    }

    /// What came in and was forwarded unchanged, by reason.
    pub fn forwarded(&self, reason: Reason) -> Traffic {
        self.forwarded[reason as usize]
    }

    /// What came in and was forwarded unchanged, for whatever reason.
    pub fn all_forwarded(&self) -> Traffic {
        self.forwarded.iter().fold(Traffic::default(), |sum, &some| sum + some)
    }

    /// Connections that were not split, for whatever reason.
    pub fn all_forwarded_flows(&self) -> u64 {
        self.forwarded_flows.iter().sum()
    }

    /// Counters of the legs towards `side`.
    pub fn side(&self, side: Side) -> SideStats {
        self.sides[side]
    }

    /// Split flows that were released to plain forwarding because of `why`.
    pub fn released(&self, why: Release) -> u64 {
        self.released[why as usize]
    }

    /// Split flows that were released to plain forwarding, for whatever reason.
    pub fn all_released(&self) -> u64 {
        self.released.iter().sum()
    }

    pub(crate) fn count_released(&mut self, why: Release) {
        self.released[why as usize] += 1;
    }

    pub(crate) fn count_consumed(&mut self, bytes: usize) {
        self.split_traffic.count(bytes);
    }

    pub(crate) fn count_forwarded(&mut self, reason: Reason, bytes: usize, opens_flow: bool) {
        self.forwarded[reason as usize].count(bytes);
        self.forwarded_flows[reason as usize] += u64::from(opens_flow);
    }

    pub(crate) fn side_mut(&mut self, side: Side) -> &mut SideStats {
        &mut self.sides[side]
    }
}

impl Summary {
    /// Each counter of `self` and of `other` by `by`.
    fn each(&self, other: &Summary, by: impl Fn(u64, u64) -> u64) -> Summary {
        Summary {
            split: by(self.split, other.split),
            adopted: by(self.adopted, other.adopted),
            closed: by(self.closed, other.closed),
            reset: by(self.reset, other.reset),
            released: array::from_fn(|i| by(self.released[i], other.released[i])),
            panicked: by(self.panicked, other.panicked),
            route_changes: by(self.route_changes, other.route_changes),
            path_mtu_falls: by(self.path_mtu_falls, other.path_mtu_falls),
            lost_bytes: by(self.lost_bytes, other.lost_bytes),
            forwarded_resets: by(self.forwarded_resets, other.forwarded_resets),
            forwarded_flows: array::from_fn(|i| {
                by(self.forwarded_flows[i], other.forwarded_flows[i])
            }),
            forwarded: array::from_fn(|i| self.forwarded[i].each(other.forwarded[i], &by)),
            split_traffic: self.split_traffic.each(other.split_traffic, &by),
            sides: PerSide::of(|side| {
                let (a, b) = (&self.sides[side], &other.sides[side]);
                SideStats {
                    received_bytes: by(a.received_bytes, b.received_bytes),
                    delivered_bytes: by(a.delivered_bytes, b.delivered_bytes),
                    retransmissions: by(a.retransmissions, b.retransmissions),
                    retransmitted_bytes: by(a.retransmitted_bytes, b.retransmitted_bytes),
                    timeouts: by(a.timeouts, b.timeouts),
                    discarded: by(a.discarded, b.discarded),
                }
            }),
        }
    }
}

/// Of two gateways, or of two lives of one.
impl Add for Summary {
    type Output = Summary;
    fn add(self, other: Summary) -> Summary {
        self.each(&other, |a, b| a + b)
    }
}

/// Since an earlier moment.
impl Sub for Summary {
    type Output = Summary;
    fn sub(self, earlier: Summary) -> Summary {
        self.each(&earlier, |now, then| now - then)
    }
}
