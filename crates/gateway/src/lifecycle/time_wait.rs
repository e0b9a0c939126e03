//! A flow that is over, in as few bytes as will do: for a while it answers who has not heard of its end (RFC
//! 9293, 3.6.1), and there may be as many such flows as have ended in that time.
//!
//! What each host was told last is all that is kept. It is told so again: an acknowledgment for a FIN that is
//! retransmitted and for what is not acceptable (RFC 9293, 3.10.7.4), a RST where the flow was reset.

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

/// A flow that is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeWait {
    until: Instant,
    /// From then on a host is challenged again (RFC 5961, 7).
    silent_until: Instant,
    legs: PerLeg<Last>,
    client_side: Side,
    /// The client is the lower end in the flow's name.
    client_is_low: bool,
    reset: bool,
}

// There may be hundreds of thousands. crates/gateway/tests/many_flows.rs has what it costs with its place in the table.
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
        let (until, reset) = match self.closing.state() {
            CloseState::Closed { at } => (at + config.closed_linger(), false),
            CloseState::Reset { at } => (at + config.linger, true),
            _ => return None,
        };
        let speaks =
            !reset && Leg::BOTH.iter().any(|leg| self.splice.tcb(*leg).poll_timer().is_some());
        if speaks || !self.control.is_empty() {
            return None;
        }
        let client = self.last_of(now, Leg::Client, reset)?;
        let server = self.last_of(now, Leg::Server, reset)?;
        let legs = PerLeg::new(client, server);
        let client_side = sides[Leg::Client];
        Some(TimeWait { until, silent_until: now, legs, client_side, client_is_low, reset })
    }

    fn last_of(&mut self, now: Instant, leg: Leg, reset: bool) -> Option<Last> {
        let IpHeader { hop_limit, traffic_class, flow_label, .. } = self.splice.leg(leg).ip;
        let tcb = self.splice.tcb_mut(leg);
        let TcpHeader { seq, ack, window, .. } = if reset {
            tcb.reset(None)
        } else {
            tcb.receiver.ack_now(Cause::EndOfStream);
            tcb.poll_transmit(now)?.tcp
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

    /// The answer to a segment that has come in on `leg`, between the hosts at `ends`; if there is one.
    pub(crate) fn on_segment(
        &mut self,
        now: Instant,
        leg: Leg,
        ends: PerLeg<Endpoint>,
        segment: &Segment<'_>,
    ) -> Option<Relay> {
        let (tcp, last) = (segment.tcp, &self.legs[leg]);
        if tcp.has(Flags::RST) {
            return None;
        }
        let mut answer = last.header(now);
        if self.reset {
            answer.flags = Flags::RST | Flags::ACK;
            // Where the host says it expects it (RFC 5961, 3.2).
            answer.seq = if tcp.has(Flags::ACK) { tcp.ack } else { last.seq };
        } else {
            let challenged = match last.answer_to(segment) {
                Answer::Nothing => return None,
                Answer::Acknowledgment => false,
                Answer::Challenge => true,
            };
            if challenged && now < self.silent_until {
                return None;
            }
            if challenged {
                self.silent_until = now + CHALLENGE_INTERVAL;
            }
        }
        let (src, dst) = (ends[leg.other()], ends[leg]);
        (answer.src_port, answer.dst_port) = (src.1, dst.1);
        let Last { hop_limit, traffic_class, flow_label, .. } = *last;
        let ip = IpHeader { src: src.0, dst: dst.0, hop_limit, traffic_class, flow_label };
        Some((ip, answer))
    }
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
