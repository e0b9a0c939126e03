//! The end of a flow: FINs end to end or hop by hop, resets behind what was acknowledged.

use super::SplicedFlow;
use super::port_reuse::PortReuse;
use super::release::Releasing;
use super::replaced::OtherHandshake;
use crate::config::{Config, FinMode};
use crate::leg::{Leg, PerLeg};
use crate::segment::Segment;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::tcb::Admission;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Bytes;
use bentpipe_core::wire::Flags;

/// How a flow ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CloseState {
    /// It does not yet.
    Open,
    /// The host of `from` has reset; what it had sent before is still being delivered, until then.
    /// If its FIN is a part of that (`whole`), for as long as the far host takes it or has no room.
    /// `taken_at`: when that host has last taken some of it; None if it has stopped reading before.
    Draining { from: Leg, until: Instant, whole: bool, taken_at: Option<Instant> },
    /// Both directions have ended in order; repeated segments are answered until forgotten.
    Closed { at: Instant },
    /// It is being released: what is held is delivered, all that comes is forwarded.
    Releasing(Releasing),
    /// It has been released, but for the resets that are still to be sent.
    Released,
    /// A RST has been sent to the hosts that are `told`; whoever does not take it is told again
    /// until forgotten.
    Reset { at: Instant, told: PerLeg<bool> },
}

/// How far a flow has come with ending. Only this file changes it.
#[derive(Debug)]
pub(super) struct Closing {
    state: CloseState,
    fin: FinMode,
    /// When the FIN of each leg's host was received, while its acknowledgment is withheld.
    fin_held_since: PerLeg<Option<Instant>>,
    /// Bytes acknowledged to their sender that will not be delivered any more.
    lost: Bytes,
    /// What a host has asked for with a SYN from the ports of this flow.
    pub(super) reuse: Option<Box<PortReuse>>,
    /// What has passed of another connection's handshake while this flow is being released.
    pub(super) other: Option<Box<OtherHandshake>>,
}

impl Closing {
    pub(super) fn new(fin: FinMode) -> Closing {
        Closing::restore(fin, (PerLeg::default(), Bytes::ZERO))
    }

    /// Of an open flow, with what it [keeps](Closing::kept).
    pub(super) fn restore(fin: FinMode, kept: (PerLeg<Option<Instant>>, Bytes)) -> Closing {
        let (fin_held_since, lost) = kept;
        Closing { state: CloseState::Open, fin, fin_held_since, lost, reuse: None, other: None }
    }

    /// What an open flow keeps while it hibernates; None of any other.
    pub(super) fn kept(&self) -> Option<(PerLeg<Option<Instant>>, Bytes)> {
        (self.state == CloseState::Open).then_some((self.fin_held_since, self.lost))
    }

    pub(super) fn state(&self) -> CloseState {
        self.state
    }

    pub(super) fn is_open(&self) -> bool {
        use CloseState::{Draining, Open, Releasing};
        matches!(self.state, Open | Draining { .. } | Releasing(_))
    }

    /// Whether data is still wanted: not after a reset by either host.
    pub(super) fn may_receive(&self) -> bool {
        self.state == CloseState::Open
    }

    /// Whether the leg still speaks. Towards a host that has reset there is nothing to say.
    pub(super) fn may_send(&self, leg: Leg) -> bool {
        match self.state {
            CloseState::Open | CloseState::Closed { .. } => true,
            CloseState::Draining { from, .. } => leg != from,
            CloseState::Releasing(Releasing { unheard, .. }) => unheard != Some(leg),
            CloseState::Reset { .. } | CloseState::Released => false,
        }
    }

    /// So many bytes will not be delivered.
    pub(super) fn lose(&mut self, bytes: Bytes) {
        self.lost += bytes;
    }

    pub(super) fn lost(&self) -> Bytes {
        self.lost
    }

    /// It is being released, or that goes on.
    pub(super) fn release(&mut self, releasing: Releasing) {
        self.state = CloseState::Releasing(releasing);
    }

    /// It has been released.
    pub(super) fn end_release(&mut self) {
        self.state = CloseState::Released;
    }

