//! From the SYN-ACK to the client's acknowledgment of it: it is relayed, with the same sequence
//! numbers, and options are added and taken off on the way.

mod completed;

pub(crate) use completed::{Added, Completed};

use super::obstacle::Obstacle;
use super::promise::Promise;
use super::syn::{OUR_WINDOW_SHIFT, Relay, Syn, clamp_mss, without_ecn};
use crate::Side;
use crate::announce::Announcement;
use crate::config::{Config, LegConfig};
use crate::hop_limit::HopLimit;
use crate::leg::{Leg, PerLeg};
use crate::segment::Segment;
use bentpipe_core::tcp::tcb::TimestampClock;
use bentpipe_core::time::Instant;
use bentpipe_core::units::Bytes;
use bentpipe_core::wire::{Flags, IpHeader, SeqNum, TcpHeader, TcpOptions, Timestamps};

/// A handshake that waits for the client's acknowledgment.
#[derive(Debug)]
pub(crate) struct Opening {
    syn: Syn,
    synack_in: TcpHeader,
    synack_out: TcpHeader,
    ip: IpHeader,
    came_at: Instant,
    sent_at: Instant,
    /// SYN-ACKs that have come.
    times: u32,
    /// A gateway on the way has announced itself.
    by_gateway: bool,
    deadline: Instant,
    /// What the flow may be promised, if the client already has been, and the window that it was.
    promise: Option<Promise>,
    /// The window that the peer gateway says the server has, behind the SYN-ACK.
    peer_window: Option<Bytes>,
}

/// What becomes of a segment of a handshake.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It is forwarded as it is.
    Forward,
    /// It is forwarded, and the handshake forgotten.
    Forget(Obstacle),
    /// It is dropped.
    Drop,
    /// The SYN goes on.
    RelaySyn(Relay),
    /// The SYN-ACK goes on, and perhaps something right behind it.
    RelaySynAck(Relay, Option<Relay>),
    /// The handshake is forgotten; the segment is a new one's.
    Restart,
    /// It completes the handshake. The SYN-ACK goes to the client anew, perhaps.
    Complete(Option<Relay>),
}

impl Opening {
    /// Takes the first SYN-ACK and says what to send on to the client; None if it is not of this
    /// handshake, or answers another SYN than ours: one with options that we have not offered,
    /// which came to the server when there was no room for it here, and to which it keeps. What the
    /// peer gateway has added is accepted if it `may_bind` the hosts to us. Sets `peer_known` if
    /// another gateway has answered.
    pub(crate) fn new(
        now: Instant,
        config: &Config,
        syn: &Syn,
        may_bind: bool,
        peer_known: &mut bool,
        ip: &IpHeader,
        synack: &TcpHeader,
    ) -> Option<(Opening, Relay)> {
        let ends = PerLeg::new((ip.dst, synack.dst_port), (ip.src, synack.src_port));
        if synack.ack != syn.isn() + 1 || !syn.offers(config, ends, &synack.options) {
            return None;
        }
        let sides = syn.sides();
        let announced = Announcement::find(&synack.options, config.seal(synack))
            .filter(|_| sides[Leg::Server] == Side::Satellite);
        *peer_known |= announced.is_some();
        let mut synack_in = synack.clone();
        Announcement::strip(&mut synack_in.options);
        let mut out = synack_in.clone();
        out.flags = Flags::SYN | Flags::ACK;
        out.window = synack.window.min(config.first_window());
        let ours = syn.added().and(Announcement::accepted(&synack_in.options));
        clamp_mss(config, sides[Leg::Client], ip, ours, &mut out);
        // What only our own additions brought about, the client must not see.
        syn.added().take_off(&mut out.options);
        if let Some(added) = syn.peer_added() {
            let offered = if may_bind { added } else { Announcement::default() };
            let accepted = accept(now, offered, syn.stamp(), out.seq, &mut out.options);
            let (link, seal) = (config.satellite.told_link(), config.seal(&out));
            accepted.put(link, seal, &mut out.options);
        }
        let ip = without_ecn(ip);
        let opening = Opening {
            syn: *syn,
            synack_in,
            synack_out: out.clone(),
            ip,
            came_at: now,
            sent_at: now,
            times: 1,
            by_gateway: announced.is_some(),
            deadline: now + config.open_timeout,
            promise: None,
            peer_window: None,
        };
        Some((opening, (ip, out)))
    }

