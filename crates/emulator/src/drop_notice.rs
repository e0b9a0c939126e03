//! How a recording learns which packets a queue has dropped: queues let go of them without a word,
//! as the simulator needs only their number. A packet with a ticket that vanishes before it has
//! arrived says so in its list.

use std::sync::{Arc, Mutex, PoisonError};

/// A packet that has vanished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DroppedPacket {
    /// The number that it was given.
    pub(crate) number: u64,
    /// What was to be recorded of it.
    pub(crate) bytes: Vec<u8>,
    /// Its whole length.
    pub(crate) len: usize,
}

/// The packets of a direction that have vanished, in their order. Clones are the same list.
#[derive(Debug, Clone, Default)]
pub(crate) struct DroppedPackets(Arc<Mutex<Vec<DroppedPacket>>>);

impl DroppedPackets {
    /// What has vanished since the last call.
    pub(crate) fn take(&self) -> Vec<DroppedPacket> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What a packet carries with it while a recording is made.
#[derive(Debug)]
pub(crate) struct DropNotice {
    /// What has become of the packet so far, if anything.
    pub(crate) note: &'static str,
    packet: Option<DroppedPacket>,
    list: DroppedPackets,
}

impl DropNotice {
    pub(crate) fn new(packet: DroppedPacket, list: &DroppedPackets) -> DropNotice {
        DropNotice { note: "", packet: Some(packet), list: list.clone() }
    }

    /// The packet has got where it was to: nothing is said of it. What was to be.
    pub(crate) fn redeem(mut self) -> Option<DroppedPacket> {
        self.packet.take()
    }
}

impl Drop for DropNotice {
    fn drop(&mut self) {
        if let Some(packet) = self.packet.take() {
            self.list.0.lock().unwrap_or_else(PoisonError::into_inner).push(packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_vanishes_is_told() {
        let list = DroppedPackets::default();
        let ticket = |number| {
            DropNotice::new(DroppedPacket { number, bytes: vec![number as u8], len: 9 }, &list)
        };
        let (first, second, third) = (ticket(1), ticket(2), ticket(3));
        drop(third);
        assert_eq!(second.redeem().map(|packet| packet.number), Some(2));
        drop(first);
        let vanished: Vec<u64> = list.take().into_iter().map(|packet| packet.number).collect();
        assert_eq!(vanished, [3, 1]);
        assert_eq!(list.take(), []);
    }
}
