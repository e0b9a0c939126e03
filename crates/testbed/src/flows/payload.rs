//! What is sent: bytes that say where in their stream they stand, so that a wrong one is noticed.

use super::socket::WindowLimit;
use nix::sys::socket::MsgFlags;
use socket2::Socket;
use std::io::{self, ErrorKind, Read, Write};

/// A prime, so that what is lost or repeated shows wherever segments begin.
const PERIOD: usize = 251;
/// How much is written or read at a time.
const CHUNK: usize = 1 << 16;

/// The bytes of every stream, from any place in its period on.
static PATTERN: [u8; CHUNK + PERIOD] = {
    let mut bytes = [0; CHUNK + PERIOD];
    let mut at = 0;
    while at < bytes.len() {
        bytes[at] = (at % PERIOD) as u8;
        at += 1;
    }
    bytes
};

/// The sending side of a connection.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    sent: u64,
}

impl Outgoing {
    /// Sends so many bytes more.
    ///
    /// # Errors
    /// The connection has ended.
    pub(super) fn send(&mut self, mut socket: &Socket, bytes: u64) -> io::Result<()> {
        let end = self.sent.saturating_add(bytes);
        while self.sent < end {
            let written = socket.write(self.next(end - self.sent))?;
            if written == 0 {
                return Err(ErrorKind::WriteZero.into());
            }
            self.sent += written as u64;
        }
        Ok(())
    }

    /// Sends as many of so many bytes as can be sent without waiting, and returns how many those
    /// were.
    ///
    /// # Errors
    /// The connection has ended.
    pub(super) fn begin(&mut self, socket: &Socket, bytes: u64) -> io::Result<u64> {
        match socket.send_with_flags(self.next(bytes), MsgFlags::MSG_DONTWAIT.bits()) {
            Ok(written) => {
                self.sent += written as u64;
                Ok(written as u64)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// What comes next, of so many bytes.
    fn next(&self, bytes: u64) -> &'static [u8] {
        let begin = (self.sent % PERIOD as u64) as usize;
        let length = usize::try_from(bytes).unwrap_or(CHUNK).min(CHUNK);
        &PATTERN[begin..begin + length]
    }
}

/// The receiving side of a connection.
#[derive(Debug)]
pub(super) struct Incoming {
    read: u64,
    buffer: Vec<u8>,
    window: WindowLimit,
}

impl Incoming {
    /// Nothing has come. The window that is advertised stays within its limit.
    pub(super) fn new(window: WindowLimit) -> Incoming {
        Incoming { read: 0, buffer: vec![0; CHUNK], window }
    }

    /// Reads what is there, at most `limit` bytes; zero at the stream's end.
    ///
    /// # Errors
    /// The connection has ended, or a byte is wrong ([`ErrorKind::InvalidData`]).
    pub(super) fn read(&mut self, mut socket: &Socket, limit: u64) -> io::Result<u64> {
        let length = usize::try_from(limit).unwrap_or(CHUNK).min(CHUNK);
        let count = loop {
            match socket.read(&mut self.buffer[..length]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.window.hold(socket)?;
        let begin = (self.read % PERIOD as u64) as usize;
        if self.buffer[..count] != PATTERN[begin..begin + count] {
            return Err(io::Error::new(ErrorKind::InvalidData, "a byte is not what was sent"));
        }
        self.read += count as u64;
        Ok(count as u64)
    }

    /// Reads until the stream ends.
    ///
    /// # Errors
    /// As [`Incoming::read`].
    pub(super) fn read_to_end(&mut self, socket: &Socket) -> io::Result<()> {
        while self.read(socket, u64::MAX)? > 0 {}
        Ok(())
    }

    /// Reads exactly so many bytes.
    ///
    /// # Errors
    /// As [`Incoming::read`], or the stream ends before.
    pub(super) fn read_exact(&mut self, socket: &Socket, mut bytes: u64) -> io::Result<()> {
        while bytes > 0 {
            match self.read(socket, bytes)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                count => bytes -= count,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn what_arrives_is_compared_with_what_was_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = Socket::from(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        let far = Socket::from(listener.accept().unwrap().0);
        let mut out = Outgoing::default();
        let mut incoming = Incoming::new(WindowLimit::default());
        for bytes in [1, 700, 100_000] {
            std::thread::scope(|scope| {
                scope.spawn(|| out.send(&near, bytes).unwrap());
                incoming.read_exact(&far, bytes).unwrap();
            });
        }
        (&near).write_all(b"x").unwrap();
        let error = incoming.read_exact(&far, 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    }
}
