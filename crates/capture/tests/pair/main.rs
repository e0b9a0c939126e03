//! Pairs of captures against what is true in simulations.

mod play;

use bentpipe_capture::pair::{Compared, Hop, Place, Way, hop, pair};
use bentpipe_capture::{Capture, Direction};
use play::{Clock, Passed, Places, capture, name, play};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The first connection of two captures.
fn compared(first: &Capture, second: &Capture) -> Hop {
    let pairs = pair(first, second);
    let [paired] = &pairs[..] else { panic!("{pairs:?}") };
    hop(Place::new(first, paired.first), Place::new(second, paired.second), paired)
}

/// Two hosts and a link with these settings.
fn path(settings: &str, tcp: &str, bytes: &str, seed: u64) -> String {
    format!(
        "[run]\nduration = \"60s\"\nseed = {seed}\n[host.a]\ntcp = \"{tcp}\"\n[host.b]\ntcp = \"{tcp}\"\n\
         [link.sat]\nbetween = [\"a\", \"b\"]\nrate = \"8Mbit/s\"\ndelay = \"50ms\"\nqueue = \"10000packets\"\n{settings}\n\
         [flow.main]\nfrom = \"a\"\nto = \"b\"\nbytes = \"{bytes}\"\n"
    )
}

/// The delays of one direction above the least, sorted; how many packets never came.
fn truth(places: &Places, from: &str, to: &str) -> (Vec<i64>, u64) {
    let mut arrived: BTreeMap<Vec<u8>, i64> = BTreeMap::new();
    for packet in places[to].iter().filter(|packet| !packet.sent) {
        arrived.entry(name(packet)).or_insert(packet.at);
    }
    let sent = || places[from].iter().filter(|packet| packet.sent);
    let delays = sent().filter_map(|packet| Some(arrived.get(&name(packet))? - packet.at));
    let mut delays: Vec<i64> = delays.collect();
    delays.sort_unstable();
    let least = delays[0];
    delays.iter_mut().for_each(|delay| *delay -= least);
    (delays, sent().filter(|packet| !arrived.contains_key(&name(packet))).count() as u64)
}

fn sorted_delays(hop: &Hop, way: &Way) -> Vec<i64> {
    let above = |sample: &bentpipe_capture::pair::Sample| hop.clock.above(way.direction, *sample);
    let mut delays: Vec<i64> = way.samples.iter().map(above).collect();
    delays.sort_unstable();
    delays
}

/// How far a hop's delays are from the true ones, at most.
fn error(hop: &Hop, places: &Places) -> i64 {
    let ways = [("a", "b", &hop.ways[0]), ("b", "a", &hop.ways[1])];
    let errors = ways.into_iter().map(|(from, to, way)| {
        let (truth, found) = (truth(places, from, to).0, sorted_delays(hop, way));
        assert_eq!(truth.len(), found.len());
        let apart = truth.iter().zip(&found).map(|(a, b)| (a - b).abs());
        apart.max().unwrap_or(0)
    });
    errors.max().unwrap_or(0)
}

/// The clock of the second file: hours ahead.
const AHEAD: Clock = Clock { ahead: 7_200_000_000_000, ppm: 0.0 };
/// The same, and faster by 50 ppm.
const FAST: Clock = Clock { ppm: 50.0, ..AHEAD };

#[test]
fn losses_are_those_of_the_link() {
    for seed in 0..12 {
        let tcp = ["linux", "timestamps=off", "linux,sack=off"][seed as usize % 3];
        let text = path("loss = \"3%\"", tcp, "2MB", seed);
        let (places, results) = play(&text);
        for (ids, clock) in [(true, Clock::default()), (false, AHEAD), (true, FAST), (false, FAST)]
        {
            let files =
                [capture(&places["a"], Clock::default(), ids), capture(&places["b"], clock, ids)];
            let hop = compared(&files[0], &files[1]);
            assert_eq!((hop.basis, hop.downstream), (Compared::Packets, Direction::Forward));
            for (way, from) in hop.ways.iter().zip(["a", "b"]) {
                let row = results.links.iter().find(|row| row.from == from).expect("a link");
                let lost = row.counters.lost.packets + row.counters.dropped.packets;
                let what =
                    format!("seed {seed}, {tcp}, IDs {ids}, {clock:?}, from {from}: {way:?}");
                let what = &what[..what.len().min(800)];
                assert_eq!(way.lost.packets + way.outside[0], lost, "{what}");
                assert!(way.outside[0] <= 1 && way.outside[1] == 0, "{what}");
                assert_eq!(
                    (way.only.packets, way.unrecorded.packets, way.duplicated),
                    (0, 0, 0),
                    "{what}"
                );
                let in_runs: u64 = way.losses.iter().map(|run| run.lost.packets).sum();
                assert_eq!(in_runs, way.lost.packets, "{what}");
                // All data came in the end. Without SACK what is lost may have been needless.
                for run in way.losses.iter().filter(|_| !tcp.contains("sack=off")) {
                    assert_eq!(run.retransmitted, run.lost.bytes, "{what}");
                }
            }
            // Nothing tells ACKs from each other that have neither IDs nor timestamps.
            if !ids && tcp != "linux" {
                continue;
            }
            let apart = error(&hop, &places);
            assert!(
                apart <= if clock.ppm == 0.0 { 1000 } else { 60_000 },
                "seed {seed}, {clock:?}: {apart} ns"
            );
        }
    }
}

