//! Finds out what has changed.

use crate::event::{Change, Direction, Endpoint, Event, Segment, Timer};
use bentpipe_core::tcp::connection::State;
use bentpipe_core::tcp::limiter::Limiter;
use bentpipe_core::tcp::observation::Observation;
use bentpipe_core::tcp::window_rule::WindowRule;
use bentpipe_core::time::Instant;
use bentpipe_core::units::Offset;
use bentpipe_core::wire::{Flags, SeqNum};
use std::collections::BTreeMap;
use std::fmt;

/// A receiver of events, in the order of time.
pub trait Sink: fmt::Debug {
    /// Takes an event. What goes wrong in doing so is the sink's own to tell.
    fn event(&mut self, at: Instant, endpoint: &Endpoint, event: &Event<'_>);
}

/// A connection at a moment when something may have changed.
#[derive(Debug, Clone, Copy)]
pub struct ObservedConnection<'a> {
    /// The state of RFC 9293, if it has one: a gateway's leg has none.
    pub state: Option<State>,
    /// The limit that keeps the next segment back; None while segments leave.
    pub limiter: Option<Limiter>,
    /// The synchronised part, if there is one.
    pub observation: Option<&'a Observation>,
}

/// The positions of one stream, which are 32 bits long on the wire.
#[derive(Debug, Clone, Copy, Default)]
struct Stream {
    isn: Option<SeqNum>,
    /// The highest offset seen.
    highest: u64,
    /// The window field of its sender counts units of 2^shift bytes, if the other end has offered a
    /// shift, too.
    shift: Option<u8>,
}

impl Stream {
    /// The offset of `number`. The first that is seen is taken for the first byte's, if nothing
    /// else is known.
    fn offset(&mut self, number: SeqNum) -> u64 {
        let isn = *self.isn.get_or_insert(SeqNum(number.0.wrapping_sub(1)));
        let Some(offset) = number.offset_near(isn, Offset::new(self.highest)) else { return 0 };
        let offset = (offset - Offset::SYN).count();
        self.highest = self.highest.max(offset);
        offset
    }
}

#[derive(Debug, Default)]
struct Flow {
    started: bool,
    local: Stream,
    remote: Stream,
    state: Option<State>,
    limiter: Option<Limiter>,
    observation: Option<Observation>,
}

/// So many connections are known at a time where nobody says which are over.
const FLOWS_MAX: usize = 20_000;

/// Watches connections, and tells what has changed. It keeps a few hundred bytes of each that is
/// not over.
#[derive(Debug)]
pub struct Recorder<S> {
    flows: BTreeMap<Endpoint, Flow>,
    sink: S,
}

impl<S: Sink> Recorder<S> {
    /// Of no connections yet.
    pub fn new(sink: S) -> Recorder<S> {
        Recorder { flows: BTreeMap::new(), sink }
    }

    /// The receiver of the events.
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// The same, to be changed.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Ends it.
    pub fn into_sink(self) -> S {
        self.sink
    }

    /// Takes the handshake's results of a connection that began before it was watched.
    ///
    /// They are the initial sequence numbers and the shifts of the window fields, first
    /// `endpoint`'s own, then its peer's.
    pub fn agreed(&mut self, endpoint: &Endpoint, isns: [SeqNum; 2], shifts: [u8; 2]) {
        let flow = self.flows.entry(*endpoint).or_default();
        for (stream, (isn, shift)) in
            [&mut flow.local, &mut flow.remote].into_iter().zip(isns.into_iter().zip(shifts))
        {
            if stream.isn.is_none() {
                *stream = Stream { isn: Some(isn), highest: 0, shift: Some(shift) };
            }
        }
    }

