//! The send window: what the peer allows (RFC 9293, 3.8.6 and 3.10.7.4).

use super::Ack;
use crate::units::{Bytes, Offset};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The peer's window, by its right edge.
///
/// Invariant: the edge is what the newest of the segments said that gave one, by SND.WL1 and
/// SND.WL2; no window was larger than `max`; and `beyond` is there exactly as long as SND.NXT lies
/// right of the edge because of what was sent without the peer's leave.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct SendWindow {
    /// SND.UNA + SND.WND: one past the last offset that the peer allows.
    edge: Offset,
    /// The largest window that the peer has offered.
    max: Bytes,
    /// SND.WL1 and SND.WL2.
    last_update: (Offset, Offset),
    /// From here on was sent what the peer had not allowed, as far as we had heard.
    beyond: Option<Offset>,
}

impl SendWindow {
    /// The handshake's: `window` bytes from `start` on.
    pub(super) fn new(start: Offset, window: Bytes) -> SendWindow {
        SendWindow {
            edge: start + window,
            max: window,
            last_update: (Offset::SYN, start),
            beyond: None,
        }
    }

    /// One past the last offset that the peer allows.
    pub(super) fn edge(&self) -> Offset {
        self.edge
    }

    /// The largest window that the peer has offered.
    pub(super) fn max(&self) -> Bytes {
        self.max
    }

    /// How much of it lies behind `snd_nxt`.
    pub(super) fn usable(&self, snd_nxt: Offset) -> Bytes {
        self.edge.saturating_sub(snd_nxt)
    }

    /// Whether `bytes` are worth sending though they are less than a segment: towards a peer whose
    /// largest window is tiny, half of it is (RFC 9293, 3.8.6.2.1).
    pub(super) fn is_half_of_largest(&self, bytes: Bytes) -> bool {
        2 * bytes >= self.max
    }

    /// RFC 9293, 3.10.7.4: take the window from segments that are not older than the last that
    /// gave one. True if it changed the window. `outstanding` is SND.UNA to SND.NXT before it.
    pub(super) fn update(&mut self, ack: &Ack<'_>, outstanding: &Range<Offset>) -> bool {
        let update = (ack.segment, ack.ack);
        if update < self.last_update && ack.ack == outstanding.start {
            return false;
        }
        self.last_update = update;
        let edge = ack.ack + ack.window;
        let changed = edge != self.edge;
        self.edge = edge;
        self.beyond.take_if(|_| edge >= outstanding.end);
        self.max = self.max.max(ack.window);
        changed
    }

    /// `range` is about to be sent for the first time, whatever the window says.
    pub(super) fn exceed(&mut self, range: &Range<Offset>) {
        if range.end > self.edge {
            self.beyond.get_or_insert(range.start.max(self.edge));
        }
    }

    /// Whether more has been sent than the peer has allowed.
    pub(super) fn is_exceeded(&self) -> bool {
        self.beyond.is_some()
    }

    /// Whether a FIN at offset `at` may leave with what is before it.
    pub(super) fn allows_fin(&self, at: Offset) -> bool {
        self.edge > at || self.beyond.is_some()
    }

    /// Up to where may be retransmitted: not what was sent without the peer's leave, as long as it
    /// is not within the window. (A retransmission timeout sends its first segment all the same.)
    pub(super) fn retransmission_limit(&self) -> Offset {
        self.beyond.map_or(Offset::MAX, |from| from.max(self.edge))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(segment: u64, ack: u64, window: u64) -> Ack<'static> {
        Ack {
            segment: Offset::new(segment),
            ack: Offset::new(ack),
            window: Bytes::new(window),
            sack: &[],
            echoed: None,
            occupies: false,
        }
    }

    #[test]
    fn an_older_segment_does_not_change_the_window() {
        let mut window = SendWindow::new(Offset::FIRST, Bytes::new(1000));
        assert!(window.update(&ack(50, 101, 500), &Offset::span(1, 301)));
        assert_eq!((window.edge(), window.max()), (Offset::new(601), Bytes::new(1000)));
        assert!(!window.update(&ack(49, 101, 2000), &Offset::span(101, 301)), "SND.WL1");
        assert_eq!((window.edge(), window.max()), (Offset::new(601), Bytes::new(1000)));
        assert!(!window.update(&ack(50, 101, 500), &Offset::span(101, 301)), "the same");
        assert!(
            window.update(&ack(49, 201, 2000), &Offset::span(101, 301)),
            "it acknowledges more"
        );
        assert_eq!((window.edge(), window.max()), (Offset::new(2201), Bytes::new(2000)));
        assert_eq!(
            (window.usable(Offset::new(301)), window.usable(Offset::new(3000))),
            (Bytes::new(1900), Bytes::ZERO)
        );
    }

    #[test]
    fn what_was_sent_beyond_the_edge_is_known_until_the_edge_is_there() {
        let mut window = SendWindow::new(Offset::FIRST, Bytes::new(100));
        window.exceed(&Offset::span(1, 101));
        assert_eq!(window.retransmission_limit(), Offset::MAX, "it was within");
        assert!(!window.allows_fin(Offset::new(101)));
        window.exceed(&Offset::span(51, 151));
        window.exceed(&Offset::span(151, 251));
        assert_eq!(window.retransmission_limit(), Offset::new(101));
        assert!(window.allows_fin(Offset::new(251)));
        assert!(window.update(&ack(5, 101, 50), &Offset::span(1, 251)));
        assert_eq!(window.retransmission_limit(), Offset::new(151));
        assert!(window.update(&ack(5, 151, 100), &Offset::span(101, 251)));
        assert_eq!(window.retransmission_limit(), Offset::MAX);
    }

    #[test]
    fn half_of_the_largest_window_is_worth_a_segment() {
        let mut window = SendWindow::new(Offset::FIRST, Bytes::new(7));
        assert!(
            window.is_half_of_largest(Bytes::new(4)) && !window.is_half_of_largest(Bytes::new(3))
        );
        window.update(&ack(5, 1, 2), &(Offset::FIRST..Offset::FIRST));
        assert!(!window.is_half_of_largest(Bytes::new(3)), "the largest, not the last");
    }
}
