//! A host's parameters.

use super::{Opening, TIME_WAIT};
use crate::tcp::receiver::AckPolicy;
use crate::tcp::sender::SenderConfig;
use crate::tcp::tcb::{Counts, MIN_PATH_MTU};
use crate::time::Duration;
use crate::units::Bytes;
use crate::wire::{Flags, TcpHeader};

/// Parameters of a [`super::Connection`]. The default is close to today's Linux.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConnectionConfig {
    /// The MSS that is announced, and the most that is sent in a segment (options included).
    pub mss: u16,
    /// Send buffer in bytes.
    pub send_buffer: Bytes,
    /// Receive buffer in bytes: the largest window, at first if it is tuned.
    pub receive_buffer: Bytes,
    /// The receive buffer grows up to this size with what is read in a round trip; None: it keeps
    /// its size. See [`AutoTuning`](crate::tcp::receiver::AutoTuning).
    pub receive_buffer_max: Option<Bytes>,
    /// Offer window scaling with this shift.
    pub window_scale: Option<u8>,
    /// Offer SACK.
    pub sack: bool,
    /// Offer timestamps.
    pub timestamps: bool,
    /// Offer explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// How the connection comes into being.
    pub opening: Opening,
    /// Speak T/TCP (RFC 1644) where the connection is opened with what a
    /// [`TaoCache`](crate::tcp::transaction::TaoCache) says.
    pub transactions: bool,
    /// When acknowledgments are sent.
    pub ack_policy: AckPolicy,
    /// The sender's parameters; segment size and recovery follow from the handshake.
    pub sender: SenderConfig,
    /// How often a SYN is retransmitted before giving up.
    pub syn_retries: u32,
    /// The minimum IPv4 MTU that ICMP can bring the connection down to; IPv6's is 1280.
    pub min_mtu: u32,
    /// Length of TIME-WAIT.
    pub time_wait: Duration,
}

impl Default for ConnectionConfig {
    fn default() -> ConnectionConfig {
        ConnectionConfig {
            mss: 1460,
            send_buffer: Bytes::new(4 << 20),
            receive_buffer: Bytes::new(4 << 20),
            receive_buffer_max: None,
            window_scale: Some(7),
            sack: true,
            timestamps: true,
            ecn: false,
            opening: Opening::Handshake,
            transactions: false,
            ack_policy: AckPolicy::Delayed(Duration::from_millis(40)),
            sender: SenderConfig::default(),
            syn_retries: 6,
            min_mtu: MIN_PATH_MTU,
            time_wait: TIME_WAIT,
        }
    }
}

/// What both ends have agreed on, seen from one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NegotiatedOptions {
    /// Shifts of the windows that we receive and send.
    pub(super) shifts: Option<(u8, u8)>,
    pub(super) sack: bool,
    /// The peer's TSval.
    pub(super) timestamps: Option<u32>,
    pub(super) peer_mss: u16,
    pub(super) ecn: bool,
    /// The peer's connection count (RFC 1644), if both speak T/TCP.
    pub(super) count: Option<u32>,
}

impl NegotiatedOptions {
    /// Bytes of options in every segment.
    pub(super) fn options_len(&self) -> Bytes {
        let timestamps = if self.timestamps.is_some() { Bytes::new(12) } else { Bytes::ZERO };
        timestamps + self.count.map_or(Bytes::ZERO, |_| Counts::OPTION_LEN)
    }
}

impl ConnectionConfig {
    /// The terms after the peer's SYN (or SYN-ACK); `count` is ours, if we speak T/TCP.
    pub(super) fn agree(&self, syn: &TcpHeader, count: Option<u32>) -> NegotiatedOptions {
        let options = &syn.options;
        let theirs = match syn.has(Flags::ACK) {
            true => options.cc.filter(|_| options.cc_echo == count),
            false => options.cc.or(options.cc_new),
        };
        NegotiatedOptions {
            shifts: syn.options.window_scale.zip(self.window_scale),
            sack: self.sack && syn.options.sack_permitted,
            timestamps: syn.options.timestamps.filter(|_| self.timestamps).map(|ts| ts.value),
            // RFC 9293, 3.7.1: 536 if the option is missing. Far smaller ones are an attack.
            peer_mss: syn.options.mss.unwrap_or(536).max(64),
            // RFC 3168, 6.1.1: a SYN offers with both flags, a SYN-ACK agrees with one.
            ecn: self.ecn && syn.has(Flags::ECE) && syn.has(Flags::CWR) != syn.has(Flags::ACK),
            count: theirs.filter(|_| count.is_some()),
        }
    }

    /// The sender's parameters under these terms.
    pub(super) fn sender(&self, negotiated: &NegotiatedOptions) -> SenderConfig {
        let smss = Bytes::from(self.mss.min(negotiated.peer_mss)) - negotiated.options_len();
        let segments = (self.sender.max_burst / self.sender.smss).max(1);
        SenderConfig {
            smss,
            max_burst: segments * smss,
            recovery: self.sender.recovery.with_sack(negotiated.sack),
            ..self.sender
        }
    }
}
