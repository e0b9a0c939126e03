//! A snapshot of a connection, for as long as nothing happens to it: everything that it knows, so
//! that what it does afterwards does not depend on whether, or when, a snapshot was restored.

use super::Tcb;
use crate::snapshot::{Reader, Writer};
use crate::tcp::congestion::CongestionAlgorithm;
use crate::tcp::sender::{Sender, SenderConfig};

impl Tcb {
    /// Writes all of it. `common` are parameters that senders have in common, as whoever reads it
    /// back has to know them. False, and nothing is written, if our SYN is still to be
    /// acknowledged: it has options that are not worth a form of their own. The same if its
    /// congestion control is from outside the core, which cannot write that.
    pub fn snapshot(&self, common: &SenderConfig, into: &mut Writer) -> bool {
        let Tcb {
            sender,
            receiver,
            handshake,
            ecn,
            last_challenge,
            counts,
            own_syn,
            behind_syn,
            path,
            stands_in,
            hastened,
        } = self;
        let external = matches!(sender.congestion(), CongestionAlgorithm::External(_));
        if own_syn.is_some() || behind_syn.is_some() || external {
            return false;
        }
        sender.snapshot(common, into);
        into.put(&(receiver, handshake, ecn, last_challenge, counts, path, stands_in, hastened));
        true
    }

    /// What [`Tcb::snapshot`] has written, with the same `common` parameters.
    ///
    /// # Panics
    /// If it is something else.
    pub fn restore(from: &mut Reader<'_>, common: &SenderConfig) -> Tcb {
        let sender = Sender::restore(from, common);
        let (receiver, handshake, ecn, last_challenge, counts, path, stands_in, hastened) =
            from.take();
        let (own_syn, behind_syn) = (None, None);
        Tcb {
            sender,
            receiver,
            handshake,
            ecn,
            last_challenge,
            counts,
            own_syn,
            behind_syn,
            path,
            stands_in,
            hastened,
        }
    }
}
