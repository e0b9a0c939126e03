//! SYN-SENT and SYN-RECEIVED (RFC 9293, 3.5 and 3.10.7), retransmission of the SYN included.

use super::config::{ConnectionConfig, Terms};
use crate::tcp::receiver::{Receiver, ReceiverConfig};
use crate::tcp::rtt::RttEstimator;
use crate::tcp::sender::{InitialWindow, Sender};
use crate::tcp::tcb::{Agreed, Tcb, TimestampClock, TimestampState};
use crate::time::{Duration, Instant};
use crate::wire::{Flags, SeqNum, TcpHeader, TcpOptions, Timestamps};

/// What a segment means for the handshake.
#[derive(Debug)]
pub(super) enum Step {
    /// Nothing, or the SYN was noted.
    Wait,
    /// Answer with this RST.
    Answer(TcpHeader),
    /// The peer has refused.
    Refused,
    /// Both are synchronised.
    Complete(Box<Tcb>),
}

/// A handshake under way.
#[derive(Debug)]
pub(super) struct Handshake {
    config: ConnectionConfig,
    isn: SeqNum,
    /// The peer's initial sequence number and the terms, once its SYN has come.
    peer: Option<(SeqNum, Terms)>,
    rto: RttEstimator,
    deadline: Instant,
    first_sent: Instant,
    retries: u32,
    send_now: bool,
}

impl Handshake {
    pub(super) fn active(now: Instant, config: &ConnectionConfig, isn: SeqNum) -> Handshake {
        let rto = RttEstimator::new(config.sender.rto);
        Handshake {
            config: *config,
            isn,
            peer: None,
            deadline: rto.deadline(now),
            rto,
            first_sent: now,
            retries: 0,
            send_now: true,
        }
    }

    pub(super) fn passive(
        now: Instant,
        config: &ConnectionConfig,
        isn: SeqNum,
        syn: &TcpHeader,
    ) -> Handshake {
        let peer = Some((syn.seq, config.agree(syn)));
        Handshake { peer, ..Self::active(now, config, isn) }
    }

    pub(super) fn syn_received(&self) -> bool {
        self.peer.is_some()
    }

    pub(super) fn on_segment(&mut self, now: Instant, tcp: &TcpHeader) -> Step {
        let acks_syn = tcp.has(Flags::ACK) && tcp.ack == self.isn + 1;
        match self.peer {
            // SYN-SENT (3.10.7.3).
            None => {
                if tcp.has(Flags::ACK) && !acks_syn {
                    return if tcp.has(Flags::RST) {
                        Step::Wait
                    } else {
                        Step::Answer(refusal(tcp))
                    };
                }
                if tcp.has(Flags::RST) {
                    return if acks_syn { Step::Refused } else { Step::Wait };
                }
                if !tcp.has(Flags::SYN) {
                    return Step::Wait;
                }
                let terms = self.config.agree(tcp);
                self.peer = Some((tcp.seq, terms));
                if acks_syn {
                    return Step::Complete(self.complete(now, tcp, u64::from(tcp.window)));
                }
                // Simultaneous open: answer with a SYN-ACK.
                self.send_now = true;
                Step::Wait
            }
            // SYN-RECEIVED (3.10.7.4).
            Some((peer_isn, terms)) => {
                if tcp.has(Flags::RST) {
                    return if tcp.seq == peer_isn + 1 { Step::Refused } else { Step::Wait };
                }
                if tcp.has(Flags::SYN) && !tcp.has(Flags::ACK) {
                    self.send_now |= tcp.seq == peer_isn;
                    return Step::Wait;
                }
                if !tcp.has(Flags::ACK) {
                    return Step::Wait;
                }
                if !acks_syn {
                    return Step::Answer(refusal(tcp));
                }
                let shift = if tcp.has(Flags::SYN) { 0 } else { terms.shifts.map_or(0, |s| s.0) };
                Step::Complete(self.complete(now, tcp, u64::from(tcp.window) << shift))
            }
        }
    }

