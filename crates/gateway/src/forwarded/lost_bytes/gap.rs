//! When bytes of a direction that is forwarded are held by nobody any more.
//!
//! A sender keeps what is not acknowledged, and when its timer expires it sends the first of it
//! (RFC 6298, 5.4). So one that sends S again and again and nothing below has had all below S
//! acknowledged. A receiver that answers each time that it expects y < S does not have \[y, S). If
//! they were acknowledged by a gateway that still lives and leaves the connection to the hosts, it
//! goes on sending them, which passes here as well: then somebody sends less than S. If nobody does
//! for [`PATIENCE`], they are lost.
//!
//! A sender whose window is closed has nothing to retransmit: [`super::probe`] is about its probes.
//!
//! What is no such sign:
//! - keep-alives, and probes of the receiver's own closed window: they lie below what it expects,
//!   or at it;
//! - a retransmission whose first part was lost before it came here, a tail loss probe, what SACK
//!   shows to be missing above y: the sender sends y as well, before its second timeout at the
//!   latest;
//! - packets that arrive twice or late: a repetition counts [`APART`] from the last one;
//! - an outage, in which nobody could have been seen: a timer doubles. If S was away for much
//!   longer than ever before or after, some of it was lost, as may have been what is missing: of
//!   that time only [`UNLIKE`] times the next longest counts. And if S comes sooner than it did
//!   before, it must come [`REPEATS`] times from then on;
//! - a receiver that reads slowly: while its window is closed nobody can send it anything;
//! - a path that drops long packets, and says so by ICMP errors that may be lost: where the
//!   sender's segment is shorter than any path carries ([`SHORT`]), and what is missing is longer
//!   than that, nobody must send it for [`DOUBTS`] times as long;
//! - acknowledgments on another path: without one after each repetition nothing counts;
//! - an answer to somebody else, whose retransmissions do not pass here: it begins with what came
//!   twice (RFC 2883, 4), and that lies below y, not at S. Who sends that holds all that follows
//!   it. Without SACK its time shows it: an answer that comes later than [`TIMELY`] behind the last
//!   S is no answer to that, and all that was counted may have been like it.
//!
//! Anybody can forge segments. So an answer counts only if its sequence number is just what the
//! sender expects, or if it reports just S by SACK: who does not see the traffic has to guess 32
//! bits for the one as for the other, as with a RST (RFC 5961, 3), or to bring data into the
//! connection (5). All else that could be forged only delays the end. And a RST stands where its
//! receiver says that it expects the next byte, so that it does nothing to one who has said
//! something else.

use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::{IpHeader, SeqNum, TcpHeader};

/// A segment, and how many sequence numbers it occupies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passing<'a> {
    pub(super) ip: &'a IpHeader,
    pub(super) tcp: &'a TcpHeader,
    pub(super) occupied: u64,
}

/// How often S must come again, and be answered by y.
const REPEATS: u8 = 2;

/// The missing bytes must stay unsent for this long. A gateway that leaves a connection repeats
/// what it holds as soon as it hears that its host lives; one that is passed by sends it blindly
/// before that, on a way that may not lead here. (Linux's timeouts double from 0.2 s, so for it
/// anything from 10 to 19 s is the same.)
const PATIENCE: Duration = Duration::from_secs(17);

/// Bytes that any path carries in a packet of 576 bytes, with all options.
const SHORT: u64 = 456;

/// So many times [`PATIENCE`] where what is missing may be too long for the path: another
/// retransmission.
const DOUBTS: u32 = 3;

/// The least time between two segments for the second to be a repetition: Linux's minimum timeout.
const APART: Duration = Duration::from_millis(200);

/// How long after a segment its answer comes at most: more than a round trip by satellite with a
/// full queue. Somebody else's retransmissions come every few seconds, so the less the better.
const TIMELY: Duration = Duration::from_secs(2);

/// A sender's longest wait is longer than the next one by less than this: its timeouts double (RFC
/// 6298, 5.5), and a round trip more or less changes little.
const UNLIKE: u32 = 4;

/// Further apart than anything that gateways hold, numbers are not of one connection.
pub(super) const REACH: u32 = 1 << 28;

/// How often both hosts are reset at most, each time behind another repetition.
const RESETS: u8 = 3;

