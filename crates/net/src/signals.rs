//! SIGINT and SIGTERM as something to poll for, so that they end an event loop cleanly.
//!
//! `signal-hook`, because its handlers are async-signal-safe and it needs no signal mask, which
//! children would inherit.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level::pipe};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Which signal came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT: Ctrl-C, which the terminal also sends to our children.
    Interrupt,
    /// SIGTERM, sent to us alone.
    Terminate,
}

/// Catches SIGINT and SIGTERM from its creation to the end of the process.
#[derive(Debug)]
pub struct Signals {
    pipe: UnixStream,
    terminate: Arc<AtomicBool>,
}

impl Signals {
    /// Starts to catch SIGINT and SIGTERM: from here on they no longer end the process.
    ///
    /// # Errors
    /// When no pipe or handler can be made.
    pub fn catch() -> io::Result<Signals> {
        let (read, write) = UnixStream::pair()?;
        read.set_nonblocking(true)?;
        let terminate = Arc::new(AtomicBool::new(false));
        // The flag before the pipe: handlers run in this order, and who wakes must find it set.
        flag::register(SIGTERM, Arc::clone(&terminate))?;
        pipe::register(SIGINT, write.try_clone()?)?;
        pipe::register(SIGTERM, write)?;
        Ok(Signals { pipe: read, terminate })
    }

    /// The signal that has come since the last call, if one has; SIGTERM if both have. The
    /// descriptor is readable until then.
    pub fn received(&self) -> Option<Signal> {
        let mut bytes = [0; 16];
        let came = matches!((&self.pipe).read(&mut bytes), Ok(count) if count > 0);
        came.then(|| {
            if self.terminate.swap(false, Ordering::SeqCst) {
                Signal::Terminate
            } else {
                Signal::Interrupt
            }
        })
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}
