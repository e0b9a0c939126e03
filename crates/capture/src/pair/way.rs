//! One direction at two places: losses, duplicates and reordering.

use super::clock::{Clock, Spread};
use super::packets::{Matched, NONE, Sample};
use super::stream::{Backlog, Streamed};
use super::view::View;
use crate::connection::{Flags, Segment};
use crate::direction::Direction;

mod losses;

pub use losses::Loss;

/// Packets, and their bytes of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lost {
    /// On the wire: a super-segment is as many as it was divided into.
    pub packets: u64,
    /// Of data.
    pub bytes: u64,
}

impl Lost {
    pub(super) fn add(&mut self, packets: u64, bytes: u64) {
        self.packets += packets;
        self.bytes += bytes;
    }
}

/// Packets that later ones overtook (RFC 4737, 3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reordered {
    /// The number of packets.
    pub packets: u64,
    /// The largest extent: so many packets before it the first later one arrived (4.2.1).
    pub extent: u64,
    /// The largest time since the first later one arrived, in nanoseconds (4.2.2).
    pub late: i64,
}

/// A direction of a connection at two places.
#[derive(Debug)]
pub struct Way {
    /// The direction, of the first place's connection.
    pub direction: Direction,
    /// The place upstream and the one downstream: 0 or 1.
    pub places: [usize; 2],
    /// The captured packets of the first place and the second.
    pub seen: [Lost; 2],
    /// Packets that passed upstream and did not come.
    pub lost: Lost,
    /// Packets that the capture downstream lacks.
    ///
    /// They were acknowledged there, and not retransmitted.
    pub unrecorded: Lost,
    /// Packets that the capture upstream lacks.
    pub only: Lost,
    /// Packets of a time in which the other file has none: upstream, and downstream.
    pub outside: [u64; 2],
    /// Packets that came once more.
    pub duplicated: u64,
    /// Packets that others overtook.
    pub reordered: Reordered,
    /// The losses, in their order.
    pub losses: Vec<Loss>,
    /// The spread of delays above the least one: of packets, or of bytes.
    pub spread: Option<Spread>,
    /// The delay of each packet, or of each range of bytes.
    pub samples: Vec<Sample>,
    /// Bytes that are later than at the least delay.
    pub backlog: Backlog,
    /// The bytes through a gateway.
    pub streamed: Option<Streamed>,
}

impl Way {
    pub(super) fn new(direction: Direction, places: [usize; 2]) -> Way {
        Way {
            direction,
            places,
            seen: [Lost::default(); 2],
            lost: Lost::default(),
            unrecorded: Lost::default(),
            only: Lost::default(),
            outside: [0; 2],
            duplicated: 0,
            reordered: Reordered::default(),
            losses: Vec::new(),
            spread: None,
            samples: Vec::new(),
            backlog: Backlog::default(),
            streamed: None,
        }
    }
}

