//! What the two ends of one leg have agreed on: read off the SYN and SYN-ACK of that leg.

use bentpipe_core::time::Duration;
use bentpipe_core::units::{Bytes, Offset};
use bentpipe_core::wire::{IpHeader, TcpHeader};

/// What a leg is made from.
#[derive(Debug, Clone)]
pub(crate) struct LegHandshake {
    /// The SYN or SYN-ACK that we sent on it.
    pub(crate) ours: TcpHeader,
    /// The one that came.
    pub(crate) theirs: TcpHeader,
    /// The host's window as it stands after the handshake, scaled to bytes.
    pub(crate) window: Bytes,
    /// The other host's TSval, if it uses timestamps towards us: ours follows it.
    pub(crate) relayed: Option<u32>,
    /// One past what the host has acknowledged: the SYN, or more where a leg begins anew or in
    /// mid-life.
    pub(crate) acked: Offset,
    /// One past what has come from the host: the SYN, or more where the leg begins in mid-life.
    pub(crate) received: Offset,
    /// One past the last offset that was promised to the host, by us or by the one for which we
    /// stand.
    pub(crate) promised: Offset,
    /// How long the handshake took, if nothing was sent twice.
    pub(crate) rtt: Option<Duration>,
    /// Header of what we send on this leg.
    pub(crate) ip: IpHeader,
    /// A gateway at the other end has announced itself.
    pub(crate) peer: bool,
}

/// The options of one leg, seen from the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NegotiatedOptions {
    /// Shift of the windows that the host sends.
    pub(crate) snd_shift: u8,
    /// Shift of the windows that we send.
    pub(crate) rcv_shift: u8,
    pub(crate) sack: bool,
    /// The host's TSval in its SYN, if timestamps were agreed on.
    pub(crate) timestamps: Option<u32>,
    /// Payload of the largest segment to the host, options deducted.
    pub(crate) smss: Bytes,
    /// Payload of the largest segment from the host.
    pub(crate) rmss: Bytes,
}

impl NegotiatedOptions {
    /// RFC 9293, 3.7.1: a SYN without MSS option.
    const DEFAULT_MSS: u16 = 536;
    /// A smaller MSS than any link has is an attack on our cost per byte.
    pub(super) const MIN_MSS: u16 = 64;

    /// `ours` is the SYN (or SYN-ACK) that we sent on the leg, `theirs` the one that came, and
    /// `limit` what the configuration lets an MSS option be.
    pub(crate) fn agreed(
        ours: &TcpHeader,
        theirs: &TcpHeader,
        limit: Option<u16>,
    ) -> NegotiatedOptions {
        let (our, their) = (&ours.options, &theirs.options);
        let shifts = our.window_scale.zip(their.window_scale);
        let timestamps = their.timestamps.filter(|_| our.timestamps.is_some());
        let options = options_len(timestamps.is_some());
        let mss = |announced: Option<u16>| {
            let mss = announced.unwrap_or(Self::DEFAULT_MSS).min(limit.unwrap_or(u16::MAX));
            Bytes::from(mss.max(Self::MIN_MSS)) - options
        };
        NegotiatedOptions {
            rcv_shift: shifts.map_or(0, |s| s.0),
            snd_shift: shifts.map_or(0, |s| s.1),
            sack: our.sack_permitted && their.sack_permitted,
            timestamps: timestamps.map(|ts| ts.value),
            smss: mss(their.mss),
            // The host sends no larger segments than it receives, as a rule.
            rmss: mss(our.mss).min(mss(their.mss)),
        }
    }

    /// Length of the options in every segment, in bytes.
    pub(crate) fn options_len(&self) -> Bytes {
        options_len(self.timestamps.is_some())
    }
}

/// Length of the timestamps option, padded (RFC 7323, appendix A).
pub(super) const TIMESTAMPS_LEN: u16 = 12;

fn options_len(timestamps: bool) -> Bytes {
    if timestamps { Bytes::from(TIMESTAMPS_LEN) } else { Bytes::ZERO }
}
