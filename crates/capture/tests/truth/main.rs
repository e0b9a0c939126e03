//! Explanations of captures against the hosts' own records, over scenarios drawn at random.
//!
//! Each scenario runs in the simulator. It is captured at the sender, at a box between, and at the
//! receiver, without comments. The judge explains these captures, and compares with the records:
//! each silence's limiter, each retransmission's cause, and whether a segment came late or was
//! retransmitted.
//!
//! ```sh
//! cargo test -p bentpipe-capture --test truth -- --nocapture    # prints the table
//! BENTPIPE_TRUTH_SEEDS=1000..2000 BENTPIPE_TRUTH_EXAMPLES=5 \
//!     cargo test --release -p bentpipe-capture --test truth -- --nocapture
//! ```
//!
//! With seeds of one's own nothing is asserted. `BENTPIPE_TRUTH_EXAMPLES` says how many examples of
//! each error are named. `BENTPIPE_TRUTH_KEEP=FOLDER` keeps each seed's scenario, its captures with
//! the recorded causes, and the limiters of its hosts over time.

mod draw;
mod judge;
mod record;
mod table;
mod told;

use judge::PLACES;
use std::ops::Range;
use table::{Kind, Sums, Table};

/// The seeds that every run of the tests draws.
const SEEDS: Range<u64> = 0..200;

/// The least share of silences, retransmissions and segments behind others that something is told
/// of, and the least share of that which is to be right: by kind and place.
const FLOORS: [(Kind, &str, f64, f64); 9] = [
    (Kind::Limiter, "sender", 0.8, 0.99),
    (Kind::Limiter, "middle", 0.0, 0.87),
    (Kind::Limiter, "receiver", 0.0, 0.9),
    (Kind::Cause, "sender", 0.8, 0.99),
    (Kind::Cause, "middle", 0.0, 0.9),
    (Kind::Cause, "receiver", 0.0, 0.9),
    (Kind::Lateness, "sender", 0.95, 0.99),
    (Kind::Lateness, "middle", 0.95, 0.99),
    (Kind::Lateness, "receiver", 0.95, 0.99),
];

/// At the sender, the least share of each answer that is to be right.
const EACH: f64 = 0.94;

/// Of fewer answers no share is asked for.
const ENOUGH: u64 = 100;

fn number<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}

fn wanted() -> Option<Range<u64>> {
    let text = std::env::var("BENTPIPE_TRUTH_SEEDS").ok()?;
    let (from, to) = text.split_once("..").expect("seeds such as 0..200");
    Some(from.parse().expect("a seed")..to.parse().expect("a seed"))
}

fn judged(seed: u64) -> Table {
    let mut table = Table::default();
    let drawn = draw::draw(seed);
    let mut run = record::play(&drawn);
    if let Ok(folder) = std::env::var("BENTPIPE_TRUTH_KEEP") {
        run.keep(&folder, seed, &drawn);
    }
    let a = run.first_host();
    judge::judge(seed, &mut run, a, &mut table);
    table
}

#[test]
fn captures_tell_what_hosts_have_recorded() {
    let seeds = wanted();
    let is_survey = seeds.is_some();
    let seeds: Vec<u64> = seeds.unwrap_or(SEEDS).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut table = Table::default();
    std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|part| {
                let seeds = seeds.iter().skip(part).step_by(threads);
                scope.spawn(move || {
                    let mut table = Table::default();
                    seeds.for_each(|seed| table.merge(judged(*seed)));
                    table
                })
            })
            .collect();
        for part in parts {
            table.merge(part.join().expect("a table"));
        }
    });
    let examples = number("BENTPIPE_TRUTH_EXAMPLES").unwrap_or(2);
    let text = table.write(&PLACES, examples);
    println!("{text}");
    if is_survey {
        return;
    }
    let holds = |sums: &Sums, right: f64| sums.answers() < ENOUGH || sums.right() >= right;
    for (kind, place, told, right) in FLOORS {
        let sums = table.sums(kind, place);
        assert!(sums.told() >= told, "too little: {kind:?} at the {place}\n{text}");
        assert!(holds(&sums, right), "too wrong: {kind:?} at the {place}\n{text}");
    }
    for kind in [Kind::Limiter, Kind::Cause] {
        for (told, sums) in table.by_told(kind, "sender") {
            assert!(holds(&sums, EACH), "too wrong: {told} at the sender\n{text}");
        }
    }
}
