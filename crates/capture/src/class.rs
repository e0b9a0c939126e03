//! Classes of causes: what a page gives one color, and an entry of its legend. Where the sender has
//! recorded a cause, that counts; otherwise what is inferred of the segment.

use crate::analysis::{self, Fact, Mark, Repeat};
use crate::connection::Segment;
use bentpipe_core::tcp::cause::Cause;

/// The kind of a class, by which it is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClassKind {
    /// Data for the first time.
    Data,
    /// Data again, and probes.
    Again,
    /// An acknowledgment alone.
    Ack,
}

impl ClassKind {
    /// In a word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ClassKind::Data => "data",
            ClassKind::Again => "again",
            ClassKind::Ack => "ack",
        }
    }
}

/// What a segment was sent for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// New data; nothing more is known.
    New,
    /// New data, as ACKs came.
    AckClock,
    /// New data, at the pacer's moments.
    Paced,
    /// New data, as the peer's window opened.
    WindowOpened,
    /// New data, as the application wrote it.
    Written,
    /// New data that waited for something else: a turn on the link, the end of a mark.
    Turn,
    /// Data that comes late: what was sent behind it has overtaken it.
    Late,
    /// Again: the first hole of an episode.
    FastRetransmit,
    /// Again: further holes.
    Recovery,
    /// Again: overdue (RACK).
    Rack,
    /// Again: after a partial ACK.
    PartialAck,
    /// Again: the rescue.
    Rescue,
    /// Again: a retransmission once more, as nothing else was to be sent.
    SpareCopy,
    /// Again: the timer expired.
    Timeout,
    /// Again: in slow start after a timeout.
    AfterTimeout,
    /// Again; nothing more is known.
    Again,
    /// Again, or late: nothing tells which.
    Undecided,
    /// A probe: of the tail, of a window, of the peer's life.
    Probe,
    /// An ACK of enough segments.
    AckSegments,
    /// A delayed ACK.
    AckDelayed,
    /// An ACK of what came behind a hole.
    AckOutOfOrder,
    /// An ACK of what filled a hole.
    AckHoleFilled,
    /// An ACK of what had come before.
    AckDuplicate,
    /// A window update.
    AckWindow,
    /// Another ACK.
    AckOther,
}

