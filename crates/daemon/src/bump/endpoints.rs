//! A connection's name where packets are taken: its ends as they stand on the wire, by the side of
//! the device on which they are.

use bentpipe_linux::bpf::map::Plain;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The two endpoints of a connection. Ports are zero where all packets between two addresses are
/// meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Endpoints {
    /// That which is reached through this host.
    pub inner: SocketAddr,
    /// That which is reached by the device.
    pub outer: SocketAddr,
}

impl Endpoints {
    /// Where the ports stand among the bytes, behind both addresses.
    pub(super) const PORTS: i16 = 32;
}

/// Inner address, outer address, as of IPv6 (RFC 4291, 2.5.5.2), inner port, outer port, in the
/// order of the network.
impl Plain for Endpoints {
    const LEN: usize = 36;

    fn write(&self, bytes: &mut [u8]) {
        for (end, at) in [(self.inner, 0), (self.outer, 1)] {
            let address = match end.ip() {
                IpAddr::V4(address) => address.to_ipv6_mapped(),
                IpAddr::V6(address) => address,
            };
            bytes[16 * at..][..16].copy_from_slice(&address.octets());
            bytes[32 + 2 * at..][..2].copy_from_slice(&end.port().to_be_bytes());
        }
    }

    fn read(bytes: &[u8]) -> Endpoints {
        let end = |at: usize| {
            let address: [u8; 16] = bytes[16 * at..][..16].try_into().expect("sixteen");
            let port: [u8; 2] = bytes[32 + 2 * at..][..2].try_into().expect("two");
            let address = Ipv6Addr::from(address).to_canonical();
            SocketAddr::new(address, u16::from_be_bytes(port))
        };
        Endpoints { inner: end(0), outer: end(1) }
    }
}
