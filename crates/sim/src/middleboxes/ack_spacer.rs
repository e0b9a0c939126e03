//! ACK spacing (Partridge, draft-partridge-e2e-ackspacing-00, 1998): acknowledgments are held so
//! that the data which they release keep to the rate of a bottleneck, and do not fill its queue.
//!
//! The draft leaves the algorithm open, and asks how to tell slow start, in which an acknowledgment
//! releases twice what it acknowledges. Here the box looks at the data that pass it the other way:
//! a connection is in slow start as long as what it has in flight, past the box, grows by more than
//! a quarter and more than a segment in a round trip, and is not repairing a loss. Then an
//! acknowledgment takes twice the line's time for the segments that it acknowledges, else once.
//! Order and content stay. Where the data take another path, each acknowledgment takes the time of
//! what it acknowledges.
//!
//! All connections share one rate, as they share the bottleneck; only segments that do nothing but
//! acknowledge are held. The rate is given, or estimated ([`BottleneckRate`]) and taken 5 % higher:
//! data that are sent at the estimate would never show a greater one. Until there is an estimate,
//! nothing is held.

use super::FourTuple;
use super::bottleneck_rate::BottleneckRate;
use crate::node::Middlebox;
use crate::packet::{Content, Packet};
use bentpipe_core::link::LinkPacket as _;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Rate;
use bentpipe_core::wire::SeqNum;
use bentpipe_scenario::MiddleboxSeries;
use std::collections::{BTreeMap, VecDeque};

/// What is sent is so much faster than what has been seen of the bottleneck.
const PROBE: f64 = 1.05;

/// A spacer of what goes out.
#[derive(Debug)]
pub(super) struct AckSpacer {
    pace: Pace,
    waiting: VecDeque<Packet>,
    /// When the next one may pass.
    free: Instant,
    /// By the way of the acknowledgments.
    connections: BTreeMap<FourTuple, SpacedConnection>,
}

/// The bottleneck's rate.
#[derive(Debug)]
enum Pace {
    Given(Rate),
    Estimated(BottleneckRate),
}

impl Pace {
    fn rate(&self) -> Option<Rate> {
        match self {
            Pace::Given(rate) => Some(*rate),
            Pace::Estimated(estimate) => {
                let bits = estimate.rate()?.bits_per_sec() as f64 * PROBE;
                Some(Rate::from_bits_per_sec(bits as u64 + 1))
            }
        }
    }
}

/// What is known of a connection whose data pass the other way.
#[derive(Debug, Default)]
struct SpacedConnection {
    /// One past the last byte of data that has passed.
    sent: Option<SeqNum>,
    /// When it passed.
    sent_at: Instant,
    /// The newest acknowledgment that has come to the box, and that has passed it.
    arrived: Option<SeqNum>,
    acked: Option<SeqNum>,
    /// What had passed when a loss was last reported: what is acknowledged below is repaired.
    repair: Option<SeqNum>,
    /// A segment's bytes on the wire, and of its payload.
    segment: (u64, u64),
    /// The round ends when this is acknowledged.
    round_end: Option<SeqNum>,
    /// The most that has been in flight in it, and in the one before; none if that is unknown.
    flight: i32,
    before: Option<i32>,
    steady: bool,
}

impl AckSpacer {
    /// That keeps to `rate`, or to its own estimate of the bottleneck's.
    pub(super) fn new(rate: Option<Rate>) -> AckSpacer {
        AckSpacer {
            pace: rate.map_or(Pace::Estimated(BottleneckRate::default()), Pace::Given),
            waiting: VecDeque::new(),
            free: Instant::ZERO,
            connections: BTreeMap::new(),
        }
    }

    /// An acknowledgment has come to the box.
    fn arrives(&mut self, now: Instant, packet: &Packet) {
        let Content::Tcp(tcp, _) = &packet.content else { return };
        let Some(tuple) = FourTuple::of(packet) else { return };
        let acknowledged = self.connections.entry(tuple).or_default().arrives(tcp.ack);
        if let Pace::Estimated(estimate) = &mut self.pace {
            match acknowledged {
                Some(bytes) => estimate.on_ack(now, bytes),
                None => estimate.interrupt(),
            }
        }
    }

    fn let_pass(&mut self, now: Instant, send: &mut dyn FnMut(usize, Packet)) {
        while self.free <= now
            && let Some(packet) = self.waiting.pop_front()
        {
            let tuple = FourTuple::of(&packet);
            if let (Some(tuple), Content::Tcp(tcp, _)) = (tuple, &packet.content) {
                let connection = self.connections.entry(tuple).or_default();
                let bytes = connection.releases(tcp.ack);
                self.free =
                    now + self.pace.rate().map_or(Duration::ZERO, |rate| rate.time_for(bytes));
            }
            send(1, packet);
        }
    }
}

