//! The last that is asked of a flow in which a panic has happened. Its state may be broken, so that
//! even this may panic.

use super::SplicedFlow;
use super::closing::CloseState;
use crate::handshake::Relay;
use crate::leg::Leg;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::units::Bytes;

impl<B: Buffer> SplicedFlow<B> {
    /// Resets to those hosts that have not reset themselves, if the flow was not over.
    pub(crate) fn last_resets(&self) -> impl Iterator<Item = (Leg, Relay)> {
        let gone = match self.closing.state() {
            CloseState::Draining { from, .. } => Some(from),
            _ => None,
        };
        let told = Leg::BOTH.into_iter().filter(move |leg| Some(*leg) != gone);
        told.filter(|_| self.is_open()).map(|leg| (leg, self.splice.leg(leg).reset(None)))
    }

    /// Bytes that were acknowledged to their senders and will not be delivered.
    pub(crate) fn still_owed(&self) -> Bytes {
        self.closing.lost() + self.splice.all_undelivered()
    }
}
