//! Segments as they come in: to their flow, to a new one, or onwards unchanged.

use super::access::Context;
use super::broken::Whose;
use super::flow::{Flow, Phase};
use super::judge::Verdict;
use super::{Disposition, Gateway};
use crate::Side;
use crate::announce::Report;
use crate::config::Handshake;
use crate::handshake::{Obstacle, Opening, Relay, Step, Syn};
use crate::key::FlowKey;
use crate::leg::{Leg, PerLeg};
use crate::lifecycle::{OnSyn, Past, Received, SplicedFlow};
use crate::observe::{Event, Reason, Release};
use crate::segment::Segment;
use bentpipe_core::tcp::buffer::{Buffer, Payload};
use bentpipe_core::time::Instant;
use bentpipe_core::units::Bytes;
use bentpipe_core::wire::{AckRewrite, Flags, IpHeader, TcpHeader};

impl<B: Buffer> Gateway<B> {
    /// Takes a TCP packet that came in from `from`.
    pub fn handle_packet(
        &mut self,
        now: Instant,
        from: Side,
        ip: &IpHeader,
        tcp: &TcpHeader,
        payload: Payload<'_>,
    ) -> Disposition {
        let segment = Segment { from, ip, tcp, payload };
        let key = FlowKey::of(ip, tcp);
        let verdict = self.guarded(now, Whose::Key(key), |gateway| match gateway.table.get(&key) {
            Some(&id) => gateway.handle_known(now, id, segment),
            None => gateway.handle_half_open(now, key, segment),
        });
        // Of a flow that has broken its hosts are reset; what has not become one is theirs.
        let verdict = verdict.unwrap_or_else(|| match self.table.contains_key(&key) {
            true => Disposition::Consumed,
            false => Disposition::Forward(Reason::NotOpened),
        });
        let bytes = ip.wire_len() + tcp.wire_len() + payload.len();
        match verdict {
            Disposition::Consumed => self.summary.count_consumed(bytes),
            Disposition::Forward(reason) | Disposition::RewriteAck(reason, _) => {
                self.summary.count_forwarded(reason, bytes);
                if tcp.flags.ask_for_a_connection() && !self.has_flow(&key) {
                    self.note_unsplit(now, &key, (ip.src, tcp.src_port), reason);
                }
            }
        }
        verdict
    }

    fn handle_known(&mut self, now: Instant, id: usize, segment: Segment<'_>) -> Disposition {
        let Some(leg) = self.flows[id].leg_of(&segment) else {
            return Disposition::Forward(Reason::Route);
        };
        let flags = segment.tcp.flags;
        if flags.ask_for_a_connection() || flags.accept_a_connection() {
            match self.on_syn(now, id, leg, &segment) {
                OnSyn::Segment => {}
                OnSyn::Drop => return Disposition::Consumed,
                OnSyn::NewConnection => return self.succeed(now, id, segment),
            }
        }
        let step = match self.flows[id].phase_mut() {
            Phase::Opening(opening) => opening.on_segment(now, &self.config, leg, &segment),
            Phase::Spliced(_) | Phase::Hibernated(_) => {
                let disposition = self.handle_spliced(now, id, leg, segment);
                if segment.tcp.has(Flags::RST) {
                    self.open_confirmed(now, id, leg, segment.from);
                }
                return disposition;
            }
            Phase::Broken(_) => {
                self.answer_for_broken(segment);
                return Disposition::Consumed;
            }
        };
        self.handle_opening(now, id, leg, segment, step)
    }

    /// A packet of no flow: a SYN may open one.
    pub(super) fn handle_new(&mut self, now: Instant, segment: Segment<'_>) -> Disposition {
        let Segment { from, ip, tcp, .. } = segment;
        if !tcp.flags.ask_for_a_connection() || tcp.has(Flags::URG) {
            self.watch_forwarded(now, &segment);
            if let Some(reason) = self.watch_sample(now, &segment) {
                return Disposition::Forward(reason);
            }
            return Disposition::Forward(self.watch_candidate(now, &segment));
        }
        self.candidates.begin(&segment);
        let key = FlowKey::of(ip, tcp);
        let client = self.clients.origin(&key, ip.src);
        let opener = IpHeader { src: client, ..*ip };
        match self.judge(&Segment { ip: &opener, ..segment }) {
            Verdict::Forward(reason) => return Disposition::Forward(reason),
            _ if self.sample(now, &segment) => return Disposition::Forward(Reason::Sample),
            Verdict::Candidate(after) => return self.forward_candidate(now, &segment, after),
            Verdict::Split => {}
        }
        if let Err(reason) = self.admit(client) {
            self.make_room(now, reason, client);
        }
        if let Err(reason) = self.admit(client) {
            return Disposition::Forward(reason);
        }
        let mut syn = Syn::new(now, &self.config, from, self.peer_known, ip, tcp);
        let may_add = |gateway: &mut Self| {
            gateway.half_open.has_room_to_add(&gateway.config) && gateway.has_room_to_bind()
        };
        if !syn.is_as_it_came() && !may_add(self) {
            syn = syn.without_added_options();
        }
        if from == Side::Satellite {
            let told = self.told_in(tcp);
            self.told.note(key, told);
        }
        let relay = syn.relay(now, &self.config, ip, tcp);
        self.half_open.insert(&self.config, key, syn);
        self.clients.add(&key, ip.src);
        self.relays.push_back((from.other(), relay));
        Disposition::Consumed
    }

