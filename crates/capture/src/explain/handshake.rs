//! The beginning of a connection: attempts, answers, and how long it took.

use crate::analysis::{Analysis, Fact};
use crate::connection::{Connection, Flags, Segment, Standing};
use crate::direction::Direction;

/// The beginning of a connection. Times are in nanoseconds since its first segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handshake {
    /// SYNs of the end that calls, retransmitted ones included.
    pub syns: u32,
    /// When the first of them passed, and the last.
    pub called: (i64, i64),
    /// SYN-ACKs, of any sequence number.
    pub answers: u32,
    /// True if both ends agreed on Accurate ECN (RFC 9768).
    pub accurate_ecn: bool,
    /// Its outcome.
    pub outcome: Outcome,
}

/// The end of a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was accepted, and all three segments passed: when the third did, and its packet.
    Opened {
        /// In nanoseconds since the first segment.
        at: i64,
        /// The third segment's packet.
        packet: u32,
    },
    /// It was accepted, as what follows shows. The SYN-ACK is not in the capture.
    AnswerMissing,
    /// A SYN-ACK came, and nothing acknowledged it.
    HalfOpen,
    /// A reset refused it.
    Refused,
    /// Nothing came.
    Unanswered,
}

/// The beginning of a connection. `None` if its SYN is not in the capture.
pub(super) fn of(connection: &Connection, analysis: &Analysis) -> Option<Handshake> {
    let origin = connection.segments.first()?.at;
    let (mut syns, mut answers, mut called, mut refused) = (0, 0, None, false);
    let (mut opened, mut accepted) = (None, false);
    // What of the caller's stream the capture has until now.
    let mut end = 0;
    for (segment, fact) in connection.segments.iter().zip(&analysis.facts) {
        let at = segment.at.saturating_sub(origin);
        let forward = segment.direction == Direction::Forward;
        match () {
            () if segment.standing == Standing::Copy => {}
            () if is_syn(segment) && forward => {
                syns += 1;
                called = Some((called.map_or(at, |(first, _)| first), at));
            }
            () if segment.flags.has(Flags::SYN) => answers += 1,
            () if segment.flags.has(Flags::RST) => refused |= !forward && called.is_some(),
            () if forward && answers > 0 && fact.ack.is_some_and(|ack| ack >= 1) => {
                opened = Some((at, segment.frame));
            }
            () if called.is_some() && segment.counts() => {
                accepted |= shows_acceptance(segment, fact, end);
            }
            () => {}
        }
        if forward && segment.counts() {
            end = end.max(fact.seq.saturating_add(i64::from(segment.space())));
        }
        if opened.is_some() {
            break;
        }
    }
    let outcome = match opened {
        Some((at, packet)) => Outcome::Opened { at, packet },
        None if answers > 0 => Outcome::HalfOpen,
        None if accepted => Outcome::AnswerMissing,
        None if refused => Outcome::Refused,
        None => Outcome::Unanswered,
    };
    let accurate_ecn = connection.accurate_ecn();
    called.map(|called| Handshake { syns, called, answers, accurate_ecn, outcome })
}

/// True if a segment behind the SYN shows that this was accepted. The caller acknowledges only what
/// it has heard, and its peer sends nothing before. A challenge ACK (RFC 5961, 4) acknowledges what
/// an earlier connection sent.
fn shows_acceptance(segment: &Segment, fact: &Fact, end: i64) -> bool {
    match segment.direction {
        Direction::Forward => fact.ack.is_some(),
        Direction::Backward => {
            segment.space() > 0 || fact.ack.is_some_and(|ack| (1..=end).contains(&ack))
        }
    }
}

fn is_syn(segment: &Segment) -> bool {
    segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK)
}

impl Handshake {
    /// In words.
    #[must_use]
    pub fn words(&self) -> String {
        let ecn = if self.accurate_ecn { ", with Accurate ECN" } else { "" };
        let seconds = |nanos: i64| format!("{:.6} s", nanos as f64 / 1e9);
        let again = match self.syns {
            0 | 1 => String::new(),
            2 => ", SYN retransmitted once".to_owned(),
            syns => format!(", SYN retransmitted {} times", syns - 1),
        };
        let spread = seconds(self.called.1.saturating_sub(self.called.0));
        match self.outcome {
            Outcome::Opened { at, .. } => {
                format!("opened in {}{again}{ecn}", seconds(at.saturating_sub(self.called.0)))
            }
            Outcome::AnswerMissing => format!("opened{again}; its answer is not in the capture"),
            Outcome::HalfOpen => format!("answered, and not opened{again}{ecn}"),
            Outcome::Refused => format!("refused{again}"),
            Outcome::Unanswered if self.syns > 1 => format!("never answered{again} in {spread}"),
            Outcome::Unanswered => "never answered".to_owned(),
        }
    }
}
