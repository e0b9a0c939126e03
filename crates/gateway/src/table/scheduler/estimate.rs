//! A link's window and rate, found and followed by all its flows together.
//!
//! Flows have one window, and take turns to fill it. Its queue steers it: short, but never gone, as
//! some milliseconds of it show that the link is full. So the link's queue moves into the gateway,
//! where it is fair. Bundler does so between two sites (Cangialosi and others, EuroSys 2021).
//!
//! The law is FAST TCP's in bytes (Jin, Wei and Low, INFOCOM 2004). By the measured rate, the
//! excess of the queue over its target is taken out of the window, and its lack is put in.
//!
//! - It is judged once in each round trip without a queue. A change shows a round trip later.
//!   Therefore all that was taken out since then counts as drained: else it would be twice.
//! - While the queue is gone though the window is used up, the link carries more. The window is
//!   raised by a twentieth, by a tenth, and so on up to its double. Where the link has carried more
//!   of late it is doubled at once.
//! - Where round trips vary, as they do with moving satellites, a queue may be none. There the
//!   window is raised now and then, and stays so if more is delivered.
//! - A loss says nothing by itself. Where more is lost than usual for two rounds, the window comes
//!   down by that. If less is delivered then, too, the losses are the link's, and usual.
//! - A queue that does not go is another path's round trip, or that of [rivals](Rivals). To tell,
//!   the link is drained for a round trip, and if that does not help nearly emptied. So it is where
//!   no round trip without a queue was seen for long, and where a cut for a queue delivers less.
//! - On a [carrier](Carrier) that other pairs share there are no rivals, and drains are common.
//!
//! Before a queue has been seen nothing is known, but for the rate that trains of segments show at
//! the [start](Start). Where they show none, the window grows fourfold in each round trip.

mod carrier;
mod cubic_window;
mod draining;
mod leaving;
mod memory;
mod minimum;
mod one_way;
mod other_rounds;
mod path;
mod probes;
mod rivals;
mod round;
mod seeking;
mod segment;
mod start;
mod steering;
#[cfg(test)]
mod tests;

use super::PACKET;
use super::in_flight::InFlight;
use crate::announce::Report;
use bentpipe_core::tcp::congestion::LinkReport;
use bentpipe_core::time::{Duration, Instant};
use carrier::Carrier;
use draining::{Depth, Draining};
pub(in crate::table) use memory::Memory;
use path::Path;
use probes::Probes;
use rivals::{Rivals, Seen};
use round::Round;
use segment::SEGMENT;
use start::{START, Start};
use std::collections::VecDeque;
use steering::{FADING, LOSS_HOLD, Lowered, MARGIN, MIN_RAISE};

/// Windows that are kept at most: of more rounds than a long queue takes.
const MAX_WINDOWS: usize = 1_024;

/// The part of the window by which it may have changed for a change of the queue to be none of
/// ours.
const STEADY: f64 = 0.1;

/// The minimum window in bytes.
const MIN_WINDOW: f64 = 10.0 * SEGMENT;

/// The part of a round trip by which another one must be shorter to be another path's.
const SHORTER: f64 = 0.8;

/// If nothing comes for long in more rounds than these, there is no fade: the path has become so
/// much longer that what is in flight comes back in one burst.
const SILENT_ROUNDS: u32 = 2;

/// Rounds from one raise to the next: until it shows.
const RAISE_ROUNDS: u32 = 2;

/// A queue of no more than this, in seconds, is none.
const NO_QUEUE: f64 = 0.000_5;

/// See the module's head. Bytes are of payload, times in seconds.
#[derive(Debug)]
pub(super) struct Estimate {
    path: Path,
    /// The latest round trip, and when it was measured.
    latest: Option<(Instant, f64)>,
    /// A queue has shown that the link is full, or trains what it carries.
    found: bool,
    window: f64,
    /// The windows since what is in flight has left, by the ends of rounds.
    windows: VecDeque<(Instant, f64)>,
    round: Round,
    /// The latest rounds in a row in which all came behind a long silence.
    silent: u32,
    /// What is delivered a second: in the latest round that tells, in the one before, and the best
    /// of late.
    rate: f64,
    rate_before: f64,
    best: f64,
    /// The window was last raised to what the best of late needs.
    remembers: bool,
    /// The queue in the latest round that was judged, and the window for which it was.
    queue: f64,
    queue_for: f64,
    /// The part by which the window is raised next.
    raise: f64,
    /// Rounds before that.
    hold: u32,
    lowered: Option<Lowered>,
    probes: Probes,
    /// The share of packets that the link loses by itself.
    loss: f64,
    /// The latest rounds in a row with more, and with a queue that was too long.
    lossy: u32,
    long: u32,
    /// Rounds before a raise since a loss was ours, and for how many after the next one.
    loss_hold: u32,
    next_loss_hold: u32,
    draining: Draining,
    rivals: Rivals,
    /// Other pairs use it, too.
    carrier: Option<Carrier>,
    /// Flows that have something in flight.
    flows: usize,
    /// All that was in flight has arrived: there is no queue of ours.
    emptied: bool,
    /// When the window was last used, and when it began to be checked after a pause.
    used: Instant,
    checked: Instant,
    /// Until the link has been found, and for a round trip more.
    start: Option<Box<Start>>,
    /// Until then everything that shows is of the start, and for a while more it is checked.
    settled: Option<Instant>,
    /// Until a round trip has been measured: what the link is held to be like.
    memory: Option<Memory>,
}

