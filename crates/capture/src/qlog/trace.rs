//! One end of a connection, from its events to a [`Connection`].

use super::event::{Limited, Metrics, Passed, Started};
use crate::connection::{Connection, Flags, Sack, Segment};
use crate::direction::Direction;
use crate::limiter::Limiter;
use crate::recorded;
use crate::series::{Quantity, Recorded};
use crate::silence::{Basis, Silence};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// The flags' names, by their bits.
const FLAGS: [&str; 8] = ["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"];
/// The largest shift of a window (RFC 7323, 2.3).
const SHIFT_MAX: u8 = 14;
/// Offsets from here on could not be told from negative ones.
const FAR: u64 = 1 << 31;

/// What is known of an end so far.
#[derive(Debug)]
pub(super) struct Trace {
    connection: Connection,
    /// Which of the connection's ends this is.
    local: Direction,
    /// The initial sequence numbers as far as they are known, by whose they are.
    isn: [Option<u32>; 2],
    /// The segments' windows, before they are made to fit into a header.
    windows: Vec<u32>,
    /// What limits it, since when.
    limiter: Option<(i64, Limiter)>,
    limits: Vec<Silence>,
    series: BTreeMap<Quantity, Vec<(i64, i64)>>,
    /// The newest event's time.
    last: i64,
}

impl Trace {
    /// An end between these addresses, its own first; of a gateway, the name of this leg.
    pub(super) fn new(number: usize, ends: [SocketAddr; 2], leg: Option<&str>) -> Trace {
        let leg = leg.map(str::to_owned);
        let connection = Connection { number, ends, leg, ..Connection::default() };
        Trace {
            connection,
            local: Direction::Forward,
            isn: [None; 2],
            windows: Vec::new(),
            limiter: None,
            limits: Vec::new(),
            series: BTreeMap::new(),
            last: 0,
        }
    }

    /// It is seen for the first time, or more is known of how it began. Returns false if this is
    /// another connection.
    pub(super) fn started(&mut self, data: &Started) -> bool {
        let (own, peer) = (self.local.index(), self.local.reverse().index());
        let known = [(own, data.local_isn), (peer, data.remote_isn)];
        let other = |&(end, isn): &(usize, Option<u32>)| {
            self.isn[end].zip(isn).is_some_and(|(before, now)| before != now)
        };
        // Nothing is known of it: the same names are another connection's.
        let nameless = known.iter().all(|(_, isn)| isn.is_none());
        if known.iter().any(other) || (nameless && !self.connection.segments.is_empty()) {
            return false;
        }
        for (end, isn) in known {
            self.isn[end] = self.isn[end].or(isn);
        }
        true
    }

    /// A segment passes. Returns whether there is room for it.
    pub(super) fn passed(&mut self, at: i64, text: u32, sent: bool, data: &Passed<'_>) -> bool {
        self.last = at;
        let mut bits = 0;
        for (bit, name) in FLAGS.iter().enumerate() {
            bits |= u16::from(data.flags.iter().any(|flag| flag == name)) << bit;
        }
        let flags = Flags::from_bits(bits);
        let syn = flags.has(Flags::SYN);
        if self.connection.segments.is_empty() && syn && sent == data.ack.is_some() {
            // The other end began.
            self.local = Direction::Backward;
            self.connection.ends.reverse();
            self.isn.reverse();
        }
        let direction = if sent { self.local } else { self.local.reverse() };
        let [own, peer] =
            [direction, direction.reverse()].map(|end| self.isn[end.index()].unwrap_or(0));
        // They wrap as on the wire.
        let wire = |isn: u32, offset: u64| isn.wrapping_add(offset as u32);
        let first = if data.seq >= FAR { wire(own, data.seq) } else { own };
        let end = direction.index();
        self.connection.first_seq[end].get_or_insert(first);
        self.connection.offers[end].syn |= syn;
        self.connection.offers[end].sack_permitted |= !data.sack.is_empty();
        let Ok(sack_at) = u32::try_from(self.connection.sacks.len()) else { return false };
        // An option has room for four.
        let sacks = data.sack.iter().take(4);
        let sacks =
            sacks.map(|&(left, right)| Sack { left: wire(peer, left), right: wire(peer, right) });
        self.connection.sacks.extend(sacks);
        self.windows.push(u32::try_from(data.window).unwrap_or(u32::MAX));
        self.connection.segments.push(Segment {
            at,
            frame: text,
            seq: wire(own, data.seq),
            ack: data.ack.map_or(0, |ack| wire(peer, ack)),
            len: data.length,
            flags: if data.ack.is_some() { flags } else { flags.without(Flags::ACK) },
            direction,
            recorded: data.cause.as_deref().and_then(recorded::named).filter(|_| sent),
            sack_at,
            sack_count: data.sack.len().min(4) as u8,
            ..Segment::default()
        });
        true
    }

