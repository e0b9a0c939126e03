//! The states, and what the application is told.

/// The states of RFC 9293, section 3.3.2. (LISTEN is whoever calls
/// [`Connection::accept`](super::Connection::accept).)
///
/// RFC 1644's starred states are these with a SYN or a FIN that is still to be acknowledged or
/// sent: see [`Connection::sends_syn`](super::Connection::sends_syn) and
/// [`Connection::sends_fin`](super::Connection::sends_fin).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray, strum::Display,
)]
#[strum(serialize_all = "kebab-case")]
#[allow(missing_docs)]
pub enum State {
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
    Closed,
}

/// What the application is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete, or (T/TCP) the peer's SYN was taken without one.
    Connected,
    /// The peer has closed its direction: after what is still to be read, the stream ends.
    PeerClosed,
    /// The peer has reset the connection, or refused it.
    Reset,
    /// The peer does not answer any more.
    TimedOut,
    /// A router says that the peer cannot be reached, while the connection is being opened. It
    /// may be for the moment only: nothing else changes.
    Unreachable,
    /// Both directions have ended in order.
    Closed,
}

/// Who closed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closer {
    Us,
    Peer,
}
