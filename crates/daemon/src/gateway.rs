//! The gateway on real packets: two TUN devices, a clock, and the pure [`Gateway`] between them.
//!
//! Device 0 stands for the LAN, device 1 for the satellite. What a host sends is read from the
//! device of its own side, and what we say in its name is written there ([`crate::bump`] says how
//! both come about).

mod answer;
mod diversion;
mod duties;
mod reject;
mod return_check;
mod service;
mod signals;
mod trial;

use crate::bump::Table;
use crate::bump::device_events::DeviceEvents;
use crate::bump::endpoints::Endpoints;
use crate::control::{self, ControlClient, Questions};
use crate::events::{self, Quotas};
use crate::link_memory::LinkMemory;
use crate::tap::Tap;
use crate::watchdog::Watchdog;
use crate::work::Work;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::{self, emit};
use bentpipe_gateway::{
    Checksums, Config, Forward, Gateway, Ingress, Packets, SessionRecord, Side, Summary, Transmit,
};
use bentpipe_linux::clock::Clock;
use bentpipe_linux::heap::HeapTrim;
use bentpipe_linux::poll::{self, LoopError};
use bentpipe_linux::receive_steering::Steering;
use bentpipe_linux::signals::Signals;
use bentpipe_linux::tun::{MAX_READ, MAX_SLICES, ReadError, Tun};
use bentpipe_linux::vnet_hdr::{Checksum, Gso, GsoKind, VnetHdr};
use diversion::Diversion;
use duties::Log;
use nix::libc;
use service::Reports;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;