impl SpacedConnection {
    /// `ack` has come to the box: bytes on the wire that it newly acknowledges; none if it tells of
    /// a loss or of a repair.
    fn arrives(&mut self, ack: SeqNum) -> Option<u64> {
        let before = self.arrived.replace(ack)?;
        let acked = ack.distance_from(before);
        if acked <= 0 {
            self.arrived = Some(before);
            self.repair =
                self.sent.filter(|sent| acked == 0 && sent.distance_from(ack) > 0).or(self.repair);
            return None;
        }
        if let Some(repair) = self.repair {
            self.repair = Some(repair).filter(|repair| ack.distance_from(*repair) < 0);
            return None;
        }
        Some(self.on_the_wire(acked))
    }

    /// The bytes on the wire that `ack` releases.
    fn releases(&mut self, ack: SeqNum) -> u64 {
        let before = self.acked.unwrap_or(ack);
        let acked = ack.distance_from(before);
        if acked < 0 {
            return 0;
        }
        self.acked = Some(ack);
        let slow_start = self.sent.is_some_and(|sent| self.in_slow_start(ack, sent));
        let bytes = self.on_the_wire(acked);
        if slow_start { 2 * bytes } else { bytes }
    }

    /// What so many bytes of payload take on the wire. Before any data has been seen, without
    /// headers.
    fn on_the_wire(&self, payload: i32) -> u64 {
        let (wire, of) = self.segment;
        let payload = u64::from(payload.unsigned_abs());
        (payload * wire).checked_div(of).unwrap_or(payload)
    }

    fn in_slow_start(&mut self, ack: SeqNum, sent: SeqNum) -> bool {
        if self.repair.is_some() {
            // What is in flight at the end of a repair is no measure of the window.
            (self.steady, self.before, self.flight, self.round_end) = (true, None, 0, Some(sent));
        } else if self.round_end.is_none_or(|end| ack.distance_from(end) >= 0) {
            if self.before.is_some() {
                self.steady = !self.grows();
            }
            self.before = Some(self.flight).filter(|flight| *flight > 0);
            (self.flight, self.round_end) = (sent.distance_from(ack), Some(sent));
        }
        !self.steady
    }

    /// Whether what is in flight has grown as in slow start since the round before.
    fn grows(&self) -> bool {
        let segment = i32::try_from(self.segment.1).unwrap_or(i32::MAX);
        self.before.is_some_and(|before| {
            let one_more = before.saturating_add(segment.min(before / 2));
            self.flight > one_more.max(before.saturating_add(before / 4))
        })
    }

    fn on_data(&mut self, now: Instant, packet: &Packet) {
        self.sent_at = now;
        let Content::Tcp(tcp, body) = &packet.content else { return };
        let end = tcp.seq + body.len() as u64;
        if self.sent.is_none_or(|sent| end.distance_from(sent) > 0) {
            self.sent = Some(end);
            self.segment = (packet.wire_len(), body.len() as u64);
            // Growth shows before the round is over.
            if let Some(acked) = self.acked.filter(|_| self.repair.is_none()) {
                self.flight = self.flight.max(end.distance_from(acked));
                self.steady &= !self.grows();
            }
        }
    }
}

impl Middlebox for AckSpacer {
    fn handle(
        &mut self,
        now: Instant,
        port: usize,
        packet: Packet,
        send: &mut dyn FnMut(usize, Packet),
    ) {
        if port == 1 {
            if let (Some(tuple), Content::Tcp(_, body)) = (FourTuple::of(&packet), &packet.content)
                && !body.is_empty()
            {
                self.connections.entry(tuple.reversed()).or_default().on_data(now, &packet);
            }
            return send(0, packet);
        }
        if !packet.is_pure_ack() {
            return send(1, packet);
        }
        self.arrives(now, &packet);
        self.waiting.push_back(packet);
        self.let_pass(now, send);
    }

    fn handle_timeout(&mut self, now: Instant, send: &mut dyn FnMut(usize, Packet)) {
        self.let_pass(now, send);
    }

    fn observed(&self, series: MiddleboxSeries, since: Instant) -> Option<f64> {
        match series {
            MiddleboxSeries::SpacingRate => Some(self.pace.rate()?.bits_per_sec() as f64),
            MiddleboxSeries::SlowStarts => {
                let live = |one: &&SpacedConnection| one.sent_at >= since && one.sent.is_some();
                let live = self.connections.values().filter(live);
                Some(live.filter(|one| !one.steady).count() as f64)
            }
        }
    }

    fn next(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then_some(self.free)
    }
}
