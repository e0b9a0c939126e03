//! Nodes, cables and routes.

use crate::ecmp::{EqualWay, FlowHash, Spread};
use crate::host::Host;
use crate::line::Line;
use crate::middleboxes::{self, WebCache};
use crate::narrow::Narrow;
use crate::node::Node;
use crate::stream::Stream;
use crate::world::{LineId, NodeId, World};
use bentpipe_core::link::LinkConfig;
use bentpipe_core::tcp::connection::Opening;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_gateway::Gateway;
use bentpipe_links::{DirectionSpec, Seeds, media};
use bentpipe_scenario::{
    Ecmp, FaultKind, Link, LinkIndex, Middlebox, MiddleboxKind, NodeIndex, NodeKind, Scenario,
    network,
};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

/// Where the parts of a scenario are in its world.
#[derive(Debug, Default)]
pub struct Layout {
    /// By the scenario's node.
    pub nodes: Vec<NodeId>,
    /// By the scenario's link.
    pub links: Vec<BuiltLink>,
    /// Middleboxes that are nodes: the scenario's index, and the node.
    pub(crate) middleboxes: Vec<(usize, NodeId)>,
    pub(crate) web_caches: Vec<WebCache>,
}

/// A link of the scenario in its world.
#[derive(Debug, Clone, Copy)]
pub struct BuiltLink {
    /// Forward and back.
    pub lines: [LineId; 2],
    /// The ports that it leaves from, at its two nodes.
    pub ports: [usize; 2],
}

impl Layout {
    /// The node of this index.
    pub fn node(&self, index: NodeIndex) -> NodeId {
        self.nodes[index.0]
    }

    /// All lines: of each link in turn, forward and back.
    pub fn lines(&self) -> impl Iterator<Item = LineId> + '_ {
        self.links.iter().flat_map(|link| link.lines)
    }

    /// The link of this index.
    pub fn link(&self, index: LinkIndex) -> &BuiltLink {
        &self.links[index.0]
    }
}

/// The address of the scenario's node `index`: 10.0.0.1 and on. Web caches have those behind the
/// nodes'.
fn address(index: usize) -> IpAddr {
    let number = u32::try_from(index + 1).expect("fewer than 2^24 nodes");
    IpAddr::V4(Ipv4Addr::from_bits(u32::from_be_bytes([10, 0, 0, 0]) + number))
}

pub(super) fn build(scenario: &Scenario, seeds: Seeds) -> (World<Stream>, Layout) {
    let mut world: World<Stream> = World::default();
    let mut layout = Layout::default();
    for (index, node) in scenario.nodes.iter().enumerate() {
        layout.nodes.push(match &node.kind {
            NodeKind::Host { share, .. } => world.add(Host::new(address(index)).sharing(*share)),
            NodeKind::Router(_) => world.add(Node::Router),
            NodeKind::Gateway(_) => {
                world.add(gateway(scenario, NodeIndex(index), seeds, Instant::ZERO))
            }
        });
    }
    let web = scenario.flows.iter().filter(|flow| flow.workload.is_web());
    let servers: BTreeSet<NodeIndex> = web.map(|flow| flow.from).collect();
    let faces: Vec<IpAddr> = servers.iter().map(|server| address(server.0)).collect();
    for (index, link) in scenario.links.iter().enumerate() {
        let [a, b] = link.between.map(|end| layout.node(end));
        let ports = [world.free_port(a), world.free_port(b)];
        let line = |direction: &DirectionSpec, which: &str| {
            let name = format!("link.{}/{which}", link.name);
            let down = down(scenario, LinkIndex(index));
            let config = direction.config(seeds, &name, scenario.run.duration, down);
            Line::with_impairments(config)
        };
        let mut ends = [(a, ports[0]), (b, ports[1])];
        let mut lines = [line(&link.forward, "forward"), line(&link.back, "back")];
        for (end, (line, port)) in ends.iter_mut().zip(lines.iter_mut().zip(ports)) {
            // What an end sends goes through its middleboxes in the order of the file.
            let at = if end.0 == a { link.between[0] } else { link.between[1] };
            let mine =
                |middlebox: &&Middlebox| middlebox.at == at && middlebox.link == LinkIndex(index);
            let middleboxes = scenario.middleboxes.iter().enumerate();
            for (number, middlebox) in middleboxes.filter(|(_, middlebox)| mine(middlebox)) {
                let own = address(scenario.nodes.len() + number);
                let seed = seeds.stream(&format!("middlebox.{}", middlebox.name));
                let Some(built) = middleboxes::build(middlebox, line, own, &faces, seed) else {
                    continue;
                };
                let id = world.add(Node::Middlebox(built));
                layout.middleboxes.push((number, id));
                join(&mut world, *end, (id, 0));
                *end = (id, 1);
                if let MiddleboxKind::WebCache { hits, tcp } = &middlebox.kind {
                    let mut tcp = **tcp;
                    tcp.opening = Opening::Handshake;
                    tcp.sender.nagle = false;
                    let mut hang = |port: usize, address: IpAddr| {
                        let host = world.add(Host::new(address));
                        join(&mut world, (id, port), (host, 0));
                        host
                    };
                    let caller = hang(middleboxes::CALLER, own);
                    let faces = servers.iter().zip(middleboxes::FACES..);
                    let faces = faces.map(|(server, port)| {
                        (layout.node(*server), hang(port, address(server.0)))
                    });
                    layout.web_caches.push(WebCache {
                        at: (layout.node(at), port),
                        address: own,
                        caller,
                        faces: faces.collect(),
                        hits: *hits,
                        tcp,
                    });
                }
            }
        }
        if let Some(mtu) = link.mtu {
            for (end, node) in ends.iter_mut().zip(link.between) {
                let narrow = Narrow { address: address(node.0), mtu, silent: false };
                let id = world.add(Node::Middlebox(Box::new(narrow)));
                join(&mut world, *end, (id, 0));
                *end = (id, 1);
            }
        }
        let [forward, back] = lines;
        let lines = world.join(ends[0], ends[1], forward, back);
        layout.links.push(BuiltLink { lines, ports });
    }
    for (index, &node) in layout.nodes.iter().enumerate() {
        world.set_address(node, address(index));
    }
    share(&mut world, scenario, &layout, seeds);
    route(&mut world, scenario, &layout, &scenario.links);
    (world, layout)
}

