//! A receiver's parameters.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Parameters of a [`Receiver`](super::Receiver).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiverConfig {
    /// The largest payload that the peer sends in one segment, in bytes.
    pub rmss: Bytes,
    /// The window field counts units of 2^shift bytes.
    pub window_shift: u8,
    /// Whether SACK was agreed on.
    pub sack: bool,
    /// A FIN is acknowledged only when
    /// [`Receiver::acknowledge_fin`](super::Receiver::acknowledge_fin) says so.
    pub hold_fin: bool,
    /// While the window is narrow, acknowledgments are delayed (RFC 1122) though the policy has one
    /// for each segment, and [`Receiver::open_in_steps`](super::Receiver::open_in_steps) announces
    /// large steps.
    pub delay_at_full_window: bool,
}
