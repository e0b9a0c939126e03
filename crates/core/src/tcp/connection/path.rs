//! What ICMP says of a connection's path: its MTU (RFC 1191 and 8201), believed as far as RFC 5927
//! advises, and unreachable destinations, which are soft errors (RFC 1122, 4.2.3.9; RFC 5461).
//!
//! A path that drops long packets in silence is not found out: probing without ICMP (RFC 4821) is
//! not implemented.

use super::{Connection, Event, Phase};
use crate::tcp::buffer::Buffer;
use crate::tcp::tcb::Tcb;
use crate::time::{Duration, Instant};
use crate::wire::{IcmpError, IcmpErrorKind, SeqNum};

/// The least MTU of an IPv6 link (RFC 8200, 5): nothing below is believed.
const LEAST_V6: u32 = 1280;
/// How long a lower MTU is kept before the former is tried again (RFC 1191, 6.3).
const RAISE_AFTER: Duration = Duration::from_secs(600);
/// Likely MTUs, for routers that do not say which is theirs (RFC 1191, 7.1).
const PLATEAUS: [u32; 9] = [32_000, 17_914, 8166, 4352, 2002, 1492, 1006, 508, 296];

/// What is known of the path's MTU, in bytes of payload.
#[derive(Debug, Clone, Default)]
pub(super) struct PathMtu {
    /// The segment size before it was lowered, and when to return to it.
    raise: Option<(u64, Instant)>,
    /// The longest segment that has arrived.
    arrived: u64,
    /// A longer one that is on its way, and the offset where it ends.
    on_trial: Option<(u64, u64)>,
    /// A smaller size than has arrived, held back until the segment that it is about times out
    /// (RFC 5927, 7.2), and that segment's offset.
    pending: Option<(u64, u64)>,
}

impl PathMtu {
    pub(super) fn on_sent(&mut self, len: u64, end: u64) {
        let known = self.on_trial.map_or(self.arrived, |(len, _)| len);
        if len > known {
            self.on_trial = Some((len, end));
        }
    }

    pub(super) fn on_progress(&mut self, snd_una: u64) {
        if let Some((len, _)) = self.on_trial.take_if(|(_, end)| *end <= snd_una) {
            self.arrived = self.arrived.max(len);
        }
        // The segment got through, whatever was said of it.
        self.pending.take_if(|(_, quoted)| *quoted < snd_una);
    }

    /// The retransmission timer has expired, with `snd_una` as the first offset outstanding.
    pub(super) fn on_timeout(&mut self, now: Instant, tcb: &mut Tcb) {
        if let Some((smss, _)) = self.pending.take() {
            self.lower(now, tcb, smss);
        }
    }

    /// Tries the former size again when it is time.
    pub(super) fn raise_if_due(&mut self, now: Instant, tcb: &mut Tcb) {
        if let Some((smss, at)) = self.raise
            && at <= now
            && tcb.sender.set_smss(now, smss)
        {
            self.raise = None;
        }
    }

    fn lower(&mut self, now: Instant, tcb: &mut Tcb, smss: u64) {
        let former = self.raise.map_or(tcb.sender.smss(), |(former, _)| former);
        if smss < tcb.sender.smss() && tcb.sender.set_smss(now, smss) {
            self.raise = Some((former, now + RAISE_AFTER));
            self.on_trial = None;
        }
    }
}

impl<B: Buffer> Connection<B> {
    /// An ICMP error has come about a segment with this connection's addresses and ports.
    pub fn on_icmp_error(&mut self, now: Instant, error: &IcmpError) {
        let quoted = &error.quoted;
        let v6 = quoted.src.is_ipv6();
        match error.kind {
            IcmpErrorKind::PacketTooBig { mtu } => {
                let whole = u32::try_from(quoted.wire_len).unwrap_or(u32::MAX);
                let guess = || PLATEAUS.into_iter().find(|plateau| *plateau < whole).unwrap_or(0);
                let mtu = if mtu == 0 && !v6 { guess() } else { mtu };
                self.on_packet_too_big(now, mtu, v6, quoted.seq);
            }
            // RFC 5461, 2: soft errors. While a connection is opened, the application may want to
            // know; later its timers decide.
            IcmpErrorKind::Unreachable { .. } => {
                if let Phase::Opening(handshake) = &self.phase
                    && handshake.is_own_syn(quoted.seq)
                {
                    self.events.push_back(Event::Unreachable);
                }
            }
        }
    }

    /// A router says that the packet with the segment at `quoted` was longer than `mtu`. Only an
    /// outstanding segment counts, and the MTU never rises by such a message nor falls below a
    /// floor (RFC 5927, 7; RFC 8201, 4). A size that contradicts what has arrived counts only when
    /// the segment times out.
    pub fn on_packet_too_big(&mut self, now: Instant, mtu: u32, v6: bool, quoted: SeqNum) {
        let Phase::Synchronised(tcb) = &mut self.phase else { return };
        let (una, nxt) = (tcb.sender.snd_una(), tcb.sender.snd_nxt());
        let offset = quoted.offset_near(tcb.agreed().snd_isn, una);
        let Some(offset) = offset.filter(|offset| (una..nxt).contains(offset)) else { return };
        let (ip_header, least) = if v6 { (40, LEAST_V6) } else { (20, self.config.least_mtu) };
        let headers = ip_header + 20 + tcb.options_len();
        let smss = u64::from(mtu.max(least)).saturating_sub(headers).max(1);
        if smss >= self.path.arrived {
            self.path.lower(now, tcb, smss);
        } else if smss < tcb.sender.smss() {
            self.path.pending.get_or_insert((smss, offset));
        }
    }
}
