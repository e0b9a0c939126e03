//! The last that is asked of a flow in which a panic has happened. Its state may be broken, so that
//! even this may panic.

use super::closing::Ending;
use super::split::Split;
use crate::leg::Leg;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::wire::{IpHeader, TcpHeader};

impl<B: Buffer> Split<B> {
    /// Resets to those hosts that have not reset themselves, if the flow was not over.
    pub(crate) fn last_resets(&self) -> impl Iterator<Item = (Leg, IpHeader, TcpHeader)> {
        let gone = match self.ending {
            Ending::Draining { from, .. } => Some(from),
            _ => None,
        };
        let told = Leg::BOTH.into_iter().filter(move |leg| Some(*leg) != gone);
        told.filter(|_| self.is_open()).map(|leg| {
            let (ip, tcp) = self.legs[leg].reset(None);
            (leg, ip, tcp)
        })
    }

    /// Bytes that were acknowledged to their senders and will not be delivered.
    pub(crate) fn still_owed(&self) -> u64 {
        self.lost + self.undelivered(Leg::Client) + self.undelivered(Leg::Server)
    }
}
