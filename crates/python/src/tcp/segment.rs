//! A segment on its way.

use bentpipe_capture::words;
use bentpipe_core::link::LinkPacket;
use bentpipe_core::tcp::cause::Cause;
use bentpipe_core::wire::{Flags, TcpHeader};
use pyo3::prelude::*;
use std::sync::Arc;

/// Bytes of an IPv4 header.
const IP_HEADER: u64 = 20;

/// A segment. It never changes.
#[pyclass(frozen, module = "bentpipe._bentpipe")]
#[derive(Clone)]
pub(crate) struct Segment {
    pub(crate) header: Arc<TcpHeader>,
    pub(crate) payload: Arc<[u8]>,
    pub(crate) cause: Cause,
    /// The number of its flow on a link that several share.
    pub(crate) flow: u32,
}

impl LinkPacket for Segment {
    fn wire_len(&self) -> u64 {
        IP_HEADER + self.header.wire_len() as u64 + self.payload.len() as u64
    }
}

#[pymethods]
impl Segment {
    /// Its sequence number, modulo 2³².
    #[getter]
    fn seq(&self) -> u32 {
        self.header.seq.0
    }

    /// What it acknowledges, modulo 2³²; None without ACK.
    #[getter]
    fn ack(&self) -> Option<u32> {
        self.header.has(Flags::ACK).then_some(self.header.ack.0)
    }

    /// Its control bits: "SYN ACK".
    #[getter]
    fn flags(&self) -> String {
        let names = [
            ("SYN", Flags::SYN),
            ("ACK", Flags::ACK),
            ("FIN", Flags::FIN),
            ("RST", Flags::RST),
            ("PSH", Flags::PSH),
        ];
        let set = names.into_iter().filter(|(_, flag)| self.header.has(*flag));
        set.map(|(name, _)| name).collect::<Vec<&str>>().join(" ")
    }

    /// The window as it stands in the header, not scaled.
    #[getter]
    fn window(&self) -> u16 {
        self.header.window
    }

    /// Its SACK blocks (RFC 2018): the first sequence number of each, and the one behind its last.
    #[getter]
    fn sack(&self) -> Vec<(u32, u32)> {
        self.header.options.sack.iter().map(|block| (block.left.0, block.right.0)).collect()
    }

    /// Why it was sent.
    #[getter]
    fn cause(&self) -> &'static str {
        words(self.cause)
    }

    /// Whether it was sent before.
    #[getter]
    fn retransmission(&self) -> bool {
        self.cause.is_retransmission()
    }

    /// Its data.
    #[getter]
    fn data(&self) -> &[u8] {
        &self.payload
    }

    /// The number that `Link.send` was given with it.
    #[getter]
    fn flow(&self) -> u32 {
        self.flow
    }

    /// Bytes of data.
    fn __len__(&self) -> usize {
        self.payload.len()
    }

    /// Bytes with the headers of TCP and IPv4.
    #[getter]
    fn wire_length(&self) -> u64 {
        self.wire_len()
    }

    fn __repr__(&self) -> String {
        let ack = self.ack().map_or_else(String::new, |ack| format!(" ack={ack}"));
        let (flags, seq, len) = (self.flags(), self.seq(), self.payload.len());
        format!("<Segment {flags} seq={seq}{ack} len={len}: {}>", self.cause())
    }
}
