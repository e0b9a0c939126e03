//! The world of a plan, and how it changes.

use super::edges::Edges;
use super::plan::{
    Cable, Call, Change, FaultPlan, Meddler, Middle, MiddleboxPosition, Passage, Path,
};
use crate::{
    ClearsDf, DeadEnd, Fakes, FakesEnd, Host, Liar, Line, Listener, Narrow, Node, Pieced, World,
};
use bentpipe_core::link::LinkConfig;
use bentpipe_core::time::Instant;
use bentpipe_core::wire::SeqNum;
use bentpipe_gateway::{Gateway, SessionRecord, parse_session_records, write_session_records};
use std::cell::Cell;
use std::rc::Rc;

/// Nodes of the boxes; the hosts are nodes 0 and 1.
pub(super) const BOXES: [usize; 2] = [2, 3];
/// Nodes of the routers, where there are detours.
const ROUTERS: [usize; 2] = [4, 5];

/// A box's port towards its host.
pub(super) const NEAR_SIDE: usize = 0;
/// A box's port towards the other box; a router's towards its box.
pub(super) const SATELLITE_SIDE: usize = 1;
/// A box's port around the other box, and a router's around both.
const AROUND: usize = 2;
/// A router's port to the other box.
const TO_FAR_BOX: usize = 3;

/// A world at work.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) world: World,
    /// How many of the plan's changes have happened.
    changed: usize,
    changes: Vec<Instant>,
    forged: u64,
    /// Which boxes have crashed and are routers.
    crashed: [bool; 2],
    /// Which boxes have been told to drain and are gateways still.
    draining: [bool; 2],
    /// What boxes have left that ended in good order and are routers.
    left: [Option<Vec<SessionRecord>>; 2],
    /// Which boxes have read what another one had left.
    recalling: [bool; 2],
    /// The node of the strait, if there is one.
    strait: Option<usize>,
    meddling: Meddling,
    /// How often a caller has called again.
    called_again: u64,
}

/// What boxes have done that meddle: the counts go on.
#[derive(Debug, Default)]
struct Meddling {
    pieced: Vec<Pieced>,
    fakes: Vec<Rc<Cell<u64>>>,
}

/// What a change means to those who watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Changed {
    /// Another box stands in the place of this node.
    Box(usize),
    /// The box in the place of this node has ended in good order.
    Handed(usize),
    /// Packets take another path.
    Route,
    /// Nothing.
    Nothing,
}