/// Name in the legend, color, and what stands beside a mark where there is room.
type Look = (&'static str, &'static str, &'static str);

impl Class {
    /// All.
    pub const ALL: [Class; 25] = [
        Class::New,
        Class::AckClock,
        Class::Paced,
        Class::WindowOpened,
        Class::Written,
        Class::Turn,
        Class::Late,
        Class::FastRetransmit,
        Class::Recovery,
        Class::Rack,
        Class::PartialAck,
        Class::Rescue,
        Class::SpareCopy,
        Class::Timeout,
        Class::AfterTimeout,
        Class::Again,
        Class::Undecided,
        Class::Probe,
        Class::AckSegments,
        Class::AckDelayed,
        Class::AckOutOfOrder,
        Class::AckHoleFilled,
        Class::AckDuplicate,
        Class::AckWindow,
        Class::AckOther,
    ];

    /// The class of a segment: the recorded cause's, or what is inferred. `None` for those of the
    /// handshake and resets, and for ACKs of which nothing is known.
    #[must_use]
    pub fn of(segment: &Segment, fact: &Fact) -> Option<Class> {
        if !segment.counts() {
            return None;
        }
        match segment.recorded {
            Some(cause) => Class::recorded(cause),
            None => Class::inferred(segment, fact),
        }
    }

    fn recorded(cause: Cause) -> Option<Class> {
        Some(match cause {
            Cause::Handshake | Cause::HandshakeTimeout | Cause::Reset | Cause::Established => {
                return None;
            }
            Cause::AckClock => Class::AckClock,
            Cause::WindowOpened => Class::WindowOpened,
            Cause::Written | Cause::Coalesced => Class::Written,
            Cause::Paced => Class::Paced,
            Cause::LinkTurn | Cause::MarkOver => Class::Turn,
            Cause::FastRetransmit => Class::FastRetransmit,
            Cause::FastRecovery => Class::Recovery,
            Cause::Rack => Class::Rack,
            Cause::PartialAck => Class::PartialAck,
            Cause::Rescue => Class::Rescue,
            Cause::SpareCopy => Class::SpareCopy,
            Cause::Timeout => Class::Timeout,
            Cause::AfterTimeout => Class::AfterTimeout,
            Cause::TailLossProbe
            | Cause::ProbeTimeout
            | Cause::WindowProbe
            | Cause::KeepAlive
            | Cause::Blind => Class::Probe,
            Cause::Segments => Class::AckSegments,
            Cause::AckTimer => Class::AckDelayed,
            Cause::OutOfOrder => Class::AckOutOfOrder,
            Cause::HoleFilled => Class::AckHoleFilled,
            Cause::Duplicate => Class::AckDuplicate,
            Cause::WindowUpdate => Class::AckWindow,
            Cause::EndOfStream | Cause::Unacceptable | Cause::Division => Class::AckOther,
        })
    }

    fn inferred(segment: &Segment, fact: &Fact) -> Option<Class> {
        let marked = |mark| fact.marks.has(mark);
        let probe = marked(Mark::ZeroWindowProbe) || marked(Mark::KeepAlive);
        if probe && !fact.repeat.is_retransmission() {
            return Some(Class::Probe);
        }
        if segment.len == 0 {
            return if fact.dsack {
                Some(Class::AckDuplicate)
            } else if marked(Mark::DuplicateAck) {
                Some(Class::AckOutOfOrder)
            } else if marked(Mark::WindowUpdate) {
                Some(Class::AckWindow)
            } else {
                fact.delayed.then_some(Class::AckDelayed)
            };
        }
        Some(match fact.repeat {
            Repeat::New => Class::New,
            Repeat::Late(_) => Class::Late,
            Repeat::Undecided => Class::Undecided,
            Repeat::Retransmitted(_) => Class::of_cause(fact.cause),
        })
    }

    fn of_cause(cause: Option<analysis::Cause>) -> Class {
        match cause {
            Some(analysis::Cause::DuplicateAcks | analysis::Cause::Sacked) => Class::FastRetransmit,
            Some(analysis::Cause::Later) => Class::Rack,
            Some(analysis::Cause::Recovery) => Class::Recovery,
            Some(analysis::Cause::Timeout) => Class::Timeout,
            Some(analysis::Cause::AfterTimeout) => Class::AfterTimeout,
            Some(analysis::Cause::TailProbe) => Class::Probe,
            Some(analysis::Cause::TimeoutOrProbe | analysis::Cause::Unknown) | None => Class::Again,
        }
    }

    /// Where it is drawn.
    #[must_use]
    pub fn kind(self) -> ClassKind {
        match self {
            _ if self >= Class::AckSegments => ClassKind::Ack,
            _ if self >= Class::FastRetransmit => ClassKind::Again,
            _ => ClassKind::Data,
        }
    }

    /// Its name in a legend.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.look().0
    }

    /// Its color, as in HTML.
    #[must_use]
    pub fn color(self) -> &'static str {
        self.look().1
    }

    /// What stands beside its marks; it may be empty.
    #[must_use]
    pub fn label(self) -> &'static str {
        self.look().2
    }

    /// Colors differ in how dark they are, and what is not plain data has words: color is never all
    /// that tells.
    fn look(self) -> Look {
        match self {
            Class::New => ("new data", "#24292f", ""),
            Class::AckClock => ("ACK clock", "#24292f", ""),
            Class::Paced => ("paced", "#0072b2", ""),
            Class::WindowOpened => ("window opened", "#e69f00", ""),
            Class::Written => ("application wrote", "#56b4e9", ""),
            Class::Turn => ("turn on the link", "#8a7f00", ""),
            Class::Late => ("L late", "#1a7f7a", "L"),
            Class::FastRetransmit => ("R fast retransmit", "#d00000", "R"),
            Class::Recovery => ("R fast recovery", "#f0641e", "R"),
            Class::Rack => ("R RACK", "#b0127b", "R RACK"),
            Class::PartialAck => ("R partial ACK", "#9b5de5", "R partial"),
            Class::Rescue => ("R rescue", "#7a4b2a", "R rescue"),
            Class::SpareCopy => ("R spare copy", "#b7a08a", "R copy"),
            Class::Timeout => ("R timeout", "#7f0000", "R RTO"),
            Class::AfterTimeout => ("R after timeout", "#c98686", "R slow start"),
            Class::Again => ("R unknown cause", "#a3303f", "R"),
            Class::Undecided => ("R or late", "#c2571a", "R?"),
            Class::Probe => ("P probe", "#cc79a7", "P"),
            Class::AckSegments => ("ACK of segments", "#009e73", ""),
            Class::AckDelayed => ("delayed ACK", "#004d40", "delayed"),
            Class::AckOutOfOrder => ("duplicate ACK", "#ad5c00", ""),
            Class::AckHoleFilled => ("ACK, hole filled", "#0072b2", "filled"),
            Class::AckDuplicate => ("ACK of a duplicate", "#cc79a7", "duplicate"),
            Class::AckWindow => ("window update", "#3b5bdb", "window"),
            Class::AckOther => ("other ACK", "#6e7781", ""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recorded_cause_but_those_of_control_has_a_class() {
        let without: Vec<_> =
            Cause::ALL.iter().filter(|&&cause| Class::recorded(cause).is_none()).collect();
        assert_eq!(without.len(), 4, "{without:?}");
        for cause in Cause::ALL.iter().filter(|cause| cause.is_retransmission()) {
            assert_eq!(Class::recorded(*cause).unwrap().kind(), ClassKind::Again);
        }
    }

    #[test]
    fn classes_that_can_be_seen_together_look_different() {
        let looks: std::collections::BTreeSet<_> = Class::ALL.iter().map(|c| c.look()).collect();
        assert_eq!(looks.len(), Class::ALL.len());
        assert!(Class::ALL.iter().enumerate().all(|(index, &class)| class as usize == index));
    }
}
