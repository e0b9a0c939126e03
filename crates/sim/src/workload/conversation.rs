//! Requests and replies on a flow's connections: the client asks, the server answers in the order
//! in which it was asked. Several requests may be on their way at once (pipelining).
//!
//! Streams here are lengths: where a request ends, and which reply belongs to it, is known to the
//! conversation and nobody else. So a Web cache that has taken a connection speaks here as well, as
//! a server that answers what it holds and fetches the rest in a conversation of its own, which the
//! next cache on the way may take in turn. A fetch reads what comes as fast as it comes, as for a
//! store.

mod fetching;

use super::FlowEnds;
use super::replies::Replies;
use crate::measurement::Role;
use crate::simulation::{Call, Net, Service};
use crate::stream::Notice;
use crate::world::{Endpoint, NodeId};
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::time::Duration;
use fetching::Cache;
use std::collections::{BTreeMap, VecDeque};

/// A request and its reply.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exchange {
    /// Bytes of the request; one at least.
    pub(super) request: u64,
    /// Bytes of the reply; zero: none.
    pub(super) reply: u64,
    /// From the request's last byte at the server to the reply's first.
    pub(super) delay: Duration,
    /// The object's own uniform number: a cache that holds more than this share of all objects
    /// holds it.
    pub(super) rank: f64,
}

impl Exchange {
    /// One that no cache holds.
    pub(super) fn private(request: u64, reply: u64, delay: Duration) -> Exchange {
        Exchange { request, reply, delay, rank: 1.0 }
    }
}

/// Which conversation of its workload.
pub(super) type ConversationId = u64;

/// What a conversation is for: the workload's own number.
pub(super) type Errand = u64;

/// What the client learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// A reply's first byte has come.
    FirstByte,
    /// A reply has come whole; without a reply: the server has the request.
    Replied,
    /// The connection broke before that. It is gone.
    Broken,
}

/// A flow's conversations that are not over. Their timers' marks are their own numbers.
#[derive(Debug)]
pub(super) struct Conversations {
    ends: FlowEnds,
    service: Service,
    opened: u64,
    open: BTreeMap<ConversationId, Conversation>,
}

#[derive(Debug)]
struct Conversation {
    purpose: Purpose,
    client: Endpoint,
    server: Option<Endpoint>,
    /// The Web cache that speaks in the server's place.
    cache: Option<Cache>,
    /// Where the requests on their way end in the client's stream, and the replies to them.
    asked: VecDeque<(u64, Exchange)>,
    /// What the server still has to send.
    replies: Replies,
    /// Where the replies that are to come begin and end in the server's stream.
    owed: VecDeque<(u64, u64)>,
    /// The first byte of the first of them has come.
    heard: bool,
    /// Bytes of all requests, and of all replies to them.
    requested: u64,
    promised: u64,
    /// The server closes after its last reply, and nothing more is asked.
    server_closes: bool,
}

#[derive(Debug, Clone, Copy)]
enum Purpose {
    /// The workload's.
    Errand(Errand),
    /// A cache fetches what the client of that conversation has asked for, and has read so much.
    Fetch(ConversationId, u64),
}

const SERVER: u64 = 1;

impl Conversations {
    /// Those of anything but the Web.
    pub(super) fn new(ends: FlowEnds) -> Conversations {
        Conversations { ends, service: Service::Other, opened: 0, open: BTreeMap::new() }
    }

    /// The Web's: caches on the way take part.
    pub(super) fn web(ends: FlowEnds) -> Conversations {
        Conversations { service: Service::Web, ..Conversations::new(ends) }
    }

    /// Opens a connection for `errand`, with its first requests, if something is to be asked yet.
    /// `server_closes`: there will be no others, and the server closes after its last reply.
    pub(super) fn open(
        &mut self,
        net: &mut Net,
        errand: Errand,
        first: &[Exchange],
        server_closes: bool,
    ) -> ConversationId {
        let client = (self.ends.to, self.ends.tcp_to);
        let id = self.begin(net, Purpose::Errand(errand), client, first, server_closes);
        net.meters.attach(self.open[&id].client, self.ends.flow, Role::Sink);
        id
    }

