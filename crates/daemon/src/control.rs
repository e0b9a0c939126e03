//! Questions to a running gateway, and its answers.
//!
//! The loop that carries the packets is the only one that may look at the flows, so it answers,
//! between two rounds of packets, and a long answer in portions. Whoever asks waits on a thread of
//! its own: what is slow, writing an answer out, never holds up a packet.

mod question;
mod snapshot;

use crate::tap::{self, Outlet, Tap, TapConfig};
use bentpipe_core::time::Duration;
use bentpipe_gateway::FlowView;
use nix::sys::eventfd::{EfdFlags, EventFd};
pub use question::{Connection, Question, Reconfiguration, Turn, Turned};
pub(crate) use snapshot::Details;
pub use snapshot::{Snapshot, Totals};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};

/// Questions that may wait at a time; the next one waits to be asked.
const WAITING: usize = 4;

/// How long an answer may take. The loop takes milliseconds, unless it is stopped.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why there is no answer.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum AskError {
    /// The loop does not turn, or too many ask at once.
    #[error("the gateway did not answer within {PATIENCE:?}")]
    Late,
    /// The loop has ended.
    #[error("the gateway has ended")]
    Ended,
}

/// What is asked of the loop.
#[derive(Debug)]
enum Asked {
    /// A question, and where its answer is to go.
    Question(Question, SyncSender<Snapshot>),
    /// Something else to be done.
    Order(Order),
}

/// What the loop is to do between two rounds of packets, at once.
#[derive(Debug)]
pub(crate) enum Order {
    /// To hand over from now on what it sees.
    Tap(Tap),
    /// To go on with other parameters, and to say when it does.
    Reconfigure(Box<Reconfiguration>, SyncSender<()>),
    /// To split or to observe, and to say what has come of it.
    Turn(Turn, SyncSender<Turned>),
}

/// Asks. Clones ask the same gateway.
#[derive(Debug, Clone)]
pub struct ControlClient {
    asked: SyncSender<Asked>,
    waker: Arc<EventFd>,
}

/// The loop's end: readable until every question is answered.
#[derive(Debug)]
pub(crate) struct Questions {
    asked: Receiver<Asked>,
    waker: Arc<EventFd>,
    draft: Option<Draft>,
    order: Option<Order>,
}

/// An answer that is being written.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) question: Question,
    /// The flows so far.
    pub(crate) flows: Vec<FlowView>,
    /// The next slot of the table to be looked at.
    pub(crate) slot: usize,
    reply: SyncSender<Snapshot>,
}

/// Joins those who ask to the loop that answers.
///
/// # Errors
/// When no event descriptor can be had.
pub(crate) fn channel() -> io::Result<(ControlClient, Questions)> {
    // As a semaphore: each read is for one question, and the rest keep it readable.
    let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_SEMAPHORE;
    let waker = Arc::new(EventFd::from_flags(flags)?);
    let (send, receive) = sync_channel(WAITING);
    let control_client = ControlClient { asked: send, waker: Arc::clone(&waker) };
    Ok((control_client, Questions { asked: receive, waker, draft: None, order: None }))
}

impl ControlClient {
    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// [`AskError`].
    pub fn ask(&self, question: Question) -> Result<Snapshot, AskError> {
        let (send, receive) = sync_channel(1);
        self.put(Asked::Question(question, send))?;
        Self::hear(&receive)
    }

    /// What the gateway receives, sends and comes to from now on, until the outlet is dropped.
    /// There is one at a time: where there is one already, this one ends at once.
    ///
    /// # Errors
    /// [`AskError`].
    pub fn tap(&self, config: TapConfig) -> Result<Outlet, AskError> {
        let (tap, outlet) = tap::tap(config);
        self.put(Asked::Order(Order::Tap(tap)))?;
        Ok(outlet)
    }

    /// Has the gateway go on with other parameters, and waits until it does.
    ///
    /// # Errors
    /// [`AskError`]. After [`AskError::Late`] it may still do so.
    pub fn reconfigure(&self, new: Reconfiguration) -> Result<(), AskError> {
        let (send, receive) = sync_channel(1);
        self.put(Asked::Order(Order::Reconfigure(Box::new(new), send)))?;
        Self::hear(&receive)
    }

    /// Has the gateway split or observe until it is [reconfigured](Self::reconfigure); waits until
    /// it does.
    ///
    /// # Errors
    /// [`AskError`]. After [`AskError::Late`] it may still do so.
    pub fn turn(&self, turn: Turn) -> Result<Turned, AskError> {
        let (send, receive) = sync_channel(1);
        self.put(Asked::Order(Order::Turn(turn, send)))?;
        Self::hear(&receive)
    }

