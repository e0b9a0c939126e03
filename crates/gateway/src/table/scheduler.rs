//! The link to a side or to a remote: where its rate is known, flows take turns on it.
//!
//! So they have equal shares whenever they began and however large their windows are (Nagle, RFC
//! 970), the link's own queue stays empty as far as they fill it, and what waits does so here,
//! where a stream's size bounds it. A flow that has nothing to send leaves its turn to the others.
//!
//! Shares are equal in bytes, whatever the size of segments: deficit round robin (Shreedhar and
//! Varghese, 1996). A flow is given a quantum when its turn comes, sends until that is used up, and
//! then goes behind the others; what it has sent beyond the quantum it goes without next time. Who
//! pauses keeps what is left, and the place: that is less than a quantum, however long it pauses.
//!
//! What is in flight to a host that does not answer may be lost, or wait in a queue that stands
//! still; nobody knows. So such flows wait for each other where the link is full, and keep no
//! others waiting.
//!
//! Where flows find a link together, those that have sent little yet [go first](waiting).
//!
//! Only data waits. Bare acknowledgments, probes and resets do not, and count; but they cannot
//! take more than half of the link from data, or a flood of them would keep it waiting for ever.

mod arrived;
mod drr_entry;
mod estimate;
mod free_share;
mod in_flight;
mod paths;
mod prompt;
mod rate_control;
mod replaced;
mod spread_budget;
mod together;
mod trains;
mod waiting;

use crate::config::{FirstWindow, LegConfig};
use arrived::Arrived;
use bentpipe_core::tcp::congestion::LinkReport;
use bentpipe_core::tcp::pacing::{Pacer, Pacing};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Rate};
pub(crate) use drr_entry::DrrEntry;
use drr_entry::{HURRIES, UNHEARD, WAITS};
use estimate::Estimate;
pub(super) use estimate::Memory;
use free_share::FreeShare;
use in_flight::InFlight;
use paths::Paths;
use prompt::PromptAcks;
use rate_control::RateControl;
use spread_budget::SpreadBudget;
use waiting::{Line, SHORT, Waiting};

/// What headers make of a byte of payload.
const WIRE: f64 = 1_500.0 / 1_448.0;

/// Bytes of a packet, to tell how many were lost.
const PACKET: Bytes = Bytes::new(1_500);

/// What a flow is given when its turn comes, in bytes: a packet of the usual size. Were it more,
/// many flows would wait long for each other; of a super-segment the rest is taken from later
/// turns.
const QUANTUM: i32 = 1_500;

/// The same on a link that its flows find together: as many as one acknowledgment is for. Segments
/// that come one by one would each have their own, and fill a narrow way back. Where rivals keep
/// the queue full, the second of two would hardly ever find room.
const FOUND_QUANTUM: i32 = 2 * QUANTUM;

/// The lesser of two limits, as far as there are any.
fn lesser(one: Option<Rate>, other: Option<Rate>) -> Option<Rate> {
    one.into_iter().chain(other).min()
}

/// A link that flows share.
#[derive(Debug)]
pub(super) struct LinkScheduler {
    /// The rate at which it is used; None: as each flow likes.
    rate: Option<Rate>,
    /// What it is not used beyond, whatever it carries.
    max_rate: Option<Rate>,
    pacer: Pacer,
    /// The next turn is then, however much is sent that does not wait for one.
    latest: Instant,
    /// Flows that have something to send.
    waiting: Waiting,
    /// Watches it for the flows that take its losses for its own.
    control: Option<RateControl>,
    /// Counted if it is watched.
    in_flight: InFlight,
    /// It was watched, and has carried too little.
    broken: bool,
    /// Where initial windows are what of it is free: what is.
    pub(super) free_share: Option<FreeShare>,
    /// Where they follow from the round trip: what flows together may begin with.
    spread_budget: Option<SpreadBudget>,
    /// Of a remote whose link's rate is to be found.
    estimate: Option<Estimate>,
    /// Other pairs use it, too: what the wall clock said at the moment zero.
    shared_carrier: Option<Duration>,
    paths: Paths,
    /// Its flows have several paths: until then each finds a window of its own.
    apart: Option<Instant>,
    /// Of what comes from its other end.
    pub(super) prompt: PromptAcks,
    pub(super) arrived: Arrived,
}

