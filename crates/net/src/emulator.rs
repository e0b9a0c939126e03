//! The live link emulator: two TUN devices with one [`Link`] for each direction between them.
//!
//! The same [`Link`] runs in the simulator; here its clock is the kernel's and its packets are real.
//!
//! A packet enters its link when it is read and leaves when its moment has come, or as soon after
//! as the loop wakes: events inside the link keep their exact moments, so lateness does not add up.

use crate::clock::Clock;
use crate::datagram::Datagram;
use crate::poll::{self, LoopError};
use crate::signals::{Signal, Signals};
use crate::tun::{MAX_READ, Tun};
use crate::vnet_hdr::VnetHdr;
use bentpipe_core::link::{Counters, Link, LinkConfig, Occupancy};
use bentpipe_core::time::Instant;
use std::os::fd::AsFd;

/// Packets read from one device before the other one and the clock have their turn.
const BURST: usize = 64;

/// Where a packet goes that came in from one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Back into the same device: the kernel diverted the packet and now routes it on.
    Same,
    /// Into the other device: each leads to a host of its own.
    Other,
}

/// What became of the packets of both directions.
#[derive(Debug, Clone, Copy, Default)]
pub struct LinkSummary {
    /// Direction 0 came in through device 0.
    pub directions: [Counters; 2],
    /// Packets that the kernel did not take back.
    pub refused: [u64; 2],
}

/// An emulated link between two TUN devices.
#[derive(Debug)]
pub struct Emulator {
    clock: Clock,
    tuns: [Tun; 2],
    links: [Link<Datagram>; 2],
    exit: Exit,
    refused: [u64; 2],
}

impl Emulator {
    /// Links of `configs`, one for each direction: direction *i* comes in through `tuns[i]`.
    pub fn new(tuns: [Tun; 2], exit: Exit, configs: [&LinkConfig; 2]) -> Emulator {
        poll::set_timer_slack();
        Emulator {
            clock: Clock::start(),
            tuns,
            links: configs.map(Link::new),
            exit,
            refused: [0; 2],
        }
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
        loop {
            let now = self.clock.now();
            self.deliver(now);
            let next = self.links.iter().filter_map(Link::next).min();
            let ready = poll::wait(&self.clock, (&self.tuns, [true; 2]), signals, stop, next)?;
            if ready.signal.is_some() || ready.own {
                return Ok(ready.signal);
            }
            for side in 0..2 {
                if ready.tuns[side] {
                    self.admit(side, &mut buffer)?;
                }
            }
        }
    }

    /// The counters so far.
    pub fn summary(&self) -> LinkSummary {
        LinkSummary {
            directions: [self.links[0].counters(), self.links[1].counters()],
            refused: self.refused,
        }
    }

    /// Begins anew, at time zero, as links of `configs` that nothing has crossed yet. What was inside
    /// is gone.
    pub fn restart(&mut self, configs: [&LinkConfig; 2]) {
        self.clock = Clock::start();
        self.links = configs.map(Link::new);
        self.refused = [0; 2];
    }

    /// The counters of both directions, and how full their queues have been, up to now.
    pub fn counts(&mut self) -> [(Counters, Occupancy); 2] {
        let now = self.clock.now();
        let links = self.links.each_mut();
        links.map(|link| {
            link.advance(now);
            (link.counters(), link.bottleneck().occupancy().at(now))
        })
    }

    /// Writes every packet that has arrived by `now`.
    fn deliver(&mut self, now: Instant) {
        for side in 0..2 {
            let out = match self.exit {
                Exit::Same => side,
                Exit::Other => 1 - side,
            };
            while let Some(packet) = self.links[side].pop(now) {
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
            match self.tuns[side].read(buffer) {
                Ok(Some((_, packet))) => {
                    if self.exit == Exit::Same {
                        restore_hop(packet);
                    }
                    self.links[side].push(self.clock.now(), Datagram(packet.to_vec()));
                }
                Ok(None) => break,
                Err(source) => return Err(LoopError::read(&self.tuns[side], source)),
            }
        }
        Ok(())
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
