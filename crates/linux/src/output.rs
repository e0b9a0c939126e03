//! A descriptor that somebody else holds the other end of, such as standard error: a thread writes
//! to it, and nobody waits for that thread.
//!
//! The reader of a log may stand still (a terminal after Ctrl-S, a pager), read slowly, or be gone;
//! its disk may be full. A loop that carries packets and wrote there itself would stand still or
//! end with it. So lines go into a queue of bounded length. What finds no room, and what cannot be
//! written, is dropped and counted; the first line that can be written again has a notice of how
//! many were lost before it, at the place where they are missing.
//!
//! The descriptor keeps its mode: `O_NONBLOCK` belongs to the open file, which a shell and its
//! other programs share.

use crate::privileges;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::SigSet;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes that may wait to be written: some ten thousand lines.
const CAPACITY: usize = 1 << 20;

/// How long after a write that failed another one is tried, if there is nothing else to write.
const AGAIN: Duration = Duration::from_secs(5);

/// Why a line found no room.
const TOO_SLOW: &str = "their reader stands still, or is too slow";

/// Makes a line that says how many were lost, and why.
pub type Notice = Box<dyn Fn(u64, &str) -> String + Send>;

/// What a descriptor has not taken.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lost {
    /// Lines since the beginning.
    pub lines: u64,
    /// Why the latest was lost.
    pub why: String,
}

/// Where lines wait to be written. Clones are of the same queue.
#[derive(Debug, Clone)]
pub struct Output {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// There is something to write, or the end.
    more: Condvar,
    /// All is written, or lost.
    done: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    entries: VecDeque<Entry>,
    /// Of all entries.
    bytes: usize,
    /// It was full, and has not been emptied by half since: a slow reader gets pieces without gaps.
    full: bool,
    /// Lines that found no room since the last that did.
    missing: u64,
    lost: Lost,
    /// Somebody waits until all is written.
    ending: bool,
}

#[derive(Debug)]
struct Entry {
    /// Lines that are missing before it.
    missing: u64,
    text: Box<[u8]>,
}

impl Output {
    /// Writes to `descriptor` from now on, on a thread without privileges. `notice` makes the lines
    /// that tell of lost ones; None where what is read there must not have other lines.
    ///
    /// # Errors
    /// When no thread is to be had.
    pub fn to(
        descriptor: impl Write + AsFd + Send + 'static,
        notice: Option<Notice>,
    ) -> io::Result<Output> {
        let shared = Arc::new(Shared::default());
        let ours = Arc::clone(&shared);
        let mut writer = Writer { descriptor, notice, torn: false, owed: 0 };
        thread::Builder::new().name("bp-output".into()).spawn(move || {
            // No handler runs here. SIGTTOU, SIGPIPE and SIGXFSZ, which writing may raise, neither
            // stop nor end the process while they are blocked: the write is done, or fails
            // (tty_ioctl(4), write(2)).
            let _ = SigSet::all().thread_block();
            if let Err(error) = privileges::give_up_all_of_this_thread() {
                tracing::error!(%error, "a thread that writes the log keeps its privileges");
            }
            writer.run(&ours);
        })?;
        Ok(Output { shared })
    }

    /// Has `text`, a line or several, written. Never waits for it.
    pub fn put(&self, text: &[u8]) {
        let mut queue = self.shared.lock();
        if queue.full || queue.bytes + text.len() > CAPACITY {
            queue.full = true;
            queue.missing += 1;
            queue.lose(TOO_SLOW);
            return;
        }
        queue.bytes += text.len();
        let missing = std::mem::take(&mut queue.missing);
        queue.entries.push_back(Entry { missing, text: text.into() });
        self.shared.more.notify_one();
    }

    /// What was lost so far.
    pub fn lost(&self) -> Lost {
        self.shared.lock().lost.clone()
    }

    /// Waits until all is written or lost, but not beyond `until`.
    pub fn finish(&self, until: Instant) {
        let mut queue = self.shared.lock();
        queue.ending = true;
        self.shared.more.notify_one();
        let patience = until.saturating_duration_since(Instant::now());
        let waits = |queue: &mut Queue| queue.ending;
        let waited = self.shared.done.wait_timeout_while(queue, patience, waits);
        drop(waited);
    }
}