    /// Figures change.
    pub(super) fn measured(&mut self, at: i64, data: &Metrics) {
        self.last = at;
        let count = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let values = [
            (Quantity::Cwnd, data.cwnd.map(count)),
            (Quantity::Ssthresh, data.ssthresh.map(count)),
            (Quantity::Flight, data.bytes_in_flight.map(count)),
            (Quantity::SmoothedRtt, data.smoothed_rtt.map(super::nanos)),
            (Quantity::Rto, data.rto.map(super::nanos)),
        ];
        for (quantity, value) in values {
            if let Some(value) = value {
                self.series.entry(quantity).or_default().push((at, value));
            }
        }
    }

    /// Something else limits it from now on. Returns whether it is known.
    pub(super) fn limited(&mut self, at: i64, data: &Limited<'_>) -> bool {
        self.last = at;
        let limiter = Limiter::ALL.into_iter().find(|limiter| limiter.id() == data.new);
        if let Some(limiter) = limiter {
            self.until(at);
            self.limiter = Some((at, limiter));
        }
        limiter.is_some()
    }

    /// The time of what has limited it until now is over.
    fn until(&mut self, end: i64) {
        if let Some((begin, limiter)) = self.limiter.take()
            && begin < end
        {
            let basis = Basis::Recorded(limiter);
            match self.limits.last_mut() {
                Some(last) if last.end == begin && last.basis == basis => last.end = end,
                _ => self.limits.push(Silence { begin, end, basis }),
            }
        }
    }

    /// The connection, if it has segments.
    pub(super) fn finish(mut self) -> Option<Connection> {
        self.until(self.last);
        let Trace { mut connection, local, windows, mut limits, mut series, last, .. } = self;
        // What has not changed since holds until the end.
        for values in series.values_mut() {
            let end = values.last().copied().filter(|&(at, _)| at < last);
            values.extend(end.map(|(_, value)| (last, value)));
        }
        let first = connection.segments.first()?.at;
        for limit in &mut limits {
            limit.begin = limit.begin.saturating_sub(first);
            limit.end = limit.end.saturating_sub(first);
        }
        connection.limits[local.index()] = limits;
        // Windows are scaled: the smallest shift that makes them fit is at most the true one.
        let mut shifts = [0; 2];
        for (segment, &window) in connection.segments.iter().zip(&windows) {
            let shift = &mut shifts[segment.direction.index()];
            while !segment.flags.has(Flags::SYN)
                && window >> *shift > u32::from(u16::MAX)
                && *shift < SHIFT_MAX
            {
                *shift += 1;
            }
        }
        for (segment, window) in connection.segments.iter_mut().zip(windows) {
            let syn = segment.flags.has(Flags::SYN);
            let shift = if syn { 0 } else { shifts[segment.direction.index()] };
            segment.window = u16::try_from(window >> shift).unwrap_or(u16::MAX);
        }
        connection.shifts = Some(shifts);
        connection.series = series
            .into_iter()
            .map(|(quantity, values)| Recorded {
                quantity,
                name: quantity.name().to_owned(),
                end: Some(local),
                values,
            })
            .collect();
        Some(connection)
    }
}
