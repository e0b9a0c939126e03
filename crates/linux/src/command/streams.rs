//! What a command is given and what it says, with an end to the waiting.

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use std::time::Instant;

/// What a command has said.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) out: Vec<u8>,
    pub(super) errors: Vec<u8>,
}

/// What came of listening to a command.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It has closed both its outputs.
    Ended(Said),
    /// It has not done so in time.
    Late,
    /// It has said more than is read.
    Long,
}

/// The ends of its pipes. They are ours alone, so none of them needs to block.
pub(super) struct Streams<'a> {
    input: &'a [u8],
    /// The most that is read of each of its outputs, in bytes.
    longest: usize,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
}

impl Streams<'_> {
    pub(super) fn of<'a>(
        child: &mut Child,
        input: &'a str,
        longest: usize,
    ) -> io::Result<Streams<'a>> {
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let ends = [
            stdin.as_ref().map(AsFd::as_fd),
            stdout.as_ref().map(AsFd::as_fd),
            stderr.as_ref().map(AsFd::as_fd),
        ];
        for end in ends.into_iter().flatten() {
            fcntl(end, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        Ok(Streams { input: input.as_bytes(), longest, stdin, stdout, stderr })
    }

    /// Writes and reads until the command has closed both its outputs, or it is `end`.
    pub(super) fn carry(mut self, end: Instant) -> io::Result<Outcome> {
        let mut said = Said::default();
        loop {
            if let Some(stdin) = &mut self.stdin {
                match stdin.write(self.input) {
                    Ok(count) => self.input = &self.input[count..],
                    Err(error) if waits(&error) => {}
                    // A command that fails early says why on its standard error.
                    Err(_) => self.input = &[],
                }
                self.stdin.take_if(|_| self.input.is_empty());
            }
            read(&mut self.stdout, &mut said.out, self.longest)?;
            read(&mut self.stderr, &mut said.errors, self.longest)?;
            if said.out.len().max(said.errors.len()) > self.longest {
                return Ok(Outcome::Long);
            }
            let ends = [
                self.stdin.as_ref().map(|end| PollFd::new(end.as_fd(), PollFlags::POLLOUT)),
                self.stdout.as_ref().map(|end| PollFd::new(end.as_fd(), PollFlags::POLLIN)),
                self.stderr.as_ref().map(|end| PollFd::new(end.as_fd(), PollFlags::POLLIN)),
            ];
            let mut fds: Vec<PollFd<'_>> = ends.into_iter().flatten().collect();
            if self.stdout.is_none() && self.stderr.is_none() {
                return Ok(Outcome::Ended(said));
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Outcome::Late);
            }
            match poll(&mut fds, PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

/// Reads what there is, to one byte more than the `longest`; the end closes the stream.
fn read<R: Read>(stream: &mut Option<R>, into: &mut Vec<u8>, longest: usize) -> io::Result<()> {
    let Some(from) = stream else { return Ok(()) };
    let left = (longest + 1).saturating_sub(into.len()) as u64;
    match from.take(left).read_to_end(into) {
        Ok(_) => *stream = None,
        Err(error) if waits(&error) => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

fn waits(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
