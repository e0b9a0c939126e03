//! The marks that a segment can have, by the names that Wireshark's filters have for them.

/// One mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// Its data came before.
    Retransmission,
    /// The same, within 20 ms of an ACK that came at least three times.
    FastRetransmission,
    /// All of its data was acknowledged before.
    SpuriousRetransmission,
    /// It came late, but sooner than a retransmission could.
    OutOfOrder,
    /// Data before it is missing in the capture.
    LostSegment,
    /// It acknowledges data that is not in the capture.
    AckLostSegment,
    /// It acknowledges the same as the one before.
    DuplicateAck,
    /// It announces that nothing can be taken.
    ZeroWindow,
    /// One byte, sent to learn whether the window is open.
    ZeroWindowProbe,
    /// The answer to such a probe: still closed.
    ZeroWindowProbeAck,
    /// Its data reaches the window's end.
    WindowFull,
    /// It announces another window, and nothing else.
    WindowUpdate,
    /// Sent to learn whether the peer is there.
    KeepAlive,
    /// The answer to that.
    KeepAliveAck,
    /// The same addresses and ports had a connection before.
    ReusedPorts,
}

impl Mark {
    /// All.
    pub const ALL: [Mark; 15] = [
        Mark::Retransmission,
        Mark::FastRetransmission,
        Mark::SpuriousRetransmission,
        Mark::OutOfOrder,
        Mark::LostSegment,
        Mark::AckLostSegment,
        Mark::DuplicateAck,
        Mark::ZeroWindow,
        Mark::ZeroWindowProbe,
        Mark::ZeroWindowProbeAck,
        Mark::WindowFull,
        Mark::WindowUpdate,
        Mark::KeepAlive,
        Mark::KeepAliveAck,
        Mark::ReusedPorts,
    ];

    /// What follows `tcp.analysis.` in Wireshark's name of it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Mark::Retransmission => "retransmission",
            Mark::FastRetransmission => "fast_retransmission",
            Mark::SpuriousRetransmission => "spurious_retransmission",
            Mark::OutOfOrder => "out_of_order",
            Mark::LostSegment => "lost_segment",
            Mark::AckLostSegment => "ack_lost_segment",
            Mark::DuplicateAck => "duplicate_ack",
            Mark::ZeroWindow => "zero_window",
            Mark::ZeroWindowProbe => "zero_window_probe",
            Mark::ZeroWindowProbeAck => "zero_window_probe_ack",
            Mark::WindowFull => "window_full",
            Mark::WindowUpdate => "window_update",
            Mark::KeepAlive => "keep_alive",
            Mark::KeepAliveAck => "keep_alive_ack",
            Mark::ReusedPorts => "reused_ports",
        }
    }
}

/// Several marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Marks(u16);

impl Marks {
    /// Adds one.
    pub fn add(&mut self, mark: Mark) {
        self.0 |= 1 << mark as u16;
    }

    /// True if it is there.
    #[must_use]
    pub fn has(self, mark: Mark) -> bool {
        self.0 & (1 << mark as u16) != 0
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = Mark> {
        Mark::ALL.into_iter().filter(move |&mark| self.has(mark))
    }

    /// Bit n is the n-th of [`Mark::ALL`].
    #[must_use]
    pub fn bits(self) -> u16 {
        self.0
    }

    /// True if its data was sent before. Wireshark counts fast and spurious ones among its
    /// retransmissions, too.
    #[must_use]
    pub fn retransmitted(self) -> bool {
        [Mark::Retransmission, Mark::FastRetransmission, Mark::SpuriousRetransmission]
            .into_iter()
            .any(|mark| self.has(mark))
    }

    /// Without [`Mark::Retransmission`] where a more exact mark says why: as we mark, and as
    /// Wireshark's columns have it.
    #[must_use]
    pub fn most_specific(self) -> Marks {
        let exact = [Mark::FastRetransmission, Mark::SpuriousRetransmission];
        if exact.into_iter().any(|mark| self.has(mark)) {
            return Marks(self.0 & !(1 << Mark::Retransmission as u16));
        }
        self
    }
}
