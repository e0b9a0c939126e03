//! Hosts that fall silent: asked whether they are still there (RFC 9293, 3.8.4), each for itself.
//!
//! A gateway answers its near host's keep-alives by itself, so that this host would never notice
//! that the far one is dead. Therefore such a segment makes the gateway ask the far host. Who was
//! asked and does not answer is asked again until the leg's sender gives up, and then the flow is
//! reset.

use super::leg::{CLIENT, SERVER};
use super::split::{Packet, Split};
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::Flags;

/// How often a host is asked that does not answer, as Linux does.
const KEEP_ALIVE: Duration = Duration::from_secs(75);

/// A flow that has had nothing to do for so long gives back the memory that it keeps for more.
const REST: Duration = Duration::from_secs(10);

/// When each host was last heard, and when it is to be asked next.
#[derive(Debug)]
pub(super) struct Silence {
    pub(super) heard: [Instant; 2],
    asking: [Option<Instant>; 2],
    /// The flow has given back its memory since a host was last heard.
    rests: bool,
}

impl Silence {
    pub(super) fn new(now: Instant) -> Silence {
        Silence { heard: [now; 2], asking: [None; 2], rests: false }
    }

    /// The host of `leg` is there.
    pub(super) fn end(&mut self, now: Instant, leg: usize) {
        self.heard[leg] = now;
        self.asking[leg] = None;
        self.rests = false;
    }
}

impl<B: Buffer> Split<B> {
    /// Whether nothing has come from either host for `idle`.
    pub(crate) fn is_silent(&self, now: Instant, idle: Duration) -> bool {
        self.silence.heard.iter().all(|&heard| heard + idle <= now)
    }

    /// A segment of the host of `leg` that asks whether the other one is still there: it stands one
    /// below what is expected, and nothing is on its way that would show it anyhow.
    pub(super) fn relay_keep_alive(&mut self, now: Instant, leg: usize, packet: Packet<'_>) {
        let other = 1 - leg;
        let tcb = &self.legs[leg].tcb;
        let expected = tcb.receiver.expected();
        let start = packet.tcp.seq.offset_near(tcb.agreed().rcv_isn, expected);
        let asks = packet.payload.len() <= 1
            && packet.tcp.flags.0 & (Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0) == 0
            && start == expected.checked_sub(1);
        let quiet = self.legs[other].tcb.sender.is_done() && self.may_send(other);
        if asks && quiet {
            self.silence.asking[other].get_or_insert(now);
        }
    }

    /// Asks those that are to be asked now.
    pub(super) fn ask(&mut self, now: Instant, idle: Duration) {
        for leg in [CLIENT, SERVER] {
            let at = self.ask_at(leg, idle, self.is_clean());
            if !self.is_open() || at.is_none_or(|at| at > now) {
                continue;
            }
            self.silence.asking[leg] = Some(now + KEEP_ALIVE);
            let sender = &mut self.legs[leg].tcb.sender;
            sender.keep_alive();
            if sender.gave_up() {
                self.give_up(now);
            }
        }
    }

    /// Gives back memory if nothing has happened for a while.
    pub(super) fn rest(&mut self, now: Instant) {
        if self.rest_at().is_none_or(|at| at > now) {
            return;
        }
        self.silence.rests = true;
        self.control.shrink_to_fit();
        self.streams.iter_mut().for_each(Buffer::shrink_to_fit);
        for leg in &mut self.legs {
            leg.tcb.sender.shrink_to_fit();
            leg.tcb.receiver.shrink_to_fit();
        }
    }

    fn rest_at(&self) -> Option<Instant> {
        let rests = self.silence.rests || !self.is_idle();
        (!rests).then(|| self.last_heard() + REST)
    }

    /// When something is to be done about silence, if ever: hosts asked, or the flow handed back.
    pub(super) fn silence_timers(&self, idle: Duration) -> impl Iterator<Item = Instant> {
        let clean = self.is_clean();
        let hand_back = clean.then(|| self.last_heard() + idle);
        let asks = [CLIENT, SERVER].map(|leg| self.ask_at(leg, idle, clean));
        let open = self.is_open();
        asks.into_iter().flatten().chain(hand_back).chain(self.rest_at()).filter(move |_| open)
    }

    /// When the host of `leg` is to be asked. Of two hosts that fell silent together nothing is
    /// asked as long as the flow can be handed back: while it is `clean`.
    fn ask_at(&self, leg: usize, idle: Duration, clean: bool) -> Option<Instant> {
        let Silence { heard, asking, .. } = &self.silence;
        if !self.may_send(leg) {
            return None;
        }
        let alone = heard[1 - leg] > heard[leg] + KEEP_ALIVE;
        asking[leg].or_else(|| (alone || !clean).then(|| heard[leg] + idle))
    }
}