impl Estimate {
    /// Of a link of which nothing is known.
    pub(super) fn new() -> Estimate {
        Estimate {
            path: Path::default(),
            latest: None,
            found: false,
            window: START,
            windows: VecDeque::new(),
            round: Round::default(),
            silent: 0,
            rate: 0.0,
            rate_before: 0.0,
            best: 0.0,
            remembers: false,
            queue: 0.0,
            queue_for: START,
            raise: MIN_RAISE,
            hold: 0,
            lowered: None,
            probes: Probes::new(),
            loss: 0.0,
            lossy: 0,
            long: 0,
            loss_hold: 0,
            next_loss_hold: LOSS_HOLD,
            draining: Draining::new(),
            rivals: Rivals::new(),
            carrier: None,
            flows: 1,
            emptied: false,
            used: Instant::ZERO,
            checked: Instant::ZERO,
            start: Some(Box::default()),
            settled: None,
            memory: None,
        }
    }

    /// Whether the link has been found.
    pub(super) fn is_found(&self) -> bool {
        self.found
    }

    /// Whether what is lost is held to be the link's own: no queue of ours overflows, as the link
    /// is found, nor one of rivals.
    pub(super) fn loses_by_itself(&self) -> bool {
        self.found && self.start.is_none() && self.lossy == 0 && !self.rivals.are_there()
    }

    /// The round trip without a queue, in seconds, if one was measured.
    pub(super) fn round_trip(&self) -> Option<f64> {
        self.path.base()
    }

    /// A peer has reported what has arrived there.
    pub(super) fn on_peer_report(&mut self, now: Instant, report: Report) {
        // The round trip of the latest segment that has arrived.
        let Some((_, rtt)) = self.latest.filter(|(at, _)| *at == now) else { return };
        let base = self.path.base().unwrap_or(rtt);
        if let Some(start) = &mut self.start {
            start.on_peer_report(now - Duration::from_secs_f64(rtt), report);
        }
        if let Some(took) = self.path.on_peer_report(now, rtt, report) {
            self.round.take_one_way(now, base, took);
        }
        self.leap(now, base);
    }

    /// A flow has seen something of the link, on which so much is in flight.
    pub(super) fn on_report(&mut self, now: Instant, report: LinkReport, in_flight: &InFlight) {
        self.flows = in_flight.flows();
        let in_flight = in_flight.all();
        if let Some(rtt) = report.rtt {
            let rtt = rtt.as_secs_f64();
            if self.found && self.emptied && rtt < self.base() * SHORTER {
                // Meanwhile the path has become shorter: it holds less at the same rate.
                self.window = (self.window * rtt / self.base()).max(MIN_WINDOW);
            }
            self.path.on_rtt(now, rtt);
            self.begin_by_memory(now, rtt);
            self.latest = Some((now, rtt));
        }
        if let Some(start) = &mut self.start {
            start.on_report(report);
        }
        let Some(base) = self.path.base() else { return };
        self.round.take(now, base, report, in_flight);
        if std::mem::replace(&mut self.emptied, in_flight == 0) {
            self.draining.note_clear(now);
        }
        if !self.found {
            self.window = self.window.max(START + self.round.room_to_begin());
        }
        if let Some(end) = self.settled.filter(|end| now >= *end) {
            self.check_leap(now, end, base);
        }
        if self.draining.give_up(now) {
            self.round = Round::beginning(now);
        }
        if !self.round.is_over(now, base) {
            return;
        }
        let round = std::mem::replace(&mut self.round, Round::beginning(now));
        let silent = round.is_silent(now, base);
        let in_bursts = silent && !round.seen.delivered.is_zero();
        self.silent = if in_bursts { self.silent + 1 } else { 0 };
        let shows = (!silent || self.silent > SILENT_ROUNDS) && !round.is_before(self.settled);
        if let Some(rtt) = round.rtt().filter(|_| shows) {
            self.judge(now, &round, rtt, in_flight);
        }
        if self.found {
            self.windows.push_back((now, self.window));
            if self.windows.len() > MAX_WINDOWS {
                self.windows.pop_front();
            }
        }
    }

