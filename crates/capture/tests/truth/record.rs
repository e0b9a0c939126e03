//! A run's captures at three places, without causes, and the hosts' records.

use crate::draw::Drawn;
use bentpipe_capture::pcapng::{Interface, Packet, Writer};
use bentpipe_core::tcp::cause::Cause;
use bentpipe_core::tcp::limiter::Limiter;
use bentpipe_core::tcp::observation::Observation;
use bentpipe_core::time::Instant;
use bentpipe_core::wire::HEADERS_MAX;
use bentpipe_gateway::Side;
use bentpipe_results::{Captured, Direction, End, EventSink, Observed, PacketSink, Passage, Sinks};
use bentpipe_scenario::Scenario;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;

/// One end of a connection, and its peer.
pub(crate) type Ends = (SocketAddr, SocketAddr);

/// The limiter that no core names: what is written and not acknowledged fills the send buffer, so
/// that the application cannot write more.
pub(crate) const SEND_BUFFER: &str = "send-buffer";
/// The same, and what is left of it is too short for a segment.
pub(crate) const NAGLE_FULL: &str = "nagle, send-buffer";
/// The same, and the peer's window has no more room either.
pub(crate) const BOTH_FULL: &str = "send-buffer, peer-window";

/// A full segment, in bytes.
const SEGMENT: u64 = 1448;

/// The place between the hosts.
pub(crate) const MIDDLE: usize = 1;

/// A segment of data as it left its host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    /// When, in nanoseconds.
    pub(crate) at: i64,
    /// Why.
    pub(crate) cause: Cause,
    /// Whether its first byte had been sent before.
    pub(crate) again: bool,
    /// Whether it is as long as a segment may be.
    pub(crate) full: bool,
}

/// What tells a packet from all others for some seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    ends: Ends,
    id: u16,
    seq: u32,
    len: u32,
    /// It opens a connection.
    syn: bool,
}

/// A packet of a capture.
#[derive(Debug, Clone, Copy)]
struct Seen {
    at: i64,
    name: Name,
}

/// A capture at one place.
#[derive(Debug)]
pub(crate) struct Tapped {
    file: Writer<Vec<u8>>,
    /// The same with the recorded causes, for people.
    commented: Writer<Vec<u8>>,
    /// By the packets' numbers in the file, less one.
    packets: Vec<Seen>,
}

impl Tapped {
    fn new(name: &str) -> Tapped {
        let interface = Interface { name, description: "" };
        let file = || Writer::new(Vec::new(), &[interface], HEADERS_MAX).expect("memory");
        Tapped { file: file(), commented: file(), packets: Vec::new() }
    }
}

/// A run: what passed `a`, `m` and `b`, and what `a` and `b` know of it.
#[derive(Debug)]
pub(crate) struct Run {
    /// By the place.
    taps: [Tapped; 3],
    sent: BTreeMap<Name, Vec<Sent>>,
    /// One past the highest number that an end has sent.
    highest: BTreeMap<Ends, u32>,
    /// What limits an end, since when.
    limits: BTreeMap<Ends, Vec<(i64, &'static str)>>,
    send_buffers: [u64; 2],
    ids: bool,
    first_host: IpAddr,
}

/// Plays a scenario.
pub(crate) fn play(drawn: &Drawn) -> Run {
    let text = format!("{}[record]\npackets = true\nqlog = true\n", drawn.text);
    let scenario = Scenario::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let places: Vec<usize> = ["a", "m", "b"]
        .iter()
        .map(|name| scenario.nodes.iter().position(|node| node.name == *name).expect("a node"))
        .collect();
    let run = Rc::new(RefCell::new(Run {
        taps: ["a", "m", "b"].map(Tapped::new),
        sent: BTreeMap::new(),
        highest: BTreeMap::new(),
        limits: BTreeMap::new(),
        send_buffers: drawn.send_buffers,
        ids: drawn.ids,
        first_host: Ipv4Addr::UNSPECIFIED.into(),
    }));
    let sink = Sink { run: Rc::clone(&run), places };
    let sinks = Sinks {
        packets: Some(Box::new(sink.clone())),
        events: Some(Box::new(sink)),
        ..Sinks::default()
    };
    bentpipe_sim::run_into(&scenario, 0, sinks, &mut |_| true).expect("a run");
    Rc::into_inner(run).expect("the run is over").into_inner()
}

impl Run {
    /// Whether captures have IP IDs.
    pub(crate) fn ids(&self) -> bool {
        self.ids
    }