/// Joins the directions of links that share a medium.
fn share(world: &mut World<Stream>, scenario: &Scenario, layout: &Layout, seeds: Seeds) {
    let lines = scenario.links.iter().zip(&layout.links);
    let lines =
        lines.flat_map(|(link, built)| [&link.forward, &link.back].into_iter().zip(built.lines));
    media(lines, seeds).into_iter().for_each(|medium| world.share(medium));
}

/// Joins two ports by an ideal cable.
fn join(world: &mut World<Stream>, a: (NodeId, usize), b: (NodeId, usize)) {
    let cable = || Line::new(&LinkConfig::IDEAL);
    world.join(a, b, cable(), cable());
}

/// The gateway of this index, empty, as it boots at `now`.
pub(crate) fn gateway(
    scenario: &Scenario,
    index: NodeIndex,
    seeds: Seeds,
    now: Instant,
) -> Node<Stream> {
    let NodeKind::Gateway(gateway) = &scenario.node(index).kind else {
        panic!("{} is no gateway", scenario.node(index).name)
    };
    // Ports are given in the order of the links.
    let mine = scenario.links.iter().enumerate();
    let mine = mine.filter(|(_, link)| link.between.contains(&index));
    let lan = mine.enumerate().filter(|(_, (i, _))| gateway.lan.contains(&LinkIndex(*i)));
    let lan = lan.map(|(port, _)| port).collect();
    let name = &scenario.node(index).name;
    let mut gateway = Gateway::new(gateway.config.clone());
    gateway
        .identify_as(seeds.stream(&format!("gateway.{name}/identity/{}", now.as_nanos())) as u32);
    Node::Gateway(Box::new(gateway), lan)
}

/// When faults take a link down: spans (beginning, length).
fn down(scenario: &Scenario, index: LinkIndex) -> Vec<(Duration, Duration)> {
    let faults = scenario.faults.iter().filter(|fault| fault.kind == FaultKind::LinkDown(index));
    faults.map(|fault| (fault.at, fault.lasting.unwrap_or(scenario.run.duration))).collect()
}

/// How a router spreads flows over its ways to a node, if it has several. Ways keep the labels that
/// they have while nothing is broken.
fn spread(
    scenario: &Scenario,
    links: &[Link],
    (from, to): (NodeIndex, NodeIndex),
    port: impl Fn(LinkIndex) -> usize,
) -> Option<Spread> {
    let hash = match scenario.node(from).kind {
        NodeKind::Router(Ecmp::Symmetric) => FlowHash::Symmetric,
        NodeKind::Router(Ecmp::Directed) => FlowHash::Directed,
        _ => return None,
    };
    let ways = network::ways(&scenario.nodes, links, from, to);
    if ways.len() < 2 {
        return None;
    }
    let usual = network::ways(&scenario.nodes, &scenario.links, from, to);
    let label = |link: LinkIndex| match usual.iter().position(|way| *way == link) {
        Some(place) => place,
        None => links.len() + link.0,
    };
    let ways =
        ways.into_iter().map(|link| EqualWay { label: label(link) as u32, port: port(link) });
    Some(Spread::new(hash, ways.collect()))
}

/// Sets every node's route to every other one, by the costs of `links`. Routers and gateways are
/// pinged.
pub(crate) fn route(
    world: &mut World<Stream>,
    scenario: &Scenario,
    layout: &Layout,
    links: &[Link],
) {
    let is_host = |index: usize| matches!(scenario.nodes[index].kind, NodeKind::Host { .. });
    for to in 0..scenario.nodes.len() {
        for node in (0..scenario.nodes.len()).filter(|&index| index != to && !is_host(index)) {
            let port = |link: LinkIndex| {
                let end = usize::from(links[link.0].between[1].0 == node);
                layout.link(link).ports[end]
            };
            let ends = (NodeIndex(node), NodeIndex(to));
            if let Some(spread) = spread(scenario, links, ends, port) {
                world.set_spread(layout.nodes[node], address(to), spread);
                continue;
            }
            let way = network::path(&scenario.nodes, links, ends.0, ends.1);
            let port = way.and_then(|way| way.first().copied()).map(|(link, _)| port(link));
            world.set_route(layout.nodes[node], address(to), port);
        }
    }
    // A cache is reached as the node where it stands, and from there over its own link.
    for WebCache { at, address, .. } in &layout.web_caches {
        for &node in &layout.nodes {
            let Some(to) = world.address(at.0) else { continue };
            if node == at.0 {
                world.set_route(node, *address, Some(at.1));
            } else {
                world.set_route_like(node, *address, to);
            }
        }
    }
}
