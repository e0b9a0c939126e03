//! What is checked after every event: only the nodes and lines that it has touched.

use super::adoption::Adoptions;
use super::causes::Causes;
use super::clocks::Clocks;
use super::connection_ends::ConnectionEnds;
use super::edges::Edges;
use super::losses::Losses;
use super::plan::FaultPlan;
use super::stage::{BOXES, Changed};
use super::streams::Streams;
use super::violation::{Invariant, Violation};
use crate::node::Node;
use crate::world::{Segment, SegmentEvent, Touched, World};
use bentpipe_core::wire::Flags;

/// What was seen so far.
#[derive(Debug)]
pub(super) struct InvariantChecker {
    pub(super) edges: Edges,
    streams: Streams,
    clocks: Clocks,
    causes: Causes,
    ends: Vec<ConnectionEnds>,
    losses: Losses,
    adoptions: Adoptions,
    touched: Touched,
    /// By box: the most that it may hold.
    limits: [usize; 2],
    /// By line: it exists, and is checked at the end as well.
    lines: usize,
}

impl InvariantChecker {
    pub(super) fn new(plan: &FaultPlan) -> InvariantChecker {
        let limits = [0, 1].map(|index| {
            plan.configs(index).map(|config| config.memory.count() as usize).max().unwrap_or(0)
        });
        let ends = (0..plan.calls.len()).map(|number| ConnectionEnds::new(plan, number)).collect();
        let detours = if plan.detour.is_some() { 5 } else { 0 };
        let set_in = usize::from(plan.strait.is_some()) + plan.meddlers.len();
        let lines = 2 * (3 + detours + set_in);
        InvariantChecker {
            edges: Edges::default(),
            streams: Streams::new(plan),
            clocks: Clocks::default(),
            causes: Causes::default(),
            ends,
            losses: Losses::default(),
            adoptions: Adoptions::new(plan),
            touched: Touched::default(),
            limits,
            lines,
        }
    }

    /// Something was changed from outside.
    pub(super) fn heed(&mut self, changed: Changed) {
        if let Changed::Box(node) = changed {
            self.edges.forget(node);
            self.streams.forget(node);
            self.clocks.forget(node);
            self.causes.forget(node);
            self.losses.forget(node);
            self.adoptions.forget(node);
        }
        if changed == Changed::Route {
            self.edges.lose_sight(|name| self.adoptions.listens(name));
            BOXES
                .iter()
                .filter(|node| self.adoptions.adopts(**node))
                .for_each(|node| self.causes.lose_sight(*node));
        }
        if let Changed::Handed(node) = changed {
            // What hosts have agreed on the next one is told.
            self.edges.hand_over(node);
            self.streams.hand_over(node);
            self.clocks.forget(node);
            self.causes.hand_over(node);
            self.losses.forget(node);
            self.adoptions.forget(node);
        }
    }

    pub(super) fn violation(
        &self,
        world: &World,
        invariant: Invariant,
        detail: String,
    ) -> Violation {
        Violation { at: world.now(), invariant, detail }
    }

