//! A server that is answered before its client has answered it (`handshake = "downstream-first"`,
//! bharadwaj-2001, 3.2).
//!
//! Whoever acknowledges the SYN-ACK takes over the server's duties: the SYN-ACK is repeated until
//! the client acknowledges it, and what the server says meanwhile is kept. It is sent before that
//! only to a gateway that has said it takes it, never to a host: the SYN's source may be forged,
//! and would be sent what it has not asked for.

use super::negotiated::LegHandshake;
use super::syn::Relay;
use crate::announce::Announcement;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Offset};
use bentpipe_core::wire::{Flags, TcpHeader};

/// The SYN-ACK is repeated after this long, then after twice as long (RFC 6298, 2.1 and 5.5).
const FIRST_REPETITION: Duration = Duration::from_secs(1);
/// The longest time between two repetitions, so that several fall within the handshake's time.
const MAX_INTERVAL: Duration = Duration::from_secs(8);
/// How long the client may be silent at least: the server counts on the connection, and its client
/// may have it (RFC 9293, 3.8.3, MUST-23: a SYN is retransmitted for three minutes or more).
const MIN_PATIENCE: Duration = Duration::from_secs(180);

/// A SYN-ACK in the server's name that its client has not acknowledged.
#[derive(Debug)]
pub(crate) struct SpoofedSynAck {
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

impl SpoofedSynAck {
    /// `syn` has been answered with `synack`. A gateway had `added` something to it. Handshakes
    /// have `open_timeout`, this one [`MIN_PATIENCE`] or more.
    pub(super) fn new(
        now: Instant,
        syn: TcpHeader,
        added: Announcement,
        synack: Relay,
        open_timeout: Duration,
    ) -> SpoofedSynAck {
        let patience = open_timeout.max(MIN_PATIENCE);
        SpoofedSynAck {
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

    /// Another copy of the SYN has come. It is answered as it asks; which of the two the gateway on
    /// the way goes by, its acknowledgment tells.
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

    /// What was added and is not used if `tcp` completes the handshake; None if it does not.
    /// Timestamps show it, being in every segment or in none; without them the latest SYN counts.
    /// It may acknowledge some of the `early` bytes that were sent before.
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
                let mut as_received = self.syn.options.clone();
                self.added.take_off(&mut as_received);
                Announcement::beyond(&as_received, accepted)
            }
            _ => self.given_up,
        })
    }

    /// Whether data may be sent to the client before it has acknowledged the SYN-ACK.
    pub(crate) fn takes_early_data(&self) -> bool {
        self.takes_early_data
    }

    /// What a segment of the client's is answered with: before the SYN-ACK is acknowledged, only
    /// one that does so is taken (RFC 9293, 3.10.7.4).
    pub(crate) fn answer(&mut self, now: Instant, tcp: &TcpHeader) -> Answer {
        if tcp.has(Flags::RST) {
            return Answer::Take;
        }
        if tcp.has(Flags::SYN) {
            // Another SYN than the one that was answered is challenged.
            if tcp.has(Flags::ACK) || tcp.seq != self.syn.seq {
                return Answer::Take;
            }
            self.deadline = now + self.patience;
            return Answer::Repeat(self.repeated_synack());
        }
        match tcp.has(Flags::ACK) && tcp.ack.distance_from(self.synack.1.seq + 1) >= 0 {
            true => Answer::Take,
            false => Answer::Drop,
        }
    }

    /// A segment of the client has come. Where it shows that a gateway on the way has given up what
    /// it had added to the SYN, the leg begins anew without that, as its host never offered it. So
    /// far nothing has been taken on it; of the `early` bytes that were sent on it, its host may
    /// have some.
    pub(crate) fn on_segment(&mut self, tcp: &TcpHeader, early: u64) -> Restart {
        if tcp.has(Flags::SYN) {
            self.note_syn(tcp);
            return Restart::default();
        }
        let Some(given_up) = self.given_up_by(tcp, early) else { return Restart::default() };
        let told = std::mem::replace(&mut self.given_up, given_up);
        let (ip, synack) = self.repeated_synack();
        // Whoever keeps account of windows on the way hears of it as well.
        let repeated = (told != given_up).then(|| (ip, synack.clone()));
        if !given_up.any() {
            return Restart { repeated, ..Restart::default() };
        }
        given_up.take_off(&mut self.syn.options);
        let leg = LegHandshake {
            promised: Offset::FIRST + Bytes::from(synack.window),
            ours: synack.clone(),
            theirs: self.syn.clone(),
            received: Offset::FIRST,
            window: Bytes::from(self.syn.window),
            relayed: None,
            // A FIN that it has as well is sent once more; or two such acknowledgments let the flow
            // leave.
            acked: Offset::FIRST + Bytes::from(self.acked_by(tcp).unsigned_abs()),
            rtt: None,
            ip,
            peer: false,
        };
        self.synack.1 = synack;
        self.given_up = Announcement::default();
        // The server has accepted what is not the gateway's on the way itself, and keeps to it.
        Restart { repeated, leg: Some(leg), binds: given_up.without(self.added).any() }
    }

    /// When [`SpoofedSynAck::expire`] has something to do.
    pub(crate) fn poll_timeout(&self) -> Instant {
        self.repeat_at.min(self.deadline)
    }

    /// Repeats the SYN-ACK, or gives the client up.
    pub(crate) fn expire(&mut self, now: Instant) -> Expired {
        if self.deadline <= now {
            return Expired::Unanswered;
        }
        if self.repeat_at <= now {
            self.interval = (self.interval * 2).min(MAX_INTERVAL);
            self.repeat_at = now + self.interval;
            return Expired::Repeat(self.repeated_synack());
        }
        Expired::Nothing
    }
}

/// What becomes of a segment from a client that has not acknowledged its SYN-ACK.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It goes to the leg.
    Take,
    /// Nothing.
    Drop,
    /// It is answered with the SYN-ACK.
    Repeat(Relay),
}

/// What a client shows that accepts less than the SYN-ACK says.
#[derive(Debug, Default)]
pub(crate) struct Restart {
    /// The SYN-ACK with what is accepted.
    pub(crate) repeated: Option<Relay>,
    /// What its leg begins anew with; the caller knows the other host's clock and whether a peer is
    /// there.
    pub(crate) leg: Option<LegHandshake>,
    /// The server uses what the client has not accepted.
    pub(crate) binds: bool,
}

/// What is to be done when it is time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Expired {
    /// Nothing.
    Nothing,
    /// The SYN-ACK is sent to the client again.
    Repeat(Relay),
    /// The client is not there.
    Unanswered,
}
