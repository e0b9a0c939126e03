//! Whether a connection is split, by its SYN.

use super::Gateway;
use crate::Side;
use crate::announce::Announcement;
use crate::observe::Reason;
use crate::policy::Action;
use crate::segment::Segment;
use bentpipe_core::tcp::buffer::{Buffer, Payload};
use bentpipe_core::wire::{Flags, IpHeader, TcpHeader};
use std::net::{IpAddr, SocketAddr};

/// What would become of a connection that began now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prospect {
    /// Why it would not be split, unless it would.
    pub reason: Option<Reason>,
    /// The rule of the policy that names it, counted from 1.
    pub rule: Option<usize>,
    /// How many flows its client has.
    pub flows_of_client: usize,
}

impl<B: Buffer> Gateway<B> {
    /// Whether the connection for which `syn` asks is to be split, which comes from who opens it.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn judge(&self, syn: &Segment<'_>) -> Result<(), Reason> {
        let action = self.config.policy.action(syn);
        if action == Action::Forward {
            return Err(Reason::Policy);
        }
        let mut options = syn.tcp.options.clone();
        Announcement::strip(&mut options);
        // T/TCP's counts are the two hosts' own business: a leg could not keep them.
        if !syn.payload.is_empty() || options.has_counts() || !options.other.is_empty() {
            return Err(Reason::Options);
        }
        if self.draining {
            return Err(Reason::Draining);
        }
        if action == Action::Observe {
            return Err(Reason::Observed);
        }
        if self.config.adopt_after.is_some() {
            return Err(Reason::Short);
        }
        self.admit(syn.ip.src)
    }

    /// What would become of a connection that `client`, which is on side `from`, opened now by a SYN without anything that
    /// cannot be split.
    pub fn prospect(&self, from: Side, client: IpAddr, server: SocketAddr) -> Prospect {
        let ip = IpHeader::between(client, server.ip());
        let tcp = TcpHeader { dst_port: server.port(), flags: Flags::SYN, ..TcpHeader::default() };
        let syn = Segment { from, ip: &ip, tcp: &tcp, payload: Payload::EMPTY };
        Prospect {
            reason: self.judge(&syn).err(),
            rule: self.config.policy.rule(&syn).map(|number| number + 1),
            flows_of_client: self.clients.flows_of(client),
        }
    }
}