    /// A packet of a connection without a SYN-ACK yet.
    fn handle_half_open(
        &mut self,
        now: Instant,
        key: FlowKey,
        segment: Segment<'_>,
    ) -> Disposition {
        let Segment { from, ip, tcp, .. } = segment;
        let Some(syn) = self.half_open.get_mut(&key) else {
            let over = self.handle_over(now, &key, &segment);
            return over.unwrap_or_else(|| self.handle_new(now, segment));
        };
        let sides = syn.sides();
        let leg = if syn.is_from(&key, (ip.src, tcp.src_port)) { Leg::Client } else { Leg::Server };
        if sides[leg] != from {
            return Disposition::Forward(Reason::Route);
        }
        if tcp.has(Flags::RST) {
            if !syn.is_refused_by(leg, tcp) {
                return Disposition::Forward(Reason::NotOpened);
            }
            let reason = if leg == Leg::Server { Reason::Refused } else { Reason::Aborted };
            self.forget_half_open(now, &key, reason);
            return Disposition::Forward(reason);
        }
        match (leg, tcp.has(Flags::SYN), tcp.has(Flags::ACK)) {
            (Leg::Server, true, true) => {
                let syn = *syn;
                return self.handle_synack(now, key, &syn, segment);
            }
            (Leg::Client, true, _) if syn.is_repeated_by(tcp) => {
                let relay = syn.relay(now, &self.config, ip, tcp);
                self.relays.push_back((sides[Leg::Server], relay));
            }
            // Of a forgery the hosts make nothing, but they would be left with what we have added.
            (_, true, _) if !syn.is_as_it_came() => {
                return Disposition::Forward(Reason::NotOpened);
            }
            (Leg::Server, true, false) => {
                // Simultaneous open: the hosts do it between themselves.
                self.forget_half_open_quietly(&key);
                return Disposition::Forward(Reason::NotOpened);
            }
            (Leg::Client, true, _) => {
                // Another SYN on the same ports: the old attempt is over.
                self.forget_half_open(now, &key, Reason::Aborted);
                return self.handle_new(now, segment);
            }
            (_, _, _) if syn.goes_one_way() || syn.is_gone_past_by(leg, tcp) => {
                syn.note(Obstacle::OneWay);
                return Disposition::Forward(Reason::OneWay);
            }
            (_, _, _) => return Disposition::Forward(Reason::NotOpened),
        }
        Disposition::Consumed
    }

    /// The server has answered the SYN: a flow for the table.
    fn handle_synack(
        &mut self,
        now: Instant,
        key: FlowKey,
        syn: &Syn,
        segment: Segment<'_>,
    ) -> Disposition {
        let Segment { ip, tcp, .. } = segment;
        let early = self.config.handshake == Handshake::DownstreamFirst;
        let may_bind = (early || syn.is_added_to()) && self.has_room_to_bind();
        let known = &mut self.peer_known;
        let Some((mut opening, relay)) =
            Opening::new(now, &self.config, syn, may_bind, known, ip, tcp)
        else {
            return Disposition::Forward(Reason::NotOpened);
        };
        if segment.from == Side::Satellite {
            let told = self.told_in(tcp);
            self.learn(told);
        }
        let early = early && may_bind;
        if !early {
            self.promise(now, &key, &mut opening);
        }
        let (bound, behind) = (opening.is_bound(), opening.behind_synack());
        self.half_open.remove(&key);
        let sides = syn.sides();
        let ends = PerLeg::new((ip.dst, tcp.dst_port), (ip.src, tcp.src_port));
        let id = self.flows.insert(Flow::new(ends, sides, syn.sent_at(), opening));
        self.table.insert(key, id);
        self.account(id);
        self.relay_synack(sides[Leg::Client], relay, behind);
        // The server is answered before its client has answered it.
        if early {
            self.splice(now, id, None);
        }
        let client = (ip.dst, sides[Leg::Client]);
        let standing = &mut self.flows[id].standing;
        self.awaiting_ack.wait(now, &self.config, id, client, early || bound, standing);
        if early {
            self.settle(id);
        } else {
            self.arm(id);
        }
        Disposition::Consumed
    }

