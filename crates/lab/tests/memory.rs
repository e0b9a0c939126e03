//! What experiments take of the heap does not grow with the number of their runs.

use bentpipe_lab::{Attempt, Executed, Folder, Key, Options, PointEnd, execute, make};
use bentpipe_scenario::repeat::Enough;
use bentpipe_scenario::{Change, Experiment};
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

const TEXT: &str = r#"
[run]
duration = "2s"
[host.server]
[host.client]
[link.sat]
between = ["server", "client"]
rate = "2Mbit/s"
delay = "50ms"
loss = 0.01
[flow.main]
from = "server"
to = "client"
"#;

/// The most that is on the heap at a time, in bytes.
struct Peak {
    /// While stored runs are looked through.
    found: u64,
    /// While tables are written.
    written: u64,
}

/// With so many runs; and what one of them has on the disk.
fn peak(runs: u32) -> (Peak, u64) {
    let place = tempfile::tempdir().unwrap();
    let changes = [Change::new("repeat.runs", runs.to_string())];
    let experiment = Experiment::parse_changed("x.toml", TEXT, &changes, &|_| Err(String::new()));
    let experiment = experiment.unwrap_or_else(|error| panic!("{error}"));
    let (folder, store) = Folder::open(place.path()).unwrap();
    // The first run stands for all.
    let point = experiment.point(0);
    let Attempt::Made(record) =
        make(&bentpipe_sim::run_into, &store, &point, 0, &mut |_| true).unwrap()
    else {
        panic!()
    };
    (1..runs).for_each(|run| store.save(Key::of(&point.canonical, run), &record).unwrap());
    let stored = store.pack(Key::of(&point.canonical, 0)).unwrap()[0].1.len() as u64;

    let stop = AtomicBool::new(false);
    let threads = NonZeroUsize::MIN;
    let options = Options {
        runner: &bentpipe_sim::run_into,
        threads,
        point: None,
        run: None,
        shard: None,
        stop: &stop,
    };
    let mut executed = None;
    let found = allocation_counter::measure(|| {
        executed = Some(execute(&experiment, &store, &options, &|_| {}).unwrap());
    });
    let end = PointEnd { point: 0, runs, because: Some(Enough::Runs) };
    let (ends, failures, found_runs) = (vec![end], Vec::new(), u64::from(runs));
    let executed = executed.unwrap();
    let expected =
        Executed { ends, failures, stopped: false, made: 0, found: found_runs, run: None };
    assert_eq!(executed, expected);
    let written = allocation_counter::measure(|| {
        folder.write(&experiment, &store, &executed).unwrap();
    });
    (Peak { found: found.bytes_max, written: written.bytes_max }, stored)
}

#[test]
fn memory_does_not_grow_with_the_number_of_runs() {
    let (few, stored) = peak(2_000);
    let (many, _) = peak(6_000);
    let grown = |few: u64, many: u64| many.saturating_sub(few) / 4_000;
    let (found, written) = (grown(few.found, many.found), grown(few.written, many.written));
    println!("{found} and {written} bytes for a run that has {stored} on the disk");
    assert!(found < 16, "{found} bytes for each run that was found");
    // Parquet's writer knows the values of the one column that it writes.
    assert!(written < stored / 10, "{written} bytes for each run in the tables");
}
