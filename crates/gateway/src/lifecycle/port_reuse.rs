//! A SYN from the ports of a flow that has not ended.
//!
//! A host that has reset may use its port again at once, while the flow still delivers what it had
//! sent before. Its SYN ends that: the RST goes on to the far host, what was not delivered is
//! counted as lost, and the SYN opens another connection. Without gateways the far host would have
//! been reset before.
//!
//! Nothing in a SYN shows that it comes from that host, and a RST may have been guessed. So the
//! host is asked, by a segment that a host answers in every state (RFC 9293, 3.10.7; RFC 5961,
//! 4.2):
//!
//! - one that has no such connection any more, or is in SYN-SENT, resets where the segment says:
//!   the SYN is believed at once;
//! - one whose connection is as it was acknowledges: the RST was forged, and the SYN changes
//!   nothing;
//! - where nothing is heard (a NAT or a firewall may drop either segment), the SYN is believed when
//!   it comes again a second later.
//!
//! An open flow asks by its challenge. The RST that answers it begins the drain, and confirms the
//! SYN as well.
//!
//! A host that had ended in order before it reset, and has the acknowledgment of its FIN, was told
//! that all will arrive. For its bytes the SYN waits, unless the far host has stopped reading.

use super::SplicedFlow;
use super::closing::CloseState;
use crate::leg::Leg;
use crate::segment::Segment;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::tcb::Tcb;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Bytes;
use bentpipe_core::wire::{Flags, IpHeader, SeqNum, TcpHeader, TcpOptions, Timestamps};

/// After that time without an answer a SYN that comes again is believed: less than the first
/// timeout of a SYN (RFC 6298, 2.1).
const SILENCE: Duration = Duration::from_millis(900);

/// For so long a RST answers the question, and no other is asked; and so long ago a host that still
/// reads has taken something.
const PATIENCE: Duration = Duration::from_secs(3);

/// A host has sent a SYN from the ports of a flow, and is asked whether it has.
#[derive(Debug)]
pub(super) struct PortReuse {
    /// The host.
    leg: Leg,
    /// When it was asked.
    asked: Instant,
    /// It has reset since.
    confirmed: bool,
    /// Its SYN.
    syn: Syn,
}

/// A SYN as it came.
type Syn = (IpHeader, TcpHeader);

impl PortReuse {
    fn is_recent(&self, now: Instant) -> bool {
        now < self.asked + PATIENCE
    }

    /// Whether a SYN with number `isn` is believed.
    fn believes(&self, now: Instant, isn: SeqNum) -> bool {
        let unanswered = self.syn.1.seq == isn && self.asked + SILENCE <= now;
        self.confirmed || unanswered
    }
}

/// What becomes of a SYN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnSyn {
    /// It is a segment of the flow like any other.
    Segment,
    /// It is dropped.
    Drop,
    /// The flow has given way to it: it opens another connection.
    NewConnection,
}

impl<B: Buffer> SplicedFlow<B> {
    /// Takes a SYN from the host of `leg`, or a SYN-ACK.
    pub(crate) fn on_syn(&mut self, now: Instant, leg: Leg, segment: &Segment<'_>) -> OnSyn {
        let isn = segment.tcp.seq;
        let repeated = isn == self.splice.tcb(leg).handshake().rcv_isn;
        if segment.tcp.has(Flags::ACK) && (repeated || !self.is_reset()) {
            return OnSyn::Segment;
        }
        match self.closing.state() {
            CloseState::Open if !repeated => {
                self.note_syn(now, leg, segment);
                OnSyn::Segment
            }
            CloseState::Draining { from, taken_at, .. } if from == leg && !repeated => {
                let reuse = self.closing.reuse.as_ref().filter(|reuse| reuse.leg == leg);
                let believed = reuse.is_some_and(|reuse| reuse.believes(now, isn));
                if believed && self.gives_way(now, leg, taken_at) {
                    return OnSyn::NewConnection;
                }
                if self.note_syn(now, leg, segment) {
                    let question = question(now, self.splice.tcb(leg));
                    let relay = self.splice.leg(leg).address(question);
                    self.control.push_back((leg, relay));
                }
                OnSyn::Drop
            }
            CloseState::Open | CloseState::Draining { .. } | CloseState::Releasing(_) => {
                OnSyn::Segment
            }
            // The port is used again (RFC 9293, 3.6.1). A SYN-ACK answers a SYN that has gone past,
            // and a RST would end what that has opened (fault seed 94514114).
            CloseState::Closed { .. } | CloseState::Reset { .. } | CloseState::Released => {
                OnSyn::NewConnection
            }
        }
    }

