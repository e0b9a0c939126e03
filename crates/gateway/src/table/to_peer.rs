//! Acknowledgments and reports to a peer gateway.

use super::Gateway;
use super::access::Context;
use super::remotes::RemoteId;
use crate::Side;
use crate::config::FoundBy;
use crate::leg::Leg;
use crate::lifecycle::SplicedFlow;
use crate::splice::LegTcp;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::cause::Cause;
use bentpipe_core::tcp::tcb::Outgoing;
use bentpipe_core::time::Instant;
use bentpipe_core::units::Bytes;

impl<B: Buffer> Gateway<B> {
    /// Flow `id` begins: as much may come as has come of others. Where its link is only remembered,
    /// the round trip of its handshake shows whether that is the same.
    pub(super) fn expect_arrivals(&mut self, now: Instant, id: usize) {
        let flow = &mut self.flows[id];
        let (sides, remote) = (flow.sides(), flow.remote);
        let Some((spliced, _)) = flow.spliced_mut() else { return };
        let toward = |leg: &Leg| sides[*leg] == Side::Satellite;
        let leg = Leg::BOTH.into_iter().find(toward);
        let measured = leg.and_then(|leg| spliced.splice().leg(leg).tcb.sender.rtt().srtt());
        if let (Some(id), Some(round_trip)) = (remote, measured) {
            self.links.remotes.link_mut(id).begin(now, round_trip);
        }
        let arrived = &self.links.of(Side::Satellite, remote).arrived;
        let flows = self.links.remotes.count_flows(remote);
        for leg in Leg::BOTH.into_iter().filter(|leg| sides[*leg] == Side::Satellite) {
            spliced.expect(leg, |round_trip| arrived.expected_in(round_trip), Some(flows));
        }
    }
}

impl Context<'_> {
    /// A segment with data has come on `leg`, whose acknowledgment may wait: not all of a peer's.
    pub(super) fn acknowledge_promptly<B: Buffer>(
        &mut self,
        now: Instant,
        id: usize,
        flow: &mut SplicedFlow<B>,
        leg: Leg,
    ) {
        let LegTcp { acknowledgments, tcb, .. } = flow.leg_mut(leg);
        if !acknowledgments.are_prompt() {
            return;
        }
        let link = self.links.of_mut(self.sides[leg], self.remote);
        let waits = tcb.receiver.poll_timer().is_some();
        if link.prompt.on_segment(now, id, waits) && waits {
            tcb.receiver.ack_now(Cause::Segments);
        }
    }

    /// So many bytes of a segment's payload have arrived on `leg` of flow `id`.
    pub(super) fn note_arrived(&mut self, now: Instant, id: usize, leg: Leg, len: usize) {
        let from_peer = self.sides[leg] == Side::Satellite && self.report.is_some();
        if from_peer && len > 0 {
            let link = self.links.of_mut(Side::Satellite, self.remote);
            link.arrived.on_data(now, id, Bytes::of_len(len).count());
        }
    }

    /// Adds what the peer gateway is to hear to what leaves on `leg`, if it has room.
    ///
    /// Where all remotes count as one, what has arrived of all of them says nothing to one.
    pub(super) fn report<B: Buffer>(
        &mut self,
        now: Instant,
        id: usize,
        flow: &mut SplicedFlow<B>,
        leg: Leg,
        out: &mut Outgoing,
    ) {
        let Some(report) = self.report.filter(|_| self.sides[leg] == Side::Satellite) else {
            return;
        };
        let apart = self.config.satellite.found_by == FoundBy::AllFlows;
        let flows = self.links.remotes.count_flows(self.remote);
        let arrived = &mut self.links.of_mut(Side::Satellite, self.remote).arrived;
        let count = self.remote.map_or(0, RemoteId::low_bits);
        let arrivals = arrived.due(now, id, count).filter(|_| apart);
        let sent = flow.leg_mut(leg).report(report.with(arrivals), self.config.pair_key, out);
        if let Some(report) = sent.filter(|sent| sent.arrivals.is_some()) {
            arrived.note_reported(now, report);
            // Acknowledgments of a train show how it comes.
            let flows = Some(flows).filter(|_| !arrived.is_in_train());
            flow.expect(leg, |round_trip| arrived.expected_in(round_trip), flows);
        }
    }
}