    /// A segment passes `endpoint`.
    pub fn segment(&mut self, at: Instant, endpoint: &Endpoint, segment: Segment<'_>) {
        let flow = self.flows.entry(*endpoint).or_default();
        let tcp = segment.tcp;
        let (ours, theirs) = match segment.direction {
            Direction::Sent => (&mut flow.local, &mut flow.remote),
            Direction::Received => (&mut flow.remote, &mut flow.local),
        };
        let syn = tcp.has(Flags::SYN);
        // A SYN begins a connection, or anew with the same ports. One that comes in the midst of it
        // is forged, or late.
        let sent = segment.direction == Direction::Sent;
        if syn && ours.isn != Some(tcp.seq) && (sent || ours.highest == 0) {
            if sent && ours.isn.is_some() {
                flow.started = false;
                if theirs.highest > 0 {
                    *theirs = Stream::default();
                }
            }
            let shift = tcp.options.window_scale;
            *ours = Stream { isn: Some(tcp.seq), highest: 0, shift };
        }
        let seq = ours.offset(tcp.seq);
        let ack = tcp.has(Flags::ACK).then(|| theirs.offset(tcp.ack));
        // RFC 7323, 2.2: only if both have offered one, and in no SYN.
        let shift =
            ours.shift.zip(theirs.shift).filter(|_| !syn).map_or(0, |(ours, _)| ours.min(14));
        let mut blocks = [[0; 2]; 4];
        let sack = tcp.options.sack.iter().zip(&mut blocks);
        let sacks = sack
            .map(|(block, into)| *into = [theirs.offset(block.left), theirs.offset(block.right)])
            .count();
        start(flow, &mut self.sink, at, endpoint);
        let window = u64::from(tcp.window) << shift;
        let sack = &blocks[..sacks];
        self.sink.event(at, endpoint, &Event::Segment { segment, seq, ack, window, sack });
    }

    /// Something may have changed at `endpoint`.
    pub fn observe(&mut self, at: Instant, endpoint: &Endpoint, seen: ObservedConnection<'_>) {
        let flow = self.flows.entry(*endpoint).or_default();
        start(flow, &mut self.sink, at, endpoint);
        let sink = &mut self.sink;
        if let Some(new) = seen.state.filter(|new| flow.state != Some(*new)) {
            sink.event(at, endpoint, &Event::State { old: flow.state.replace(new), new });
        }
        if let Some(new) = seen.observation {
            let old = flow.observation.as_ref();
            compare(sink, at, endpoint, old, new);
            flow.observation = Some(*new);
        }
        if let Some(new) = seen.limiter.filter(|new| flow.limiter != Some(*new)) {
            sink.event(at, endpoint, &Event::Limiter { old: flow.limiter.replace(new), new });
        }
    }

    /// The connection is over, or of no interest any more.
    pub fn forget(&mut self, endpoint: &Endpoint) {
        self.flows.remove(endpoint);
    }

    /// Forgets all connections if there are more than 20,000.
    ///
    /// This is for gateways, where nobody says which connections are over. They begin again, as
    /// each observation there comes with what was [agreed](Recorder::agreed).
    pub fn forget_if_many(&mut self) {
        if self.flows.len() > FLOWS_MAX {
            self.flows.clear();
        }
    }

    /// So many events could not be handed over.
    pub fn lost(&mut self, at: Instant, endpoint: &Endpoint, count: u64) {
        self.sink.event(at, endpoint, &Event::Lost { count });
    }
}

/// Tells of a connection that is seen for the first time.
fn start(flow: &mut Flow, sink: &mut impl Sink, at: Instant, endpoint: &Endpoint) {
    if !flow.started {
        flow.started = true;
        (flow.state, flow.limiter, flow.observation) = (None, None, None);
        let (local_isn, remote_isn) = (flow.local.isn, flow.remote.isn);
        sink.event(at, endpoint, &Event::Started { local_isn, remote_isn });
    }
}

/// Tells what is different between two observations.
fn compare(
    sink: &mut impl Sink,
    at: Instant,
    endpoint: &Endpoint,
    old: Option<&Observation>,
    new: &Observation,
) {
    if old == Some(new) {
        return;
    }
    for timer in Timer::ALL {
        let (was, is) = (old.and_then(|old| timer.of(old)), timer.of(new));
        if was == is {
            continue;
        }
        let mut tell = |change| sink.event(at, endpoint, &Event::Timer { timer, change });
        let expired = was.is_some_and(|due| due <= at);
        if expired {
            tell(Change::Expired);
        }
        match is {
            Some(due) => tell(Change::Set(due)),
            None if !expired => tell(Change::Cancelled),
            None => {}
        }
    }
    if old.is_none_or(|old| old.phase != new.phase) {
        let phase = Event::Phase { old: old.map(|old| old.phase), new: new.phase };
        sink.event(at, endpoint, &phase);
    }
    if old.is_none_or(|old| figures(old) != figures(new)) {
        let rule = old.and_then(|old| WindowRule::between(old, new));
        sink.event(at, endpoint, &Event::Metrics { old, new, rule });
    }
}

/// Those parts of it that are written as figures.
fn figures(observation: &Observation) -> Observation {
    Observation {
        limiter: None,
        timers: Default::default(),
        signs: Default::default(),
        phase: bentpipe_core::tcp::observation::Phase::Open,
        ..*observation
    }
}
