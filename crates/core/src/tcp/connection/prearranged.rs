//! A connection without a handshake: both ends have the same configuration and know it, as ns's
//! agents of before 1998 did (`syn_ false`). For experiments; nothing on a real network opens so.

use super::config::NegotiatedOptions;
use super::handshake::Handshake;
use super::{Connection, ConnectionConfig};
use crate::tcp::buffer::{Buffer, Payload};
use crate::time::Instant;
use crate::units::Offset;
use crate::wire::{Flags, SeqNum, TcpHeader};

/// How a connection comes into being.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Opening {
    /// By SYNs (RFC 9293, 3.5).
    #[default]
    Handshake,
    /// It is there: both ends are like this one and begin at sequence number zero. The called end
    /// appears with the first segment that carries data or a FIN.
    Prearranged,
}

impl<B: Buffer> Connection<B> {
    /// One end of a prearranged connection.
    pub(super) fn prearranged(now: Instant, config: ConnectionConfig) -> Connection<B> {
        let handshake = Handshake::active(now, &config, SeqNum(0));
        let tcb = handshake.agree(config.with_itself()).complete(
            now,
            &TcpHeader::default(),
            Offset::FIRST,
            config.receive_buffer,
        );
        let mut connection = Self::opening(now, config, Handshake::active(now, &config, SeqNum(0)));
        connection.synchronise(now, tcb);
        connection
    }

    /// The called end of a prearranged connection, whose first segment to come is `tcp`.
    pub(super) fn prearranged_by(
        now: Instant,
        config: ConnectionConfig,
        tcp: &TcpHeader,
        payload: Payload<'_>,
    ) -> Option<Connection<B>> {
        let ends = tcp.has(Flags::SYN) || tcp.has(Flags::RST);
        let says = !payload.is_empty() || tcp.has(Flags::FIN);
        if ends || !says {
            return None;
        }
        let mut connection = Self::prearranged(now, config);
        connection.handle_segment(now, tcp, payload);
        Some(connection)
    }
}

impl ConnectionConfig {
    /// What an end agrees on with another one of its kind.
    fn with_itself(&self) -> NegotiatedOptions {
        NegotiatedOptions {
            shifts: self.window_scale.map(|shift| (shift, shift)),
            sack: self.sack,
            timestamps: self.timestamps.then_some(0),
            peer_mss: self.mss,
            ecn: self.ecn,
            count: None,
        }
    }
}
