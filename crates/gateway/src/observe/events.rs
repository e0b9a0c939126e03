//! What happens to flows, told to whoever runs the gateway and keeps a log.

use super::reason::Reason;
use crate::Side;
use crate::announce::ToldLink;
use crate::key::Endpoint;
use crate::leg::{Leg, PerLeg};
use std::collections::VecDeque;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Events that are kept until they are asked for, at most.
const MAX: usize = 1024;

/// The hosts of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hosts {
    /// The one that sent the SYN.
    pub client: SocketAddr,
    /// The one to which it was sent.
    pub server: SocketAddr,
}

impl From<PerLeg<Endpoint>> for Hosts {
    fn from(ends: PerLeg<Endpoint>) -> Hosts {
        Hosts { client: ends[Leg::Client].into(), server: ends[Leg::Server].into() }
    }
}

impl fmt::Display for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client={} server={}", self.client, self.server)
    }
}

/// How much an event matters to an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// For who looks for something.
    Debug,
    /// Worth a line.
    Info,
    /// Something is lost, or not as configured.
    Warning,
    /// A defect of ours.
    Error,
}

/// Something that has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A flow has been split.
    Split(Hosts),
    /// A connection has not been split, and why. So many others for the same reason were not told
    /// of since the last one.
    NotSplit(Hosts, Reason, u64),
    /// A connection has been split in mid-life, after so many bytes were delivered without us.
    Adopted(Hosts, u64),
    /// A peer gateway has told this of the link, as seen from here, and it is gone by where nothing
    /// is configured; or by nothing, as peers contradict each other.
    LinkTold(ToldLink),
    /// A peer gateway has told `theirs` of the link, as seen from here, and `ours` is configured,
    /// which is gone by.
    LinkContradicted {
        /// What is configured here.
        ours: ToldLink,
        /// What the other end says.
        theirs: ToldLink,
    },
    /// For the first time somebody has announced himself as a gateway without our key.
    ForeignAnnouncement,
    /// Both directions of a flow have ended in order.
    Closed(Hosts),
    /// A flow has been reset, and so many bytes were acknowledged and not delivered.
    Reset(Hosts, u64),
    /// A flow whose route has changed is forwarded; so many of its last bytes were not seen to
    /// arrive.
    Unconfirmed(Hosts, u64),
    /// The route of a flow has changed so that this host is not heard; so many bytes are held for
    /// delivery.
    RouteChanged(Hosts, IpAddr, usize),
    /// The gateway at the other end has forgotten a flow, of which so many bytes are held.
    PeerGone(Hosts, usize),
    /// This host has taken a segment that the gateway had forwarded and not taken; so many bytes
    /// are held for delivery.
    TakenPast(Hosts, IpAddr, usize),
    /// Segments to this host are no longer than that from now on.
    PathMtuFell(Hosts, IpAddr, u64),
    /// A router cannot reach this host, for the reason with this code.
    Unreachable(Hosts, IpAddr, u8),
    /// The link behind a side carries less than half of its rate.
    CircuitBroken(Side),
    /// The flows to the remote gateway with this identity have several paths.
    SeveralPaths(Option<u32>),
    /// A forwarded connection has been reset, as so many bytes from one host to the other are held
    /// by nobody.
    LostElsewhere {
        /// Who sent them.
        sender: SocketAddr,
        /// Who misses them.
        receiver: SocketAddr,
        /// How many they are.
        lost_bytes: u32,
    },
    /// A defect of ours has ended a flow, or left a connection that was to become one.
    Panic {
        /// The flow, and how many bytes were lost with it.
        flow: Option<(Hosts, u64)>,
        /// What the panic says.
        why: String,
        /// Panics that were not told of since the last one that was.
        left_out: u64,
    },
    /// So many events were not asked for in time.
    LeftOut(u64),
}

