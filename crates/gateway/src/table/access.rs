//! The way to a spliced flow, and what follows from what was done with it.
//!
//! Whoever has something to do with a flow does it by [`Gateway::with_flow`]: a flow that
//! hibernates is restored, and afterwards what it takes of the pool is accounted for, its end is
//! noted, and it comes into the queue of those that are asked for something to send. There its
//! timer is set, and there it begins to hibernate.

use super::Gateway;
use super::flow::Phase;
use super::links::Links;
use super::remotes::RemoteId;
use super::scheduler::{DrrEntry, LinkScheduler};
use crate::announce::Report;
use crate::benefit::Progress;
use crate::config::Config;
use crate::leg::{Leg, PerLeg};
use crate::lifecycle::SplicedFlow;
use crate::observe::{Events, Release, Summary};
use crate::splice::Allowance;
use crate::{PerSide, Side};
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::sender::SenderStats;
use bentpipe_core::time::Instant;

/// What stands around a flow that is called upon.
pub(super) struct Context<'a> {
    pub(super) config: &'a Config,
    pub(super) allowance: Allowance,
    pub(super) sides: PerLeg<Side>,
    pub(super) summary: &'a mut Summary,
    pub(super) events: &'a mut Events,
    pub(super) links: &'a mut Links,
    pub(super) turns: &'a mut PerSide<DrrEntry>,
    pub(super) remote: Option<RemoteId>,
    pub(super) began: Instant,
    pub(super) progress: &'a mut Progress,
    /// What is to be reported to peer gateways.
    pub(super) report: Option<Report>,
    verdict: &'a mut Verdict,
}

/// What the gateway is to do behind a call.
#[derive(Debug, Default)]
struct Verdict {
    /// The flow is to be forgotten.
    over: bool,
    /// The link behind that side carries too little.
    broken: Option<Side>,
}

impl Context<'_> {
    /// The link to which the flow leads on `side`.
    pub(super) fn link(&self, side: Side) -> &LinkScheduler {
        self.links.of(side, self.remote)
    }

    /// The flow is over, and to be forgotten.
    pub(super) fn forget(&mut self) {
        self.verdict.over = true;
    }

    /// The link behind `side` is not what it was held for.
    pub(super) fn break_circuit(&mut self, side: Side) {
        self.verdict.broken = Some(side);
    }
}

