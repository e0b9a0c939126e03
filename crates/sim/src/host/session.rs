//! One TCP connection at one host, and what uses it.

use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::connection::{Connection, ConnectionConfig};
use bentpipe_core::time::{Instant, earliest};
use bentpipe_results::LossCauses;
use std::fmt;

/// What uses a connection at one of its ends.
pub trait Application: fmt::Debug + Clone {
    /// Where the connection's bytes are kept.
    type Buffer: Buffer;
    /// What it tells to whoever controls it.
    type Notice: fmt::Debug;

    /// The connection exists since `now`.
    fn begin(&mut self, now: Instant);

    /// Does all that is to be done at `now`: after every segment, every timer, and at the moments
    /// of [`Application::next`].
    fn act(
        &mut self,
        now: Instant,
        connection: &mut Connection<Self::Buffer>,
        tell: &mut impl FnMut(Self::Notice),
    );

    /// When [`Application::act`] is to be called, apart from whenever something has happened to
    /// the connection.
    fn next(&self, now: Instant) -> Option<Instant>;

    /// The connection is over and of no interest any more: the host forgets it.
    fn done(&self) -> bool;

    /// Panics if the connection does not keep what every TCP must.
    fn check(&self, connection: &Connection<Self::Buffer>, config: &ConnectionConfig);

    /// An episode of the sender's is over; its counts are these now.
    fn on_causes(&mut self, _causes: LossCauses) {}
}

#[derive(Debug)]
pub(super) struct Session<A: Application> {
    pub(super) key: super::SessionKey,
    pub(super) connection: Connection<A::Buffer>,
    pub(super) application: A,
    pub(super) config: ConnectionConfig,
    /// It waits for its turn to send.
    pub(super) queued: bool,
    /// Its alarm has just rung.
    pub(super) rung: bool,
    /// What is known of its losses.
    pub(super) losses: super::causes::Losses,
    /// Its part in what connections share.
    pub(super) part: super::sharing::Part,
    /// Tells the sessions of one slot apart.
    pub(super) serial: u64,
}

impl<A: Application> Session<A> {
    pub(super) fn next(&self, now: Instant) -> Option<Instant> {
        earliest(self.connection.poll_timeout(), self.application.next(now))
    }
}