    /// The address of the host `a`.
    pub(crate) fn first_host(&self) -> IpAddr {
        self.first_host
    }

    /// The sequence number and the IP ID of a packet that has passed `place`.
    pub(crate) fn numbers(&self, place: usize, frame: u32) -> Option<(u32, u16)> {
        let name = self.taps[place].packets.get(frame as usize - 1)?.name;
        Some((name.seq, name.id))
    }

    /// The file of place number `place`.
    pub(crate) fn file(&mut self, place: usize) -> Vec<u8> {
        let tap = std::mem::replace(&mut self.taps[place].file, Tapped::new("").file);
        tap.into_inner()
    }

    /// Writes what people look at: the scenario, the captures with the recorded causes (those of
    /// `m` have none), and what limited the hosts, by the moments from which on it did.
    pub(crate) fn keep(&mut self, folder: &str, seed: u64, drawn: &Drawn) {
        let folder = std::path::Path::new(folder).join(format!("seed-{seed}"));
        std::fs::create_dir_all(&folder).expect("a folder");
        let write =
            |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).expect(name);
        write("scenario.toml", format!("# {}\n{}", drawn.about, drawn.text).as_bytes());
        for (tap, name) in self.taps.iter_mut().zip(["a", "m", "b"]) {
            let file = std::mem::replace(&mut tap.commented, Tapped::new("").commented);
            write(&format!("{name}.pcapng"), &file.into_inner());
        }
        let mut text = String::new();
        for ((local, remote), limits) in &self.limits {
            text += &format!("{local} > {remote}\n");
            for (at, limiter) in limits {
                text += &format!("  {:>12.6}  {limiter}\n", *at as f64 / 1e9);
            }
        }
        write("limits.txt", text.as_bytes());
    }

    /// What its sender knows of a packet of data that has passed `place`.
    pub(crate) fn sent(&self, place: usize, frame: u32) -> Option<Sent> {
        let seen = self.taps[place].packets.get(frame as usize - 1)?;
        let copies = self.sent.get(&seen.name)?;
        copies.iter().rev().find(|sent| sent.at <= seen.at).copied()
    }