    /// The window that is worth a promise behind the SYN-ACK, where the leg over the satellite is
    /// like `satellite`: none but to a peer gateway, as nobody else would send that much at once.
    pub(crate) fn wants_promise(&self, config: &Config, satellite: &LegConfig) -> Option<Bytes> {
        let is_scaled = self.syn.shift().and(self.synack_out.options.window_scale).is_some();
        self.syn.peer_added().filter(|_| is_scaled)?;
        Promise::wanted(config, satellite, self.syn.sides())
    }

    /// Promises the client that window. The streams may hold `first`.
    pub(crate) fn promise(&mut self, first: Bytes, window: Bytes) {
        self.promise = Some(Promise::new(&self.synack_out, first, window));
    }

    /// What to send right behind the SYN-ACK, whenever that is sent.
    pub(crate) fn behind_synack(&self) -> Option<Relay> {
        Some((self.ip, self.promise?.behind(&self.synack_out)))
    }

    /// What was promised to the client beyond the SYN-ACK.
    pub(crate) fn promised(&self) -> Option<Promise> {
        self.promise
    }

    /// How much the client may send.
    fn promised_window(&self) -> Bytes {
        let behind = self.promise.map_or(Bytes::ZERO, |promise| promise.window);
        behind.max(Bytes::from(self.synack_out.window))
    }

    /// When it is given up without the client's acknowledgment.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Takes a segment that has come in on `leg`, and says what becomes of it.
    pub(crate) fn on_segment(
        &mut self,
        now: Instant,
        config: &Config,
        leg: Leg,
        segment: &Segment<'_>,
    ) -> Step {
        let Segment { ip, tcp, payload, .. } = *segment;
        if !tcp.has(Flags::SYN) && segment.is_doubtful(self.usual_hop_limit(leg)) {
            // It completes nothing, and takes nothing back of what a peer gateway has added.
            let goes_on = tcp.has(Flags::RST) && !self.is_bound();
            return if goes_on { Step::Forward } else { Step::Drop };
        }
        if tcp.has(Flags::RST) {
            return match leg {
                _ if !self.syn.is_refused_by(leg, tcp) => Step::Forward,
                Leg::Client => Step::Forget(Obstacle::Aborted),
                Leg::Server => Step::Forget(Obstacle::Refused),
            };
        }
        if leg == Leg::Server
            && self.by_gateway
            && let Some(window) =
                Promise::heard(self.syn.isn(), &self.synack_in, tcp, payload.len())
        {
            self.peer_window = Some(window);
            return Step::Drop;
        }
        match (leg, tcp.has(Flags::SYN), tcp.has(Flags::ACK)) {
            (Leg::Server, true, true) => match self.relay_synack(now, tcp) {
                Some(relay) => Step::RelaySynAck(relay, self.behind_synack()),
                None => Step::Forward,
            },
            (Leg::Client, true, _) if self.syn.is_repeated_by(tcp) => {
                Step::RelaySyn(self.relay_syn(now, config, ip, tcp))
            }
            // The hosts would be left with what was added. If it is no forgery, the server's
            // challenge (RFC 5961, 4.2) is answered by the client with a RST, and the next SYN is a
            // new connection.
            (_, true, _) if self.is_bound() => Step::Forward,
            // Simultaneous open: the hosts do it between themselves.
            (Leg::Server, true, false) => Step::Forget(Obstacle::Simultaneous),
            // It comes again: the client could not take it, nor acknowledge it through us.
            (Leg::Server, false, _) if self.is_early_data(tcp, payload.len()) => Step::Drop,
            // The client is heard by the server and not by us.
            (Leg::Server, false, true) if self.has_gone_past(tcp) && !self.is_bound() => {
                Step::Forget(Obstacle::OneWay)
            }
            (Leg::Server, false, _) => {
                self.follow_clock(tcp);
                Step::Forward
            }
            // Another SYN on the same ports: the old attempt is over.
            (_, true, _) => Step::Restart,
            (_, false, _) if self.completes(tcp) => Step::Complete(self.on_completion(tcp)),
            (_, false, _) if self.is_beyond_window(tcp) => Step::Drop,
            (_, false, _) => Step::Forward,
        }
    }

