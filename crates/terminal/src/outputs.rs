//! Standard error and standard output of a program that carries packets.
//!
//! It waits for neither, nor for the journal that stands in for standard error.

use crate::journal::Journal;
use bentpipe_linux::output::{Lost, Notice, Output};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// How long the end waits for what has not been written.
const PATIENCE: Duration = Duration::from_secs(1);

/// The permission of standard error to hold the program up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// It may: a program that ends with its work is to say all that it has to say.
    Waits,
    /// It may not: others wait for the program.
    WaitsForNobody,
}

/// Both descriptors. Dropping it waits a second at most for what has not been written.
pub struct Outputs {
    program: &'static str,
    log: Option<Output>,
    stdout: Option<Output>,
    /// Entries that the journal has not taken.
    entries_lost: Arc<AtomicU64>,
}

impl Outputs {
    /// Prepares standard error for the log and the messages of `program`, and begins to log.
    ///
    /// # Errors
    /// The exit code with which the program is to end, as it could say nothing: that is said.
    pub fn begin(program: &'static str, patience: Patience) -> Result<Outputs, ExitCode> {
        let mut outputs = Outputs::new(program, patience).map_err(|error| {
            eprintln!("{program}: cannot write to standard error: {error}");
            ExitCode::FAILURE
        })?;
        let journal = Journal::of_standard_error(program);
        match journal.filter(|_| patience == Patience::WaitsForNobody) {
            Some(journal) => {
                outputs.entries_lost = journal.lost();
                tracing_subscriber::registry().with(journal).with(filter()).init();
            }
            None => outputs.log(),
        }
        Ok(outputs)
    }

    /// The program's exit code; an error is said in a line. The reader of standard output may leave
    /// whenever it has read enough, as `head` does: that is no error.
    pub fn end(&self, result: Result<ExitCode, Box<dyn std::error::Error>>) -> ExitCode {
        match result {
            Ok(code) => code,
            Err(error) if is_broken_pipe(&*error) && has_no_reader(&io::stdout()) => {
                ExitCode::SUCCESS
            }
            Err(error) => self.fail(&error, 1),
        }
    }

    /// Says an error in a line, and returns the exit code.
    pub fn fail(&self, error: &impl Display, code: u8) -> ExitCode {
        self.say(&format!("{}: {error}\n", self.program));
        ExitCode::from(code)
    }

    fn new(program: &'static str, patience: Patience) -> io::Result<Outputs> {
        let log = match patience {
            Patience::Waits => None,
            Patience::WaitsForNobody => {
                Some(Output::to(duplicate(&io::stderr())?, Some(notice_of(program)))?)
            }
        };
        Ok(Outputs { program, log, stdout: None, entries_lost: Arc::default() })
    }

    /// Begins to log, of what RUST_LOG chooses.
    fn log(&self) {
        tracing_subscriber::fmt()
            .with_env_filter(filter())
            .with_ansi(io::stderr().is_terminal())
            // It would say on standard error that standard error cannot be written, and panic.
            .log_internal_errors(false)
            .with_writer(self.writer())
            .init();
    }

    fn writer(&self) -> BoxMakeWriter {
        match self.log.clone() {
            Some(output) => BoxMakeWriter::new(move || output.clone()),
            None => BoxMakeWriter::new(io::stderr),
        }
    }

    /// Says something on standard error that is not for the log.
    fn say(&self, text: &str) {
        // There is nobody else to be told.
        let _ = self.writer().make_writer().write_all(text.as_bytes());
    }

    /// Writes to standard output. The log has it if that does not work.
    ///
    /// # Errors
    /// Standard output cannot be had.
    pub fn print(&mut self, text: &str) -> io::Result<()> {
        if self.stdout.is_none() {
            self.stdout = Some(Output::to(duplicate(&io::stdout())?, None)?);
        }
        self.stdout.iter().for_each(|output| output.put(text.as_bytes()));
        Ok(())
    }

    /// A function that counts the losses of the log so far.
    pub fn lost(&self) -> impl Fn() -> Lost + Send + Clone + 'static {
        let (log, entries) = (self.log.clone(), Arc::clone(&self.entries_lost));
        move || {
            let mut lost = log.as_ref().map(Output::lost).unwrap_or_default();
            let entries = entries.load(Ordering::Relaxed);
            if entries > 0 {
                lost.lines += entries;
                lost.why = "the journal did not take them".to_owned();
            }
            lost
        }
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        let until = Instant::now() + PATIENCE;
        // The log behind it: it has what went wrong.
        self.stdout.iter().chain(&self.log).for_each(|output| output.finish(until));
    }
}

/// Whether an error is that of writing to a pipe without a reader, and says nothing of a file. By
/// its text: an error that is transparent has the text of the one within, and not its type.
fn is_broken_pipe(error: &dyn std::error::Error) -> bool {
    error.to_string() == io::Error::from(Errno::EPIPE).to_string()
}

/// Whether this is a pipe that nobody reads from (any more).
fn has_no_reader(descriptor: &impl AsFd) -> bool {
    let mut fds = [PollFd::new(descriptor.as_fd(), PollFlags::empty())];
    let gone = PollFlags::POLLERR | PollFlags::POLLHUP;
    let polled = poll(&mut fds, PollTimeout::ZERO);
    polled.is_ok() && fds[0].revents().is_some_and(|events| events.intersects(gone))
}

/// What of the log is wanted, by RUST_LOG.
fn filter() -> EnvFilter {
    // A bar of height 0 in a figure is no reason to warn.
    let usual = "info,usvg=error,tiny_skia=error";
    EnvFilter::try_from_default_env().unwrap_or(usual.into())
}

fn duplicate(descriptor: &impl AsFd) -> io::Result<File> {
    Ok(descriptor.as_fd().try_clone_to_owned()?.into())
}

/// Makes a line as the log's own.
fn notice_of(program: &'static str) -> Notice {
    Box::new(move |lines, why| {
        let now = humantime::format_rfc3339_micros(SystemTime::now());
        format!("{now}  WARN {program}: {lines} lines of the log were lost: {why}\n")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_without_a_reader_is_known() {
        let (reader, mut writer) = io::pipe().unwrap();
        assert!(!has_no_reader(&writer));
        drop(reader);
        assert!(has_no_reader(&writer));
        let error: Box<dyn std::error::Error> = writer.write_all(b"x").unwrap_err().into();
        assert!(is_broken_pipe(&*error));
        let other = io::Error::other(format!("a socket: {error}"));
        assert!(!is_broken_pipe(&other), "a file of that name");
    }
}