    /// A round is over, whose minimum round trip of late was `rtt`.
    fn judge(&mut self, now: Instant, round: &Round, rtt: f64, in_flight: u64) {
        let (base, span) = (self.path.base().unwrap_or(rtt), round.span(now));
        let rate = round.seen.delivered.as_f64() / span;
        let forgotten = base - self.base().min(base);
        let queue = self.path.queue_in(rtt, round.one_way) + forgotten;
        let change = queue - std::mem::replace(&mut self.queue, queue);
        let before = self.window_before(now, rtt + span / 2.0);
        let ours = (before - std::mem::replace(&mut self.queue_for, before)) / rate;
        if queue < NO_QUEUE {
            self.draining.note_clear(now);
        }
        if !self.found {
            return self.seek(now, round, rtt, rate, queue, in_flight);
        }
        if self.draining.kept().is_some() {
            let shorter = queue > self.path.queue() && change < -self.path.queue();
            if shorter && !self.draining.is_all() {
                // It becomes shorter and is not gone: as much comes as the link carries now.
                (self.rate, self.rate_before) = (rate, rate);
            }
            return self.go_on_draining(now, round, queue);
        }
        if self.rivals.are_there() {
            self.note_rate(now, span, rate);
            return self.contend(now, round, rtt, queue);
        }
        if round.peak < self.window / 2.0 {
            // Hardly used: it says nothing of the link.
            return;
        }
        self.note_rate(now, span, rate);
        // A queue that is gone is so as the link carries more.
        if queue >= NO_QUEUE && (self.window - before).abs() < STEADY * before {
            self.path.vary(change, ours);
        }
        if let Some(carrier) = &mut self.carrier {
            carrier.note_rate(span, rate);
            if carrier.is_due(now, base) {
                let depth = if carrier.take_doubt() { Depth::All } else { Depth::Part };
                return self.drain(now, depth, queue, span);
            }
            return self.steer(round, before, queue);
        }
        let suspects = self.rivals.on_round(now, self.seen(round, queue));
        let missed = queue > self.path.queue() && self.is_missed(before);
        self.steer(round, before, queue);
        let unseen = self.draining.is_unseen(now, base) && !self.is_telling();
        let doubtful = self.draining.is_doubtful(now, base, self.long, suspects || missed);
        if unseen || doubtful {
            let depth = if doubtful { Depth::Part } else { Depth::Queue };
            self.drain(now, depth, queue, span);
            self.probes.give_up();
        }
    }

    /// A round that took so long and tells is over.
    fn note_rate(&mut self, now: Instant, span: f64, rate: f64) {
        self.rate_before = std::mem::replace(&mut self.rate, rate);
        self.used = now;
        self.best = (self.best * FADING.powf(span)).max(rate);
    }

    /// The window so many seconds ago.
    fn window_before(&mut self, now: Instant, ago: f64) -> f64 {
        let left = now - Duration::from_secs_f64(ago);
        while self.windows.len() > 1 && self.windows[1].0 <= left {
            self.windows.pop_front();
        }
        self.windows.front().map_or(self.window, |(_, window)| *window)
    }

    fn seen(&self, round: &Round, queue: f64) -> Seen {
        Seen {
            queue,
            target: self.path.queue(),
            base: self.base(),
            window: self.window,
            rate: self.rate,
            lossy: round.seen.loses_more_than(self.loss, MARGIN, PACKET),
        }
    }

    /// The round trip without a queue, as far as is known.
    fn base(&self) -> f64 {
        let known = self.path.base().into_iter().chain(self.rivals.base());
        known.reduce(f64::min).unwrap_or(0.0)
    }

    /// What the path holds at the present rate, in bytes.
    fn product(&self) -> f64 {
        self.rate * self.base()
    }

    /// The same, where much comes in one round and little in the next, as with a queue that is
    /// longer than these.
    pub(super) fn held(&self) -> f64 {
        self.rate.max(self.rate_before) * self.base()
    }
}