impl Event {
    /// How much it matters.
    pub fn severity(&self) -> Severity {
        match self {
            Event::Split(_)
            | Event::NotSplit(..)
            | Event::Adopted(..)
            | Event::Closed(_)
            | Event::Reset(_, 0)
            | Event::PeerGone(..)
            | Event::TakenPast(..)
            | Event::PathMtuFell(..)
            | Event::Unreachable(..)
            | Event::LeftOut(_) => Severity::Debug,
            Event::RouteChanged(..) | Event::LinkTold(_) | Event::SeveralPaths(_) => Severity::Info,
            Event::Reset(..)
            | Event::Unconfirmed(..)
            | Event::CircuitBroken(_)
            | Event::LinkContradicted { .. }
            | Event::ForeignAnnouncement
            | Event::LostElsewhere { .. } => Severity::Warning,
            Event::Panic { .. } => Severity::Error,
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Split(hosts) => write!(f, "flow split {hosts}"),
            Event::NotSplit(hosts, reason, 0) => {
                write!(f, "flow not split {hosts} reason={}", reason.name())
            }
            Event::NotSplit(hosts, reason, left_out) => {
                write!(f, "flow not split {hosts} reason={} left_out={left_out}", reason.name())
            }
            Event::Adopted(hosts, before) => {
                write!(f, "flow split in mid-life {hosts} delivered_before={before}")
            }
            Event::LinkTold(link) if link.is_empty() => {
                write!(f, "other gateways tell different things of the link: none is believed")
            }
            Event::LinkTold(link) => write!(f, "told of the link by the other gateway {link}"),
            Event::LinkContradicted { ours, theirs } => write!(
                f,
                "the other gateway says something else of the link than is configured here, which counts: \
                 {ours} are configured; it says {theirs}"
            ),
            Event::ForeignAnnouncement => write!(
                f,
                "a gateway whose pair-key is not ours has announced itself, and counts as a host: \
                 is splitting.pair-key the same at both ends?"
            ),
            Event::Closed(hosts) => write!(f, "flow closed {hosts}"),
            Event::Reset(hosts, 0) => write!(f, "flow reset {hosts}"),
            Event::Reset(hosts, lost) => {
                write!(f, "flow reset, its bytes undelivered {hosts} lost_bytes={lost}")
            }
            Event::Unconfirmed(hosts, bytes) => write!(
                f,
                "route changed: flow forwarded, its last bytes sent and not seen to arrive {hosts} \
                 unconfirmed_bytes={bytes}"
            ),
            Event::RouteChanged(hosts, unheard, held) => write!(
                f,
                "route changed: flow released {hosts} unheard={unheard} held_bytes={held}"
            ),
            Event::PeerGone(hosts, held) => {
                write!(f, "peer gateway gone: flow released {hosts} held_bytes={held}")
            }
            Event::TakenPast(hosts, host, held) => write!(
                f,
                "a host has taken what went past the flow: flow released {hosts} host={host} \
                 held_bytes={held}"
            ),
            Event::PathMtuFell(hosts, to, smss) => {
                write!(f, "path MTU is smaller {hosts} to={to} smss={smss}")
            }
            Event::Unreachable(hosts, host, code) => {
                write!(f, "unreachable {hosts} host={host} code={code}")
            }
            Event::CircuitBroken(side) => write!(
                f,
                "the link carries less than half of its rate: losses are taken for congestion from \
                 now on side={}",
                side.name()
            ),
            Event::SeveralPaths(remote) => write!(
                f,
                "flows to a remote gateway take several paths: for ten minutes each finds a window \
                 of its own remote={}",
                remote.map_or("unreported".to_owned(), |identity| format!("{identity:08x}"))
            ),
            Event::LostElsewhere { sender, receiver, lost_bytes } => write!(
                f,
                "bytes lost elsewhere: connection reset sender={sender} receiver={receiver} \
                 lost_bytes={lost_bytes}"
            ),
            Event::Panic { flow: Some((hosts, lost)), why, left_out } => write!(
                f,
                "a defect of the gateway: flow reset {hosts} lost_bytes={lost} why={why:?} \
                 left_out={left_out}"
            ),
            Event::Panic { flow: None, why, left_out } => write!(
                f,
                "a defect of the gateway: connection forwarded why={why:?} left_out={left_out}"
            ),
            Event::LeftOut(count) => write!(f, "events left out count={count}"),
        }
    }
}

/// Events that wait to be asked for. Where nobody asks, the first ones stay.
#[derive(Debug, Default)]
pub(crate) struct Events {
    waiting: VecDeque<Event>,
    left_out: u64,
}

impl Events {
    pub(crate) fn push(&mut self, event: Event) {
        if self.waiting.len() < MAX {
            self.waiting.push_back(event);
        } else {
            self.left_out += 1;
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Event> {
        self.waiting.pop_front().or_else(|| {
            let left_out = std::mem::take(&mut self.left_out);
            (left_out > 0).then_some(Event::LeftOut(left_out))
        })
    }
}
