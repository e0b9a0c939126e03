use super::*;
use crate::{Directions, LinkSettings};
use bentpipe_core::time::Duration;

/// A packet of 48 bytes with its number.
#[derive(Debug, Clone, PartialEq)]
struct Numbered {
    number: u16,
    damaged: bool,
    not_before: Instant,
    /// Where it would arrive a checksum finds damage.
    checked: bool,
}

impl LinkPacket for Numbered {
    fn wire_len(&self) -> u64 {
        48
    }

    fn mark_damaged(&mut self) -> bool {
        self.damaged = true;
        true
    }
}

impl DirectionPacket for Numbered {
    fn damage(self, _: f64) -> Result<Numbered, Numbered> {
        if self.checked { Err(self) } else { Ok(Numbered { damaged: true, ..self }) }
    }

    fn is_damaged(&self) -> bool {
        self.damaged
    }

    fn not_before(&self) -> Instant {
        self.not_before
    }
}

fn packet(number: u16) -> Numbered {
    Numbered { number, damaged: false, not_before: Instant::ZERO, checked: false }
}

fn config(settings: &str) -> DirectionConfig {
    let mut link = LinkSettings::default();
    link.add(Directions::Both, "test", settings).unwrap();
    let none = |_: &str| Err("no files".to_owned());
    let [forward, _] = link.read(&none, 7, Duration::from_secs(60)).unwrap().configs();
    forward
}

/// What arrives, and when.
type Arrivals = Vec<(Instant, Numbered)>;

/// What arrives of 1000 packets that are as `packet` says, a millisecond apart.
fn send(settings: &str, packet: impl Fn(u16) -> Numbered) -> (Arrivals, Direction<Numbered>) {
    let mut direction = Direction::new(config(settings));
    direction.keep_lost();
    let mut all = Vec::new();
    for number in 0..1000 {
        let now = Instant::from_millis(number.into());
        all.extend(std::iter::from_fn(|| direction.pop(now)));
        direction.push(now, packet(number));
        assert_eq!(direction.check(), Ok(()));
    }
    all.extend(drain(&mut direction));
    assert_eq!((direction.check(), direction.inside()), (Ok(()), Count::default()));
    (all, direction)
}

/// All that is still to arrive.
fn drain(direction: &mut Direction<Numbered>) -> Arrivals {
    let mut all = Vec::new();
    while let Some(next) = direction.next() {
        all.extend(std::iter::from_fn(|| direction.pop(next)));
    }
    all
}

fn numbers(arrivals: &Arrivals) -> Vec<u16> {
    arrivals.iter().map(|(_, packet)| packet.number).collect()
}

#[test]
fn a_plain_direction_changes_nothing() {
    let (all, direction) = send("delay=5ms", packet);
    let expected =
        (0..1000).map(|number| (Instant::from_millis(u64::from(number) + 5), packet(number)));
    assert_eq!(all, expected.collect::<Arrivals>());
    assert_eq!(direction.counters().delivered.packets, 1000);
}

#[test]
fn duplicates_arrive_twice_and_count_once() {
    let (all, direction) = send("duplicate=10%", packet);
    let twice = direction.duplicated().packets;
    assert_eq!(all.len() as u64, 1000 + twice);
    assert!((60..140).contains(&twice), "{twice}");
    let counters = direction.counters();
    assert_eq!((counters.delivered.packets, counters.lost.packets), (1000, 0));
}

#[test]
fn what_arrives_damaged_counts_as_lost() {
    let (all, direction) = send("corrupt=10%", packet);
    assert_eq!(numbers(&all), (0..1000).collect::<Vec<u16>>());
    let broken = all.iter().filter(|(_, packet)| packet.damaged).count() as u64;
    assert!((60..140).contains(&broken), "{broken}");
    assert_eq!(direction.damaged().packets, broken);
    let counters = direction.counters();
    assert_eq!((counters.lost.packets, counters.delivered.packets), (broken, 1000 - broken));
}

#[test]
fn what_a_checksum_finds_is_lost_and_kept_for_who_asks() {
    let checked = |number| Numbered { checked: true, ..packet(number) };
    let (all, mut direction) = send("corrupt=10%", checked);
    let lost = 1000 - all.len() as u64;
    assert!((60..140).contains(&lost), "{lost}");
    let counters = direction.counters();
    assert_eq!((counters.lost.packets, direction.damaged().packets), (lost, 0));
    assert!(direction.has_lost());
    assert_eq!(std::iter::from_fn(|| direction.take_lost()).count() as u64, lost);
    // With explicit loss notification the same packets arrive, marked.
    let (told, mut direction) = send("corrupt=10%,loss-notification=true", checked);
    let marked = told.iter().filter(|(_, packet)| packet.damaged).count() as u64;
    assert_eq!((told.len(), marked, direction.counters()), (1000, lost, counters));
    assert_eq!(direction.take_lost(), None);
}

