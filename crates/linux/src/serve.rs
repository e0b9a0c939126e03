//! Small servers of a running service, a gateway or a link.
//!
//! One is on a Unix socket in the service's own directory, for root, its user and the group that
//! this lets in. The other speaks HTTP on a loopback address.
//!
//! Each has a thread of its own, which only waits for its clients and for the service's answers,
//! and has no privileges.

mod clients;
mod http;
pub mod stream;

use crate::instance::{Instance, InstanceError};
use crate::privileges;
use crate::runtime_dir::RuntimeDir;
use clients::{Answers, PATIENCE};
use nix::sys::socket::{getsockopt, setsockopt, sockopt};
use nix::sys::time::{TimeVal, TimeValLike};
use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Instant;

/// Clients at a time. Whoever can open a socket can be a scraper; answers to root's questions may
/// be megabytes long.
const SCRAPERS: usize = 64;
const QUESTIONERS: usize = 8;

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Others could reach it.
    #[error("{0} is not a loopback address: what is said there is for this host alone")]
    NotLoopback(SocketAddr),
    /// The name cannot be had.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// The address or name cannot be had.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Which.
        address: String,
        /// Why not.
        source: io::Error,
    },
}

/// Why a question was not answered.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens.
    #[error("no {0} runs in this network namespace")]
    NotRunning(String),
    /// None of our user's listens, and root's does not answer us.
    #[error(
        "no {0} of yours runs in this network namespace; others' answer root and the group of their directory in \
         /run/bentpipe"
    )]
    NotYours(String),
    /// Whoever listens is not root.
    #[error(
        "the process that listens as {0} is neither root's nor its directory's owner's: not asked"
    )]
    Impostor(String),
    /// The server hung up without a word.
    #[error(
        "the {0} gave no answer: it answers root and its own user, and not while it stands still"
    )]
    Refused(String),
    /// The connection failed.
    #[error("cannot ask the {name}: {source}")]
    Io {
        /// Whom.
        name: String,
        /// Why not.
        source: io::Error,
    },
}

/// A server, until dropped.
#[derive(Debug)]
pub struct Server {
    /// Closing it ends the thread.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
    /// Of a socket that has one. Behind the thread: a name is given back when nobody listens.
    name: Option<Name>,
}

impl Server {
    /// Answers lines of text in this network namespace, for `service`.
    ///
    /// Root is answered, our own user, and members of the group that our directory lets in. Where
    /// `answer` has none it hangs up.
    ///
    /// # Errors
    /// [`ServeError`].
    pub fn for_operators(
        service: &str,
        answer: impl FnMut(&str) -> Option<Vec<u8>> + Send + 'static,
    ) -> Result<Server, ServeError> {
        let dir = RuntimeDir::create().map_err(InstanceError::from)?;
        Self::for_operators_in(&dir, &control(service), answer)
    }

    fn for_operators_in(
        dir: &RuntimeDir,
        name: &str,
        answer: impl FnMut(&str) -> Option<Vec<u8>> + Send + 'static,
    ) -> Result<Server, ServeError> {
        let name = Name::take(dir, name)?;
        let failed =
            |source| ServeError::Listen { address: name.path.display().to_string(), source };
        let listener = UnixListener::bind(&name.path).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        // Then the kernel lets nobody else come as far as the socket.
        let is_shared = dir.is_shared_with_its_group();
        if is_shared {
            fs::set_permissions(&name.path, fs::Permissions::from_mode(0o660)).map_err(failed)?;
        }
        let accept = move |listener: &UnixListener| {
            let (client, _) = listener.accept()?;
            if !is_shared && !is_trusted(&client, None) {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            client.set_nonblocking(true)?;
            Ok(client)
        };
        let server = Self::start(listener, QUESTIONERS, accept, Lines(answer));
        let mut server = server.map_err(failed)?;
        server.name = Some(name);
        Ok(server)
    }

    /// Answers `GET /metrics` with the text that `metrics` makes, over HTTP/1.0 on a loopback
    /// address.
    ///
    /// # Errors
    /// [`ServeError`].
    pub fn metrics(
        address: SocketAddr,
        metrics: impl FnMut() -> Option<String> + Send + 'static,
    ) -> Result<Server, ServeError> {
        if !address.ip().is_loopback() {
            return Err(ServeError::NotLoopback(address));
        }
        let failed = |source| ServeError::Listen { address: address.to_string(), source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let accept = |listener: &TcpListener| {
            let (client, _) = listener.accept()?;
            client.set_nonblocking(true)?;
            Ok(client)
        };
        Self::start(listener, SCRAPERS, accept, http::Http(metrics)).map_err(failed)
    }

    fn start<L: AsFd + Send + 'static, S: Read + Write + AsFd>(
        listener: L,
        places: usize,
        accept: impl Fn(&L) -> io::Result<S> + Send + 'static,
        mut answers: impl Answers + Send + 'static,
    ) -> io::Result<Server> {
        let (stop, stopped) = UnixStream::pair()?;
        let thread = std::thread::Builder::new().name("bp-serve".into()).spawn(move || {
            match privileges::give_up_all_of_this_thread() {
                Ok(()) => clients::serve(&listener, &stopped, places, accept, &mut answers),
                Err(error) => tracing::error!(%error, "questions are not answered"),
            }
        })?;
        Ok(Server { stop: Some(stop), thread: Some(thread), name: None })
    }
}

/// Questions of one line each.
struct Lines<F>(F);

impl<F: FnMut(&str) -> Option<Vec<u8>>> Answers for Lines<F> {
    fn is_complete(&self, request: &[u8]) -> bool {
        request.ends_with(b"\n")
    }

