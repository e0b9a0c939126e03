//! The live link emulator: two TUN devices with one link for each direction between them.
//!
//! The same [`Link`](bentpipe_core::link::Link) runs in the simulator; here its clock is the kernel's and its packets are real.
//!
//! A packet enters its link when it is read and leaves when its moment has come, or as soon after
//! as the loop wakes: events inside the link keep their exact moments, so lateness does not add up. What came while
//! it was late is made up for (`backlog`).

use crate::backlog::{self, Away};
use crate::clock::Clock;
use crate::datagram::Datagram;
use crate::lateness::Lateness;
use crate::link_control::{LinkQuestion, LinkQuestions, LinkState};
use crate::poll::{self, LoopError};
use crate::signals::{Signal, Signals};
use crate::tun::{MAX_READ, Tun};
use crate::vnet_hdr::VnetHdr;
use crate::way::{Way, WayParts};
use bentpipe_core::link::{Count, Counters, Occupancy};
use bentpipe_core::time::Instant;
use bentpipe_core::units::Rate;
use std::os::fd::AsFd;

/// Packets read from one device before the other one and the clock have their turn.
const BURST: usize = 64;
/// Packets read at once when the loop was away: as many as a device's queue holds.
const BACKLOG: usize = 5000;

/// Where a packet goes that came in from one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Back into the same device: the kernel diverted the packet and now routes it on.
    Same,
    /// Into the other device: each leads to a host of its own.
    Other,
}

/// What became of the packets of both directions.
#[derive(Debug, Clone, Default)]
pub struct LinkSummary {
    /// Direction 0 came in through device 0.
    pub directions: [Counters; 2],
    /// Packets that the kernel did not take back.
    pub refused: [u64; 2],
    /// Packets that arrived twice.
    pub duplicated: [Count; 2],
    /// Packets of which a bit was turned over; they count as lost.
    pub damaged: [Count; 2],
    /// What each direction has carried, from the first packet that left it to the last.
    pub rates: [Option<Rate>; 2],
    /// By how much later than intended packets have left, both directions together.
    pub lateness: Lateness,
}

/// The packets that have left a direction.
#[derive(Debug, Clone, Copy, Default)]
struct Carried {
    /// When the first left, and the last.
    span: Option<(Instant, Instant)>,
    /// Bytes of all but the first.
    bytes: u64,
}

impl Carried {
    fn add(&mut self, now: Instant, bytes: usize) {
        match &mut self.span {
            None => self.span = Some((now, now)),
            Some((_, last)) => {
                *last = now;
                self.bytes += bytes as u64;
            }
        }
    }

    /// None before two packets have left.
    fn rate(&self) -> Option<Rate> {
        let (first, last) = self.span?;
        let seconds = last.saturating_since(first).as_secs_f64();
        let bits = self.bytes as f64 * 8.0 / seconds;
        bits.is_finite().then(|| Rate::from_bits_per_sec(bits.round() as u64))
    }
}

/// An emulated link between two TUN devices.
#[derive(Debug)]
pub struct Emulator {
    clock: Clock,
    tuns: [Tun; 2],
    ways: [Way; 2],
    exit: Exit,
    refused: [u64; 2],
    carried: [Carried; 2],
    lateness: Lateness,
    questions: Option<LinkQuestions>,
}

impl Emulator {
    /// Links of `parts`, one for each direction: direction *i* comes in through `tuns[i]`.
    pub fn new(tuns: [Tun; 2], exit: Exit, parts: [WayParts; 2]) -> Emulator {
        poll::set_timer_slack();
        Emulator {
            clock: Clock::start(),
            tuns,
            ways: parts.map(Way::new),
            exit,
            refused: [0; 2],
            carried: [Carried::default(); 2],
            lateness: Lateness::default(),
            questions: None,
        }
    }

    /// Answers these questions while it runs.
    pub fn answer(&mut self, questions: LinkQuestions) {
        self.questions = Some(questions);
    }

    /// Runs until a signal comes, which it returns, or `stop` becomes readable. It can be run again;
    /// packets stay inside meanwhile.
    ///
    /// # Errors
    /// [`LoopError`].
    pub fn run(
        &mut self,
        signals: &Signals,
        stop: Option<&dyn AsFd>,
    ) -> Result<Option<Signal>, LoopError> {
        let mut buffer = vec![0; MAX_READ];
        let questions = self.questions.as_ref().map(|questions| questions as &dyn AsFd);
        let both = poll::Either::of([questions, stop]).map_err(LoopError::Poll)?;
        loop {
            let now = self.clock.now();
            self.deliver(now);
            let next = self.ways.iter().filter_map(Way::next).min();
            let deadline = backlog::wake_at(now, next);
            let ready =
                poll::wait(&self.clock, (&self.tuns, [true; 2]), signals, Some(&both), deadline)?;
            let away = Away::find(deadline, self.clock.now());
            if ready.own {
                self.reply();
            }
            if ready.signal.is_some() || (ready.own && stop.is_some_and(poll::is_readable)) {
                return Ok(ready.signal);
            }
            for side in 0..2 {
                if ready.tuns[side] {
                    match away {
                        Some(away) => self.admit_backlog(side, away, &mut buffer)?,
                        None => self.admit(side, &mut buffer)?,
                    }
                }
            }
        }
    }

    /// The counters so far.
    pub fn summary(&self) -> LinkSummary {
        LinkSummary {
            directions: self.ways.each_ref().map(Way::counters),
            refused: self.refused,
            duplicated: self.ways.each_ref().map(Way::duplicated),
            damaged: self.ways.each_ref().map(Way::damaged),
            rates: self.carried.each_ref().map(Carried::rate),
            lateness: self.lateness.clone(),
        }
    }

