//! What a host remembers for T/TCP (RFC 1644; concepts in RFC 1379): the generator of connection
//! counts and, by peer, the cache that TCP accelerated open (TAO) decides by.
//!
//! Every connection of a host has a count (CC) that is greater than that of the one before. A
//! server that knows the greatest count of a client so far takes a SYN with a greater one for new,
//! and its data and FIN at once, without a handshake. Connections hold no reference to the cache:
//! whoever opens one asks [`TaoCache::active`] or [`TaoCache::passive`] before, and hands back
//! what it has learnt ([`Lesson`]) after.
//!
//! The test withstands delayed and reordered segments, not an attacker: whoever can put a SYN with
//! a guessed count and another's address on the wire gets its data delivered. That is why RFC 6247
//! made T/TCP historic; it is off unless switched on.

use crate::wire::{Flags, TcpHeader};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Whether count `a` comes after `b`: they wrap (RFC 1644, 2.3).
pub fn is_after(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 > 0
}

/// What an active open needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActiveOpen {
    /// The connection's count (CCsend).
    pub count: u32,
    /// The peer cannot compare the count with former ones: it goes as CC.NEW.
    pub new: bool,
    /// The MSS that the peer announced last.
    pub mss: Option<u16>,
}

/// What a passive open needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassiveOpen {
    /// The connection's count (CCsend).
    pub count: u32,
    /// The TAO test has passed: the SYN is new.
    pub accelerated: bool,
}

/// What a connection has learnt of its peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lesson {
    /// A three-way handshake has shown that the peer's SYN with this count was new.
    Validated {
        /// SEG.CC.
        count: u32,
    },
    /// The peer has answered our SYN with this count.
    Echoed {
        /// SEG.CC.ECHO.
        count: u32,
        /// The peer's MSS.
        mss: u16,
    },
}

/// One peer's entry (RFC 1644, 3.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Entry {
    /// cache.CC: the greatest count of a valid SYN of this peer.
    cc: Option<u32>,
    /// cache.CCsent: the greatest count of ours that the peer has, or will have, seen.
    cc_sent: Option<u32>,
    /// cache.MSS.
    mss: Option<u16>,
    /// When it was last asked for, in look-ups.
    used: u64,
}

/// The generator of a host's connection counts, and its cache by peer. What does not fit any more
/// is forgotten, the longest unused first: it costs that peer a three-way handshake.
#[derive(Debug, Clone)]
pub struct TaoCache {
    /// CCgen.
    generator: u32,
    capacity: usize,
    peers: BTreeMap<IpAddr, Entry>,
    by_use: BTreeMap<u64, IpAddr>,
    lookups: u64,
}

impl TaoCache {
    /// An empty cache for at most `capacity` peers, whose first count follows `generator`.
    pub fn new(generator: u32, capacity: usize) -> TaoCache {
        let (peers, by_use) = (BTreeMap::new(), BTreeMap::new());
        TaoCache { generator, capacity: capacity.max(1), peers, by_use, lookups: 0 }
    }

    /// How many peers are known.
    pub fn len(&self) -> usize {
        self.peers.len()
    }

    /// Whether no peer is known.
    pub fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }

    /// A connection to `peer` is about to be opened (RFC 1644, 3.4: active open).
    pub fn active(&mut self, peer: IpAddr) -> ActiveOpen {
        let count = self.next_count();
        let entry = self.entry(peer);
        let new = entry.cc_sent.is_none_or(|sent| !is_after(count, sent));
        // Until the peer has answered a CC.NEW, those that follow are CC.NEW, too.
        entry.cc_sent = (!new).then_some(count);
        ActiveOpen { count, new, mss: entry.mss }
    }

    /// `syn` has come from `peer`: the TAO test. None if the peer does not speak T/TCP, or if that
    /// is no SYN that opens a connection.
    pub fn passive(&mut self, peer: IpAddr, syn: &TcpHeader) -> Option<PassiveOpen> {
        if !syn.has(Flags::SYN) || syn.has(Flags::ACK) || syn.has(Flags::RST) {
            return None;
        }
        let (cc, new) = (syn.options.cc, syn.options.cc_new);
        if cc.is_none() && !self.peers.contains_key(&peer) {
            // Nothing to be forgotten; and no entry for everybody who sends a SYN.
            return new.map(|_| PassiveOpen { count: self.next_count(), accelerated: false });
        }
        let entry = self.entry(peer);
        let accelerated = match (cc, entry.cc) {
            (Some(cc), Some(cached)) if is_after(cc, cached) => {
                entry.cc = Some(cc);
                true
            }
            (Some(_), _) => false,
            // CC.NEW, or none at all: what was known of this peer's counts does not hold any more.
            (None, _) => {
                entry.cc = None;
                false
            }
        };
        (cc.is_some() || new.is_some())
            .then(|| PassiveOpen { count: self.next_count(), accelerated })
    }

    /// Takes what a connection to `peer` has learnt.
    pub fn learn(&mut self, peer: IpAddr, lesson: Lesson) {
        let entry = self.entry(peer);
        match lesson {
            Lesson::Validated { count } => {
                if entry.cc.is_none_or(|cc| is_after(count, cc)) {
                    entry.cc = Some(count);
                }
            }
            Lesson::Echoed { count, mss } => {
                if entry.cc_sent.is_none_or(|sent| is_after(count, sent)) {
                    entry.cc_sent = Some(count);
                }
                entry.mss = Some(mss);
            }
        }
    }

    /// The next count; 0 stands for none on the wire of older implementations.
    fn next_count(&mut self) -> u32 {
        self.generator = self.generator.wrapping_add(1).max(1);
        self.generator
    }

    fn entry(&mut self, peer: IpAddr) -> &mut Entry {
        self.lookups += 1;
        if let Some(entry) = self.peers.get(&peer) {
            self.by_use.remove(&entry.used);
        } else if self.peers.len() >= self.capacity
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.peers.remove(&oldest);
        }
        self.by_use.insert(self.lookups, peer);
        let entry = self.peers.entry(peer).or_default();
        entry.used = self.lookups;
        entry
    }
}

