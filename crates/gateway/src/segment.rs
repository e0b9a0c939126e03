//! A segment as it comes in.

use crate::Side;
use crate::hop_limit::HopLimit;
use bentpipe_core::tcp::buffer::Payload;
use bentpipe_core::wire::{IpHeader, TcpHeader};

/// A TCP segment, with where it came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment<'a> {
    /// The side on which it came in.
    pub(crate) from: Side,
    pub(crate) ip: &'a IpHeader,
    pub(crate) tcp: &'a TcpHeader,
    pub(crate) payload: Payload<'a>,
}

impl Segment<'_> {
    /// Whether it may be meant for others than the far host, to which its sender has sent with
    /// `usual` before: it has a signature, and the SYN had none, or it may die on the way. What the
    /// far host makes of it is for that to say.
    pub(crate) fn is_doubtful(&self, usual: HopLimit) -> bool {
        self.tcp.options.is_signed() || usual.is_far_above(self.ip.hop_limit)
    }
}
