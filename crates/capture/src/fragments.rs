//! IP packets put together from their fragments (RFC 791, 3.2; RFC 8200, 4.5). Captures are often
//! cut behind the headers, so that lengths decide what is whole, and only the beginning is kept;
//! etherparse's buffers want every byte.

use crate::via::Tags;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

/// Bytes of each packet that are kept: headers fit into less.
const KEPT: usize = 512;
/// Packets that wait for the rest of their fragments.
const PACKETS_MAX: usize = 1024;
/// Nanoseconds that they wait, as in Linux.
const PATIENCE: i64 = 30_000_000_000;
/// A packet in more pieces that do not touch is none.
const PIECES_MAX: usize = 64;

/// The identity of a fragment's packet (RFC 791, 3.2).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) from: IpAddr,
    pub(crate) to: IpAddr,
    pub(crate) identification: u32,
    pub(crate) protocol: u8,
    /// The virtual network that it is in.
    pub(crate) network: Tags,
}

/// A fragment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fragment<'a> {
    /// When it was captured.
    pub(crate) at: i64,
    /// Its place in the packet's payload, in bytes.
    pub(crate) offset: usize,
    /// Set in all but the last.
    pub(crate) more: bool,
    /// Its length on the wire.
    pub(crate) len: usize,
    /// Its captured bytes.
    pub(crate) bytes: &'a [u8],
    /// ECN's codepoint.
    pub(crate) ecn: u8,
}

/// A packet's payload that is whole.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Whole {
    /// Its beginning, as far as it was captured.
    pub(crate) bytes: Vec<u8>,
    /// Its length on the wire.
    pub(crate) len: usize,
    /// CE if one of the fragments had that (RFC 3168, 5.3).
    pub(crate) ecn: u8,
}

/// The packets whose fragments are not all there.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    waiting: BTreeMap<Key, Packet>,
    /// In the order in which they began, some of them whole by now.
    order: VecDeque<(Key, u64)>,
    begun: u64,
}

/// A packet in the making.
#[derive(Debug, Default)]
struct Packet {
    number: u64,
    began: i64,
    fragments: u64,
    ecn: u8,
    /// Its length, which the last fragment says.
    end: Option<usize>,
    on_wire: Pieces,
    captured: Pieces,
    bytes: Vec<u8>,
}

impl Packet {
    /// Adds a fragment; false if it contradicts those before.
    fn add(&mut self, fragment: &Fragment<'_>) -> bool {
        let Fragment { at: _, offset, more, len, bytes, ecn } = *fragment;
        let end = offset + len;
        let agrees = match self.end {
            None => true,
            Some(last) if more => end <= last,
            Some(last) => end == last,
        };
        if !agrees || end > usize::from(u16::MAX) || !self.on_wire.add(offset, end) {
            return false;
        }
        if !more {
            self.end = Some(end);
        }
        self.fragments += 1;
        self.ecn = self.ecn.max(ecn);
        let kept = bytes.len().min(KEPT.saturating_sub(offset));
        if kept > 0 {
            self.bytes.resize(self.bytes.len().max(offset + kept), 0);
            self.bytes[offset..offset + kept].copy_from_slice(&bytes[..kept]);
            self.captured.add(offset, offset + kept);
        }
        true
    }

    fn whole(&mut self) -> Option<Whole> {
        let len = self.end.filter(|&end| self.on_wire.filled() == end)?;
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.truncate(self.captured.filled());
        Some(Whole { bytes, len, ecn: self.ecn })
    }
}

impl Reassembly {
    /// Takes a fragment; the packet, if it is whole with it. What is given up, `lost` hears of: its
    /// protocol, its beginning, the number of its fragments.
    pub(crate) fn take(
        &mut self,
        key: &Key,
        fragment: &Fragment<'_>,
        lost: &mut dyn FnMut(u8, &[u8], u64),
    ) -> Option<Whole> {
        self.expire(fragment.at, lost);
        let known = self.waiting.contains_key(key);
        let packet = self.waiting.entry(key.clone()).or_default();
        if !known {
            (packet.number, packet.began) = (self.begun, fragment.at);
            self.order.push_back((key.clone(), self.begun));
            self.begun += 1;
        }
        let fits = packet.add(fragment);
        let whole = packet.whole();
        if whole.is_some() || !fits {
            let gone = self.waiting.remove(key)?;
            if !fits {
                lost(key.protocol, &gone.bytes, gone.fragments + 1);
            }
        }
        whole
    }

    /// Gives up what waits for too long, or is too much.
    fn expire(&mut self, now: i64, lost: &mut dyn FnMut(u8, &[u8], u64)) {
        while let Some((key, number)) = self.order.front() {
            let packet = self.waiting.get(key).filter(|packet| packet.number == *number);
            let keeps = packet.is_some_and(|packet| now.saturating_sub(packet.began) <= PATIENCE);
            if keeps && self.order.len() < PACKETS_MAX {
                return;
            }
            let gone = packet.is_some().then(|| self.waiting.remove(key)).flatten();
            if let Some(packet) = gone {
                lost(key.protocol, &packet.bytes, packet.fragments);
            }
            self.order.pop_front();
        }
    }

    /// Gives up all.
    pub(crate) fn finish(self, lost: &mut dyn FnMut(u8, &[u8], u64)) {
        for (key, packet) in self.waiting {
            lost(key.protocol, &packet.bytes, packet.fragments);
        }
    }
}

/// Ranges that do not touch, in order.
#[derive(Debug, Default)]
struct Pieces(Vec<(usize, usize)>);

impl Pieces {
    /// Adds one; false if they are too many.
    fn add(&mut self, mut begin: usize, mut end: usize) -> bool {
        self.0.retain(|&(left, right)| {
            let apart = right < begin || end < left;
            if !apart {
                (begin, end) = (begin.min(left), end.max(right));
            }
            apart
        });
        let at = self.0.partition_point(|&(left, _)| left < begin);
        self.0.insert(at, (begin, end));
        self.0.len() <= PIECES_MAX
    }

    /// The length without a hole, from zero on.
    fn filled(&self) -> usize {
        self.0.first().filter(|(begin, _)| *begin == 0).map_or(0, |(_, end)| *end)
    }
}

#[cfg(test)]
mod tests;