    /// Opens the window for the client's first data wider than a SYN-ACK can, if that is wanted and
    /// there is memory.
    fn promise(&mut self, now: Instant, key: &FlowKey, opening: &mut Opening) {
        let satellite = self.told.leg_for(key, &self.config.satellite);
        let Some(wanted) = opening.wants_promise(&self.config, &satellite) else { return };
        let window = wanted.min(Bytes::of_len(self.free()) / 16);
        if window > Bytes::from(u16::MAX) {
            opening.promise(self.first_promise(now), window);
        }
    }

    fn relay_synack(&mut self, to: Side, synack: Relay, behind: Option<Relay>) {
        self.relays.push_back((to, synack));
        self.relays.extend(behind.map(|behind| (to, behind)));
    }

    /// A handshake is complete, by the client's `ack` or because the server is not to wait for it.
    fn splice(&mut self, now: Instant, id: usize, ack: Option<&TcpHeader>) {
        let Phase::Opening(opening) = self.flows[id].phase() else { return };
        let completed = opening.complete(now, &self.config, self.flows[id].ends(), ack);
        let promised = opening.promised().map(|promise| promise.first);
        let first = promised.unwrap_or_else(|| self.first_promise(now));
        let flow = &mut self.flows[id];
        let spliced = SplicedFlow::new(now, &self.config, completed, first);
        flow.enter(Phase::Spliced(Box::new(spliced)));
        self.events.push(Event::Split(flow.ends().into()));
        self.summary.split += 1;
        self.begin_turns(now, id);
    }

    /// A flow begins to share links with others.
    pub(super) fn begin_turns(&mut self, now: Instant, id: usize) {
        for side in Side::BOTH {
            if let Some(free_share) = &mut self.links[side].free_share {
                free_share.begin(&mut self.flows[id].turns[side]);
            }
        }
        self.guess_remote(id);
        self.expect_arrivals(now, id);
    }

    /// A segment of a connection whose SYN-ACK has come, of which the handshake says what becomes
    /// of it.
    fn handle_opening(
        &mut self,
        now: Instant,
        id: usize,
        leg: Leg,
        segment: Segment<'_>,
        step: Step,
    ) -> Disposition {
        let sides = self.flows[id].sides();
        match step {
            Step::Forward => return Disposition::Forward(Reason::NotOpened),
            Step::Forget(obstacle) => {
                self.forget_opening(now, id, obstacle.into());
                return Disposition::Forward(obstacle.into());
            }
            Step::Restart => {
                self.forget_opening(now, id, Reason::Aborted);
                return self.handle_new(now, segment);
            }
            Step::Complete(synack) => {
                self.relays.extend(synack.map(|synack| (sides[Leg::Client], synack)));
                self.learn_from_open(|| FlowKey::of(segment.ip, segment.tcp));
                self.splice(now, id, Some(segment.tcp));
                return self.handle_spliced(now, id, leg, segment);
            }
            Step::RelaySyn(syn) => self.relays.push_back((sides[Leg::Server], syn)),
            Step::RelaySynAck(synack, behind) => {
                self.relay_synack(sides[Leg::Client], synack, behind);
            }
            Step::Drop => {}
        }
        self.arm(id);
        Disposition::Consumed
    }

