//! Evidence: what a capture shows of a silence. No answer is given by itself: each follows from its
//! evidence: [`Evidence::says`] is the table of decidability, and docs/plot.md
//! has it in words.
//!
//! Turns on a link and marks are known from recordings only.

use crate::limiter::Limiter;

/// So often a short segment has to wait for an ACK until it is Nagle's rule.
const NAGLE: u32 = 3;
/// So many writes have gathered: the first of them has waited for most of the time.
const WRITES: u32 = 3;

/// The base of a conclusion. Packets are numbers in the file, times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// The connection was being opened.
    Opening,
    /// The peer's window had no room for a segment.
    WindowFull {
        /// The ACK that opened it, if one did.
        packet: Option<u32>,
        /// True if what was in flight at a loss was not acknowledged, so that cwnd is small, too.
        episode: bool,
    },
    /// The peer's window was closed.
    WindowZero {
        /// The packet that said so.
        packet: u32,
    },
    /// All was acknowledged for at least a round trip.
    AllAcknowledged {
        /// Since this packet.
        packet: u32,
        /// For so long.
        nanos: i64,
    },
    /// All was acknowledged, for less than a round trip.
    BrieflyIdle {
        /// Since this packet.
        packet: u32,
        /// For so long.
        nanos: i64,
    },
    /// The last thing that was heard is the peer's data.
    PeersData {
        /// Its packet.
        packet: u32,
        /// True if it left nothing outstanding.
        all: bool,
        /// True if a short segment may have waited for it: elsewhere one waited for an ACK.
        nagle: bool,
    },
    /// Nothing was heard for so long, and something was outstanding.
    Unprompted {
        /// Since the last thing that was heard, or the last segment.
        nanos: i64,
        /// True if more was written until it made a segment: elsewhere a short one waited for an
        /// ACK.
        nagle: bool,
        /// True if it may be a tail loss probe with new data, for which cwnd needs no room.
        probe: bool,
    },
    /// Nothing was heard for so long, and more was written, which no Nagle's rule holds back: the
    /// last segment had no PSH.
    MoreWritten {
        /// Since the last thing that was heard, or the last segment.
        nanos: i64,
    },
    /// An ACK without data came just before.
    AckClock {
        /// Its packet.
        packet: u32,
        /// Bytes in flight when it stopped now, and their maximum.
        flights: (i64, i64),
        /// True if that is more by a segment or more.
        less: bool,
        /// True if the peer's window is known to have had room.
        room: bool,
        /// The packet that began a recovery, which is not over.
        recovery: Option<u32>,
        /// True if the sender sends by itself for the most part, and not as ACKs come.
        paced: bool,
    },
    /// A short segment left just behind the ACK of all that was in flight.
    ShortSegments {
        /// That ACK's packet.
        packet: u32,
        /// The times that this is seen behind a single short segment; 0 if this was another one.
        times: u32,
        /// The shortest segments that would fit in it: so many writes it may hold.
        writes: u32,
        /// True if the application may have waited for the peer's data, which came before that ACK.
        asked: bool,
    },
    /// A short segment left when an ACK came, and full ones were in flight.
    ShortBehindFull {
        /// The ACK just before.
        packet: u32,
        /// Bytes in flight.
        bytes: i64,
    },
    /// The last segment was short: all that was written had been sent.
    AllSent {
        /// The ACK just before.
        packet: u32,
        /// Bytes in flight.
        bytes: i64,
    },
    /// A retransmission ended it, and the peer's window had no room for new data.
    WindowAndLoss,
    /// All had been sent, and the end of the stream with it.
    Ended,
    /// None of these.
    None(Reason),
}

/// Why a capture does not say what limited a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Nothing that the other end sent is in the capture.
    OneDirection,
    /// The capture is near the receiver.
    NearReceiver,
    /// The capture is near neither end.
    Between,
    /// No round trip says where the capture was taken.
    UnknownPlace,
    /// The scale of the peer's window is not in the capture, and two more rules fit.
    UnknownScale,
    /// What was sent in this time is not in the capture.
    Missing,
    /// A retransmission ended it, which says nothing of what kept new data back.
    Retransmission,
    /// More than two rules fit.
    Several,
}

impl Reason {
    /// All.
    pub const ALL: [Reason; 8] = [
        Reason::Several,
        Reason::OneDirection,
        Reason::NearReceiver,
        Reason::Between,
        Reason::UnknownPlace,
        Reason::UnknownScale,
        Reason::Missing,
        Reason::Retransmission,
    ];

    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Reason::OneDirection => "the other direction is not in this capture",
            Reason::NearReceiver => "captured near the receiver",
            Reason::Between => "captured far from the sender",
            Reason::UnknownPlace => "no round trip says where it was captured",
            Reason::Retransmission => "a retransmission ended it",
            Reason::Several => "more than two rules fit",
            Reason::Missing => "what was sent meanwhile is not in this capture",
            Reason::UnknownScale => "the scale of the peer's window is not in this capture",
        }
    }
}

