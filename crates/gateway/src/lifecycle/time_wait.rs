//! A flow that is over, in as few bytes as will do: for a while it answers who has not heard of its
//! end (RFC 9293, 3.6.1), and there may be as many such flows as have ended in that time.
//!
//! What each host was told last is all that is kept. It is told so again: an acknowledgment for a
//! FIN that is retransmitted and for what is not acceptable (RFC 9293, 3.10.7.4), a RST where the
//! flow was reset.
//!
//! That RST is repeated unasked as well. Without a gateway an application that aborts has data in
//! the network, and each acknowledgment of it brings another RST. Through a gateway the RST comes
//! after all data has been acknowledged: if it is lost, a host that only reads sends nothing that
//! another would answer, and waits for ever.

use super::SplicedFlow;
use super::closing::CloseState;
use crate::Side;
use crate::config::Config;
use crate::handshake::Relay;
use crate::key::{Endpoint, FlowKey};
use crate::leg::{Leg, PerLeg};
use crate::segment::Segment;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::cause::Cause;
use bentpipe_core::tcp::tcb::TimestampClock;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::{Flags, IpHeader, SeqNum, TcpHeader, TcpOptions, Timestamps};

/// The least time between two answers to segments without data or FIN (RFC 5961, 7).
const CHALLENGE_INTERVAL: Duration = Duration::from_millis(500);

/// After how long a RST is repeated for the first time; then after twice as long each time.
const REPEAT_AFTER: Duration = Duration::from_secs(1);

/// How often a RST is repeated: with every tenth packet lost, one host in 10,000 does not hear of
/// it.
const REPEATS: u8 = 3;

/// How far below where its hosts have come a flow's own SYN-ACK may lie, in bytes: one that comes
/// so late is rare.
const OWN: i32 = 1 << 24;

/// A flow that is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeWait {
    until: Instant,
    /// Of an orderly end: from then on a host is challenged again (RFC 5961, 7). Of a reset: then
    /// it is repeated.
    next: Instant,
    legs: PerLeg<Last>,
    client_side: Side,
    /// The client is the lower end in the flow's name.
    client_is_low: bool,
    end: End,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// In order.
    Closed,
    /// In a reset, which has been repeated so often to the hosts that are `told`.
    Reset { repeats: u8, told: PerLeg<bool> },
}

// There may be hundreds of thousands. crates/gateway/tests/many_flows.rs has what it costs with its
// place in the table.
const _: () = assert!(size_of::<TimeWait>() <= 88);

/// What a segment is answered with.
enum Answer {
    Nothing,
    Acknowledgment,
    /// The same, but seldom: two ends that disagree would answer each other for ever.
    Challenge,
}

/// What a host was told last.
#[derive(Debug, Clone, Copy)]
struct Last {
    seq: SeqNum,
    ack: SeqNum,
    /// Whose our timestamps are, and the host's newest.
    timestamps: Option<(TimestampClock, u32)>,
    flow_label: u32,
    window: u16,
    window_shift: u8,
    hop_limit: u8,
    traffic_class: u8,
}

impl<B: Buffer> SplicedFlow<B> {
    /// What is kept of a flow that is over and has nothing to send any more. None of any other.
    pub(crate) fn time_wait(
        &mut self,
        now: Instant,
        config: &Config,
        sides: PerLeg<Side>,
        client_is_low: bool,
    ) -> Option<TimeWait> {
        let (until, next, end) = match self.closing.state() {
            CloseState::Closed { at } => (at + config.closed_linger(), now, End::Closed),
            CloseState::Reset { at, told } => {
                (at + config.linger, now + REPEAT_AFTER, End::Reset { repeats: 0, told })
            }
            _ => return None,
        };
        let reset = end != End::Closed;
        let speaks =
            !reset && Leg::BOTH.iter().any(|leg| self.splice.tcb(*leg).poll_timer().is_some());
        if speaks || !self.control.is_empty() {
            return None;
        }
        let client = self.last_of(now, Leg::Client, reset)?;
        let server = self.last_of(now, Leg::Server, reset)?;
        let legs = PerLeg::new(client, server);
        let client_side = sides[Leg::Client];
        Some(TimeWait { until, next, legs, client_side, client_is_low, end })
    }

    fn last_of(&mut self, now: Instant, leg: Leg, reset: bool) -> Option<Last> {
        let IpHeader { hop_limit, traffic_class, flow_label, .. } = self.splice.leg(leg).ip;
        let tcb = self.splice.tcb_mut(leg);
        let TcpHeader { seq, ack, window, .. } = if reset {
            tcb.reset(None)
        } else {
            tcb.receiver.ack_now(Cause::EndOfStream);
            tcb.poll_transmit(now).ok()?.tcp
        };
        let timestamps = tcb.handshake().timestamps.filter(|_| !reset);
        Some(Last {
            seq,
            ack,
            timestamps: timestamps.map(|state| (state.clock, state.recent)),
            flow_label,
            window,
            window_shift: tcb.receiver.window_shift(),
            hop_limit,
            traffic_class,
        })
    }
}

impl TimeWait {
    /// When it is forgotten.
    pub(crate) fn until(&self) -> Instant {
        self.until
    }

    /// Whether a segment from the host of `leg` is another connection's: a SYN, or where the flow
    /// was reset a SYN-ACK, which answers a SYN that has gone past. The flow's own lies where its
    /// host was and acknowledges no more than was said to it.
    pub(crate) fn gives_way_to(&self, leg: Leg, tcp: &TcpHeader) -> bool {
        let last = &self.legs[leg];
        let near = |at: SeqNum, end: SeqNum| (-OWN..=0).contains(&at.distance_from(end));
        let own = near(tcp.seq, last.ack) && near(tcp.ack, last.seq);
        let accepts = tcp.flags.accept_a_connection() && !own;
        tcp.flags.ask_for_a_connection() || (accepts && self.end != End::Closed)
    }