    fn handle_spliced(
        &mut self,
        now: Instant,
        id: usize,
        leg: Leg,
        segment: Segment<'_>,
    ) -> Disposition {
        let (leaving, ends) = (self.leaving, self.flows[id].ends());
        let (report, stripped) = take_report(&segment);
        let segment = match &stripped {
            Some(tcp) => Segment { tcp, ..segment },
            None => segment,
        };
        let (mut reported, mut acknowledged) = (None, false);
        let done = self.with_flow(id, |flow, context| {
            match flow.lets_past(leg, &segment) {
                Some(Past::Forward) => return Taken::Past,
                Some(Past::Drop) => return Taken::Consumed,
                None => {}
            }
            let released = flow.released_for();
            if flow.is_unconfirmed() && leg == Leg::Client {
                flow.drop_added_options(now, context.config, context.sides[leg], segment.tcp);
            }
            let before = BeforeArrival::of(flow, leg);
            let received = flow.on_segment(now, leg, segment, context.allowance);
            context.note_progress(now, leg, &before, &received);
            let confirmed = !flow.is_unconfirmed();
            if received.taken_past {
                context.on_taken_past(now, flow, ends, leg);
                // What it says is the far host's to hear by now.
                let received = flow.on_segment(now, leg, segment, context.allowance);
                return Taken::by(flow.released_for(), &received);
            }
            context.count(leg, &received);
            if !segment.payload.is_empty() {
                context.acknowledge_promptly(now, id, flow, leg);
            }
            if received.accepted {
                context.note_arrived(now, id, leg, segment.payload.len());
            }
            context.watch_links(now, flow);
            let is_peers = received.accepted && confirmed && flow.splice().leg(leg).peer;
            reported = report.filter(|report| {
                is_peers && flow.leg_mut(leg).believes(*report, context.config.pair_key)
            });
            acknowledged = !received.delivered.is_zero();
            if let Some(bypass) = received.bypassed {
                context.on_bypass(now, flow, ends, leg, bypass);
            }
            if let Some(why) = leaving.filter(|_| confirmed) {
                flow.release(now, why, None);
            }
            Taken::by(released, &received)
        });
        let spliced = self.flows.get(id).and_then(|flow| flow.spliced());
        if spliced.is_some_and(|spliced| !spliced.is_unconfirmed()) {
            self.learn_from_open(|| FlowKey::of(segment.ip, segment.tcp));
        }
        if let Some(report) = reported
            && self.flows.contains(id)
        {
            self.on_report(now, id, report);
        } else {
            let pure = segment.payload.is_empty() && segment.tcp.flags == Flags::ACK;
            self.guess_late(id, pure && acknowledged && report.is_none());
        }
        match done {
            Some(Taken::Past) => Disposition::Forward(Reason::Past),
            Some(Taken::Released(why, None)) => Disposition::Forward(why.into()),
            Some(Taken::Released(why, Some(ack_rewrite))) => {
                Disposition::RewriteAck(why.into(), ack_rewrite)
            }
            Some(Taken::Consumed) | None => Disposition::Consumed,
        }
    }
}

/// A peer gateway's report in a segment from the satellite, and the segment's header without it.
/// It is taken off whatever version it has.
fn take_report(segment: &Segment<'_>) -> (Option<Report>, Option<TcpHeader>) {
    if segment.from != Side::Satellite || segment.tcp.options.other.is_empty() {
        return (None, None);
    }
    let mut stripped = segment.tcp.clone();
    let report = Report::find(&stripped.options);
    let any = Report::strip(&mut stripped.options);
    (report, any.then_some(stripped))
}

/// What has become of a segment of a flow.
enum Taken {
    /// The gateway has dealt with it.
    Consumed,
    /// It is forwarded, as the far host's alone.
    Past,
    /// It is forwarded, as its flow is being released.
    Released(Release, Option<AckRewrite>),
}

impl Taken {
    /// Of a flow that is being `released`, or not.
    fn by(released: Option<Release>, received: &Received) -> Taken {
        match released.filter(|_| received.forward) {
            Some(why) => Taken::Released(why, received.ack_rewrite),
            None => Taken::Consumed,
        }
    }
}

/// What was outstanding before a segment came.
struct BeforeArrival {
    /// Payload in either direction.
    outstanding: bool,
    /// Payload before what has come on this leg.
    gap: bool,
}

impl BeforeArrival {
    fn of<B: Buffer>(flow: &SplicedFlow<B>, leg: Leg) -> BeforeArrival {
        let tcb = |leg| flow.splice().tcb(leg);
        BeforeArrival {
            outstanding: Leg::BOTH.into_iter().any(|leg| !tcb(leg).sender.is_done()),
            gap: !tcb(leg).receiver.out_of_order().is_empty(),
        }
    }
}

impl Context<'_> {
    /// Notes when payload comes and is acknowledged, and losses before us.
    fn note_progress(
        &mut self,
        now: Instant,
        leg: Leg,
        before: &BeforeArrival,
        received: &Received,
    ) {
        if received.received.is_zero() && received.delivered.is_zero() {
            return;
        }
        self.progress.note(now, self.began, before.outstanding);
        if before.gap && !received.received.is_zero() && self.sides[leg] == Side::Satellite {
            self.progress.note_filled();
        }
    }

    fn count(&mut self, leg: Leg, received: &Received) {
        let stats = self.summary.side_mut(self.sides[leg]);
        stats.received_bytes += received.received.count();
        stats.delivered_bytes += received.delivered.count();
        stats.discarded += u64::from(received.discarded);
    }
}
