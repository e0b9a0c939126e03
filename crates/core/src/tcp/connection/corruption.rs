//! What a peer tells of damaged segments (explicit loss notification), in sequence numbers.

use super::{Connection, Phase};
use crate::tcp::buffer::Buffer;
use crate::units::Bytes;
use crate::wire::SeqNum;

impl<B: Buffer> Connection<B> {
    /// The peer says that `copies` damaged copies of the `len` bytes from `seq` on have come to it.
    /// To be called before the segment that says so is [handled](Connection::handle_segment).
    pub fn note_damaged(&mut self, seq: SeqNum, len: u32, copies: u32) {
        let Phase::Synchronised(tcb) = &mut self.phase else { return };
        let una = tcb.sender.snd_una();
        if let Some(start) = seq.offset_near(tcb.handshake().snd_isn, una) {
            tcb.sender.note_damaged(start..start + Bytes::new(len.into()), copies);
        }
    }
}
