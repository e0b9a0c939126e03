//! Hosts that fall silent: asked whether they are still there (RFC 9293, 3.8.4), each for itself.
//!
//! A gateway answers its near host's keep-alives by itself, so that this host would never notice
//! that the far one is dead. Therefore such a segment makes the gateway ask the far host. Who was
//! asked and does not answer is asked again until the leg's sender gives up, and then the flow is
//! reset.

use super::split::{Packet, Split};
use crate::config::Config;
use crate::leg::{Leg, PerLeg};
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::Flags;
use serde::{Deserialize, Serialize};

/// How often a host is asked that does not answer, as Linux does.
const KEEP_ALIVE: Duration = Duration::from_secs(75);

/// When each host was last heard, and when it is to be asked next.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Silence {
    pub(super) heard: PerLeg<Instant>,
    asking: PerLeg<Option<Instant>>,
    /// The flow is to rest until a host is heard.
    rests: bool,
}

impl Silence {
    pub(super) fn new(now: Instant) -> Silence {
        Silence { heard: PerLeg::new(now, now), asking: PerLeg::default(), rests: false }
    }

    /// The host of `leg` is there.
    pub(super) fn end(&mut self, now: Instant, leg: Leg) {
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
    pub(super) fn relay_keep_alive(&mut self, now: Instant, leg: Leg, packet: Packet<'_>) {
        let other = leg.other();
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
        for leg in Leg::BOTH {
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

    /// Lets the flow rest if nothing has happened for a while.
    pub(super) fn rest(&mut self, now: Instant, after: Duration) {
        if self.rest_at(after).is_some_and(|at| at <= now) {
            self.silence.rests = true;
        }
    }

    /// Whether the flow is to rest now, if it can.
    pub(crate) fn is_to_rest(&self, after: Duration) -> bool {
        self.silence.rests || after.is_zero()
    }

    fn rest_at(&self, after: Duration) -> Option<Instant> {
        let rests = self.silence.rests || after.is_zero() || !self.is_idle();
        (!rests).then(|| self.last_heard() + after)
    }

    /// When something is to be done about silence, if ever: hosts asked, or the flow handed back.
    pub(super) fn silence_timers(&self, config: &Config) -> impl Iterator<Item = Instant> {
        let clean = self.is_clean();
        let idle = config.idle_timeout;
        let hand_back = clean.then(|| self.last_heard() + idle);
        let asks = PerLeg::of(|leg| self.ask_at(leg, idle, clean));
        let (rest, open) = (self.rest_at(config.rest_after), self.is_open());
        asks.into_iter().flatten().chain(hand_back).chain(rest).filter(move |_| open)
    }

    /// When the host of `leg` is to be asked. Of two hosts that fell silent together nothing is
    /// asked as long as the flow can be handed back: while it is `clean`.
    fn ask_at(&self, leg: Leg, idle: Duration, clean: bool) -> Option<Instant> {
        let Silence { heard, asking, .. } = &self.silence;
        if !self.may_send(leg) {
            return None;
        }
        let alone = heard[leg.other()] > heard[leg] + KEEP_ALIVE;
        asking[leg].or_else(|| (alone || !clean).then(|| heard[leg] + idle))
    }
}