    /// How much of the time from `begin` to `end` an end was limited by what, the most first.
    pub(crate) fn limiters(&self, ends: Ends, begin: i64, end: i64) -> Vec<(&'static str, i64)> {
        let Some(limits) = self.limits.get(&ends) else { return Vec::new() };
        let mut sums: BTreeMap<&'static str, i64> = BTreeMap::new();
        for (number, &(since, limiter)) in limits.iter().enumerate() {
            let until = limits.get(number + 1).map_or(i64::MAX, |next| next.0);
            let shared = until.min(end) - since.max(begin);
            if shared > 0 {
                *sums.entry(limiter).or_default() += shared;
            }
        }
        let mut sums: Vec<(&'static str, i64)> = sums.into_iter().collect();
        sums.sort_by_key(|&(_, time)| -time);
        sums
    }
}

#[derive(Debug, Clone)]
struct Sink {
    run: Rc<RefCell<Run>>,
    /// The nodes `a`, `m` and `b`.
    places: Vec<usize>,
}

impl PacketSink for Sink {
    fn packet(&mut self, packet: &Captured) {
        let node = packet.interface.node.0;
        let place = self.places.iter().position(|&place| place == node).expect("a place");
        // Of the box, what passes on its way to `a` or from there.
        if packet.interface.side == Some(Side::Satellite) {
            return;
        }
        let run = &mut *self.run.borrow_mut();
        let at = packet.at.as_nanos();
        let Some(name) = name(&packet.headers, packet.len) else { return };
        let mut bytes = packet.headers.to_vec();
        if !run.ids {
            bytes[4..6].fill(0);
        }
        let (bytes, len) = (&bytes[..], packet.len);
        let whole = Packet { interface: 0, at, bytes, len, way: None, comment: "" };
        run.taps[place].file.packet(&whole).expect("memory");
        let comment = packet.cause.map(|cause| format!("cause: {cause}")).unwrap_or_default();
        let commented = Packet { comment: &comment, ..whole };
        run.taps[place].commented.packet(&commented).expect("memory");
        let at = at as i64;
        run.taps[place].packets.push(Seen { at, name });
        if place == 0 && packet.direction == Direction::Sent {
            run.first_host = name.ends.0.ip();
        }
        if name.syn && packet.direction == Direction::Sent && place != MIDDLE {
            run.highest.remove(&name.ends);
        }
        if packet.direction == Direction::Sent
            && let Some(cause) = packet.cause
            && name.len > 0
        {
            let end = name.seq.wrapping_add(name.len);
            let highest = run.highest.entry(name.ends).or_insert(name.seq);
            let again = (name.seq.wrapping_sub(*highest) as i32) < 0;
            if (end.wrapping_sub(*highest) as i32) > 0 {
                *highest = end;
            }
            run.sent.entry(name).or_default().push(Sent {
                at,
                cause,
                again,
                full: u64::from(name.len) >= SEGMENT,
            });
        }
    }
}

impl EventSink for Sink {
    fn segment(&mut self, _: Instant, _: &End, _: Passage<'_>) {}

    fn observed(&mut self, at: Instant, end: &End, observed: &Observed) {
        let Some(limiter) = observed.limiter else { return };
        let run = &mut *self.run.borrow_mut();
        let node = end.interface.node.0;
        let Some(host) = [0, 2].iter().position(|&place| self.places[place] == node) else {
            return;
        };
        let waits = |tcb: &Observation| tcb.written.saturating_sub(tcb.snd_una).count();
        let room = |tcb: &Observation| tcb.window_edge.saturating_sub(tcb.snd_nxt).count();
        let is_full = observed.tcb.is_some_and(|tcb| waits(&tcb) >= run.send_buffers[host]);
        let name = match (limiter, observed.tcb) {
            (Limiter::Application, Some(tcb)) if is_full && room(&tcb) < SEGMENT => BOTH_FULL,
            (Limiter::Application, _) if is_full => SEND_BUFFER,
            // What fills the buffer up is no whole segment: more cannot be written until an ACK.
            (Limiter::Nagle, _) if is_full => NAGLE_FULL,
            (limiter, _) => limiter.name(),
        };
        let limits = run.limits.entry((end.local, end.remote)).or_default();
        if limits.last().is_none_or(|last| last.1 != name) {
            limits.push((at.as_nanos() as i64, name));
        }
    }
}

/// The name of a TCP segment over IPv4.
fn name(headers: &[u8], len: u64) -> Option<Name> {
    let word = |at: usize| Some(u16::from_be_bytes([*headers.get(at)?, *headers.get(at + 1)?]));
    let address =
        |at: usize| Some(Ipv4Addr::from(<[u8; 4]>::try_from(headers.get(at..at + 4)?).ok()?));
    if headers.first()? >> 4 != 4 || *headers.get(9)? != 6 {
        return None;
    }
    let tcp = usize::from(headers[0] & 0x0F) * 4;
    let end = |ip: usize, port: usize| Some(SocketAddr::from((address(ip)?, word(port)?)));
    let data = tcp + usize::from(headers.get(tcp + 12)? >> 4) * 4;
    Some(Name {
        ends: (end(12, tcp)?, end(16, tcp + 2)?),
        id: word(4)?,
        seq: u32::from(word(tcp + 4)?) << 16 | u32::from(word(tcp + 6)?),
        len: u32::try_from(len).ok()?.checked_sub(data as u32)?,
        syn: headers.get(tcp + 13)? & 2 != 0,
    })
}
