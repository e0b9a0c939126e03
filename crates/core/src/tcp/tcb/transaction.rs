//! What T/TCP (RFC 1644) adds to a synchronised connection: every segment bears the count of its
//! direction, and while our SYN is not acknowledged (the starred states of 3.3) it goes with the
//! first data, which need not wait for that.

use super::{Admission, Arrival, Outgoing, Tcb};
use crate::tcp::ecn::Ecn;
use crate::tcp::sender::Transmission;
use crate::time::Instant;
use crate::units::{Bytes, Offset};
use crate::wire::{Flags, TcpHeader, TcpOptions};
use serde::{Deserialize, Serialize};

/// The counts of a connection whose ends both speak T/TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// CCsend: of our segments.
    pub send: u32,
    /// CCrecv: of the peer's.
    pub receive: u32,
}

impl Counts {
    /// How long the option is in every segment, padding included.
    pub const OPTION_LEN: Bytes = Bytes::new(8);
}

/// Our SYN, which goes with the stream's first data.
#[derive(Debug, Clone)]
pub struct OwnSyn {
    /// Its options, apart from those that every segment has.
    pub options: TcpOptions,
    /// How much data fits behind it.
    pub room: Bytes,
}

impl Tcb {
    /// Both ends speak T/TCP: segments of another count are not of this connection.
    pub fn enable_counts(&mut self, counts: Counts) {
        self.counts = Some(counts);
    }

    /// The counts, if both ends speak T/TCP.
    pub fn counts(&self) -> Option<Counts> {
        self.counts
    }

    /// The SYN is still to be sent, at offset 0 of the sender, which begins there.
    pub fn send_syn(&mut self, syn: OwnSyn) {
        self.own_syn = Some(Box::new(syn));
    }

    /// Whether our SYN is not acknowledged: the connection is synchronised from one side only.
    pub fn sends_syn(&self) -> bool {
        self.sender.snd_una() == Offset::SYN
    }

    /// Whether a segment bears the count of this connection (RFC 1644, 3.4).
    pub(super) fn is_of_another_count(&self, tcp: &TcpHeader) -> bool {
        self.counts.is_some_and(|counts| tcp.options.cc != Some(counts.receive))
    }

    /// The peer's SYN with its data, which came before the connection was synchronised. A SYN-ACK
    /// is also an acknowledgment, whose window is not scaled.
    pub fn on_syn(&mut self, now: Instant, tcp: &TcpHeader, len: usize) -> Arrival {
        let stripped =
            TcpHeader { seq: tcp.seq + 1, flags: tcp.flags.without(Flags::SYN), ..tcp.clone() };
        if tcp.has(Flags::ACK) {
            let shift = std::mem::take(&mut self.handshake.snd_shift);
            let arrival = self.on_segment(now, &stripped, len, Admission::Accept);
            self.handshake.snd_shift = shift;
            return arrival;
        }
        self.take_text(now, Offset::FIRST, &stripped, len)
    }

    /// The segment with our SYN; what of the data does not fit behind it follows at once.
    pub(super) fn syn_segment(&mut self, now: Instant, sent: &Transmission) -> Outgoing {
        let syn = self.own_syn.clone().expect("the SYN is still to be sent");
        let mut tcp = self.header(now, Offset::SYN);
        let shift = syn.options.window_scale.unwrap_or(0);
        tcp.window = u16::try_from(u64::from(tcp.window) << shift).unwrap_or(u16::MAX);
        tcp.flags = tcp.flags | Flags::SYN;
        tcp.options = TcpOptions { timestamps: tcp.options.timestamps, ..syn.options };
        tcp.options.cc = self.counts.map(|counts| counts.send);
        tcp.options.cc_echo = self.counts.map(|counts| counts.receive);
        let data = Offset::FIRST..sent.range.end.min(Offset::FIRST + syn.room);
        if data.end < sent.range.end {
            self.behind_syn =
                Some(Transmission { range: data.end..sent.range.end, ..sent.clone() });
        } else if sent.fin {
            tcp.flags = tcp.flags | Flags::FIN;
        }
        if sent.push && data.end == sent.range.end && !data.is_empty() {
            tcp.flags = tcp.flags | Flags::PSH;
        }
        Outgoing { tcp, data, ecn: Ecn::NotCapable, cause: sent.cause }
    }
}