impl LinkScheduler {
    /// The link behind a leg.
    pub(super) fn new(leg: &LegConfig) -> LinkScheduler {
        let rate = match leg.pacing() {
            Pacing::Window { cap } => cap,
            Pacing::Off => None,
        };
        let control = leg.is_watched().then(|| RateControl::new(leg.rate, leg.told.rate));
        let spreads = leg.first_window == FirstWindow::ByRoundTrip && leg.rate.is_none();
        LinkScheduler {
            rate: lesser(rate, leg.max_rate),
            max_rate: leg.max_rate,
            control,
            in_flight: InFlight::default(),
            broken: false,
            free_share: leg.shared_product().map(FreeShare::new),
            spread_budget: spreads.then(SpreadBudget::new),
            estimate: None,
            shared_carrier: leg.shared_carrier.then_some(leg.wall_clock),
            paths: Paths::default(),
            apart: None,
            prompt: PromptAcks::default(),
            arrived: Arrived::default(),
            pacer: Pacer::default(),
            latest: Instant::ZERO,
            waiting: Waiting::new(),
        }
    }

    /// Whether a flow that comes now is to wait: for the link, or behind others.
    pub(super) fn is_busy(&self, now: Instant, turn: &DrrEntry) -> bool {
        let line = Line::of(turn.is_unheard(), self.is_short(turn));
        let waits = self.has_waiting() || now < self.pacer.next() || self.is_full(line);
        (self.rate.is_some() || self.estimate.is_some()) && waits
    }

    /// Whether all flows together have as much in flight as they may; for a flow whose host is
    /// heard, all those of such hosts.
    fn is_full(&self, line: Line) -> bool {
        let in_flight = self.in_flight.before(line == Line::Unheard);
        if let Some(estimate) = &self.estimate {
            return estimate.is_full(in_flight, line == Line::Short);
        }
        let max = self.control.as_ref().and_then(RateControl::max_in_flight);
        max.is_some_and(|bytes| in_flight > bytes)
    }

    /// Whether anybody waits for whom it is not full.
    fn has_waiting(&self) -> bool {
        Line::ALL.into_iter().any(|line| self.waiting.is_anybody(line) && !self.is_full(line))
    }

    /// Whether a flow has sent little since it paused, where that counts.
    fn is_short(&self, turn: &DrrEntry) -> bool {
        self.estimate.is_some() && turn.load < SHORT
    }

