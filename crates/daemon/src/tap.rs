//! A look at what a running gateway receives and sends, and at the legs of its flows.
//!
//! The loop that carries the packets hands copies to a queue of fixed length, and never waits: what
//! does not fit is counted. Who takes them out writes them down on a thread of its own. Without a
//! tap, the loop asks once a packet whether there is one.

use bentpipe_core::tcp::cause::Cause;
use bentpipe_core::time::Instant;
use bentpipe_core::wire::{IpHeader, Packet, TcpHeader, Verify};
use bentpipe_gateway::{Gateway, LegObservation, Side, Transmit};
use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::SystemTime;

/// Items that may wait to be written: some megabytes without payloads.
const WAITING: usize = 8192;

/// Bytes of payloads that may wait.
const PAYLOADS: usize = 64 << 20;

/// Chooses connections by their ends.
pub type Chooses = Box<dyn Fn([SocketAddr; 2]) -> bool + Send>;

/// What is to be seen.
pub struct TapConfig {
    /// Of which connections.
    pub chooses: Chooses,
    /// The packets themselves: their bytes, with their payloads or without.
    pub packets: Option<Payloads>,
    /// Segments by meaning, and what the legs' TCPs come to.
    pub events: bool,
}

impl fmt::Debug for TapConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TapConfig { packets, events, .. } = self;
        formatter
            .debug_struct("TapConfig")
            .field("packets", packets)
            .field("events", events)
            .finish()
    }
}

/// How much of a packet is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payloads {
    /// All of it.
    Kept,
    /// Its headers.
    LeftOut,
}

/// Something that was seen.
#[derive(Debug)]
pub enum Item {
    /// The tap begins; first of all.
    Began {
        /// What the wall clock said when the clock of what follows was at zero.
        zero: SystemTime,
    },
    /// A packet, as it came or leaves.
    Packet(TappedPacket),
    /// The same by meaning.
    Segment {
        /// When.
        at: Instant,
        /// On which side.
        side: Side,
        /// It leaves.
        sent: bool,
        /// Whence and whither.
        ends: [SocketAddr; 2],
        /// Its header.
        tcp: Box<TcpHeader>,
        /// Length of its payload in bytes.
        len: usize,
        /// Why it leaves.
        cause: Option<Cause>,
    },
    /// A leg's TCP.
    Leg {
        /// When.
        at: Instant,
        /// How it stands.
        leg: Box<LegObservation>,
    },
}

/// A packet that a tap has seen.
#[derive(Debug)]
pub struct TappedPacket {
    /// When.
    pub at: Instant,
    /// On which side.
    pub side: Side,
    /// It leaves.
    pub sent: bool,
    /// Its first bytes.
    pub bytes: Box<[u8]>,
    /// Its length.
    pub len: usize,
    /// Why it leaves.
    pub cause: Option<Cause>,
}

/// The end at which items come out.
#[derive(Debug)]
pub struct Outlet {
    /// The items, in the order of time. It ends with the gateway.
    pub items: Receiver<Item>,
    lost: Arc<AtomicU64>,
    held: Arc<AtomicU64>,
}

impl Outlet {
    /// Items that did not fit into the queue since this was last asked.
    pub fn take_lost(&self) -> u64 {
        self.lost.swap(0, Ordering::Relaxed)
    }

    /// The bytes of `item` wait no more.
    pub fn taken(&self, item: &Item) {
        if let Item::Packet(seen) = item {
            self.held.fetch_sub(seen.bytes.len() as u64, Ordering::Relaxed);
        }
    }
}

/// The loop's end.
#[derive(Debug)]
pub(crate) struct Tap {
    config: TapConfig,
    items: SyncSender<Item>,
    lost: Arc<AtomicU64>,
    held: Arc<AtomicU64>,
    /// Connections of which something has left since all was sent.
    touched: BTreeSet<[SocketAddr; 2]>,
}

/// A tap and its outlet.
pub(crate) fn tap(config: TapConfig) -> (Tap, Outlet) {
    let (items, outlet) = sync_channel(WAITING);
    let (lost, held) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let (for_outlet, held_there) = (Arc::clone(&lost), Arc::clone(&held));
    let tap = Tap { config, items, lost, held, touched: BTreeSet::new() };
    (tap, Outlet { items: outlet, lost: for_outlet, held: held_there })
}

fn ends(ip: &IpHeader, tcp: &TcpHeader) -> [SocketAddr; 2] {
    [(ip.src, tcp.src_port).into(), (ip.dst, tcp.dst_port).into()]
}