impl<B: Buffer> Gateway<B> {
    /// Calls upon flow `id`, if it is spliced, and looks after what follows from that.
    pub(super) fn with_flow<R>(
        &mut self,
        id: usize,
        act: impl FnOnce(&mut SplicedFlow<B>, &mut Context<'_>) -> R,
    ) -> Option<R> {
        self.restore(id);
        if self.flows.get(id).is_some_and(|flow| flow.share() < self.share()) {
            self.account(id);
        }
        let (done, verdict) = self.call(id, act)?;
        if verdict.over {
            self.remove(id);
        } else {
            self.settle(id);
        }
        Some(done)
    }

    /// The same for a flow of which something was or is to be sent, and which therefore does not
    /// hibernate.
    pub(super) fn with_sending<R>(
        &mut self,
        now: Instant,
        id: usize,
        act: impl FnOnce(&mut SplicedFlow<B>, &mut Context<'_>) -> Option<R>,
    ) -> Option<R> {
        let sent = self.call(id, act).and_then(|(sent, _)| sent);
        if sent.is_some() {
            self.queue(id);
        } else if self.flows.contains(id) && !self.shrink_if_over(now, id) {
            self.arm(id);
            self.hibernate(id);
        }
        sent
    }

    fn call<R>(
        &mut self,
        id: usize,
        act: impl FnOnce(&mut SplicedFlow<B>, &mut Context<'_>) -> R,
    ) -> Option<(R, Verdict)> {
        let allowance = self.allowance(self.flows.get(id)?.share());
        let report = self.report(id);
        let flow = self.flows.get_mut(id)?;
        let (sides, remote, began) = (flow.sides(), flow.remote, flow.began());
        let (spliced, turns, progress) = flow.spliced_with_progress()?;
        let mut verdict = Verdict::default();
        let done = act(
            spliced,
            &mut Context {
                config: &self.config,
                allowance,
                sides,
                summary: &mut self.summary,
                events: &mut self.events,
                links: &mut self.links,
                turns,
                remote,
                began,
                progress,
                report,
                verdict: &mut verdict,
            },
        );
        if let Some(side) = verdict.broken {
            self.believe_losses(side);
        }
        Some((done, verdict))
    }

    /// Something has happened to a flow: sums, ends, and what it may have to send.
    pub(super) fn settle(&mut self, id: usize) {
        if !self.flows.contains(id) {
            return;
        }
        self.account(id);
        let flow = &mut self.flows[id];
        let (client, sides, ends) = (flow.client().0, flow.sides(), flow.ends());
        if flow.spliced().is_some_and(|spliced| !spliced.is_unconfirmed()) {
            self.awaiting_ack.settle(id, client, &mut flow.standing);
        }
        if let Some((spliced, _)) = flow.spliced_mut() {
            if let Some(resets) = spliced.take_resets() {
                self.relays.extend(resets.into_iter().map(|(leg, reset)| (sides[leg], reset)));
                self.note_end(id);
                return self.remove(id);
            }
            if spliced.is_release_complete()
                && let Some(why) = spliced.released_for()
            {
                self.summary.count_released(why);
                let record = (why == Release::Drain).then(|| spliced.record(sides, ends)).flatten();
                let heard = spliced.last_heard();
                self.note_transfer(id);
                self.remove(id);
                if let Some(record) = record {
                    self.remember(heard, &record);
                }
                return;
            }
        }
        self.note_end(id);
        self.queue(id);
    }

    /// The flow may have something to send.
    pub(super) fn queue(&mut self, id: usize) {
        if !self.flows[id].set_queued(true) {
            self.ready.push_back(id);
        }
    }

    /// The flow has nothing to send, and its timer is set: if nothing has happened to it for long
    /// enough, it hibernates until then.
    fn hibernate(&mut self, id: usize) {
        let flow = &mut self.flows[id];
        let (sides, ends) = (flow.sides(), flow.ends());
        let Some((spliced, _)) = flow.spliced_mut() else { return };
        if !spliced.is_to_hibernate(self.config.hibernate_after) {
            return;
        }
        spliced.forget_bursts();
        let Some(hibernated) = spliced.hibernate(&self.config, sides, ends) else {
            return spliced.remember_bursts();
        };
        add_sender_stats(&mut self.summary, sides, spliced);
        flow.enter(Phase::Hibernated(hibernated));
        for side in Side::BOTH {
            if let Some(free_share) = &mut self.links[side].free_share {
                free_share.fall_asleep(&mut self.flows[id].turns[side]);
            }
        }
        self.account(id);
    }

    /// Something happens to the flow: it goes on if it hibernates.
    fn restore(&mut self, id: usize) {
        let Some(flow) = self.flows.get_mut(id) else { return };
        let (sides, ends) = (flow.sides(), flow.ends());
        let Phase::Hibernated(hibernated) = flow.phase() else { return };
        let spliced = hibernated.restore(sides, ends);
        subtract_sender_stats(&mut self.summary, sides, &spliced);
        flow.enter(Phase::Spliced(Box::new(spliced)));
        for side in Side::BOTH {
            if let Some(free_share) = &mut self.links[side].free_share {
                free_share.wake(&mut self.flows[id].turns[side]);
            }
        }
        self.believe_after_hibernation(id);
        self.follow_links(id);
    }

    /// How many flows hibernate.
    #[cfg(test)]
    pub(crate) fn hibernated(&self) -> usize {
        let phases = self.flows.iter().map(|(_, flow)| flow.phase());
        phases.filter(|phase| matches!(phase, Phase::Hibernated(_))).count()
    }
}

/// Adds a flow's retransmissions to the counters of its sides. Those of a flow that hibernates are
/// among them.
pub(super) fn add_sender_stats<B: Buffer>(
    summary: &mut Summary,
    sides: PerLeg<Side>,
    spliced: &SplicedFlow<B>,
) {
    for (side, sent) in sender_stats(sides, spliced) {
        let sums = summary.side_mut(side);
        sums.retransmissions += sent.retransmissions;
        sums.retransmitted_bytes += sent.retransmitted_bytes.count();
        sums.timeouts += sent.timeouts;
        sums.recovery_timeouts += sent.recovery_timeouts;
        sums.recoveries += sent.recoveries;
        sums.reductions += sent.reductions;
        sums.reduced_again += u64::from(reduced_again(&sent));
    }
}

/// Takes them out again: the flow counts for itself.
fn subtract_sender_stats<B: Buffer>(
    summary: &mut Summary,
    sides: PerLeg<Side>,
    spliced: &SplicedFlow<B>,
) {
    for (side, sent) in sender_stats(sides, spliced) {
        let sums = summary.side_mut(side);
        sums.retransmissions -= sent.retransmissions;
        sums.retransmitted_bytes -= sent.retransmitted_bytes.count();
        sums.timeouts -= sent.timeouts;
        sums.recovery_timeouts -= sent.recovery_timeouts;
        sums.recoveries -= sent.recoveries;
        sums.reductions -= sent.reductions;
        sums.reduced_again -= u64::from(reduced_again(&sent));
    }
}

/// Whether the window was reduced in more than one episode of losses.
fn reduced_again(sent: &SenderStats) -> bool {
    sent.reductions.saturating_sub(sent.recovery_timeouts) > 1
}

/// What a flow's senders have counted, by side.
fn sender_stats<B: Buffer>(
    sides: PerLeg<Side>,
    spliced: &SplicedFlow<B>,
) -> PerLeg<(Side, SenderStats)> {
    PerLeg::of(|leg: Leg| (sides[leg], spliced.splice().tcb(leg).sender.stats()))
}