    fn complete(&mut self, now: Instant, tcp: &TcpHeader, window: u64) -> Box<Tcb> {
        let (rcv_isn, terms) = self.peer.expect("the peer's SYN has come");
        let rtt = (self.retries == 0).then(|| now.saturating_since(self.first_sent));
        let mut config = self.config.sender(&terms);
        if self.retries > 0 {
            // RFC 5681, 3.1, and RFC 6298, rule 5.7: after a lost SYN one segment, and patience.
            config.initial_window = InitialWindow::Segments(1);
            config.rto.initial = config.rto.initial.max(Duration::from_secs(3));
        }
        let mut sender = Sender::new(config, 1, window, rtt);
        sender.extend(1);
        let shift = terms.shifts.map_or(0, |shifts| shifts.1);
        let receiver = ReceiverConfig {
            rmss: u64::from(self.config.mss.min(terms.peer_mss))
                - if terms.timestamps.is_some() { 12 } else { 0 },
            ack_policy: self.config.ack_policy,
            window_shift: shift,
            sack: terms.sack,
            hold_fin: false,
        };
        let promised = 1 + self.config.receive_buffer.min(u64::from(u16::MAX));
        let mut receiver = Receiver::new(receiver, 1, promised);
        receiver.set_limit(1 + self.config.receive_buffer);
        let timestamps = terms.timestamps.map(|recent| TimestampState {
            clock: TimestampClock::Own(self.isn.0),
            recent: tcp.options.timestamps.map_or(recent, |ts| ts.value),
            recent_at: now,
        });
        let snd_shift = terms.shifts.map_or(0, |shifts| shifts.0);
        let agreed = Agreed { snd_isn: self.isn, rcv_isn, snd_shift, timestamps };
        let mut tcb = Tcb::new(agreed, sender, receiver);
        if terms.ecn {
            tcb.enable_ecn();
        }
        Box::new(tcb)
    }

    /// True if the peer has not answered often enough.
    pub(super) fn on_timer(&mut self, now: Instant) -> bool {
        if now < self.deadline {
            return false;
        }
        self.retries += 1;
        self.rto.back_off();
        self.deadline = self.rto.deadline(now);
        self.send_now = true;
        self.retries > self.config.syn_retries
    }

    pub(super) fn poll_timer(&self) -> Instant {
        self.deadline
    }

    pub(super) fn poll_transmit(&mut self) -> Option<TcpHeader> {
        if !std::mem::take(&mut self.send_now) {
            return None;
        }
        let window = u16::try_from(self.config.receive_buffer).unwrap_or(u16::MAX);
        let value = self.isn.0.wrapping_add((self.first_sent.as_nanos() / 1_000_000) as u32);
        let config = &self.config;
        let mut tcp =
            TcpHeader { seq: self.isn, window, flags: Flags::SYN, ..TcpHeader::default() };
        let options = &mut tcp.options;
        options.mss = Some(config.mss);
        match self.peer {
            None => {
                options.window_scale = config.window_scale;
                options.sack_permitted = config.sack;
                options.timestamps = config.timestamps.then_some(Timestamps { value, echo: 0 });
                // RFC 3168, 6.1.1.1: a SYN that was lost may have been dropped for its flags.
                if config.ecn && self.retries == 0 {
                    tcp.flags = tcp.flags | Flags::ECE | Flags::CWR;
                }
            }
            Some((peer_isn, terms)) => {
                options.window_scale = terms.shifts.map(|shifts| shifts.1);
                options.sack_permitted = terms.sack;
                options.timestamps = terms.timestamps.map(|echo| Timestamps { value, echo });
                tcp.flags = Flags::SYN | Flags::ACK;
                if terms.ecn {
                    tcp.flags = tcp.flags | Flags::ECE;
                }
                tcp.ack = peer_isn + 1;
            }
        }
        debug_assert!(tcp.options.wire_len() <= TcpOptions::MAX_LEN);
        Some(tcp)
    }
}

/// The RST for an unacceptable acknowledgment (RFC 9293, 3.10.7.3).
fn refusal(tcp: &TcpHeader) -> TcpHeader {
    TcpHeader { seq: tcp.ack, flags: Flags::RST, ..TcpHeader::default() }
}
