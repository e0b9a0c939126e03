//! A scenario's flows on real sockets: this process opens them in the namespaces of a testbed, so
//! that both ends of a flow are in one place, with one clock, and no other program is needed.
//!
//! A connection's end is a thread. What is sent can be checked where it arrives, and is. Random
//! numbers come from the same streams as in a simulation, so a run has the same sizes and pauses.

mod barrier;
mod bulk;
mod conversation;
mod http;
mod meter;
mod payload;
mod ping;
mod request;
mod socket;
mod web;

pub use crate::browser::Browser;
pub use meter::{Counts, FlowResult, Transfer};

use crate::network::{NetworkError, SocketTcp};
use barrier::{Barriers, Ticket};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_links::Seeds;
use bentpipe_linux::clock::Clock;
use bentpipe_linux::netns::Namespace;
use bentpipe_results::RunError;
use bentpipe_scenario::{Flow, Http, RunEnd, Scenario, Workload};
use bulk::Bulk;
use conversation::Conversations;
use meter::FlowMeter;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use rand_pcg::Pcg64Mcg;
use socket::LocalEndpoint;
use socket2::Socket;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::thread::{self, Scope};
use web::Web;

/// After how long a client calls again whose connection broke.
const RETRY: Duration = Duration::from_secs(1);
/// How often we look at the flows: a run ends that much late at most, and its end is exact.
const LOOK: Duration = Duration::from_millis(5);

/// Why a run gave no result.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// A flow could not be what it should, or a byte was wrong.
    #[error("{0}")]
    Flow(String),
    /// The network.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The caller does not want it any more.
    #[error("the run was given up")]
    Cancelled,
}

impl From<PlayError> for RunError {
    fn from(error: PlayError) -> RunError {
        match error {
            PlayError::Cancelled => RunError::Cancelled,
            failed => RunError::Failed(failed.to_string()),
        }
    }
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Progress {
    /// Of its longest time.
    pub share: f64,
    /// Bytes that applications have read, of flows that are not background.
    pub delivered: u64,
}

/// What a run needs of the program that asks for it.
pub trait Host {
    /// Where the node of this number is.
    fn place(&self, node: usize) -> (Namespace, Ipv4Addr);

    /// The run begins in this moment.
    ///
    /// # Errors
    /// It cannot.
    fn begin(&mut self) -> Result<(), NetworkError>;

    /// The warm-up ends, if there is one.
    ///
    /// # Errors
    /// It cannot be noted.
    fn warm(&mut self) -> Result<(), NetworkError>;

    /// The run ends: its connections still stand.
    ///
    /// # Errors
    /// It cannot be noted.
    fn end(&mut self) -> Result<(), NetworkError>;

    /// It has come so far: is it to go on?
    fn go_on(&mut self, progress: Progress) -> bool;
}

/// A run's flows.
#[derive(Debug, Clone, PartialEq)]
pub struct Played {
    /// The end of the warm-up, and of the run.
    pub measured: (Instant, Instant),
    /// Each flow, and what it has counted in the measured part.
    pub flows: Vec<(FlowResult, Counts)>,
}

/// Runs the flows of `scenario` for the `run`th time, whose sockets are to be like `sockets` (of
/// each flow, `from` first). Pages come from nginx if there is a `browser` for them.
///
/// # Errors
/// [`PlayError`].
pub fn play(
    scenario: &Scenario,
    run: u64,
    sockets: &[[SocketTcp; 2]],
    browser: Option<Browser>,
    host: &mut dyn Host,
) -> Result<Played, PlayError> {
    allow_files();
    let seeds = scenario.seeds(run);
    let mut actors = Vec::new();
    let mut barriers = Barriers::default();
    for (flow, tcp) in scenario.flows.iter().zip(sockets) {
        for instance in flow.instances() {
            let rng = Streams { seeds, instance: instance.clone() };
            let meter = Arc::new(FlowMeter::new(instance.clone(), flow.background));
            let endpoint = |node: usize, tcp: &SocketTcp| {
                let (namespace, address) = host.place(node);
                LocalEndpoint { namespace, address, tcp: tcp.clone() }
            };
            let ends = [endpoint(flow.from.0, &tcp[0]), endpoint(flow.to.0, &tcp[1])];
            let number = actors.len();
            let start = Instant::ZERO + flow.start.sample(&mut rng.of("start"));
            let stop = flow.stop.map(|stop| Instant::ZERO + stop);
            // One that is to stop when it starts never comes.
            let comes = stop.is_none_or(|stop| stop > start);
            let barrier = match &flow.workload {
                Workload::Bulk { barrier: Some(name), .. } if comes => {
                    Some(barriers.join(name, seeds.turn(&instance)))
                }
                _ => None,
            };
            let browser = browser.filter(|browser| browser.loads(&flow.workload));
            let act = match browser {
                Some(browser) => {
                    Web::prepare(Arc::clone(&meter), ends, browser, &flow.workload).map(Act::Web)
                }
                None => Act::prepare(flow, &meter, ends, &rng, (number, barrier)),
            };
            let act = act.map_err(|error| PlayError::Flow(format!("flow {instance}: {error}")))?;
            actors.push(Actor { meter, background: flow.background, start, stop, act, rng });
        }
    }
    let watched: Vec<Watched> = actors
        .iter()
        .map(|actor| Watched {
            meter: Arc::clone(&actor.meter),
            background: actor.background,
            stop: actor.stop,
        })
        .collect();
    host.begin()?;
    let clock = Clock::start();
    watched.iter().for_each(|one| one.meter.begin(clock));
    thread::scope(|scope| {
        for actor in actors {
            scope.spawn(move || actor.act(scope));
        }
        let played = watch(scenario, &watched, clock, host);
        // Whatever has happened, every thread comes to its end.
        watched.iter().for_each(|one| one.meter.stop());
        played
    })
}

/// Many flows are many descriptors: as many as we may have. With fewer, one that cannot be had is
/// told.
fn allow_files() {
    if let Ok((_, max)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, max, max);
    }
}

