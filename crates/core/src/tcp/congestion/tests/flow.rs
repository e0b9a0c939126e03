//! A flow over a bottleneck, packet by packet, for policies that are led by rates: a queue, a line,
//! a delay, losses, and a receiver that acknowledges each segment by name. What is overtaken is
//! lost at once; a packet that leaves later stands for it, and a recovery ends when all of these
//! have arrived.

use super::{AckEvent, Congestion, CongestionEvent, Departed, LinkReport, Lost, PacingBasis};
use super::{RecoveryPhase, SMSS};
use crate::tcp::congestion::filter::draw;
use crate::tcp::delivery_rate::{DeliveryRate, Departure, Newest};
use crate::time::{Duration, Instant};
use crate::units::{Bytes, Offset};
use std::collections::VecDeque;

/// A path of `rate` bytes a second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathConfig {
    pub(crate) rate: f64,
    pub(crate) rtt: Duration,
    /// Bytes that the queue holds.
    pub(crate) queue: f64,
    /// One in so many is lost besides, at random; none of 0.
    pub(crate) loss: u64,
    /// A token bucket of so many bytes, filled at `rate`, drops what exceeds it, and the line is
    /// ten times as fast.
    pub(crate) bucket: Option<f64>,
    /// The path takes up to so much longer, drawn anew each span of the second length; order is
    /// kept.
    pub(crate) jitter: Option<(Duration, Duration)>,
}

impl PathConfig {
    /// It holds 100 segments, and its queue as many.
    pub(crate) const SHORT: PathConfig = PathConfig {
        rate: 1_000_000.0,
        rtt: Duration::from_millis(100),
        queue: 100_000.0,
        loss: 0,
        bucket: None,
        jitter: None,
    };
}

#[derive(Debug)]
struct InFlight {
    number: u64,
    sent_at: Instant,
    departure: Departure,
    /// When it is acknowledged, unless it is lost.
    back_at: Option<Instant>,
    /// It stands for one that was lost.
    repairs: bool,
}

#[derive(Debug)]
pub(crate) struct Flow<C> {
    pub(crate) congestion: C,
    pub(crate) link: PathConfig,
    pub(crate) now: Instant,
    /// No more than so many bytes a second are written; none: as many as can be sent.
    pub(crate) application: Option<f64>,
    /// Packets that queued, by the greatest queue since this was last set to zero.
    pub(crate) longest: f64,
    pub(crate) delivered: Bytes,
    pub(crate) lost: Bytes,
    /// What the control has reported, and whether it limits itself.
    pub(crate) report: LinkReport,
    pub(crate) app_limited: bool,
    rate: DeliveryRate,
    under_way: VecDeque<InFlight>,
    sent: u64,
    /// Rounds so far; one ends when this packet is delivered.
    round: (u64, u64),
    line_free: Instant,
    tokens: (Instant, f64),
    next_send: Instant,
    written_at: Instant,
    min_rtt: Option<Duration>,
    srtt: Option<Duration>,
    /// Recovery lasts until this packet is delivered.
    recover: Option<u64>,
    /// And until so many have been repaired: not sent yet, and under way.
    owed: u64,
    repairing: u64,
    after_timeout: bool,
    random: u64,
}

impl<C: Congestion> Flow<C> {
    pub(crate) fn new(congestion: C, link: PathConfig) -> Flow<C> {
        let now = Instant::from_millis(1000);
        let handshake = Some(link.rtt + Duration::from_secs_f64(SMSS.as_f64() / link.rate));
        Flow {
            congestion,
            link,
            now,
            application: None,
            longest: 0.0,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            report: LinkReport::default(),
            app_limited: false,
            rate: DeliveryRate::default(),
            under_way: VecDeque::new(),
            sent: 0,
            round: (0, 0),
            line_free: now,
            tokens: (now, link.bucket.unwrap_or_default()),
            next_send: now,
            written_at: now,
            min_rtt: handshake,
            srtt: handshake,
            recover: None,
            owed: 0,
            repairing: 0,
            after_timeout: false,
            random: 1,
        }
    }

    pub(crate) fn bdp(&self) -> f64 {
        self.link.rate * self.link.rtt.as_secs_f64()
    }

