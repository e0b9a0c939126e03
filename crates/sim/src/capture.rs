//! Packets as they pass the hosts, for whoever writes them down: what a capture at each host's
//! interface would have, with the simulator's time.
//!
//! A packet is sent when its host hands it to the link, in front of the link's queue, and received
//! when it comes out of the line.

use crate::build::Layout;
use crate::host::SessionKey;
use crate::packet::{Content, Packet};
use crate::world::NodeId;
use bentpipe_core::link::LinkPacket as _;
use bentpipe_core::tcp::cause::Cause;
use bentpipe_core::tcp::connection::State;
use bentpipe_core::tcp::limiter::Limiter;
use bentpipe_core::tcp::observation::Observation;
use bentpipe_core::time::Instant;
use bentpipe_core::wire::{Headers, IcmpError, TcpHeader};
use bentpipe_scenario::{NodeIndex, Scenario};
use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Which way a packet passed a host's interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the host.
    Sent,
    /// To the host.
    Received,
}

/// A packet at a host's interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// When.
    pub at: Instant,
    /// At which of the scenario's hosts.
    pub host: NodeIndex,
    /// Which way.
    pub direction: Direction,
    /// The bytes of its headers; see [`Packet::headers`].
    pub headers: Headers,
    /// The whole packet's length in bytes.
    pub len: u64,
    /// Of a TCP segment that the host sends: why.
    pub cause: Option<Cause>,
}

/// One end of a connection, at a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// Which of the scenario's hosts.
    pub host: NodeIndex,
    /// Its own address and port.
    pub local: SocketAddr,
    /// Its peer's.
    pub remote: SocketAddr,
}

/// A TCP segment at a host's interface.
#[derive(Debug, Clone, Copy)]
pub struct Passage<'a> {
    /// Which way.
    pub direction: Direction,
    /// Its header.
    pub tcp: &'a TcpHeader,
    /// Length of its payload in bytes.
    pub len: usize,
    /// If the host sends it: why.
    pub cause: Option<Cause>,
}

/// A connection at a host, after something has happened to it, or after it has sent all that it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observed {
    /// Its state.
    pub state: State,
    /// What keeps its next segment back; None while it may have one.
    pub limiter: Option<Limiter>,
    /// Its synchronised part.
    pub tcb: Option<Observation>,
    /// The host forgets it.
    pub over: bool,
}

/// Where it goes what hosts' connections do. It comes in the order of time.
pub trait EventSink: fmt::Debug {
    /// A segment passes the host's interface. What it has changed follows.
    fn segment(&mut self, at: Instant, end: &End, segment: Passage<'_>);

    /// What may have changed.
    fn observed(&mut self, at: Instant, end: &End, observed: &Observed);
}

/// Where captured packets go. They come in the order of time.
pub trait PacketSink: fmt::Debug {
    /// Takes a packet. What goes wrong in doing so is the sink's own to tell.
    fn packet(&mut self, packet: &Captured);
}

/// Sinks, and whose packets and connections they get.
#[derive(Debug)]
pub(crate) struct Capture {
    packets: Option<Box<dyn PacketSink>>,
    events: Option<Box<dyn EventSink>>,
    /// By node of the world: the scenario's host that it is, if packets are captured there.
    hosts: Vec<Option<NodeIndex>>,
    /// Of which flows; None: of all.
    wanted: Option<Wanted>,
}

/// The flows whose packets are captured.
#[derive(Debug)]
struct Wanted {
    /// The workloads that they are.
    owners: BTreeSet<usize>,
    names: BTreeSet<Name>,
}

/// What the packets of a conversation have in common, whichever way they go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Name {
    /// The ends of a connection, the lower one first.
    Tcp([(IpAddr, u16); 2]),
    /// The ends of a way of datagrams, the lower one first.
    Udp([(IpAddr, u16); 2]),
    /// Who pings, and the identifier of these pings.
    Echo(IpAddr, u16),
}

impl Name {
    /// A connection's.
    pub(crate) fn tcp(mut ends: [(IpAddr, u16); 2]) -> Name {
        ends.sort_unstable();
        Name::Tcp(ends)
    }

    /// Of datagrams.
    pub(crate) fn udp(mut ends: [(IpAddr, u16); 2]) -> Name {
        ends.sort_unstable();
        Name::Udp(ends)
    }

