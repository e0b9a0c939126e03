//! Questions to a running gateway, and its answers.
//!
//! The loop that carries the packets is the only one that may look at the flows, so it answers,
//! between two rounds of packets, and a long answer in portions. Whoever asks waits on a thread of
//! its own: what is slow, writing an answer out, never holds up a packet.

use crate::bump::passed::{Crossed, PassedPrefix};
use crate::tap::{self, Outlet, Tap, TapConfig};
use crate::work::Work;
use bentpipe_core::time::Duration;
use bentpipe_core::units::Bytes;
use bentpipe_gateway::benefit::Transfers;
use bentpipe_gateway::{
    Config, FlowState, FlowView, LinkView, Prospect, RemoteView, Side, Summary, Unsplit,
};
use bentpipe_linux::process_usage::ProcessUsage;
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};

/// Questions that may wait at a time; the next one waits to be asked.
const WAITING: usize = 4;

/// How long an answer may take. The loop takes milliseconds, unless it is stopped.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a gateway can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// For its totals.
    Totals,
    /// For these, and the prefixes of what passes.
    Status,
    /// For the totals, the prefixes of what passes, and each flow.
    Flows,
    /// For the totals, and the transfers that have ended.
    Report,
    /// For the totals, and the last connections that were not split.
    Unsplit,
    /// For the totals, each flow, connections that were not split, and what would become of a
    /// connection.
    Why(Connection),
}

/// What a gateway can be told to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// To split: for so long, or until it is told otherwise or reconfigured.
    Split(Option<Duration>),
    /// To split nothing, and to count what it would split.
    Observe,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turned {
    /// It is so.
    Done,
    /// It split before, and not on trial: nothing has changed.
    SplitsAlready,
    /// It is being stopped: nothing has changed.
    Drains,
}

/// A connection that there is, or may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// Where its client is.
    pub from: Side,
    /// Its client's address.
    pub client: IpAddr,
    /// Its server.
    pub server: SocketAddr,
}

impl Connection {
    /// Whether a flow's hosts are these: its client is known by its own address and by that which
    /// NAT has given it.
    pub fn is(&self, flow: &FlowView) -> bool {
        self.is_between(flow.opener, flow.client, flow.server)
    }

    /// Whether one that was not split had these hosts.
    pub fn was(&self, unsplit: &Unsplit) -> bool {
        self.is_between(unsplit.opener, unsplit.hosts.client, unsplit.hosts.server)
    }

    fn is_between(&self, opener: IpAddr, client: SocketAddr, server: SocketAddr) -> bool {
        [opener, client.ip()].contains(&self.client) && server == self.server
    }
}

/// A gateway's totals at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Totals {
    /// Since the gateway began.
    pub uptime: Duration,
    /// What it has counted.
    pub summary: Summary,
    /// Counters of its system calls.
    pub work: Work,
    /// Its process's use of the machine.
    pub usage: ProcessUsage,
    /// The traffic over the satellite's devices, as far as the kernel's programs see it.
    pub crossed: Crossed,
    /// Flows in the table, by how far they have come.
    pub flows: [(FlowState, u64); FlowState::ALL.len()],
    /// Bytes held by all streams.
    pub held: Bytes,
    /// What they may hold.
    pub memory: Bytes,
    /// It splits nothing, and counts what it would split.
    pub observes: bool,
    /// How long it splits on trial yet.
    pub trial_left: Option<Duration>,
    /// Another gateway has answered on the satellite link.
    pub peer_known: bool,
    /// That link.
    pub satellite_link: LinkView,
    /// The remotes behind it that have links of their own.
    pub remotes: Vec<RemoteView>,
    /// When the satellite side's data is acknowledged, in connections with that gateway or without.
    pub acknowledgments: String,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The totals.
    pub totals: Totals,
    /// Each flow, if they were asked for.
    pub flows: Vec<FlowView>,
    /// The last connections that were not split, by reason, the oldest first, if they were asked
    /// for.
    pub unsplit: Vec<Unsplit>,
    /// What would become of the connection that was asked for.
    pub prospect: Option<Prospect>,
    /// The prefixes of what passes without being taken, if they were asked for.
    pub passed_prefixes: Vec<PassedPrefix>,
    /// The transfers that have ended, if they were asked for.
    pub transfers: Transfers,
}

/// Parts of an answer that only some questions ask for.
#[derive(Debug, Default)]
pub(crate) struct Details {
    pub(crate) unsplit: Vec<Unsplit>,
    pub(crate) prospect: Option<Prospect>,
    pub(crate) passed_prefixes: Vec<PassedPrefix>,
    pub(crate) transfers: Transfers,
}

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

/// What of a running gateway may be changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Reconfiguration {
    /// The parameters; the gateway [takes](bentpipe_gateway::Gateway::reconfigure) what may be
    /// changed.
    pub config: Config,
    /// These also decide whether it splits; else it stays as it was [turned](ControlClient::turn).
    pub turns: bool,
    /// How long it delivers what it holds when it is stopped.
    pub drain: Duration,
    /// How often the log gets a line of totals.
    pub log_every: Option<Duration>,
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
    use bentpipe_core::tcp::buffer::Chunks;
    use bentpipe_gateway::{Config, Gateway};
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
