//! Who is told what happens in a world, line by line: each packet that arrives, and what gateways
//! tell.

use crate::packet::{Body, Content, Packet};
use bentpipe_core::wire::Timestamps;
use std::fmt;

/// It hears every line.
pub struct Listener(Box<dyn FnMut(String) + Send>);

impl Listener {
    /// Of what takes lines.
    pub fn new(hear: impl FnMut(String) + Send + 'static) -> Listener {
        Listener(Box::new(hear))
    }

    /// Tells it a line.
    pub(crate) fn tell(&mut self, line: String) {
        (self.0)(line);
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

/// A packet in one line: from whom to whom, flags, sequence number and length, acknowledgment,
/// window, options.
impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (src, dst) = (self.ip.src, self.ip.dst);
        let (tcp, body) = match &self.content {
            Content::Tcp(tcp, body) => (tcp, body),
            Content::Udp(datagram) => return write!(f, "{src} > {dst} {datagram:?}"),
            Content::Echo(echo) => return write!(f, "{src} > {dst} {echo:?}"),
            Content::Error(bytes) => {
                return write!(f, "{src} > {dst} ICMP error, {} bytes", bytes.len());
            }
        };
        write!(f, "{src}.{} > {dst}.{} {:?} ", tcp.src_port, tcp.dst_port, tcp.flags)?;
        write!(f, "{}+{} ack {} win {}", tcp.seq.0, Body::len(body), tcp.ack.0, tcp.window)?;
        let options = &tcp.options;
        if let Some(mss) = options.mss {
            write!(f, " mss {mss}")?;
        }
        if let Some(shift) = options.window_scale {
            write!(f, " scale {shift}")?;
        }
        if options.sack_permitted {
            f.write_str(" sackOK")?;
        }
        if let Some(Timestamps { value, echo }) = options.timestamps {
            write!(f, " ts {value}/{echo}")?;
        }
        for block in &options.sack {
            write!(f, " sack {}-{}", block.left.0, block.right.0)?;
        }
        self.cause.map_or(Ok(()), |cause| write!(f, " ({cause})"))
    }
}