    /// When something is to be done.
    pub(super) fn timers(&self, config: &Config) -> impl Iterator<Item = Instant> {
        let fins = self.fin_held_since.map(|held| held.map(|since| since + config.fin_hold));
        let end = match self.state {
            CloseState::Open | CloseState::Released => None,
            CloseState::Draining { until, .. } => Some(until),
            CloseState::Releasing(Releasing { taken_at, .. }) => {
                Some(taken_at + config.reset_drain)
            }
            CloseState::Closed { at } => Some(at + config.closed_linger()),
            CloseState::Reset { at, .. } => Some(at + config.linger),
        };
        fins.into_iter().flatten().chain(end)
    }
}

impl<B: Buffer> SplicedFlow<B> {
    /// Whether segments are still handled as a connection's.
    pub(crate) fn is_open(&self) -> bool {
        self.closing.is_open()
    }

    /// Whether the flow has ended in a reset.
    pub(super) fn is_reset(&self) -> bool {
        matches!(self.closing.state, CloseState::Reset { .. })
    }

    /// How the flow has ended, if it has.
    pub(crate) fn close_state(&self) -> CloseState {
        self.closing.state
    }

    /// Bytes acknowledged to their sender and not delivered.
    pub(crate) fn lost_bytes(&self) -> Bytes {
        self.closing.lost
    }

    /// When the flow may be forgotten.
    pub(crate) fn forgettable(&self, now: Instant, config: &Config) -> bool {
        match self.closing.state {
            CloseState::Closed { at } => at + config.closed_linger() <= now,
            CloseState::Reset { at, .. } => at + config.linger <= now,
            CloseState::Open
            | CloseState::Draining { .. }
            | CloseState::Releasing(_)
            | CloseState::Released => false,
        }
    }

    /// FINs are sent on when all before them has been received. They travel end to end, so are
    /// acknowledged to their sender when the far host has acknowledged them, or hop by hop.
    pub(super) fn pass_fins(&mut self, now: Instant) {
        if self.closing.state != CloseState::Open {
            self.end_drain(now);
            return;
        }
        for leg in Leg::BOTH {
            let other = leg.other();
            if !self.splice.tcb(leg).receiver.fin_received() {
                continue;
            }
            self.splice.tcb_mut(other).sender.finish();
            if self.splice.tcb(leg).receiver.fin_acknowledged() {
                continue;
            }
            let at_once = self.closing.fin == FinMode::Immediate;
            if at_once || self.splice.tcb(other).sender.fin_acked() {
                self.acknowledge_fin(leg);
            } else {
                self.closing.fin_held_since[leg].get_or_insert(now);
            }
        }
        if self.splice.legs().iter().all(|leg| leg.tcb.sender.fin_acked()) {
            self.closing.state = CloseState::Closed { at: now };
        }
    }

    fn acknowledge_fin(&mut self, leg: Leg) {
        self.splice.tcb_mut(leg).receiver.acknowledge_fin();
        self.closing.fin_held_since[leg] = None;
    }

    /// The host of `leg` has reset. What it sent before and we acknowledged is delivered first;
    /// what was on its way to it is of no use to anybody.
    pub(super) fn on_reset(&mut self, now: Instant, leg: Leg, drain: Duration) {
        let other = leg.other();
        let tcb = self.splice.tcb(leg);
        if tcb.receiver.fin_acknowledged() && tcb.sender.fin_acked() {
            // Its connection was over: it answers whatever still comes, a forgery even, with a RST
            // (RFC 9293, 3.10.7.1). That takes nothing back of what is owed to the other host.
            return;
        }
        self.confirm(leg);
        self.confirm_reuse(now, leg);
        if let CloseState::Draining { from, .. } = self.closing.state {
            if from == other {
                // Both have reset: nobody is left to deliver to.
                self.closing.lose(self.splice.undelivered(other));
                self.enter_reset(now, PerLeg::default());
            }
            return;
        }
        self.splice.forget(other);
        self.hear_again(leg);
        // Behind a FIN its host may be gone in good order while a slow reader takes its time.
        let whole = self.splice.tcb(leg).receiver.fin_received();
        let sender = &self.splice.tcb(other).sender;
        let taken_at = (sender.window_edge() > sender.snd_una()).then_some(now);
        self.closing.state =
            CloseState::Draining { from: leg, until: now + drain, whole, taken_at };
        self.end_drain(now);
    }