impl Stage {
    pub(super) fn new(plan: &FaultPlan, listener: Option<Listener>) -> Stage {
        let mut world = World::default();
        for address in plan.addresses {
            world.add(Host::new(address));
        }
        for (index, middle) in plan.middle.iter().enumerate() {
            world.add(stand(middle, index, Instant::ZERO));
        }
        let strait = plan.strait.map(|strait| (strait.position, Passage::Open(strait.mtu)));
        let mut strait = Joint { at: strait, node: None, plan, meddling: Meddling::default() };
        let cable = |cable: &Cable| {
            let back = LinkConfig { seed: cable.link.seed + 1, ..cable.link.clone() };
            [&cable.link, &back].map(|link| cable.faults.line(link))
        };
        match &plan.detour {
            None => {
                for (host, cables) in plan.cables.iter().enumerate() {
                    let [there, back] = cable(cables);
                    let ends = [(host, 0), (BOXES[host], NEAR_SIDE)];
                    strait.join(&mut world, MiddleboxPosition::Cable(host), ends, [there, back]);
                }
            }
            Some(detour) => {
                let plain = |link: &LinkConfig, number: u64| {
                    [0, 1].map(|way| {
                        let seed = link.seed + 2 * number + way;
                        let link = LinkConfig { seed, ..link.clone() };
                        Line::new(&link)
                    })
                };
                for router in ROUTERS {
                    assert_eq!(world.add(Node::Router), router);
                }
                for (host, cables) in plan.cables.iter().enumerate() {
                    let router = ROUTERS[host];
                    let [there, back] = cable(cables);
                    let ends = [(host, 0), (router, 0)];
                    strait.join(&mut world, MiddleboxPosition::Cable(host), ends, [there, back]);
                    let [there, back] = plain(&LinkConfig::IDEAL, 0);
                    world.join((router, SATELLITE_SIDE), (BOXES[host], NEAR_SIDE), there, back);
                }
                let [there, back] = plain(&detour.beside, 0);
                world.join((ROUTERS[0], AROUND), (ROUTERS[1], AROUND), there, back);
                for host in [0, 1] {
                    let [there, back] = plain(&detour.around, 1 + host as u64);
                    let far = (ROUTERS[1 - host], TO_FAR_BOX);
                    world.join((BOXES[host], AROUND), far, there, back);
                }
            }
        }
        let lines = [0, 1].map(|i| plan.faults.line(&plan.satellite[i]));
        let ends = BOXES.map(|node| (node, SATELLITE_SIDE));
        strait.join(&mut world, MiddleboxPosition::Satellite, ends, lines);
        let Joint { node: strait, meddling, .. } = strait;
        for call in &plan.calls {
            let hosts = [call.host(0), call.host(1)];
            let (keys, isns, scripts) = (call.keys, call.isns, call.applications);
            let caller = world.host_mut(hosts[0]);
            caller.call(call.at, keys[0], call.configs[0], isns[0], scripts[0]);
            world.host_mut(hosts[1]).listen(keys[1].0, call.configs[1], isns[1], scripts[1]);
        }
        let mut stage = Stage {
            world,
            changed: 0,
            changes: plan.changes.iter().map(|(at, _)| *at).collect(),
            forged: 0,
            crashed: [false; 2],
            draining: [false; 2],
            left: [None, None],
            recalling: [false; 2],
            strait,
            meddling,
            called_again: 0,
        };
        for towards in [0, 1] {
            stage.route(plan, towards, Path::Both);
        }
        if let Some(listener) = listener {
            stage.world.tell(listener);
        }
        stage.world.watch();
        stage
    }

    /// When something is to change next.
    pub(super) fn next_change(&self) -> Option<Instant> {
        self.changes.get(self.changed).copied()
    }

    /// How many segments were forged.
    pub(super) fn forged(&self) -> u64 {
        self.forged
    }

    /// How often callers have called again from the same port.
    pub(super) fn called_again(&self) -> u64 {
        self.called_again
    }

    /// Packets that were cut and made whole again.
    pub(super) fn pieced(&self) -> u64 {
        self.meddling.pieced.iter().map(|counts| counts.whole.get()).sum()
    }

    /// Fakes that were sent.
    pub(super) fn faked(&self) -> u64 {
        self.meddling.fakes.iter().map(|sent| sent.get()).sum()
    }

    /// Flows that were split by gateways that another one has told of them.
    pub(super) fn recalled(&self) -> u64 {
        let adopted = |(node, _): (&usize, &bool)| match self.world.node(*node) {
            Node::Gateway(gateway, _) => gateway.summary().adopted,
            _ => 0,
        };
        BOXES.iter().zip(&self.recalling).filter(|(_, recalls)| **recalls).map(adopted).sum()
    }