/// A sender's limiter, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Said {
    /// This.
    One(Limiter),
    /// One of these.
    Either(Limiter, Limiter),
    /// Nothing, and why.
    Unknown(Reason),
}

impl Said {
    /// The pairs that there are.
    const PAIRS: [(Limiter, Limiter); 7] = [
        (Limiter::Application, Limiter::Pacer),
        (Limiter::Application, Limiter::CongestionWindow),
        (Limiter::Application, Limiter::SendBuffer),
        (Limiter::CongestionWindow, Limiter::SendBuffer),
        (Limiter::CongestionWindow, Limiter::Pacer),
        (Limiter::CongestionWindow, Limiter::PeerWindow),
        (Limiter::Nagle, Limiter::Application),
    ];

    /// All.
    pub fn all() -> impl Iterator<Item = Said> {
        let one = Limiter::ALL.into_iter().map(Said::One);
        let pairs = Said::PAIRS.into_iter().map(|(a, b)| Said::Either(a, b));
        one.chain(pairs).chain(Reason::ALL.into_iter().map(Said::Unknown))
    }

    /// The limiters that it may have been; none if that is unknown.
    pub fn limiters(self) -> impl Iterator<Item = Limiter> {
        let both = match self {
            Said::One(limiter) => [Some(limiter), None],
            Said::Either(a, b) => [Some(a), Some(b)],
            Said::Unknown(_) => [None, None],
        };
        both.into_iter().flatten()
    }

    /// In words.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Said::One(limiter) => limiter.name().to_owned(),
            Said::Either(a, b) => format!("{} or {}", a.name(), b.name()),
            Said::Unknown(reason) => format!("unknown ({})", reason.name()),
        }
    }

    /// Its color in a lane, as in HTML.
    #[must_use]
    pub fn color(self) -> &'static str {
        self.limiters().next().map_or("#8c959f", Limiter::color)
    }
}

impl Evidence {
    /// What follows from it.
    #[must_use]
    pub fn says(self) -> Said {
        use Limiter::{Application, CongestionWindow, Nagle, Pacer, PeerWindow, SendBuffer};
        match self {
            Evidence::Opening => Said::One(Limiter::Handshake),
            Evidence::WindowFull { episode: true, .. } => {
                Said::Either(CongestionWindow, PeerWindow)
            }
            Evidence::WindowFull { .. } | Evidence::WindowZero { .. } => Said::One(PeerWindow),
            Evidence::PeersData { nagle: true, .. } => Said::Either(Nagle, Application),
            Evidence::AllAcknowledged { .. } | Evidence::PeersData { all: true, .. } => {
                Said::One(Application)
            }
            Evidence::PeersData { .. } => Said::Either(Application, CongestionWindow),
            Evidence::Unprompted { probe: true, .. } => Said::Either(Application, CongestionWindow),
            Evidence::Unprompted { nagle: true, .. } => Said::Either(Nagle, Application),
            Evidence::BrieflyIdle { .. } | Evidence::Unprompted { .. } => {
                Said::Either(Application, Pacer)
            }
            Evidence::AckClock { paced: true, less: true, room: true, .. } => {
                Said::Either(CongestionWindow, Pacer)
            }
            Evidence::AckClock { paced: true, room: false, .. } => {
                Said::Unknown(Reason::UnknownScale)
            }
            Evidence::AckClock { less, room, .. } => match (less, room) {
                (true, true) => Said::One(CongestionWindow),
                (false, true) => Said::Either(CongestionWindow, SendBuffer),
                (true, false) => Said::Either(CongestionWindow, PeerWindow),
                (false, false) => Said::Unknown(Reason::UnknownScale),
            },
            Evidence::ShortSegments { times: NAGLE.., writes: WRITES.., asked: false, .. } => {
                Said::One(Nagle)
            }
            Evidence::ShortSegments { .. } => Said::Either(Nagle, Application),
            Evidence::MoreWritten { .. } => Said::Either(CongestionWindow, Pacer),
            Evidence::AllSent { .. } => Said::Either(Application, SendBuffer),
            Evidence::ShortBehindFull { .. } => Said::Either(Application, CongestionWindow),
            Evidence::WindowAndLoss => Said::Either(CongestionWindow, PeerWindow),
            Evidence::Ended => Said::One(Limiter::Closed),
            Evidence::None(reason) => Said::Unknown(reason),
        }
    }

