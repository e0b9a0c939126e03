//! Lies in the place of what gateways tell each other.
//!
//! A host poses as a gateway by them, or a gateway claims what is not true.

use crate::node::Middlebox;
use crate::packet::{Content, Packet};
use bentpipe_core::time::Instant;
use bentpipe_core::wire::{Flags, TcpHeader};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The option by which gateways find each other, and the version of reports, as the gateway's
/// documentation has them.
const IDENTIFIER: u16 = 0x6270;
const VERSION: u8 = 1;

/// Bytes of a report's head and identity.
const IDENTITY: std::ops::Range<usize> = 1..5;

/// Whose name it reports by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alias {
    /// Always this one.
    Own(u32),
    /// Another one each time.
    New,
    /// That of a gateway whose report has passed.
    Stolen,
}

/// Reports that are made up.
#[derive(Debug, Clone, Copy)]
pub struct Lies {
    /// Whose name it uses.
    pub alias: Alias,
    /// The share of acknowledgments without data that have a report of its own.
    pub share: f64,
    /// So many times what has arrived is reported.
    pub bytes: f64,
    /// So fast its clock goes.
    pub clock: f64,
    /// Adds a gateway's announcement to SYNs and SYN-ACKs that have none.
    pub announces: bool,
}

/// It lies in the name of who is at its port 0.
#[derive(Debug)]
pub struct Liar {
    lies: Lies,
    rng: Pcg64Mcg,
    arrived: u64,
    seen: Option<u32>,
}

impl Liar {
    /// Draws from `seed`.
    pub fn new(lies: Lies, seed: u64) -> Liar {
        Liar { lies, rng: Pcg64Mcg::seed_from_u64(seed), arrived: 0, seen: None }
    }

    fn note(&mut self, tcp: &TcpHeader) {
        let Some(report) = tcp.options.experiment(IDENTIFIER) else { return };
        let identity = report.get(IDENTITY).and_then(|bytes| bytes.try_into().ok());
        self.seen = identity.map(u32::from_be_bytes).or(self.seen);
    }

    fn announce(&mut self, tcp: &mut TcpHeader) {
        // No option is the gateway's; it may take data early.
        let bits = u8::from(self.rng.random::<bool>()) << 3;
        if self.lies.announces && tcp.options.experiment(IDENTIFIER).is_none() {
            tcp.options.add_experiment(IDENTIFIER, &[bits]);
        }
    }

    fn report(&mut self, now: Instant, tcp: &mut TcpHeader) {
        let identity = match self.lies.alias {
            Alias::Own(name) => name,
            Alias::New => self.rng.random(),
            Alias::Stolen => match self.seen {
                Some(name) => name,
                None => return,
            },
        };
        let micros = (now.as_nanos() as f64 / 1e3 * self.lies.clock) as u64 as u32;
        let grains = (self.arrived as f64 * self.lies.bytes / 16.0) as u64 as u32;
        let mut body = vec![VERSION | self.rng.random_range(0..16_u8) << 4];
        body.extend(identity.to_be_bytes());
        body.extend(micros.to_be_bytes());
        body.extend(&grains.to_be_bytes()[1..]);
        tcp.options.remove_experiment(IDENTIFIER);
        tcp.options.add_experiment(IDENTIFIER, &body);
    }
}

impl Middlebox for Liar {
    fn handle(
        &mut self,
        now: Instant,
        port: usize,
        mut packet: Packet,
        send: &mut dyn FnMut(usize, Packet),
    ) {
        if let Content::Tcp(tcp, body) = &mut packet.content {
            if !tcp.has(Flags::SYN) {
                self.note(tcp);
            }
            match (port, tcp.has(Flags::SYN), body.is_empty()) {
                (0, true, _) => self.announce(tcp),
                (0, false, true) if self.rng.random::<f64>() < self.lies.share => {
                    self.report(now, tcp);
                }
                (1, _, false) => self.arrived += body.len() as u64,
                _ => {}
            }
        }
        send(1 - port, packet);
    }
}