    pub(crate) fn in_flight(&self) -> Bytes {
        self.under_way.len() as u64 * SMSS
    }

    /// What waits in the queue now, in bytes.
    pub(crate) fn queue(&self) -> f64 {
        self.line_free.saturating_since(self.now).as_secs_f64() * self.link.rate
    }

    /// The application writes nothing for so long.
    pub(crate) fn pause(&mut self, span: Duration) {
        self.written_at = self.now + span;
    }

    pub(crate) fn run_for(&mut self, span: Duration) {
        let end = self.now + span;
        self.run_until(|flow| flow.now >= end);
    }

    /// Runs until `over`, asked at each acknowledgment. True unless ten minutes pass before.
    pub(crate) fn run_until(&mut self, mut over: impl FnMut(&Flow<C>) -> bool) -> bool {
        let end = self.now + Duration::from_secs(600);
        while self.now < end {
            self.send();
            let back = self.under_way.iter().find_map(|packet| packet.back_at);
            let timer = self.under_way.front().map(|first| first.sent_at + 3 * self.link.rtt);
            let room = self.in_flight() + SMSS <= self.congestion.window().max(SMSS);
            let sends = room.then(|| self.next_send.max(self.written_at));
            let next = [back.or(timer), sends].into_iter().flatten().min();
            self.now = self.now.max(next.expect("something happens"));
            if back == Some(self.now) {
                self.acknowledge();
                if over(self) {
                    return true;
                }
            } else if back.is_none() && timer.is_some_and(|timer| timer <= self.now) {
                self.time_out();
            }
        }
        false
    }

    fn send(&mut self) {
        loop {
            let in_flight = self.in_flight();
            if in_flight > Bytes::ZERO && in_flight + SMSS > self.congestion.window() {
                return;
            }
            if self.now < self.written_at {
                self.rate.set_app_limited(in_flight);
                return;
            }
            if self.now < self.next_send {
                return;
            }
            if let Some(rate) = self.application {
                let from = self.written_at.max(self.now - Duration::from_millis(1));
                self.written_at = from + Duration::from_secs_f64(SMSS.as_f64() / rate);
            }
            self.transmit(in_flight);
        }
    }

    fn transmit(&mut self, in_flight: Bytes) {
        let app_limited = self.rate.is_app_limited();
        let departure = self.rate.departure(self.now, in_flight + SMSS, in_flight == Bytes::ZERO);
        let back_at = self.cross();
        self.sent += 1;
        let (number, sent_at) = (self.sent, self.now);
        let repairs = self.owed > 0;
        self.owed -= u64::from(repairs);
        self.repairing += u64::from(repairs);
        self.under_way.push_back(InFlight { number, sent_at, departure, back_at, repairs });
        let now = self.now;
        let departed = Departed { now, bytes: SMSS, in_flight, app_limited };
        self.congestion.on_sent(&departed);
        let rate = match self.congestion.pacing() {
            PacingBasis::Rate(rate) => rate.map(|rate| rate.bits_per_sec() as f64 / 8.0),
            PacingBasis::Window { gain } => {
                self.srtt.map(|srtt| self.congestion.window().as_f64() * gain / srtt.as_secs_f64())
            }
            PacingBasis::WindowUpTo { .. } => panic!("the sender's tests have it"),
        };
        if let Some(rate) = rate.filter(|_| self.congestion.needs_pacing()) {
            let gap = Duration::from_secs_f64(SMSS.as_f64() / rate);
            self.next_send = self.next_send.max(now) + gap;
        }
    }

    /// When the packet that leaves now is acknowledged.
    fn cross(&mut self) -> Option<Instant> {
        let PathConfig { rate, rtt, queue, loss, bucket, jitter } = self.link;
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if loss > 0 && (self.random >> 33).is_multiple_of(loss) {
            return None;
        }
        if let Some(size) = bucket {
            let (at, tokens) = self.tokens;
            let filled = tokens + self.now.saturating_since(at).as_secs_f64() * rate;
            self.tokens = (self.now, filled.min(size));
            if self.tokens.1 < SMSS.as_f64() {
                return None;
            }
            self.tokens.1 -= SMSS.as_f64();
        }
        let rate = if bucket.is_some() { 10.0 * rate } else { rate };
        let waits = self.line_free.saturating_since(self.now).as_secs_f64() * rate;
        if waits > queue {
            return None;
        }
        self.longest = self.longest.max(waits);
        let line = Duration::from_secs_f64(SMSS.as_f64() / rate);
        self.line_free = self.line_free.max(self.now) + line;
        let jitter = jitter.map_or(Duration::ZERO, |(max, span)| {
            let number = self.line_free.as_nanos() / span.as_nanos() as u64;
            max * (draw(Instant::ZERO, Bytes::new(number)) % 1000) as u32 / 1000
        });
        let last = self.under_way.iter().rev().find_map(|packet| packet.back_at);
        Some((self.line_free + rtt + jitter).max(last.unwrap_or(Instant::ZERO)))
    }

