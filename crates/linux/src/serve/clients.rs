//! The clients of a small server, all on one thread: none waits for another that says nothing or
//! reads slowly.
//!
//! There is a limit on their number, on their time and on the length of their requests. Where all
//! places are taken, the oldest who has not said what it wants gives way: an honest client says so
//! at once, before those who come behind it can push it out.
//!
//! poll(2) and not a library: an event loop for a few clients is a hundred lines, and the libraries
//! for HTTP bring either a thread for each client, whose number a flood decides, or a runtime.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// The time that a client has for its request and for taking the answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The longest request, in bytes.
pub(super) const LONGEST: usize = 4096;

/// New clients between two looks at those who are here: fewer than there are places, so that each
/// is heard before it has to give way.
const NEW: usize = 4;

/// How long nobody is let in when the system has no descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// What is said to clients.
pub(super) trait Answers {
    /// Whether a request is complete.
    fn is_complete(&self, request: &[u8]) -> bool;

    /// The answer to a complete request; None hangs up.
    fn answer(&mut self, request: &[u8]) -> Option<Vec<u8>>;
}

/// A client: its request so far, then what is left of its answer.
struct Client<S> {
    stream: S,
    end: Instant,
    request: Vec<u8>,
    answer: Option<(Vec<u8>, usize)>,
}

/// What becomes of a client after a look at it.
#[derive(PartialEq, Eq)]
enum Fate {
    Stays,
    Goes,
}

/// Lets clients in by `accept`, as many as there are `places`, and answers them, until `stopped` is
/// closed at its other end. `accept` gives streams that do not block.
pub(super) fn serve<L: AsFd, S: Read + Write + AsFd>(
    listener: &L,
    stopped: &impl AsFd,
    places: usize,
    accept: impl Fn(&L) -> io::Result<S>,
    answers: &mut impl Answers,
) {
    // By age, the oldest in front.
    let mut clients: VecDeque<Client<S>> = VecDeque::new();
    let mut closed_until = None;
    loop {
        let Some(ready) = wait(listener, stopped, &clients, closed_until) else { return };
        // Before others come, who may take their places.
        let mut fates = ready.clients.iter();
        clients.retain_mut(|client| {
            let due = fates.next().is_some_and(|ready| *ready);
            // An answer may take its time, if the gateway hangs: not for who waits no more.
            Instant::now() < client.end && (!due || client.go_on(answers) == Fate::Stays)
        });
        closed_until = closed_until.filter(|until| Instant::now() < *until);
        if !ready.listener || closed_until.is_some() {
            continue;
        }
        for _ in 0..NEW {
            match accept(listener) {
                Ok(stream) => {
                    let mut client = Client::new(stream);
                    if client.go_on(answers) == Fate::Stays {
                        if clients.len() >= places {
                            give_way(&mut clients);
                        }
                        clients.push_back(client);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // It is not to be served, or has left already.
                Err(error) if is_its_own(&error) => tracing::debug!(%error, "client not served"),
                Err(error) => {
                    tracing::debug!(%error, "no client can be let in");
                    give_way(&mut clients);
                    closed_until = Some(Instant::now() + PAUSE);
                    break;
                }
            }
        }
    }
}

/// Sends the oldest away who has not said what it wants, or else the oldest.
fn give_way<S>(clients: &mut VecDeque<Client<S>>) {
    let silent = clients.iter().position(|client| client.answer.is_none());
    clients.remove(silent.unwrap_or(0));
}

/// Whether an error of `accept` is about one client, and not about all (accept(2)).
fn is_its_own(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::Interrupted
    )
}

/// Who has something to do.
struct Ready {
    listener: bool,
    /// In their order.
    clients: Vec<bool>,
}

/// Waits until there is something to do. None when it is time to end.
fn wait<S: Read + Write + AsFd>(
    listener: &impl AsFd,
    stopped: &impl AsFd,
    clients: &VecDeque<Client<S>>,
    closed_until: Option<Instant>,
) -> Option<Ready> {
    let listens = if closed_until.is_some() { PollFlags::empty() } else { PollFlags::POLLIN };
    let mut fds = vec![
        PollFd::new(stopped.as_fd(), PollFlags::POLLIN),
        PollFd::new(listener.as_fd(), listens),
    ];
    fds.extend(clients.iter().map(|client| PollFd::new(client.stream.as_fd(), client.wants())));
    // The oldest one's time is over first.
    let next = clients.front().map(|client| client.end).into_iter().chain(closed_until).min();
    let timeout = next.map_or(PollTimeout::NONE, |next| {
        // A millisecond more, or the last one of them would be spent in turning.
        let left = next.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
        PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
    });
    match poll(&mut fds, timeout) {
        Ok(_) => {}
        Err(Errno::EINTR) => return Some(Ready { listener: false, clients: Vec::new() }),
        Err(errno) => {
            tracing::warn!(%errno, "questions are not answered any more");
            return None;
        }
    }
    let mut ready = fds.iter().map(|fd| fd.any() == Some(true));
    let (stops, listener) = (ready.next()?, ready.next()?);
    (!stops).then(|| Ready { listener, clients: ready.collect() })
}

impl<S: Read + Write> Client<S> {
    fn new(stream: S) -> Client<S> {
        Client { stream, end: Instant::now() + PATIENCE, request: Vec::new(), answer: None }
    }

    /// What it waits for.
    fn wants(&self) -> PollFlags {
        if self.answer.is_some() { PollFlags::POLLOUT } else { PollFlags::POLLIN }
    }

    /// Reads and writes as far as it goes without waiting.
    fn go_on(&mut self, answers: &mut impl Answers) -> Fate {
        match self.read(answers).and_then(|()| self.write()) {
            Ok(()) => Fate::Goes,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Fate::Stays,
            // A client may have left already, and one that says too much is its own loss.
            Err(error) => {
                tracing::debug!(%error, "client not served");
                Fate::Goes
            }
        }
    }

    /// Reads until the request is complete and has its answer.
    fn read(&mut self, answers: &mut impl Answers) -> io::Result<()> {
        let mut buffer = [0; 512];
        while self.answer.is_none() {
            let len = retried(|| self.stream.read(&mut buffer))?;
            if len == 0 || self.request.len() + len > LONGEST {
                return Err(io::ErrorKind::InvalidData.into());
            }
            self.request.extend_from_slice(&buffer[..len]);
            if answers.is_complete(&self.request) {
                // Nothing to say hangs up.
                let answer = answers.answer(&self.request).ok_or(io::ErrorKind::NotFound)?;
                self.answer = Some((answer, 0));
            }
        }
        Ok(())
    }

    /// Writes what is left of the answer.
    fn write(&mut self) -> io::Result<()> {
        let Some((answer, written)) = &mut self.answer else { return Ok(()) };
        while *written < answer.len() {
            match retried(|| self.stream.write(&answer[*written..]))? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                len => *written += len,
            }
        }
        Ok(())
    }
}

/// Again if a signal came in between.
fn retried(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
