//! The congestion controls of the running kernel.

use socket2::{Domain, Socket, Type};

/// Tells whether sockets can have the congestion control of this name.
///
/// The kernel loads a module for it if it may.
pub fn is_available(name: &str) -> bool {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None);
    socket.is_ok_and(|socket| socket.set_tcp_congestion(name.as_bytes()).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_has_reno() {
        assert!(is_available("reno"));
        assert!(!is_available("no-such-control"));
    }
}
