//! A spliced flow from its handshake to its end. What its state is, is decided here and nowhere
//! else: the splice passes bytes on, mechanisms say what should be done, and the table says when.
//!
//! # Blind attacks (RFC 5961)
//! - **RST (3.2).** Of a spliced flow, only one at exactly the expected number resets; another
//!   within the window is challenged, all others are dropped ([`Tcb::on_segment`]). Of a handshake,
//!   the server's must acknowledge the SYN and the client's must begin at it
//!   ([`Syn::is_refused_by`](crate::handshake::Syn::is_refused_by)).
//! - **SYN (4.2).** Of an open flow, every one is challenged ([`Tcb::on_segment`]). Before the
//!   handshake is complete another one takes the first one's place, as a client may begin anew: if
//!   it was forged, the true connection is forwarded from then on. Where options were added it is
//!   forwarded and changes nothing: a server that has answered the first one challenges it. After
//!   the flow's end it is a new connection, and so it is, once the host has confirmed it, while the
//!   flow only delivers what precedes that host's RST (`port_reuse`), or once its handshake has
//!   passed, while the flow is released (`replaced`).
//! - **Data (5.2).** The acknowledgment must lie between what was sent and the largest window below
//!   what was acknowledged last ([`Tcb::on_segment`]), in data as in all else.
//! - **Throttling (7).** Two challenges a second for each flow and leg. RFC 5961's limit for the
//!   whole host would be a channel that tells attackers about other flows (CVE-2016-5696).
//! - What shows that a host hears the other one on another path needs a number within the window as
//!   well ([`Bypass`](bentpipe_core::tcp::tcb::Bypass)). An ICMP error must quote what is
//!   outstanding (`table::icmp`).
//!
//! [`Tcb::on_segment`]: bentpipe_core::tcp::tcb::Tcb::on_segment

mod adoption;
mod arrival;
mod broken;
mod buffers;
mod closing;
mod confirm;
mod hibernate;
mod passing;
mod past;
mod port_reuse;
mod release;
mod replaced;
mod silence;
mod time_wait;

pub(crate) use arrival::Received;
pub(crate) use closing::CloseState;
pub(crate) use hibernate::Hibernated;
pub(crate) use past::Past;
pub(crate) use port_reuse::OnSyn;
pub(crate) use release::Released;
pub(crate) use time_wait::TimeWait;

use crate::Side;
use crate::config::Config;
use crate::handshake::{Added, Completed, Relay, SpoofedSynAck};
use crate::leg::{Leg, PerLeg};
use crate::mechanisms::{Aqm, BlindSend, BufferTuner, BypassSigns, KeepAlive};
use crate::splice::{Allowance, LegTcp, Splice};
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::cause::Cause;
use bentpipe_core::tcp::limiter::Limiter;
use bentpipe_core::tcp::tcb::Outgoing;
use bentpipe_core::time::Instant;
use bentpipe_core::units::Bytes;
use bentpipe_core::wire::{IpHeader, SeqNum};
use closing::Closing;
use std::collections::VecDeque;

/// A flow both of whose handshakes are complete as seen from here.
#[derive(Debug)]
pub(crate) struct SplicedFlow<B> {
    splice: Splice<B>,
    closing: Closing,
    /// The client has not acknowledged the SYN-ACK yet.
    spoofed_synack: Option<Box<SpoofedSynAck>>,
    added: Added,
    /// How much each stream may hold.
    tuners: PerLeg<BufferTuner>,
    /// What of each stream's segments is discarded, where that is wanted.
    aqms: PerLeg<Option<Box<Aqm>>>,
    keep_alive: KeepAlive,
    bypass: BypassSigns,
    /// One past the last byte of each leg's segments that were forwarded and not taken.
    went_past: PerLeg<Option<SeqNum>>,
    /// What is being sent to a host that is not heard.
    blind: Option<BlindSend>,
    /// Segments outside the legs' own traffic: resets, and SYN-ACKs that are repeated.
    control: VecDeque<(Leg, Relay)>,
}

impl<B: Buffer> SplicedFlow<B> {
    /// A stream begins with a promise of `first` bytes at most.
    pub(crate) fn new(now: Instant, config: &Config, begun: Completed, first: Bytes) -> Self {
        let legs = PerLeg::of(|leg| LegTcp::new(now, config, begun.sides[leg], &begun.legs[leg]));
        let tuner = |leg: Leg| {
            let (comes, goes) = (legs[leg].arriving_window, legs[leg.other()].filling_window);
            // Twice what a gateway that knows the link as we do may begin with.
            let start = comes.map_or(Bytes::ZERO, |window| window.saturating_mul(2).min(first));
            BufferTuner::new(now, start, config.stream_limit([comes, goes])).promising(first)
        };
        let aqm = |leg: Leg| {
            let handshake = legs[leg].tcb.handshake();
            let seed = u64::from(handshake.snd_isn.0) << 32 | u64::from(handshake.rcv_isn.0);
            Aqm::new(legs[leg].discard, seed)
        };
        let mut flow = SplicedFlow {
            tuners: PerLeg::of(tuner),
            aqms: PerLeg::of(aqm),
            added: begun.added,
            closing: Closing::new(config.fin),
            spoofed_synack: begun.spoofed_synack.map(Box::new),
            control: VecDeque::new(),
            keep_alive: KeepAlive::new(now),
            bypass: BypassSigns::default(),
            went_past: PerLeg::default(),
            blind: None,
            splice: Splice::new(legs),
        };
        // The server's SYN-ACK is acknowledged now, that the client has done so or not.
        flow.splice.tcb_mut(Leg::Server).receiver.ack_now(Cause::Established);
        flow
    }

