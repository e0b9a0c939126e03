//! Hosts that are not heard: asked whether they are still there, sent blindly what is owed to them,
//! believed to be heard on another path. What the mechanisms decide is done.

use super::SplicedFlow;
use crate::config::Config;
use crate::leg::Leg;
use crate::mechanisms::{BlindSend, is_keep_alive, is_suspect, is_unheard};
use crate::segment::Segment;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::tcb::{Bypass, Outgoing, Tcb};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Bytes;
use bentpipe_core::wire::{IpHeader, TcpHeader};

/// How long nothing must have come from the peer gateway before it is believed to be gone.
const PEER_SILENCE: Duration = Duration::from_secs(3);

/// Where a host's packet has gone so lately, its next one goes, too.
const JUST_NOW: Duration = Duration::from_millis(100);

impl<B: Buffer> SplicedFlow<B> {
    /// Whether nothing has come from either host for `idle`.
    pub(crate) fn is_silent(&self, now: Instant, idle: Duration) -> bool {
        self.keep_alive.is_silent(now, idle)
    }

    /// A keep-alive of the host of `leg` goes on to the other one, if nothing is on its way that
    /// would show anyhow whether that is still there.
    pub(super) fn relay_keep_alive(&mut self, now: Instant, leg: Leg, segment: &Segment<'_>) {
        let other = leg.other();
        let quiet = self.splice.tcb(other).sender.is_done() && self.may_send(other);
        if quiet && is_keep_alive(self.splice.tcb(leg), segment) {
            self.keep_alive.want_answer(now, other);
        }
    }

    /// Asks those that are to be asked now.
    pub(super) fn ask_silent(&mut self, now: Instant, idle: Duration) {
        for leg in Leg::BOTH {
            let at = self.ask_at(leg, idle, self.is_clean());
            if !self.is_open() || at.is_none_or(|at| at > now) {
                continue;
            }
            self.keep_alive.note_asked(now, leg);
            let sender = &mut self.splice.tcb_mut(leg).sender;
            sender.keep_alive();
            if sender.gave_up() {
                self.give_up(now);
            }
        }
    }

    fn ask_at(&self, leg: Leg, idle: Duration, clean: bool) -> Option<Instant> {
        self.may_send(leg).then(|| self.keep_alive.ask_at(leg, idle, clean))?
    }

    /// Lets the flow hibernate if nothing has happened for a while.
    pub(super) fn schedule_hibernation(&mut self, now: Instant, after: Duration) {
        if self.hibernate_at(after).is_some_and(|at| at <= now) {
            self.keep_alive.let_hibernate();
        }
    }

    /// Whether the flow is to hibernate now, if it can.
    pub(crate) fn is_to_hibernate(&self, after: Duration) -> bool {
        self.keep_alive.is_to_hibernate(after)
    }

    fn hibernate_at(&self, after: Duration) -> Option<Instant> {
        self.keep_alive.hibernate_at(after).filter(|_| self.splice.is_idle())
    }

    /// When something is to be done about silence, if ever: hosts asked, or the flow released.
    pub(super) fn silence_timers(&self, config: &Config) -> impl Iterator<Item = Instant> {
        let clean = self.is_clean();
        let idle = config.idle_timeout;
        let release = clean.then(|| self.last_heard() + idle);
        let asks = Leg::BOTH.map(|leg| self.ask_at(leg, idle, clean));
        let (hibernate, open) = (self.hibernate_at(config.hibernate_after), self.is_open());
        asks.into_iter().flatten().chain(release).chain(hibernate).filter(move |_| open)
    }

    /// The host of `leg` has shown, perhaps, that it hears the other one on another path. What of
    /// it is believed now.
    pub(super) fn note_bypass(
        &mut self,
        now: Instant,
        leg: Leg,
        tcp: &TcpHeader,
        shown: Option<Bypass>,
        acked: Bytes,
    ) -> Option<Bypass> {
        // Timestamps keep forged segments out: that one comes without them means something only if
        // none has come with them for some time, or if there is a reason for the peer gateway to
        // leave.
        let lately = now < self.keep_alive.heard(leg) + PEER_SILENCE;
        let expected = !lately || self.may_acknowledge_past(leg, tcp);
        let shown = shown.filter(|shown| *shown != Bypass::NoTimestamps || expected);
        self.bypass.note(leg, shown, acked)
    }

    /// The host of `leg` is heard: nothing is sent to it blindly.
    pub(super) fn hear_again(&mut self, leg: Leg) {
        self.blind.take_if(|blind| blind.leg() == leg);
    }

    /// A timer of `leg` has expired, perhaps. A client that has not acknowledged its SYN-ACK may
    /// never have sent a SYN: it is sent nothing blindly.
    pub(super) fn suspect_silence(&mut self, now: Instant, leg: Leg) {
        if leg == Leg::Client && self.is_unconfirmed() {
            return;
        }
        let sender = &self.splice.tcb(leg).sender;
        if is_suspect(sender) && self.blind.is_none() {
            self.blind = Some(BlindSend::on_suspicion(now, leg, sender));
        }
    }

    /// What goes over the satellite in the name of the host of `leg` is not answered. It is asked
    /// for a packet, unless one has just come: what we send leaves as its last one did, which may
    /// be by an interface or a router that carries nothing any more. That it does not answer says
    /// nothing: it may sleep, and owes us nothing. One that has closed is not asked: it may have
    /// forgotten the connection, and reset it (fault seed 126251840). Its FIN it repeats as long as
    /// we withhold the acknowledgment.
    pub(super) fn ask_for_its_way(&mut self, now: Instant, leg: Leg) {
        let heard = self.keep_alive.heard(leg) + JUST_NOW > now;
        let may = self.closing.may_receive() && self.may_send(leg) && !self.is_unconfirmed();
        let Tcb { sender, receiver, .. } = self.splice.tcb_mut(leg);
        if may && !heard && sender.is_done() && !receiver.fin_received() {
            sender.elicit();
        }
    }

    /// More has come for the host of `leg`. If that is not heard, it is sent all the same.
    pub(super) fn send_on_unheard(&mut self, now: Instant, leg: Leg) {
        let confirmed = leg == Leg::Server || !self.is_unconfirmed();
        let sender = &self.splice.tcb(leg).sender;
        if confirmed && is_unheard(sender) && self.blind.is_none() {
            self.blind = Some(BlindSend::of_new(now, leg, sender));
        }
    }

    /// The next segment to a host that we do not hear.
    pub(super) fn blind_segment(&mut self, now: Instant) -> Option<(Leg, IpHeader, Outgoing)> {
        let blind = self.blind.filter(|blind| blind.at() <= now)?;
        let leg = self.splice.leg_mut(blind.leg());
        let next = blind.next(&leg.tcb.sender);
        let sent = leg.tcb.transmit_blindly(now, next);
        let data = sent.as_ref().map(|out| out.data.clone());
        self.blind = blind.go_on(now, &leg.tcb.sender, data);
        let (ip, out) = leg.outgoing(sent?);
        Some((blind.leg(), ip, out))
    }
}
