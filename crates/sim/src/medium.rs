//! A medium that several lines share, one packet at a time: half-duplex Ethernet, after CSMA/CD (IEEE 802.3, clause 4).
//!
//! A station that has a packet waits until the medium is free and then begins at once. If several begin at the same moment
//! (those that waited for the same packet's end do) they collide: the medium is taken for a slot time, and each tries
//! again after a random number of slots, 0 to 2ⁿ − 1 after its n-th collision in a row, n being 10 at most. After 16 the
//! packet is dropped.
//!
//! Stations hear each other without delay, so that who begins later never collides: right for a segment that is much shorter
//! than its slot time. The gap between packets and the preamble are overhead of each packet.

use crate::world::LineId;
use bentpipe_core::time::{Duration, Instant};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// Who shares a medium, and when it is free.
#[derive(Debug)]
pub(crate) struct Medium {
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
    line: LineId,
    /// It does not try before.
    ready: Instant,
    /// Collisions of its packet so far.
    collisions: u32,
}

/// The most collisions of a packet, and up to which the range of waiting doubles.
const MAX_COLLISIONS: u32 = 16;
const MAX_DOUBLINGS: u32 = 10;

/// What happens on the medium at a moment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing.
    Idle,
    /// This line may send.
    Grant(LineId),
    /// Several have collided. Of these lines it was one time too many: they give their packets up.
    Collision(Vec<LineId>),
}

impl Medium {
    /// A free medium of these lines.
    pub(crate) fn new(
        lines: impl IntoIterator<Item = LineId>,
        slot: Duration,
        rng: Pcg64Mcg,
    ) -> Medium {
        let station = |line| Station { line, ready: Instant::ZERO, collisions: 0 };
        let stations = lines.into_iter().map(station).collect();
        Medium { slot, rng, stations, free: Instant::ZERO, collisions: 0 }
    }

    /// The lines that share it.
    pub(crate) fn lines(&self) -> impl Iterator<Item = LineId> + '_ {
        self.stations.iter().map(|station| station.line)
    }

    /// When someone tries next, if `asks` says of each line whether it has something to send.
    pub(crate) fn next(&self, asks: impl Fn(LineId) -> bool) -> Option<Instant> {
        let asking = self.stations.iter().filter(|station| asks(station.line));
        asking.map(|station| station.ready.max(self.free)).min()
    }

    /// Whose turn it is at `now`.
    pub(crate) fn turn(&mut self, now: Instant, asks: impl Fn(LineId) -> bool) -> Turn {
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

    /// When what is being sent will have ended, or what has collided.
    pub(crate) fn free(&self) -> Instant {
        self.free
    }

    /// What was granted ends at `end`.
    pub(crate) fn taken(&mut self, end: Instant) {
        self.free = end;
    }

    /// How many collisions there have been.
    #[cfg(test)]
    pub(crate) fn collisions(&self) -> u64 {
        self.collisions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// Stations that always have a packet of `packet`: the share of time in which packets are sent, and how many
    /// each has sent.
    fn saturated(stations: usize, packet: Duration) -> (f64, Vec<u64>, u64) {
        let slot = Duration::from_nanos(51_200);
        let mut medium = Medium::new(0..stations, slot, Pcg64Mcg::seed_from_u64(1));
        let mut sent = vec![0; stations];
        let end = Instant::from_millis(100_000);
        while let Some(now) = medium.next(|_| true).filter(|now| *now < end) {
            if let Turn::Grant(line) = medium.turn(now, |_| true) {
                sent[line] += 1;
                medium.taken(now + packet);
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
        // Full-sized packets at 10 Mbit/s. Metcalfe and Boggs (1976) have (1 − A)/A slots of collisions a packet, 1.72 with
        // many stations of which each tries with 1/Q: 1.23/(1.23 + 0.0512 × 1.72) = 0.93. Who has got through tries again
        // at once here, while others wait, and has less.
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
        let mut medium = Medium::new([3, 7], slot, Pcg64Mcg::seed_from_u64(1));
        for _ in 1..MAX_COLLISIONS {
            assert_eq!(medium.turn(Instant::ZERO, |_| true), Turn::Collision(Vec::new()));
        }
        assert_eq!(medium.turn(Instant::ZERO, |_| true), Turn::Collision(vec![3, 7]));
        assert_eq!(medium.turn(Instant::ZERO, |line| line == 7), Turn::Grant(7));
    }
}