/// Each call is a line, or several.
impl Write for Output {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.put(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn lose(&mut self, why: &str) {
        self.lost.lines += 1;
        if self.lost.why != why {
            why.clone_into(&mut self.lost.why);
        }
    }

    /// The next entry; or, where lines are missing at the end, one without text.
    fn next(&mut self) -> Option<Entry> {
        let Some(entry) = self.entries.pop_front() else {
            let missing = std::mem::take(&mut self.missing);
            return (missing > 0).then(|| Entry { missing, text: Box::default() });
        };
        self.bytes -= entry.text.len();
        self.full &= self.bytes > CAPACITY / 2;
        Some(entry)
    }
}

/// The thread's.
struct Writer<W> {
    descriptor: W,
    notice: Option<Notice>,
    /// A line was written in part: the next one begins behind a line break.
    torn: bool,
    /// Lines were lost of which there was no notice.
    owed: u64,
}

impl<W: Write + AsFd> Writer<W> {
    fn run(&mut self, shared: &Shared) {
        loop {
            let entry = self.wait(shared);
            let had = self.owed;
            self.owed += entry.missing;
            let why = shared.lock().lost.why.clone();
            if let Err(error) = self.tell(&why).and_then(|()| self.write(&entry.text)) {
                if !entry.text.is_empty() {
                    self.owed += 1;
                    shared.lock().lose(&error.to_string());
                }
                if self.notice.is_none() && had == 0 {
                    tracing::warn!("standard output cannot be written: {error}");
                }
            }
        }
    }

    /// Waits for the next entry, or for the time of another try.
    fn wait(&self, shared: &Shared) -> Entry {
        let mut queue = shared.lock();
        loop {
            if let Some(entry) = queue.next() {
                return entry;
            }
            if queue.ending {
                queue.ending = false;
                shared.done.notify_all();
            }
            if self.owed == 0 {
                queue = shared.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let waited = shared.more.wait_timeout(queue, AGAIN);
            let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            queue = guard;
            if timeout.timed_out() && queue.entries.is_empty() {
                return Entry { missing: 0, text: Box::default() };
            }
        }
    }

    /// Tells of what was lost, if anything was.
    fn tell(&mut self, why: &str) -> io::Result<()> {
        if self.owed > 0 {
            if let Some(notice) = &self.notice {
                let line = notice(self.owed, why);
                self.write(line.as_bytes())?;
            }
            self.owed = 0;
        }
        Ok(())
    }

    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        if self.torn {
            self.write_whole(b"\n")?;
            self.torn = false;
        }
        self.write_whole(text)
    }

