//! Connections that are forwarded and cannot go on, as bytes that were acknowledged to their sender
//! went with a gateway that crashed: both hosts are reset, who would else wait until they time out.
//!
//! Whether that is so shows in what passes ([`Gap`] has the rule), once a gateway stands there again, or
//! in any other that forwards the connection. What is known of connections is kept in a table with a limit. A
//! connection that makes progress has no place in it for longer than a round trip, as the first
//! acknowledgment of what was noted takes it out.

mod gap;
mod probe;

use super::Gateway;
use crate::handshake::Relay;
use crate::key::{Endpoint, FlowKey};
use crate::observe::Event;
use crate::policy::Action;
use crate::segment::Segment;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::{Flags, IpHeader, SeqNum, TcpHeader, TcpOptions};
use gap::{Gap, Passing, Sign};
use std::collections::BTreeMap;

/// The most connections of which something is kept: some 300 KB.
const MAX: usize = 2048;

/// How often a full table is looked through for what may give way.
const LOOK: Duration = Duration::from_millis(100);

/// By whether the sender's end is the lower one in the connection's name.
type Directions = [Option<Gap>; 2];

/// The table.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    connections: BTreeMap<FlowKey, Directions>,
    /// Before that a full table is not looked through again.
    look_at: Instant,
}

impl Gaps {
    /// Whether something is kept of this connection.
    pub(super) fn contains(&self, key: &FlowKey) -> bool {
        self.connections.contains_key(key)
    }

    /// Reads a segment that is forwarded, and says what it shows.
    fn read(&mut self, now: Instant, segment: &Segment<'_>) -> Sign {
        let Segment { ip, tcp, payload, .. } = segment;
        let key = FlowKey::of(ip, tcp);
        if tcp.has(Flags::SYN) || tcp.has(Flags::RST) {
            // Another connection, or none any more.
            self.connections.remove(&key);
            return Sign::Nothing;
        }
        if !tcp.has(Flags::ACK) {
            return Sign::Nothing;
        }
        let occupied = payload.len() as u64 + u64::from(tcp.has(Flags::FIN));
        let passing = Passing { ip, tcp, occupied };
        let from = usize::from(key.is_low((ip.src, tcp.src_port)));
        let Some(directions) = self.connections.get_mut(&key) else {
            if self.has_room(now, occupied == 0) {
                let mut directions = Directions::default();
                directions[from] = Some(Gap::new(now, passing));
                self.connections.insert(key, directions);
            }
            return Sign::Nothing;
        };
        // What answers data is no probe.
        let answers_data = directions[1 - from].as_ref().is_some_and(|gap| !gap.empty);
        let shown = match &mut directions[from] {
            Some(gap) => gap.on_sent(now, passing),
            none => {
                *none = (occupied > 0 || !answers_data).then(|| Gap::new(now, passing));
                Sign::Nothing
            }
        };
        let answer = directions[1 - from].as_mut().map(|gap| gap.on_answer(now, passing));
        if answer == Some(Sign::Sound) {
            directions[1 - from] = None;
        }
        if directions.iter().all(Option::is_none) {
            self.connections.remove(&key);
        }
        answer.filter(|sign| !matches!(sign, Sign::Sound | Sign::Nothing)).unwrap_or(shown)
    }

    /// The connection is not forwarded any more.
    pub(super) fn forget(&mut self, key: &FlowKey) {
        self.connections.remove(key);
    }

    /// Whether another connection finds a place, which others may have to leave. An empty segment finds one in half
    /// of the table, from where only such give way to it.
    fn has_room(&mut self, now: Instant, empty: bool) -> bool {
        let max = if empty { MAX / 2 } else { MAX };
        if self.connections.len() >= max && self.look_at <= now {
            self.look_at = now + LOOK;
            self.connections.retain(|_, directions| {
                directions.iter().flatten().any(|gap| gap.keeps_its_place(now, empty))
            });
        }
        self.connections.len() < max
    }
}

impl<B: Buffer> Gateway<B> {
    /// A segment of no flow is forwarded.
    pub(super) fn watch_forwarded(&mut self, now: Instant, segment: &Segment<'_>) {
        let sign = self.gaps.read(now, segment);
        if matches!(sign, Sign::Sound | Sign::Nothing) || !self.may_concern(segment) {
            return;
        }
        let Segment { from, ip, tcp, .. } = *segment;
        let ends = [(ip.src, tcp.src_port), (ip.dst, tcp.dst_port)];
        let (lost, [receiver, sender], side) = match sign {
            Sign::Sound | Sign::Nothing => return,
            Sign::Ask(seq) => {
                self.relays.push_back((from.other(), question(ip, tcp, seq)));
                return;
            }
            Sign::Lost(lost) => (lost, ends, from),
            Sign::Confirmed(lost) => (lost, [ends[1], ends[0]], from.other()),
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
        self.gaps.connections.len()
    }

    /// Whether the policy lets us have a hand in the connection: as either host may have opened it, both
    /// ways to read a segment are asked.
    fn may_concern(&self, segment: &Segment<'_>) -> bool {
        let Segment { from, ip, tcp, payload } = *segment;
        let ip = IpHeader { src: ip.dst, dst: ip.src, ..*ip };
        let tcp = TcpHeader { src_port: tcp.dst_port, dst_port: tcp.src_port, ..tcp.clone() };
        let reverse = Segment { from: from.other(), ip: &ip, tcp: &tcp, payload };
        [segment, &reverse].iter().all(|one| self.config.policy.action(one) == Action::Split)
    }
}

/// A copy of a segment without data, which its receiver answers as it does not expect `seq`. Of its options it has
/// the timestamps, without which it would be dropped.
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
