//! A server that is answered before its client has answered it (`handshake = "downstream-first"`,
//! bharadwaj-2001, 3.2).
//!
//! Whoever acknowledges the SYN-ACK takes over the server's duties: the SYN-ACK is repeated until the
//! client acknowledges it, and what the server says meanwhile is kept. It is sent before that only
//! to a gateway that has said it takes it, never to a host: the SYN's source may be forged, and
//! would be sent what it has not asked for.

use super::leg::{Handshake, LegTcp};
use super::split::Split;
use super::syn::Relay;
use crate::Side;
use crate::announce::Announcement;
use crate::config::Config;
use crate::leg::Leg;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::tcb::TimestampClock;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::{Flags, TcpHeader};

/// The SYN-ACK is repeated after this long, then after twice as long (RFC 6298, 2.1 and 5.5).
const FIRST_REPETITION: Duration = Duration::from_secs(1);
/// The longest time between two repetitions, so that several fall within the handshake's time.
const MOST_BETWEEN: Duration = Duration::from_secs(8);

/// A client that has not acknowledged its SYN-ACK.
#[derive(Debug)]
pub(crate) struct Unconfirmed {
    /// The SYN that has been answered, and what a gateway on the way had added to it.
    syn: TcpHeader,
    added: Announcement,
    /// The SYN-ACK that accepts all of it.
    synack: Relay,
    /// What a later copy of the SYN did not offer any more: the SYN-ACK goes without it.
    given_up: Announcement,
    /// Data may be sent before the acknowledgment.
    takes_early_data: bool,
    repeat_at: Instant,
    interval: Duration,
    /// How long the client may be silent.
    patience: Duration,
    deadline: Instant,
}

impl Unconfirmed {
    /// `syn` has been answered with `synack`. A gateway had `added` something to it.
    pub(super) fn new(
        now: Instant,
        syn: TcpHeader,
        added: Announcement,
        synack: Relay,
        patience: Duration,
    ) -> Unconfirmed {
        Unconfirmed {
            syn,
            added,
            synack,
            given_up: Announcement::default(),
            takes_early_data: added.takes_early_data,
            repeat_at: now + FIRST_REPETITION,
            interval: FIRST_REPETITION,
            patience,
            deadline: now + patience,
        }
    }

    /// Another copy of the SYN has come. It is answered as it asks; which of the two the gateway on the
    /// way goes by, its acknowledgment tells.
    fn note_syn(&mut self, tcp: &TcpHeader) {
        if tcp.has(Flags::ACK) || tcp.seq != self.syn.seq {
            return;
        }
        let given_up = Announcement::beyond(&tcp.options, &self.synack.1.options);
        if given_up.any() {
            self.given_up = given_up;
            self.takes_early_data = false;
        }
    }

    /// The SYN-ACK as it is to be repeated.
    fn repeated_synack(&self) -> Relay {
        let (ip, mut synack) = self.synack.clone();
        self.given_up.take_off(&mut synack.options);
        (ip, synack)
    }

    /// How far behind the SYN-ACK `tcp` acknowledges.
    fn acked_by(&self, tcp: &TcpHeader) -> i32 {
        tcp.ack.distance_from(self.synack.1.seq + 1)
    }

    /// What was added and is not used if `tcp` completes the handshake; None if it does not. Timestamps
    /// show it, being in every segment or in none; without them the latest SYN counts. It may acknowledge some of
    /// the `early` bytes that were sent before.
    fn given_up_by(&self, tcp: &TcpHeader, early: u64) -> Option<Announcement> {
        let accepted = &self.synack.1.options;
        let begins = tcp.seq.distance_from(self.syn.seq + 1);
        let completes = tcp.has(Flags::ACK)
            && !tcp.has(Flags::RST)
            && u64::try_from(self.acked_by(tcp)).is_ok_and(|acked| acked <= early)
            && (0..=0xffff).contains(&begins);
        if !completes {
            return None;
        }
        let stamped = tcp.options.timestamps.is_some();
        Some(match accepted.timestamps {
            Some(_) if stamped => Announcement::default(),
            Some(_) if self.added.timestamps => {
                let mut bare = self.syn.options.clone();
                self.added.take_off(&mut bare);
                Announcement::beyond(&bare, accepted)
            }
            _ => self.given_up,
        })
    }
}

impl<B: Buffer> Split<B> {
    /// Whether the client has yet to acknowledge its SYN-ACK.
    pub(crate) fn is_unconfirmed(&self) -> bool {
        self.unconfirmed.is_some()
    }

    /// Whether nothing may be sent on `leg` but the SYN-ACK.
    pub(super) fn is_held_back(&self, leg: Leg) -> bool {
        let unconfirmed = self.unconfirmed.as_ref().filter(|_| leg == Leg::Client);
        unconfirmed.is_some_and(|unconfirmed| !unconfirmed.takes_early_data)
    }

