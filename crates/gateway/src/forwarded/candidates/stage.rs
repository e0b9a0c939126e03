//! How far a candidate has come, and how a segment moves it on.

/// How far its handshake has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its SYN has passed.
    Asked,
    /// So has its SYN-ACK.
    Answered,
    /// And the client's acknowledgment of that.
    Open,
    /// It has passed another gateway, or this one long ago. Where the hosts are now is not known
    /// yet.
    Recalled,
}

/// What a segment makes of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// It remains one.
    Remains,
    /// It is none any more.
    Over,
    /// It may be split now.
    Whole,
}

/// Whether a segment fits what is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fits {
    Yes,
    /// Its receiver drops it.
    Not,
    /// It acknowledges what has not passed here: there is another path.
    Ahead,
}