    /// Whose the packet is. An error is of the connection that it is about.
    fn of(packet: &Packet) -> Option<Name> {
        let (src, dst) = (packet.ip.src, packet.ip.dst);
        Some(match &packet.content {
            Content::Tcp(tcp, _) => Name::tcp([(src, tcp.src_port), (dst, tcp.dst_port)]),
            Content::Udp(udp) => Name::udp([(src, udp.src_port), (dst, udp.dst_port)]),
            Content::Echo(echo) => Name::Echo(if echo.reply { dst } else { src }, echo.identifier),
            Content::Error(bytes) => {
                let quoted = IcmpError::parse(bytes).ok()?.quoted;
                Name::tcp([(quoted.src, quoted.src_port), (quoted.dst, quoted.dst_port)])
            }
        })
    }
}

impl Capture {
    /// What `scenario` wants to have captured.
    pub(crate) fn new(
        scenario: &Scenario,
        layout: &Layout,
        packets: Option<Box<dyn PacketSink>>,
        events: Option<Box<dyn EventSink>>,
    ) -> Capture {
        let mut hosts = Vec::new();
        for index in scenario.captured_hosts() {
            let id = layout.node(index);
            hosts.resize(hosts.len().max(id + 1), None);
            hosts[id] = Some(index);
        }
        let wanted = scenario.record.flows.as_ref().map(|flows| {
            // Workloads are those of the flows' instances, in their order.
            let instances = scenario.flows.iter().enumerate();
            let instances = instances
                .flat_map(|(index, flow)| std::iter::repeat_n(index, flow.instances().count()));
            let owners = instances.enumerate().filter(|(_, flow)| flows.contains(flow));
            Wanted { owners: owners.map(|(owner, _)| owner).collect(), names: BTreeSet::new() }
        });
        Capture { packets, events, hosts, wanted }
    }

    /// Whether the connections of this node are to be watched.
    pub(crate) fn watches(&self, node: NodeId) -> bool {
        self.events.is_some() && matches!(self.hosts.get(node), Some(Some(_)))
    }

    /// What bears this name is from now on the workload `owner`'s.
    pub(crate) fn name(&mut self, owner: usize, name: Name) {
        let Some(Wanted { owners, names }) = &mut self.wanted else { return };
        if owners.contains(&owner) {
            names.insert(name);
        } else {
            names.remove(&name);
        }
    }

    pub(crate) fn take(&mut self, at: Instant, node: NodeId, way: Direction, packet: &Packet) {
        let Some(Some(host)) = self.hosts.get(node) else { return };
        if let Some(Wanted { names, .. }) = &self.wanted
            && !Name::of(packet).is_some_and(|name| names.contains(&name))
        {
            return;
        }
        // What comes in has a cause, too, but a capture at this host could not know it.
        let cause = packet.cause.filter(|_| way == Direction::Sent);
        if let Some(sink) = &mut self.packets {
            let (headers, len) = (packet.headers(), packet.wire_len());
            sink.packet(&Captured { at, host: *host, direction: way, headers, len, cause });
        }
        if let Some(sink) = &mut self.events
            && let Content::Tcp(tcp, body) = &packet.content
        {
            let [src, dst] = [(packet.ip.src, tcp.src_port), (packet.ip.dst, tcp.dst_port)]
                .map(SocketAddr::from);
            let (local, remote) = match way {
                Direction::Sent => (src, dst),
                Direction::Received => (dst, src),
            };
            let end = End { host: *host, local, remote };
            sink.segment(at, &end, Passage { direction: way, tcp, len: body.len(), cause });
        }
    }

    /// Connection `key` of the host at `address` has done something.
    pub(crate) fn observed(
        &mut self,
        at: Instant,
        node: NodeId,
        address: IpAddr,
        key: SessionKey,
        observed: &Observed,
    ) {
        let (Some(Some(host)), Some(sink)) = (self.hosts.get(node), &mut self.events) else {
            return;
        };
        let (port, peer, peer_port) = key;
        if let Some(Wanted { names, .. }) = &self.wanted
            && !names.contains(&Name::tcp([(address, port), (peer, peer_port)]))
        {
            return;
        }
        let (local, remote) = ((address, port).into(), (peer, peer_port).into());
        sink.observed(at, &End { host: *host, local, remote }, observed);
    }
}