/// A connection that nothing is known against keeps its place for as long in a full table.
const UNSUSPECTED: Duration = Duration::from_secs(2);

/// One of which there are only empty segments, until there may be a second one.
const PROBE_AWAITED: Duration = Duration::from_secs(30);

/// One whose receiver misses something, for more than the longest timeout that hosts have (Linux:
/// 120 s).
const SUSPECTED: Duration = Duration::from_secs(150);

/// A direction of a connection, as seen by who forwards it.
#[derive(Debug)]
pub(super) struct Gap {
    /// The first that the sender sends, or where its probes stand.
    pub(super) una: SeqNum,
    /// Nothing but empty segments has been seen: probes, perhaps.
    pub(super) empty: bool,
    /// The longest segment that was sent as `una`.
    longest: u64,
    /// When `una` was sent last.
    pub(super) sent_at: Instant,
    /// What the sender expects from the other host.
    pub(super) rcv_nxt: SeqNum,
    /// The window field of the sender's first segment.
    pub(super) window: u16,
    /// The hop limit of the sender's packets.
    hop_limit: u8,
    pub(super) missing: Option<Missing>,
}

/// What the receiver has not got.
#[derive(Debug)]
pub(super) struct Missing {
    pub(super) from: SeqNum,
    /// The first time that `una` was sent and this was the answer.
    since: Instant,
    /// The longest time since until it was retransmitted, and the next longest.
    waits: [Duration; 2],
    /// The last such time.
    last: Duration,
    /// How often `una` was retransmitted since, each time after an answer; begun anew behind an
    /// outage.
    repeats: u8,
    /// There is an answer to the last one.
    answered: bool,
    /// One whose window is closed has been asked where it stands.
    pub(super) sender_asked: bool,
    /// The hop limit of the receiver's packets.
    hop_limit: u8,
    /// How often both hosts have been reset.
    resets: u8,
}

/// What a segment shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// The connection makes progress.
    Progress,
    /// Nothing yet.
    None,
    /// Undecided: this host is to be probed with a copy at this number, which it does not expect.
    Probe(SeqNum),
    /// An answer shows that the connection cannot go on.
    Lost(Lost),
    /// The same, shown by the sender's answer.
    Confirmed(Lost),
}

/// Bytes that nobody holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lost {
    /// The first, which the receiver expects.
    pub(crate) from: SeqNum,
    /// One past the last.
    end: SeqNum,
    /// What the sender expects.
    pub(crate) sender_next: SeqNum,
    /// The hop limits of the sender's packets and of the receiver's.
    pub(crate) hop_limits: [u8; 2],
    /// It is seen for the first time.
    pub(crate) first: bool,
}

impl Lost {
    /// How many they are.
    pub(crate) fn bytes(&self) -> u32 {
        self.end.distance_from(self.from).unsigned_abs()
    }
}

impl Gap {
    /// What is known from a first segment of the sender's.
    pub(super) fn new(now: Instant, sent: Passing<'_>) -> Gap {
        let Passing { ip, tcp, occupied } = sent;
        Gap {
            una: tcp.seq,
            empty: occupied == 0,
            longest: occupied,
            sent_at: now,
            rcv_nxt: tcp.ack,
            window: tcp.window,
            hop_limit: ip.hop_limit,
            missing: None,
        }
    }

    /// A segment of the sender's.
    pub(super) fn on_sent(&mut self, now: Instant, sent: Passing<'_>) -> Evidence {
        let tcp = sent.tcp;
        if self.is_stale(now) || (self.empty && sent.occupied > 0) {
            *self = Gap::new(now, sent);
            return Evidence::None;
        }
        if self.empty {
            return self.on_probe(now, sent);
        }
        if sent.occupied == 0 {
            self.rcv_nxt = tcp.ack;
            return Evidence::None;
        }
        let ahead = tcp.seq.distance_from(self.una);
        if ahead.unsigned_abs() > REACH {
            return Evidence::None;
        }
        self.rcv_nxt = tcp.ack;
        if ahead < 0 {
            // Somebody holds what lies below.
            *self = Gap::new(now, sent);
        }
        if ahead == 0 {
            self.longest = self.longest.max(sent.occupied);
            if now >= self.sent_at + APART {
                self.note_repetition(now);
            }
        }
        Evidence::None
    }