    /// The SYN that its host, that of `leg`, has confirmed, once the flow has given way to it.
    pub(crate) fn take_confirmed_syn(&mut self, now: Instant, leg: Leg) -> Option<Syn> {
        let reuse = self.closing.reuse.as_ref()?;
        if reuse.leg != leg || !reuse.confirmed {
            return None;
        }
        let over = match self.closing.state() {
            CloseState::Draining { from, taken_at, .. } => {
                from == leg && self.gives_way(now, leg, taken_at)
            }
            CloseState::Reset { .. } => true,
            _ => false,
        };
        self.closing.reuse.take_if(|_| over).map(|reuse| reuse.syn)
    }

    /// The host of `leg` has reset. If it was asked, that answers.
    pub(super) fn confirm_reuse(&mut self, now: Instant, leg: Leg) {
        if let Some(reuse) = &mut self.closing.reuse {
            reuse.confirmed |= reuse.leg == leg && reuse.is_recent(now);
        }
    }

    /// The host of `leg` goes on with the flow: it has not sent the SYN.
    pub(super) fn refute_reuse(&mut self, leg: Leg) {
        self.closing.reuse.take_if(|reuse| reuse.leg == leg && !reuse.confirmed);
    }

    /// Keeps a SYN until its host has answered. False if it has been asked lately.
    fn note_syn(&mut self, now: Instant, leg: Leg, segment: &Segment<'_>) -> bool {
        let asked = self.closing.reuse.as_ref().is_some_and(|reuse| reuse.is_recent(now));
        if asked || !segment.payload.is_empty() {
            return false;
        }
        let syn = (*segment.ip, segment.tcp.clone());
        self.closing.reuse = Some(Box::new(PortReuse { leg, asked: now, confirmed: false, syn }));
        true
    }

    /// Ends the drain of what the host of `from` had sent, unless that is still `taken_at` times,
    /// and its host was told that all will arrive.
    fn gives_way(&mut self, now: Instant, from: Leg, taken_at: Option<Instant>) -> bool {
        let told = self.splice.tcb(from).receiver.fin_acknowledged();
        if told && taken_at.is_some_and(|at| now < at + PATIENCE) {
            return false;
        }
        self.cut_drain(now, from);
        true
    }
}

/// What the peer of `tcb` answers in every state: a segment from right below what it expects, as a
/// keep-alive.
fn question(now: Instant, tcb: &Tcb) -> TcpHeader {
    let below = tcb.sender.snd_una().saturating_back(Bytes::ONE);
    let state = tcb.handshake().timestamps;
    let timestamps =
        state.map(|state| Timestamps { value: state.clock.value(now), echo: state.recent });
    let receiver = &tcb.receiver;
    let rcv_wnd = receiver.rcv_adv().saturating_sub(receiver.expected());
    let window = (rcv_wnd.count() >> receiver.window_shift()).min(u64::from(u16::MAX));
    TcpHeader {
        flags: Flags::ACK,
        window: window as u16,
        options: TcpOptions { timestamps, ..TcpOptions::default() },
        ..tcb.reset(Some(tcb.handshake().snd_isn + below))
    }
}