    /// Changes what is next, at `now`.
    pub(super) fn change(&mut self, plan: &FaultPlan, edges: &Edges, now: Instant) -> Changed {
        self.world.advance(now);
        let (_, change) = &plan.changes[self.changed];
        self.changed += 1;
        match *change {
            Change::End(middle) => return self.end(middle),
            Change::Reload(middle, ref config) => {
                self.world.reconfigure(BOXES[middle], (**config).clone());
            }
            Change::CallAgain(call, isns) => self.call_again(&plan.calls[call], isns),
            Change::Route { towards, path } => {
                self.route(plan, towards, path);
                return Changed::Route;
            }
            Change::Crash(middle) => {
                (self.crashed[middle], self.draining[middle]) = (true, false);
                (self.left[middle], self.recalling[middle]) = (None, false);
                self.world.replace(BOXES[middle], Node::Router);
                return Changed::Box(BOXES[middle]);
            }
            Change::Restart(middle) => {
                (self.crashed[middle], self.draining[middle]) = (false, false);
                (self.left[middle], self.recalling[middle]) = (None, false);
                self.world
                    .replace(BOXES[middle], stand(&plan.middle[middle], middle, self.world.now()));
                return Changed::Box(BOXES[middle]);
            }
            Change::Drain(middle) => {
                self.draining[middle] = matches!(self.world.node(BOXES[middle]), Node::Gateway(..));
                self.world.drain(BOXES[middle]);
            }
            Change::Stop(middle) => return self.stop(middle),
            Change::Start(middle) => return self.start(plan, middle, now),
            Change::Strait(passage) => {
                if let Some(node) = self.strait {
                    self.world.replace(node, keeper(plan, passage));
                }
            }
            Change::Attack(attack) => {
                self.forged += attack.strike(plan, edges, &mut self.world);
            }
        }
        Changed::Nothing
    }

    /// A gateway that drains ends at once.
    fn end(&mut self, middle: usize) -> Changed {
        let node = BOXES[middle];
        if !self.draining[middle] {
            return Changed::Nothing;
        }
        self.draining[middle] = false;
        self.world.reset_all(node);
        self.world.replace(node, Node::Router);
        Changed::Box(node)
    }

    /// Calls again, if the caller has reset the connection.
    fn call_again(&mut self, call: &Call, isns: [SeqNum; 2]) {
        if !call.reports(&self.world)[0].is_some_and(|report| report.aborted) {
            return;
        }
        let [mut script, answer] = call.applications;
        script.abort_after = None;
        let [caller, called] = [0, 1].map(|end| call.host(end));
        self.world.host_mut(called).listen(call.keys[1].0, call.configs[1], isns[1], answer);
        for (host, key) in [(caller, call.keys[0]), (called, call.keys[1])] {
            self.world.host_mut(host).reuse_port(key, isns[0]);
        }
        let now = self.world.now();
        self.world.host_mut(caller).call(now, call.keys[0], call.configs[0], isns[0], script);
        self.world.wake(caller);
        self.called_again += 1;
    }

    /// A gateway ends, if it has drained, and leaves records.
    fn stop(&mut self, middle: usize) -> Changed {
        let node = BOXES[middle];
        let text = match self.world.node(node) {
            Node::Gateway(gateway, _) if gateway.is_drained() => {
                write_session_records(0, gateway.records())
            }
            _ => return Changed::Nothing,
        };
        let (_, records) = parse_session_records(&text).expect("as it was written");
        (self.left[middle], self.recalling[middle]) = (Some(records), false);
        self.draining[middle] = false;
        self.world.replace(node, Node::Router);
        Changed::Handed(node)
    }

    /// Another one comes, which reads them. It has not seen what passed meanwhile (fault seed
    /// 147295642).
    fn start(&mut self, plan: &FaultPlan, middle: usize, now: Instant) -> Changed {
        let Some(records) = self.left[middle].take() else { return Changed::Nothing };
        let next = stand(&plan.middle[middle], middle, now);
        let Node::Gateway(mut gateway, sides) = next else { return Changed::Nothing };
        records.iter().for_each(|record| gateway.recall(now, record));
        self.recalling[middle] = !records.is_empty();
        self.world.replace(BOXES[middle], Node::Gateway(gateway, sides));
        Changed::Handed(BOXES[middle])
    }

