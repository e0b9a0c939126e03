//! The MTU of the path to the peer (RFC 1191 and 8201), as far as ICMP's word for it is to be
//! believed (RFC 5927).
//!
//! A path that drops long packets in silence is not found out: probing without ICMP (RFC 4821) is
//! not implemented.

use super::Tcb;
use crate::time::{Duration, Instant};
use crate::units::{Bytes, Offset};
use crate::wire::{IcmpErrorKind, Quoted};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The minimum IPv4 MTU that is believed, unless the owner says otherwise: Linux's, 512 bytes of
/// payload and headers without options.
pub const MIN_PATH_MTU: u32 = 552;
/// The minimum MTU of an IPv6 link (RFC 8200, 5): nothing below is believed.
const MIN_V6: u32 = 1280;
/// How long a lower MTU is kept before the former is tried again (RFC 1191, 6.3).
const RAISE_AFTER: Duration = Duration::from_secs(600);
/// Likely MTUs, for routers that do not say which is theirs (RFC 1191, 7.1).
const PLATEAUS: [u32; 9] = [32_000, 17_914, 8166, 4352, 2002, 1492, 1006, 508, 296];

/// What is known of the path's MTU, in bytes of payload.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct PathMtu {
    /// The segment size before it was lowered, and when to return to it.
    raise: Option<(Bytes, Instant)>,
    /// The longest segment that has arrived.
    arrived: Bytes,
    /// A longer one that is on its way, and the offset where it ends.
    on_trial: Option<(Bytes, Offset)>,
    /// A smaller size than has arrived, held back until the segment that it is about times out
    /// (RFC 5927, 7.2), and that segment's offset.
    pending: Option<Box<(Size, Offset)>>,
    /// Routers are to cut our packets: one of them has an MTU below all that is believed.
    fragmented: bool,
}

/// How long segments are to be.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Size {
    /// Their payload.
    smss: Bytes,
    /// The payload of what passes the narrowest router whole, if that is less.
    whole: Option<Bytes>,
}

impl Tcb {
    /// An ICMP error has come about the segment `quoted`, with this connection's addresses and
    /// ports: the size of segments follows, if the error says that the packet was too big. Over
    /// IPv4 no MTU below `min` is believed. Whether the size has changed.
    ///
    /// Only an outstanding segment counts, and the MTU never rises by such a message nor falls
    /// below a floor (RFC 5927, 7; RFC 8201, 4). A size that contradicts what has arrived counts
    /// only when the segment times out. Below the floor IPv4's routers are to
    /// [fragment](Tcb::is_fragmented) what we send, as Linux has it (`ip_rt_update_pmtu`).
    pub fn on_icmp_error(
        &mut self,
        now: Instant,
        kind: IcmpErrorKind,
        quoted: &Quoted,
        min: u32,
    ) -> bool {
        let IcmpErrorKind::PacketTooBig { mtu } = kind else { return false };
        if !self.is_outstanding(quoted) {
            return false;
        }
        let v6 = quoted.src.is_ipv6();
        let (ip_header, min) = if v6 { (40, MIN_V6) } else { (20, min) };
        let headers = Bytes::new(ip_header + 20) + self.options_len();
        let mtu = match mtu {
            0 if !v6 => {
                // A super-segment is quoted with its whole length.
                let sent = Bytes::of_len(quoted.wire_len).min(headers + self.sender.smss());
                PLATEAUS.into_iter().find(|plateau| Bytes::from(*plateau) < sent).unwrap_or(0)
            }
            mtu => mtu,
        };
        let payload = |mtu: u32| Bytes::from(mtu).saturating_sub(headers).max(Bytes::ONE);
        let whole = (!v6 && mtu < min).then(|| payload(mtu));
        let size = Size { smss: payload(mtu.max(min)), whole };
        let before = (self.sender.smss(), self.path.fragmented);
        let frees = whole.is_some() && !self.path.fragmented;
        if whole.unwrap_or(size.smss) >= self.path.arrived {
            self.lower(now, size);
        } else if size.smss < before.0 || frees {
            let una = self.sender.snd_una();
            let offset = quoted.seq.offset_near(self.handshake.snd_isn, una).unwrap_or(una);
            self.path.pending.get_or_insert_with(|| Box::new((size, offset)));
        }
        (self.sender.smss(), self.path.fragmented) != before
    }

    /// Whether routers are to fragment what we send: IPv4's DF is clear.
    pub fn is_fragmented(&self) -> bool {
        self.path.fragmented
    }

    /// Whether the quoted segment is one of ours that is not acknowledged: whoever cannot see our
    /// segments does not know (RFC 5927, 4.1).
    pub fn is_outstanding(&self, quoted: &Quoted) -> bool {
        let (una, nxt) = (self.sender.snd_una(), self.sender.snd_nxt());
        let offset = quoted.seq.offset_near(self.handshake.snd_isn, una);
        offset.is_some_and(|offset| (una..nxt).contains(&offset))
    }

    pub(super) fn note_sent(&mut self, data: &Range<Offset>) {
        // Of a super-segment, the first that it becomes.
        let len = (data.end - data.start).min(self.sender.smss());
        let known = self.path.on_trial.map_or(self.path.arrived, |(len, _)| len);
        if len > known {
            self.path.on_trial = Some((len, data.start + len));
        }
    }

    pub(super) fn note_progress(&mut self) {
        let una = self.sender.snd_una();
        if let Some((len, _)) = self.path.on_trial.take_if(|(_, end)| *end <= una) {
            self.path.arrived = self.path.arrived.max(len);
        }
        // The segment got through, whatever was said of it.
        self.path.pending.take_if(|pending| pending.1 < una);
    }

    /// The retransmission timer has expired.
    pub(super) fn note_timeout(&mut self, now: Instant) {
        if let Some(pending) = self.path.pending.take() {
            self.lower(now, pending.0);
        }
    }

    /// Tries the former size again when it is time.
    pub(super) fn raise_if_due(&mut self, now: Instant) {
        if let Some((smss, at)) = self.path.raise
            && at <= now
            && self.sender.set_smss(now, smss)
        {
            self.path.raise = None;
            self.path.fragmented = false;
        }
    }

    fn lower(&mut self, now: Instant, Size { smss, whole }: Size) {
        let current = self.sender.smss();
        let former = self.path.raise.map_or(current, |(former, _)| former);
        let shorter = smss < current && self.sender.set_smss(now, smss);
        let freed = whole.filter(|_| !self.path.fragmented);
        if let Some(whole) = freed {
            self.path.fragmented = true;
            self.sender.repeat_longer(now, whole);
        }
        if shorter || freed.is_some() {
            self.path.raise = Some((former, now + RAISE_AFTER));
            self.path.on_trial = None;
        }
    }
}
