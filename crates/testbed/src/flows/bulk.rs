//! A bulk transfer: one connection that carries so many bytes, or as many as it can. It may wait at
//! a barrier until all that do are connected: the transfer begins then.

use super::barrier::Ticket;
use super::meter::FlowMeter;
use super::payload::{Incoming, Outgoing};
use super::socket::{LocalEndpoint, WindowLimit};
use bentpipe_scenario::FlowEnd;
use socket2::{SockAddr, Socket};
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::thread::Scope;

/// One transfer, ready to begin.
#[derive(Debug)]
pub(super) struct Bulk {
    meter: Arc<FlowMeter>,
    /// Where the one that opens the connection is, and whether it is the source.
    caller: LocalEndpoint,
    caller_sends: bool,
    listener: Socket,
    at: SocketAddr,
    /// Of the one that listens.
    window: WindowLimit,
    /// How much; None: without end.
    bytes: Option<u64>,
    barrier: Option<Ticket>,
}

impl Bulk {
    /// A transfer between `from` and `to`; the one that does not open the connection listens
    /// already.
    pub(super) fn prepare(
        meter: Arc<FlowMeter>,
        [from, to]: [LocalEndpoint; 2],
        opened_by: FlowEnd,
        bytes: Option<u64>,
        barrier: Option<Ticket>,
    ) -> io::Result<Bulk> {
        let caller_sends = opened_by == FlowEnd::From;
        let (caller, callee) = if caller_sends { (from, to) } else { (to, from) };
        let (listener, at) = callee.listener()?;
        let window = callee.window();
        Ok(Bulk { meter, caller, caller_sends, listener, at, window, bytes, barrier })
    }

    /// Carries it.
    pub(super) fn run<'s>(self, scope: &'s Scope<'s, '_>) {
        let Bulk { meter, caller, caller_sends, listener, at, window, bytes, barrier } = self;
        let transfer = Arc::new(OnceLock::new());
        if barrier.is_none() {
            let _ = transfer.set(meter.transfer());
        }
        let job = |window: WindowLimit| {
            let (meter, transfer) = (Arc::clone(&meter), Arc::clone(&transfer));
            Job { meter, transfer, window, bytes, barrier: None }
        };
        let (mut job, mut called) = (job(caller.window()), job(window));
        (if caller_sends { &mut job } else { &mut called }).barrier = barrier;
        scope.spawn(move || {
            let meter = Arc::clone(&called.meter);
            let accepted = meter.open(listener, false).and_then(|listener| {
                let (socket, _) = listener.socket().accept()?;
                called.carry(socket, !caller_sends)
            });
            settle(&meter, accepted);
        });
        let connected = caller.socket().and_then(|socket| {
            // In the register before it waits: a stop ends the waiting.
            let open = meter.open(socket, false)?;
            open.socket().connect(&SockAddr::from(at))?;
            let socket = open.socket().try_clone()?;
            drop(open);
            job.carry(socket, caller_sends)
        });
        let called = connected.is_ok();
        settle(&meter, connected);
        if !called {
            // Who listens waits no more, and others do not wait for it.
            meter.stop();
        }
    }
}

fn settle(meter: &FlowMeter, result: io::Result<()>) {
    if let Err(error) = result {
        meter.failed(&error);
        meter.finish();
    }
}

struct Job {
    meter: Arc<FlowMeter>,
    /// Its number, once it has begun.
    transfer: Arc<OnceLock<usize>>,
    window: WindowLimit,
    bytes: Option<u64>,
    /// Of the source.
    barrier: Option<Ticket>,
}

impl Job {
    fn carry(mut self, socket: Socket, sends: bool) -> io::Result<()> {
        let open = self.meter.open(socket, sends)?;
        let socket = open.socket();
        if sends {
            self.meter.connected();
            let mut bytes = self.bytes.unwrap_or(u64::MAX);
            let mut outgoing = Outgoing::default();
            if let Some(mut barrier) = self.barrier.take() {
                if !barrier.pass(&self.meter) {
                    return Ok(());
                }
                let _ = self.transfer.set(self.meter.transfer());
                bytes -= outgoing.begin(socket, bytes)?;
            }
            outgoing.send(socket, bytes)?;
            socket.shutdown(Shutdown::Write)?;
            // Everything is acknowledged once the other end has closed too: nothing is counted
            // later.
            return Incoming::new(self.window).read_to_end(socket);
        }
        let mut incoming = Incoming::new(self.window);
        let mut read = 0;
        loop {
            let count = incoming.read(socket, u64::MAX)?;
            if count == 0 {
                return Ok(());
            }
            // Its source has begun it before it has sent.
            let transfer = *self.transfer.get_or_init(|| self.meter.transfer());
            self.meter.first_byte(transfer);
            self.meter.delivered(count);
            read += count;
            if Some(read) == self.bytes {
                self.meter.complete(transfer, read);
                self.meter.finish();
            }
        }
    }
}