/// What each place captured of a direction.
pub(super) fn seen(views: &[View<'_>; 2], way: Direction) -> [Lost; 2] {
    views.each_ref().map(|view| {
        let mut sum = Lost::default();
        view.sent(way).for_each(|(_, segment)| sum.add(1, u64::from(segment.len)));
        sum
    })
}

/// Compares both directions packet by packet.
pub(super) fn compare(views: &[View<'_>; 2], matched: &Matched) -> (Clock, [Way; 2]) {
    let mut ways = Direction::BOTH.map(|way| Way::new(way, matched.places(way)));
    let samples = Direction::BOTH.map(|way| samples(views, matched, way));
    let clock = Clock::fit(&samples, matched.downstream);
    for (way, samples) in ways.iter_mut().zip(samples) {
        let direction = way.direction;
        way.seen = seen(views, direction);
        way.spread = clock.spread(direction, &samples);
        let late = samples.iter().map(|one| {
            let above = clock.above(direction, *one);
            (one.at, one.at.saturating_add(above), i64::from(one.bytes))
        });
        way.backlog = Backlog::of(late);
        way.samples = samples;
        let bounds = Bounds::of(views, way, &clock);
        losses::find(way, views, matched, &bounds);
        arrivals(way, views, matched, &bounds);
    }
    (clock, ways)
}

/// The packets of a direction that both places have.
fn samples(views: &[View<'_>; 2], matched: &Matched, way: Direction) -> Vec<Sample> {
    let [up, down] = matched.places(way);
    let arrived = views[down].sent(way).filter_map(|(index, segment)| {
        let partner = matched.partners[down][index as usize];
        let once = partner != NONE && !matched.duplicates[down].contains(&index);
        once.then(|| {
            let sent = views[up].segment(partner).at;
            let at = if up == 0 { sent } else { segment.at };
            Sample { at, delay: segment.at.saturating_sub(sent), bytes: segment.len }
        })
    });
    arrived.collect()
}

/// The times in which a packet of one place would be in the other's file.
struct Bounds {
    /// When the file upstream has packets, and the one downstream.
    spans: [(i64, i64); 2],
    /// The least delay downstream, and the largest one.
    delays: (i64, i64),
}

impl Bounds {
    fn of(views: &[View<'_>; 2], way: &Way, clock: &Clock) -> Bounds {
        let [up, down] = way.places;
        let all = (i64::MIN, i64::MAX);
        let Some(least) = clock.least[way.direction.index()] else {
            return Bounds { spans: [all; 2], delays: (0, 0) };
        };
        let span = |place: usize| {
            let (first, last) = views[place].span;
            // A place that saw the SYN was there from the beginning on.
            if views[place].begins(way.direction) { (i64::MIN, last) } else { (first, last) }
        };
        // With drift, the largest delay of the line counts.
        let grown = clock.drift.map_or(0, |drift| {
            let (first, last) = views[0].span;
            let length = last.saturating_sub(first) as f64;
            (drift.part * length).abs() as i64
        });
        let wider =
            |(first, last): (i64, i64)| (first.saturating_sub(grown), last.saturating_add(grown));
        let most = least.saturating_add(way.spread.map_or(0, |spread| spread.max));
        Bounds { spans: [wider(span(up)), wider(span(down))], delays: (least, most) }
    }

    /// True if what was sent then would be in the file downstream. What is behind all that came may
    /// have come later than most.
    fn downstream_has(&self, sent: i64, is_last: bool) -> bool {
        let (first, last) = self.spans[1];
        let delay = if is_last { self.delays.1 } else { self.delays.0 };
        (first..=last).contains(&sent.saturating_add(delay))
    }

    /// True if what came then would be in the file upstream.
    fn upstream_has(&self, came: i64) -> bool {
        let (first, last) = self.spans[0];
        (first..=last).contains(&came.saturating_sub(self.delays.0))
    }
}

/// Counts what downstream has: alone, twice, and out of order.
fn arrivals(way: &mut Way, views: &[View<'_>; 2], matched: &Matched, bounds: &Bounds) {
    let down = way.places[1];
    let mut order = Order::default();
    let duplicates = &matched.duplicates[down];
    for (index, segment) in views[down].sent(way.direction) {
        let partner = matched.partners[down][index as usize];
        if partner == NONE {
            if bounds.upstream_has(segment.at) {
                way.only.add(1, u64::from(segment.len));
            } else {
                way.outside[1] += 1;
            }
        } else if duplicates.contains(&index) {
            way.duplicated += 1;
        } else {
            order.take(&mut way.reordered, partner, segment);
        }
    }
}

/// The packets that arrived before all that were sent before them.
#[derive(Default)]
struct Order {
    /// How many have arrived.
    count: u64,
    /// The index upstream, which number of all it was to arrive, and when; each the highest so far.
    highest: Vec<(u32, u64, i64)>,
}

impl Order {
    fn take(&mut self, sum: &mut Reordered, index: u32, segment: &Segment) {
        self.count += 1;
        if self.highest.last().is_none_or(|last| last.0 <= index) {
            self.highest.push((index, self.count, segment.at));
            return;
        }
        let first = self.highest.partition_point(|earlier| earlier.0 <= index);
        let (_, number, at) = self.highest[first];
        sum.packets += 1;
        sum.extent = sum.extent.max(self.count - number);
        sum.late = sum.late.max(segment.at.saturating_sub(at));
    }
}

/// How many packets on the wire carry so much.
pub(super) fn on_the_wire(bytes: u64, smss: u64) -> u64 {
    bytes.div_ceil(smss.max(1)).max(1)
}

/// True if a segment is none of the stream's end or beginning, and has data.
pub(super) fn carries(segment: &Segment) -> bool {
    segment.len > 0 && !segment.flags.has(Flags::RST)
}
