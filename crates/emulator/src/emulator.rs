//! The live link emulator: two TUN devices with one link for each direction between them.
//!
//! The same [`Direction`] runs in the simulator; here its clock is the kernel's and its packets are
//! real.
//!
//! A packet enters its link when it is read and leaves when its moment has come, or as soon after
//! as the loop wakes: events inside the link keep their exact moments, so lateness does not add up.
//! What came while it was late is made up for (`backlog`).

use crate::backlog::{self, Away};
use crate::datagram::Datagram;
use crate::duplex_link::{DuplexLink, DuplexLinkConfig};
use crate::lateness::Lateness;
use crate::link_control::{LinkQuestion, LinkQuestions, LinkState};
use crate::link_tap::LinkTap;
use crate::recording::{Recording, RecordingSummary};
use crate::summary::LinkSummary;
use crate::too_long::LengthLimit;
use bentpipe_core::link::{Counters, Occupancy};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Rate;
use bentpipe_links::Direction;
use bentpipe_linux::clock::Clock;
use bentpipe_linux::gro::Joined;
use bentpipe_linux::gso::split;
use bentpipe_linux::packet::Packet;
use bentpipe_linux::poll::{self, LoopError};
use bentpipe_linux::signals::{Signal, Signals};
use bentpipe_linux::tun::{MAX_READ, ReadError, Tun};
use std::os::fd::AsFd;

/// Reads of one device before the other one and the clock have their turn.
const BURST: usize = 64;
/// Packets read at once when the loop was away: what comes at 2 Gbit/s in 120 ms.
const BACKLOG: usize = 20_000;

/// Packets that leave so soon after one another are written together, if they can be: a wake-up
/// costs as much as several packets.
const DENSE: Duration = Duration::from_micros(50);
/// Then the first of them waits so long for others. A timer's own lateness comes on top.
const GATHER: Duration = Duration::from_micros(20);

/// Where a packet goes that came in from one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Back into the same device: it was taken on its way to an interface, and goes on.
    Same,
    /// Into the other device: each leads to a host of its own.
    Other,
}

/// The packets that have left a direction.
#[derive(Debug, Clone, Copy, Default)]
struct Carried {
    /// When the first left, and the last.
    span: Option<(Instant, Instant)>,
    /// Bytes of all but the first.
    bytes: u64,
}

impl Carried {
    fn add(&mut self, now: Instant, bytes: usize) {
        match &mut self.span {
            None => self.span = Some((now, now)),
            Some((_, last)) => {
                *last = now;
                self.bytes += bytes as u64;
            }
        }
    }

    /// None before two packets have left.
    fn rate(&self) -> Option<Rate> {
        let (first, last) = self.span?;
        let seconds = last.saturating_since(first).as_secs_f64();
        let bits = self.bytes as f64 * 8.0 / seconds;
        bits.is_finite().then(|| Rate::from_bits_per_sec(bits.round() as u64))
    }
}

/// An emulated link between two TUN devices.
#[derive(Debug)]
pub struct Emulator {
    clock: Clock,
    tuns: [Tun; 2],
    link: DuplexLink,
    exit: Exit,
    refused: [u64; 2],
    carried: [Carried; 2],
    lateness: Lateness,
    /// What has been read and not yet pushed.
    came: Vec<Datagram>,
    /// What has left and not yet been written.
    joined: Joined,
    /// When the last that has left was to.
    last_due: Instant,
    questions: Option<LinkQuestions>,
    tap: Option<LinkTap>,
    limit: Option<LengthLimit>,
}

impl Emulator {
    /// A link that is configured so: direction *i* comes in through `tuns[i]`.
    pub fn new(tuns: [Tun; 2], exit: Exit, config: impl Into<DuplexLinkConfig>) -> Emulator {
        poll::set_timer_slack();
        Emulator {
            clock: Clock::start(),
            tuns,
            link: DuplexLink::new(config.into()),
            exit,
            refused: [0; 2],
            carried: [Carried::default(); 2],
            lateness: Lateness::default(),
            came: Vec::new(),
            joined: Joined::default(),
            last_due: Instant::ZERO,
            questions: None,
            tap: None,
            limit: None,
        }
    }

    /// Takes nothing longer from now on, as where its devices' own MTUs do not say how long packets
    /// may be.
    pub fn limit_length(&mut self, limit: LengthLimit) {
        self.limit = Some(limit);
    }

