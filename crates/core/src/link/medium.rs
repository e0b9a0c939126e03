//! A medium that several lines share, one packet at a time: half-duplex Ethernet, after CSMA/CD
//! (IEEE 802.3, clause 4).
//!
//! A station that has a packet waits until the medium is free and then begins at once. If several
//! begin at the same moment (those that waited for the same packet's end do) they collide: the
//! medium is taken for a slot time, and each tries again after a random number of slots, 0 to 2ⁿ −
//! 1 after its n-th collision in a row, n being 10 at most. After 16 the packet is dropped.
//!
//! Stations hear each other without delay, so that who begins later never collides: right for a
//! segment that is much shorter than its slot time. The gap between packets and the preamble are
//! overhead of each packet.

use crate::time::{Duration, Instant};
use crate::units::Rate;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Who shares a medium, and when it is free.
#[derive(Debug)]
pub struct Medium {
    /// After how long all know of a collision.
    slot: Duration,
    rng: Pcg64Mcg,
    stations: Vec<Station>,
    /// When what is being sent will have ended.
    free: Instant,
    collisions: u64,
}

/// What sends: a line.
#[derive(Debug)]
struct Station {
    line: usize,
    /// It does not try before.
    ready: Instant,
    /// Collisions of its packet so far.
    collisions: u32,
}

/// How long all take to know of a collision: so many bytes' time (clause 4.4.2).
const SLOT_BYTES: u64 = 64;
/// The most collisions of a packet, and up to which the range of waiting doubles.
const MAX_COLLISIONS: u32 = 16;
const MAX_DOUBLINGS: u32 = 10;

/// What happens on the medium at a moment.
#[derive(Debug, PartialEq, Eq)]
enum Turn {
    /// Nothing.
    Idle,
    /// This line may send.
    Grant(usize),
    /// Several have collided. Of these lines it was one time too many: they give their packets up.
    Collision(Vec<usize>),
}

/// A line that sends only what it is granted, as a [`Link`](super::Link) does that is
/// [gated](super::Link::gate).
pub trait GatedLine {
    /// As [`Link::advance`](super::Link::advance).
    fn advance(&mut self, now: Instant);

    /// As [`Link::asks`](super::Link::asks).
    fn asks(&self) -> bool;

    /// As [`Link::grant`](super::Link::grant).
    fn grant(&mut self, now: Instant) -> Option<Instant>;

    /// As [`Link::give_up`](super::Link::give_up).
    fn give_up(&mut self, now: Instant);
}

impl Medium {
    /// A free medium of these lines, the fastest of which has this `rate`. Waiting times are drawn
    /// from `seed`.
    pub fn new(lines: impl IntoIterator<Item = usize>, rate: Rate, seed: u64) -> Medium {
        Medium::with_slot(lines, rate.time_for(SLOT_BYTES), seed)
    }

    fn with_slot(lines: impl IntoIterator<Item = usize>, slot: Duration, seed: u64) -> Medium {
        let station = |line| Station { line, ready: Instant::ZERO, collisions: 0 };
        let stations = lines.into_iter().map(station).collect();
        let rng = Pcg64Mcg::seed_from_u64(seed);
        Medium { slot, rng, stations, free: Instant::ZERO, collisions: 0 }
    }

