//! Connections that were not split: the last of each reason are kept.
//!
//! A flood has one reason, and pushes out none of the others.

use super::events::Hosts;
use super::reason::Reason;
use bentpipe_core::time::{Duration, Instant};
use std::array;
use std::collections::VecDeque;
use std::net::IpAddr;

/// So many are kept of each reason.
const KEPT: usize = 64;
/// A SYN that is repeated is looked for among so many.
const RECENT: usize = 16;
/// So many of each reason are told in a [`PERIOD`].
const TOLD: u32 = 20;
const PERIOD: Duration = Duration::from_secs(10);

/// A connection that was not split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsplit {
    /// Its number among all that were not split.
    pub number: u64,
    /// Its hosts, as its SYN has them here.
    pub hosts: Hosts,
    /// Who opened it, if NAT on this host has translated that address.
    pub opener: IpAddr,
    /// Why.
    pub reason: Reason,
    /// When that was known last.
    pub at: Instant,
    /// How often: a SYN may be repeated, and so may a connection.
    pub times: u32,
}

/// Those of one reason.
#[derive(Debug, Default)]
struct Kept {
    last: VecDeque<Unsplit>,
    /// Since when it is counted how many are told, how many were, and how many were not.
    since: Instant,
    told: u32,
    left_out: u64,
}

/// Those that are kept.
#[derive(Debug)]
pub(crate) struct UnsplitLog {
    by_reason: [Kept; Reason::ALL.len()],
    next: u64,
}

impl Default for UnsplitLog {
    fn default() -> UnsplitLog {
        UnsplitLog { by_reason: array::from_fn(|_| Kept::default()), next: 1 }
    }
}

impl UnsplitLog {
    /// Keeps one. If it is to be told of: how many were not told of since the last one of its
    /// reason.
    pub(crate) fn note(
        &mut self,
        now: Instant,
        hosts: Hosts,
        opener: IpAddr,
        reason: Reason,
    ) -> Option<u64> {
        let kept = &mut self.by_reason[reason as usize];
        let known = kept.last.iter().rev().take(RECENT).position(|it| it.hosts == hosts);
        let known = known.and_then(|from_end| kept.last.remove(kept.last.len() - 1 - from_end));
        if let Some(known) = known {
            let times = known.times.saturating_add(1);
            kept.last.push_back(Unsplit { at: now, times, ..known });
            return None;
        }
        if kept.last.len() == KEPT {
            kept.last.pop_front();
        }
        kept.last.push_back(Unsplit {
            number: self.next,
            hosts,
            opener,
            reason,
            at: now,
            times: 1,
        });
        self.next += 1;
        if now.saturating_since(kept.since) >= PERIOD {
            (kept.since, kept.told) = (now, 0);
        }
        if kept.told == TOLD {
            kept.left_out += 1;
            return None;
        }
        kept.told += 1;
        Some(std::mem::take(&mut kept.left_out))
    }

    /// All that are kept, by reason, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Unsplit> {
        self.by_reason.iter().flat_map(|kept| &kept.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(port: u16) -> Hosts {
        let [client, server] = [([10, 0, 0, 1], port), ([10, 9, 0, 1], 80)].map(Into::into);
        Hosts { client, server }
    }

    #[test]
    fn a_flood_pushes_out_no_other_reason_and_is_told_now_and_then() {
        let (mut log, mut told) = (UnsplitLog::default(), Vec::new());
        let opener = hosts(1).client.ip();
        log.note(Instant::ZERO, hosts(1), opener, Reason::Policy);
        for port in 0..1000 {
            told.extend(log.note(Instant::ZERO, hosts(port), opener, Reason::HalfOpen));
        }
        assert_eq!(told, [0; TOLD as usize]);
        let later = Instant::ZERO + PERIOD;
        assert_eq!(log.note(later, hosts(5000), opener, Reason::HalfOpen), Some(980));
        let of = |reason| log.iter().filter(move |it| it.reason == reason);
        assert_eq!((of(Reason::Policy).count(), of(Reason::HalfOpen).count()), (1, KEPT));
        assert_eq!(of(Reason::HalfOpen).last().map(|it| it.number), Some(1002));
    }

    #[test]
    fn a_repeated_syn_is_one_connection() {
        let mut log = UnsplitLog::default();
        let opener = hosts(1).client.ip();
        for at in 0..3 {
            let now = Instant::ZERO + Duration::from_secs(at);
            assert_eq!(log.note(now, hosts(1), opener, Reason::Policy).is_some(), at == 0);
        }
        let kept: Vec<_> = log.iter().map(|it| (it.times, it.at)).collect();
        assert_eq!(kept, [(3, Instant::ZERO + Duration::from_secs(2))]);
    }
}
