//! A flow's place among those that share a link.

use super::free_share::Start;
use super::rate_control::LossyRound;
use super::waiting::Line;

/// See the module's head.
#[derive(Debug, Default)]
pub(crate) struct DrrEntry {
    /// Its place: the lower it is, the earlier its turn. 0: none yet.
    pub(super) place: u64,
    /// [`WAITS`], [`UNHEARD`], [`HURRIES`] and [`FAR`]: there are many flows.
    is: u8,
    /// Bytes that it may send until the next flow's turn; or has sent beyond.
    pub(super) deficit: i32,
    /// Bytes that it has in flight, as the link knows it. Windows are below 1 GiB.
    pub(super) in_flight: u32,
    /// What of the link it takes, where initial windows are what is free. Bytes that it has sent in
    /// its turns since it paused, where flows find the link together.
    pub(super) load: u32,
    /// When it has lost something, by the rounds of the link.
    pub(super) lossy: LossyRound,
    /// Whether it has had its initial window, where that is so.
    pub(super) start: Start,
}

/// It is in the queue.
pub(super) const WAITS: u8 = 1;
/// Its host has let a timer expire, and has not been heard since.
pub(super) const UNHEARD: u8 = 2;
/// It waits, or has its turn, as a short one.
pub(super) const HURRIES: u8 = 4;
/// Its latest round trip was much longer than the minimum of its link.
pub(super) const FAR: u8 = 8;

impl DrrEntry {
    /// Where it waits, if it does.
    pub(super) fn line(&self) -> Line {
        Line::of(self.is_unheard(), self.is(HURRIES))
    }

    /// Whether it waits.
    pub(super) fn waits(&self) -> bool {
        self.is(WAITS)
    }

    /// Whether its host is not heard.
    pub(super) fn is_unheard(&self) -> bool {
        self.is(UNHEARD)
    }

    /// Whether one of the flags is set.
    pub(super) fn is(&self, bit: u8) -> bool {
        self.is & bit != 0
    }

    /// Sets one of the flags, or clears it.
    pub(super) fn set(&mut self, bit: u8, is: bool) {
        self.is = if is { self.is | bit } else { self.is & !bit };
    }
}
