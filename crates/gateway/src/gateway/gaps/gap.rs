//! When bytes of a direction that is forwarded are held by nobody any more.
//!
//! A sender keeps what is not acknowledged, and when its timer expires it sends the first of it (RFC
//! 6298, 5.4). So one that sends S again and again and nothing below has had all below S acknowledged. A
//! receiver that answers each time that it expects y < S does not have \[y, S). If they were acknowledged
//! by a gateway that still lives and leaves the connection to the hosts, it goes on sending them, which
//! passes here as well: then somebody sends less than S. If nobody does for [`PATIENCE`], they are lost.
//!
//! What is no such sign:
//! - keep-alives and probes of a closed window: they lie below what the receiver expects, or at it;
//! - a retransmission whose first part was lost before it came here, a tail loss probe, what SACK shows to be missing
//!   above y: the sender sends y as well, before its second timeout at the latest;
//! - packets that arrive twice or late: a repetition counts [`APART`] from the last one;
//! - an outage, in which nobody could have been seen: a timer doubles. If S was away for much longer than ever before
//!   or after, some of it was lost, as may have been what is missing: of that time only [`UNLIKE`] times the next longest counts.
//!   And if S comes sooner than it did before, it must come [`REPEATS`] times from then on;
//! - a receiver that reads slowly: while its window is closed nobody can send it anything;
//! - acknowledgments on another way: without one after each repetition nothing counts;
//! - an answer to somebody else, whose retransmissions do not pass here: it begins with what came twice (RFC 2883, 4), and
//!   that lies below y, not at S. Who sends that holds all that follows it.
//!
//! Anybody can forge segments. So an answer counts only if its sequence number is just what the sender
//! expects, or if it reports just S by SACK: who does not see the traffic has to guess 32 bits for the one
//! as for the other, as with a RST (RFC 5961, 3), or to bring data into the connection (5). All else that
//! could be forged only delays the end. And a RST stands where its receiver says that it expects the next byte, so
//! that it does nothing to one who has said something else.

use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::{IpHeader, SeqNum, TcpHeader};

/// How often S must come again, and be answered by y.
const REPEATS: u8 = 2;

/// How long nobody must have sent what is missing. A gateway that leaves a connection repeats what it holds as soon as
/// it hears that its host lives; one that is passed by sends it blindly before that, on a way that may not lead
/// here. (Linux's timeouts double from 0.2 s, so for it anything from 10 to 19 s is the same.)
const PATIENCE: Duration = Duration::from_secs(17);

/// The least time between two segments for the second to be a repetition: Linux's least timeout.
const APART: Duration = Duration::from_millis(200);

/// A sender's longest wait is longer than the next one by less than this: its timeouts double (RFC 6298, 5.5), and a round
/// trip more or less changes little.
const UNLIKE: u32 = 4;

/// Further apart than anything that gateways hold, numbers are not of one connection.
const REACH: u32 = 1 << 28;

/// How often both hosts are reset at most, each time behind another repetition.
const RESETS: u8 = 3;

/// A connection that nothing is known against keeps its place for as long in a full table.
const UNSUSPECTED: Duration = Duration::from_secs(2);

/// One whose receiver misses something, for more than the longest timeout that hosts have (Linux: 120 s).
const SUSPECTED: Duration = Duration::from_secs(150);

/// A direction of a connection, as seen by who forwards it.
#[derive(Debug)]
pub(super) struct Gap {
    /// The first that the sender sends.
    una: SeqNum,
    /// When it was sent last.
    sent_at: Instant,
    /// What the sender expects from the other host.
    rcv_nxt: SeqNum,
    /// The hop limit of the sender's packets.
    hop_limit: u8,
    missing: Option<Missing>,
}

/// What the receiver has not got.
#[derive(Debug)]
struct Missing {
    from: SeqNum,
    /// The first time that `una` was sent and this was the answer.
    since: Instant,
    /// The longest time since until it was retransmitted, and the next longest.
    waits: [Duration; 2],
    /// The last such time.
    last: Duration,
    /// How often `una` was sent again since, each time after an answer; begun anew behind an outage.
    repeats: u8,
    /// There is an answer to the last one.
    answered: bool,
    /// How often both hosts have been reset.
    resets: u8,
}

/// What an answer shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// The connection makes progress.
    Sound,
    /// Nothing yet.
    Nothing,
    /// It cannot go on.
    Lost(Lost),
}

