//! Requests and replies on connections: the client asks, the server answers in the order in which
//! it was asked. What belongs to a request is known to both ends here and not written into it, so
//! that requests and replies are exactly as long as the scenario says.

use super::meter::{FlowMeter, Open};
use super::payload::{Incoming, Outgoing};
use super::socket::{LocalEndpoint, WindowLimit};
use bentpipe_core::time::{Duration, Instant};
use socket2::{SockAddr, Socket};
use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Scope};

/// A request and its reply.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exchange {
    pub(super) request: u64,
    pub(super) reply: u64,
    /// From the request's last byte at the server to the reply's first.
    pub(super) delay: Duration,
}

/// What a client learns while it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// A reply's first byte has come.
    FirstByte,
    /// It has come whole.
    Replied,
}

/// What will be asked on the connections that clients open, by their ports.
type Expected = Arc<Mutex<BTreeMap<u16, Receiver<Exchange>>>>;

/// The flow's server, and where clients find it.
#[derive(Debug)]
pub(super) struct Conversations {
    meter: Arc<FlowMeter>,
    client: LocalEndpoint,
    listener: Mutex<Option<Socket>>,
    at: SocketAddr,
    /// Of the server.
    window: WindowLimit,
    expected: Expected,
}

impl Conversations {
    /// A server at `from` that listens already, for clients at `to`.
    pub(super) fn prepare(
        meter: Arc<FlowMeter>,
        [from, to]: [LocalEndpoint; 2],
    ) -> io::Result<Conversations> {
        // Programs that ask and answer on connections that stay open switch Nagle's algorithm off.
        let [from, to] = [from, to].map(|mut endpoint| {
            endpoint.tcp.nagle = false;
            endpoint
        });
        let (listener, at) = from.listener()?;
        let (listener, expected) = (Mutex::new(Some(listener)), Expected::default());
        Ok(Conversations { meter, client: to, listener, at, window: from.window(), expected })
    }

    /// Answers from now on.
    pub(super) fn serve<'s>(&self, scope: &'s Scope<'s, '_>) {
        let listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Ok(listener)) = listener.map(|listener| self.meter.open(listener, false)) else {
            return;
        };
        let (meter, expected) = (Arc::clone(&self.meter), Arc::clone(&self.expected));
        let window = self.window;
        scope.spawn(move || {
            loop {
                let (socket, peer) = match listener.socket().accept() {
                    Ok(accepted) => accepted,
                    Err(error) => return meter.failed(&error),
                };
                let port = peer.as_socket().map_or(0, |peer| peer.port());
                let asked = expected.lock().unwrap_or_else(PoisonError::into_inner).remove(&port);
                let (Some(asked), Ok(open)) = (asked, meter.open(socket, true)) else { continue };
                meter.connected();
                let meter = Arc::clone(&meter);
                scope.spawn(move || {
                    if let Err(error) = answer(&meter, &open, window, &asked) {
                        meter.failed(&error);
                    }
                });
            }
        });
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(super) fn open(&self) -> io::Result<Client> {
        let open = self.meter.open(self.client.socket()?, false)?;
        let port = open.socket().local_addr()?.as_socket().map_or(0, |local| local.port());
        let (asks, asked) = channel();
        let lock = || self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        lock().insert(port, asked);
        if let Err(error) = open.socket().connect(&SockAddr::from(self.at)) {
            lock().remove(&port);
            return Err(error);
        }
        let meter = Arc::clone(&self.meter);
        let (outgoing, incoming) = (Outgoing::default(), Incoming::new(self.client.window()));
        Ok(Client { meter, open, asks: Some(asks), outgoing, incoming })
    }
}

/// A client's end of a connection. Dropping it closes the connection.
#[derive(Debug)]
pub(super) struct Client {
    meter: Arc<FlowMeter>,
    open: Open,
    asks: Option<Sender<Exchange>>,
    outgoing: Outgoing,
    incoming: Incoming,
}

impl Client {
    /// Asks in one piece, and reads the replies. `last`: the server closes after them.
    ///
    /// # Errors
    /// The connection broke.
    pub(super) fn ask(
        &mut self,
        exchanges: &[Exchange],
        last: bool,
        mut say: impl FnMut(usize, Said),
    ) -> io::Result<()> {
        let asks = self.asks.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        for exchange in exchanges {
            asks.send(*exchange).map_err(|_| io::ErrorKind::BrokenPipe)?;
        }
        if last {
            self.asks = None;
        }
        let requests = exchanges.iter().map(|exchange| exchange.request).sum();
        let socket = self.open.socket();
        self.outgoing.send(socket, requests)?;
        for (index, exchange) in exchanges.iter().enumerate() {
            let mut left = exchange.reply;
            while left > 0 {
                let count = self.incoming.read(socket, left)?;
                if count == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                self.meter.delivered(count);
                if left == exchange.reply {
                    say(index, Said::FirstByte);
                }
                left -= count;
            }
            say(index, Said::Replied);
        }
        Ok(())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // What the server has of us ends, and so does the stream.
        self.asks = None;
        let _ = self.open.socket().shutdown(Shutdown::Write);
    }
}

/// The server's end: reads requests, and writes each reply when its time has come.
fn answer(
    meter: &FlowMeter,
    open: &Open,
    window: WindowLimit,
    asked: &Receiver<Exchange>,
) -> io::Result<()> {
    let socket = open.socket();
    let (replies, due) = channel();
    thread::scope(|scope| {
        let writing = scope.spawn(move || write(meter, socket, &due));
        let read = read(meter, (socket, window), asked, &replies);
        drop(replies);
        let written = writing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        read.and(written)
    })?;
    socket.shutdown(Shutdown::Write)?;
    // Until the client has closed as well, what it acknowledges counts.
    let mut rest = [std::mem::MaybeUninit::uninit(); 1024];
    while socket.recv(&mut rest)? > 0 {}
    Ok(())
}

fn read(
    meter: &FlowMeter,
    (socket, window): (&Socket, WindowLimit),
    asked: &Receiver<Exchange>,
    replies: &Sender<(Instant, u64)>,
) -> io::Result<()> {
    let mut incoming = Incoming::new(window);
    for exchange in asked {
        incoming.read_exact(socket, exchange.request)?;
        let _ = replies.send((meter.now() + exchange.delay, exchange.reply));
    }
    Ok(())
}

fn write(meter: &FlowMeter, socket: &Socket, due: &Receiver<(Instant, u64)>) -> io::Result<()> {
    let mut outgoing = Outgoing::default();
    for (at, bytes) in due {
        if !meter.wait_until(at) {
            return Ok(());
        }
        outgoing.send(socket, bytes)?;
    }
    Ok(())
}
