//! What the cases have in common: contents, transfers, comparisons, and the one deadline.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use bentpipe_linux::netns::process::Process;
use nix::sys::socket::{setsockopt, sockopt};
use socket2::SockRef;

use rand::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

/// How long anything is waited for, from a byte to the end of a program. It says nothing of speed:
/// a machine that many share may take so long for what takes an idle one a moment.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// `length` bytes that tell any of them from its neighbours.
pub(crate) fn content(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    Pcg64Mcg::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}

/// Accepts one connection; its reads and writes have time limits.
pub(crate) fn accept(listener: &TcpListener) -> TcpStream {
    let (stream, _) = listener.accept().expect("accept");
    limited(stream)
}

/// Asks again until there is what is wanted; panics with what there is instead when its
/// [patience](PATIENCE) ends.
pub(crate) fn wait_until<T>(what: &str, ask: impl FnMut() -> Result<T, String>) -> T {
    wait_longer(Duration::ZERO, what, ask)
}

/// The same for what takes `longer` on a machine that has time for it.
pub(crate) fn wait_longer<T>(
    longer: Duration,
    what: &str,
    mut ask: impl FnMut() -> Result<T, String>,
) -> T {
    let deadline = Instant::now() + longer + PATIENCE;
    loop {
        match ask() {
            Ok(wanted) => return wanted,
            Err(instead) => assert!(Instant::now() < deadline, "{what}: {instead}"),
        }
        thread::sleep(Duration::from_millis(30));
    }
}

/// Waits until a program, or one that it has started, has said `what` so many times.
pub(crate) fn await_said(process: &Process, what: &str, times: usize) {
    wait_until(what, || {
        let said = process.stderr();
        if said.matches(what).count() >= times { Ok(()) } else { Err(said) }
    });
}

/// Gives a socket room for what comes while nobody has time to read it. It takes root.
pub(crate) fn give_room(socket: &impl AsFd) {
    setsockopt(socket, sockopt::RcvBufForce, &(16 << 20)).expect("room");
}

/// Gives a connection its time limits.
pub(crate) fn limited(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(PATIENCE)).expect("timeout");
    stream.set_write_timeout(Some(PATIENCE)).expect("timeout");
    stream
}

/// Writes it all.
pub(crate) fn send(mut stream: &TcpStream, bytes: &[u8]) {
    stream.write_all(bytes).expect("send");
}

/// Says that nothing more will be sent.
pub(crate) fn finish(stream: &TcpStream) {
    stream.shutdown(Shutdown::Write).expect("shutdown");
}

/// Reads until the other side has finished.
pub(crate) fn receive_to_end(mut stream: &TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Err(error) = stream.read_to_end(&mut bytes) {
        panic!("receive: {error} after {} bytes", bytes.len());
    }
    bytes
}

/// Does it again where a signal has come between: that ends a wait with a timeout whatever handles
/// it (`signal(7)`).
pub(crate) fn uninterrupted<T>(mut receive: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match receive() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Reads exactly `length` bytes.
pub(crate) fn receive(mut stream: &TcpStream, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).expect("receive");
    bytes
}

/// Reads to the end like one who is busy: nothing at first, then `chunk` bytes every `pause`.
pub(crate) fn receive_slowly(mut stream: &TcpStream, chunk: usize, pause: Duration) -> Vec<u8> {
    thread::sleep(Duration::from_millis(500));
    let mut bytes = Vec::new();
    let mut buffer = vec![0; chunk];
    loop {
        match uninterrupted(|| stream.read(&mut buffer)) {
            Ok(0) => return bytes,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(error) => panic!("receive: {error} after {} bytes", bytes.len()),
        }
        thread::sleep(pause);
    }
}

/// How a transfer ended for its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// In order, all bytes there.
    Whole,
    /// In a reset or a time-out, after so many right bytes.
    Cut(ErrorKind, usize),
}

/// Reads until the end, an error, or nothing for `patience`. A clean end must come behind the last
/// byte of `sent`.
pub(crate) fn read_through(sent: &[u8], mut stream: &TcpStream, patience: Duration) -> End {
    stream.set_read_timeout(Some(patience)).expect("timeout");
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => {
            assert_same("clean end", sent, &bytes);
            End::Whole
        }
        Err(error) => {
            let kind = error.kind();
            assert!(
                matches!(
                    kind,
                    ErrorKind::ConnectionReset | ErrorKind::WouldBlock | ErrorKind::TimedOut
                ),
                "{error}"
            );
            assert_same("so far", &sent[..bytes.len().min(sent.len())], &bytes);
            End::Cut(kind, bytes.len())
        }
    }
}

/// Writes it all and closes; or gives up with a reset, as an orderly end would be a lie.
pub(crate) fn send_or_abort(mut stream: TcpStream, bytes: &[u8]) {
    if stream.write_all(bytes).is_err() {
        abort(stream);
    }
}

/// Closes with a reset: lingering for no time (RFC 9293 section 3.10.5, ABORT).
pub(crate) fn abort(stream: TcpStream) {
    SockRef::from(&stream).set_linger(Some(Duration::ZERO)).expect("linger");
    drop(stream);
}

/// Panics with the first difference, if there is one.
pub(crate) fn assert_same(what: &str, sent: &[u8], received: &[u8]) {
    let (sent_len, received_len) = (sent.len(), received.len());
    let differ = sent.iter().zip(received).position(|(a, b)| a != b);
    assert!(
        differ.is_none() && sent_len == received_len,
        "{what}: {sent_len} bytes sent, {received_len} received, first difference at {differ:?}"
    );
}
