//! What the loop answers to those who ask it, in portions between packets.

use super::LiveGateway;
use crate::control::{Connection, Details, Order, Question, Totals};
use bentpipe_core::time::Instant;
use bentpipe_core::units::Bytes;
use bentpipe_gateway::FlowState;
use bentpipe_linux::process_usage::ProcessUsage;

/// Flows that are looked at for an answer before packets have their turn: well under a millisecond.
const PORTION: usize = 128;

impl LiveGateway {
    /// Goes on with an answer.
    pub(super) fn answer(&mut self) {
        let Some(draft) = self.questions.draft() else {
            if let Some(order) = self.questions.take_order() {
                self.follow(order);
            }
            return;
        };
        let (question, slots) = (draft.question, self.gateway.slots());
        if matches!(question, Question::Flows | Question::Why(_)) && draft.slot < slots {
            let portion = draft.slot..slots.min(draft.slot + PORTION);
            draft.slot = portion.end;
            let views = self.gateway.flow_views_in(self.clock.now(), portion);
            match question {
                Question::Why(asked) => draft.flows.extend(views.filter(|flow| asked.is(flow))),
                _ => {
                    draft.flows.reserve(self.gateway.flows().saturating_sub(draft.flows.len()));
                    draft.flows.extend(views);
                }
            }
            return;
        }
        let mut details = Details::default();
        if matches!(question, Question::Unsplit | Question::Why(_)) {
            details.unsplit = self.gateway.unsplit().copied().collect();
        }
        if let Question::Why(Connection { from, client, server }) = question {
            let now = self.clock.now();
            details.prospect = Some(self.gateway.prospect(now, from, client, server));
        }
        if matches!(question, Question::Status | Question::Flows) {
            details.passed_prefixes = self.passed_prefixes();
        }
        if question == Question::Report {
            details.transfers = self.gateway.transfers().clone();
        }
        let totals = self.totals();
        self.questions.reply(totals, details);
    }

    fn follow(&mut self, order: Order) {
        match order {
            Order::Tap(tap) => {
                self.tap.take_if(|tap| tap.is_gone());
                if self.tap.is_none() {
                    self.tap.insert(tap).begin(self.clock.zero());
                }
            }
            Order::Turn(turn, done) => {
                let _ = done.try_send(self.turn(turn));
            }
            Order::Reconfigure(new, done) => {
                self.reconfigure(*new);
                // Whoever asked may have lost patience.
                let _ = done.try_send(());
            }
        }
    }

    /// The totals so far.
    pub fn totals(&self) -> Totals {
        let now = self.clock.now();
        let mut flows = FlowState::ALL.map(|state| (state, 0));
        for state in self.gateway.flow_states() {
            flows[state as usize].1 += 1;
        }
        Totals {
            uptime: now.saturating_since(Instant::ZERO),
            summary: self.gateway.summary(),
            work: self.work,
            usage: ProcessUsage::now(),
            crossed: self.crossed(),
            flows,
            held: Bytes::new(self.gateway.held() as u64),
            memory: self.gateway.config().memory,
            observes: self.gateway.observes(),
            trial_left: self.trial.map(|until| until.saturating_since(now)),
            peer_known: self.gateway.peer_known(),
            satellite_link: self.gateway.satellite_link(),
            remotes: self.gateway.remote_views().collect(),
            acknowledgments: self
                .gateway
                .in_force()
                .satellite
                .acknowledgments_text(self.gateway.peer_known()),
        }
    }
}