    /// In words; nothing where the answer says all.
    #[must_use]
    pub fn words(self) -> String {
        let seconds = |nanos: i64| format!("{:.6} s", nanos as f64 / 1e9);
        match self {
            Evidence::Opening | Evidence::None(_) => String::new(),
            Evidence::WindowFull { packet: Some(packet), .. } => {
                format!("no room for a segment until packet {packet}")
            }
            Evidence::WindowFull { packet: None, .. } => "no room for a segment".to_owned(),
            Evidence::WindowZero { packet } => format!("closed by packet {packet}"),
            Evidence::AllAcknowledged { packet, nanos } => {
                format!("all was acknowledged for {}, by packet {packet}", seconds(nanos))
            }
            Evidence::BrieflyIdle { packet, nanos } => format!(
                "all was acknowledged for {}, by packet {packet}: less than a round trip",
                seconds(nanos)
            ),
            Evidence::PeersData { packet, .. } => {
                format!("packet {packet}, heard last, is the peer's data")
            }
            Evidence::MoreWritten { nanos } => {
                format!("nothing was heard for {}, and more was written", seconds(nanos))
            }
            Evidence::Unprompted { nanos, .. } => {
                format!("nothing was heard for {}", seconds(nanos))
            }
            Evidence::AckClock { packet, flights: (now, max), recovery, .. } => {
                let recovery = recovery.map_or_else(String::new, |began| {
                    format!("; in the recovery that packet {began} began")
                });
                format!("upon ACK {packet}; {now} B in flight, {max} B at maximum{recovery}")
            }
            Evidence::ShortSegments { packet, times: 0, .. } => {
                format!("a short segment upon ACK {packet} of all before it")
            }
            Evidence::ShortSegments { packet, times, .. } => {
                format!("a short segment upon ACK {packet} of a short one, {times} times in all")
            }
            Evidence::ShortBehindFull { packet, bytes } => {
                format!("a short segment upon ACK {packet}; {bytes} B in flight")
            }
            Evidence::AllSent { packet, bytes } => {
                format!("upon ACK {packet}; {bytes} B in flight, a short segment the last")
            }
            Evidence::WindowAndLoss => {
                "a retransmission ended it, and the window had no room".to_owned()
            }
            Evidence::Ended => "its FIN was sent".to_owned(),
        }
    }

    /// What it is called in JSON.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Evidence::Opening => "opening",
            Evidence::WindowFull { .. } => "window-full",
            Evidence::WindowZero { .. } => "window-zero",
            Evidence::AllAcknowledged { .. } => "all-acknowledged",
            Evidence::BrieflyIdle { .. } => "briefly-idle",
            Evidence::PeersData { .. } => "peers-data",
            Evidence::Unprompted { .. } => "unprompted",
            Evidence::MoreWritten { .. } => "more-written",
            Evidence::AckClock { .. } => "ack-clock",
            Evidence::ShortSegments { .. } => "short-segments",
            Evidence::AllSent { .. } => "all-sent",
            Evidence::ShortBehindFull { .. } => "short-behind-full",
            Evidence::WindowAndLoss => "window-and-loss",
            Evidence::Ended => "ended",
            Evidence::None(_) => "none",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_has_a_number() {
        let clocks = [true, false].into_iter().flat_map(|less| {
            let (recovery, flights) = (None, (1, 2));
            let clock = |room, paced| Evidence::AckClock {
                packet: 1,
                flights,
                less,
                room,
                recovery,
                paced,
            };
            [clock(true, false), clock(false, false), clock(true, true), clock(false, true)]
        });
        let heard = [true, false].into_iter().flat_map(|all| {
            [true, false].map(|nagle| Evidence::PeersData { packet: 1, all, nagle })
        });
        let others = [
            Evidence::Opening,
            Evidence::Ended,
            Evidence::WindowAndLoss,
            Evidence::None(Reason::Retransmission),
            Evidence::Unprompted { nanos: 1, nagle: true, probe: false },
            Evidence::Unprompted { nanos: 1, nagle: true, probe: true },
            Evidence::WindowZero { packet: 1 },
            Evidence::AllSent { packet: 1, bytes: 1 },
            Evidence::ShortBehindFull { packet: 1, bytes: 1 },
            Evidence::MoreWritten { nanos: 1 },
            Evidence::AllAcknowledged { packet: 1, nanos: 1 },
            Evidence::WindowFull { packet: None, episode: false },
            Evidence::WindowFull { packet: None, episode: true },
            Evidence::BrieflyIdle { packet: 1, nanos: 1 },
            Evidence::ShortSegments { packet: 1, times: 2, writes: 3, asked: false },
            Evidence::ShortSegments { packet: 1, times: 3, writes: 3, asked: false },
        ];
        let all: Vec<Said> = Said::all().collect();
        for evidence in clocks.chain(heard).chain(others) {
            assert!(all.contains(&evidence.says()), "{evidence:?}");
        }
    }
}