impl Default for TaoCache {
    /// Room for 1024 peers; the first count is 1.
    fn default() -> TaoCache {
        TaoCache::new(0, 1024)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::TcpOptions;

    fn peer(number: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, number])
    }

    fn syn(cc: Option<u32>, cc_new: Option<u32>) -> TcpHeader {
        let options = TcpOptions { cc, cc_new, ..TcpOptions::default() };
        TcpHeader { flags: Flags::SYN, options, ..TcpHeader::default() }
    }

    #[test]
    fn the_test_passes_for_greater_counts_only() {
        let mut cache = TaoCache::default();
        let accelerated = |cache: &mut TaoCache, cc| {
            cache.passive(peer(1), &syn(Some(cc), None)).unwrap().accelerated
        };
        assert!(!accelerated(&mut cache, 7), "nothing is known");
        cache.learn(peer(1), Lesson::Validated { count: 7 });
        assert!(accelerated(&mut cache, 9));
        assert!(!accelerated(&mut cache, 9) && !accelerated(&mut cache, 8));
        // A late handshake does not set it back.
        cache.learn(peer(1), Lesson::Validated { count: 8 });
        assert!(!accelerated(&mut cache, 9) && accelerated(&mut cache, 10));
        // Counts wrap.
        cache.learn(peer(1), Lesson::Validated { count: 0x8000_0000 });
        assert!(accelerated(&mut cache, 0xF000_0000) && accelerated(&mut cache, 3));
        // CC.NEW makes the known count void, and so does a SYN without any.
        assert!(!cache.passive(peer(1), &syn(None, Some(20))).unwrap().accelerated);
        assert!(!accelerated(&mut cache, 21));
        cache.learn(peer(1), Lesson::Validated { count: 21 });
        let stray = TcpHeader { flags: Flags::ACK, ..syn(None, None) };
        assert_eq!(cache.passive(peer(1), &stray), None);
        assert!(accelerated(&mut cache, 22));
        assert_eq!(cache.passive(peer(1), &syn(None, None)), None);
        assert!(!accelerated(&mut cache, 23));
    }

    #[test]
    fn a_count_is_new_until_one_was_answered() {
        let mut cache = TaoCache::new(u32::MAX - 1, 8);
        let first = cache.active(peer(1));
        assert_eq!((first.count, first.new, first.mss), (u32::MAX, true, None));
        assert!(cache.active(peer(1)).new);
        cache.learn(peer(1), Lesson::Echoed { count: u32::MAX, mss: 1400 });
        let next = cache.active(peer(1));
        assert_eq!((next.count, next.new, next.mss), (2, false, Some(1400)));
    }

    #[test]
    fn what_does_not_fit_is_forgotten() {
        let mut cache = TaoCache::new(0, 2);
        for number in 1..=2 {
            cache.learn(peer(number), Lesson::Validated { count: 1 });
        }
        assert!(cache.passive(peer(1), &syn(Some(2), None)).unwrap().accelerated);
        cache.learn(peer(3), Lesson::Validated { count: 1 });
        assert_eq!(cache.len(), 2);
        assert!(!cache.passive(peer(2), &syn(Some(2), None)).unwrap().accelerated);
        // Plain SYNs from everywhere push nobody out.
        for number in 10..20 {
            assert_eq!(cache.passive(peer(number), &syn(None, None)), None);
        }
        assert_eq!(cache.len(), 2);
    }
}
