//! SIGINT and SIGTERM as something to poll for, so that they end an event loop cleanly.
//!
//! `signal-hook`, because its handlers are async-signal-safe and it needs no signal mask, which
//! children would inherit.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::pipe;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// Catches SIGINT and SIGTERM from its creation to the end of the process.
#[derive(Debug)]
pub struct Signals {
    pipe: UnixStream,
}

impl Signals {
    /// Starts to catch SIGINT and SIGTERM: from here on they no longer end the process.
    ///
    /// # Errors
    /// When no pipe or handler can be made.
    pub fn catch() -> io::Result<Signals> {
        let (read, write) = UnixStream::pair()?;
        read.set_nonblocking(true)?;
        pipe::register(SIGINT, write.try_clone()?)?;
        pipe::register(SIGTERM, write)?;
        Ok(Signals { pipe: read })
    }

    /// Whether a signal has come since the last call. The descriptor is readable until then.
    pub fn received(&self) -> bool {
        let mut bytes = [0; 16];
        matches!((&self.pipe).read(&mut bytes), Ok(count) if count > 0)
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}