    /// What it is made of, to be looked at.
    pub(crate) fn splice(&self) -> &Splice<B> {
        &self.splice
    }

    /// The same leg by leg, for what concerns its path and its link and not the flow.
    pub(crate) fn leg_mut(&mut self, leg: Leg) -> &mut LegTcp {
        self.splice.leg_mut(leg)
    }

    /// When either host was last heard.
    pub(crate) fn last_heard(&self) -> Instant {
        self.keep_alive.last_heard()
    }

    /// Whether it may still be sent data.
    pub(crate) fn may_receive(&self) -> bool {
        self.closing.may_receive()
    }

    /// Lets expire what is due. The hosts are on these `sides`.
    pub(crate) fn on_timer(
        &mut self,
        now: Instant,
        config: &Config,
        sides: PerLeg<Side>,
        allowance: Allowance,
    ) {
        for leg in Leg::BOTH {
            if self.is_open() && self.may_send(leg) {
                let timeouts = self.splice.tcb(leg).sender.timeouts();
                self.splice.tcb_mut(leg).on_timer(now);
                self.suspect_silence(now, leg);
                let timed_out = self.splice.tcb(leg).sender.timeouts() > timeouts;
                if timed_out && sides[leg] == Side::Satellite {
                    self.ask_for_its_way(now, leg.other());
                }
                if self.splice.tcb(leg).sender.probes_closed_window() {
                    self.tuners[leg.other()].hold(now);
                }
                if self.splice.tcb(leg).sender.gave_up() {
                    self.give_up(now);
                }
            }
        }
        let held = self.tuners.iter_mut().filter_map(|tuner| tuner.end_hold(now)).count();
        if held > 0 && self.closing.may_receive() {
            self.open_windows(now, allowance);
        }
        self.ask_silent(now, config.idle_timeout);
        self.schedule_hibernation(now, config.hibernate_after);
        self.expire_spoofed_synack(now);
        self.expire_closing(now, config);
    }

    /// When the flow wants to be looked at again, if ever.
    pub(crate) fn poll_timer(&self, config: &Config) -> Option<Instant> {
        let legs = Leg::BOTH.map(|leg| match self.may_send(leg) {
            true => self.splice.tcb(leg).poll_timer(),
            false => None,
        });
        let holds = self.tuners.iter().filter_map(BufferTuner::held_until);
        let blind = self.blind.iter().map(BlindSend::at);
        let spoofed_synack = self.spoofed_synack.iter().map(|synack| synack.poll_timeout());
        let closing = self.closing.timers(config).chain(spoofed_synack);
        let others = closing.chain(self.silence_timers(config)).chain(blind).chain(holds);
        legs.into_iter().flatten().chain(others).min()
    }

    /// The next segment to be sent now: the leg, and the segment with the offsets of its data. Data
    /// waits on legs whose links are `busy`. Leg `first` is asked before the other.
    ///
    /// # Errors
    /// What keeps data back on each leg that may send.
    pub(crate) fn poll_transmit(
        &mut self,
        now: Instant,
        busy: PerLeg<bool>,
        allowance: Allowance,
        first: Leg,
    ) -> Result<(Leg, IpHeader, Outgoing), PerLeg<Option<Limiter>>> {
        if let Some((leg, (ip, tcp))) = self.control.pop_front() {
            return Ok((leg, ip, Outgoing::control(tcp)));
        }
        if let Some(blind) = self.blind_segment(now) {
            return Ok(blind);
        }
        let mut limiters = PerLeg::new(None, None);
        for leg in [first, first.other()] {
            if !self.may_send(leg) {
                continue;
            }
            let speaker = self.splice.leg_mut(leg);
            speaker.tcb.sender.set_link_busy(busy[leg]);
            match speaker.tcb.poll_transmit(now) {
                Ok(out) => {
                    let (ip, out) = speaker.outgoing(out);
                    if !out.data.is_empty() {
                        self.open_window_behind(now, leg, allowance);
                    }
                    return Ok((leg, ip, out));
                }
                Err(limiter) => limiters[leg] = Some(limiter),
            }
        }
        Err(limiters)
    }

    /// The moment until which `leg`'s own pacer keeps data back, if it is what does.
    pub(crate) fn paced_until(&self, leg: Leg) -> Option<Instant> {
        self.splice.tcb(leg).sender.paced_until().filter(|_| self.may_send(leg))
    }

    /// What keeps the next segment of `leg` back; None if one may leave.
    pub(crate) fn limiter(&self, leg: Leg) -> Option<Limiter> {
        if self.is_held_back(leg) {
            Some(Limiter::Handshake)
        } else if self.closing.may_send(leg) {
            self.splice.tcb(leg).sender.limiter()
        } else {
            Some(Limiter::Closed)
        }
    }

    /// Whether nothing is held or in flight, so that plain forwarding can take over.
    pub(crate) fn is_clean(&self) -> bool {
        self.added == Added::Nothing && self.spoofed_synack.is_none() && self.splice.is_idle()
    }

    /// Whether the leg still speaks: not towards a host that has reset, and not before it may.
    fn may_send(&self, leg: Leg) -> bool {
        self.closing.may_send(leg) && !self.is_held_back(leg)
    }
}
