//! Boxes of packets that have arrived, for those that are to leave: in a steady state no memory is
//! asked for, which would cost a packet a twentieth of its time.

use crate::packet::Packet;

/// Empty boxes. What is left in them goes when they are filled.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "the boxes are what is kept")]
pub(crate) struct PacketPool(Vec<Box<Packet>>);

impl PacketPool {
    /// As many as a full window's packets; more go back to where memory comes from.
    const MAX: usize = 1024;

    /// A box with `packet` in it.
    #[inline]
    pub(crate) fn fill(&mut self, packet: Packet) -> Box<Packet> {
        match self.0.pop() {
            Some(mut empty) => {
                *empty = packet;
                empty
            }
            None => Box::new(packet),
        }
    }

    /// Takes a box that is not needed any more.
    #[inline]
    pub(crate) fn take_back(&mut self, packet: Box<Packet>) {
        if self.0.len() < PacketPool::MAX {
            self.0.push(packet);
        }
    }
}
