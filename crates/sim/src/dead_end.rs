//! A router that has lost its way on, and says so.

use crate::node::Middlebox;
use crate::packet::{Content, Packet};
use bentpipe_core::time::Instant;
use bentpipe_core::wire::{IcmpError, IcmpErrorKind, IpHeader};
use std::net::IpAddr;

/// A router that answers each TCP packet with "destination unreachable": host unreachable (RFC
/// 1812, 5.2.7.1), or address unreachable (RFC 4443, 3.1). Other packets it drops.
#[derive(Debug, Clone, Copy)]
pub struct DeadEnd {
    /// Its own address, of the family of those who send to it.
    pub address: IpAddr,
}

impl Middlebox for DeadEnd {
    fn handle(
        &mut self,
        _now: Instant,
        port: usize,
        packet: Packet,
        send: &mut dyn FnMut(usize, Packet),
    ) {
        let code = if self.address.is_ipv4() { 1 } else { 3 };
        let kind = IcmpErrorKind::Unreachable { code };
        let error = packet.to_bytes().and_then(|bytes| IcmpError::emit(kind, self.address, &bytes));
        if let Some(error) = error {
            let ip = IpHeader { src: self.address, dst: packet.ip.src, ..packet.ip };
            send(port, Packet::new(ip, Content::Error(error)));
        }
    }
}
