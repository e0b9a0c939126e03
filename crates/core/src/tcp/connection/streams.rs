//! The application's side of the two streams.

use super::{Connection, Phase};
use crate::tcp::buffer::{Buffer, Payload};
use crate::tcp::receiver::AutoTuning;
use std::ops::Range;

impl<B: Buffer> Connection<B> {
    /// Offers `payload` to be sent; returns how many bytes were taken. Nothing is taken after
    /// [`Connection::close`].
    pub fn write(&mut self, payload: Payload<'_>) -> usize {
        let taken = payload.len().min(usize::try_from(self.writable()).unwrap_or(usize::MAX));
        if taken == 0 {
            return 0;
        }
        self.send.write(self.written, payload.slice(0..taken));
        self.written += taken as u64;
        if let Phase::Synchronised(tcb) = &mut self.phase {
            tcb.sender.extend(self.written);
        }
        taken
    }

    /// How many bytes [`Connection::write`] would take now.
    pub fn writable(&self) -> u64 {
        if self.closing || matches!(self.phase, Phase::Closed) {
            return 0;
        }
        let una = self.tcb().map_or(1, |tcb| tcb.sender.snd_una().max(1));
        (una + self.config.send_buffer).saturating_sub(self.written)
    }

    /// How many bytes wait to be read.
    pub fn readable(&self) -> u64 {
        self.received - self.read
    }

    /// Whether the stream has ended: all is read and the peer's FIN has come.
    pub fn at_end(&self) -> bool {
        self.readable() == 0 && self.first_to_close.is_some()
    }

    /// Reads at most `limit` bytes, handed to `visit` in order; returns how many.
    pub fn read(&mut self, limit: u64, visit: impl FnMut(Payload<'_>)) -> u64 {
        let len = self.readable().min(limit);
        let range = self.read..self.read + len;
        self.receive.read(range.clone(), visit);
        self.receive.release(range.end);
        self.read = range.end;
        let limit = match &mut self.tuning {
            Some(tuning) => {
                tuning.on_read(self.read);
                tuning.limit(self.received, self.read)
            }
            None => self.read + self.config.receive_buffer,
        };
        if let Phase::Synchronised(tcb) = &mut self.phase {
            tcb.receiver.set_limit(limit);
        }
        len
    }

    /// The size of the receive buffer now, in bytes.
    pub fn receive_buffer(&self) -> u64 {
        self.tuning.as_ref().map_or(self.config.receive_buffer, AutoTuning::buffer)
    }

    /// The bytes of an outgoing segment's payload.
    pub fn payload(&self, range: Range<u64>, visit: impl FnMut(Payload<'_>)) {
        self.send.read(range, visit);
    }
}