    fn answer(&mut self, request: &[u8]) -> Option<Vec<u8>> {
        (self.0)(String::from_utf8_lossy(request).trim())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.name.take();
    }
}

/// A socket's name, which its server alone has.
#[derive(Debug)]
struct Name {
    path: PathBuf,
    _instance: Instance,
}

impl Name {
    fn take(dir: &RuntimeDir, name: &str) -> Result<Name, InstanceError> {
        let instance = Instance::lock_in(dir, name)?;
        let failed = |source| InstanceError::Io { name: name.to_owned(), source };
        let path = dir.file(name, "sock").map_err(failed)?;
        // What a killed one has left: as we have the lock, nobody listens there.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(Name { path, _instance: instance }),
        }
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The name of the socket where `service` is asked.
fn control(service: &str) -> String {
    format!("{service} control")
}

/// Removes what a killed `service` has left of its name. For who has its lock.
pub fn clear(service: &str) {
    // Taken and given back.
    let _ = RuntimeDir::find().map(|dir| Name::take(&dir, &control(service)));
}

/// Asks the `service` of this network namespace.
///
/// # Errors
/// [`ClientError`].
pub fn ask(service: &str, question: &str) -> Result<Vec<u8>, ClientError> {
    let nobody = || match nix::unistd::geteuid().is_root() {
        true => ClientError::NotRunning(service.to_owned()),
        false => ClientError::NotYours(service.to_owned()),
    };
    for dir in RuntimeDir::find_all() {
        if let Some(answer) = ask_in(&dir, &control(service), service, question)? {
            return Ok(answer);
        }
    }
    Err(nobody())
}

/// To whom the directory belongs where `service` can be asked, unless it is ours.
fn owner_of(service: &str) -> Option<u32> {
    let mut dirs = RuntimeDir::find_all().into_iter();
    let is_there =
        |dir: &RuntimeDir| dir.file(&control(service), "sock").is_ok_and(|path| path.exists());
    dirs.find(is_there)?.owner()
}

/// The same for a server in `dir`; None if there is none.
fn ask_in(
    dir: &RuntimeDir,
    name: &str,
    who: &str,
    question: &str,
) -> Result<Option<Vec<u8>>, ClientError> {
    let failed = |source| ClientError::Io { name: who.to_owned(), source };
    ask_there(&dir.file(name, "sock").map_err(failed)?, dir.owner(), who, question)
}

/// The same for the socket at `path`.
pub fn ask_at(path: &Path, who: &str, question: &str) -> Result<Option<Vec<u8>>, ClientError> {
    ask_there(path, None, who, question)
}

/// The same where `owner` is as good as root.
fn ask_there(
    path: &Path,
    owner: Option<u32>,
    who: &str,
    question: &str,
) -> Result<Option<Vec<u8>>, ClientError> {
    let failed = |source| ClientError::Io { name: who.to_owned(), source };
    let server = match UnixStream::connect(path) {
        Ok(server) => server,
        Err(error) => {
            return match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Ok(None),
                // A directory of others.
                io::ErrorKind::PermissionDenied if owner.is_some() => Ok(None),
                _ => Err(failed(error)),
            };
        }
    };
    if !is_trusted(&server, owner) {
        return Err(ClientError::Impostor(who.to_owned()));
    }
    let mut server = Limited::new(server);
    let mut answer = Vec::new();
    let asked = server
        .write_all(format!("{question}\n").as_bytes())
        .and_then(|()| server.read_to_end(&mut answer));
    match asked {
        Ok(0) => Err(ClientError::Refused(who.to_owned())),
        Ok(_) => Ok(Some(answer)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
            ) =>
        {
            Err(ClientError::Refused(who.to_owned()))
        }
        Err(error) => Err(failed(error)),
    }
}

/// Whether root, our own user or `another` is at the other end.
fn is_trusted(stream: &UnixStream, another: Option<u32>) -> bool {
    let own = nix::unistd::geteuid().as_raw();
    getsockopt(stream, sockopt::PeerCredentials)
        .is_ok_and(|peer| [Some(0), Some(own), another].contains(&Some(peer.uid())))
}

/// A connection to a server, with little time left.
struct Limited<S> {
    stream: S,
    end: Instant,
}

impl<S: Read + Write + AsFd> Limited<S> {
    fn new(stream: S) -> Limited<S> {
        Limited { stream, end: Instant::now() + PATIENCE }
    }

    /// What is left of the time, for the next system call.
    fn left(&self) -> io::Result<TimeVal> {
        let left = self.end.saturating_duration_since(Instant::now());
        // Zero would mean for ever.
        if left.as_micros() == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(TimeVal::microseconds(left.as_micros() as i64))
    }
}

impl<S: Read + Write + AsFd> Read for Limited<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.left()?;
        setsockopt(&self.stream, sockopt::ReceiveTimeout, &left)?;
        self.stream.read(buffer)
    }
}

impl<S: Read + Write + AsFd> Write for Limited<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.left()?;
        setsockopt(&self.stream, sockopt::SendTimeout, &left)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests;
