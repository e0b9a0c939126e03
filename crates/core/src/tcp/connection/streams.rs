//! The application's side of the two streams.

use super::{Connection, Phase};
use crate::tcp::buffer::{Buffer, Payload};
use crate::tcp::receiver::AutoTuning;
use crate::units::{Bytes, Offset};
use std::ops::Range;

impl<B: Buffer> Connection<B> {
    /// Offers `payload` to be sent; returns how many bytes were taken. Nothing is taken after
    /// [`Connection::close`].
    pub fn write(&mut self, payload: Payload<'_>) -> usize {
        let taken = payload.len().min(self.writable().as_len());
        if taken == 0 {
            return 0;
        }
        self.send.write(self.written, payload.slice(0..taken));
        self.written += Bytes::of_len(taken);
        if let Phase::Synchronised(tcb) = &mut self.phase {
            tcb.sender.extend(self.written);
        }
        taken
    }

    /// How many bytes [`Connection::write`] would take now.
    pub fn writable(&self) -> Bytes {
        if self.closing || matches!(self.phase, Phase::Closed) {
            return Bytes::ZERO;
        }
        let una = self.tcb().map_or(Offset::FIRST, |tcb| tcb.sender.snd_una().max(Offset::FIRST));
        (una + self.config.send_buffer).saturating_sub(self.written)
    }

    /// How many bytes wait to be read.
    pub fn readable(&self) -> Bytes {
        self.received - self.read
    }

    /// Whether the stream has ended: all is read and the peer's FIN has come.
    pub fn at_end(&self) -> bool {
        self.readable() == Bytes::ZERO && self.first_to_close.is_some()
    }

    /// Reads at most `limit` bytes, handed to `visit` in order; returns how many.
    pub fn read(&mut self, limit: Bytes, visit: impl FnMut(Payload<'_>)) -> Bytes {
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
    pub fn receive_buffer(&self) -> Bytes {
        self.tuning.as_ref().map_or(self.config.receive_buffer, AutoTuning::buffer)
    }

    /// The bytes of an outgoing segment's payload.
    pub fn payload(&self, range: Range<Offset>, visit: impl FnMut(Payload<'_>)) {
        self.send.read(range, visit);
    }
}