    /// Records what crosses it from now on.
    pub fn record(&mut self, recording: Recording) {
        self.link.both_mut().iter_mut().for_each(Direction::keep_lost);
        self.tap = Some(LinkTap::new(recording, self.clock.now()));
    }

    /// Ends what is recorded; what has become of it, if there was a recording.
    pub fn end_recording(&mut self) -> Option<RecordingSummary> {
        self.tap.take().map(LinkTap::end)
    }

    /// Answers these questions while it runs.
    pub fn answer(&mut self, questions: LinkQuestions) {
        self.questions = Some(questions);
    }

    /// Runs until a signal comes, which it returns, or `stop` becomes readable. It can be run
    /// again; packets stay inside meanwhile.
    ///
    /// # Errors
    /// [`LoopError`].
    pub fn run(
        &mut self,
        signals: &Signals,
        stop: Option<&dyn AsFd>,
    ) -> Result<Option<Signal>, LoopError> {
        let mut buffer = vec![0; MAX_READ];
        let questions = self.questions.as_ref().map(|questions| questions as &dyn AsFd);
        let both = poll::Either::of([questions, stop]).map_err(LoopError::Poll)?;
        loop {
            let now = self.clock.now();
            self.deliver(now);
            let next = self.link.next();
            // While packets leave one after the other, what has come is read when some of them
            // have.
            let dense = next.is_some_and(|next| next <= self.last_due + DENSE);
            let next = next.map(|next| if dense { next + GATHER } else { next });
            let deadline = backlog::wake_at(now, next);
            let open = (&self.tuns, [!dense; 2]);
            let ready = poll::wait(&self.clock, open, signals, Some(&both), deadline)?;
            let away = Away::find(deadline, self.clock.now());
            if ready.own {
                self.reply();
            }
            if ready.signal.is_some() || (ready.own && stop.is_some_and(poll::is_readable)) {
                return Ok(ready.signal);
            }
            for side in 0..2 {
                if dense || ready.tuns[side] {
                    match away {
                        Some(away) => self.admit_backlog(side, away, &mut buffer)?,
                        None => self.admit(side, &mut buffer)?,
                    }
                }
            }
        }
    }

    /// The counters so far.
    pub fn summary(&self) -> LinkSummary {
        let directions = self.link.both();
        LinkSummary {
            directions: directions.each_ref().map(Direction::counters),
            refused: self.refused,
            duplicated: directions.each_ref().map(Direction::duplicated),
            damaged: directions.each_ref().map(Direction::damaged),
            rates: self.carried.each_ref().map(Carried::rate),
            lateness: self.lateness.clone(),
        }
    }

    /// Answers who asks.
    fn reply(&mut self) {
        let Some(questions) = self.questions.take() else { return };
        for (question, reply) in questions.take() {
            let now = self.clock.now();
            self.link.advance(now);
            self.link.both_mut().iter_mut().for_each(|direction| direction.advance(now));
            let directions = self.link.both();
            let state = LinkState {
                uptime: now.saturating_since(Instant::ZERO),
                summary: self.summary(),
                queued: directions.each_ref().map(|direction| direction.link().queued()),
                inside: directions.each_ref().map(Direction::inside),
            };
            if let LinkQuestion::Change(changes) = question {
                for (direction, change) in self.link.both_mut().iter_mut().zip(*changes) {
                    change.into_iter().for_each(|change| direction.change(now, change));
                }
            }
            // Who asked may have lost patience.
            let _ = reply.try_send(state);
        }
        self.questions = Some(questions);
    }

    /// Begins anew, at time zero, as a link that is configured so and that nothing has crossed yet.
    /// What was inside is gone.
    pub fn restart(&mut self, config: impl Into<DuplexLinkConfig>) {
        self.clock = Clock::start();
        self.link = DuplexLink::new(config.into());
        self.refused = [0; 2];
        self.carried = [Carried::default(); 2];
        self.lateness = Lateness::default();
        self.last_due = Instant::ZERO;
    }

    /// The counters of both directions, and how full their queues have been, up to now.
    pub fn counts(&mut self) -> [(Counters, Occupancy); 2] {
        let now = self.clock.now();
        self.link.advance(now);
        self.link.both_mut().each_mut().map(|direction| {
            direction.advance(now);
            (direction.counters(), direction.link().bottleneck().occupancy().at(now))
        })
    }

