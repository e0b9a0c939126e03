//! The satellite leg's congestion control (RFC 5681, 6298), read from the packets that a gateway
//! puts on the link and gets from it.

use super::*;
use bentpipe_core::link::QueueLimit;
use bentpipe_sim::Close;
use std::ops::Range;

const RATE: Rate = Rate::from_bits_per_sec(8_000_000);
const SEGMENT: f64 = 1448.0;
const ROUND_TRIP: Duration = Duration::from_millis(502);

/// Loses what goes onwards in a span.
#[derive(Debug)]
struct Cut(Range<Instant>);

impl Middlebox for Cut {
    fn handle(
        &mut self,
        now: Instant,
        port: usize,
        packet: Packet,
        send: &mut dyn FnMut(usize, Packet),
    ) {
        if port == 1 || !self.0.contains(&now) {
            send(1 - port, packet);
        }
    }
}

/// An upload without end, of which all is lost that the near gateway sends in `cut`; what passes on
/// its satellite side until `end`.
fn upload(leg: &str, cut: Range<Instant>, end: u64) -> Trace {
    let mut config = Config { super_segments: false, ..Config::default() };
    config.satellite.set_all(leg).unwrap();
    let probe = Probe::default();
    let mut path = Path::geo(RATE, [config.clone(), config]);
    for middlebox in [Box::new(Cut(cut)) as Box<dyn Middlebox>, Box::new(probe.clone())] {
        path.boxes.insert(1, Node::Middlebox(middlebox));
        path.links.insert(1, LinkConfig::IDEAL);
    }
    let product = QueueLimit::bandwidth_delay_product(RATE, Duration::from_millis(500));
    path.links[3].queue = product.into();
    let far = Script { close: Close::AfterPeer, ..Script::default() };
    let (mut world, _) = path.call(Script { bytes: 1 << 40, ..Script::default() }, far).build();
    world.run(Duration::from_millis(end));
    Trace::of(&probe.0.borrow())
}

/// A segment with data that leaves for the satellite link.
#[derive(Debug, Clone, Copy)]
struct Sent {
    at: Instant,
    /// Offsets in the stream.
    start: i64,
    end: i64,
    /// It begins below what was sent before.
    again: bool,
    /// From the oldest offset that is not acknowledged to the highest that has been sent.
    flight: i64,
}

/// An acknowledgment that comes from there.
#[derive(Debug, Clone, Copy)]
struct Acked {
    at: Instant,
    offset: i64,
    /// It reports what lies behind a hole (RFC 2018).
    sack: bool,
}

#[derive(Debug, Default)]
struct Trace {
    sent: Vec<Sent>,
    acked: Vec<Acked>,
}

impl Trace {
    fn of(seen: &[ProbedSegment]) -> Trace {
        let mut trace = Trace::default();
        let first = seen[0].tcp.seq + 1;
        let (mut una, mut highest) = (0, 0);
        for ProbedSegment { at, leaves, tcp, len } in
            seen.iter().filter(|it| !it.tcp.has(Flags::SYN))
        {
            if !leaves {
                let offset = i64::from(tcp.ack.distance_from(first));
                una = una.max(offset);
                let sack = !tcp.options.sack.is_empty();
                trace.acked.push(Acked { at: *at, offset, sack });
            } else if *len > 0 {
                let start = i64::from(tcp.seq.distance_from(first));
                let end = start + *len as i64;
                let again = start < highest;
                highest = highest.max(end);
                let flight = highest - una;
                trace.sent.push(Sent { at: *at, start, end, again, flight });
            }
        }
        trace
    }

    fn between(&self, from: Instant, to: Instant) -> impl Iterator<Item = &Sent> {
        self.sent.iter().filter(move |sent| (from..to).contains(&sent.at))
    }

    /// The largest flight of each round trip, in segments. A round trip ends when what was sent
    /// last at its beginning is acknowledged.
    fn flights(&self, from: Instant, to: Instant) -> Vec<f64> {
        let (mut flights, mut begin) = (Vec::new(), from);
        loop {
            let before = self.sent.iter().rev().find(|sent| sent.at <= begin);
            let edge = before.map_or(self.sent[0].end, |sent| sent.end);
            let end = self.acked.iter().find(|acked| acked.at > begin && acked.offset >= edge);
            let Some(end) = end.map(|acked| acked.at).filter(|&at| at < to) else {
                return flights;
            };
            let max = self.between(begin, end).map(|sent| sent.flight).max();
            flights.push(max.unwrap_or(0) as f64 / SEGMENT);
            begin = end;
        }
    }
}

fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

/// Nothing is lost but what the queue has no room for.
fn undisturbed() -> Range<Instant> {
    at(0)..at(0)
}

/// What is in flight in each round trip of a beginning.
fn beginning(leg: &str) -> Vec<f64> {
    let trace = upload(leg, undisturbed(), 5_000);
    let flights = trace.flights(trace.sent[0].at, at(5_000));
    println!("{leg}: {flights:?}");
    flights
}

/// G99-D-4: slow start. What is in flight doubles from round trip to round trip, from the initial
/// window until the queue is full.
#[test]
fn slow_start_doubles_what_is_in_flight() {
    for leg in ["congestion=standard", "congestion=standard,recovery=fack,iw=4"] {
        let flights = beginning(leg);
        assert_eq!(flights[0], if leg.ends_with("iw=4") { 4.0 } else { 10.0 });
        for pair in flights[..7].windows(2) {
            // Two more where an acknowledgment of the round before was delayed.
            assert!((1.9..2.6).contains(&(pair[1] / pair[0])), "{leg}: {flights:?}");
        }
    }
}

/// The usual one begins with fifty segments over half a second, spread over that. The ten that
/// leave at once tell how many may follow: half of what the link holds.
#[test]
fn slow_start_on_an_unknown_link_begins_by_the_round_trip() {
    let flights = beginning("");
    let product = 8e6 / 8.0 * 0.5 / 1500.0;
    assert!((44.0..=50.0).contains(&flights[0]), "{flights:?}");
    assert!((0.45..0.55).contains(&(flights[1] / product)), "{flights:?}");
}

/// With ten it quadruples it while acknowledgments come in short trains, up to half of what the
/// link holds, and stops at what it holds and a quarter, and 16 segments.
#[test]
fn slow_start_on_an_unknown_link_takes_three_round_trips_to_half_of_what_it_holds() {
    let flights = beginning("iw=10");
    assert_eq!(flights[..2], [10.0, 40.0]);
    let product = 8e6 / 8.0 * 0.5 / 1500.0;
    assert!((0.4..0.55).contains(&(flights[2] / product)), "{flights:?}");
    assert!((0.7..1.1).contains(&(flights[3] / product)), "{flights:?}");
    assert!(
        flights[4..].iter().all(|flight| (1.0..1.4).contains(&(flight / product))),
        "{flights:?}"
    );
}

/// G99-D-4: congestion avoidance. After a loss a segment more in each round trip, and none leaves
/// but when an acknowledgment comes.
#[test]
fn congestion_avoidance_adds_a_segment_each_round_trip() {
    let trace = upload("congestion=standard", at(8_000)..at(8_003), 50_000);
    let flights = trace.flights(at(15_000), at(50_000));
    let steps: Vec<f64> = flights.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(steps.len() > 50 && steps.iter().all(|&step| step == 1.0), "{flights:?}");
    let clocked = |sent: &&Sent| {
        let came = trace.acked.partition_point(|acked| acked.at < sent.at);
        trace.acked.get(came).is_some_and(|acked| acked.at == sent.at)
    };
    let mut sent = trace.between(at(15_000), at(50_000));
    assert!(sent.by_ref().take(10_000).filter(clocked).count() == 10_000, "self-clocking");
}

