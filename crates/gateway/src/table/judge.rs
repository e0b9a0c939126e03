//! Whether a connection is split, by its SYN.

use super::Gateway;
use crate::Side;
use crate::announce::Announcement;
use crate::observe::Reason;
use crate::policy::Action;
use crate::segment::Segment;
use bentpipe_core::tcp::buffer::{Buffer, Payload};
use bentpipe_core::time::Instant;
use bentpipe_core::units::Bytes;
use bentpipe_core::wire::{Flags, IpHeader, TcpHeader};
use std::net::{IpAddr, SocketAddr};

/// What becomes of a connection, as far as its SYN and the policy say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is split, if there is room.
    Split,
    /// It is split once it has carried so much.
    Candidate(Bytes),
    /// It is forwarded.
    Forward(Reason),
}

/// What would become of a connection that began now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prospect {
    /// Why it would not be split, unless it would.
    pub reason: Option<Reason>,
    /// The rule of the policy that names it, counted from 1, and what that says.
    pub rule: Option<(usize, Action)>,
    /// How many flows its client has.
    pub flows_of_client: usize,
}

impl<B: Buffer> Gateway<B> {
    /// Judges the connection for which `syn` asks; its source is the address of who opens it,
    /// before NAT.
    pub(super) fn judge(&self, syn: &Segment<'_>) -> Verdict {
        let action = self.config.policy.action(syn);
        if action == Action::Forward {
            return Verdict::Forward(Reason::Policy);
        }
        let mut options = syn.tcp.options.clone();
        Announcement::strip(&mut options);
        // T/TCP's counts are the two hosts' own business: a leg could not keep them.
        if !syn.payload.is_empty() || options.has_counts() || !options.other.is_empty() {
            return Verdict::Forward(Reason::Options);
        }
        if let Some(why) = self.leaving {
            return Verdict::Forward(why.into());
        }
        if action == Action::Observe {
            return Verdict::Forward(Reason::Observed);
        }
        self.config.adopt_after.map_or(Verdict::Split, Verdict::Candidate)
    }

    /// What would become of a connection that `client`, which is on side `from`, opened now by a
    /// SYN without DSCP and without anything that cannot be split.
    pub fn prospect(
        &self,
        now: Instant,
        from: Side,
        client: IpAddr,
        server: SocketAddr,
    ) -> Prospect {
        let ip = IpHeader::between(client, server.ip());
        let tcp = TcpHeader { dst_port: server.port(), flags: Flags::SYN, ..TcpHeader::default() };
        let syn = Segment { from, ip: &ip, tcp: &tcp, payload: Payload::EMPTY };
        let reason = match self.judge(&syn) {
            Verdict::Forward(reason) => Some(reason),
            Verdict::Candidate(_) => Some(Reason::Short),
            Verdict::Split => {
                let refused = self.admit(client).err();
                refused.filter(|reason| !self.may_make_room(now, *reason, client))
            }
        };
        let policy = &self.config.policy;
        let rule = policy.rule(&syn).map(|at| (at + 1, policy.rules[at].action));
        Prospect { reason, rule, flows_of_client: self.clients.flows_of(client) }
    }
}