    fn begin(
        &mut self,
        net: &mut Net,
        purpose: Purpose,
        (client, tcp): (NodeId, ConnectionConfig),
        first: &[Exchange],
        server_closes: bool,
    ) -> ConversationId {
        self.opened += 1;
        let id = self.opened;
        let client = net.open(Call {
            from: client,
            to: self.ends.from,
            service: self.service,
            tcp: [tcp, self.ends.tcp_from],
            tags: [id << 1, id << 1 | SERVER],
            send: first.iter().map(|exchange| exchange.request).sum(),
            close: false,
        });
        let mut conversation = Conversation {
            purpose,
            client,
            server: None,
            cache: None,
            heard: false,
            asked: VecDeque::new(),
            replies: Replies::default(),
            owed: VecDeque::new(),
            requested: 0,
            promised: 0,
            server_closes,
        };
        for exchange in first {
            conversation.note(net, exchange);
        }
        self.open.insert(id, conversation);
        id
    }

    /// Asks more, in one piece.
    pub(super) fn ask(&mut self, net: &mut Net, id: ConversationId, exchanges: &[Exchange]) {
        if let Some(conversation) = self.open.get_mut(&id) {
            net.send(conversation.client, exchanges.iter().map(|exchange| exchange.request).sum());
            for exchange in exchanges {
                conversation.note(net, exchange);
            }
        }
    }

    /// The client has nothing more to ask.
    pub(super) fn close(&mut self, net: &mut Net, id: ConversationId) {
        if let Some(conversation) = self.remove(net, id) {
            net.close(conversation.client);
        }
    }

    /// Kills all.
    pub(super) fn quit(&mut self, net: &mut Net) {
        for conversation in std::mem::take(&mut self.open).into_values() {
            conversation.quit(net);
        }
    }

    /// What has happened at one end of a connection.
    pub(super) fn on_notice(
        &mut self,
        net: &mut Net,
        end: Endpoint,
        tag: u64,
        notice: Notice,
    ) -> Option<(Errand, ConversationId, Said)> {
        let (id, at_server) = (tag >> 1, tag & 1 == SERVER);
        if notice == Notice::Begun && at_server {
            net.meters.attach(end, self.ends.flow, Role::Source);
        }
        let Some(conversation) = self.open.get_mut(&id) else {
            // One that is over: all that is left is to close.
            if notice == Notice::PeerClosed {
                net.close(end);
            }
            return None;
        };
        if at_server && conversation.server.is_some_and(|server| server != end) {
            // The SYN has also come to another host that takes the server's connections.
            return None;
        }
        match notice {
            Notice::Begun if at_server => {
                conversation.server = Some(end);
                conversation.cache = net.web_cache(end.host).map(|cache| Cache {
                    hits: cache.hits,
                    caller: (cache.caller, cache.tcp),
                    fetch: None,
                });
                conversation.listen(net);
                None
            }
            Notice::Received(read) if at_server => self.on_request(net, id, read),
            Notice::Received(read) => match conversation.purpose {
                Purpose::Errand(errand) => {
                    let said = conversation.on_reply(net, read)?;
                    if said == Said::Replied
                        && conversation.server_closes
                        && conversation.owed.is_empty()
                    {
                        self.remove(net, id);
                    }
                    Some((errand, id, said))
                }
                Purpose::Fetch(of, _) => {
                    self.on_fetched(net, id, of, read);
                    None
                }
            },
            Notice::PeerClosed => {
                net.close(end);
                None
            }
            Notice::Reset | Notice::TimedOut | Notice::Gone => self.on_break(net, id),
            _ => None,
        }
    }

    /// A reply is due.
    pub(super) fn on_timer(&mut self, net: &mut Net, id: ConversationId) {
        if let Some(conversation) = self.open.get_mut(&id) {
            conversation.reply(net);
        }
    }

