//! Data below the highest: it was sent before, or comes late. Only a proof says which.

/// A segment's data, compared with what was seen before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Repeat {
    /// It is new, or there is none.
    #[default]
    New,
    /// It was sent before.
    Retransmitted(Proof),
    /// It was sent once, and data that was sent behind it has overtaken it.
    Late(Proof),
    /// One of both: the capture does not say which.
    Undecided,
}

/// The proof of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// The capture has its first transmission.
    Passed,
    /// The other end had acknowledged it.
    Acknowledged,
    /// The order of IP IDs (RFC 6864), where the sender counts its packets.
    IpId,
    /// The order of TSvals (RFC 7323).
    Timestamp,
}

impl Proof {
    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Proof::Passed => "its first transmission is in the capture",
            Proof::Acknowledged => "it had been acknowledged",
            Proof::IpId => "by the order of IP IDs",
            Proof::Timestamp => "by the order of timestamps",
        }
    }
}

impl Repeat {
    /// All, in the order of their numbers on the page.
    pub const ALL: [Repeat; 8] = [
        Repeat::New,
        Repeat::Retransmitted(Proof::Passed),
        Repeat::Retransmitted(Proof::Acknowledged),
        Repeat::Retransmitted(Proof::IpId),
        Repeat::Retransmitted(Proof::Timestamp),
        Repeat::Late(Proof::IpId),
        Repeat::Late(Proof::Timestamp),
        Repeat::Undecided,
    ];

    /// True if it was shown to have been sent before.
    #[must_use]
    pub fn is_retransmission(self) -> bool {
        matches!(self, Repeat::Retransmitted(_))
    }

    /// In words.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Repeat::New => "new".to_owned(),
            Repeat::Retransmitted(proof) => format!("retransmitted: {}", proof.name()),
            Repeat::Late(proof) => format!("late: {}", proof.name()),
            Repeat::Undecided => "late or retransmitted".to_owned(),
        }
    }
}