/// Packets read from one device before what they caused is sent.
const BURST: usize = 16;

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
    work: Work,
    questions: Questions,
    control_client: ControlClient,
    tap: Option<Tap>,
    log: Option<Log>,
    quotas: Quotas,
    /// It was said that another gateway answers.
    peer_said: bool,
    reports: Option<Reports>,
    watchdog: Option<Watchdog>,
    diversion: Option<Diversion>,
    device_events: Option<DeviceEvents>,
    heap: HeapTrim,
    /// What keeps received packets off the loop's processor, and when it looks next.
    steering: (Steering, Instant),
    /// What the wall clock said at the moment zero, and when to look next.
    wall_clock: (Duration, Instant),
    reload: Option<SyncSender<()>>,
    /// Where what is found of links is kept, and when it is written next.
    links: Option<(LinkMemory, Instant)>,
    /// Writes it.
    link_writer: Option<JoinHandle<()>>,
    /// It splits on trial, until then.
    trial: Option<Instant>,
    /// When a signal without a meaning may be told of again.
    next_meaningless: Instant,
    /// How long it delivers what it holds when it is stopped.
    drain: Duration,
    /// Another gateway takes its place when it has ended.
    restarts: bool,
    /// By side: until when its device, which was deleted, is waited for.
    deleted: [Option<Instant>; 2],
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
        gateway.identify_as(RandomState::new().hash_one(()) as u32);
        Ok(LiveGateway {
            clock: Clock::start(),
            tuns,
            gateway,
            ingress: Ingress::default(),
            work: Work::default(),
            questions,
            control_client,
            tap: None,
            log: None,
            quotas: Quotas::default(),
            peer_said: false,
            reports: None,
            watchdog: None,
            diversion: None,
            device_events: None,
            heap: HeapTrim::default(),
            steering: (Steering::default(), Instant::ZERO),
            wall_clock: (Duration::ZERO, Instant::ZERO),
            reload: None,
            links: None,
            link_writer: None,
            trial: None,
            next_meaningless: Instant::ZERO,
            drain: Duration::ZERO,
            restarts: false,
            deleted: [None; 2],
        })
    }

    /// Knows these connections, which another gateway has left, and which are forwarded so far.
    pub fn recall(&mut self, records: &[SessionRecord]) {
        let now = self.clock.now();
        for record in records {
            self.gateway.recall(now, record);
            let [lan, satellite] = record.ends_by_side();
            let ends = Endpoints { inner: lan, outer: satellite };
            // The others are forwarded.
            if let Some(Err(error)) =
                self.diversion.as_ref().map(|diversion| diversion.expect(&ends))
            {
                tracing::debug!(%error, "a connection that was left is not taken over");
            }
        }
    }

    /// What it leaves to the next gateway when it has [run](LiveGateway::run).
    pub fn records(&self) -> impl Iterator<Item = SessionRecord> {
        self.gateway.records()
    }

    /// Lets `watchdog` know that it lives, while it [runs](LiveGateway::run).
    pub fn watched_by(&mut self, watchdog: Watchdog) {
        self.watchdog = Some(watchdog);
    }

    /// Vouches for what `table` has taken off the wire, while it [runs](LiveGateway::run), and lets
    /// the rest go by.
    pub fn takes(&mut self, table: Arc<Table>) {
        self.diversion = Some(Diversion::new(table));
    }

    /// Hears of `device_events` while it [runs](LiveGateway::run), and waits for a device that was
    /// deleted.
    pub fn listen_to(&mut self, device_events: DeviceEvents) {
        self.device_events = Some(device_events);
    }

    /// For asking it, from other threads, while it [runs](LiveGateway::run).
    pub fn control_client(&self) -> ControlClient {
        self.control_client.clone()
    }

    /// The first beat, before anybody is told that it is ready: from then on packets are taken.
    pub fn begin(&mut self) {
        self.attend_to_duties(self.clock.now());
    }

    /// Runs until a signal comes that ends it, and then until all that is held has been delivered,
    /// but at most for `drain`. A second one ends it at once. What is still open is reset in either
    /// case.
    ///
    /// # Errors
    /// [`LoopError`].
    pub fn run(&mut self, signals: &Signals, drain: Duration) -> Result<(), LoopError> {
        self.drain = drain;
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
            events::log(&mut self.gateway, &mut self.quotas);
            let duties = self.attend_to_duties(now);
            let late = self.ingress.poll_timeout();
            let next = [self.gateway.poll_timeout(), end, duties, late];
            let next = next.into_iter().flatten().min();
            let tuns = (&self.tuns, self.deleted.map(|until| until.is_none()));
            self.work.waits += 1;
            let ready = poll::wait(&self.clock, tuns, signals, Some(&self.questions), next)?;
            if ready.signal.is_some_and(|signal| self.ends_by(signal, end.is_some())) {
                let now = self.clock.now();
                if end.replace(now + self.drain).is_some() {
                    return self.end(now);
                }
                self.drain(now);
            }
            let mut empty = true;
            for side in SIDES {
                if ready.tuns[side as usize] {
                    empty &= self.receive(side, &mut buffer)?;
                    self.transmit(self.clock.now());
                }
            }
            self.settle_copies(empty);
            self.let_go(empty);
            if ready.own {
                self.answer();
            }
        }
    }

    /// Resets what is still open.
    fn end(&mut self, now: Instant) -> Result<(), LoopError> {
        self.gateway.reset_all(now);
        self.transmit(now);
        self.give_up_fragments(Instant::FAR_FUTURE);
        events::log(&mut self.gateway, &mut self.quotas);
        Ok(())
    }

    /// Says, when it has [run](LiveGateway::run), that another gateway takes its place.
    pub fn restarts(&self) -> bool {
        self.restarts
    }

    /// The counters so far.
    pub fn summary(&self) -> Summary {
        self.gateway.summary()
    }

    /// Forwards what has been taken and not yet read, when it has [run](LiveGateway::run) and
    /// nothing is taken any more.
    pub fn empty(&mut self) {
        let mut buffer = vec![0; MAX_READ];
        for side in SIDES {
            // As much as a device holds.
            for _ in 0..1024 {
                if !matches!(self.receive(side, &mut buffer), Ok(false)) {
                    break;
                }
            }
        }
        self.transmit(self.clock.now());
    }

    /// Reads up to [`BURST`] packets from the device of `side`. Whether there are no more.
    fn receive(&mut self, side: Side, buffer: &mut [u8]) -> Result<bool, LoopError> {
        for _ in 0..BURST {
            let tun = &self.tuns[side as usize];
            let (header, bytes) = match self.work.devices[side as usize].read(tun, buffer) {
                Ok(Some(read)) => read,
                Ok(None) => return Ok(true),
                Err(ReadError::Header(error)) => {
                    tracing::debug!(device = tun.name(), %error, "packet not understood");
                    continue;
                }
                Err(ReadError::Io(error))
                    if error.raw_os_error() == Some(libc::EBADFD)
                        && self.wait_for_device(side, self.clock.now()) =>
                {
                    return Ok(true);
                }
                Err(source) => {
                    return Err(LoopError::read(&self.tuns[side as usize], source));
                }
            };
            let now = self.clock.now();
            if side == Side::Lan
                && !self.reads_copies()
                && let Some(answer) = reject::quic(bytes)
            {
                // As if the server had said it.
                self.write(Side::Satellite, &VnetHdr::default(), &[&answer]);
                continue;
            }
            let checksums = match header.checksum {
                Checksum::Complete => Checksums::Unverified,
                Checksum::Valid => Checksums::Verified,
                Checksum::Needed { .. } => Checksums::Partial,
            };
            let introduced = self.introduce(side, bytes);
            let forward = self.ingress.take(now, side, bytes, checksums, &mut self.gateway);
            if let Some((client, server)) = introduced {
                self.gateway.dismiss(client, server);
            }
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
                Forward::Itself => {
                    self.write(side, &header, &[bytes]);
                    self.note_forwarded(side, bytes);
                }
                Forward::Fragments(fragments) => self.forward(side, &fragments),
            }
        }
        Ok(false)
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
            let to = transmit.to.other() as usize;
            let work = &mut self.work.devices[to];
            work.write(&self.tuns[to], &header, &slices[..count]);
            work.bare_acks += u64::from(transmit.is_bare_ack());
        }
        if let Some(tap) = &mut self.tap {
            tap.drained(now, &self.gateway);
        }
        self.tap.take_if(|tap| tap.is_gone());
    }

    fn write(&mut self, side: Side, header: &VnetHdr, slices: &[&[u8]]) {
        if self.reads_copies() {
            return;
        }
        self.work.devices[side as usize].write(&self.tuns[side as usize], header, slices);
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
