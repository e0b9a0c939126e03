//! Why a handshake does not make a flow.

/// What has shown it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The server's RST.
    Refused,
    /// The client's.
    Aborted,
    /// A router's word.
    Unreachable,
    /// A host goes on, though the other one's answer has not come through us.
    OneWay,
    /// A SYN of the server's.
    Simultaneous,
}
