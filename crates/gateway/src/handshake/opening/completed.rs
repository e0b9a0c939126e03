//! A complete handshake: what the legs are made from.

use super::Opening;
use crate::Side;
use crate::config::Config;
use crate::handshake::{LegHandshake, SpoofedSynAck};
use crate::key::Endpoint;
use crate::leg::PerLeg;
use bentpipe_core::time::Instant;
use bentpipe_core::units::{Bytes, Offset};
use bentpipe_core::wire::TcpHeader;
use serde::{Deserialize, Serialize};

/// Which options the legs have that a host did not offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Added {
    /// None.
    Nothing,
    /// Some, which the gateway at the other end of the leg takes off. The flow can go on unsplit
    /// once both gateways have forgotten it.
    ToGateway,
    /// Some, and the other host uses them, so that the flow cannot go on unsplit.
    ToHost,
}

/// A complete handshake: what a flow begins with.
#[derive(Debug)]
pub(crate) struct Completed {
    pub(crate) sides: PerLeg<Side>,
    pub(crate) legs: PerLeg<LegHandshake>,
    pub(crate) added: Added,
    /// The client has not acknowledged the SYN-ACK yet.
    pub(crate) spoofed_synack: Option<SpoofedSynAck>,
}

impl Opening {
    /// The handshake is complete, by the client's `ack` or because the server is not to wait for
    /// it: what the legs are made from. `ends` are those of the client and of the server.
    pub(crate) fn complete(
        &self,
        now: Instant,
        config: &Config,
        ends: PerLeg<Endpoint>,
        ack: Option<&TcpHeader>,
    ) -> Completed {
        let stamped = |tcp: &TcpHeader| tcp.options.timestamps.map(|ts| ts.value);
        let (syn_in, syn_out) = (self.syn.came(ends), self.syn.sent(config, ends));
        let client_shift = match self.synack_out.options.window_scale {
            Some(_) => syn_in.options.window_scale.unwrap_or(0),
            None => 0,
        };
        let spoofed_synack = ack.is_none().then(|| {
            let added = self.syn.peer_added().unwrap_or_default();
            let synack = (self.ip, self.synack_out.clone());
            SpoofedSynAck::new(now, syn_in.clone(), added, synack, config.open_timeout)
        });
        let server = LegHandshake {
            window: self.peer_window.unwrap_or(Bytes::from(self.synack_in.window)),
            // That of the client's last SYN, which the server may have answered.
            relayed: stamped(&syn_in).and(stamped(&syn_out)),
            promised: Offset::FIRST + Bytes::from(syn_out.window),
            ours: syn_out,
            theirs: self.synack_in.clone(),
            acked: Offset::FIRST,
            received: Offset::FIRST,
            rtt: self.syn.sent_once_at().map(|at| self.came_at.saturating_since(at)),
            ip: self.syn.ip(ends),
            peer: self.by_gateway,
        };
        let client = LegHandshake {
            // A SYN's window is not scaled (RFC 7323, 2.2).
            window: match ack {
                Some(ack) => Bytes::new(u64::from(ack.window) << client_shift),
                None => Bytes::from(syn_in.window),
            },
            promised: Offset::FIRST + self.promised_window(),
            ours: self.synack_out.clone(),
            theirs: syn_in,
            relayed: stamped(&self.synack_in),
            acked: Offset::FIRST,
            received: Offset::FIRST,
            rtt: (self.times == 1 && ack.is_some()).then(|| now.saturating_since(self.sent_at)),
            ip: self.ip,
            peer: self.syn.peer_added().is_some(),
        };
        let (sides, legs) = (self.syn.sides(), PerLeg::new(client, server));
        Completed { sides, legs, added: self.added_in_all(), spoofed_synack }
    }
}