    /// The server, or a cache, has read so much.
    fn on_request(
        &mut self,
        net: &mut Net,
        id: ConversationId,
        read: u64,
    ) -> Option<(Errand, ConversationId, Said)> {
        let now = net.now();
        let conversation = self.open.get_mut(&id)?;
        let exchange = conversation.next_request(net, read)?;
        if exchange.reply == 0 {
            let Purpose::Errand(errand) = conversation.purpose else { return None };
            return Some((errand, id, Said::Replied));
        }
        match conversation.cache {
            Some(cache) if exchange.rank >= cache.hits => {
                conversation.replies.fetch(now, exchange.reply);
                self.fetch(net, id, cache, exchange);
            }
            cache => {
                let delay = if cache.is_some() { Duration::ZERO } else { exchange.delay };
                let at = conversation.replies.add(now + delay, exchange.reply);
                if at > now {
                    net.set_timer(at, id);
                } else {
                    conversation.reply(net);
                }
            }
        }
        None
    }

    /// A connection has broken. Whichever end learns it first: nothing more will come.
    fn on_break(
        &mut self,
        net: &mut Net,
        id: ConversationId,
    ) -> Option<(Errand, ConversationId, Said)> {
        let conversation = self.remove(net, id)?;
        let purpose = conversation.purpose;
        conversation.quit(net);
        match purpose {
            Purpose::Errand(errand) => Some((errand, id, Said::Broken)),
            Purpose::Fetch(of, _) => {
                let asked = self.open.get_mut(&of)?;
                asked.cache.as_mut()?.fetch = None;
                // What a client has got of a reply cannot be undone.
                if asked.replies.is_fetching() { self.on_break(net, of) } else { None }
            }
        }
    }

    /// Forgets a conversation, and ends what its cache fetches.
    fn remove(&mut self, net: &mut Net, id: ConversationId) -> Option<Conversation> {
        let conversation = self.open.remove(&id)?;
        if let Some(fetch) = conversation.cache.and_then(|cache| cache.fetch) {
            if conversation.replies.is_fetching() {
                if let Some(fetch) = self.remove(net, fetch) {
                    fetch.quit(net);
                }
            } else {
                self.close(net, fetch);
            }
        }
        Some(conversation)
    }
}

impl Conversation {
    /// The client has sent a request.
    fn note(&mut self, net: &mut Net, exchange: &Exchange) {
        self.requested += exchange.request;
        self.asked.push_back((self.requested, *exchange));
        if self.asked.len() == 1 {
            self.listen(net);
        }
        if exchange.reply == 0 {
            return;
        }
        let begin = self.promised;
        self.promised += exchange.reply;
        match self.purpose {
            Purpose::Errand(_) => {
                self.owed.push_back((begin, self.promised));
                if self.owed.len() == 1 {
                    net.expect(self.client, begin + 1);
                }
            }
            // It waits for every byte, and does so already if not all has come.
            Purpose::Fetch(_, read) if read == begin => net.expect(self.client, begin + 1),
            Purpose::Fetch(..) => {}
        }
    }

    /// The server waits for the next request.
    fn listen(&self, net: &mut Net) {
        if let (Some(server), Some((end, _))) = (self.server, self.asked.front()) {
            net.expect(server, *end);
        }
    }

    /// The request that has come whole when `read` bytes have.
    fn next_request(&mut self, net: &mut Net, read: u64) -> Option<Exchange> {
        let &(_, exchange) = self.asked.front().filter(|(end, _)| *end <= read)?;
        self.asked.pop_front();
        self.listen(net);
        Some(exchange)
    }

    /// The server sends what is there of the replies whose time has come.
    fn reply(&mut self, net: &mut Net) {
        let Some(server) = self.server else { return };
        while let Some(bytes) = self.replies.take(net.now()) {
            net.send(server, bytes);
        }
        if self.server_closes && self.replies.is_empty() && self.asked.is_empty() {
            net.close(server);
        }
    }

    /// The client has read what it waited for.
    fn on_reply(&mut self, net: &mut Net, read: u64) -> Option<Said> {
        let &(_, end) = self.owed.front()?;
        self.heard = !self.heard;
        if self.heard {
            net.expect(self.client, end);
            return Some(Said::FirstByte);
        }
        debug_assert!(read >= end, "{read} of {end}");
        self.owed.pop_front();
        if let Some((begin, _)) = self.owed.front() {
            net.expect(self.client, begin + 1);
        }
        Some(Said::Replied)
    }

    fn quit(self, net: &mut Net) {
        net.quit(self.client);
        if let Some(server) = self.server {
            net.quit(server);
        }
    }
}
