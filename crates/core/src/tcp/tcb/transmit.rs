//! Making segments of what the sender and the receiver want to send.

use super::{Outgoing, Tcb};
use crate::tcp::ecn::{Ecn, EcnState};
use crate::tcp::limiter::Limiter;
use crate::tcp::sender::Transmission;
use crate::time::Instant;
use crate::units::{Bytes, Offset};
use crate::wire::{Flags, SackBlock, TcpHeader, Timestamps};

impl Tcb {
    /// The next segment to be sent now.
    ///
    /// # Errors
    /// The limiter of the data, if no acknowledgment is to be sent either.
    pub fn poll_transmit(&mut self, now: Instant) -> Result<Outgoing, Limiter> {
        self.raise_if_due(now);
        if let Some(rest) = self.behind_syn.take() {
            return Ok(self.stream_segment(now, rest));
        }
        // SACK blocks would shorten a data segment, so they travel alone.
        if self.receiver.ack_due(now) && self.receiver.has_sack_blocks() {
            return Ok(self.acknowledgment(now));
        }
        match self.sender.poll_transmit(now) {
            Ok(sent) => Ok(self.stream_segment(now, sent)),
            Err(_) if self.receiver.ack_due(now) => Ok(self.acknowledgment(now)),
            Err(limiter) => Err(limiter),
        }
    }

    /// A segment that the sender lets out: the path may turn out to take one of its length.
    fn stream_segment(&mut self, now: Instant, sent: Transmission) -> Outgoing {
        let out = self.data_segment(now, sent);
        self.note_sent(&out.data);
        out
    }

    fn acknowledgment(&mut self, now: Instant) -> Outgoing {
        let at = self.seq_without_data();
        let cause = self.receiver.ack_cause();
        let mut tcp = self.header(now, at);
        let room = match (self.handshake.timestamps, self.counts) {
            (None, None) => 4,
            (Some(_), Some(_)) => 2,
            _ => 3,
        };
        for block in self.receiver.sack_blocks(room) {
            let (left, right) =
                (self.handshake.rcv_isn + block.start, self.handshake.rcv_isn + block.end);
            tcp.options.sack.push(SackBlock { left, right });
        }
        Outgoing { tcp, data: at..at, ecn: Ecn::NotCapable, cause }
    }

    pub(super) fn data_segment(&mut self, now: Instant, sent: Transmission) -> Outgoing {
        if sent.range.start == Offset::SYN && !sent.range.is_empty() && self.own_syn.is_some() {
            return self.syn_segment(now, &sent);
        }
        let mut tcp = self.header(now, sent.range.start);
        if sent.push {
            tcp.flags = tcp.flags | Flags::PSH;
        }
        if sent.fin {
            tcp.flags = tcp.flags | Flags::FIN;
        }
        // RFC 3168, 6.1.5 and 6.1.6: neither retransmissions nor window probes.
        let first_time = !sent.retransmission && !sent.range.is_empty();
        let mut mark = Ecn::NotCapable;
        if let Some(ecn) = self.ecn.as_mut().filter(|_| first_time) {
            mark = Ecn::Capable0;
            if ecn.take_reduced() {
                tcp.flags = tcp.flags | Flags::CWR;
            }
        }
        Outgoing { tcp, data: sent.range, ecn: mark, cause: sent.cause }
    }

    /// Where a segment without data stands
    /// ([`Sender::seq_without_data`](crate::tcp::sender::Sender::seq_without_data)).
    pub fn seq_without_data(&self) -> Offset {
        self.sender.seq_without_data(Bytes::new(1 << self.handshake.snd_shift))
    }

    pub(super) fn header(&mut self, now: Instant, at: Offset) -> TcpHeader {
        let window = self.receiver.acknowledge();
        let mut tcp = TcpHeader {
            seq: self.handshake.snd_isn + at,
            ack: self.handshake.rcv_isn + self.receiver.ack_offset(),
            flags: Flags::ACK,
            window,
            ..TcpHeader::default()
        };
        if self.ecn.as_ref().is_some_and(EcnState::echoes) {
            tcp.flags = tcp.flags | Flags::ECE;
        }
        if let Some(state) = self.handshake.timestamps {
            tcp.options.timestamps =
                Some(Timestamps { value: state.clock.value(now), echo: state.recent });
        }
        tcp.options.cc = self.counts.map(|counts| counts.send);
        tcp
    }
}
