//! Connections whose SYN-ACK the client has yet to acknowledge.
//!
//! A flood of SYNs in others' names that a live server answers (RFC 4987) fills the table with
//! them. So where room is needed, the one that has waited longest gives way, once it has waited
//! longer than an honest client takes. It is forgotten, and the client's acknowledgment is
//! forwarded if it comes after all: nothing in the connection is ours yet. That is not so of two
//! kinds, which keep their places:
//! - Options that were added would stay with the hosts.
//! - The server may have been answered already (`handshake = "downstream-first"`). It would have to
//!   be reset, and so would an honest client behind an outage.
//!
//! Together these may be a quarter of the table; beyond it no options are added, and servers are
//! answered by their clients. By networks nobody gives way: a network may be a NAT's, and a small
//! site's hosts and the machine that floods are of one.

use crate::Side;
use crate::config::Config;
use bentpipe_core::time::{Duration, Instant};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// How long an entry has its place for sure, or three round trips: a SYN-ACK and its acknowledgment
/// may both be lost once.
const PATIENCE: Duration = Duration::from_secs(3);

/// How a flow stands in the table while its client has not acknowledged the SYN-ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum AdmissionState {
    /// The client has, or the flow is over.
    #[default]
    Settled,
    /// The flow may be forgotten from then on.
    Forgettable(Instant),
    /// Its hosts could not go on without us.
    Bound,
}

impl AdmissionState {
    /// When the flow may give way, if ever.
    fn until(self) -> Option<Instant> {
        match self {
            AdmissionState::Settled | AdmissionState::Bound => None,
            AdmissionState::Forgettable(at) => Some(at),
        }
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct AwaitingAck {
    /// Those that may be forgotten, by when.
    forgettable: BTreeSet<(Instant, usize)>,
    /// The same by client.
    of_clients: BTreeSet<(IpAddr, Instant, usize)>,
    /// How many are bound.
    bound: usize,
}

impl AwaitingAck {
    /// How many cannot simply be forgotten.
    pub(super) fn binding(&self) -> usize {
        self.bound
    }

    /// Flow `id` of a client on `side` begins to wait at `now`. Its hosts may be left by
    /// themselves, or not because options are `bound`.
    pub(super) fn wait(
        &mut self,
        now: Instant,
        config: &Config,
        id: usize,
        (client, side): (IpAddr, Side),
        bound: bool,
        standing: &mut AdmissionState,
    ) {
        let waits = if bound {
            AdmissionState::Bound
        } else {
            // To the client, as far as anything is known.
            let three_round_trips = config.leg(side).assumed_round_trip(side) * 3;
            AdmissionState::Forgettable(now + three_round_trips.max(PATIENCE))
        };
        self.put(id, client, standing, waits);
    }

    /// Flow `id` of a client waits no longer.
    pub(super) fn settle(&mut self, id: usize, client: IpAddr, standing: &mut AdmissionState) {
        self.put(id, client, standing, AdmissionState::Settled);
    }

    fn put(
        &mut self,
        id: usize,
        client: IpAddr,
        standing: &mut AdmissionState,
        becomes: AdmissionState,
    ) {
        let before = std::mem::replace(standing, becomes);
        if let Some(at) = before.until() {
            self.forgettable.remove(&(at, id));
            self.of_clients.remove(&(client, at, id));
        }
        if let Some(at) = becomes.until() {
            self.forgettable.insert((at, id));
            self.of_clients.insert((client, at, id));
        }
        self.bound -= usize::from(before == AdmissionState::Bound);
        self.bound += usize::from(becomes == AdmissionState::Bound);
    }

    /// The flow that gives way at `now`: the one that has waited longest, if it has long enough.
    pub(super) fn oldest(&self, now: Instant) -> Option<usize> {
        self.forgettable.first().filter(|(at, _)| *at <= now).map(|(_, id)| *id)
    }

    /// The same among those of one client.
    pub(super) fn oldest_of(&self, now: Instant, client: IpAddr) -> Option<usize> {
        let from = (client, Instant::ZERO, 0);
        self.of_clients.range(from..=(client, now, usize::MAX)).next().map(|(_, _, id)| *id)
    }

    /// How many there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        assert_eq!(self.of_clients.len(), self.forgettable.len());
        self.of_clients.len() + self.bound
    }
}
