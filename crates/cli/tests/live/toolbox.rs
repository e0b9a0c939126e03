//! What the cases have in common: contents, transfers with time limits, comparisons.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use rand::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

/// No read, write or accept waits longer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

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

/// Reads exactly `length` bytes.
pub(crate) fn receive(mut stream: &TcpStream, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).expect("receive");
    bytes
}

/// Reads to the end like one who is busy: nothing at first, then `chunk` bytes every `pause`.
pub(crate) fn receive_slowly(mut stream: &TcpStream, chunk: usize, pause: Duration) -> Vec<u8> {
    std::thread::sleep(Duration::from_millis(500));
    let mut bytes = Vec::new();
    let mut buffer = vec![0; chunk];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return bytes,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(error) => panic!("receive: {error} after {} bytes", bytes.len()),
        }
        std::thread::sleep(pause);
    }
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

/// Runs `work` and says how long it took.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let began = Instant::now();
    let result = work();
    (result, began.elapsed())
}