    /// Answers the client's SYN if it comes again. Whether a segment from `leg` is to be taken:
    /// before the SYN-ACK is acknowledged, only one that does so (RFC 9293, 3.10.7.4).
    pub(super) fn passes_handshake(&mut self, now: Instant, leg: Leg, tcp: &TcpHeader) -> bool {
        let Some(unconfirmed) = self.unconfirmed.as_mut().filter(|_| leg == Leg::Client) else {
            return true;
        };
        if tcp.has(Flags::RST) {
            return true;
        }
        if tcp.has(Flags::SYN) {
            // Another SYN than the one that was answered is challenged.
            if tcp.has(Flags::ACK) || tcp.seq != unconfirmed.syn.seq {
                return true;
            }
            unconfirmed.deadline = now + unconfirmed.patience;
            let (ip, synack) = unconfirmed.repeated_synack();
            self.control.push_back((Leg::Client, ip, synack));
            return false;
        }
        tcp.has(Flags::ACK) && tcp.ack.distance_from(unconfirmed.synack.1.seq + 1) >= 0
    }

    /// A segment of the client has come on `side`. Where it shows that a gateway on the way has given
    /// up what it had added to the SYN, the leg begins anew without that, as its host never offered
    /// it. So far nothing has been taken on it; of what was sent on it, its host may have some.
    pub(crate) fn accept_less(
        &mut self,
        now: Instant,
        config: &Config,
        side: Side,
        tcp: &TcpHeader,
    ) {
        let Some(unconfirmed) = &mut self.unconfirmed else { return };
        if tcp.has(Flags::SYN) {
            return unconfirmed.note_syn(tcp);
        }
        let early = self.legs[Leg::Client].tcb.sender.snd_nxt() - 1;
        let Some(given_up) = unconfirmed.given_up_by(tcp, early) else { return };
        let told = std::mem::replace(&mut unconfirmed.given_up, given_up);
        let (ip, synack) = unconfirmed.repeated_synack();
        if told != given_up {
            // Whoever keeps account of windows on the way hears of it as well.
            self.control.push_back((Leg::Client, ip, synack.clone()));
        }
        if !given_up.any() {
            return;
        }
        if given_up.without(unconfirmed.added).any() {
            // The server has accepted that itself, and keeps to it.
            (self.added_options, self.binding_options) = (true, true);
        }
        given_up.take_off(&mut unconfirmed.syn.options);
        let (syn, served) = (&unconfirmed.syn, &self.legs[Leg::Server].tcb.receiver);
        // A FIN that it has as well is sent once more; or two such acknowledgments let the flow leave.
        let acked = 1 + unconfirmed.acked_by(tcp).unsigned_abs();
        let acked = u64::from(acked).min(served.rcv_nxt());
        let clock = self.legs[Leg::Client].tcb.agreed().timestamps.map(|state| state.clock);
        let handshake = Handshake {
            ours: &synack,
            theirs: syn,
            window: u64::from(syn.window),
            relayed: match clock {
                Some(TimestampClock::Relayed(value)) => Some(value),
                Some(TimestampClock::Own(_)) | None => None,
            },
            acked,
            rtt: None,
            ip,
            peer: self.legs[Leg::Client].peer,
        };
        let mut leg = LegTcp::new(now, config, side, &handshake);
        leg.tcb.sender.extend(served.rcv_nxt());
        if served.fin_received() {
            leg.tcb.sender.finish();
        }
        self.legs[Leg::Client] = leg;
        self.streams[Leg::Server].release(acked);
        unconfirmed.synack.1 = synack;
        unconfirmed.given_up = Announcement::default();
    }

    /// When the SYN-ACK is to be repeated or the client given up, if ever.
    pub(super) fn unconfirmed_at(&self) -> Option<Instant> {
        let unconfirmed = self.unconfirmed.as_ref()?;
        Some(unconfirmed.repeat_at.min(unconfirmed.deadline))
    }

    /// Repeats the SYN-ACK, or resets the server of a client that is not there.
    pub(super) fn expire_unconfirmed(&mut self, now: Instant) {
        let Some(unconfirmed) = &mut self.unconfirmed else { return };
        if unconfirmed.deadline <= now {
            self.lost += self.undelivered(Leg::Server);
            return self.reset_both(now);
        }
        if unconfirmed.repeat_at <= now {
            unconfirmed.interval = (unconfirmed.interval * 2).min(MOST_BETWEEN);
            unconfirmed.repeat_at = now + unconfirmed.interval;
            let (ip, synack) = unconfirmed.repeated_synack();
            self.control.push_back((Leg::Client, ip, synack));
        }
    }
}
