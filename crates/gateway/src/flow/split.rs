//! A split flow at work: bytes from one leg to the other.

use super::closing::Ending;
use super::discard::Discarding;
use super::early::Unconfirmed;
use super::leaving::Blind;
use super::leg::LegTcp;
use super::memory::Allowance;
use super::silence::Silence;
use super::sizing::Sizing;
use crate::Side;
use crate::config::{Config, FinMode};
use crate::leg::{Leg, PerLeg};
use bentpipe_core::tcp::buffer::{Buffer, Payload};
use bentpipe_core::tcp::ecn::Ecn;
use bentpipe_core::tcp::sender::Sender;
use bentpipe_core::tcp::tcb::{Admission, Arrival, Bypass, Fate, Outgoing};
use bentpipe_core::time::Instant;
use bentpipe_core::wire::{Amendment, Flags, IpHeader, TcpHeader};
use std::collections::VecDeque;

/// A packet that came in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet<'a> {
    /// The side on which it came in.
    pub(crate) from: Side,
    pub(crate) ip: &'a IpHeader,
    pub(crate) tcp: &'a TcpHeader,
    pub(crate) payload: Payload<'a>,
}

/// What a packet brought, for the gateway's counters.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Progress {
    /// Bytes received in order for the first time on this leg.
    pub(crate) received: u64,
    /// Bytes that the host of this leg has acknowledged.
    pub(crate) delivered: u64,
    /// The host of this leg hears the other one by another way.
    pub(crate) bypassed: Option<Bypass>,
    /// The packet is to be forwarded.
    pub(crate) forward: bool,
    /// With another acknowledgment than it came with.
    pub(crate) amendment: Option<Amendment>,
    /// A segment of it was discarded because its stream has a backlog.
    pub(crate) discarded: bool,
}

/// Two legs, two streams.
#[derive(Debug)]
pub(crate) struct Split<B> {
    pub(super) legs: PerLeg<LegTcp>,
    /// Stream i: from leg i to the other.
    pub(super) streams: PerLeg<B>,
    pub(super) sizing: PerLeg<Sizing>,
    /// What of each stream's segments is discarded, where that is wanted.
    pub(super) discarding: PerLeg<Option<Box<Discarding>>>,
    /// A leg has options that one of the hosts did not offer.
    pub(super) added_options: bool,
    /// One of the hosts itself uses such options, so the flow cannot go on unsplit. Where they are
    /// between two gateways only, it can once both have forgotten it.
    pub(super) binding_options: bool,
    pub(super) ending: Ending,
    pub(super) fin: FinMode,
    /// The client has not acknowledged the SYN-ACK yet.
    pub(super) unconfirmed: Option<Box<Unconfirmed>>,
    /// When the FIN of each leg's host was received, while its acknowledgment is withheld.
    pub(super) fin_held_since: PerLeg<Option<Instant>>,
    /// Segments outside the legs' own traffic: resets.
    pub(super) control: VecDeque<(Leg, IpHeader, TcpHeader)>,
    /// Bytes acknowledged to their sender that will not be delivered any more.
    pub(super) lost: u64,
    pub(super) silence: Silence,
    /// Segments of each host that showed that it hears the other one by another way.
    pub(super) bypassed: PerLeg<u8>,
    /// What is being sent to a host that is not heard.
    pub(super) blind: Option<Blind>,
}

impl<B: Buffer> Split<B> {
    pub(crate) fn new(
        now: Instant,
        config: &Config,
        legs: PerLeg<LegTcp>,
        added: Added,
        unconfirmed: Option<Unconfirmed>,
        first: u64,
    ) -> Split<B> {
        let windows = PerLeg::of(|leg| legs[leg].filling_window);
        let most = config.stream_limit(windows.into_array());
        // Twice what a gateway that knows the link as we do may begin with.
        let start = |window: u64| window.saturating_mul(2).min(first);
        let sizing = windows.map(|window| Sizing::new(now, window.map_or(0, start), most));
        let discarding = PerLeg::of(|leg| Discarding::new(&legs[leg]));
        let mut split = Split {
            legs,
            streams: PerLeg::default(),
            sizing,
            discarding,
            added_options: added != Added::Nothing,
            binding_options: added == Added::ToHost,
            ending: Ending::Open,
            fin: config.fin,
            unconfirmed: unconfirmed.map(Box::new),
            fin_held_since: PerLeg::default(),
            control: VecDeque::new(),
            lost: 0,
            silence: Silence::new(now),
            bypassed: PerLeg::default(),
            blind: None,
        };
        // The server's SYN-ACK is acknowledged now, that the client has done so or not.
        split.legs[Leg::Server].tcb.receiver.owe_now();
        split
    }

    /// When either host was last heard.
    pub(crate) fn last_heard(&self) -> Instant {
        self.silence.heard[Leg::Client].max(self.silence.heard[Leg::Server])
    }

    pub(crate) fn leg(&self, leg: Leg) -> &LegTcp {
        &self.legs[leg]
    }

    pub(crate) fn leg_mut(&mut self, leg: Leg) -> &mut LegTcp {
        &mut self.legs[leg]
    }