    /// The host of `leg` has spoken, and acknowledged `acked` bytes. One that reads slowly is given
    /// more time; one that has room and takes nothing is not: two gateways whose hosts have both
    /// reset would refuse each other's bytes for ever.
    pub(super) fn extend_drain(&mut self, now: Instant, leg: Leg, acked: Bytes, drain: Duration) {
        let sender = &self.splice.tcb(leg).sender;
        let reads = acked > Bytes::ZERO || sender.window_edge() <= sender.snd_una();
        if let CloseState::Draining { from, until, whole: true, taken_at } = &mut self.closing.state
            && *from != leg
            && reads
        {
            *until = now + drain;
            if acked > Bytes::ZERO {
                *taken_at = Some(now);
            }
        }
    }

    /// Sends the RST on, once all that precedes it has been delivered.
    fn end_drain(&mut self, now: Instant) {
        if let CloseState::Draining { from, .. } = self.closing.state
            && self.splice.tcb(from.other()).sender.is_done()
        {
            self.reset_hosts(now, &[from.other()]);
        }
    }

    /// The RST is sent on without what should have preceded it.
    pub(super) fn cut_drain(&mut self, now: Instant, from: Leg) {
        self.closing.lose(self.splice.undelivered(from));
        self.reset_hosts(now, &[from.other()]);
    }

    /// The hosts of `legs` are sent a RST.
    fn reset_hosts(&mut self, now: Instant, legs: &[Leg]) {
        for &leg in legs {
            let reset = self.splice.leg(leg).reset(None);
            self.control.push_back((leg, reset));
        }
        self.enter_reset(now, PerLeg::of(|leg| legs.contains(&leg)));
    }

    /// All is over but for those who have not taken their resets.
    fn enter_reset(&mut self, now: Instant, told: PerLeg<bool>) {
        self.forget_streams();
        self.closing.state = CloseState::Reset { at: now, told };
    }

    pub(super) fn forget_streams(&mut self) {
        self.blind = None;
        self.spoofed_synack = None;
        Leg::BOTH.into_iter().for_each(|leg| self.splice.forget(leg));
    }

    /// A host does not answer any more: the flow is reset towards both, but not towards one that
    /// has itself reset.
    pub(super) fn give_up(&mut self, now: Instant) {
        if let CloseState::Draining { from, .. } = self.closing.state {
            self.cut_drain(now, from);
        } else {
            self.closing.lose(self.splice.all_undelivered());
            self.reset_both(now);
        }
    }

    /// Neither host can go on.
    pub(super) fn reset_both(&mut self, now: Instant) {
        self.reset_hosts(now, &Leg::BOTH);
    }

    /// Deadlines of held FINs, of a release and of a drain.
    pub(super) fn expire_closing(&mut self, now: Instant, config: &Config) {
        for leg in Leg::BOTH {
            let since = self.closing.fin_held_since[leg];
            if since.is_some_and(|since| since + config.fin_hold <= now) {
                self.acknowledge_fin(leg);
            }
        }
        if let CloseState::Releasing(releasing) = self.closing.state
            && releasing.taken_at + config.reset_drain <= now
        {
            self.expire_release(now, releasing);
        }
        if let CloseState::Draining { from, until, .. } = self.closing.state
            && until <= now
        {
            self.cut_drain(now, from);
        }
    }

    /// A segment for a flow that has ended: repeated FINs are acknowledged; a host that has not
    /// taken the RST is sent another, where it says it expects it (RFC 5961, 3.2).
    pub(super) fn on_segment_after_end(&mut self, now: Instant, leg: Leg, segment: &Segment<'_>) {
        let tcp = segment.tcp;
        match self.closing.state {
            CloseState::Closed { .. } => {
                let (tcb, len) = (self.splice.tcb_mut(leg), segment.payload.len());
                tcb.on_segment(now, tcp, len, Admission::Refuse);
            }
            CloseState::Reset { .. } if !tcp.has(Flags::RST) => {
                let asked = tcp.has(Flags::ACK).then_some(tcp.ack);
                let reset = self.splice.leg(leg).reset(asked);
                self.control.push_back((leg, reset));
            }
            _ => {}
        }
    }
}