    /// Answers who asks.
    fn reply(&mut self) {
        let Some(questions) = self.questions.take() else { return };
        for (question, reply) in questions.take() {
            let now = self.clock.now();
            let held = self.ways.each_mut().map(|way| way.held(now));
            let state = LinkState {
                uptime: now.saturating_since(Instant::ZERO),
                summary: self.summary(),
                queued: held.map(|(queued, _)| queued),
                inside: held.map(|(_, inside)| inside),
            };
            if let LinkQuestion::Change(changes) = question {
                for (way, change) in self.ways.iter_mut().zip(*changes) {
                    change.into_iter().for_each(|change| way.change(now, change));
                }
            }
            // Who asked may have lost patience.
            let _ = reply.try_send(state);
        }
        self.questions = Some(questions);
    }

    /// Begins anew, at time zero, as links of `parts` that nothing has crossed yet. What was inside
    /// is gone.
    pub fn restart(&mut self, parts: [WayParts; 2]) {
        self.clock = Clock::start();
        self.ways = parts.map(Way::new);
        self.refused = [0; 2];
        self.carried = [Carried::default(); 2];
        self.lateness = Lateness::default();
    }

    /// The counters of both directions, and how full their queues have been, up to now.
    pub fn counts(&mut self) -> [(Counters, Occupancy); 2] {
        let now = self.clock.now();
        self.ways.each_mut().map(|way| {
            let occupancy = way.occupancy(now);
            (way.counters(), occupancy)
        })
    }

    /// Writes every packet that has arrived by `now`.
    fn deliver(&mut self, now: Instant) {
        for side in 0..2 {
            let out = match self.exit {
                Exit::Same => side,
                Exit::Other => 1 - side,
            };
            while let Some((intended, packet)) = self.ways[side].pop(now) {
                let actual = self.clock.now();
                self.lateness.add(actual.saturating_since(intended));
                self.carried[side].add(actual, packet.0.len());
                if let Err(error) = self.tuns[out].write(&VnetHdr::default(), &[&packet.0]) {
                    tracing::debug!(device = self.tuns[out].name(), %error, "packet not taken");
                    self.refused[side] += 1;
                }
            }
        }
    }

    /// Reads up to [`BURST`] packets from device `side` into its link.
    fn admit(&mut self, side: usize, buffer: &mut [u8]) -> Result<(), LoopError> {
        for _ in 0..BURST {
            let Some(packet) = self.read(side, buffer)? else { break };
            self.ways[side].push(self.clock.now(), packet);
        }
        Ok(())
    }

    /// Reads what has come to device `side` while the loop was away into its link.
    fn admit_backlog(
        &mut self,
        side: usize,
        away: Away,
        buffer: &mut [u8],
    ) -> Result<(), LoopError> {
        let mut packets = Vec::new();
        while packets.len() < BACKLOG {
            let Some(packet) = self.read(side, buffer)? else { break };
            packets.push(packet);
        }
        let count = packets.len();
        for (number, packet) in packets.into_iter().enumerate() {
            self.ways[side].push(away.arrival(number, count), packet);
        }
        Ok(())
    }

    /// The next packet of device `side`, if there is one.
    fn read(&mut self, side: usize, buffer: &mut [u8]) -> Result<Option<Datagram>, LoopError> {
        match self.tuns[side].read(buffer) {
            Ok(Some((_, packet))) => {
                if self.exit == Exit::Same {
                    restore_hop(packet);
                }
                Ok(Some(Datagram(packet.to_vec())))
            }
            Ok(None) => Ok(None),
            Err(source) => Err(LoopError::read(&self.tuns[side], source)),
        }
    }
}

/// Adds back the hop that the way into the device has cost: the kernel takes another one on the way
/// out, and one host is one hop. The TTL was at least 1, or the kernel would not have forwarded.
fn restore_hop(packet: &mut [u8]) {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) if packet.len() >= 20 && packet[8] < 255 => {
            packet[8] += 1;
            // RFC 1624, equation 3: HC' = ~(~HC + ~m + m'); m' − m is 0x0100.
            let sum = u32::from(!u16::from_be_bytes([packet[10], packet[11]])) + 0x0100;
            let folded = (sum & 0xffff) + (sum >> 16);
            let checksum = !(folded as u16);
            packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
        Some(6) if packet.len() >= 40 && packet[7] < 255 => packet[7] += 1,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The Internet checksum of a header that includes its own is zero when inverted (RFC 1071).
    fn sums_to_zero(header: &[u8]) -> bool {
        let sum: u32 =
            header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        (folded & 0xffff) + (folded >> 16) == 0xffff
    }

    #[test]
    fn a_restored_hop_keeps_the_header_checksum_right() {
        for id in 0..=u16::MAX {
            let mut packet = [0x45, 0, 0, 20, 0, 0, 0x40, 0, 63, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
            packet[4..6].copy_from_slice(&id.to_be_bytes());
            let sum: u32 = packet
                .chunks(2)
                .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
                .sum();
            let folded = (sum & 0xffff) + (sum >> 16);
            packet[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
            assert!(sums_to_zero(&packet));
            restore_hop(&mut packet);
            assert_eq!(packet[8], 64);
            assert!(sums_to_zero(&packet), "{id}");
        }
    }

    #[test]
    fn what_is_no_ip_packet_is_left_alone() {
        for packet in [&mut [][..], &mut [0x45; 19], &mut [0x60; 39], &mut [0xff; 64]] {
            let before = packet.to_vec();
            restore_hop(packet);
            assert_eq!(packet, before);
        }
    }
}
