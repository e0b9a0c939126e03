//! A router that clears DF and cuts what is too long for it, with a host behind it that puts the
//! pieces together.

use crate::node::Middlebox;
use crate::packet::{Body, Packet};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::{self, Verify};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Range;
use std::rc::Rc;

/// Without options.
const HEADER: usize = 20;
/// Where TCP's checksum is.
const TCP_SUM: Range<usize> = HEADER + 16..HEADER + 18;
/// How long a host keeps a piece (Linux's `ipfrag_time`).
const PATIENCE: Duration = Duration::from_secs(30);

/// Which packet a piece is of, as hosts see it.
type Name = (IpAddr, IpAddr, u16);

/// The two pieces of a packet, as far as they have come.
#[derive(Debug, Default, Clone)]
struct Pieces([Option<Vec<u8>>; 2]);

/// The router, for IPv4. Some of the pieces are lost. What is left of a packet is put together with
/// a piece of another that has its identification, where TCP's checksum does not find it.
#[derive(Debug)]
pub struct ClearsDf {
    rng: Pcg64Mcg,
    mtu: usize,
    loss: f64,
    waiting: BTreeMap<Name, (Instant, Pieces)>,
    counts: Pieced,
}

/// What has become of the packets that were cut.
#[derive(Debug, Clone, Default)]
pub struct Pieced {
    /// Packets that were whole again.
    pub whole: Rc<Cell<u64>>,
    /// Mixtures of two packets.
    pub mixtures: Rc<Cell<u64>>,
}

impl ClearsDf {
    /// Packets of up to `mtu` bytes pass whole, and of the pieces of others the share `loss` is
    /// lost.
    pub fn new(mtu: usize, loss: f64, seed: u64) -> ClearsDf {
        let rng = Pcg64Mcg::seed_from_u64(seed);
        ClearsDf { rng, mtu, loss, waiting: BTreeMap::new(), counts: Pieced::default() }
    }

    /// The counts, which go on.
    pub fn counts(&self) -> Pieced {
        self.counts.clone()
    }

    /// Whether both pieces have come with this one.
    fn keep(&mut self, now: Instant, name: Name, number: usize, piece: Vec<u8>) -> Option<Vec<u8>> {
        self.waiting.retain(|_, (since, _)| now < *since + PATIENCE);
        let (_, Pieces(pieces)) =
            self.waiting.entry(name).or_insert_with(|| (now, Pieces::default()));
        if pieces[number].is_some() {
            // Another one was there already: both packets are given up (RFC 5722).
            self.waiting.remove(&name);
            return None;
        }
        pieces[number] = Some(piece);
        let [Some(head), Some(tail)] = pieces else { return None };
        let whole = [&head[..], tail].concat();
        self.waiting.remove(&name);
        Some(whole)
    }
}

impl Middlebox for ClearsDf {
    fn handle(
        &mut self,
        now: Instant,
        port: usize,
        mut packet: Packet,
        send: &mut dyn FnMut(usize, Packet),
    ) {
        packet.ip.dont_fragment = false;
        let bytes = packet.to_bytes().filter(|bytes| bytes.len() > self.mtu);
        let Some(bytes) = bytes else { return send(1 - port, packet) };
        let name = (packet.ip.src, packet.ip.dst, packet.ip.identification);
        let cut = HEADER + (self.mtu - HEADER) / 8 * 8;
        for (number, piece) in [&bytes[..cut], &bytes[cut..]].into_iter().enumerate() {
            if self.rng.random::<f64>() < self.loss {
                continue;
            }
            let Some(mut whole) = self.keep(now, name, number, piece.to_vec()) else { continue };
            if whole == bytes {
                self.counts.whole.update(|whole| whole + 1);
                send(1 - port, packet.clone());
                continue;
            }
            self.counts.mixtures.update(|mixtures| mixtures + 1);
            let len = (whole.len() as u16).to_be_bytes();
            whole[2..4].copy_from_slice(&len);
            let mixed =
                wire::Packet::parse(&whole, Verify::Skip).expect("the head has all headers");
            let body = Body::Bytes(mixed.payload.to_vec());
            let mixed = Packet::tcp(mixed.ip, mixed.tcp, body);
            // Its host drops it but for one in 65,536.
            if mixed.to_bytes().is_some_and(|right| right[TCP_SUM] == whole[TCP_SUM]) {
                send(1 - port, mixed);
            }
        }
    }
}