    /// The stream that feeds `leg`.
    pub(crate) fn stream_towards(&self, leg: Leg) -> &B {
        &self.streams[leg.other()]
    }

    /// Takes a packet that came in on `leg`.
    pub(crate) fn on_packet(
        &mut self,
        now: Instant,
        leg: Leg,
        packet: Packet<'_>,
        allowance: Allowance,
    ) -> Progress {
        match self.ending {
            Ending::Open | Ending::Draining { .. } => {}
            Ending::Leaving(_) => {
                return self.on_packet_leaving(now, leg, packet, allowance.reset_drain);
            }
            _ => return self.on_packet_after_end(now, leg, packet),
        }
        if !self.passes_handshake(now, leg, packet.tcp) {
            return Progress::default();
        }
        let other = leg.other();
        let admitted = self.admitted(leg, &packet, allowance);
        let admission = if admitted.is_some() { Admission::Accept } else { Admission::Refuse };
        let shortened;
        let packet = match admitted {
            Some(len) if len < packet.payload.len() => {
                shortened = without_end(packet.tcp);
                Packet { tcp: &shortened, payload: packet.payload.slice(0..len), ..packet }
            }
            _ => packet,
        };
        let received_before = self.legs[leg].tcb.receiver.rcv_nxt();
        let ranges = self.legs[leg].tcb.receiver.beyond().len();
        let discarded =
            if admission == Admission::Accept { self.discards(leg, &packet, allowance) } else { 0 };
        let arrival = self.take(now, leg, &packet, admission, discarded);
        if arrival.fate == Fate::Reset {
            self.on_reset(now, leg, allowance.reset_drain);
            return Progress::default();
        }
        let taken = arrival.fate == Fate::Taken;
        let bypassed = self.note_bypass(now, leg, arrival.bypass, arrival.acked);
        if taken {
            self.silence.end(now, leg);
            self.unconfirmed.take_if(|_| leg == Leg::Client);
            self.blind.take_if(|blind| blind.leg == leg);
            // Only now: anybody can make a packet with these addresses and ports, and its hop
            // limit and TSval would stay on all that we send.
            self.legs[other].follow(packet.ip);
            if let Some(ts) = packet.tcp.options.timestamps {
                self.legs[other].tcb.relay_timestamp(ts.value);
            }
        }
        self.relay_keep_alive(now, leg, packet);
        if !arrival.store.is_empty() {
            let len = (arrival.store.end - arrival.store.start) as usize;
            let new = packet.payload.slice(arrival.skip..arrival.skip + len);
            self.streams[leg].write(arrival.store.start, new);
        }
        // Each hole is a segment that was lost, or more.
        let holes = self.legs[leg].tcb.receiver.beyond().len().saturating_sub(ranges);
        let holes = self.lost_on_the_way(leg, holes);
        self.sizing[leg].note_holes(holes as u64 * self.legs[leg].tcb.sender.smss());
        let received = self.legs[leg].tcb.receiver.rcv_nxt();
        if received > received_before {
            self.make_room(now, leg);
            self.send_on_unheard(now, other);
        }
        self.bridge_hole(leg);
        self.legs[other].tcb.sender.extend(received);
        let delivered = self.release(leg, arrival.acked);
        if taken {
            self.heed_reader(now, leg, arrival.acked, allowance.reset_drain);
        }
        if delivered > 0 {
            self.size(now, leg.other());
        }
        self.open_windows(now, allowance);
        self.pass_fins(now);
        let received = received - received_before;
        let discarded = discarded > 0;
        Progress { received, delivered, bypassed, discarded, ..Progress::default() }
    }

    /// Hands a packet to its leg, without the first bytes of its payload if they are discarded.
    fn take(
        &mut self,
        now: Instant,
        leg: Leg,
        packet: &Packet<'_>,
        admission: Admission,
        discarded: usize,
    ) -> Arrival {
        let tcb = &mut self.legs[leg].tcb;
        let len = packet.payload.len();
        if discarded == 0 {
            return tcb.on_segment(now, packet.tcp, len, admission);
        }
        if discarded == len {
            return tcb.on_segment(now, packet.tcp, len, Admission::Refuse);
        }
        // As if the network had lost the first segment of a super-segment.
        let tcp = TcpHeader { seq: packet.tcp.seq + discarded as u64, ..packet.tcp.clone() };
        let mut arrival = tcb.on_segment(now, &tcp, len - discarded, admission);
        arrival.skip += discarded;
        arrival
    }

    /// The host of `leg` has acknowledged `acked` more offsets: frees what it has, and says how many
    /// bytes that are.
    pub(super) fn release(&mut self, leg: Leg, acked: u64) -> u64 {
        if acked == 0 {
            return 0;
        }
        // The FIN counts as an offset, but not as a byte.
        let una = self.legs[leg].tcb.sender.snd_una();
        let written = self.legs[leg.other()].tcb.receiver.rcv_nxt();
        self.streams[leg.other()].release(una.min(written));
        acked - u64::from(una > written)
    }

