//! The gain of splitting: flows that end, and connections of the sample.

use super::Gateway;
use crate::benefit::{Manner, Transfer, Transfers};
use crate::key::FlowKey;
use crate::leg::Leg;
use crate::observe::Reason;
use crate::segment::Segment;
use crate::{PerSide, Side};
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::Instant;
use bentpipe_core::units::{Offset, Rate};

impl<B: Buffer> Gateway<B> {
    /// The transfers that have ended.
    pub fn transfers(&self) -> &Transfers {
        &self.transfers
    }

    /// Takes down what flow `id` has carried.
    pub(super) fn note_transfer(&mut self, id: usize) {
        let flow = &self.flows[id];
        let (Some(spliced), Some(took)) = (flow.spliced(), flow.progress.took()) else {
            return;
        };
        let (sides, splice) = (flow.sides(), spliced.splice());
        let delivered = |leg| {
            let sender = &splice.tcb(leg).sender;
            (sender.snd_una().min(sender.written()) - Offset::FIRST).count()
        };
        let bytes = [delivered(Leg::Server), delivered(Leg::Client)];
        let receiver = if bytes[0] > bytes[1] { Leg::Server } else { Leg::Client };
        let sender = &splice.tcb(receiver).sender;
        let stats = sender.stats();
        let lost = match sides[receiver] {
            Side::Satellite => stats.retransmissions.saturating_sub(stats.probes),
            Side::Lan => u64::from(flow.progress.filled()),
        };
        let by_side = PerSide::of(|side| {
            Leg::BOTH.into_iter().find(|leg| sides[*leg] == side).unwrap_or(Leg::Client)
        });
        let of_side = |side| &splice.tcb(by_side[side]).sender;
        let transfer = Transfer {
            manner: Manner::Split,
            client: self.clients.origin(&flow.key(), flow.client().0),
            port: flow.server().1,
            bytes,
            took,
            round_trips: Side::BOTH.map(|side| of_side(side).rtt().min_rtt()),
            retransmitted: Side::BOTH.map(|side| of_side(side).stats().retransmissions),
            lost,
            mss: sender.smss(),
        };
        let rate = self.satellite_rate();
        self.transfers.add(&transfer, rate);
    }

    /// Forwards a SYN that would be split, if its connection is of the sample and there is room to
    /// measure it.
    pub(super) fn sample(&mut self, now: Instant, syn: &Segment<'_>) -> bool {
        let key = FlowKey::of(syn.ip, syn.tcp);
        let opener = self.clients.origin(&key, syn.ip.src);
        self.config.policy.sample.takes(&key, syn.tcp.seq) && self.samples.begin(now, syn, opener)
    }

    /// Another segment of no flow is forwarded. The reason, if its connection is of the sample.
    pub(super) fn watch_sample(&mut self, now: Instant, segment: &Segment<'_>) -> Option<Reason> {
        let known = self.samples.read(now, segment);
        while let Some(transfer) = self.samples.poll_ended() {
            let rate = self.satellite_rate();
            self.transfers.add(&transfer, rate);
        }
        known.then_some(Reason::Sample)
    }

    fn satellite_rate(&self) -> Option<Rate> {
        let link = self.satellite_link();
        link.rate.or(link.used_at)
    }
}
