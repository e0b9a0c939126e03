//! What a host's connections to the same peer tell each other: TCP control block interdependence
//! (RFC 9040).
//!
//! Temporal sharing (section 6): when all that a connection has sent is acknowledged, its FIN
//! included, or when it is over, its state becomes the peer's; a new one begins with that. The last
//! one counts: the RFC leaves open how it is merged with those before. Ensemble sharing (section
//! 7): when a handshake is complete, the sums of windows and thresholds are divided by the
//! connections that there are then, and those that were there give up their part. So four
//! connections that are opened at once begin with one initial window together. From there on each
//! grows by itself.

use super::{Application, Host, Session};
use bentpipe_core::tcp::connection::{Connection, State};
use bentpipe_core::tcp::sender::PathState;
use bentpipe_scenario::Sharing;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// What a host shares, and what it remembers of peers.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) kind: Sharing,
    /// Temporal sharing: of the last connection. There are no more peers than nodes.
    last: BTreeMap<IpAddr, PathState>,
}

/// How far a connection has come in this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Part {
    /// Its handshake is not complete.
    #[default]
    Outside,
    /// It takes part.
    Member,
    /// It has told what it knows.
    Left,
}

impl<A: Application> Host<A> {
    /// Its connections to the same peer tell each other what `kind` says.
    #[must_use]
    pub fn sharing(mut self, kind: Sharing) -> Host<A> {
        self.shared.kind = kind;
        self
    }

    /// Something has happened to a session.
    pub(super) fn share(&mut self, index: usize) {
        let session = &self.sessions[index];
        let (part, peer) = (session.part, session.key.1);
        let over = is_over(&session.connection);
        if part == Part::Outside && session.connection.tcb().is_some() {
            self.admit(index, peer);
        } else if part == Part::Member && over {
            let session = &mut self.sessions[index];
            session.part = Part::Left;
            // Who has sent nothing knows nothing.
            let sent =
                session.connection.last_tcb().is_some_and(|tcb| tcb.sender.stats().segments > 0);
            if let Some(state) = session.connection.path_state().filter(|_| sent) {
                self.shared.last.insert(peer, state);
            }
        }
    }

    /// The session's handshake is complete, and it has sent nothing yet.
    fn admit(&mut self, index: usize, peer: IpAddr) {
        let state = match self.shared.kind {
            Sharing::Off => None,
            Sharing::Temporal => self.shared.last.get(&peer).copied(),
            Sharing::Ensemble => self.divide(peer),
        };
        let session = &mut self.sessions[index];
        session.part = Part::Member;
        if let Some(state) = state {
            session.connection.inherit(&state);
        }
    }

    /// The part of one more of what the connections to `peer` have, which they give up.
    fn divide(&mut self, peer: IpAddr) -> Option<PathState> {
        let mut members: Vec<&mut Session<A>> = self
            .sessions
            .iter_mut()
            .map(|(_, session)| session)
            .filter(|session| session.key.1 == peer && session.part == Part::Member)
            .collect();
        let states: Vec<PathState> =
            members.iter().filter_map(|session| session.connection.path_state()).collect();
        let count = u32::try_from(states.len()).ok()?;
        let state = PathState::share(&states, count + 1)?;
        for member in &mut members {
            member.connection.give_up_share(u64::from(count), u64::from(count) + 1);
        }
        Some(state)
    }
}

fn is_over<B: bentpipe_core::tcp::buffer::Buffer>(connection: &Connection<B>) -> bool {
    connection.state() == State::Closed
        || connection.tcb().is_some_and(|tcb| tcb.sender.fin_acked())
}
