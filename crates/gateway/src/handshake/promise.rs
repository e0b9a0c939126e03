//! A window for a client's first data that is wider than a SYN-ACK can say: its field is not scaled
//! (RFC 7323, 2.2), and a known link may take more than 64 KiB in the round trip until another one
//! comes.
//!
//! It is said in an acknowledgment right behind the SYN-ACK, to a peer gateway: a plain segment of
//! TCP, which a host understands as well (in SYN-SENT it drops it). If it is lost, it is as if
//! nothing had been promised.

use crate::Side;
use crate::config::{Config, LegConfig};
use crate::leg::{Leg, PerLeg};
use bentpipe_core::units::Bytes;
use bentpipe_core::wire::{Flags, SeqNum, TcpHeader, TcpOptions};

/// What a flow was promised before it begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Promise {
    /// What its streams may hold, for the time being.
    pub(crate) first: Bytes,
    /// What the client may send, in bytes.
    pub(super) window: Bytes,
}

impl Promise {
    /// The window that is worth a promise, if any is.
    pub(super) fn wanted(
        config: &Config,
        satellite: &LegConfig,
        sides: PerLeg<Side>,
    ) -> Option<Bytes> {
        let leg = |side| if side == Side::Satellite { satellite } else { config.leg(side) };
        let comes = leg(sides[Leg::Client]).known_arriving_window(true, None)?;
        let goes = leg(sides[Leg::Server]).known_filling_window(false, None);
        let wanted = comes.min(config.stream_limit([Some(comes), goes]).max);
        (wanted > Bytes::from(u16::MAX)).then_some(wanted)
    }

    /// Of a `window`, as far as the field of what follows `synack` can say it. The streams may hold
    /// `first`.
    pub(super) fn new(synack: &TcpHeader, first: Bytes, window: Bytes) -> Promise {
        let window = Bytes::new(u64::from(field(synack, window)) << shift(synack));
        Promise { first, window }
    }

    /// What says it right behind `synack`.
    pub(super) fn behind(&self, synack: &TcpHeader) -> TcpHeader {
        let timestamps = synack.options.timestamps;
        TcpHeader {
            seq: synack.seq + 1,
            flags: Flags::ACK,
            window: field(synack, self.window),
            options: TcpOptions { timestamps, ..TcpOptions::default() },
            ..synack.clone()
        }
    }

    /// The window that `tcp`, with `len` bytes, promises right behind the `synack` that has come to
    /// the SYN with number `isn`, if that is what it does.
    pub(super) fn heard(
        isn: SeqNum,
        synack: &TcpHeader,
        tcp: &TcpHeader,
        len: usize,
    ) -> Option<Bytes> {
        let others = Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0;
        let is_one = len == 0
            && tcp.has(Flags::ACK)
            && tcp.flags.0 & others == 0
            && (tcp.seq, tcp.ack) == (synack.seq + 1, isn + 1);
        is_one.then(|| Bytes::new(u64::from(tcp.window) << shift(synack)))
    }
}

/// By how much the sender of a SYN-ACK shifts its windows.
fn shift(synack: &TcpHeader) -> u8 {
    synack.options.window_scale.unwrap_or(0)
}

/// A window as what follows a SYN-ACK says it.
fn field(synack: &TcpHeader, window: Bytes) -> u16 {
    u16::try_from(window.count() >> shift(synack)).unwrap_or(u16::MAX)
}