    /// When [`TimeWait::repeats`] has something to say, or the flow is forgotten.
    pub(crate) fn due(&self) -> Instant {
        match self.end {
            End::Reset { repeats, told } if repeats < REPEATS && told != PerLeg::default() => {
                self.next.min(self.until)
            }
            End::Reset { .. } | End::Closed => self.until,
        }
    }

    /// The RSTs that are to be repeated at `now`, each to the host of a leg.
    pub(crate) fn repeats(
        &mut self,
        now: Instant,
        ends: PerLeg<Endpoint>,
    ) -> impl Iterator<Item = (Leg, Relay)> {
        let mut due = PerLeg::default();
        if let End::Reset { repeats, told } = &mut self.end
            && *repeats < REPEATS
            && self.next <= now
        {
            *repeats += 1;
            self.next = now + REPEAT_AFTER.saturating_mul(1 << *repeats);
            due = *told;
        }
        let legs = self.legs;
        let resets = Leg::BOTH.into_iter().filter(move |&leg| due[leg]);
        resets.map(move |leg| {
            let last = &legs[leg];
            (leg, address(last.reset(now, None), leg, ends, last))
        })
    }

    /// The client and the server, the ends of `key`.
    pub(crate) fn ends(&self, key: &FlowKey) -> PerLeg<Endpoint> {
        PerLeg::new(key.end(self.client_is_low), key.end(!self.client_is_low))
    }

    /// The side of the host of `leg`.
    pub(crate) fn side(&self, leg: Leg) -> Side {
        match leg {
            Leg::Client => self.client_side,
            Leg::Server => self.client_side.other(),
        }
    }

    /// The answer to a segment that has come in on `leg`, between the hosts at `ends`; if there is
    /// one.
    pub(crate) fn on_segment(
        &mut self,
        now: Instant,
        leg: Leg,
        ends: PerLeg<Endpoint>,
        segment: &Segment<'_>,
    ) -> Option<Relay> {
        let (tcp, last) = (segment.tcp, &self.legs[leg]);
        let answer = match &mut self.end {
            End::Reset { told, .. } if tcp.has(Flags::RST) => {
                // The host knows.
                told[leg] = false;
                return None;
            }
            End::Reset { .. } => last.reset(now, tcp.has(Flags::ACK).then_some(tcp.ack)),
            End::Closed if tcp.has(Flags::RST) => return None,
            End::Closed => {
                let challenged = match last.answer_to(segment) {
                    Answer::Nothing => return None,
                    Answer::Acknowledgment => false,
                    Answer::Challenge => true,
                };
                if challenged && now < self.next {
                    return None;
                }
                if challenged {
                    self.next = now + CHALLENGE_INTERVAL;
                }
                last.header(now)
            }
        };
        Some(address(answer, leg, ends, last))
    }
}

/// A segment to the host of `leg`, as from the other end.
fn address(mut tcp: TcpHeader, leg: Leg, ends: PerLeg<Endpoint>, last: &Last) -> Relay {
    let (src, dst) = (ends[leg.other()], ends[leg]);
    (tcp.src_port, tcp.dst_port) = (src.1, dst.1);
    let Last { hop_limit, traffic_class, flow_label, .. } = *last;
    (IpHeader { hop_limit, traffic_class, flow_label, ..IpHeader::between(src.0, dst.0) }, tcp)
}

impl Last {
    /// What the host was told last, once more.
    fn header(&self, now: Instant) -> TcpHeader {
        let timestamps =
            self.timestamps.map(|(clock, echo)| Timestamps { value: clock.value(now), echo });
        TcpHeader {
            seq: self.seq,
            ack: self.ack,
            flags: Flags::ACK,
            window: self.window,
            options: TcpOptions { timestamps, ..TcpOptions::default() },
            ..TcpHeader::default()
        }
    }

    /// A RST: where the host says that it expects it (RFC 5961, 3.2), or where it was sent last.
    fn reset(&self, now: Instant, expected: Option<SeqNum>) -> TcpHeader {
        let last = self.header(now);
        TcpHeader { seq: expected.unwrap_or(self.seq), flags: Flags::RST | Flags::ACK, ..last }
    }

    /// What a segment of a connection that has been closed is answered with.
    fn answer_to(&self, segment: &Segment<'_>) -> Answer {
        let tcp = segment.tcp;
        let occupied = segment.payload.len() as i64 + i64::from(tcp.has(Flags::FIN));
        let from = i64::from(tcp.seq.distance_from(self.ack));
        let window = i64::from(self.window) << self.window_shift;
        let timestamp = tcp.options.timestamps;
        // RFC 7323, 3.2: once agreed on, a segment without timestamps is dropped.
        if self.timestamps.is_some() && timestamp.is_none() && !tcp.has(Flags::SYN) {
            return Answer::Nothing;
        }
        let old = self
            .timestamps
            .zip(timestamp)
            .is_some_and(|((_, recent), ts)| (ts.value.wrapping_sub(recent) as i32) < 0);
        let within = match occupied {
            0 => from == 0 || (0..window).contains(&from),
            _ => from < window && from + occupied > 0,
        };
        let ahead = tcp.has(Flags::ACK) && tcp.ack.distance_from(self.seq) > 0;
        if !tcp.has(Flags::SYN) && !old && within && !ahead {
            // Nothing of it is for us.
            return Answer::Nothing;
        }
        if occupied > 0 { Answer::Acknowledgment } else { Answer::Challenge }
    }
}
