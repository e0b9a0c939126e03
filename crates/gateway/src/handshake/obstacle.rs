//! Why a handshake comes to nothing.

/// What has been seen of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The server's RST.
    Refused,
    /// The client's.
    Aborted,
    /// A router's word.
    Unreachable,
    /// What comes of one host behind what has not come through us of the other.
    OneWay,
    /// A SYN of the server's.
    Simultaneous,
}
