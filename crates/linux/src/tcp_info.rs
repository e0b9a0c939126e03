//! What Linux has counted of a connection (tcp(7), `TCP_INFO`).

use crate::socket_option;
use bentpipe_core::time::Duration;
use nix::libc;
use socket2::Socket;

/// What a sender has counted.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TcpInfo {
    /// Segments sent, repeats included (`tcpi_data_segs_out`).
    pub segments: u64,
    /// Segments retransmitted (`tcpi_total_retrans`).
    pub retransmissions: u64,
    /// Bytes retransmitted (`tcpi_bytes_retrans`).
    pub retransmitted_bytes: u64,
    /// Expiries of the retransmission timer (`tcpi_total_rto`); None before Linux 6.7.
    pub timeouts: Option<u64>,
    /// The minimum round-trip time.
    pub min_rtt: Option<Duration>,
    /// The smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// It is in fast recovery (`TCP_CA_Recovery`).
    pub recovers: bool,
}

/// What Linux has counted of a connection.
pub fn tcp_info(socket: &Socket) -> TcpInfo {
    let mut buffer = [0_u8; 512];
    let length = socket_option::read_tcp(socket, libc::TCP_INFO, &mut buffer);
    TcpInfo::read(&buffer[..length])
}

impl TcpInfo {
    /// From `struct tcp_info` of `linux/tcp.h`, whose fields stay where they are and only become
    /// more.
    fn read(bytes: &[u8]) -> TcpInfo {
        const TCP_CA_RECOVERY: u8 = 3;
        let word = |at: usize| {
            let found = bytes.get(at..at + 4)?;
            Some(u64::from(u32::from_ne_bytes(found.try_into().ok()?)))
        };
        let long = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let half = |at: usize| {
            let found = bytes.get(at..at + 2)?;
            Some(u64::from(u16::from_ne_bytes(found.try_into().ok()?)))
        };
        let micros = |micros: Option<u64>| {
            let known = micros.filter(|micros| *micros > 0 && *micros < u64::from(u32::MAX));
            known.map(Duration::from_micros)
        };
        TcpInfo {
            retransmissions: word(100).unwrap_or(0),
            segments: word(156).unwrap_or(0),
            retransmitted_bytes: long(208).unwrap_or(0),
            timeouts: half(240),
            min_rtt: micros(word(148)),
            srtt: micros(word(68)),
            recovers: bytes.get(1) == Some(&TCP_CA_RECOVERY),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_kernels_shorter_answer_is_read() {
        assert_eq!(TcpInfo::read(&[]), TcpInfo::default());
        // The states are Open, Disorder, CWR, Recovery and Loss.
        let recovers = [0, 1, 2, 3, 4].map(|state| TcpInfo::read(&[1, state]).recovers);
        assert_eq!(recovers, [false, false, false, true, false]);
    }
}