    fn acknowledge(&mut self) {
        let in_flight_before = self.in_flight();
        let mut lost = Bytes::ZERO;
        let packet = loop {
            let first = self.under_way.pop_front().expect("one is back");
            if first.back_at.is_some() {
                break first;
            }
            lost += SMSS;
            self.mark_lost(&first);
        };
        let mut newest: Option<Newest> = None;
        if packet.number > self.round.1 {
            self.round = (self.round.0 + 1, self.sent);
        }
        let departure = (packet.sent_at, packet.departure);
        self.rate.note_delivered(departure, SMSS, Offset::new(packet.number), &mut newest);
        self.delivered += SMSS;
        self.lost += lost;
        let sample = self.rate.sample(self.now, newest);
        let rtt = self.now.saturating_since(packet.sent_at);
        self.min_rtt = self.min_rtt.map(|min| min.min(rtt));
        self.srtt = self.srtt.map(|srtt| (srtt * 7 + rtt) / 8);
        if lost > Bytes::ZERO && self.recover.is_none() {
            self.recover = Some(self.sent);
            self.congestion.save_undo();
            self.congestion.on_loss(&self.event());
        }
        self.repairing -= u64::from(packet.repairs);
        let repaired = self.owed + self.repairing == 0;
        if self.recover.take_if(|until| repaired && packet.number >= *until).is_some() {
            self.after_timeout = false;
            self.congestion.on_recovered(self.in_flight(), SMSS);
        }
        let in_recovery = self.recover.is_some() && !self.after_timeout;
        let phase = match self.recover {
            None => RecoveryPhase::Open,
            Some(_) if in_recovery => RecoveryPhase::Recovery,
            Some(_) => RecoveryPhase::Turning { in_recovery },
        };
        let response = self.congestion.on_ack(&AckEvent {
            now: self.now,
            smss: SMSS,
            acked: SMSS,
            newly: SMSS,
            delivered: self.rate.delivered(),
            lost,
            in_flight_before,
            in_flight: self.in_flight(),
            rtt: Some(rtt),
            rtt_again: None,
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            sample,
            round: self.round.0,
            next_send: self.next_send,
            window_limited: in_flight_before + SMSS > self.congestion.window(),
            selective: true,
            phase,
            after_timeout: self.after_timeout,
        });
        self.report = self.report.and(response.report);
        self.app_limited = response.app_limited;
        if response.app_limited {
            self.rate.set_app_limited(self.in_flight());
        }
    }

    /// The retransmission timer expires: all that is under way is lost.
    pub(crate) fn time_out(&mut self) {
        let event = CongestionEvent { in_flight: Bytes::ZERO, ..self.event() };
        for packet in std::mem::take(&mut self.under_way) {
            self.mark_lost(&packet);
        }
        self.recover = Some(self.sent);
        self.after_timeout = true;
        self.congestion.on_timeout(&event, false);
    }

    fn mark_lost(&mut self, packet: &InFlight) {
        let of_this = self.recover.is_none_or(|until| packet.number <= until);
        self.owed += u64::from(of_this || packet.repairs);
        self.repairing -= u64::from(packet.repairs);
        let sample = self.rate.note_lost(packet.departure, SMSS);
        let (now, delivered) = (self.now, self.rate.delivered());
        self.congestion.on_lost(&Lost { now, delivered, sample });
    }

    pub(crate) fn event(&self) -> CongestionEvent {
        let in_flight = self.in_flight();
        CongestionEvent { now: self.now, flight_size: in_flight, in_flight, smss: SMSS }
    }
}