    /// Writes every packet that has arrived by `now`.
    fn deliver(&mut self, now: Instant) {
        self.link.advance(now);
        for side in 0..2 {
            while let Some((due, mut packet)) = self.link.both_mut()[side].pop(now) {
                if let Some(tap) = &mut self.tap {
                    tap.left(side, self.clock.now(), &mut packet);
                }
                if !self.joined.add(due, &packet.ip) {
                    self.write(side);
                    self.joined.begin(due, &packet.ip);
                }
            }
            self.write(side);
            if let Some(tap) = &mut self.tap {
                tap.tell_missing(side, now, &mut self.link.both_mut()[side]);
            }
        }
    }

    /// Writes what has left the link of `side` together.
    fn write(&mut self, side: usize) {
        let packets = self.joined.packets();
        if packets.is_empty() {
            return;
        }
        let actual = self.clock.now();
        let count = packets.len() as u64;
        for (due, bytes) in packets {
            self.lateness.add(actual.saturating_since(*due));
            self.last_due = self.last_due.max(*due);
            self.carried[side].add(actual, *bytes);
        }
        let out = match self.exit {
            Exit::Same => side,
            Exit::Other => 1 - side,
        };
        let frame = self.joined.frame();
        let frame = frame.as_ref().map_or(&[][..], |frame| frame);
        let (header, bytes) = self.joined.finish();
        if let Err(error) = self.tuns[out].write(&header.moved_by(frame.len()), &[frame, bytes]) {
            tracing::debug!(device = self.tuns[out].name(), %error, "packet not taken");
            self.refused[side] += count;
        }
        self.joined.clear();
    }

    /// Whether a packet is to leave by now.
    fn is_due(&self, now: Instant) -> bool {
        self.link.next().is_some_and(|next| next <= now)
    }

    /// Reads from device `side` into its link, up to [`BURST`] times. What is to leave meanwhile
    /// does.
    fn admit(&mut self, side: usize, buffer: &mut [u8]) -> Result<(), LoopError> {
        for _ in 0..BURST {
            let now = self.clock.now();
            if self.is_due(now) {
                self.deliver(now);
            }
            if !read(&self.tuns[side], buffer, &mut self.came)? {
                break;
            }
            let now = self.clock.now();
            self.push_all(side, now, |_, _| now);
        }
        Ok(())
    }

    /// Reads what has come to device `side` while the loop was away into its link.
    fn admit_backlog(
        &mut self,
        side: usize,
        away: Away,
        buffer: &mut [u8],
    ) -> Result<(), LoopError> {
        while self.came.len() < BACKLOG {
            if !read(&self.tuns[side], buffer, &mut self.came)? {
                break;
            }
        }
        // What came while others were read was not there when the loop woke.
        let read = self.clock.now();
        let away = away.until(read);
        self.push_all(side, read, |number, count| away.arrival(number, count));
        Ok(())
    }

    /// Pushes what has been read by `read`, each packet at the moment that is `at` its number.
    fn push_all(&mut self, side: usize, read: Instant, at: impl Fn(usize, usize) -> Instant) {
        let count = self.came.len();
        for (number, packet) in self.came.drain(..).enumerate() {
            let now = at(number, count);
            let mut push = |mut packet: Datagram| {
                packet.not_before = self.link.both()[side].earliest_arrival((now, read), &packet);
                match &mut self.tap {
                    Some(tap) => tap.push(side, now, &mut self.link, packet),
                    None => self.link.push(side, now, packet),
                }
            };
            match self.limit.as_mut().filter(|limit| limit.is_exceeded_by(&packet)) {
                Some(limit) => limit.pass(side, packet).into_iter().for_each(push),
                None => push(packet),
            }
        }
    }
}

/// Adds to `came` what waits in `tun`: a packet, or all of a super-segment. False if nothing does.
fn read(tun: &Tun, buffer: &mut [u8], came: &mut Vec<Datagram>) -> Result<bool, LoopError> {
    match tun.read(buffer) {
        Ok(Some((header, bytes))) => {
            let Some((frame, packet)) = bytes.split_at_checked(tun.frame_len()) else {
                return Ok(true);
            };
            let (header, frame) = (header.moved_back_by(frame.len()), frame.try_into().ok());
            if !split(&header, packet, |packet| came.push(Packet { frame, ..packet }.into())) {
                tracing::debug!(device = tun.name(), "super-segment not understood");
            }
            Ok(true)
        }
        Ok(None) => Ok(false),
        Err(ReadError::Header(error)) => {
            tracing::debug!(device = tun.name(), %error, "packet not understood");
            Ok(true)
        }
        Err(source) => Err(LoopError::read(tun, source)),
    }
}