#[test]
fn jitter_is_the_true_one() {
    for seed in 0..6 {
        let settings = "jitter = { uniform = [\"0ms\", \"5ms\"] }\nloss = \"0.5%\"";
        let (places, _) = play(&path(settings, "linux", "6MB", seed));
        let first = capture(&places["a"], Clock::default(), true);
        for clock in [Clock::default(), AHEAD, FAST, Clock { ppm: -50.0, ..AHEAD }] {
            let hop = compared(&first, &capture(&places["b"], clock, true));
            let apart = error(&hop, &places);
            let ppm = hop.clock.drift.map_or(0.0, |drift| drift.part * 1e6);
            println!("seed {seed} {clock:?}: {apart} ns, {ppm} ppm");
            assert!((ppm - clock.ppm).abs() < 10.0, "{ppm} of {clock:?}");
            assert!(
                apart <= if clock.ppm == 0.0 { 1000 } else { 100_000 },
                "{clock:?}: {apart} ns"
            );
            // The clocks' true distance is within what is told.
            let (from, to) = hop.clock.ahead().expect("both directions");
            assert!((from..=to).contains(&clock.ahead), "{from} to {to}: {clock:?}");
        }
    }
}

#[test]
fn duplicates_and_reordering_are_counted() {
    for seed in 0..6 {
        let settings = "duplicate = \"2%\"\nreorder = \"2%\"\nreorder-by = \"5ms\"";
        let (places, _) = play(&path(settings, "linux", "2MB", seed));
        for ids in [true, false] {
            let files = ["a", "b"].map(|place| capture(&places[place], Clock::default(), ids));
            let hop = compared(&files[0], &files[1]);
            for (way, [from, to]) in hop.ways.iter().zip([["a", "b"], ["b", "a"]]) {
                let (duplicates, late) = arrivals(&places, from, to);
                assert_eq!(way.duplicated, duplicates, "seed {seed}, IDs {ids}, from {from}");
                // Without IDs equal ACKs cannot be told from each other.
                if ids || from == "a" {
                    assert_eq!(way.reordered.packets, late, "seed {seed}, IDs {ids}, from {from}");
                }
                assert_eq!(way.lost.packets, 0);
            }
        }
    }
}

/// How many packets came once more, and how many after a later one.
fn arrivals(places: &Places, from: &str, to: &str) -> (u64, u64) {
    let sent = places[from].iter().filter(|packet| packet.sent);
    let order: BTreeMap<Vec<u8>, usize> =
        sent.enumerate().map(|(number, packet)| (name(packet), number)).collect();
    let (mut duplicates, mut late, mut highest) = (0, 0, 0);
    let mut came = BTreeMap::new();
    for packet in places[to].iter().filter(|packet| !packet.sent) {
        let number = order[&name(packet)];
        if came.insert(number, ()).is_some() {
            duplicates += 1;
        } else {
            late += u64::from(number < highest);
            highest = highest.max(number);
        }
    }
    (duplicates, late)
}

/// What a capture does not have was not lost on the way.
#[test]
fn gaps_of_captures_are_no_losses() {
    let (places, _) = play(&path("", "linux", "1MB", 1));
    let first = capture(&places["a"], Clock::default(), true);
    let without = |place: &str, every: usize| {
        let kept = places[place]
            .iter()
            .enumerate()
            .filter(|(number, packet)| packet.len < 500 || number % every != 0);
        let kept: Vec<Passed> = kept.map(|(_, packet)| packet.clone()).collect();
        let gone = (places[place].len() - kept.len()) as u64;
        (capture(&kept, Clock::default(), true), gone)
    };
    let (second, gone) = without("b", 40);
    let way = &compared(&first, &second).ways[0];
    assert_eq!((way.lost.packets, way.unrecorded.packets, way.only.packets), (0, gone, 0));
    let (second, gone) = without("a", 40);
    let whole = capture(&places["b"], Clock::default(), true);
    let way = &compared(&second, &whole).ways[0];
    assert_eq!((way.lost.packets, way.unrecorded.packets, way.only.packets), (0, 0, gone));
}

