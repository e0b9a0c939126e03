//! Background of Web pages after Mah, "An Empirical Model of HTTP Network Traffic" (INFOCOM 1997):
//! many users together, whose pages begin as a Poisson process. Each page's number of objects, its
//! requests and its replies are drawn from those of [`bentpipe_links::measured`] and
//! [`bentpipe_scenario::web`]; HTTP/1.0 loads them.

use super::conversation::{Conversations, Exchange};
use super::page::{HttpSettings, Page, PageState};
use super::{AGAIN, FlowEnds, RETRY, Workload};
use crate::simulation::Net;
use crate::stream::Notice;
use crate::world::Endpoint;
use bentpipe_core::time::Duration;
use bentpipe_links::{Distribution, RandomSize, RandomTime, measured};
use bentpipe_results::FlowId;
use bentpipe_scenario::{self as scenario, HttpVersion, Load, web};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;

/// Pages of many users.
#[derive(Debug)]
pub struct Web {
    flow: FlowId,
    settings: HttpSettings,
    between: Option<RandomTime>,
    request: RandomSize,
    reply: RandomSize,
    rng: WebRng,
    conversations: Conversations,
    begun: u64,
    /// Those being loaded.
    pages: BTreeMap<u64, Page>,
}

/// The flow's random numbers.
#[derive(Debug)]
pub struct WebRng {
    /// Of the pages' beginnings.
    pub arrival: Pcg64Mcg,
    /// Of their numbers of objects.
    pub objects: Pcg64Mcg,
    /// Of requests' sizes.
    pub request: Pcg64Mcg,
    /// Of replies' sizes.
    pub reply: Pcg64Mcg,
    /// Of what Web caches hold.
    pub cache: Pcg64Mcg,
}

/// Above this, a timer asks again for what a page has lost; below, it is that of a conversation.
const LOST: u64 = 1 << 62;

impl Web {
    /// Pages whose replies together offer `load`, each over so many connections at a time.
    pub fn new(ends: FlowEnds, load: &Load, connections: u32, rng: WebRng) -> Web {
        let per_second = load.per_second(scenario::Workload::mah_page_bytes());
        let request = Distribution::Measured(measured::MAH_REQUEST.to_vec());
        Web {
            flow: ends.flow,
            settings: HttpSettings {
                version: HttpVersion::Http10,
                connections: connections as usize,
            },
            between: super::poisson_process(per_second),
            request: RandomSize { distribution: request, multiple_of: 1 },
            reply: scenario::Workload::mah_reply(),
            rng,
            conversations: Conversations::web(ends),
            begun: 0,
            pages: BTreeMap::new(),
        }
    }

    fn await_next(&mut self, net: &mut Net) {
        if let Some(between) = &self.between {
            net.set_timer(net.now() + between.sample(&mut self.rng.arrival), AGAIN);
        }
    }

    fn exchange(&mut self) -> Exchange {
        Exchange {
            request: self.request.sample(&mut self.rng.request).count(),
            reply: self.reply.sample(&mut self.rng.reply).count(),
            delay: Duration::ZERO,
            rank: self.rng.cache.random(),
        }
    }

    fn load(&mut self, net: &mut Net) {
        self.begun += 1;
        let count = web::mah_connections(self.rng.objects.random());
        let document = self.exchange();
        let objects = (1..count).map(|_| self.exchange()).collect();
        let errand = (self.flow, self.begun, self.settings);
        let (conversations, objects) = (&mut self.conversations, (document, objects));
        let page = Page::begin(net, conversations, errand, objects, Vec::new());
        self.pages.insert(self.begun, page);
    }
}

impl Workload for Web {
    fn start(&mut self, net: &mut Net) {
        self.await_next(net);
    }

    fn stop(&mut self, net: &mut Net) {
        self.conversations.quit(net);
    }

    fn on_timer(&mut self, net: &mut Net, mark: u64) {
        if mark == AGAIN {
            self.load(net);
            self.await_next(net);
        } else if let Some(errand) = mark.checked_sub(LOST) {
            if let Some(page) = self.pages.get_mut(&errand) {
                page.fill(net, &mut self.conversations);
            }
        } else {
            self.conversations.on_timer(net, mark);
        }
    }

    fn on_notice(&mut self, net: &mut Net, end: Endpoint, tag: u64, notice: Notice) {
        let said = self.conversations.on_notice(net, end, tag, notice);
        let Some((errand, id, said)) = said else { return };
        let Some(page) = self.pages.get_mut(&errand) else { return };
        match page.on_said(net, &mut self.conversations, id, said) {
            PageState::Loading => {}
            PageState::Broken => net.set_timer(net.now() + RETRY, LOST + errand),
            PageState::Complete => {
                self.pages.remove(&errand);
            }
        }
    }
}
