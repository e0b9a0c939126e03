//! A connection's state at a moment, for those who record what it does.
//!
//! Nothing in the core keeps it: who wants to know compares what is before something happens with
//! what is after. So it costs nothing where nobody asks.

use super::limiter::Limiter;
use super::tcb::Tcb;
use crate::time::{Duration, Instant};
use crate::units::{Bytes, Offset};

/// What a sender takes the network for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr, strum::Display,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Phase {
    /// Nothing is missing, as far as it knows.
    Open,
    /// An episode of fast recovery (RFC 5681, 3.2; RFC 6675; RFC 8985).
    Recovery,
    /// The retransmission timer has expired, and not all is acknowledged that was outstanding then.
    Loss,
}

impl Phase {
    /// Its name.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The timers of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimersAt {
    /// The retransmission timer (RFC 6298).
    pub retransmission: Option<Instant>,
    /// The persist timer (RFC 9293, 3.8.6.1).
    pub persist: Option<Instant>,
    /// Recovery's own: for reordering, or to probe (RFC 8985).
    pub recovery: Option<Instant>,
    /// The pacer's next moment, while it is what keeps a segment back.
    pub pacing: Option<Instant>,
    /// A delayed acknowledgment's (RFC 1122, 4.2.3.2).
    pub delayed_ack: Option<Instant>,
}

/// What a sender counts, as far as it says by which rule its window has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Signs {
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Episodes of fast recovery.
    pub recoveries: u64,
    /// Reductions that were undone.
    pub undone: u64,
    /// Reductions of any kind.
    pub reductions: u64,
}

/// A synchronised connection's state at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    /// What keeps the next segment back; None if one may leave.
    pub limiter: Option<Limiter>,
    /// What the sender takes the network for.
    pub phase: Phase,
    /// The congestion window, in bytes.
    pub cwnd: Bytes,
    /// The slow start threshold, in bytes; none while it is as good as infinite.
    pub ssthresh: Option<Bytes>,
    /// Bytes held to be in the network: `pipe` of RFC 6675.
    pub in_flight: Bytes,
    /// SND.UNA.
    pub snd_una: Offset,
    /// SND.NXT.
    pub snd_nxt: Offset,
    /// One past the last offset that the peer allows: SND.UNA + SND.WND.
    pub window_edge: Offset,
    /// One past the last byte that the application has written.
    pub written: Offset,
    /// Bytes ever delivered.
    pub delivered: Bytes,
    /// Bytes ever taken for lost.
    pub lost: Bytes,
    /// The smoothed round-trip time, once measured (RFC 6298).
    pub srtt: Option<Duration>,
    /// Its variation (RFC 6298).
    pub rttvar: Duration,
    /// The least round-trip time, once measured.
    pub min_rtt: Option<Duration>,
    /// The retransmission timeout, back-off included (RFC 6298).
    pub rto: Duration,
    /// When timers expire.
    pub timers: TimersAt,
    /// What was counted.
    pub signs: Signs,
    /// RCV.NXT.
    pub rcv_nxt: Offset,
}

impl Observation {
    /// What `tcb` is like now.
    pub fn of(tcb: &Tcb) -> Observation {
        let (sender, receiver) = (&tcb.sender, &tcb.receiver);
        let (rtt, stats) = (sender.rtt(), sender.stats());
        Observation {
            limiter: sender.limiter(),
            phase: sender.phase(),
            cwnd: sender.cwnd(),
            ssthresh: Some(sender.ssthresh()).filter(|&ssthresh| ssthresh < Bytes::MAX),
            in_flight: sender.in_flight(),
            snd_una: sender.snd_una(),
            snd_nxt: sender.snd_nxt(),
            window_edge: sender.window_edge(),
            written: sender.written(),
            delivered: sender.delivered(),
            lost: sender.lost(),
            srtt: rtt.srtt(),
            rttvar: rtt.rttvar(),
            min_rtt: rtt.min_rtt(),
            rto: rtt.rto(),
            timers: TimersAt {
                retransmission: sender.retransmission_timer(),
                persist: sender.persist_timer(),
                recovery: sender.recovery_timer(),
                pacing: sender.paced_until(),
                delayed_ack: receiver.poll_timer(),
            },
            signs: Signs {
                timeouts: stats.timeouts,
                recoveries: stats.recoveries,
                undone: stats.spurious,
                reductions: stats.reductions,
            },
            rcv_nxt: receiver.rcv_nxt(),
        }
    }
}