    fn hear<T>(answer: &Receiver<T>) -> Result<T, AskError> {
        answer.recv_timeout(PATIENCE).map_err(|error| match error {
            RecvTimeoutError::Timeout => AskError::Late,
            RecvTimeoutError::Disconnected => AskError::Ended,
        })
    }

    fn put(&self, asked: Asked) -> Result<(), AskError> {
        self.asked.try_send(asked).map_err(|error| match error {
            TrySendError::Full(_) => AskError::Late,
            TrySendError::Disconnected(_) => AskError::Ended,
        })?;
        // A counter that is full is readable all the more.
        let _ = self.waker.write(1);
        Ok(())
    }
}

impl Questions {
    /// The answer to be gone on with, if a question waits.
    pub(crate) fn draft(&mut self) -> Option<&mut Draft> {
        if self.draft.is_none() {
            match self.asked.try_recv() {
                Ok(Asked::Question(question, reply)) => {
                    self.draft = Some(Draft { question, flows: Vec::new(), slot: 0, reply });
                }
                Ok(Asked::Order(order)) => {
                    let _ = self.waker.read();
                    self.order = Some(order);
                }
                // Readable for nothing, which is not to happen again at once.
                Err(_) => {
                    let _ = self.waker.read();
                }
            }
        }
        self.draft.as_mut()
    }

    /// What is to be done, if something is.
    pub(crate) fn take_order(&mut self) -> Option<Order> {
        self.order.take()
    }

    /// The answer is complete but for these.
    pub(crate) fn reply(&mut self, totals: Totals, details: Details) {
        let Some(Draft { flows, reply, .. }) = self.draft.take() else { return };
        let _ = self.waker.read();
        // Who asked may have lost patience.
        let Details { unsplit, prospect, passed_prefixes, transfers } = details;
        let answer = Snapshot { totals, flows, unsplit, prospect, passed_prefixes, transfers };
        let _ = reply.try_send(answer);
    }
}

impl AsFd for Questions {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.waker.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bump::passed::Crossed;
    use crate::work::Work;
    use bentpipe_core::tcp::buffer::Chunks;
    use bentpipe_core::units::Bytes;
    use bentpipe_gateway::benefit::Transfers;
    use bentpipe_gateway::{Config, FlowState, Gateway, Summary};
    use bentpipe_linux::process_usage::ProcessUsage;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::thread;

    fn totals(flows: u64) -> Totals {
        Totals {
            uptime: Duration::from_secs(1),
            summary: Summary::default(),
            work: Work::default(),
            usage: ProcessUsage::default(),
            crossed: Crossed::default(),
            flows: FlowState::ALL.map(|state| (state, flows)),
            held: Bytes::new(0),
            memory: Bytes::new(1),
            observes: false,
            trial_left: None,
            peer_known: false,
            satellite_link: Gateway::<Chunks>::new(Config::default()).satellite_link(),
            remotes: Vec::new(),
            acknowledgments: "delayed:40ms".into(),
        }
    }

    fn is_readable(questions: &Questions) -> bool {
        let mut fds = [PollFd::new(questions.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::from(1000_u16)).unwrap() == 1
    }

    #[test]
    fn each_question_wakes_the_loop_and_gets_its_answer() {
        let (control_client, mut questions) = channel().unwrap();
        thread::scope(|scope| {
            let asking: Vec<_> = (0..3)
                .map(|_| scope.spawn(|| control_client.ask(Question::Totals).unwrap()))
                .collect();
            for turn in 0..3 {
                assert!(is_readable(&questions), "turn {turn}");
                // A loop that takes several turns for an answer is woken for each.
                for slot in 0..3 {
                    assert!(is_readable(&questions));
                    let draft = questions.draft().unwrap();
                    assert_eq!((draft.question, draft.slot), (Question::Totals, slot));
                    draft.slot += 1;
                }
                questions.reply(totals(7), Details::default());
            }
            for one in asking {
                let answer = Snapshot {
                    totals: totals(7),
                    flows: Vec::new(),
                    unsplit: Vec::new(),
                    prospect: None,
                    passed_prefixes: Vec::new(),
                    transfers: Transfers::default(),
                };
                assert_eq!(one.join().unwrap(), answer);
            }
        });
        assert!(questions.draft().is_none());
        drop(questions);
        assert_eq!(control_client.ask(Question::Flows), Err(AskError::Ended));
    }

    #[test]
    fn a_loop_that_does_not_turn_is_not_waited_for_for_ever() {
        let (control_client, mut questions) = channel().unwrap();
        assert_eq!(control_client.ask(Question::Totals), Err(AskError::Late));
        // Nobody waits for that answer any more; the loop does not mind.
        assert!(questions.draft().is_some());
        questions.reply(totals(0), Details::default());
        assert!(questions.draft().is_none());
    }
}