    /// As the host of `leg` has sent its SYN or SYN-ACK.
    fn usual_hop_limit(&self, leg: Leg) -> HopLimit {
        match leg {
            Leg::Client => self.syn.hop_limit(),
            Leg::Server => HopLimit::new(self.ip.hop_limit),
        }
    }

    /// The SYN once more: what to send on. With all that was accepted, as it does pass; a lesser
    /// one would make a peer gateway take that back, while the client may already have its answer.
    fn relay_syn(
        &mut self,
        now: Instant,
        config: &Config,
        ip: &IpHeader,
        tcp: &TcpHeader,
    ) -> Relay {
        self.deadline = now + config.open_timeout;
        let ends = PerLeg::new((ip.src, tcp.src_port), (ip.dst, tcp.dst_port));
        let as_received = self.syn.came(ends).options;
        if Announcement::beyond(&as_received, &self.synack_in.options).any() {
            self.syn.relay_with_added_options(now, config, ip, tcp)
        } else {
            self.syn.relay(now, config, ip, tcp)
        }
    }

    /// The SYN-ACK once more: what to send on; None if it is another one. If a peer gateway does
    /// not accept any more what we have added, because a SYN without that has come, we do without.
    fn relay_synack(&mut self, now: Instant, synack: &TcpHeader) -> Option<Relay> {
        if synack.ack != self.syn.isn() + 1 || synack.seq != self.synack_in.seq {
            return None;
        }
        let given_up = Announcement::beyond(&synack.options, &self.synack_in.options);
        given_up.and(self.syn.added()).take_off(&mut self.synack_in.options);
        self.times += 1;
        self.sent_at = now;
        Some((self.ip, self.synack_out.clone()))
    }

    /// Whether the hosts would be left with options that a gateway has added, if we forgot them.
    pub(crate) fn is_bound(&self) -> bool {
        self.added_in_all() != Added::Nothing
    }

    /// Which options the legs will have that a host did not offer.
    fn added_in_all(&self) -> Added {
        let (came, sent) = (&self.synack_in.options, &self.synack_out.options);
        // What we have added to the SYN counts if it was accepted. The announcement in the SYN-ACK
        // says that a gateway took it off again.
        let mut without = came.clone();
        self.syn.added().take_off(&mut without);
        let ours = Announcement::beyond(&without, came);
        let theirs = Announcement::beyond(came, sent);
        match (ours.any(), theirs.any()) {
            (false, false) => Added::Nothing,
            (true, _) if !self.by_gateway => Added::ToHost,
            _ => Added::ToGateway,
        }
    }

    /// Whether `tcp`, from the client, acknowledges the SYN-ACK.
    fn completes(&self, tcp: &TcpHeader) -> bool {
        let next = self.syn.isn() + 1;
        tcp.has(Flags::ACK)
            && !tcp.has(Flags::SYN)
            && !tcp.has(Flags::RST)
            && tcp.ack == self.synack_in.seq + 1
            && (0..=self.furthest()).contains(&tcp.seq.distance_from(next))
    }