/// G99-D-4: fast retransmit. The third acknowledgment that asks for a segment brings it, well
/// before the timer (a second at least), and what is in flight is halved.
#[test]
fn a_lost_segment_is_retransmitted_when_three_acknowledgments_ask_for_it() {
    for recovery in ["rack", "sack"] {
        let leg = format!("ack=delayed:40ms,congestion=standard,recovery={recovery}");
        // What slow start has lost is repaired by then.
        let trace = upload(&leg, at(16_000)..at(16_003), 19_000);
        let again = trace.sent.iter().find(|sent| sent.again && sent.at > at(16_000)).unwrap();
        let asked = |it: &&Acked| it.sack && it.at <= again.at && it.offset == again.start;
        let asked: Vec<_> = trace.acked.iter().filter(asked).collect();
        assert_eq!((asked.len(), asked[2].at), (3, again.at), "{recovery}: {asked:?}");
        assert!(again.at.saturating_since(asked[0].at) < Duration::from_millis(50), "{recovery}");
        let flight = |from, to| trace.between(at(from), at(to)).map(|it| it.flight).max().unwrap();
        let (before, after) = (flight(15_500, 16_000), flight(18_300, 19_000));
        let share = after as f64 / before as f64;
        println!("{recovery}: {before} to {after} bytes in flight");
        assert!((0.49..0.52).contains(&share), "{recovery}: {share}");
    }
}

/// G99-D-4: the timer backs off. While nothing gets through, the first segment is retransmitted
/// again and again, each time after twice as long. A last segment beyond (RFC 8985, 7), or three of
/// them, leave before. From the second time on the gateway reckons with a change of route, and then
/// sends what else it holds, no more than half of the last window in a round trip.
#[test]
fn the_timer_doubles_while_nothing_gets_through() {
    for leg in ["", "congestion=standard", "congestion=standard,recovery=fack"] {
        let trace = upload(leg, at(8_000)..at(28_000), 28_000);
        let heard = trace.acked.last().unwrap();
        let mut times = vec![heard.at];
        let mut others = Vec::new();
        for sent in trace.between(heard.at + Duration::from_nanos(1), at(28_000)) {
            if sent.start != heard.offset {
                others.push(*sent);
            } else if times.last() != Some(&sent.at) {
                times.push(sent.at);
            }
        }
        // What is sent blindly begins with the same segment, and goes on at once.
        let is_blind = |at: Instant| {
            let soon = at + Duration::from_millis(200);
            let next = others.iter().find(|sent| sent.at > at && sent.at < soon);
            next.is_some_and(|sent| sent.start <= heard.offset + 1448)
        };
        times.retain(|at| !is_blind(*at));
        let waits: Vec<Duration> =
            times.windows(2).map(|pair| pair[1].saturating_since(pair[0])).collect();
        println!("{leg}: {waits:?}");
        assert!(waits.len() >= 3 && waits[0] >= Duration::from_secs(1), "{leg}: {waits:?}");
        for pair in waits[1..].windows(2) {
            assert_eq!(pair[1], pair[0] * 2, "{leg}: {waits:?}");
        }
        // What the window still had room for is paced, and leaves behind the last acknowledgment.
        let early = others.iter().filter(|sent| sent.again && sent.at < times[2]).count();
        assert!(early <= if leg.is_empty() { 3 } else { 1 }, "{leg}: {others:?}");
        let mut starts: Vec<i64> = others.iter().map(|sent| sent.start).collect();
        starts.sort_unstable();
        let max = starts.chunk_by(|a, b| a == b).map(<[i64]>::len).max();
        assert!(max <= Some(3), "{leg}: {max:?} times, at 2 and 3 timeouts, and the last one");
        let before = trace.between(at(7_000), at(8_000)).map(|it| it.flight).max().unwrap();
        for sent in &others {
            let round = sent.at..sent.at + ROUND_TRIP;
            let bytes: i64 =
                1448 * others.iter().filter(|it| round.contains(&it.at)).count() as i64;
            assert!(bytes <= before.max(10 * 1448), "{leg}: {bytes} bytes, {before} before");
        }
    }
}

/// G99-D-4: after a timeout slow start begins with one segment.
#[test]
fn after_a_timeout_one_segment_leaves_and_then_twice_as_many_each_round_trip() {
    let trace = upload("congestion=standard", at(8_000)..at(11_000), 17_000);
    // The first one that gets through; what it brings comes a round trip and some queueing later.
    let first = trace.between(at(11_000), at(17_000)).next().unwrap().at;
    let rounds = (0..8).map(|round| {
        let begin = first + (ROUND_TRIP + Duration::from_millis(1)) * round;
        trace.between(begin, begin + ROUND_TRIP).count()
    });
    assert_eq!(rounds.collect::<Vec<_>>(), [1, 2, 4, 8, 16, 32, 64, 128]);
}
