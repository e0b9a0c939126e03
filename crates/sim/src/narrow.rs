//! A router behind which the path's MTU is smaller.

use crate::node::Middlebox;
use crate::packet::{Content, Packet};
use bentpipe_core::link::LinkPacket as _;
use bentpipe_core::time::Instant;
use bentpipe_core::wire::{IcmpError, IpHeader};
use std::net::IpAddr;

/// A router that lets no TCP packets pass that are longer than its MTU: they may not be fragmented
/// (RFC 1191, 4).
#[derive(Debug, Clone, Copy)]
pub struct Narrow {
    /// Its own address, of the family of those who send through it.
    pub address: IpAddr,
    /// The longest packet that passes, in bytes.
    pub mtu: u32,
    /// It drops in silence what is longer (a black hole), or says so to the sender.
    pub silent: bool,
}

impl Middlebox for Narrow {
    fn handle(
        &mut self,
        _now: Instant,
        port: usize,
        packet: Packet,
        send: &mut dyn FnMut(usize, Packet),
    ) {
        // What may be cut in pieces passes, and is put together elsewhere.
        let too_long = packet.ip.dont_fragment && packet.wire_len() > u64::from(self.mtu);
        // Nothing else is ever so long that has to pass here.
        let bytes = if too_long { packet.to_bytes() } else { None };
        let Some(bytes) = bytes else { return send(1 - port, packet) };
        if self.silent {
            return;
        }
        if let Some(error) = IcmpError::packet_too_big(self.address, self.mtu, &bytes) {
            let ip = IpHeader { src: self.address, dst: packet.ip.src, ..packet.ip };
            send(port, Packet::new(ip, Content::Error(error)));
        }
    }
}
