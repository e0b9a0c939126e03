//! The packets of a direction at two places, those with the same headers together.

use super::view::View;
use crate::connection::Segment;
use crate::direction::Direction;

/// What no router changes. The IP ID is left out: some senders have none, and gateways may change
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Header {
    seq: u32,
    ack: Option<u32>,
    len: u32,
    window: u16,
    /// SYN, FIN, RST and ACK: a joined segment may have another PSH.
    flags: u16,
    timestamps: Option<(u32, u32)>,
    /// SACK blocks, mixed.
    sacks: u64,
}

impl Header {
    /// Of a segment, with its options if `options` says that both places have them.
    fn of(view: &View<'_>, segment: &Segment, options: bool) -> Header {
        let sacks = view.sacks(segment).filter(|_| options);
        let sacks = sacks.map(|block| u64::from(block.left) << 32 | u64::from(block.right));
        Header {
            seq: view.seq(segment),
            ack: view.ack(segment),
            len: segment.len,
            window: segment.window,
            flags: segment.flags.bits() & 0b1_0111,
            timestamps: segment.timestamps.filter(|_| options),
            sacks: mixed(sacks),
        }
    }

    fn mixed(&self) -> u64 {
        let Header { seq, ack, len, window, flags, timestamps, sacks } = *self;
        let (value, echo) = timestamps.unwrap_or_default();
        mixed([
            u64::from(seq) << 32 | u64::from(ack.unwrap_or(0)),
            u64::from(value) << 32 | u64::from(echo),
            u64::from(len) << 32 | u64::from(window) << 16 | u64::from(flags),
            sacks,
        ])
    }
}

fn mixed(words: impl IntoIterator<Item = u64>) -> u64 {
    // A multiplier of Fibonacci hashing.
    words.into_iter().fold(0, |mixed: u64, word| {
        let next = (mixed ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        next ^ next >> 29
    })
}

/// A packet: its mixed header, and its index.
type Entry = (u64, u32);

/// The packets of a direction at both places.
pub(super) struct Sorted<'v, 'c> {
    views: &'v [View<'c>; 2],
    /// True if options are compared: neither place has cut any.
    options: bool,
    entries: [Vec<Entry>; 2],
}

impl<'v, 'c> Sorted<'v, 'c> {
    pub(super) fn new(views: &'v [View<'c>; 2], way: Direction) -> Sorted<'v, 'c> {
        let options = !views.iter().any(View::cuts_options);
        let entries = views.each_ref().map(|view| {
            let all = view.sent(way);
            let mut entries: Vec<Entry> =
                all.map(|(index, one)| (Header::of(view, one, options).mixed(), index)).collect();
            entries.sort_unstable();
            entries
        });
        Sorted { views, options, entries }
    }

    /// Calls with the packets of each header that both places have, in the order of their files.
    pub(super) fn groups(&self, take: &mut dyn FnMut([&[Entry]; 2])) {
        let [mut first, mut second] = self.entries.each_ref().map(Vec::as_slice);
        while let (Some(a), Some(b)) = (first.first(), second.first()) {
            let (one, rest) = first.split_at(head(first, a.0));
            let (other, others) = second.split_at(head(second, b.0));
            match a.0.cmp(&b.0) {
                std::cmp::Ordering::Less => first = rest,
                std::cmp::Ordering::Greater => second = others,
                std::cmp::Ordering::Equal => {
                    if self.are_same(one, other) {
                        take([one, other]);
                    }
                    (first, second) = (rest, others);
                }
            }
        }
    }

    /// True if headers are the same, and not only mixed to the same number.
    fn are_same(&self, one: &[Entry], other: &[Entry]) -> bool {
        let header = |place: usize, entry: &Entry| {
            let view = &self.views[place];
            Header::of(view, view.segment(entry.1), self.options)
        };
        let Some(wanted) = one.first().map(|entry| header(0, entry)) else { return false };
        one.iter().all(|entry| header(0, entry) == wanted)
            && other.iter().all(|entry| header(1, entry) == wanted)
    }
}

/// How many entries are the same as the first.
fn head(entries: &[Entry], mixed: u64) -> usize {
    entries.iter().take_while(|entry| entry.0 == mixed).count()
}
