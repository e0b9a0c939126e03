//! What a host's connections to the same peer tell each other (RFC 9040).

use super::{Connection, Phase};
use crate::tcp::buffer::Buffer;
use crate::tcp::sender::PathState;

impl<B: Buffer> Connection<B> {
    /// What it knows of its path, or knew when it ended.
    pub fn path_state(&self) -> Option<PathState> {
        self.last_tcb()?.sender.path_state()
    }

    /// Begins with what others know, if its handshake is complete. After a lost SYN it does not:
    /// then one segment is the initial window (RFC 5681, 3.1), and congestion is likely.
    pub fn inherit(&mut self, state: &PathState) {
        let Phase::Synchronised(tcb) = &mut self.phase else { return };
        let sender = &mut tcb.sender;
        if sender.cwnd() >= self.config.sender.initial_window.bytes(sender.smss()) {
            sender.inherit(state);
        }
    }

    /// Gives up a part of its window: `kept` of `of` parts are left.
    pub fn give_up_share(&mut self, kept: u64, of: u64) {
        if let Phase::Synchronised(tcb) = &mut self.phase {
            tcb.sender.give_up_share(kept, of);
        }
    }
}
