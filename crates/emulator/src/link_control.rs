//! Questions to a running link, and changes of it. Who asks waits on a thread of its own; the loop
//! that carries the packets answers between two of them.

use crate::summary::LinkSummary;
use bentpipe_core::link::Count;
use bentpipe_core::time::Duration;
use bentpipe_links::DirectionChange;
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};

/// Questions that may wait at a time.
const WAITING: usize = 4;
/// How long an answer may take: the loop takes microseconds, unless its process is stopped.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a link can be asked.
#[derive(Debug)]
pub enum LinkQuestion {
    /// How it is.
    Show,
    /// To go on otherwise, in the directions for which there is something; and how it was until
    /// then.
    Change(Box<[Option<DirectionChange>; 2]>),
}

/// A link at a moment.
#[derive(Debug, Clone)]
pub struct LinkState {
    /// Since it began.
    pub uptime: Duration,
    /// What it has counted.
    pub summary: LinkSummary,
    /// In the queue of each direction, what is being sent included.
    pub queued: [Count; 2],
    /// In each direction altogether, what propagates included.
    pub inside: [Count; 2],
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LinkAskError {
    /// Its process does not run, or too many ask at once.
    #[error("the link did not answer within {PATIENCE:?}")]
    Late,
    /// It has ended.
    #[error("the link has ended")]
    Ended,
}

type Asked = (LinkQuestion, SyncSender<LinkState>);

/// Asks. Clones ask the same link.
#[derive(Debug, Clone)]
pub struct LinkClient {
    asked: SyncSender<Asked>,
    waker: Arc<EventFd>,
}

/// The loop's end: readable while somebody asks.
#[derive(Debug)]
pub struct LinkQuestions {
    asked: Receiver<Asked>,
    waker: Arc<EventFd>,
}

/// Joins those who ask to the loop that answers.
///
/// # Errors
/// When no event descriptor can be had.
pub fn channel() -> io::Result<(LinkClient, LinkQuestions)> {
    let waker = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?);
    let (send, receive) = sync_channel(WAITING);
    let client = LinkClient { asked: send, waker: Arc::clone(&waker) };
    Ok((client, LinkQuestions { asked: receive, waker }))
}

impl LinkClient {
    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// [`LinkAskError`].
    pub fn ask(&self, question: LinkQuestion) -> Result<LinkState, LinkAskError> {
        let (send, receive) = sync_channel(1);
        self.asked.try_send((question, send)).map_err(|error| match error {
            TrySendError::Full(_) => LinkAskError::Late,
            TrySendError::Disconnected(_) => LinkAskError::Ended,
        })?;
        // A counter that is full is readable all the more.
        let _ = self.waker.write(1);
        receive.recv_timeout(PATIENCE).map_err(|error| match error {
            RecvTimeoutError::Timeout => LinkAskError::Late,
            RecvTimeoutError::Disconnected => LinkAskError::Ended,
        })
    }
}

impl LinkQuestions {
    /// Those that wait, at most as many as there is room for.
    pub(crate) fn take(&self) -> Vec<Asked> {
        let _ = self.waker.read();
        self.asked.try_iter().take(WAITING).collect()
    }
}

impl AsFd for LinkQuestions {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.waker.as_fd()
    }
}
