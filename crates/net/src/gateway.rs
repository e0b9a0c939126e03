//! The gateway on real packets: two TUN devices, a clock, and the pure [`Gateway`] between them.
//!
//! Device 0 stands for the LAN, device 1 for the satellite. What a host sends is written into the
//! device of its own side, by itself or by us in its name ([`crate::divert`] says why).

mod answer;

use crate::clock::Clock;
use crate::control::{self, ControlClient, Questions};
use crate::divert::{Repair, Repairs};
use crate::events;
use crate::heap::{self, HeapTrim};
use crate::poll::{self, LoopError};
use crate::signals::Signals;
use crate::tap::Tap;
use crate::tun::{MAX_READ, MAX_SLICES, ReadError, Tun};
use crate::vnet_hdr::{Checksum, Gso, GsoKind, VnetHdr};
use crate::watchdog::{Heartbeat, Watchdog};
use bentpipe_core::time::{Duration, Instant, earliest};
use bentpipe_core::wire::{self, emit};
use bentpipe_gateway::{
    Checksums, Config, Forward, Gateway, Ingress, Packets, Record, Side, Summary, Transmit,
};
use nix::libc;
use std::hash::{BuildHasher as _, RandomState};
use std::io;

/// Packets read from one device before what they caused is sent.
const BURST: usize = 16;

/// How long a device that was deleted is waited for.
const DEVICE_WAIT: Duration = Duration::from_secs(10);

/// Where the checksum stands in a TCP header.
const TCP_CHECKSUM_OFFSET: u16 = 16;

const SIDES: [Side; 2] = [Side::Lan, Side::Satellite];

/// A gateway between two TUN devices opened with offload.
#[derive(Debug)]
pub struct LiveGateway {
    clock: Clock,
    tuns: [Tun; 2],
    gateway: Gateway,
    ingress: Ingress,
    refused: u64,
    questions: Questions,
    control_client: ControlClient,
    tap: Option<Tap>,
    log: Option<Log>,
    watchdog: Option<Watchdog>,
    repairs: Option<Repairs>,
    heap: HeapTrim,
    /// By side: until when its device, which was deleted, is waited for.
    deleted: [Option<Instant>; 2],
}

/// A line of totals in the log, again and again.
#[derive(Debug)]
struct Log {
    every: Duration,
    next: Instant,
}

impl LiveGateway {
    /// A gateway without flows; `tuns` are the LAN's and the satellite's.
    ///
    /// # Errors
    /// When no descriptor is left for questions.
    pub fn new(tuns: [Tun; 2], config: Config) -> io::Result<LiveGateway> {
        poll::set_timer_slack();
        let (control_client, questions) = control::channel()?;
        let mut gateway = Gateway::new(config);
        // Keyed at random by the standard library, for its maps.
        gateway.number_packets_by(RandomState::new().hash_one(()));
        Ok(LiveGateway {
            clock: Clock::start(),
            tuns,
            gateway,
            ingress: Ingress::default(),
            refused: 0,
            questions,
            control_client,
            tap: None,
            log: None,
            watchdog: None,
            repairs: None,
            heap: HeapTrim::default(),
            deleted: [None; 2],
        })
    }

    /// Knows these connections, which another gateway has left, and which are forwarded so far.
    pub fn recall(&mut self, records: &[Record]) {
        let now = self.clock.now();
        records.iter().for_each(|record| self.gateway.recall(now, record));
    }

    /// What it leaves to the next gateway when it has [run](LiveGateway::run).
    pub fn records(&self) -> impl Iterator<Item = Record> {
        self.gateway.records()
    }

    /// Writes a line of totals into the log every so often.
    pub fn log_every(&mut self, every: Duration) {
        self.log = Some(Log { every, next: self.clock.now() + every });
    }

    /// Lets `watchdog` know that it lives, while it [runs](LiveGateway::run).
    pub fn watched_by(&mut self, watchdog: Watchdog) {
        self.watchdog = Some(watchdog);
    }

    /// Hears of `repairs` while it [runs](LiveGateway::run), and waits for a device that was deleted.
    pub fn repaired_by(&mut self, repairs: Repairs) {
        self.repairs = Some(repairs);
    }

    /// For asking it, from other threads, while it [runs](LiveGateway::run).
    pub fn control_client(&self) -> ControlClient {
        self.control_client.clone()
    }

    /// The first beat, before anybody is told that it is ready: until then its watchdog is patient with it.
    pub fn begin(&mut self) {
        self.attend_to_duties(self.clock.now());
    }