/// A server, a gateway that splits, and a client behind the satellite.
fn through_gateway() -> Places {
    play(
        "[run]\nduration = \"60s\"\n[host.server]\ntcp = \"linux\"\n[host.client]\ntcp = \"linux\"\n\
         [gateway.g]\nlan-links = \"near\"\nsatellite = { rate = \"8Mbit/s\", round-trip = \"500ms\" }\n\
         [link.near]\nbetween = [\"server\", \"g\"]\nrate = \"100Mbit/s\"\ndelay = \"1ms\"\n\
         [link.sat]\nbetween = [\"g\", \"client\"]\nrate = \"8Mbit/s\"\ndelay = \"250ms\"\nloss = \"0.2%\"\n\
         [flow.main]\nfrom = \"server\"\nto = \"client\"\nbytes = \"2MB\"\nopened-by = \"to\"\n",
    )
    .0
}

#[test]
fn through_a_gateway_bytes_are_compared() {
    let places = through_gateway();
    let files = ["server", "g@lan", "g@satellite", "client"]
        .map(|place| capture(&places[place], Clock::default(), true));
    let bases =
        [[0, 1], [1, 2], [2, 3], [0, 3]].map(|[from, to]| compared(&files[from], &files[to]).basis);
    assert_eq!(bases, [Compared::Packets, Compared::Bytes, Compared::Packets, Compared::Bytes]);

    let hop = compared(&files[1], &files[2]);
    let way = hop.ways.iter().max_by_key(|way| way.seen[0].bytes).expect("two");
    let streamed = way.streamed.expect("bytes");
    assert_eq!(streamed.both, 2_000_000);
    // Byte by byte: when each was first seen on both sides.
    let seen = ["g@lan", "g@satellite"].map(|place| bytes_seen(&places[place]));
    let mut delays: Vec<i64> = seen[0].iter().zip(&seen[1]).map(|(lan, sat)| sat - lan).collect();
    delays.sort_unstable();
    let least = delays[0];
    let spread = way.spread.expect("delays");
    assert_eq!(spread.max, delays[delays.len() - 1] - least);
    assert_eq!(spread.p50, delays[delays.len() / 2 - 1] - least);
    let backlog = backlog(&seen, least);
    assert_eq!(way.backlog.max.map(|max| max.1), Some(backlog));
    // The gateway acknowledges on its own: all but what goes on before it has come.
    assert!(streamed.locally * 100 > streamed.acknowledged * 99, "{streamed:?}");
    assert!(streamed.unseen * 2 > streamed.both, "{streamed:?}");
    assert!(streamed.earlier > 400_000_000, "{streamed:?}");
}

/// Other gateways give their segments numbers of their own (PEPsal does): bytes are compared by
/// their distance from the SYN.
#[test]
fn a_gateways_own_numbers_change_nothing() {
    let places = through_gateway();
    let [lan, satellite] = ["g@lan", "g@satellite"].map(|place| &places[place]);
    let mut renumbered = satellite.clone();
    let server = renumbered.iter().find(|packet| packet.bytes[33] == 0x12).expect("a SYN-ACK");
    let server = server.bytes[12..16].to_vec();
    for packet in &mut renumbered {
        let add = match packet.bytes[12..16] == server[..] {
            true => [3_000_000_000, 5_u32],
            false => [5, 3_000_000_000],
        };
        for (at, add) in [24, 28].into_iter().zip(add) {
            let number = <[u8; 4]>::try_from(&packet.bytes[at..at + 4]).expect("four");
            let number = u32::from_be_bytes(number).wrapping_add(add);
            packet.bytes[at..at + 4].copy_from_slice(&number.to_be_bytes());
        }
    }
    let file = |packets: &[Passed]| capture(packets, Clock::default(), true);
    let hops = [file(satellite), file(&renumbered)].map(|other| compared(&file(lan), &other));
    let [same, own] =
        hops.each_ref().map(|hop| hop.ways.each_ref().map(|way| (way.streamed, way.spread)));
    assert_eq!(same, own);
    assert_eq!(hops[1].basis, Compared::Bytes);
}

