//! What tells a packet's flow from others, as one number.

use std::net::IpAddr;

/// The hash of a flow by its five-tuple (FNV-1a): for
/// [`LinkPacket::flow_hash`](super::LinkPacket::flow_hash). Of a protocol without ports, and of
/// fragments, the ports are zero.
pub fn flow_hash(source: IpAddr, destination: IpAddr, protocol: u8, ports: [u16; 2]) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
        }
    };
    for address in [source, destination] {
        match address {
            IpAddr::V4(address) => add(&address.octets()),
            IpAddr::V6(address) => add(&address.octets()),
        }
    }
    add(&[protocol]);
    ports.iter().for_each(|port| add(&port.to_be_bytes()));
    hash
}