    /// Runs until a signal comes, and then until all that is held has been delivered, but at most
    /// for `drain`. A second signal ends it at once. What is still open is reset in either case.
    ///
    /// # Errors
    /// [`LoopError`].
    pub fn run(&mut self, signals: &Signals, drain: Duration) -> Result<(), LoopError> {
        let mut buffer = vec![0; MAX_READ];
        let mut end = None;
        loop {
            let now = self.clock.now();
            self.gateway.handle_timeout(now);
            self.give_up_fragments(now);
            self.transmit(now);
            if end.is_some_and(|end| end <= now || self.gateway.is_drained()) {
                return self.end(now);
            }
            if let Some(side) = SIDES.into_iter().find(|side| self.is_given_up(*side, now)) {
                self.end(now)?;
                return Err(LoopError::Deleted(self.tuns[side as usize].name().to_owned()));
            }
            events::log(&mut self.gateway);
            let duties = self.attend_to_duties(now);
            let late = self.ingress.poll_timeout();
            let next = [self.gateway.poll_timeout(), end, duties, late];
            let next = next.into_iter().flatten().min();
            let tuns = (&self.tuns, self.deleted.map(|until| until.is_none()));
            let ready = poll::wait(&self.clock, tuns, signals, Some(&self.questions), next)?;
            if ready.signal.is_some() {
                let now = self.clock.now();
                if end.replace(now + drain).is_some() {
                    return self.end(now);
                }
                self.gateway.drain(now);
                let (flows, bytes) = (self.gateway.flows(), self.gateway.held());
                tracing::info!(flows, bytes, ?drain, "draining; another signal ends it at once");
            }
            for side in SIDES {
                if ready.tuns[side as usize] {
                    self.receive(side, &mut buffer)?;
                    self.transmit(self.clock.now());
                }
            }
            if ready.own {
                self.answer();
            }
        }
    }

    /// What is to be done now and then, beside the packets; returns when it is due again.
    fn attend_to_duties(&mut self, now: Instant) -> Option<Instant> {
        self.write_log(now);
        self.hear_of_repairs(now);
        match self.watchdog.as_mut().map(|watchdog| watchdog.beat(now)) {
            None | Some(Ok(Heartbeat::Steady)) => {}
            Some(Ok(Heartbeat::Interrupted)) => {
                let flows = self.gateway.flows();
                tracing::warn!(
                    flows,
                    "hung for a while: the connections that there are will be released"
                );
                self.gateway.release_all(now);
                self.transmit(now);
            }
            Some(Err(error)) => {
                tracing::warn!(%error, "the watchdog is gone: nobody notices if this process hangs");
                self.watchdog = None;
            }
        }
        if self.heap.is_due(now, self.gateway.footprint()) {
            self.gateway.shrink();
            heap::trim();
        }
        let log = earliest(self.log.as_ref().map(|log| log.next), self.heap.next());
        let turn = self.repairs.as_ref().map(|_| now + Repairs::TURN);
        earliest(earliest(log, turn), self.watchdog.as_ref().map(Watchdog::next))
    }

    /// What others have changed of the devices and rules has been mended.
    fn hear_of_repairs(&mut self, now: Instant) {
        while let Some(repair) = self.repairs.as_ref().and_then(Repairs::turn) {
            match repair {
                Repair::Device { side, tun } => {
                    self.tuns[side] = tun;
                    self.deleted[side] = None;
                }
                Repair::Passed(lasting) => {
                    // What went by, however little, the gateway would wait for: nothing tells it where
                    // hosts have no timestamps.
                    let flows = self.gateway.flows();
                    tracing::warn!(
                        flows,
                        ?lasting,
                        "packets went by: the connections that there are will be released"
                    );
                    self.gateway.release_all(now);
                    self.transmit(now);
                }
            }
        }
    }

    /// The device of `side` does not exist any more. False if nobody makes it again.
    fn wait_for_device(&mut self, side: Side, now: Instant) -> bool {
        if self.repairs.is_none() {
            return false;
        }
        let device = self.tuns[side as usize].name();
        tracing::error!(
            device,
            "the device was deleted: what is held waits for it to be made again"
        );
        self.deleted[side as usize] = Some(now + DEVICE_WAIT);
        true
    }

    fn is_given_up(&self, side: Side, now: Instant) -> bool {
        self.deleted[side as usize].is_some_and(|until| until <= now)
    }

    /// Writes the line of totals when it is time.
    fn write_log(&mut self, now: Instant) {
        let Some(log) = self.log.as_mut().filter(|log| log.next <= now) else { return };
        log.next = now + log.every;
        let Summary { split, closed, reset, lost_bytes, split_traffic, .. } =
            self.gateway.summary();
        let forwarded = self.gateway.summary().all_forwarded();
        tracing::info!(
            flows = self.gateway.flows(),
            held_bytes = self.gateway.held(),
            split,
            closed,
            reset,
            lost_bytes,
            split_bytes = split_traffic.bytes,
            forwarded_bytes = forwarded.bytes,
            "totals"
        );
    }

