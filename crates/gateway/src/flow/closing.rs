//! The end of a flow: FINs end to end or hop by hop, resets behind what was acknowledged.

use super::leaving::Leaving;
use super::split::{Packet, Progress, Split};
use crate::config::{Config, FinMode};
use crate::leg::{Leg, PerLeg};
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::tcb::Admission;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::{Flags, IpHeader, TcpHeader};
use std::collections::VecDeque;

/// How a flow ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It does not yet.
    Open,
    /// The host of `from` has reset; what it had sent before is still being delivered, until then.
    /// If its FIN is a part of that (`whole`), for as long as the far host takes it or has no room.
    Draining { from: Leg, until: Instant, whole: bool },
    /// Both directions have ended in order; repeated segments are answered until forgotten.
    Closed { at: Instant },
    /// It is being handed back: what is held is delivered, all that comes is forwarded.
    Leaving(Leaving),
    /// It has been handed back, but for the resets that are still to be sent.
    Left,
    /// A RST has been sent; whoever does not take it is told again until forgotten.
    Reset { at: Instant },
}

impl<B: Buffer> Split<B> {
    /// Whether packets are still handled as a connection's.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.ending, Ending::Open | Ending::Draining { .. } | Ending::Leaving(_))
    }

    /// How the flow has ended, if it has.
    pub(crate) fn ending(&self) -> Ending {
        self.ending
    }

    /// Bytes acknowledged to their sender and not delivered.
    pub(crate) fn lost_bytes(&self) -> u64 {
        self.lost
    }

    /// Whether data is still wanted: not after a reset by either host.
    pub(super) fn may_receive(&self) -> bool {
        self.ending == Ending::Open
    }

    /// Whether the leg still speaks. Towards a host that has reset there is nothing to say.
    pub(super) fn may_send(&self, leg: Leg) -> bool {
        match self.ending {
            Ending::Open | Ending::Closed { .. } => !self.is_held_back(leg),
            Ending::Draining { from, .. } => leg != from && !self.is_held_back(leg),
            Ending::Leaving(Leaving { unheard, .. }) => unheard != Some(leg),
            Ending::Reset { .. } | Ending::Left => false,
        }
    }

    /// FINs are sent on when all before them has been received. They travel end to end, so are
    /// acknowledged to their sender when the far host has acknowledged them, or hop by hop.
    pub(super) fn pass_fins(&mut self, now: Instant) {
        if self.ending != Ending::Open {
            self.end_drain(now);
            return;
        }
        for leg in Leg::BOTH {
            let other = leg.other();
            if !self.legs[leg].tcb.receiver.fin_received() {
                continue;
            }
            self.legs[other].tcb.sender.finish();
            if self.legs[leg].tcb.receiver.fin_acknowledged() {
                continue;
            }
            if self.fin == FinMode::Immediate || self.legs[other].tcb.sender.fin_acked() {
                self.legs[leg].tcb.receiver.acknowledge_fin();
                self.fin_held_since[leg] = None;
            } else {
                self.fin_held_since[leg].get_or_insert(now);
            }
        }
        if self.legs.iter().all(|leg| leg.tcb.sender.fin_acked()) {
            self.ending = Ending::Closed { at: now };
        }
    }

    /// The host of `leg` has reset. What it sent before and we acknowledged is delivered first;
    /// what was on its way to it is of no use to anybody.
    pub(super) fn on_reset(&mut self, now: Instant, leg: Leg, drain: Duration) {
        let other = leg.other();
        let tcb = &self.legs[leg].tcb;
        if tcb.receiver.fin_acknowledged() && tcb.sender.fin_acked() {
            // Its connection was over: it answers whatever still comes, a forgery even, with a RST
            // (RFC 9293, 3.10.7.1). That takes nothing back of what is owed to the other host.
            return;
        }
        self.unconfirmed.take_if(|_| leg == Leg::Client);
        if let Ending::Draining { from, .. } = self.ending {
            if from == other {
                // Both have reset: nobody is left to deliver to.
                self.lost += self.undelivered(other);
                self.forget_streams();
                self.ending = Ending::Reset { at: now };
            }
            return;
        }
        self.streams[other] = B::default();
        self.blind.take_if(|blind| blind.leg == leg);
        // Behind a FIN its host may be gone in good order while a slow reader takes its time.
        let whole = self.legs[leg].tcb.receiver.fin_received();
        self.ending = Ending::Draining { from: leg, until: now + drain, whole };
        self.end_drain(now);
    }

    /// The host of `leg` has spoken, and acknowledged `acked` bytes. One that reads slowly is given more
    /// time; one that has room and takes nothing is not: two gateways whose hosts have both reset
    /// would refuse each other's bytes for ever.
    pub(super) fn heed_reader(&mut self, now: Instant, leg: Leg, acked: u64, drain: Duration) {
        let sender = &self.legs[leg].tcb.sender;
        let reads = acked > 0 || sender.window_edge() <= sender.snd_una();
        if let Ending::Draining { from, until, whole: true } = &mut self.ending
            && *from != leg
            && reads
        {
            *until = now + drain;
        }
    }

    /// Bytes that arrived in order on `leg` and have not been delivered to the other host.
    pub(super) fn undelivered(&self, leg: Leg) -> u64 {
        let sender = &self.legs[leg.other()].tcb.sender;
        self.legs[leg].tcb.receiver.rcv_nxt().saturating_sub(sender.snd_una())
    }

    /// Sends the RST on, once all that precedes it has been delivered.
    fn end_drain(&mut self, now: Instant) {
        if let Ending::Draining { from, .. } = self.ending
            && self.legs[from.other()].tcb.sender.is_done()
        {
            self.send_reset(from.other());
            self.forget_streams();
            self.ending = Ending::Reset { at: now };
        }
    }

    /// What is still to be sent of a flow that has left.
    pub(crate) fn last_words(&mut self) -> Option<VecDeque<(Leg, IpHeader, TcpHeader)>> {
        (self.ending == Ending::Left).then(|| std::mem::take(&mut self.control))
    }

    fn send_reset(&mut self, leg: Leg) {
        let (ip, tcp) = self.legs[leg].reset(None);
        self.control.push_back((leg, ip, tcp));
    }

    pub(super) fn forget_streams(&mut self) {
        self.blind = None;
        self.unconfirmed = None;
        self.streams = PerLeg::default();
    }

    /// A host does not answer any more: the flow is reset towards both, but not towards one that
    /// has itself reset.
    pub(super) fn give_up(&mut self, now: Instant) {
        if let Ending::Draining { from, .. } = self.ending {
            self.lost += self.undelivered(from);
            self.send_reset(from.other());
            self.forget_streams();
            self.ending = Ending::Reset { at: now };
        } else {
            self.lost += self.undelivered(Leg::Client) + self.undelivered(Leg::Server);
            self.reset_both(now);
        }
    }

    /// Neither host can go on.
    pub(super) fn reset_both(&mut self, now: Instant) {
        self.send_reset(Leg::Client);
        self.send_reset(Leg::Server);
        self.forget_streams();
        self.ending = Ending::Reset { at: now };
    }

    /// Deadlines of held FINs and of a drain.
    pub(super) fn expire(&mut self, now: Instant, config: &Config) {
        self.expire_unconfirmed(now);
        for leg in Leg::BOTH {
            if self.fin_held_since[leg].is_some_and(|since| since + config.fin_hold <= now) {
                self.legs[leg].tcb.receiver.acknowledge_fin();
                self.fin_held_since[leg] = None;
            }
        }
        if let Ending::Leaving(leaving) = self.ending
            && leaving.since + config.reset_drain <= now
        {
            self.expire_leaving(now, leaving);
        }
        if let Ending::Draining { from, until, .. } = self.ending
            && until <= now
        {
            self.lost += self.undelivered(from);
            self.send_reset(from.other());
            self.forget_streams();
            self.ending = Ending::Reset { at: now };
        }
    }

    /// When [`Split::expire`] has something to do.
    pub(super) fn ending_timers(&self, config: &Config) -> impl Iterator<Item = Instant> {
        let fins = self.fin_held_since.map(|held| held.map(|since| since + config.fin_hold));
        let end = match self.ending {
            Ending::Open | Ending::Left => None,
            Ending::Draining { until, .. } => Some(until),
            Ending::Leaving(Leaving { since, .. }) => Some(since + config.reset_drain),
            Ending::Closed { at } => Some(at + config.closed_linger()),
            Ending::Reset { at } => Some(at + config.linger),
        };
        let unconfirmed = self.unconfirmed_at();
        fins.into_iter().flatten().chain(end).chain(unconfirmed)
    }

    /// When the flow may be forgotten.
    pub(crate) fn forgettable(&self, now: Instant, config: &Config) -> bool {
        match self.ending {
            Ending::Closed { at } => at + config.closed_linger() <= now,
            Ending::Reset { at } => at + config.linger <= now,
            Ending::Open | Ending::Draining { .. } | Ending::Leaving(_) | Ending::Left => false,
        }
    }

    /// A packet for a flow that has ended: repeated FINs are acknowledged; a host that has not
    /// taken the RST is sent another, where it says it expects it (RFC 5961, 3.2).
    pub(super) fn on_packet_after_end(
        &mut self,
        now: Instant,
        leg: Leg,
        packet: Packet<'_>,
    ) -> Progress {
        let tcp = packet.tcp;
        match self.ending {
            Ending::Closed { .. } => {
                self.legs[leg].tcb.on_segment(now, tcp, packet.payload.len(), Admission::Refuse);
            }
            Ending::Reset { .. } if !tcp.has(Flags::RST) => {
                let asked = tcp.has(Flags::ACK).then_some(tcp.ack);
                let (ip, tcp) = self.legs[leg].reset(asked);
                self.control.push_back((leg, ip, tcp));
            }
            _ => {}
        }
        Progress::default()
    }
}
