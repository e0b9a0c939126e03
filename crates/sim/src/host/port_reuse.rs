//! Names of connections that are over, for others.

use super::{Application, Host, SessionKey};
use bentpipe_core::tcp::connection::State;
use bentpipe_core::wire::SeqNum;
use std::collections::BTreeMap;

/// Which names may be used again.
#[derive(Debug, Default)]
pub(super) struct PortReuse {
    /// All.
    always: bool,
    /// These, for one connection each, which begins with this number.
    once: BTreeMap<SessionKey, SeqNum>,
}

impl<A: Application> Host<A> {
    /// Lets a connection have the name of one that is over, of which nothing is known any more
    /// then.
    pub fn reuse_ports(&mut self) {
        self.reuse.always = true;
    }

    /// Lets one connection have the name `key` of one that is over: that which begins with `isn` of
    /// its caller's.
    pub fn reuse_port(&mut self, key: SessionKey, isn: SeqNum) {
        self.reuse.once.insert(key, isn);
    }

    /// Whether a SYN with `isn` may open a connection whose name another one has had.
    pub(super) fn may_reuse(&self, key: &SessionKey, isn: SeqNum) -> bool {
        self.reuse.always || self.reuse.once.get(key) == Some(&isn)
    }

    /// The name of a connection that is over is free again, where that may be.
    pub(super) fn free_port(&mut self, key: &SessionKey) {
        let may = self.reuse.always || self.reuse.once.contains_key(key);
        let index = self.table.get(key).filter(|_| may);
        if index.is_some_and(|&index| self.sessions[index].connection.state() == State::Closed) {
            self.table.remove(key);
            self.latest = None;
        }
    }
}
