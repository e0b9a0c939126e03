//! Limiters: what keeps a sender from sending.

/// What kept a sender from sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limiter {
    /// All that was written has been sent.
    Application,
    /// The congestion window is full.
    CongestionWindow,
    /// The peer's window is.
    PeerWindow,
    /// The send buffer is full: the application waits until something is acknowledged.
    SendBuffer,
    /// The pacer's next moment has not come.
    Pacer,
    /// It is another sender's turn on the link.
    Link,
    /// Loss recovery sends nothing for now.
    Recovery,
    /// Nagle's rule, or silly window avoidance: a short segment waits for more.
    Nagle,
    /// A mark came at a window of one segment (RFC 3168, 6.1.2).
    Mark,
    /// The connection is not established.
    Handshake,
    /// The stream has ended and all of it was sent, or the connection is over.
    Closed,
}

impl Limiter {
    /// All.
    pub const ALL: [Limiter; 11] = [
        Limiter::Application,
        Limiter::CongestionWindow,
        Limiter::PeerWindow,
        Limiter::SendBuffer,
        Limiter::Pacer,
        Limiter::Link,
        Limiter::Recovery,
        Limiter::Nagle,
        Limiter::Mark,
        Limiter::Handshake,
        Limiter::Closed,
    ];

    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Limiter::Application => "application",
            Limiter::CongestionWindow => "cwnd",
            Limiter::PeerWindow => "peer's window",
            Limiter::SendBuffer => "send buffer",
            Limiter::Pacer => "pacer",
            Limiter::Link => "turn on the link",
            Limiter::Recovery => "recovery",
            Limiter::Nagle => "Nagle",
            Limiter::Mark => "mark",
            Limiter::Handshake => "handshake",
            Limiter::Closed => "closed",
        }
    }

    /// Its name in qlog.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Limiter::Application => "application",
            Limiter::CongestionWindow => "cwnd",
            Limiter::PeerWindow => "peer-window",
            Limiter::SendBuffer => "send-buffer",
            Limiter::Pacer => "pacer",
            Limiter::Link => "link-turn",
            Limiter::Recovery => "recovery",
            Limiter::Nagle => "nagle",
            Limiter::Mark => "mark",
            Limiter::Handshake => "handshake",
            Limiter::Closed => "closed",
        }
    }

    /// Its color in a lane, as in HTML: white letters can be read on it.
    #[must_use]
    pub fn color(self) -> &'static str {
        match self {
            Limiter::Application => "#2f7fb0",
            Limiter::CongestionWindow => "#24292f",
            Limiter::PeerWindow => "#b07900",
            Limiter::SendBuffer => "#3d7a4f",
            Limiter::Pacer => "#00437a",
            Limiter::Link => "#6b6300",
            Limiter::Recovery => "#d00000",
            Limiter::Nagle => "#a5557f",
            Limiter::Mark => "#7b3fb5",
            Limiter::Handshake => "#57606a",
            Limiter::Closed => "#8c959f",
        }
    }
}
