//! Small requests and answers on a TCP connection of their own, next to the load.
//!
//! Unlike pings they go through a gateway, so they wait where its other flows wait. There is one at
//! a time. Both ends have real-time priority, so that a busy host does not count as a slow gateway.

use super::connect::{self, Connections};
use super::error::FlowsError;
use super::hosts::Hosts;
use super::ping::Answers;
use bentpipe_linux::real_time;
use socket2::Socket;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// From one request to the next, if the answer has come.
const INTERVAL: Duration = Duration::from_millis(5);
/// An answer that takes longer is lost, and the last one.
const PATIENCE: Duration = Duration::from_secs(2);
const LENGTH: usize = 64;

/// Requests that go on until they are ended.
#[derive(Debug)]
pub(super) struct Echoes {
    stop: Arc<AtomicBool>,
    client: JoinHandle<io::Result<Answers>>,
    server: JoinHandle<io::Result<()>>,
}

impl Echoes {
    /// Opens the connection.
    ///
    /// # Errors
    /// [`FlowsError::Connect`].
    pub(super) fn open(hosts: &Hosts) -> Result<Connections, FlowsError> {
        let connections = connect::open(hosts, 1)?;
        for socket in connections.client.iter().chain(&connections.server) {
            let blocking = socket.set_nonblocking(false);
            blocking
                .and_then(|()| socket.set_read_timeout(Some(PATIENCE)))
                .map_err(FlowsError::Connect)?;
        }
        Ok(connections)
    }

    /// Begins on a connection that was opened.
    pub(super) fn begin(connections: Connections) -> Echoes {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let Connections { client, server } = connections;
        Echoes {
            stop,
            client: thread::spawn(move || ask(&client, &stopped)),
            server: thread::spawn(move || answer(&server)),
        }
    }

    /// Ends them.
    ///
    /// # Errors
    /// [`FlowsError::Connect`] if the connection broke.
    pub(super) fn end(self) -> Result<Answers, FlowsError> {
        self.stop.store(true, Relaxed);
        let answers = self.client.join().unwrap_or_else(|_| Ok(Answers::default()));
        // The client's end has gone, so the server's has too.
        let _ = self.server.join();
        answers.map_err(FlowsError::Connect)
    }
}

fn ask(sockets: &[Socket], stop: &AtomicBool) -> io::Result<Answers> {
    let mut answers = Answers::default();
    let Some(mut socket) = sockets.first() else { return Ok(answers) };
    // Without it they are less precise.
    let _ = real_time::begin();
    let mut bytes = [0; LENGTH];
    let mut next = Instant::now();
    while !stop.load(Relaxed) {
        thread::sleep(next.saturating_duration_since(Instant::now()));
        let began = Instant::now();
        socket.write_all(&bytes)?;
        match socket.read_exact(&mut bytes) {
            Ok(()) => answers.round_trips.push(began.elapsed().as_secs_f64()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                answers.lost += 1;
                break;
            }
            Err(error) => return Err(error),
        }
        next = (next + INTERVAL).max(Instant::now());
    }
    answers.round_trips.sort_by(f64::total_cmp);
    Ok(answers)
}

/// Sends back all that comes, until the client has gone.
fn answer(sockets: &[Socket]) -> io::Result<()> {
    let Some(mut socket) = sockets.first() else { return Ok(()) };
    let _ = real_time::begin();
    let mut bytes = [0; LENGTH];
    loop {
        match socket.read(&mut bytes)? {
            0 => return Ok(()),
            count => socket.write_all(&bytes[..count])?,
        }
    }
}
