//! A child process in a namespace: started, waited for until it is ready, stopped.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{NetnsError, teardown};

/// How long a process may take between SIGTERM and SIGKILL: a gateway drains for 30 s at most, and
/// then takes down what it has set up, some twenty commands.
const GRACE: Duration = Duration::from_secs(60);
/// How often we look whether a child has ended.
const LOOK: Duration = Duration::from_millis(5);

/// A running child process. Dropping it stops it.
#[derive(Debug)]
pub struct Process {
    what: String,
    child: Child,
    ended: Option<ExitStatus>,
    stdout: Arc<Output>,
    stderr: Arc<Output>,
}

impl Process {
    /// Starts `command`, and calls it `what` in messages.
    ///
    /// # Errors
    /// [`NetnsError::Program`] if it cannot be run.
    pub fn start(what: &str, command: &mut Command) -> Result<Process, NetnsError> {
        // A process group of its own: Ctrl-C at the terminal is for us, and we stop our children
        // in the right order.
        command.process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = teardown::starting_child(|| {
            let child = command.spawn().map_err(|source| NetnsError::Program {
                program: command.get_program().to_string_lossy().into_owned(),
                source,
            })?;
            let pid = child.id();
            Ok((child, pid))
        })?;
        let stdout = Output::collect(child.stdout.take());
        let stderr = Output::collect(child.stderr.take());
        Ok(Process { what: what.to_owned(), child, ended: None, stdout, stderr })
    }

    /// Waits until the process has written `line` to its standard output.
    ///
    /// # Errors
    /// [`NetnsError::NotReady`], with its output, if it ends before or `limit` passes.
    pub fn wait_for_line(&mut self, line: &str, limit: Duration) -> Result<(), NetnsError> {
        let deadline = Instant::now() + limit;
        while !self.stdout.has_line(line) {
            let ended = self.try_wait();
            if ended.is_none() && Instant::now() < deadline {
                self.stdout.wait(Duration::from_millis(20));
                continue;
            }
            // What it wrote last may still be on its way to us.
            self.stderr.wait_for_end(Duration::from_millis(200));
            let mut output = self.stderr.text().trim().replace('\n', "; ");
            match ended {
                Some(status) => _ = write!(output, " ({status})"),
                None => _ = write!(output, " (nothing after {limit:?})"),
            }
            return Err(NetnsError::NotReady { what: self.what.clone(), output });
        }
        Ok(())
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    pub fn try_wait(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            let child = &mut self.child;
            self.ended = teardown::reaping_child(child.id(), || child.try_wait().ok().flatten());
        }
        self.ended
    }

    /// How it ended, if it does so within `limit`.
    pub fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + limit;
        loop {
            let ended = self.try_wait();
            if ended.is_some() || Instant::now() > deadline {
                return ended;
            }
            thread::sleep(LOOK);
        }
    }

    /// Sends a signal, if the process has not ended.
    pub fn signal(&mut self, signal: Signal) {
        // Not reaped, so the process id is still its own.
        if self.try_wait().is_none() {
            let _ = kill(Pid::from_raw(self.id().cast_signed()), signal);
        }
    }

    /// Asks it to end, and makes it end if it does not within a minute. Returns how it ended
    /// of its own accord.
    pub fn stop(&mut self) -> Option<ExitStatus> {
        self.signal(Signal::SIGTERM);
        let ended = self.wait(GRACE);
        if ended.is_none() {
            tracing::warn!("{} does not end by itself: killed", self.what);
            self.kill();
        }
        ended
    }

    /// Ends it at once, with no chance to clean up.
    pub fn kill(&mut self) {
        self.signal(Signal::SIGKILL);
        self.wait(GRACE);
    }

    /// What it has written to its standard output so far; all of it, once it has ended.
    pub fn stdout(&self) -> String {
        self.complete(&self.stdout)
    }

    /// What it has written to its standard error so far; all of it, once it has ended.
    pub fn stderr(&self) -> String {
        self.complete(&self.stderr)
    }

    fn complete(&self, output: &Output) -> String {
        if self.ended.is_some() {
            output.wait_for_end(Duration::from_secs(1));
        }
        output.text()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What a process has written to one of its outputs, collected by a thread so that the pipe
/// never fills.
#[derive(Debug, Default)]
struct Output {
    collected: Mutex<Collected>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Collected {
    text: String,
    ended: bool,
}

impl Output {
    fn collect(pipe: Option<impl Read + Send + 'static>) -> Arc<Output> {
        let output = Arc::new(Output::default());
        let ours = Arc::clone(&output);
        thread::spawn(move || {
            let mut lines = pipe.map(BufReader::new);
            let mut line = Vec::new();
            while let Some(lines) = &mut lines {
                line.clear();
                if !matches!(lines.read_until(b'\n', &mut line), Ok(1..)) {
                    break;
                }
                ours.lock().text.push_str(&String::from_utf8_lossy(&line));
                ours.changed.notify_all();
            }
            ours.lock().ended = true;
            ours.changed.notify_all();
        });
        output
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Collected> {
        self.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn text(&self) -> String {
        self.lock().text.clone()
    }

    fn has_line(&self, line: &str) -> bool {
        self.lock().text.lines().any(|written| written.starts_with(line))
    }

    /// Waits for something new, at most `limit`.
    fn wait(&self, limit: Duration) {
        let collected = self.lock();
        if !collected.ended {
            drop(self.changed.wait_timeout(collected, limit));
        } else {
            drop(collected);
            thread::sleep(LOOK);
        }
    }

    /// Waits until the process has closed this output, at most `limit`.
    fn wait_for_end(&self, limit: Duration) {
        let collected = self.lock();
        drop(self.changed.wait_timeout_while(collected, limit, |collected| !collected.ended));
    }
}