    /// Sends packets towards a host along `path`. A box that they pass by keeps its routes: what it
    /// still has to send goes where it went before.
    fn route(&mut self, plan: &FaultPlan, towards: usize, path: Path) {
        let (near, far) = (1 - towards, towards);
        let address = plan.addresses[towards];
        let detours = plan.detour.is_some();
        let mut set = |node, port| self.world.set_route(node, address, Some(port));
        if path != Path::Beside || !detours {
            set(BOXES[far], NEAR_SIDE);
        }
        if !detours {
            return set(BOXES[near], SATELLITE_SIDE);
        }
        set(ROUTERS[far], 0);
        match path {
            Path::Both => {
                set(ROUTERS[near], SATELLITE_SIDE);
                set(BOXES[near], SATELLITE_SIDE);
            }
            Path::Near => {
                set(ROUTERS[near], SATELLITE_SIDE);
                set(BOXES[near], AROUND);
            }
            Path::Far => set(ROUTERS[near], TO_FAR_BOX),
            Path::Beside => set(ROUTERS[near], AROUND),
        }
    }
}

fn stand(middle: &Middle, index: usize, now: Instant) -> Node {
    match middle {
        Middle::Router => Node::Router,
        Middle::Gateway(config) => {
            let mut gateway = Gateway::new((**config).clone());
            // Each from somewhere else, as if at random (fault seed 112158692).
            let boot = now.as_nanos() + index as u64;
            gateway.number_packets_by(boot);
            gateway.identify_as((boot as u32).wrapping_add(1));
            Node::Gateway(Box::new(gateway), vec![NEAR_SIDE])
        }
    }
}

impl Meddling {
    /// A box that does.
    fn stand(&mut self, meddler: Meddler) -> Node {
        Node::Middlebox(match meddler {
            Meddler::ClearsDf { mtu, loss, seed } => {
                let router = ClearsDf::new(mtu, loss, seed);
                self.pieced.push(router.counts());
                Box::new(router)
            }
            Meddler::Fakes { fake, share, seed } => {
                let fakes = Fakes::new(fake, share, seed);
                self.fakes.push(fakes.sent());
                Box::new(fakes)
            }
            Meddler::FakesEnd => Box::new(FakesEnd { from: 1 }),
            Meddler::Lies { lies, seed } => Box::new(Liar::new(lies, seed)),
        })
    }
}

/// Lays cables, and sets the strait and meddlers into those where they are to be.
struct Joint<'a> {
    at: Option<(MiddleboxPosition, Passage)>,
    node: Option<usize>,
    plan: &'a FaultPlan,
    meddling: Meddling,
}

impl Joint<'_> {
    /// Joins two ports. A strait stands at the far end: what it says about packets that come from
    /// there is heard at once, and about others as late as the lines are long.
    fn join(
        &mut self,
        world: &mut World,
        position: MiddleboxPosition,
        [a, b]: [(usize, usize); 2],
        [there, back]: [Line; 2],
    ) {
        let (mut a, mut lines) = (a, [there, back]);
        let ideal = || [0, 1].map(|_| Line::new(&LinkConfig::IDEAL));
        let mut set_in = |world: &mut World, node: Node| {
            let node = world.add(node);
            let [there, back] = std::mem::replace(&mut lines, ideal());
            world.join(a, (node, 0), there, back);
            a = (node, 1);
            node
        };
        for (_, meddler) in self.plan.meddlers.iter().filter(|(at, _)| *at == position) {
            set_in(world, self.meddling.stand(*meddler));
        }
        if let Some((_, passage)) = self.at.filter(|(at, _)| *at == position) {
            self.node = Some(set_in(world, keeper(self.plan, passage)));
        }
        let [there, back] = lines;
        world.join(a, b, there, back);
    }
}

/// The router in the strait.
fn keeper(plan: &FaultPlan, passage: Passage) -> Node {
    let address = plan.router();
    Node::Middlebox(match passage {
        Passage::Open(mtu) => Box::new(Narrow { address, mtu, silent: false }),
        Passage::DeadEnd => Box::new(DeadEnd { address }),
    })
}