    /// The sender has sent `una` again.
    pub(super) fn note_repetition(&mut self, now: Instant) {
        let waited = now.saturating_since(self.sent_at);
        self.sent_at = now;
        if let Some(missing) = &mut self.missing {
            missing.note_wait(waited);
            missing.repeats += u8::from(missing.answered && missing.repeats < REPEATS);
            missing.answered = false;
        }
    }

    /// A segment of the receiver's.
    pub(super) fn on_answer(&mut self, now: Instant, answer: Passing<'_>) -> Evidence {
        let Passing { ip, tcp, occupied } = answer;
        let short = self.una.distance_from(tcp.ack);
        if short <= 0 {
            return Evidence::Progress;
        }
        // What comes with data is no answer, but may show progress.
        let reports = || tcp.options.sack.iter().any(|block| block.left == self.una);
        let elsewhere =
            tcp.options.sack.first().is_some_and(|block| block.right.distance_from(tcp.ack) <= 0);
        let answers = !elsewhere && occupied == 0 && (tcp.seq == self.rcv_nxt || reports());
        let late = now > self.sent_at + TIMELY;
        if short.unsigned_abs() > REACH {
            return Evidence::None;
        }
        match &mut self.missing {
            Some(missing) if missing.from == tcp.ack => {
                if tcp.window == 0 || elsewhere || (answers && late) {
                    *missing = Missing::new(now, tcp.ack, false);
                } else if answers && !missing.answered {
                    missing.answered = true;
                    missing.hop_limit = ip.hop_limit;
                    return self.judge(now);
                }
            }
            Some(missing) if answers || tcp.ack.distance_from(missing.from) > 0 => {
                *missing = Missing::new(now, tcp.ack, answers && !late);
            }
            None if answers && !late && tcp.window > 0 => {
                self.missing = Some(Missing::new(self.sent_at, tcp.ack, true));
            }
            _ => {}
        }
        Evidence::None
    }

    /// The last repetition has been answered.
    fn judge(&mut self, now: Instant) -> Evidence {
        let Some(missing) = &mut self.missing else { return Evidence::None };
        let Missing { from, since, waits: [longest, next], repeats, resets, .. } = *missing;
        let outage = longest.saturating_sub(next * UNLIKE);
        let length = u64::from(self.una.distance_from(from).unsigned_abs());
        let doubtful = !self.empty && self.longest < SHORT && length > SHORT;
        let patience = if doubtful { PATIENCE * DOUBTS } else { PATIENCE };
        if repeats < REPEATS || now < since + patience + outage || resets == RESETS {
            return Evidence::None;
        }
        if self.empty {
            return self.ask_sender();
        }
        self.lost().map_or(Evidence::None, Evidence::Lost)
    }

    /// What is missing is lost.
    pub(super) fn lost(&mut self) -> Option<Lost> {
        let missing = self.missing.as_mut()?;
        missing.resets += 1;
        Some(Lost {
            from: missing.from,
            end: self.una,
            sender_next: self.rcv_nxt,
            hop_limits: [self.hop_limit, missing.hop_limit],
            first: missing.resets == 1,
        })
    }

    fn is_stale(&self, now: Instant) -> bool {
        now >= self.sent_at + SUSPECTED
    }

    /// Whether others have to do without its place; empty segments alone, or all.
    pub(super) fn keeps_its_place(&self, now: Instant, empty: bool) -> bool {
        let long = match (&self.missing, self.empty) {
            (Some(_), _) => SUSPECTED,
            (None, false) => UNSUSPECTED,
            (None, true) if empty => PROBE_AWAITED,
            (None, true) => Duration::ZERO,
        };
        now < self.sent_at + long || (empty && !self.empty)
    }
}

impl Missing {
    fn new(since: Instant, from: SeqNum, answered: bool) -> Missing {
        Missing {
            from,
            since,
            waits: [Duration::ZERO; 2],
            last: Duration::ZERO,
            repeats: 0,
            answered,
            sender_asked: false,
            hop_limit: 0,
            resets: 0,
        }
    }

    fn note_wait(&mut self, waited: Duration) {
        let [longest, next] = &mut self.waits;
        *next = waited.min(*longest).max(*next);
        *longest = waited.max(*longest);
        // By more than round trips differ.
        if self.last > waited + waited / 2 {
            self.repeats = 0;
        }
        self.last = waited;
    }
}