/// When each byte of the larger direction was first seen.
fn bytes_seen(packets: &[Passed]) -> Vec<i64> {
    let mut seen = vec![i64::MAX; 2_000_000];
    let mut first = None;
    for packet in packets {
        let tcp = &packet.bytes[20..];
        let seq = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
        let (from_server, syn) = (tcp[13] & 2 != 0 && tcp[13] & 16 != 0, tcp[13] & 2 != 0);
        if from_server {
            first = Some((seq.wrapping_add(1), tcp[..2].to_vec()));
        }
        let Some((first, port)) = &first else { continue };
        let header = 20 + usize::from(tcp[12] >> 4) * 4;
        let len = packet.len as usize - header;
        if syn || len == 0 || tcp[..2] != port[..] {
            continue;
        }
        let from = seq.wrapping_sub(*first) as usize;
        for byte in &mut seen[from..from + len] {
            *byte = (*byte).min(packet.at);
        }
    }
    seen
}

/// The most bytes that were later than at the least delay at any time.
fn backlog(seen: &[Vec<i64>; 2], least: i64) -> i64 {
    let mut changes: BTreeMap<i64, i64> = BTreeMap::new();
    for (lan, sat) in seen[0].iter().zip(&seen[1]) {
        *changes.entry(*lan).or_default() += 1;
        *changes.entry(sat - least).or_default() -= 1;
    }
    let mut sum = 0;
    changes
        .values()
        .map(|change| {
            sum += change;
            sum
        })
        .max()
        .unwrap_or(0)
}

#[test]
fn the_middle_of_three_places_is_known() {
    use bentpipe_capture::pair::telling::{File, common};
    let places = through_gateway();
    let files = ["server", "g@satellite", "client"]
        .map(|place| capture(&places[place], Clock::default(), true));
    for (order, misplaced) in
        [([0, 1, 2], None), ([2, 1, 0], None), ([0, 2, 1], Some(2)), ([1, 0, 2], Some(0))]
    {
        let named = order.map(|at| File { name: "x", capture: &files[at] });
        let common = common(&named, &|_| true);
        assert_eq!(common.len(), 1);
        assert_eq!(common[0].misplaced(), misplaced, "{order:?}");
    }
}

fn dealt() -> &'static Places {
    static PLACES: std::sync::OnceLock<Places> = std::sync::OnceLock::new();
    PLACES.get_or_init(|| {
        play(&path("loss = \"3%\"\nreorder = \"1%\"\nreorder-by = \"9ms\"", "linux", "100KB", 7)).0
    })
}

proptest! {
    /// Whatever packets two files have, in whatever order: counts add up.
    #[test]
    fn counts_add_up(
        keeps in [any::<u64>(), any::<u64>()],
        swaps in proptest::collection::vec((any::<bool>(), any::<u16>(), any::<u16>()), 0..80),
        ids in any::<bool>(),
        ahead in -10_000_000_000_i64..10_000_000_000,
    ) {
        let places = dealt();
        let mut files = ["a", "b"].map(|place| places[place].clone());
        for (packets, keep) in files.iter_mut().zip(keeps) {
            let mut number = 0_u64;
            packets.retain(|_| {
                number += 1;
                keep >> (number * 7 % 64) & 1 == 0 || number < 5
            });
        }
        for (which, one, other) in swaps {
            let packets = &mut files[usize::from(which)];
            let (one, other) = (usize::from(one) % packets.len(), usize::from(other) % packets.len());
            packets.swap(one, other);
        }
        let clock = Clock { ahead: ahead + 20_000_000_000, ppm: 0.0 };
        let base = Clock { ahead: 20_000_000_000, ppm: 0.0 };
        let files = [capture(&files[0], base, ids), capture(&files[1], clock, ids)];
        for paired in pair(&files[0], &files[1]) {
            let hop = hop(Place::new(&files[0], paired.first), Place::new(&files[1], paired.second), &paired);
            if hop.basis == Compared::Bytes {
                continue;
            }
            for way in &hop.ways {
                let [up, down] = way.places;
                let both = way.samples.len() as u64;
                let upstream = both + way.lost.packets + way.unrecorded.packets + way.outside[0];
                prop_assert_eq!(way.seen[up].packets, upstream);
                let downstream = both + way.duplicated + way.only.packets + way.outside[1];
                prop_assert_eq!(way.seen[down].packets, downstream);
            }
        }
    }
}
