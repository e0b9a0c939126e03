//! Forwarded connections whose bytes are lost: both hosts are probed, and reset.

use super::Gateway;
use crate::forwarded::Evidence;
use crate::handshake::Relay;
use crate::key::Endpoint;
use crate::observe::Event;
use crate::policy::Action;
use crate::segment::Segment;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::Instant;
use bentpipe_core::wire::{Flags, IpHeader, SeqNum, TcpHeader, TcpOptions};

impl<B: Buffer> Gateway<B> {
    /// A segment of no flow is forwarded.
    pub(super) fn watch_forwarded(&mut self, now: Instant, segment: &Segment<'_>) {
        let evidence = self.gaps.read(now, segment);
        if matches!(evidence, Evidence::Progress | Evidence::None) || !self.may_concern(segment) {
            return;
        }
        let Segment { from, ip, tcp, .. } = *segment;
        let ends = [(ip.src, tcp.src_port), (ip.dst, tcp.dst_port)];
        let (lost, [receiver, sender], side) = match evidence {
            Evidence::Progress | Evidence::None => return,
            Evidence::Probe(seq) => {
                self.relays.push_back((from.other(), question(ip, tcp, seq)));
                return;
            }
            Evidence::Lost(lost) => (lost, ends, from),
            Evidence::Confirmed(lost) => (lost, [ends[1], ends[0]], from.other()),
        };
        if lost.first {
            self.summary.forwarded_resets += 1;
            let (sender, receiver) = (sender.into(), receiver.into());
            let lost_bytes = lost.bytes();
            self.events.push(Event::LostElsewhere { sender, receiver, lost_bytes });
        }
        let [senders, receivers] = lost.hop_limits;
        let to_receiver = reset([sender, receiver], lost.from, lost.sender_next, senders);
        let to_sender = reset([receiver, sender], lost.sender_next, lost.from, receivers);
        self.relays.push_back((side, to_receiver));
        self.relays.push_back((side.other(), to_sender));
    }

    /// Forwarded connections of which something is kept.
    #[cfg(test)]
    pub(crate) fn kept_of_forwarded(&self) -> usize {
        self.gaps.len()
    }

    /// Whether the policy lets us have a hand in the connection: as either host may have opened it,
    /// both ways to read a segment are asked.
    fn may_concern(&self, segment: &Segment<'_>) -> bool {
        let Segment { from, ip, tcp, payload } = *segment;
        let ip = IpHeader { src: ip.dst, dst: ip.src, ..*ip };
        let tcp = TcpHeader { src_port: tcp.dst_port, dst_port: tcp.src_port, ..tcp.clone() };
        let reverse = Segment { from: from.other(), ip: &ip, tcp: &tcp, payload };
        [segment, &reverse].iter().all(|one| self.config.policy.action(one) == Action::Split)
    }
}

/// A copy of a segment without data, which its receiver answers as it does not expect `seq`. Of its
/// options it has the timestamps, without which it would be dropped.
fn question(ip: &IpHeader, tcp: &TcpHeader, seq: SeqNum) -> Relay {
    let options = TcpOptions { timestamps: tcp.options.timestamps, ..TcpOptions::default() };
    (*ip, TcpHeader { seq, flags: Flags::ACK, options, ..tcp.clone() })
}

/// A RST from the first end to the second, which expects `seq` and has said `ack`.
fn reset([from, to]: [Endpoint; 2], seq: SeqNum, ack: SeqNum, hop_limit: u8) -> Relay {
    let ip = IpHeader { hop_limit, ..IpHeader::between(from.0, to.0) };
    let (src_port, dst_port) = (from.1, to.1);
    let flags = Flags::RST | Flags::ACK;
    (ip, TcpHeader { src_port, dst_port, seq, ack, flags, ..TcpHeader::default() })
}
