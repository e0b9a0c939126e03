//! Requests and replies on a flow's connections: the client asks, the server answers in the order
//! in which it was asked. Several requests may be on their way at once (pipelining).

use super::Ends;
use crate::record::Role;
use crate::simulation::{Call, Net};
use crate::stream::Notice;
use crate::world::End;
use bentpipe_core::time::{Duration, Instant};
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
    ends: Ends,
    opened: u64,
    open: BTreeMap<ConversationId, Conversation>,
}

#[derive(Debug)]
struct Conversation {
    errand: Errand,
    client: End,
    server: Option<End>,
    /// Where the requests on their way end in the client's stream, the replies to them, and when
    /// those follow.
    asked: VecDeque<(u64, Exchange)>,
    /// Replies that wait for their time.
    due: VecDeque<(Instant, u64)>,
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

const SERVER: u64 = 1;

impl Conversations {
    pub(super) fn new(ends: Ends) -> Conversations {
        Conversations { ends, opened: 0, open: BTreeMap::new() }
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
        self.opened += 1;
        let id = self.opened;
        let Ends { flow, from, to, tcp_from, tcp_to } = self.ends;
        let client = net.open(Call {
            from: to,
            to: from,
            tcp: [tcp_to, tcp_from],
            tags: [id << 1, id << 1 | SERVER],
            send: first.iter().map(|exchange| exchange.request).sum(),
            close: false,
        });
        net.records.attach(client, flow, Role::Sink);
        let mut conversation = Conversation {
            errand,
            client,
            server: None,
            heard: false,
            asked: VecDeque::new(),
            due: VecDeque::new(),
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
        if let Some(conversation) = self.open.remove(&id) {
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
        end: End,
        tag: u64,
        notice: Notice,
    ) -> Option<(Errand, ConversationId, Said)> {
        let (id, at_server) = (tag >> 1, tag & 1 == SERVER);
        if notice == Notice::Begun && at_server {
            net.records.attach(end, self.ends.flow, Role::Source);
        }
        let Some(conversation) = self.open.get_mut(&id) else {
            // One that is over: all that is left is to close.
            if notice == Notice::PeerClosed {
                net.close(end);
            }
            return None;
        };
        let errand = conversation.errand;
        match notice {
            Notice::Begun if at_server => {
                conversation.server = Some(end);
                conversation.listen(net);
                None
            }
            Notice::Received(read) if at_server => {
                conversation.on_request(net, id, read).then_some((errand, id, Said::Replied))
            }
            Notice::Received(read) => {
                let said = conversation.on_reply(net, read)?;
                if said == Said::Replied
                    && conversation.server_closes
                    && conversation.owed.is_empty()
                {
                    self.open.remove(&id);
                }
                Some((errand, id, said))
            }
            Notice::PeerClosed => {
                net.close(end);
                None
            }
            Notice::Reset | Notice::TimedOut | Notice::Gone => {
                // Whichever end learns it first: nothing more will come.
                self.open.remove(&id).expect("it was just seen").quit(net);
                Some((errand, id, Said::Broken))
            }
            _ => None,
        }
    }

    /// A reply is due.
    pub(super) fn on_timer(&mut self, net: &mut Net, id: ConversationId) {
        if let Some(conversation) = self.open.get_mut(&id) {
            conversation.reply(net);
        }
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
        if exchange.reply > 0 {
            let begin = self.promised;
            self.promised += exchange.reply;
            self.owed.push_back((begin, self.promised));
            if self.owed.len() == 1 {
                net.expect(self.client, begin + 1);
            }
        }
    }

    /// The server waits for the next request.
    fn listen(&self, net: &mut Net) {
        if let (Some(server), Some((end, _))) = (self.server, self.asked.front()) {
            net.expect(server, *end);
        }
    }

    /// A request has come whole. True if it has no reply.
    fn on_request(&mut self, net: &mut Net, id: ConversationId, read: u64) -> bool {
        let Some(&(_, exchange)) = self.asked.front().filter(|(end, _)| *end <= read) else {
            return false;
        };
        self.asked.pop_front();
        self.listen(net);
        if exchange.reply == 0 {
            return true;
        }
        // Replies keep the order of their requests.
        let last = self.due.back().map_or(Instant::ZERO, |(at, _)| *at);
        let at = last.max(net.now() + exchange.delay);
        self.due.push_back((at, exchange.reply));
        if at > net.now() {
            net.wake(at, id);
        } else {
            self.reply(net);
        }
        false
    }

    /// The server sends the replies whose time has come.
    fn reply(&mut self, net: &mut Net) {
        let Some(server) = self.server else { return };
        let now = net.now();
        while let Some(&(_, bytes)) = self.due.front().filter(|(at, _)| *at <= now) {
            self.due.pop_front();
            net.send(server, bytes);
        }
        if self.server_closes && self.due.is_empty() && self.asked.is_empty() {
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