impl Tap {
    /// Whether nobody takes anything out any more.
    pub(crate) fn is_gone(&self) -> bool {
        Arc::strong_count(&self.lost) == 1
    }

    /// It is in use.
    pub(crate) fn begin(&mut self, zero: SystemTime) {
        self.put(Item::Began { zero });
    }

    fn put(&mut self, item: Item) {
        let bytes = match &item {
            Item::Packet(seen) => seen.bytes.len() as u64,
            _ => 0,
        };
        if self.held.load(Ordering::Relaxed) + bytes > PAYLOADS as u64 {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.held.fetch_add(bytes, Ordering::Relaxed);
        if self.items.try_send(item).is_err() {
            self.held.fetch_sub(bytes, Ordering::Relaxed);
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A packet has come on `side`, and the gateway has dealt with it, or forwards it.
    pub(crate) fn received(&mut self, at: Instant, side: Side, bytes: &[u8], gateway: &Gateway) {
        let Ok(packet) = Packet::parse(bytes, Verify::Skip) else { return };
        let ends = ends(&packet.ip, &packet.tcp);
        if !(self.config.chooses)(ends) {
            return;
        }
        let headers = bytes.len() - packet.payload.len();
        self.packet(at, side, false, (&bytes[..headers], packet.payload), None);
        if self.config.events {
            let (tcp, len) = (Box::new(packet.tcp.clone()), packet.payload.len());
            self.put(Item::Segment { at, side, sent: false, ends, tcp, len, cause: None });
            self.legs(at, ends, gateway);
        }
    }

    /// A packet is forwarded, and leaves on `side`.
    pub(crate) fn forwarded(&mut self, at: Instant, side: Side, bytes: &[u8]) {
        let Ok(packet) = Packet::parse(bytes, Verify::Skip) else { return };
        if (self.config.chooses)(ends(&packet.ip, &packet.tcp)) {
            let headers = bytes.len() - packet.payload.len();
            self.packet(at, side, true, (&bytes[..headers], packet.payload), None);
        }
    }

    /// A packet of the gateway's own leaves: `headers`, and what `transmit` says.
    pub(crate) fn sent(
        &mut self,
        at: Instant,
        transmit: &Transmit,
        headers: &[u8],
        gateway: &Gateway,
    ) {
        let ends = ends(&transmit.ip, &transmit.tcp);
        if !(self.config.chooses)(ends) {
            return;
        }
        let (side, cause) = (transmit.to, Some(transmit.cause));
        let len = transmit.payload_len();
        match self.config.packets {
            Some(Payloads::Kept) => {
                let payload: Vec<u8> =
                    gateway.payload_slices(transmit).flatten().copied().collect();
                self.packet(at, side, true, (headers, &payload), cause);
            }
            Some(Payloads::LeftOut) => {
                let (bytes, len) = (headers.into(), headers.len() + len);
                self.put(Item::Packet(TappedPacket { at, side, sent: true, bytes, len, cause }));
            }
            None => {}
        }
        if self.config.events {
            let mut named = ends;
            named.sort();
            // What a timer has changed comes before what it has made leave.
            if self.touched.insert(named) {
                self.legs(at, ends, gateway);
            }
            let tcp = Box::new(transmit.tcp.clone());
            self.put(Item::Segment { at, side, sent: true, ends, tcp, len, cause });
        }
    }

    /// All that may leave has left.
    pub(crate) fn drained(&mut self, at: Instant, gateway: &Gateway) {
        for ends in std::mem::take(&mut self.touched) {
            for leg in gateway.observe(ends[0], ends[1]).into_iter().flatten() {
                self.put(Item::Leg { at, leg: Box::new(leg) });
            }
        }
    }

    fn packet(
        &mut self,
        at: Instant,
        side: Side,
        sent: bool,
        (headers, payload): (&[u8], &[u8]),
        cause: Option<Cause>,
    ) {
        let bytes = match self.config.packets {
            Some(Payloads::Kept) => [headers, payload].concat().into(),
            Some(Payloads::LeftOut) => headers.into(),
            None => return,
        };
        let len = headers.len() + payload.len();
        self.put(Item::Packet(TappedPacket { at, side, sent, bytes, len, cause }));
    }

    fn legs(&mut self, at: Instant, [one, other]: [SocketAddr; 2], gateway: &Gateway) {
        let mut named = [one, other];
        named.sort();
        self.touched.insert(named);
        for mut leg in gateway.observe(one, other).into_iter().flatten() {
            // Before it is asked for segments, it is what it was when it was last.
            leg.limiter = None;
            self.put(Item::Leg { at, leg: Box::new(leg) });
        }
    }
}
