//! What a host says to segments of no connection.

use bentpipe_core::wire::{Flags, SeqNum, TcpHeader};

/// RFC 9293, 3.10.7.1: a segment of no connection is answered with a RST, unless it is one.
pub(super) fn answer(tcp: &TcpHeader, payload_len: usize) -> Option<TcpHeader> {
    if tcp.has(Flags::RST) {
        return None;
    }
    let occupied =
        payload_len as u64 + u64::from(tcp.has(Flags::SYN)) + u64::from(tcp.has(Flags::FIN));
    let (seq, ack, flags) = if tcp.has(Flags::ACK) {
        (tcp.ack, SeqNum(0), Flags::RST)
    } else {
        (SeqNum(0), tcp.seq + occupied, Flags::RST | Flags::ACK)
    };
    let (src_port, dst_port) = (tcp.dst_port, tcp.src_port);
    Some(TcpHeader { src_port, dst_port, seq, ack, flags, ..TcpHeader::default() })
}