    /// Lets each leg's window open as far as its stream has room: right edges stand at what the
    /// far host has acknowledged plus what the stream may hold.
    pub(super) fn open_windows(&mut self, now: Instant, allowance: Allowance) {
        if self.is_unconfirmed() {
            // The client is not promised more than the SYN-ACK says, which may come again; and the
            // server not more than the SYN did, which may be forged.
            return;
        }
        for leg in Leg::BOTH {
            self.open_window(now, leg, allowance);
        }
    }

    fn open_window(&mut self, now: Instant, leg: Leg, allowance: Allowance) {
        if self.sizing[leg].is_held() {
            return;
        }
        let delivered = self.legs[leg.other()].tcb.sender.snd_una();
        let edge = self.edge(leg, delivered + self.room(leg, allowance));
        self.legs[leg].tcb.receiver.open_in_steps(now, edge);
    }

    /// Something has been sent on `leg`, so that more may wait behind it.
    fn open_window_behind(&mut self, now: Instant, leg: Leg, allowance: Allowance) {
        let behind = leg.other();
        self.keep_ahead(behind);
        if self.may_receive() && !self.is_unconfirmed() {
            self.open_window(now, behind, allowance);
        }
    }

    /// Lets expire what is due.
    pub(crate) fn on_timer(&mut self, now: Instant, config: &Config, allowance: Allowance) {
        for leg in Leg::BOTH {
            if self.is_open() && self.may_send(leg) {
                self.legs[leg].tcb.on_timer(now);
                self.suspect_silence(now, leg);
                if self.legs[leg].tcb.sender.probes_closed_window() {
                    self.sizing[leg.other()].hold(now);
                }
                if self.legs[leg].tcb.sender.gave_up() {
                    self.give_up(now);
                }
            }
        }
        let held = self.sizing.iter_mut().filter_map(|sizing| sizing.end_hold(now)).count();
        if held > 0 && self.may_receive() {
            self.open_windows(now, allowance);
        }
        self.ask(now, config.idle_timeout);
        self.rest(now, config.rest_after);
        self.expire(now, config);
    }

    /// The next segment to be sent now: the leg, and the segment with the offsets of its data. Data
    /// waits on legs whose links are `busy`. Leg `first` is asked before the other.
    pub(crate) fn poll_transmit(
        &mut self,
        now: Instant,
        busy: PerLeg<bool>,
        allowance: Allowance,
        first: Leg,
    ) -> Option<(Leg, IpHeader, Outgoing)> {
        if let Some((leg, ip, tcp)) = self.control.pop_front() {
            return Some((leg, ip, Outgoing { tcp, data: 0..0, ecn: Ecn::NotCapable }));
        }
        if let Some(blind) = self.blind_segment(now) {
            return Some(blind);
        }
        for index in [first, first.other()] {
            if !self.may_send(index) {
                continue;
            }
            let leg = &mut self.legs[index];
            leg.tcb.sender.set_link_busy(busy[index]);
            if let Some(out) = leg.tcb.poll_transmit(now) {
                let (ip, out) = leg.outgoing(out);
                if !out.data.is_empty() {
                    self.open_window_behind(now, index, allowance);
                }
                return Some((index, ip, out));
            }
        }
        None
    }

    /// The sender of a leg.
    pub(crate) fn sender_mut(&mut self, leg: Leg) -> &mut Sender {
        &mut self.legs[leg].tcb.sender
    }

    /// Whether only its busy link kept `leg` from sending data.
    pub(crate) fn waits_for_link(&self, leg: Leg) -> bool {
        self.may_send(leg) && self.legs[leg].tcb.sender.waits_for_link()
    }

    /// When the flow wants to be looked at again, if ever.
    pub(crate) fn poll_timer(&self, config: &Config) -> Option<Instant> {
        let legs = Leg::BOTH
            .map(|leg| if self.may_send(leg) { self.legs[leg].tcb.poll_timer() } else { None });
        let silence = self.silence_timers(config);
        let holds = self.sizing.iter().filter_map(Sizing::held_until);
        let others = self.ending_timers(config).chain(silence).chain(self.blind_at()).chain(holds);
        legs.into_iter().flatten().chain(others).min()
    }

    /// Whether nothing is held or in flight, so that plain forwarding can take over.
    pub(crate) fn is_clean(&self) -> bool {
        !self.added_options && self.unconfirmed.is_none() && self.is_idle()
    }

    /// Whether nothing is held or in flight.
    pub(super) fn is_idle(&self) -> bool {
        self.held() == 0
            && self
                .legs
                .iter()
                .all(|leg| leg.tcb.sender.is_done() && leg.tcb.receiver.beyond().is_empty())
    }
}

/// Which options the legs have that a host did not offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Added {
    /// None.
    Nothing,
    /// Some, which the gateway at the other end of the leg takes off.
    ToGateway,
    /// Some, and the other host uses them.
    ToHost,
}

/// A segment whose end was cut off.
fn without_end(tcp: &TcpHeader) -> TcpHeader {
    TcpHeader { flags: Flags(tcp.flags.0 & !Flags::FIN.0), ..tcp.clone() }
}
