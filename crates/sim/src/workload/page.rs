//! Loading of one Web page: the document first, then what it refers to.
//!
//! HTTP/1.0 opens a connection for each object, so many at a time, which the server closes
//! (RFC 1945, 1.3). HTTP/1.1 keeps them and asks on each for one object after the other; pipelined,
//! it asks for all at once, in turn over the connections (RFC 9112, 9.3).

use super::conversation::{ConversationId, Conversations, Errand, Exchange, Said};
use crate::measurement::TransferId;
use crate::simulation::Net;
use bentpipe_results::FlowId;
use bentpipe_scenario::HttpVersion;
use std::collections::VecDeque;

/// A page that is being loaded.
#[derive(Debug)]
pub(super) struct Page {
    /// Its conversations' errand.
    errand: Errand,
    settings: HttpSettings,
    transfer: TransferId,
    bytes: u64,
    /// What can be asked for now.
    waiting: VecDeque<Exchange>,
    /// What the document refers to, before it has come.
    objects: Vec<Exchange>,
    /// Objects that have not come, the document among them.
    left: usize,
    /// Open connections, and what has been asked for on each.
    connections: Vec<(ConversationId, VecDeque<Exchange>)>,
}

/// How pages are loaded.
#[derive(Debug, Clone, Copy)]
pub(super) struct HttpSettings {
    pub(super) version: HttpVersion,
    /// Connections at a time.
    pub(super) connections: usize,
}

/// What has become of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageState {
    /// Something is still to come.
    Loading,
    /// A connection broke: [`Page::fill`] asks again for what was lost.
    Broken,
    /// All has come.
    Complete,
}

impl Page {
    /// Begins to load `document`, and then `objects`, for `errand`. `kept` are connections that
    /// stand since the last page.
    pub(super) fn begin(
        net: &mut Net,
        conversations: &mut Conversations,
        (flow, errand, settings): (FlowId, Errand, HttpSettings),
        (document, objects): (Exchange, Vec<Exchange>),
        kept: Vec<ConversationId>,
    ) -> Page {
        let mut page = Page {
            errand,
            settings,
            transfer: net.meters.begin(net.now(), flow),
            bytes: document.reply + objects.iter().map(|object| object.reply).sum::<u64>(),
            waiting: VecDeque::from([document]),
            left: 1 + objects.len(),
            objects,
            connections: kept.into_iter().map(|id| (id, VecDeque::new())).collect(),
        };
        page.fill(net, conversations);
        page
    }

    /// Asks for as much of what waits as may be.
    pub(super) fn fill(&mut self, net: &mut Net, conversations: &mut Conversations) {
        let HttpSettings { version, connections: max } = self.settings;
        if version == HttpVersion::Pipelined {
            let mut shares = vec![Vec::new(); max.min(self.waiting.len())];
            for (index, exchange) in self.waiting.drain(..).enumerate() {
                shares[index % max].push(exchange);
            }
            for (index, share) in shares.into_iter().enumerate() {
                self.ask(net, conversations, index, share);
            }
            return;
        }
        for index in 0..max {
            let busy = self.connections.get(index).is_some_and(|(_, asked)| !asked.is_empty());
            if !busy && let Some(next) = self.waiting.pop_front() {
                self.ask(net, conversations, index, vec![next]);
            }
        }
    }

    /// Asks on a connection, or on a new one.
    fn ask(
        &mut self,
        net: &mut Net,
        conversations: &mut Conversations,
        index: usize,
        share: Vec<Exchange>,
    ) {
        if let Some((id, asked)) = self.connections.get_mut(index) {
            conversations.ask(net, *id, &share);
            asked.extend(share);
        } else {
            let only_one = self.settings.version == HttpVersion::Http10;
            let id = conversations.open(net, self.errand, &share, only_one);
            self.connections.push((id, share.into()));
        }
    }

    /// Something was said in one of its conversations.
    pub(super) fn on_said(
        &mut self,
        net: &mut Net,
        conversations: &mut Conversations,
        id: ConversationId,
        said: Said,
    ) -> PageState {
        let now = net.now();
        let Some(index) = self.connections.iter().position(|(open, _)| *open == id) else {
            return PageState::Loading;
        };
        match said {
            Said::FirstByte => {
                net.meters.first_byte(now, self.transfer);
                PageState::Loading
            }
            Said::Replied => {
                self.connections[index].1.pop_front();
                if self.settings.version == HttpVersion::Http10 {
                    self.connections.remove(index);
                }
                self.left -= 1;
                self.waiting.extend(self.objects.drain(..));
                if self.left == 0 {
                    net.meters.complete(now, self.transfer, self.bytes);
                    return PageState::Complete;
                }
                self.fill(net, conversations);
                PageState::Loading
            }
            Said::Broken => {
                let (_, asked) = self.connections.remove(index);
                for exchange in asked.into_iter().rev() {
                    self.waiting.push_front(exchange);
                }
                PageState::Broken
            }
        }
    }

    /// The connections that stand.
    pub(super) fn connections(&self) -> Vec<ConversationId> {
        self.connections.iter().map(|(id, _)| *id).collect()
    }
}