    /// Checks what the last event has touched.
    pub(super) fn check(&mut self, plan: &FaultPlan, world: &mut World) -> Result<(), Violation> {
        let mut touched = std::mem::take(&mut self.touched);
        world.touched(&mut touched);
        let now = world.now();
        let broken = |invariant, detail| Violation { at: now, invariant, detail };
        for segment in &touched.segments {
            if segment.event == SegmentEvent::Forged {
                for (call, ends) in plan.calls.iter().zip(&mut self.ends) {
                    ends.note_forged(plan, call, segment);
                }
            }
            // What its receiver does not take promises nothing, and shows nothing.
            if segment.is_fake || is_question(segment, &touched.segments) {
                continue;
            }
            if self.adoptions.begins(segment) {
                self.edges.begin(segment);
            }
            let inherits = self.adoptions.inherits(segment);
            if inherits {
                self.streams.overhear(segment, &self.edges);
                // It echoes what has come in order, whatever its own receiver makes of it (fault
                // seed 159036914).
                self.clocks.inherit_echo(segment);
                if !self.edges.allow(segment) {
                    continue;
                }
                // Of what its receiver has no room for the gateway takes nothing down (fault seed
                // 104318111).
                match self.edges.has_room(segment) {
                    true => self.causes.inherit(segment),
                    false => self.causes.doubt(segment),
                }
                self.edges.inherit(segment);
                self.streams.inherit(segment, &self.edges);
                self.clocks.inherit(segment);
            }
            self.causes.see(segment).map_err(|detail| broken(Invariant::Cause, detail))?;
            self.edges.see(segment).map_err(|detail| broken(Invariant::RightEdge, detail))?;
            self.streams
                .see(segment, &self.edges)
                .map_err(|detail| broken(Invariant::WindowWithinStream, detail))?;
            if !inherits {
                self.clocks
                    .see(segment)
                    .map_err(|(invariant, detail)| broken(invariant, detail))?;
            }
        }
        for &line in &touched.lines {
            conserved(world, line)?;
        }
        for &node in &touched.nodes {
            match world.node(node) {
                Node::Host(host) => {
                    if let Some((key, _)) = host.limiters().find(|(_, limiter)| limiter.is_none()) {
                        let detail = format!("nothing keeps {key:?} of node {node} silent");
                        return Err(broken(Invariant::Limiter, detail));
                    }
                    for (call, ends) in plan.calls.iter().zip(&mut self.ends) {
                        ends.check(plan, call, world, node)
                            .map_err(|(invariant, detail)| broken(invariant, detail))?;
                    }
                }
                Node::Gateway(gateway, _) => {
                    if let Some(client) = gateway.unlimited() {
                        let detail =
                            format!("nothing keeps a leg of {client} at node {node} silent");
                        return Err(broken(Invariant::Limiter, detail));
                    }
                    let limit = self.limits[node - BOXES[0]];
                    if gateway.held() > limit {
                        let held = gateway.held();
                        let detail = format!("node {node} holds {held}, may hold {limit}");
                        return Err(broken(Invariant::Memory, detail));
                    }
                    self.streams
                        .check(now, node, gateway)
                        .map_err(|(invariant, detail)| broken(invariant, detail))?;
                    self.adoptions
                        .check(plan, world, node, gateway)
                        .map_err(|detail| broken(Invariant::AdoptedLate, detail))?;
                    self.losses
                        .check(plan, world, node, gateway, &touched.segments)
                        .map_err(|detail| broken(Invariant::NeedlessReset, detail))?;
                }
                Node::Router | Node::Middlebox(_) => {}
            }
        }
        self.touched = touched;
        Ok(())
    }

    /// Checks what must be when nothing happens any more.
    pub(super) fn check_end(
        &mut self,
        plan: &FaultPlan,
        world: &mut World,
    ) -> Result<(), Violation> {
        let now = world.now();
        let broken = |invariant, detail| Violation { at: now, invariant, detail };
        if let Some(at) = world.next_event() {
            let detail = format!("something is still to happen at {} s", at.as_secs_f64());
            return Err(broken(Invariant::Livelock, detail));
        }
        for line in 0..self.lines {
            world.refresh(line);
            conserved(world, line)?;
        }
        for (call, ends) in plan.calls.iter().zip(&self.ends) {
            ends.check_end(plan, call, world)
                .map_err(|(invariant, detail)| broken(invariant, detail))?;
        }
        for gateway in world.gateways() {
            if gateway.flows() > 0 || gateway.held() > 0 {
                let (flows, held) = (gateway.flows(), gateway.held());
                let detail = format!("{flows} flows and {held} bytes are left in a gateway");
                return Err(broken(Invariant::Leftover, detail));
            }
        }
        Ok(())
    }
}

/// Whether a gateway asks a host what it expects: by a copy of what it has just forwarded, from
/// below that. What it says there is said by the other host, and not heeded.
fn is_question(segment: &Segment, together: &[Segment]) -> bool {
    segment.event == SegmentEvent::Sent
        && together.iter().any(|passed| {
            let Segment { node, flags, src, dst, seq, ack, window, timestamps, .. } = *passed;
            let copied = (node, flags, src, dst, ack, window, timestamps);
            let Segment { node, flags, src, dst, ack, window, timestamps, .. } = *segment;
            passed.event == SegmentEvent::Forwarded
                && !passed.is_fake
                && flags == Flags::ACK
                && copied == (node, flags, src, dst, ack, window, timestamps)
                && segment.seq.distance_from(seq) < 0
        })
}

fn conserved(world: &World, line: usize) -> Result<(), Violation> {
    world.line(line).check().map_err(|detail| Violation {
        at: world.now(),
        invariant: Invariant::Conservation,
        detail: format!("line {line}: {detail}"),
    })
}
