//! A user who loads pages, one after the other.

use super::conversation::{Conversations, Exchange};
use super::page::{HttpSettings, Page, PageState};
use super::{AGAIN, FlowEnds, RETRY, Workload, next_moment};
use crate::simulation::Net;
use crate::stream::Notice;
use crate::world::Endpoint;
use bentpipe_core::time::Instant;
use bentpipe_results::FlowId;
use bentpipe_scenario as scenario;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// Pages loaded by HTTP/1.0, HTTP/1.1, or HTTP/1.1 pipelined.
#[derive(Debug)]
pub struct Http {
    flow: FlowId,
    plan: scenario::Http,
    rng: HttpRng,
    conversations: Conversations,
    /// The page being loaded, or the last one.
    page: Option<Page>,
    begun: u64,
    /// When its loading began.
    since: Instant,
}

/// An HTTP flow's random numbers.
#[derive(Debug)]
pub struct HttpRng {
    /// Of requests' sizes.
    pub request: Pcg64Mcg,
    /// Of the server's delays.
    pub delay: Pcg64Mcg,
    /// Of the user's pauses.
    pub think: Pcg64Mcg,
    /// Of what Web caches hold.
    pub cache: Pcg64Mcg,
}

/// The timer of the next page.
const NEXT: u64 = AGAIN + 1;

impl Http {
    /// Loads pages as `plan` says.
    pub fn new(ends: FlowEnds, plan: scenario::Http, rng: HttpRng) -> Http {
        let conversations = Conversations::web(ends);
        let (flow, since) = (ends.flow, Instant::ZERO);
        Http { flow, plan, rng, conversations, page: None, begun: 0, since }
    }

    fn exchange(&mut self, reply: u64) -> Exchange {
        Exchange {
            request: self.plan.request.sample(&mut self.rng.request).count(),
            reply: reply.max(1),
            delay: self.plan.server_delay.sample(&mut self.rng.delay),
            rank: self.rng.cache.random(),
        }
    }

    fn load(&mut self, net: &mut Net) {
        self.begun += 1;
        self.since = net.now();
        let document = self.exchange(self.plan.page.document.count());
        let sizes: Vec<u64> = self.plan.page.objects.iter().map(|size| size.count()).collect();
        let objects = sizes.into_iter().map(|size| self.exchange(size)).collect();
        let connections = self.plan.connections as usize;
        let settings = HttpSettings { version: self.plan.version, connections };
        let kept = self.page.take().map_or_else(Vec::new, |page| page.connections());
        let errand = (self.flow, 0, settings);
        let objects = (document, objects);
        self.page = Some(Page::begin(net, &mut self.conversations, errand, objects, kept));
    }
}

impl Workload for Http {
    fn start(&mut self, net: &mut Net) {
        self.load(net);
    }

    fn stop(&mut self, net: &mut Net) {
        self.conversations.quit(net);
    }

    fn on_timer(&mut self, net: &mut Net, mark: u64) {
        match (mark, &mut self.page) {
            (NEXT, _) => self.load(net),
            (AGAIN, Some(page)) => page.fill(net, &mut self.conversations),
            (id, _) => self.conversations.on_timer(net, id),
        }
    }

    fn on_notice(&mut self, net: &mut Net, end: Endpoint, tag: u64, notice: Notice) {
        let said = self.conversations.on_notice(net, end, tag, notice);
        let Some(((_, id, said), page)) = said.zip(self.page.as_mut()) else { return };
        match page.on_said(net, &mut self.conversations, id, said) {
            PageState::Loading => {}
            PageState::Broken => net.set_timer(net.now() + RETRY, AGAIN),
            PageState::Complete if self.plan.pages == Some(self.begun) => {
                for id in page.connections() {
                    self.conversations.close(net, id);
                }
                net.meters.finish(net.now(), self.flow);
            }
            PageState::Complete => {
                let think = self.plan.think.sample(&mut self.rng.think);
                match next_moment(net.now(), self.since, think) {
                    at if at <= net.now() => self.load(net),
                    at => net.set_timer(at, NEXT),
                }
            }
        }
    }
}
