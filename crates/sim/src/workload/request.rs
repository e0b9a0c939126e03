//! Requests and their replies, one after the other: a database, a shop, transactions.

use super::conversation::{ConversationId, Conversations, Exchange, Said};
use super::{AGAIN, FlowEnds, RETRY, Workload, next_moment};
use crate::measurement::TransferId;
use crate::simulation::Net;
use crate::stream::Notice;
use crate::world::Endpoint;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_links::{RandomSize, RandomTime};
use bentpipe_results::FlowId;
use bentpipe_scenario::Reuse;
use rand_pcg::Pcg64Mcg;

/// A client that asks again and again.
#[derive(Debug)]
pub struct RequestResponse {
    flow: FlowId,
    plan: RequestPlan,
    rng: RequestRng,
    conversations: Conversations,
    /// The connection that stands.
    current: Option<ConversationId>,
    /// The request that waits for its reply: its transfer, when it was asked, the reply's size.
    waiting: Option<(TransferId, Instant, u64)>,
    asked: u64,
}

/// What is asked and answered.
#[derive(Debug, Clone)]
pub struct RequestPlan {
    /// Of a request.
    pub request: RandomSize,
    /// Of a reply.
    pub reply: RandomSize,
    /// From a whole request to the reply's first byte.
    pub server_delay: RandomTime,
    /// From a whole reply to the next request.
    pub think: RandomTime,
    /// How many; None: as long as the flow lasts.
    pub requests: Option<u64>,
    /// On which connection.
    pub connection: Reuse,
}

/// The flow's random numbers.
#[derive(Debug)]
pub struct RequestRng {
    /// Of requests' sizes.
    pub request: Pcg64Mcg,
    /// Of replies' sizes.
    pub reply: Pcg64Mcg,
    /// Of the server's delays.
    pub delay: Pcg64Mcg,
    /// Of the client's pauses.
    pub think: Pcg64Mcg,
}

impl RequestResponse {
    /// Asks as `plan` says.
    pub fn new(ends: FlowEnds, plan: RequestPlan, rng: RequestRng) -> RequestResponse {
        let conversations = Conversations::new(ends);
        let flow = ends.flow;
        RequestResponse { flow, plan, rng, conversations, current: None, waiting: None, asked: 0 }
    }

    /// The next request, or the end.
    fn ask(&mut self, net: &mut Net) {
        let now = net.now();
        if self.plan.requests.is_some_and(|requests| self.asked >= requests) {
            if let Some(id) = self.current.take() {
                self.conversations.close(net, id);
            }
            net.meters.finish(now, self.flow);
            return;
        }
        self.asked += 1;
        let exchange = Exchange::private(
            self.plan.request.sample(&mut self.rng.request).count(),
            self.plan.reply.sample(&mut self.rng.reply).count(),
            self.plan.server_delay.sample(&mut self.rng.delay),
        );
        self.waiting = Some((net.meters.begin(now, self.flow), now, exchange.reply));
        if let Some(id) = self.current {
            self.conversations.ask(net, id, &[exchange]);
        } else {
            let only_one = self.plan.connection == Reuse::New;
            let id = self.conversations.open(net, 0, &[exchange], only_one);
            self.current = Some(id).filter(|_| !only_one);
        }
    }

    /// Asks again after a pause, but not if there is nothing more to ask.
    fn go_on(&mut self, net: &mut Net, since: Instant, pause: Duration) {
        let all = self.plan.requests == Some(self.asked);
        match next_moment(net.now(), since, pause) {
            at if all || at <= net.now() => self.ask(net),
            at => net.set_timer(at, AGAIN),
        }
    }
}

impl Workload for RequestResponse {
    fn start(&mut self, net: &mut Net) {
        self.ask(net);
    }

    fn stop(&mut self, net: &mut Net) {
        self.conversations.quit(net);
    }

    fn on_timer(&mut self, net: &mut Net, mark: u64) {
        match mark {
            AGAIN => self.ask(net),
            id => self.conversations.on_timer(net, id),
        }
    }

    fn on_notice(&mut self, net: &mut Net, end: Endpoint, tag: u64, notice: Notice) {
        let now = net.now();
        let Some((_, _, said)) = self.conversations.on_notice(net, end, tag, notice) else {
            return;
        };
        match (said, self.waiting) {
            (Said::FirstByte, Some((transfer, ..))) => net.meters.first_byte(now, transfer),
            (Said::Replied, Some((transfer, since, bytes))) => {
                self.waiting = None;
                net.meters.complete(now, transfer, bytes);
                let think = self.plan.think.sample(&mut self.rng.think);
                self.go_on(net, since, think);
            }
            // The next request goes on a new connection.
            (Said::Broken, waiting) => {
                self.current = None;
                if let Some((transfer, since, _)) = waiting {
                    self.waiting = None;
                    net.meters.give_up(transfer);
                    self.go_on(net, since, RETRY);
                }
            }
            _ => {}
        }
    }
}
