//! What a Web cache fetches for the client of a conversation, in a conversation of its own.

use super::{Conversation, ConversationId, Conversations, Exchange, Purpose};
use crate::simulation::Net;
use crate::world::NodeId;
use bentpipe_core::tcp::connection::ConnectionConfig;

/// A Web cache that has taken a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cache {
    /// The share of objects that it holds.
    pub(super) hits: f64,
    /// From where it fetches the others.
    pub(super) caller: (NodeId, ConnectionConfig),
    /// The conversation in which it does, while that goes on.
    pub(super) fetch: Option<ConversationId>,
}

impl Conversations {
    /// The cache of conversation `id` asks the server for what it does not hold: on a connection
    /// like that on which it was asked.
    pub(super) fn fetch(
        &mut self,
        net: &mut Net,
        id: ConversationId,
        cache: Cache,
        exchange: Exchange,
    ) {
        if let Some(fetch) = cache.fetch {
            return self.ask(net, fetch, &[exchange]);
        }
        let last = |conversation: &Conversation| {
            conversation.server_closes && conversation.asked.is_empty()
        };
        let closes = self.open.get(&id).is_some_and(last);
        let fetch = self.begin(net, Purpose::Fetch(id, 0), cache.caller, &[exchange], closes);
        if let Some(cache) = self.open.get_mut(&id).and_then(|asked| asked.cache.as_mut()) {
            cache.fetch = Some(fetch);
        }
    }

    /// A cache has fetched so many bytes in conversation `id`, for the client of conversation `of`.
    pub(super) fn on_fetched(
        &mut self,
        net: &mut Net,
        id: ConversationId,
        of: ConversationId,
        read: u64,
    ) {
        let Some(fetch) = self.open.get_mut(&id) else { return };
        let Purpose::Fetch(_, before) =
            std::mem::replace(&mut fetch.purpose, Purpose::Fetch(of, read))
        else {
            return;
        };
        let all = read == fetch.promised;
        if !all {
            net.expect(fetch.client, read + 1);
        }
        let over = all && fetch.server_closes;
        if over {
            self.remove(net, id);
        }
        if let Some(asked) = self.open.get_mut(&of) {
            if let Some(cache) = asked.cache.as_mut().filter(|_| over) {
                cache.fetch = None;
            }
            asked.replies.on_fetched(read - before);
            asked.reply(net);
        }
    }
}