    /// The lines that share it.
    pub fn lines(&self) -> impl Iterator<Item = usize> + '_ {
        self.stations.iter().map(|station| station.line)
    }

    /// When there will be something to do: when what is being sent, or has collided, will have
    /// ended, or when somebody tries next, which may be in the past. Of `lines` those count that
    /// share it.
    pub fn next<L: GatedLine>(&self, now: Instant, lines: &[L]) -> Option<Instant> {
        // The line that sends asks again when it has sent, which shows then.
        if self.free > now { Some(self.free) } else { self.next_try(|line| lines[line].asks()) }
    }

    /// What happens on it at `now`: one of `lines` begins to send, which is returned, or several
    /// collide.
    pub fn take_turn<L: GatedLine>(&mut self, now: Instant, lines: &mut [L]) -> Option<usize> {
        self.lines().for_each(|line| lines[line].advance(now));
        match self.turn(now, |line| lines[line].asks()) {
            Turn::Idle => None,
            Turn::Grant(line) => {
                if let Some(end) = lines[line].grant(now) {
                    self.free = end;
                }
                Some(line)
            }
            Turn::Collision(given_up) => {
                given_up.into_iter().for_each(|line| lines[line].give_up(now));
                None
            }
        }
    }

    /// When someone tries next, if `asks` says of each line whether it has something to send.
    fn next_try(&self, asks: impl Fn(usize) -> bool) -> Option<Instant> {
        let asking = self.stations.iter().filter(|station| asks(station.line));
        asking.map(|station| station.ready.max(self.free)).min()
    }

    /// Whose turn it is at `now`.
    fn turn(&mut self, now: Instant, asks: impl Fn(usize) -> bool) -> Turn {
        if now < self.free {
            return Turn::Idle;
        }
        let tries = |station: &&mut Station| station.ready <= now && asks(station.line);
        let mut trying: Vec<&mut Station> = self.stations.iter_mut().filter(tries).collect();
        match &mut trying[..] {
            [] => Turn::Idle,
            [station] => {
                station.collisions = 0;
                Turn::Grant(station.line)
            }
            many => {
                self.collisions += 1;
                self.free = now + self.slot;
                let mut given_up = Vec::new();
                for station in many {
                    station.collisions += 1;
                    if station.collisions == MAX_COLLISIONS {
                        station.collisions = 0;
                        station.ready = self.free;
                        given_up.push(station.line);
                        continue;
                    }
                    let range = 1u32 << station.collisions.min(MAX_DOUBLINGS);
                    let slots = self.rng.random_range(0..range);
                    station.ready = self.free + self.slot * slots;
                }
                Turn::Collision(given_up)
            }
        }
    }

    /// How many collisions there have been.
    #[cfg(test)]
    fn collisions(&self) -> u64 {
        self.collisions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stations that always have a packet of `packet`: the share of time in which packets are sent,
    /// and how many each has sent.
    fn saturated(stations: usize, packet: Duration) -> (f64, Vec<u64>, u64) {
        let slot = Duration::from_nanos(51_200);
        let mut medium = Medium::with_slot(0..stations, slot, 1);
        let mut sent = vec![0; stations];
        let end = Instant::from_millis(100_000);
        while let Some(now) = medium.next_try(|_| true).filter(|now| *now < end) {
            if let Turn::Grant(line) = medium.turn(now, |_| true) {
                sent[line] += 1;
                medium.free = now + packet;
            }
        }
        let share = sent.iter().sum::<u64>() as f64 * packet.as_secs_f64() / 100.0;
        (share, sent, medium.collisions())
    }

    #[test]
    fn one_station_has_it_all() {
        let (share, _, collisions) = saturated(1, Duration::from_micros(1230));
        assert!(share > 0.999, "{share}");
        assert_eq!(collisions, 0);
    }

    #[test]
    fn who_waited_for_the_same_end_collides_and_tries_again() {
        // Full-sized packets at 10 Mbit/s. Metcalfe and Boggs (1976) have (1 − A)/A slots of
        // collisions a packet, 1.72 with many stations of which each tries with 1/Q: 1.23/(1.23 +
        // 0.0512 × 1.72) = 0.93. Who has got through tries again at once here, while others wait,
        // and has less.
        for stations in [2, 5, 20] {
            let (share, sent, collisions) = saturated(stations, Duration::from_micros(1230));
            assert!((0.85..0.995).contains(&share), "{stations}: {share}");
            assert!(collisions > 1000, "{collisions}");
            assert!(sent.iter().all(|sent| *sent > 0), "{sent:?}");
        }
        // Short packets spend more of it on collisions.
        let (short, ..) = saturated(20, Duration::from_nanos(67_200));
        let (long, ..) = saturated(20, Duration::from_micros(1230));
        assert!(short < long - 0.05 && short > 0.5, "{short}, {long}");
    }

    #[test]
    fn sixteen_collisions_are_too_many() {
        // The range of waiting is doubled in vain, for nobody ever waits.
        let slot = Duration::ZERO;
        let mut medium = Medium::with_slot([3, 7], slot, 1);
        for _ in 1..MAX_COLLISIONS {
            assert_eq!(medium.turn(Instant::ZERO, |_| true), Turn::Collision(Vec::new()));
        }
        assert_eq!(medium.turn(Instant::ZERO, |_| true), Turn::Collision(vec![3, 7]));
        assert_eq!(medium.turn(Instant::ZERO, |line| line == 7), Turn::Grant(7));
    }
}