    /// A flow has so many bytes in flight, to a host that is `unheard` or not.
    pub(super) fn set_in_flight(&mut self, turn: &mut DrrEntry, bytes: u64, unheard: bool) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let moves = turn.waits() && turn.is_unheard() != unheard;
        let waits = moves.then(|| self.waiting.remove(turn.line(), turn.place)).flatten();
        self.in_flight.remove(turn.in_flight, turn.is_unheard());
        turn.in_flight = bytes;
        turn.set(UNHEARD, unheard);
        self.in_flight.add(bytes, unheard);
        if let Some(id) = waits {
            self.waiting.insert(turn.line(), turn.place, id);
        }
        if bytes == 0 && !turn.waits() && self.estimate.is_some() {
            turn.load = 0;
        }
    }

    /// Whether a flow that begins has to make do with what leaves at once: others begin, too, or
    /// the link is overloaded.
    pub(super) fn ends_spread(&mut self, now: Instant) -> bool {
        let overloaded = self.control.as_ref().is_some_and(|control| control.rate().is_some());
        self.spread_budget.as_mut().is_some_and(|budget| overloaded || !budget.is_left(now))
    }

    /// A flow that begins has sent so much more than what leaves at once.
    pub(super) fn spread(&mut self, bytes: Bytes) {
        if let Some(budget) = &mut self.spread_budget {
            budget.take(bytes);
        }
    }

    /// A flow has seen something of the link. True if the link turns out not to be what it is held
    /// for.
    pub(super) fn on_report(
        &mut self,
        now: Instant,
        turn: &mut DrrEntry,
        report: LinkReport,
    ) -> bool {
        let Some(control) = self.control.as_mut().filter(|_| !report.is_empty()) else {
            return false;
        };
        if let Some(estimate) = &mut self.estimate {
            estimate.on_report(now, report, &self.in_flight);
            self.follow(now);
            return false;
        }
        control.on_report(now, report, &mut turn.lossy);
        self.rate = lesser(control.rate(), self.max_rate);
        control.is_broken()
    }

    /// It is not what it was held for: nobody takes losses for the link's own any more.
    pub(super) fn break_circuit(&mut self, rate: Option<Rate>) {
        self.control = None;
        self.broken = true;
        self.rate = lesser(rate, self.max_rate);
    }

    /// Whether losses were taken for the link's own, and are not any more.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// The rate at which it is used.
    pub(super) fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// Whether a flow has taken its losses for its own, and has told of it: its other end is a
    /// gateway.
    pub(super) fn is_reported(&self) -> bool {
        self.control.as_ref().is_some_and(|control| control.product().is_some())
    }

    /// Whether its rate was told, so that only who knows the link says what it loses.
    pub(super) fn is_told(&self) -> bool {
        self.control.as_ref().is_some_and(RateControl::is_told)
    }

    /// Whether losses may be taken for the link's own.
    pub(super) fn is_watched(&self) -> bool {
        self.control.is_some()
    }

    /// Flow `id` waits: at the place that it has, or behind all others.
    pub(super) fn wait(&mut self, id: usize, turn: &mut DrrEntry) {
        if turn.place == 0 {
            turn.place = self.waiting.new_place();
        }
        turn.set(WAITS, true);
        turn.set(HURRIES, self.is_short(turn));
        self.waiting.insert(turn.line(), turn.place, id);
    }

    /// Takes in a flow that was `before` on another link: it has as much in flight, waits if it has
    /// waited, and owes what it owed.
    pub(super) fn take_over(&mut self, id: usize, turn: &mut DrrEntry, before: &DrrEntry) {
        if self.is_watched() {
            self.set_in_flight(turn, before.in_flight.into(), before.is_unheard());
        }
        turn.deficit = before.deficit;
        if before.waits() {
            self.wait(id, turn);
        }
    }

    /// Takes out a flow that is gone, or goes to another link. What it was here.
    pub(super) fn give_up(&mut self, turn: &mut DrrEntry) -> DrrEntry {
        self.remove(turn);
        std::mem::take(turn)
    }

    fn remove(&mut self, turn: &DrrEntry) {
        self.in_flight.remove(turn.in_flight, turn.is_unheard());
        if let Some(free_share) = &mut self.free_share {
            free_share.remove(turn);
        }
        if turn.waits() {
            self.waiting.remove(turn.line(), turn.place);
        }
    }

    /// A flow is to send at `moment` by its own pacer, or at none. If that wakes late, what it
    /// makes up for has to pass here, too.
    pub(super) fn expect(&mut self, moment: Option<Instant>) {
        match moment {
            Some(moment) => self.pacer.wait(moment.max(self.pacer.next())),
            None if Line::ALL.into_iter().any(|line| self.waiting.is_anybody(line)) => {}
            None => self.pacer.stop_waiting(),
        }
    }

    /// Notes what keeps waiting flows from their turns. When the next turn is, if any flow waits.
    pub(super) fn prepare(&mut self, now: Instant) -> Option<Instant> {
        let waits = [Line::Short, Line::Usual].iter().any(|line| self.waiting.is_anybody(*line));
        if waits
            && self.is_full(Line::Usual)
            && let Some(estimate) = &mut self.estimate
        {
            estimate.note_full();
        }
        let full = [Line::Usual, Line::Unheard].into_iter().all(|line| self.is_full(line));
        if full && !self.has_waiting() {
            // What comes when it is not so any more has not waited for the pacer.
            self.pacer.stop_waiting();
        } else if now < self.pacer.next() && self.has_waiting() {
            self.pacer.wait(self.pacer.next());
        }
        self.poll_timeout()
    }

    /// The flow whose turn it may be now, if any. It is not in the queue any more.
    pub(super) fn next(&mut self, now: Instant) -> Option<usize> {
        self.prepare(now).filter(|at| *at <= now)?;
        let full = Line::ALL.map(|line| self.is_full(line));
        self.waiting.next(|line| !full[line as usize])
    }

    /// Whether it is the turn of flow `id`, which came [next](LinkScheduler::next). If not, it goes
    /// behind the others, with a quantum more.
    pub(super) fn begins(&mut self, id: usize, turn: &mut DrrEntry) -> bool {
        turn.set(WAITS, false);
        if turn.deficit <= 0 {
            turn.deficit += self.quantum();
        }
        if turn.deficit <= 0 {
            turn.place = 0;
            self.wait(id, turn);
        }
        !turn.waits()
    }

    /// In its turn the flow has sent something: on this link, if `sent`.
    pub(super) fn used(&mut self, id: usize, turn: &mut DrrEntry, sent: Option<Sent>) {
        let Some(Sent { bytes, .. }) = sent.filter(|sent| sent.is_data()) else {
            // An acknowledgment came first, or something for the other side: the turn is still to
            // come.
            return self.wait(id, turn);
        };
        let short = turn.line() == Line::Short;
        self.waiting.note_sent(short, bytes);
        if let Some(estimate) = &mut self.estimate {
            if short {
                estimate.note_hurried(self.in_flight.before(false), bytes);
            }
            turn.load = turn.load.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
        }
        turn.deficit = turn.deficit.saturating_sub(i32::try_from(bytes).unwrap_or(i32::MAX));
        if turn.deficit <= 0 {
            turn.place = 0;
        }
    }

    /// When the next turn is, if anybody waits.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        // If it is full, the next acknowledgment or timer of a flow changes that.
        self.has_waiting().then(|| self.pacer.next())
    }

    /// Something was sent.
    pub(super) fn sent(&mut self, now: Instant, what: Sent) {
        if let Some(control) = &mut self.control {
            control.on_sent(what.bytes);
        }
        if let Some(budget) = self.spread_budget.as_mut().filter(|_| what.is_data()) {
            budget.sent(what.bytes);
        }
        let estimate = self.estimate.as_mut().filter(|_| what.is_data());
        let in_flight = self.in_flight.before(false);
        let next = estimate.and_then(|estimate| estimate.on_sent(now, what.payload, in_flight));
        if let Some(next) = next {
            self.pacer.pause(next);
        }
        // The estimate is of data alone: acknowledgments have taken their part before.
        let counts = what.is_data() || self.estimate.is_none() || self.rate == self.max_rate;
        let Some(rate) = self.rate.filter(|_| counts) else { return };
        if what.is_data() && now >= self.pacer.next() {
            self.pacer.sent(now, Bytes::new(what.bytes), rate);
            self.latest = self.pacer.next() + rate.time_for(what.bytes);
        } else {
            self.pacer.sent_out_of_turn(now, Bytes::new(what.bytes), rate, self.latest);
        }
    }
}

/// Packets that were sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    /// Bytes of all of them, headers included.
    pub(super) bytes: u64,
    /// Those of their payload.
    pub(super) payload: u64,
}

impl Sent {
    /// They carry data.
    fn is_data(self) -> bool {
        self.payload > 0
    }
}

#[cfg(test)]
mod tests;