    fn write_whole(&mut self, mut text: &[u8]) -> io::Result<()> {
        let whole = text.len();
        while !text.is_empty() {
            let written = match self.descriptor.write(text) {
                Ok(0) => Err(io::ErrorKind::WriteZero.into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // Somebody else has put it into this mode.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let mut fds = [PollFd::new(self.descriptor.as_fd(), PollFlags::POLLOUT)];
                    let _ = poll(&mut fds, PollTimeout::NONE);
                    continue;
                }
                written => written,
            };
            match written {
                Ok(count) => text = &text[count..],
                Err(error) => {
                    self.torn |= text.len() < whole;
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    use std::fs::File;
    use std::io::{PipeReader, Read, pipe};

    const SOON: Duration = Duration::from_secs(40);

    fn notice(lines: u64, why: &str) -> String {
        format!("{lines} lost: {why}\n")
    }

    fn finish(output: &Output) {
        output.finish(Instant::now() + SOON);
    }

    /// A line of a kilobyte, and a pipe that takes four of them.
    fn narrow() -> (Vec<u8>, PipeReader, Output) {
        let (read, write) = pipe().unwrap();
        fcntl(&write, FcntlArg::F_SETPIPE_SZ(4096)).unwrap();
        let line = [&[b'x'; 1023][..], b"\n"].concat();
        (line, read, Output::to(write, Some(Box::new(notice))).unwrap())
    }

    #[test]
    fn lines_are_written_in_their_order() {
        let (mut read, write) = pipe().unwrap();
        let output = Output::to(write, Some(Box::new(notice))).unwrap();
        (0..100).for_each(|number| output.put(format!("{number}\n").as_bytes()));
        finish(&output);
        let mut text = vec![0; 290];
        read.read_exact(&mut text).unwrap();
        let expected: String = (0..100).map(|number| format!("{number}\n")).collect();
        assert_eq!(String::from_utf8(text).unwrap(), expected);
        assert_eq!(output.lost(), Lost::default());
    }

    #[test]
    fn a_reader_that_stands_still_is_not_waited_for() {
        let (line, mut read, output) = narrow();
        let count = 2 * CAPACITY / line.len();
        (0..count).for_each(|_| output.put(&line));
        let lost = output.lost();
        assert!(lost.lines > 500 && lost.lines < 1500 && lost.why == TOO_SLOW, "{lost:?}");
        // Nobody reads: the end waits as long as it is told.
        output.finish(Instant::now() + Duration::from_millis(50));
        // What is missing is told where it is missing: behind what waited, before what comes next.
        let reader = thread::spawn(move || {
            let mut text = String::new();
            let mut buffer = [0; 4096];
            while !text.ends_with("next\n") {
                let count = read.read(&mut buffer).unwrap();
                text.push_str(str::from_utf8(&buffer[..count]).unwrap());
            }
            text
        });
        finish(&output);
        output.put(b"next\n");
        finish(&output);
        let text = reader.join().unwrap();
        let told = format!("{} lost: {TOO_SLOW}\nnext\n", lost.lines);
        assert!(text.ends_with(&told), "{}", &text[text.len() - 200..]);
        let whole = count as u64 - lost.lines;
        assert_eq!(text.len() - told.len(), whole as usize * line.len());
    }

    #[test]
    fn a_reader_that_is_gone_costs_the_lines_alone() {
        let (read, write) = pipe().unwrap();
        drop(read);
        let output = Output::to(write, Some(Box::new(notice))).unwrap();
        (0..10).for_each(|_| output.put(b"line\n"));
        finish(&output);
        let lost = output.lost();
        assert!(lost.lines == 10 && lost.why.contains("Broken pipe"), "{lost:?}");
    }

    #[test]
    fn a_full_disk_is_told_of_when_there_is_room_again() {
        let Ok(full) = File::options().write(true).open("/dev/full") else { return };
        let (mut read, write) = pipe().unwrap();
        let target = Moving { to: full, next: Some(write.into()) };
        let output = Output::to(target, Some(Box::new(notice))).unwrap();
        output.put(b"first\n");
        finish(&output);
        let lost = output.lost();
        assert!(lost.lines == 1 && lost.why.contains("No space"), "{lost:?}");
        output.put(b"room\n");
        output.put(b"line\n");
        finish(&output);
        let expected = format!("1 lost: {}\nroom\nline\n", lost.why);
        let mut text = vec![0; expected.len()];
        read.read_exact(&mut text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    /// Gets room once it has failed.
    struct Moving {
        to: File,
        next: Option<std::os::fd::OwnedFd>,
    }

    impl Write for Moving {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.to.write(bytes).inspect_err(|_| {
                if let Some(next) = self.next.take() {
                    self.to = next.into();
                }
            })
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl AsFd for Moving {
        fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
            self.to.as_fd()
        }
    }

    #[test]
    fn a_descriptor_that_somebody_has_made_non_blocking_is_waited_for() {
        let (line, mut read, output) = {
            let (read, write) = pipe().unwrap();
            fcntl(&write, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
            (vec![b'x'; 4096], read, Output::to(write, None).unwrap())
        };
        (0..100).for_each(|_| output.put(&line));
        let mut text = vec![0; 100 * line.len()];
        read.read_exact(&mut text).unwrap();
        finish(&output);
        assert_eq!(output.lost().lines, 0);
    }
}
