//! Packets and connections that a run hands to its sinks, with the simulator's time.

use crate::build::Layout;
use crate::packet::{Content, Packet};
use crate::world::NodeId;
use bentpipe_core::link::LinkPacket as _;
use bentpipe_core::tcp::cause::Cause;
use bentpipe_core::time::Instant;
use bentpipe_core::wire::{Flags, IcmpError};
use bentpipe_gateway::Side;
use bentpipe_results::{
    Captured, Direction, End, EventSink, Interface, Observed, PacketSink, Passage,
};
use bentpipe_scenario::{NodeIndex, Scenario};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// An [`Interface`] in the world.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CapturePoint {
    pub(crate) node: NodeId,
    pub(crate) side: Option<Side>,
}

/// Sinks, and whose packets and connections they get.
#[derive(Debug)]
pub(crate) struct Capture {
    packets: Option<Box<dyn PacketSink>>,
    events: Option<Box<dyn EventSink>>,
    /// By node of the world: the scenario's host or gateway that it is, if packets are captured
    /// there.
    nodes: Vec<Option<NodeIndex>>,
    /// The flows' names, by workload.
    flows: Vec<Arc<str>>,
    /// Of which workloads; None: of all.
    wanted: Option<BTreeSet<usize>>,
    /// Whose a conversation is: a workload's, of those that are wanted.
    owners: BTreeMap<Name, usize>,
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
        let mut nodes = Vec::new();
        for index in scenario.captured_nodes() {
            let id = layout.node(index);
            nodes.resize(nodes.len().max(id + 1), None);
            nodes[id] = Some(index);
        }
        // Workloads are those of the flows' instances, in their order.
        let instances = scenario.flows.iter().enumerate();
        let instances =
            instances.flat_map(|(index, flow)| flow.instances().map(move |name| (index, name)));
        let (kinds, flows): (Vec<usize>, Vec<Arc<str>>) =
            instances.map(|(index, name)| (index, name.into())).unzip();
        let wanted = scenario.record.flows.as_ref().map(|flows| {
            let owners = kinds.iter().enumerate().filter(|(_, flow)| flows.contains(flow));
            owners.map(|(owner, _)| owner).collect()
        });
        Capture { packets, events, nodes, flows, wanted, owners: BTreeMap::new() }
    }

    /// Whether the connections of this node are to be watched.
    pub(crate) fn watches(&self, node: NodeId) -> bool {
        self.events.is_some() && matches!(self.nodes.get(node), Some(Some(_)))
    }

    /// What bears this name is from now on the workload `owner`'s.
    pub(crate) fn name(&mut self, owner: usize, name: Name) {
        if self.wanted.as_ref().is_none_or(|wanted| wanted.contains(&owner)) {
            self.owners.insert(name, owner);
        } else {
            self.owners.remove(&name);
        }
    }

    /// Whether these ends' connection is one of those that are wanted.
    pub(crate) fn wants(&self, [one, other]: [SocketAddr; 2]) -> bool {
        let name = || Name::tcp([one, other].map(|end| (end.ip(), end.port())));
        self.wanted.is_none() || self.owners.contains_key(&name())
    }

    /// The scenario's interface, if packets are captured there.
    fn interface(&self, CapturePoint { node, side }: CapturePoint) -> Option<Interface> {
        let node = (*self.nodes.get(node)?)?;
        Some(Interface { node, side })
    }

    /// A packet passes `point`.
    pub(crate) fn packet(
        &mut self,
        at: Instant,
        point: CapturePoint,
        way: Direction,
        packet: &Packet,
    ) {
        // What comes in has a cause, too, but a capture here could not know it.
        let cause = packet.cause.filter(|_| way == Direction::Sent);
        self.take(at, point, way, packet, cause);
    }

    /// A gateway forwards a packet as it came, and so does not know why it was sent.
    pub(crate) fn passed_on(&mut self, at: Instant, point: CapturePoint, packet: &Packet) {
        self.take(at, point, Direction::Sent, packet, None);
    }

    fn take(
        &mut self,
        at: Instant,
        point: CapturePoint,
        way: Direction,
        packet: &Packet,
        cause: Option<Cause>,
    ) {
        let (Some(interface), Some(sink)) = (self.interface(point), &mut self.packets) else {
            return;
        };
        let opens = matches!(&packet.content, Content::Tcp(tcp, _) if tcp.has(Flags::SYN));
        let asked = opens || self.wanted.is_some();
        let name = asked.then(|| Name::of(packet)).flatten();
        let owner = name.and_then(|name| self.owners.get(&name));
        if self.wanted.is_some() && owner.is_none() {
            return;
        }
        let flow = owner.filter(|_| opens).and_then(|owner| self.flows.get(*owner)).cloned();
        let (headers, len) = (packet.headers(), packet.wire_len());
        sink.packet(&Captured { at, interface, direction: way, headers, len, cause, flow });
    }

    /// The same, of a segment of a connection that has its end there.
    pub(crate) fn segment(
        &mut self,
        at: Instant,
        point: CapturePoint,
        way: Direction,
        packet: &Packet,
    ) {
        let Content::Tcp(tcp, body) = &packet.content else { return };
        let [src, dst] =
            [(packet.ip.src, tcp.src_port), (packet.ip.dst, tcp.dst_port)].map(SocketAddr::from);
        if self.events.is_none() || !self.wants([src, dst]) {
            return;
        }
        let (Some(interface), Some(sink)) = (self.interface(point), &mut self.events) else {
            return;
        };
        let (local, remote) = match way {
            Direction::Sent => (src, dst),
            Direction::Received => (dst, src),
        };
        let cause = packet.cause.filter(|_| way == Direction::Sent);
        let end = End { interface, local, remote };
        sink.segment(at, &end, Passage { direction: way, tcp, len: body.len(), cause });
    }

    /// The end at `point` between these two, first its own address, has done something.
    pub(crate) fn observed(
        &mut self,
        at: Instant,
        point: CapturePoint,
        [local, remote]: [SocketAddr; 2],
        observed: &Observed,
    ) {
        if self.wants([local, remote])
            && let Some(interface) = self.interface(point)
            && let Some(sink) = &mut self.events
        {
            sink.observed(at, &End { interface, local, remote }, observed);
        }
    }
}