    /// Whether `tcp`, from the client, would acknowledge the SYN-ACK but lies beyond all that this
    /// can have promised: a peer gateway sends such data, without hearing of us. The server would
    /// take nothing of it, and answer without the options that we have added.
    fn is_beyond_window(&self, tcp: &TcpHeader) -> bool {
        let beyond = tcp.seq.distance_from(self.syn.isn() + 1) > self.furthest();
        beyond && tcp.has(Flags::ACK) && !tcp.has(Flags::SYN) && tcp.ack == self.synack_in.seq + 1
    }

    /// Whether `tcp`, from the server, acknowledges what the client has sent behind its SYN: on
    /// another path (fault seed 60188547).
    fn has_gone_past(&self, tcp: &TcpHeader) -> bool {
        (1..=self.furthest()).contains(&tcp.ack.distance_from(self.syn.isn() + 1))
    }

    /// The server's `tcp` is forwarded: what the client hears of us from then on is not to be
    /// older, as it would drop that (RFC 7323, 5.3; fault seed 70086552). A forger must know both
    /// sequence numbers. What is ahead of its turn changes no host's clock.
    fn follow_clock(&mut self, tcp: &TcpHeader) {
        let acked = tcp.ack.distance_from(self.syn.isn() + 1);
        let in_order = tcp.seq == self.synack_in.seq + 1 && (0..=self.furthest()).contains(&acked);
        let ours = self.synack_in.options.timestamps.as_mut().filter(|_| in_order);
        if let Some((ours, theirs)) = ours.zip(tcp.options.timestamps)
            && theirs.value.wrapping_sub(ours.value) as i32 > 0
        {
            ours.value = theirs.value;
        }
    }

    /// How far behind the SYN the client's segments may begin.
    fn furthest(&self) -> i32 {
        let window = self.promised_window().max(Bytes::from(u16::MAX));
        i32::try_from(window.count()).unwrap_or(i32::MAX)
    }

    /// Whether `tcp` is data, or the end of it, that the server sends before the client has
    /// acknowledged the SYN-ACK: a gateway on the way has done so.
    fn is_early_data(&self, tcp: &TcpHeader, len: usize) -> bool {
        (len > 0 || tcp.has(Flags::FIN))
            && tcp.ack == self.syn.isn() + 1
            && tcp.seq.distance_from(self.synack_in.seq + 1) >= 0
    }

    /// The client's `ack` has come. Where it has no timestamps, a peer gateway goes without all
    /// that we have accepted for it: it has taken another SYN-ACK for the answer to its SYN, one
    /// that was forwarded when there was no room here, or it has left. A leg with scaled windows
    /// would promise other edges than are heard. Gives the SYN-ACK anew then, for whoever keeps
    /// account of windows on the way.
    fn on_completion(&mut self, ack: &TcpHeader) -> Option<Relay> {
        let accepted = Announcement::beyond(&self.synack_in.options, &self.synack_out.options);
        if !accepted.timestamps || ack.options.timestamps.is_some() {
            return None;
        }
        accepted.take_off(&mut self.synack_out.options);
        Some((self.ip, self.synack_out.clone()))
    }
}

/// Accepts towards the peer gateway what it added to the SYN and the server did not answer:
/// `stamp` is the SYN's TSval, and `options` those of the SYN-ACK with number `isn`.
fn accept(
    now: Instant,
    offered: Announcement,
    stamp: Option<u32>,
    isn: SeqNum,
    options: &mut TcpOptions,
) -> Announcement {
    let accepted = Announcement {
        window_scale: offered.window_scale && options.window_scale.is_none(),
        sack: offered.sack && !options.sack_permitted,
        timestamps: offered.timestamps && options.timestamps.is_none(),
        takes_early_data: false,
    };
    if accepted.window_scale {
        options.window_scale = Some(OUR_WINDOW_SHIFT);
    }
    options.sack_permitted |= accepted.sack;
    if let Some(echo) = stamp.filter(|_| accepted.timestamps) {
        let value = TimestampClock::Own(isn.0).value(now);
        options.timestamps = Some(Timestamps { value, echo });
    }
    accepted
}
