//! Another connection between the ends of a flow that is over, or gives way to it.

use super::flow::Phase;
use super::{Disposition, Gateway};
use crate::Side;
use crate::leg::Leg;
use crate::lifecycle::OnSyn;
use crate::segment::Segment;
use bentpipe_core::tcp::buffer::{Buffer, Payload};
use bentpipe_core::time::Instant;
use bentpipe_core::wire::Flags;

impl<B: Buffer> Gateway<B> {
    /// What becomes of a SYN or SYN-ACK from the host of `leg` of flow `id`.
    pub(super) fn on_syn(
        &mut self,
        now: Instant,
        id: usize,
        leg: Leg,
        segment: &Segment<'_>,
    ) -> OnSyn {
        match self.flows[id].phase() {
            Phase::Opening(_) => OnSyn::Segment,
            Phase::Broken(_) if segment.tcp.has(Flags::ACK) => OnSyn::Segment,
            Phase::Broken(_) => OnSyn::NewConnection,
            Phase::Spliced(_) | Phase::Hibernated(_) => self
                .with_flow(id, |flow, _| flow.on_syn(now, leg, segment))
                .unwrap_or(OnSyn::Segment),
        }
    }

    /// Forgets flow `id`, and takes a SYN or SYN-ACK between its ends. The RSTs that the flow has
    /// left to say go first: its far host may not know of its end, and would challenge the SYN.
    pub(super) fn succeed(&mut self, now: Instant, id: usize, syn: Segment<'_>) -> Disposition {
        let sides = self.flows[id].sides();
        let mut waits = false;
        if let Some((spliced, _)) = self.flows[id].spliced_mut() {
            let resets = spliced.take_control();
            waits = !resets.is_empty();
            self.relays.extend(resets.into_iter().map(|(leg, reset)| (sides[leg], reset)));
        }
        self.note_end(id);
        self.remove(id);
        match self.handle_new(now, syn) {
            // What is forwarded would overtake them.
            Disposition::Forward(_) if waits && syn.payload.is_empty() => {
                self.relays.push_back((syn.from.other(), (*syn.ip, syn.tcp.clone())));
                Disposition::Consumed
            }
            disposition => disposition,
        }
    }

    /// A RST has come from the host of `leg`, on side `from`. If it answers a question after a SYN,
    /// that opens another connection.
    pub(super) fn open_confirmed(&mut self, now: Instant, id: usize, leg: Leg, from: Side) {
        let Some((spliced, _)) = self.flows.get_mut(id).and_then(|flow| flow.spliced_mut()) else {
            return;
        };
        let Some(syn) = spliced.take_confirmed_syn(now, leg) else { return };
        let (ip, tcp) = &syn;
        let syn = Segment { from, ip, tcp, payload: Payload::EMPTY };
        if let Disposition::Forward(_) = self.succeed(now, id, syn) {
            self.relays.push_back((from.other(), (*ip, tcp.clone())));
        }
    }
}