#[test]
fn losses_that_are_told_arrive_and_count_as_lost() {
    let (_, direction) = send("loss=10%", packet);
    let lost = direction.counters().lost.packets;
    assert!((60..140).contains(&lost), "{lost}");
    let (all, direction) = send("loss=10%,loss-notification=true", packet);
    assert_eq!((all.len(), direction.counters().lost.packets), (1000, lost));
    assert_eq!(direction.damaged().packets, lost);
}

#[test]
fn some_are_overtaken_and_jitter_keeps_the_order() {
    let (all, _) = send("reorder=5%,reorder-by=10ms", packet);
    assert!(!numbers(&all).is_sorted());
    let jitter = "jitter={ uniform = [\"0ms\", \"20ms\"] }";
    let (all, _) = send(jitter, packet);
    assert!(numbers(&all).is_sorted());
    let late =
        all.iter().filter(|(at, packet)| *at > Instant::from_millis(u64::from(packet.number) + 10));
    assert!(late.count() > 300);
    let (all, _) = send(&format!("{jitter},order=by-arrival"), packet);
    assert!(!numbers(&all).is_sorted());
}

#[test]
fn each_cause_has_random_numbers_of_its_own() {
    let lost = |settings: &str| {
        let (_, mut direction) =
            send(settings, |number| Numbered { checked: true, ..packet(number) });
        let mut lost: Vec<u16> =
            std::iter::from_fn(|| direction.take_lost()).map(|packet| packet.number).collect();
        lost.sort_unstable();
        lost
    };
    let others = "duplicate=5%,jitter={ exponential = \"1ms\" }";
    for cause in ["corrupt=2%", "loss=1%"] {
        assert_eq!(lost(cause), lost(&format!("{cause},{others}")));
    }
}

#[test]
fn a_direction_that_changes_keeps_what_is_inside() {
    let ms = Instant::from_millis;
    // 48 bytes are 1 ms.
    let mut direction = Direction::new(config("rate=384kbit/s,delay=10ms"));
    (0..4).for_each(|number| direction.push(ms(0), packet(number)));
    let config = config("rate=192kbit/s,delay=20ms");
    let change =
        DirectionChange { config, rate: true, delay: true, losses: false, impairments: false };
    direction.change(Instant::from_nanos(1_500_000), change);
    assert_eq!(direction.inside().packets, 4);
    let arrivals: Vec<Instant> = drain(&mut direction).into_iter().map(|(at, _)| at).collect();
    // The second was being sent, and goes on as it began; the others take 2 ms each.
    assert_eq!(arrivals, [ms(11), ms(22), ms(24), ms(26)]);
}

#[test]
fn what_is_held_up_arrives_when_impairments_have_ended() {
    let ms = Instant::from_millis;
    let mut direction = Direction::new(config("reorder=100%,reorder-by=10ms"));
    direction.push(ms(0), packet(0));
    assert_eq!(direction.pop(ms(0)), None);
    let config = config("delay=0s");
    let change =
        DirectionChange { config, rate: false, delay: false, losses: false, impairments: true };
    direction.change(ms(1), change);
    direction.push(ms(2), packet(1));
    assert_eq!(numbers(&drain(&mut direction)), [1, 0]);
    assert_eq!(direction.check(), Ok(()));
}

#[test]
fn no_packet_arrives_before_its_moment_nor_before_the_one_ahead() {
    let ms = Instant::from_millis;
    let mut direction = Direction::new(config("delay=1ms"));
    for (number, not_before) in [(0, 5), (1, 3), (2, 0)] {
        direction.push(ms(0), Numbered { not_before: ms(not_before), ..packet(number) });
    }
    assert_eq!((direction.pop(ms(4)), direction.next()), (None, Some(ms(5))));
    let arrivals = drain(&mut direction);
    assert_eq!(
        (numbers(&arrivals), arrivals.iter().all(|(at, _)| *at == ms(5))),
        (vec![0, 1, 2], true)
    );
}