    /// Resets what is still open.
    fn end(&mut self, now: Instant) -> Result<(), LoopError> {
        self.gateway.reset_all(now);
        self.transmit(now);
        self.give_up_fragments(Instant::FAR_FUTURE);
        events::log(&mut self.gateway);
        Ok(())
    }

    /// The counters so far.
    pub fn summary(&self) -> Summary {
        self.gateway.summary()
    }

    /// Packets that the kernel did not take.
    pub fn refused_by_kernel(&self) -> u64 {
        self.refused
    }

    /// Reads up to [`BURST`] packets from the device of `side`.
    fn receive(&mut self, side: Side, buffer: &mut [u8]) -> Result<(), LoopError> {
        for _ in 0..BURST {
            let tun = &self.tuns[side as usize];
            let (header, bytes) = match tun.read(buffer) {
                Ok(Some(read)) => read,
                Ok(None) => break,
                Err(ReadError::Header(error)) => {
                    tracing::debug!(device = tun.name(), %error, "packet not understood");
                    continue;
                }
                Err(ReadError::Io(error))
                    if error.raw_os_error() == Some(libc::EBADFD)
                        && self.wait_for_device(side, self.clock.now()) =>
                {
                    break;
                }
                Err(source) => {
                    return Err(LoopError::read(&self.tuns[side as usize], source));
                }
            };
            let now = self.clock.now();
            let checksums = match header.checksum {
                Checksum::Complete => Checksums::Unverified,
                Checksum::Valid => Checksums::Verified,
                Checksum::Needed { .. } => Checksums::Partial,
            };
            let forward = self.ingress.take(now, side, bytes, checksums, &mut self.gateway);
            if let Some(tap) = &mut self.tap {
                tap.received(now, side, bytes, &self.gateway);
                if matches!(forward, Forward::Itself) {
                    tap.forwarded(now, side.other(), bytes);
                }
            }
            while let Some((to, answer)) = self.ingress.poll_answer() {
                self.write(to.other(), &VnetHdr::default(), &[&answer]);
            }
            match forward {
                Forward::Nothing => {}
                Forward::Itself => self.write(side, &header, &[bytes]),
                Forward::Fragments(fragments) => self.forward(side, &fragments),
            }
        }
        Ok(())
    }

    /// Forwards fragments that did not become whole in time.
    fn give_up_fragments(&mut self, now: Instant) {
        for side in SIDES {
            let late = self.ingress.expire(now, side, &self.gateway);
            self.forward(side, &late);
        }
    }

    /// Writes packets back as they came.
    fn forward(&mut self, side: Side, packets: &Packets) {
        for packet in packets {
            self.write(side, &VnetHdr::default(), &[packet]);
        }
    }

    /// Sends all that may go now.
    fn transmit(&mut self, now: Instant) {
        while let Some(transmit) = self.gateway.poll_transmit(now) {
            let headers = emit(
                &transmit.ip,
                &transmit.tcp,
                self.gateway.payload_slices(&transmit),
                wire::Checksum::PseudoHeader,
            );
            if let Some(tap) = &mut self.tap {
                tap.sent(now, &transmit, &headers, &self.gateway);
            }
            let mut slices: [&[u8]; MAX_SLICES] = [&[]; MAX_SLICES];
            slices[0] = &headers;
            let mut count = 1;
            for slice in self.gateway.payload_slices(&transmit) {
                slices[count] = slice;
                count += 1;
            }
            let header = vnet_hdr(&transmit, headers.len());
            let device = &self.tuns[transmit.to.other() as usize];
            if let Err(error) = device.write(&header, &slices[..count]) {
                tracing::debug!(device = device.name(), %error, "packet not taken");
                self.refused += 1;
            }
        }
        if let Some(tap) = &mut self.tap {
            tap.drained(now, &self.gateway);
        }
        self.tap.take_if(|tap| tap.is_gone());
    }

    fn write(&mut self, side: Side, header: &VnetHdr, slices: &[&[u8]]) {
        let device = &self.tuns[side as usize];
        if let Err(error) = device.write(header, slices) {
            tracing::debug!(device = device.name(), %error, "packet not taken");
            self.refused += 1;
        }
    }
}

/// The checksum is left to the kernel, and so is cutting a super-segment.
fn vnet_hdr(transmit: &Transmit, headers_len: usize) -> VnetHdr {
    let kind = if transmit.ip.src.is_ipv4() { GsoKind::TcpV4 } else { GsoKind::TcpV6 };
    VnetHdr {
        gso: transmit.gso_size.map(|size| Gso { kind, ecn: false, size }),
        hdr_len: headers_len as u16,
        checksum: Checksum::Needed {
            start: transmit.ip.wire_len() as u16,
            offset: TCP_CHECKSUM_OFFSET,
        },
    }
}
