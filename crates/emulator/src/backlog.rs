//! What came while the emulator was away: its process was stopped, or the machine had no processor
//! for it.
//!
//! The kernel keeps such packets and does not say when they came. Were they to enter the link when
//! they are read, the line would have stood still meanwhile, and each pause would cost rate. So a
//! wake-up that is late by more than [`LATE`] spreads what it finds evenly over the time in which
//! it was away: of packets that came at a steady rate no bit of the line is lost. A packet that in
//! truth came later than that must not arrive before its time, though: so it arrives no earlier
//! than one that came to an idle link when it was read. Its line's time is made up for, its way is
//! not.

use bentpipe_core::time::{Duration, Instant};

/// What a wake-up is late by before anything is made up for: timers are late by less on an idle
/// machine.
const LATE: Duration = Duration::from_millis(1);
/// No more than this is made up for: who stops a link for longer means it.
const LONGEST: Duration = Duration::from_secs(1);
/// While packets are inside the link, it wakes at least so often, to know since when it was away.
const LOOK: Duration = Duration::from_millis(5);

/// When to wake at the latest, if the next packet leaves at `next`.
pub(crate) fn wake_at(now: Instant, next: Option<Instant>) -> Option<Instant> {
    next.map(|next| next.min(now + LOOK))
}

/// A span of time in which nobody read packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Away {
    since: Instant,
    until: Instant,
}

impl Away {
    /// The loop was to wake at `deadline` and did so at `woke`; None if that is in time.
    pub(crate) fn find(deadline: Option<Instant>, woke: Instant) -> Option<Away> {
        let since = deadline?.max(woke - LONGEST);
        (woke.saturating_since(since) > LATE).then_some(Away { since, until: woke })
    }

    /// The same, up to when all was read.
    pub(crate) fn until(self, read: Instant) -> Away {
        Away { until: read, ..self }
    }

    /// When packet `number` of `count` came, from 0.
    pub(crate) fn arrival(self, number: usize, count: usize) -> Instant {
        let span = self.until.saturating_since(self.since).as_nanos();
        let nanos = span * (number as u128 + 1) / (count as u128).max(1);
        self.since + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datagram::Datagram;
    use bentpipe_core::link::LinkConfig;
    use bentpipe_core::units::Rate;
    use bentpipe_links::{Direction, DirectionConfig};
    use rand::{RngExt as _, SeedableRng as _};
    use rand_pcg::Pcg64Mcg;

    #[test]
    fn what_is_in_time_is_not_touched() {
        let at = Instant::from_millis;
        assert_eq!(Away::find(None, at(10)), None);
        assert_eq!(Away::find(Some(at(9)), at(10)), None);
        let away = Away::find(Some(at(10)), at(30)).unwrap();
        assert_eq!([0, 1, 2, 3].map(|i| away.arrival(i, 4)), [at(15), at(20), at(25), at(30)]);
        assert_eq!(away.arrival(0, 1), at(30));
        let long = Away::find(Some(at(0)), at(10_000)).unwrap();
        assert_eq!(long.arrival(0, 1_000), at(9_001));
        assert_eq!(away.until(at(34)).arrival(0, 1), at(34));
        assert_eq!(wake_at(at(3), Some(at(100))), Some(at(8)));
        assert_eq!(wake_at(at(3), None), None);
    }

    /// When the last of 2000 packets leaves a line that they just fill, if every 200 ms the loop is
    /// away for 20 ms.
    fn ends(made_up_for: bool) -> Instant {
        let config = LinkConfig {
            rate: Some(Rate::from_bits_per_sec(8_000_000).into()),
            ..LinkConfig::IDEAL
        };
        let mut direction = Direction::new(DirectionConfig::from(config));
        let ms = Instant::from_millis;
        let (mut last, mut carried, mut read) = (Instant::ZERO, 0, 0);
        for tick in 0..4000_u64 {
            let (now, halted) = (ms(tick), tick % 200 < 20);
            if halted && tick >= 20 {
                continue;
            }
            let came = (tick + 1).min(2000) - read;
            let away = Away::find(tick.checked_sub(20).filter(|_| tick % 200 == 20).map(ms), now);
            for number in 0..came {
                let moment = match away.filter(|_| made_up_for) {
                    Some(away) => away.arrival(number as usize, came as usize),
                    None => now,
                };
                direction.push(moment, Datagram::from(vec![0; 1000]));
            }
            read += came;
            while let Some((at, _)) = direction.pop(now) {
                (last, carried) = (at, carried + 1);
            }
        }
        assert_eq!(carried, 2000);
        last
    }

    /// However late it is looked at, and whatever comes meanwhile: no packet arrives before rate
    /// and delay let it.
    #[test]
    fn no_packet_is_early() {
        let config = LinkConfig {
            rate: Some(Rate::from_bits_per_sec(8_000_000).into()),
            delay: Duration::from_millis(250).into(),
            ..LinkConfig::IDEAL
        };
        let mut direction = Direction::new(DirectionConfig::from(config));
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let mut came: Vec<Instant> = Vec::new();
        let (mut now, mut early) = (Instant::from_millis(1), 0);
        let mut check = |direction: &mut Direction<Datagram>, came: &[Instant], now: Instant| {
            while let Some((at, packet)) = direction.pop(now) {
                let number = u32::from_be_bytes(packet.ip.bytes[..4].try_into().unwrap());
                let line = Duration::from_micros(packet.ip.bytes.len() as u64);
                early +=
                    usize::from(at < came[number as usize] + line + Duration::from_millis(250));
                assert!(at <= now);
            }
        };
        for _ in 0..2000 {
            // What it was to wake at, and when it did; packets come at any moment in between, and
            // while it reads.
            let deadline = now + LOOK;
            let woke = deadline + Duration::from_micros(random.random_range(0..20_000));
            let read = woke + Duration::from_micros(random.random_range(1..500));
            let span = read.saturating_since(deadline).as_nanos() as u64;
            let mut moments: Vec<Instant> = (0..random.random_range(0..8))
                .map(|_| deadline + Duration::from_nanos(random.random_range(0..=span)))
                .collect();
            moments.sort_unstable();
            check(&mut direction, &came, woke);
            let away = Away::find(Some(deadline), woke).map(|away| away.until(read));
            let count = moments.len();
            for (number, moment) in moments.into_iter().enumerate() {
                let mut bytes = vec![0; random.random_range(40..1500)];
                bytes[..4].copy_from_slice(&(came.len() as u32).to_be_bytes());
                came.push(moment);
                let mut packet = Datagram::from(bytes);
                let taken = away.map_or(read, |away| away.arrival(number, count));
                packet.not_before = direction.earliest_arrival((taken, read), &packet);
                direction.push(taken, packet);
            }
            now = read;
        }
        check(&mut direction, &came, now + Duration::from_secs(10));
        assert_eq!((early, direction.counters().delivered.packets), (0, came.len() as u64));
    }

    #[test]
    fn the_line_stands_still_while_the_loop_is_away_only_if_nobody_makes_up_for_it() {
        let (with, without) = (ends(true), ends(false));
        assert!(with <= Instant::from_millis(2021), "{with:?}");
        assert!(without > with, "{without:?} {with:?}");
    }
}