/// Bytes that nobody holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lost {
    /// The first, which the receiver expects.
    pub(super) from: SeqNum,
    /// One past the last.
    end: SeqNum,
    /// What the sender expects.
    pub(super) sender_next: SeqNum,
    /// The hop limit of the sender's packets.
    pub(super) hop_limit: u8,
    /// It is seen for the first time.
    pub(super) first: bool,
}

impl Lost {
    /// How many they are.
    pub(super) fn bytes(&self) -> u32 {
        self.end.distance_from(self.from).unsigned_abs()
    }
}

impl Gap {
    /// What is known from a first segment of the sender's.
    pub(super) fn new(now: Instant, ip: &IpHeader, tcp: &TcpHeader) -> Gap {
        let hop_limit = ip.hop_limit;
        let (una, rcv_nxt) = (tcp.seq, tcp.ack);
        Gap { una, sent_at: now, rcv_nxt, hop_limit, missing: None }
    }

    /// A segment of the sender's, which occupies so many sequence numbers.
    pub(super) fn on_sent(&mut self, now: Instant, ip: &IpHeader, tcp: &TcpHeader, occupied: u64) {
        if occupied == 0 {
            self.rcv_nxt = tcp.ack;
            return;
        }
        if self.is_stale(now) {
            *self = Gap::new(now, ip, tcp);
            return;
        }
        let ahead = tcp.seq.distance_from(self.una);
        if ahead.unsigned_abs() > REACH {
            return;
        }
        self.rcv_nxt = tcp.ack;
        if ahead < 0 {
            // Somebody holds what lies below.
            *self = Gap::new(now, ip, tcp);
        }
        if ahead == 0 && now >= self.sent_at + APART {
            let waited = now.saturating_since(self.sent_at);
            self.sent_at = now;
            if let Some(missing) = &mut self.missing {
                missing.note_wait(waited);
                missing.repeats += u8::from(missing.answered && missing.repeats < REPEATS);
                missing.answered = false;
            }
        }
    }

    /// A segment of the receiver's, which occupies so many sequence numbers itself.
    pub(super) fn on_answer(&mut self, now: Instant, tcp: &TcpHeader, occupied: u64) -> Sign {
        let short = self.una.distance_from(tcp.ack);
        if short <= 0 {
            return Sign::Sound;
        }
        // What comes with data is no answer, but may show progress.
        let reports = || tcp.options.sack.iter().any(|block| block.left == self.una);
        let elsewhere =
            tcp.options.sack.first().is_some_and(|block| block.right.distance_from(tcp.ack) <= 0);
        let answers = !elsewhere && occupied == 0 && (tcp.seq == self.rcv_nxt || reports());
        if short.unsigned_abs() > REACH {
            return Sign::Nothing;
        }
        match &mut self.missing {
            Some(missing) if missing.from == tcp.ack => {
                if tcp.window == 0 || elsewhere {
                    *missing = Missing::new(now, tcp.ack, false);
                } else if answers && !missing.answered {
                    missing.answered = true;
                    return self.judge(now);
                }
            }
            Some(missing) if answers || tcp.ack.distance_from(missing.from) > 0 => {
                *missing = Missing::new(now, tcp.ack, answers);
            }
            None if answers && tcp.window > 0 => {
                self.missing = Some(Missing::new(self.sent_at, tcp.ack, true));
            }
            _ => {}
        }
        Sign::Nothing
    }

    /// The last repetition has been answered.
    fn judge(&mut self, now: Instant) -> Sign {
        let Some(missing) = &mut self.missing else { return Sign::Nothing };
        let Missing { since, waits: [longest, next], repeats, resets, .. } = *missing;
        let outage = longest.saturating_sub(next * UNLIKE);
        if repeats < REPEATS || now < since + PATIENCE + outage || resets == RESETS {
            return Sign::Nothing;
        }
        let lost = Lost {
            from: missing.from,
            end: self.una,
            sender_next: self.rcv_nxt,
            hop_limit: self.hop_limit,
            first: missing.resets == 0,
        };
        missing.resets += 1;
        Sign::Lost(lost)
    }

    fn is_stale(&self, now: Instant) -> bool {
        now >= self.sent_at + SUSPECTED
    }

    /// Whether others have to do without its place.
    pub(super) fn keeps_its_place(&self, now: Instant) -> bool {
        let long = if self.missing.is_some() { SUSPECTED } else { UNSUSPECTED };
        now < self.sent_at + long
    }
}

impl Missing {
    fn new(since: Instant, from: SeqNum, answered: bool) -> Missing {
        let [longest, next, last] = [Duration::ZERO; 3];
        Missing { from, since, waits: [longest, next], last, repeats: 0, answered, resets: 0 }
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