struct Watched {
    meter: Arc<FlowMeter>,
    background: bool,
    stop: Option<Instant>,
}

/// From the run's beginning to its end.
fn watch(
    scenario: &Scenario,
    watched: &[Watched],
    clock: Clock,
    host: &mut dyn Host,
) -> Result<Played, PlayError> {
    let warm_up = Instant::ZERO + scenario.run.warm_up;
    let limit = Instant::ZERO + scenario.run.duration;
    // Without a warm-up everything counts from the first packet on.
    let none = scenario.run.warm_up.is_zero();
    let mut before = none.then(|| vec![Counts::default(); watched.len()]);
    let counts = || watched.iter().map(|one| one.meter.counts()).collect::<Vec<Counts>>();
    let over = || {
        let mut foreground = watched.iter().filter(|one| !one.background).peekable();
        scenario.run.end == RunEnd::FlowsDone
            && foreground.peek().is_some()
            && foreground.all(|one| one.meter.is_finished())
    };
    loop {
        let now = clock.now();
        if before.is_none() && now >= warm_up {
            before = Some(counts());
            host.warm()?;
        }
        for one in watched {
            one.meter.look();
            if one.stop.is_some_and(|stop| stop <= now) && !one.meter.is_finished() {
                one.meter.stop();
                one.meter.finish();
            }
        }
        if let Some(why) = watched.iter().find_map(|one| one.meter.failure()) {
            return Err(PlayError::Flow(why));
        }
        if now >= limit || over() {
            break;
        }
        let foreground = watched.iter().filter(|one| !one.background);
        let progress = Progress {
            share: now.as_secs_f64() / limit.as_secs_f64(),
            delivered: foreground.map(|one| one.meter.delivered_bytes()).sum(),
        };
        if !host.go_on(progress) {
            return Err(PlayError::Cancelled);
        }
        thread::sleep(LOOK.min(limit.saturating_since(now)));
    }
    let after = counts();
    host.end()?;
    let flows: Vec<FlowResult> = watched.iter().map(|one| one.meter.result()).collect();
    let end = if over() {
        let foreground = flows.iter().filter(|flow| !flow.background);
        foreground.filter_map(|flow| flow.finished).max().unwrap_or(limit).min(limit)
    } else {
        limit
    };
    let before = before.unwrap_or_else(|| after.clone());
    let since = after.iter().zip(&before).map(|(after, before)| after.since(before));
    Ok(Played { measured: (warm_up.min(end), end), flows: flows.into_iter().zip(since).collect() })
}

/// A flow's streams of random numbers, one for each thing that is drawn.
struct Streams {
    seeds: Seeds,
    instance: String,
}

impl Streams {
    fn of(&self, what: &str) -> Pcg64Mcg {
        self.seeds.rng(&format!("flow.{}/{what}", self.instance))
    }
}

/// A flow that waits for its beginning.
struct Actor {
    meter: Arc<FlowMeter>,
    background: bool,
    start: Instant,
    stop: Option<Instant>,
    act: Act,
    rng: Streams,
}

/// What it does then.
enum Act {
    Bulk(Bulk),
    Requests(Conversations, request::Settings),
    Http(Conversations, Http),
    Ping(Socket, ping::Settings),
    Web(Web),
}

impl Act {
    fn prepare(
        flow: &Flow,
        meter: &Arc<FlowMeter>,
        ends: [LocalEndpoint; 2],
        rng: &Streams,
        (number, barrier): (usize, Option<Ticket>),
    ) -> io::Result<Act> {
        let meter = Arc::clone(meter);
        match flow.workload.clone() {
            Workload::Bulk { bytes, opened_by, .. } => {
                let bytes = bytes.map(|bytes| bytes.sample(&mut rng.of("size")).count());
                Bulk::prepare(meter, ends, opened_by, bytes, barrier).map(Act::Bulk)
            }
            Workload::RequestResponse {
                request,
                reply,
                server_delay,
                think,
                requests,
                connection,
            } => {
                let plan =
                    request::Settings { request, reply, server_delay, think, requests, connection };
                Ok(Act::Requests(Conversations::prepare(meter, ends)?, plan))
            }
            Workload::Http(plan) => Ok(Act::Http(Conversations::prepare(meter, ends)?, plan)),
            Workload::Ping { packet, pace, packets } => {
                let [from, to] = ends;
                let identifier = (number + 1) as u16;
                let packet = packet.count();
                let plan = ping::Settings { to: to.address, packet, pace, packets, identifier };
                Ok(Act::Ping(from.icmp()?, plan))
            }
            Workload::Http2(_)
            | Workload::Telnet { .. }
            | Workload::Web { .. }
            | Workload::Poisson { .. }
            | Workload::Udp { .. } => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

impl Actor {
    fn act<'s>(self, scope: &'s Scope<'s, '_>) {
        let Actor { meter, start, act, rng, .. } = self;
        if !meter.wait_until(start) {
            return;
        }
        match act {
            Act::Bulk(bulk) => bulk.run(scope),
            Act::Requests(conversations, plan) => {
                conversations.serve(scope);
                request::run(&meter, &conversations, &plan, &rng);
            }
            Act::Http(conversations, plan) => {
                conversations.serve(scope);
                http::run(&meter, &conversations, &plan, &rng);
            }
            Act::Web(web) => web.run(),
            Act::Ping(socket, plan) => {
                if let Err(error) = ping::run(&meter, &socket, &plan) {
                    meter.failed(&error);
                    meter.finish();
                }
            }
        }
    }
}
