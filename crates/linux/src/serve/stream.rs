//! An answer that takes its time: it has a socket and a thread of its own, so that no other client
//! waits for it.
//!
//! Whoever has asked is told the socket's name, an abstract one of this network namespace. The
//! first who connects is served, if root or our own user is at the other end, and nobody after.

use super::{ClientError, PATIENCE, is_trusted, owner_of};
use crate::privileges;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

/// Tells the names of this process apart.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Serves whoever connects next to the name that is returned with `serve`, on a thread without
/// privileges. If nobody does for some seconds, the offer is over.
///
/// # Errors
/// There is no socket or no thread to be had.
pub fn offer(
    service: &str,
    serve: impl FnOnce(UnixStream) + Send + 'static,
) -> io::Result<(String, JoinHandle<()>)> {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("{service} {} {number}", std::process::id());
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    let thread = std::thread::Builder::new().name("bp-stream".into()).spawn(move || {
        let client = privileges::give_up_all_of_this_thread()
            .map_err(|error| io::Error::other(error.to_string()))
            .and_then(|()| accept(&listener));
        drop(listener);
        match client {
            Ok(client) => serve(client),
            Err(error) => tracing::debug!(%error, "nobody takes what was asked for"),
        }
    })?;
    Ok((name, thread))
}

fn accept(listener: &UnixListener) -> io::Result<UnixStream> {
    let mut fds = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
    let timeout = PollTimeout::try_from(PATIENCE).unwrap_or(PollTimeout::MAX);
    if poll(&mut fds, timeout)? == 0 {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let (client, _) = listener.accept()?;
    if is_trusted(&client, None) { Ok(client) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// Connects to what `who` has offered under `name`.
///
/// # Errors
/// [`ClientError`].
pub fn connect(who: &str, name: &str) -> Result<UnixStream, ClientError> {
    let failed = |source| ClientError::Io { name: who.to_owned(), source };
    let address = SocketAddr::from_abstract_name(name).map_err(failed)?;
    let stream = UnixStream::connect_addr(&address).map_err(failed)?;
    // It is the one that was asked.
    if is_trusted(&stream, owner_of(who)) {
        Ok(stream)
    } else {
        Err(ClientError::Impostor(who.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn the_first_who_connects_is_served() {
        let (name, thread) = offer("bentpipe test", |mut client| {
            client.write_all(b"here").unwrap();
        })
        .unwrap();
        let mut text = String::new();
        connect("test", &name).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "here");
        thread.join().unwrap();
        assert!(connect("test", &name).is_err(), "and nobody after");
    }
}
