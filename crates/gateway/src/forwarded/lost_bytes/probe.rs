//! The same for a sender whose window is closed, or who has sent nothing since the crash.
//!
//! If all that it has sent has been acknowledged, it retransmits nothing, and probes the window
//! (RFC 9293, 3.8.6.1). Linux does so with empty segments at X, one below SND.UNA, whose intervals
//! double. A receiver that expects y < X and whose window reaches up to X takes them for news of a
//! window, and says nothing (RFC 9293, 3.10.7.4): so whoever forwards the second one, and each
//! later one, asks it by a copy that lies below what it expects, and is answered by y.
//!
//! An empty segment at X may be anything: hosts acknowledge by empty segments at SND.NXT, and then
//! \[y, X) may be on its way or wait for a timer. So when all else is as [`super::gap`] has it for
//! data, the sender is asked too, by a copy of the receiver's last answer that lies below what it
//! expects. If it answers from X + 1, then that is its SND.NXT, and X was a probe (or a keep-alive,
//! RFC 9293, 3.8.4): all below X + 1 has been acknowledged to it. Any other answer shows nothing.
//!
//! - An idle connection's keep-alives are answered by y > X, and what a receiving host acknowledges
//!   is followed by segments with y ≥ X: either is sound. (So is one where but the byte at X is
//!   missing.)
//! - Data takes the place of probes: as long as somebody sends any, its rule holds.
//! - A forged probe has at most two short segments sent, one to each host, which drop them as any
//!   that are too old. To have hosts reset takes the numbers of both, as for data.

use super::gap::{Evidence, Gap, Passing, REACH};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::SeqNum;

/// The least time between two empty segments for the second to be a probe: retransmitted data makes
/// hosts repeat an acknowledgment sooner, and the probes that count, those of 17 s, come more
/// slowly.
const PROBES_APART: Duration = Duration::from_secs(1);

/// So far below a probe no receiver expects anything: further than a gateway can have held, and
/// nearer than numbers wrap.
const FAR_BELOW: u32 = 1 << 30;

impl Gap {
    /// An empty segment of a sender that has sent nothing else.
    pub(super) fn on_probe(&mut self, now: Instant, sent: Passing<'_>) -> Evidence {
        let tcp = sent.tcp;
        let ahead = tcp.seq.distance_from(self.una);
        // One that tells of another window is no probe.
        let says_the_same = tcp.ack == self.rcv_nxt && tcp.window == self.window;
        match ahead {
            0 if says_the_same => {
                if now < self.sent_at + PROBES_APART {
                    return Evidence::None;
                }
                self.note_repetition(now);
                let far_below = SeqNum(self.una.0.wrapping_sub(FAR_BELOW));
                Evidence::Probe(
                    self.missing.as_ref().map_or(far_below, |missing| before(missing.from)),
                )
            }
            1 => self.confirm(tcp.ack),
            _ if ahead.unsigned_abs() > REACH => Evidence::None,
            _ => {
                *self = Gap::new(now, sent);
                Evidence::None
            }
        }
    }

    /// Probes and answers show that bytes are lost, if what repeats is a probe.
    pub(super) fn ask_sender(&mut self) -> Evidence {
        let Some(missing) = &mut self.missing else { return Evidence::None };
        missing.sender_asked = true;
        Evidence::Probe(before(self.rcv_nxt))
    }

    /// The sender stands one beyond its probes, and expects `rcv_nxt`.
    fn confirm(&mut self, rcv_nxt: SeqNum) -> Evidence {
        match &mut self.missing {
            Some(missing) if missing.sender_asked && rcv_nxt == self.rcv_nxt => {
                missing.sender_asked = false;
            }
            _ => return Evidence::None,
        }
        self.lost().map_or(Evidence::None, Evidence::Confirmed)
    }
}

/// What every host has had that expects `next`: it answers (RFC 9293, 3.10.7.4).
fn before(next: SeqNum) -> SeqNum {
    SeqNum(next.0.wrapping_sub(1))
}
