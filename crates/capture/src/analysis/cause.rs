//! Causes of retransmissions, as RFC 5681, 6675, 8985 (RACK-TLP) and 6298 have them.

/// Why a segment was retransmitted, as inferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Three duplicate ACKs (RFC 5681).
    DuplicateAcks,
    /// Three segments behind it were sacked (RFC 6675).
    Sacked,
    /// A segment that was sent after it was delivered (RACK).
    Later,
    /// An ACK in the course of a recovery.
    Recovery,
    /// The retransmission timer expired.
    Timeout,
    /// In the course of a recovery that a timeout began.
    AfterTimeout,
    /// A probe of the tail (TLP).
    TailProbe,
    /// The retransmission timer, or a probe of the tail: it was as long as either.
    TimeoutOrProbe,
    /// None of these, or it cannot be told.
    Unknown,
}

impl Cause {
    /// All.
    pub const ALL: [Cause; 9] = [
        Cause::DuplicateAcks,
        Cause::Sacked,
        Cause::Later,
        Cause::Recovery,
        Cause::Timeout,
        Cause::AfterTimeout,
        Cause::TailProbe,
        Cause::TimeoutOrProbe,
        Cause::Unknown,
    ];

    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Cause::DuplicateAcks => "fast retransmit: three duplicate ACKs",
            Cause::Sacked => "fast retransmit: three segments behind it were sacked",
            Cause::Later => "fast retransmit: a later segment was delivered (RACK)",
            Cause::Recovery => "retransmitted in recovery",
            Cause::Timeout => "retransmission timeout",
            Cause::AfterTimeout => "retransmitted after a timeout",
            Cause::TailProbe => "tail loss probe",
            Cause::TimeoutOrProbe => "retransmission timeout or tail loss probe",
            Cause::Unknown => "unknown",
        }
    }
}
