//! An experiment's results are the same on any number of threads, and in any number of sittings.

use bentpipe_lab::{
    Attempt, Event, Executed, Folder, Key, Options, Results, Shipment, ShipmentError, Store,
    execute, make,
};
use bentpipe_scenario::Experiment;
use bentpipe_scenario::repeat::Enough;
use bentpipe_sim::run_into;
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Points of which some need more runs than others to be sure.
const TEXT: &str = r#"
title = "Loss and recovery"
[run]
duration = "20s"
warm-up = "2s"
[repeat]
until = "ci95 25%"
min = 3
max = 8
[host.server]
[host.client]
[link.sat]
between = ["server", "client"]
trace = "fade.csv"
rate = "2Mbit/s"
delay = "50ms"
[flow.main]
from = "server"
to = "client"
start = { uniform = ["0s", "1s"] }
[flow.small]
from = "server"
to = "client"
bytes = "100KB"
[record]
link = ["queue"]
links = ["sat"]
interval = "500ms"
[sweep]
"link.sat.delay" = ["20ms", "200ms"]
"flow.main.tcp.recovery" = ["reno", "sack"]
"#;

const TRACE: &str = "time,loss\n0s,0\n5s,0.03\n";

fn experiment() -> Experiment {
    let read = |path: &str| match path {
        "fade.csv" => Ok(TRACE.to_owned()),
        _ => Err("there is no such file".to_owned()),
    };
    Experiment::parse("fade.toml", TEXT, &read).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs the experiment in `folder`; stops after so many runs that were made now.
fn sitting(folder: &Path, threads: usize, stop_after: u64) -> (Executed, Option<Results>) {
    let experiment = experiment();
    let (folder, store) = Folder::open(folder).unwrap();
    let (stop, made) = (AtomicBool::new(false), AtomicU64::new(0));
    let options = Options {
        runner: &run_into,
        threads: NonZeroUsize::new(threads).unwrap(),
        point: None,
        run: None,
        shard: None,
        stop: &stop,
    };
    let watch = |event: Event<'_>| {
        if let Event::Finished { stored: false, .. } = event
            && made.fetch_add(1, Ordering::Relaxed) + 1 >= stop_after
        {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let executed = execute(&experiment, &store, &options, &watch).unwrap();
    let results =
        (!executed.stopped).then(|| folder.write(&experiment, &store, &executed).unwrap());
    (executed, results)
}

/// All files of results, without the store.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    files
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect()
}

#[test]
fn results_are_the_same_on_any_number_of_threads_and_when_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (alone, results) = sitting(&path("one"), 1, u64::MAX);
    let results = results.unwrap();
    assert_eq!((alone.failures.len(), alone.found), (0, 0));
    let expected = files(&path("one"));
    let names: Vec<&str> = expected.keys().map(String::as_str).collect();
    let tables = ["links", "results", "runs", "series", "summary", "summary-links", "transfers"];
    for name in tables {
        assert!(names.contains(&format!("{name}.csv").as_str()), "{names:?}");
        assert!(names.contains(&format!("{name}.parquet").as_str()), "{names:?}");
    }
    for name in ["README.md", "scenario.toml", "fade.csv", "summary.json"] {
        assert!(names.contains(&name), "{names:?}");
    }
    // The rule ended some points early, and not all at once.
    let runs: Vec<u32> = results.points.iter().map(|point| point.runs).collect();
    assert!(results.points.iter().any(|point| point.because == Some(Enough::Met)), "{runs:?}");
    assert!(runs.iter().any(|count| *count != runs[0]), "{runs:?}");

    let (four, _) = sitting(&path("four"), 4, u64::MAX);
    assert_eq!(four.ends, alone.ends);
    assert_eq!(files(&path("four")), expected);

    let (half, none) = sitting(&path("resumed"), 2, 5);
    assert!(half.stopped && none.is_none() && half.made >= 5);
    assert!(files(&path("resumed")).is_empty(), "no tables of half an experiment");
    let (rest, _) = sitting(&path("resumed"), 3, u64::MAX);
    assert!(rest.found >= 5, "{rest:?}");
    assert_eq!(files(&path("resumed")), expected);

    // Once more nothing is run; a damaged run is, alone.
    let (again, _) = sitting(&path("one"), 2, u64::MAX);
    assert_eq!(again.made, 0);
    let mut runs = fs::read_dir(path("one/runs")).unwrap().map(|entry| entry.unwrap().path());
    let run = runs.find(|path| path.extension().is_some_and(|kind| kind == "run"));
    fs::write(run.unwrap(), "").unwrap();
    let (repaired, _) = sitting(&path("one"), 1, u64::MAX);
    assert_eq!(repaired.made, 1);
    assert_eq!(files(&path("one")), expected);
}

#[test]
fn tables_hold_what_their_columns_say() {
    let folder = tempfile::tempdir().unwrap();
    let (executed, _) = sitting(folder.path(), 2, u64::MAX);
    let counted: u32 = executed.ends.iter().map(|end| end.runs).sum();
    let readme = fs::read_to_string(folder.path().join("README.md")).unwrap();
    for name in ["results", "runs", "links", "transfers", "summary"] {
        let mut reader =
            csv::Reader::from_path(folder.path().join(name).with_extension("csv")).unwrap();
        let heads: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
        assert_eq!(heads[..3], ["point", "link.sat.delay_s", "flow.main.tcp.recovery"]);
        for head in &heads {
            assert!(readme.contains(&format!("| `{head}` |")), "{name}: {head}");
        }
        let rows: Vec<BTreeMap<String, String>> =
            reader.deserialize().map(|row| row.unwrap()).collect();
        let wanted = match name {
            "results" | "links" => counted * 2,
            "runs" | "transfers" => counted * if name == "runs" { 1 } else { 2 },
            _ => 8,
        };
        assert_eq!(rows.len(), wanted as usize, "{name}");
        if name == "results" {
            let main = rows.iter().find(|row| row["flow"] == "main").unwrap();
            let (bytes, goodput): (f64, f64) =
                (main["delivered_bytes"].parse().unwrap(), main["goodput_bps"].parse().unwrap());
            assert!((goodput - bytes * 8.0 / 18.0).abs() < 1e-6 * goodput, "{main:?}");
            assert_eq!(main["finish_s"], "");
        }
        if name == "summary" {
            let goodput =
                |row: &BTreeMap<String, String>, column: &str| row[column].parse::<f64>().unwrap();
            for row in &rows {
                let ratio =
                    goodput(row, "goodput_half_width_95_bps") / goodput(row, "goodput_sd_bps");
                assert!(row["goodput_sd_bps"] == "0" || ratio > 0.0, "{row:?}");
            }
        }
    }
}

#[test]
fn every_column_is_defined_in_the_documentation() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md"));
    let page = page.unwrap();
    for name in bentpipe_lab::SummaryTable::ALL.map(bentpipe_lab::SummaryTable::name) {
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
    for figure in [
        names(bentpipe_lab::figures::FLOW_FIGURES),
        names(bentpipe_lab::figures::RUN_FIGURES),
        names(bentpipe_lab::figures::LINK_FIGURES),
        names(bentpipe_lab::figures::GROUP_FIGURES),
    ]
    .concat()
    {
        assert!(page.contains(&format!("`{figure}`")), "{figure}");
    }
    for table in bentpipe_lab::tables::Table::ALL {
        for heading in table.headings() {
            assert!(page.contains(&format!("`{}`", heading.name)), "{table:?}: {}", heading.name);
        }
    }
}

fn names<R>(figures: &[bentpipe_lab::figures::Figure<R>]) -> Vec<&'static str> {
    figures.iter().map(|figure| figure.name).collect()
}

/// A run's files as bytes make the same run in another store; what was spoilt on the way, or does
/// not belong to it, is not taken.
#[test]
fn a_run_that_is_shipped_is_the_same_and_a_spoilt_one_is_refused() {
    let here = tempfile::tempdir().unwrap();
    let experiment = experiment();
    let point = experiment.point(1);
    let store = Store::open(&here.path().join("here")).unwrap();
    let Attempt::Made(record) = make(&run_into, &store, &point, 3, &mut |_| true).unwrap() else {
        panic!()
    };
    let key = Key::of(&point.canonical, 3);
    let sent = store.pack(key).unwrap();
    assert_eq!(sent.len(), 2, "a record and its series");
    let there = Store::open(&here.path().join("there")).unwrap();
    let refused =
        |files: &Shipment| there.unpack(key, files).is_err() && there.load(key).unwrap().is_none();
    for file in 0..sent.len() {
        let mut spoilt = sent.clone();
        let last = spoilt[file].1.len() - 1;
        spoilt[file].1[last] ^= 1;
        assert!(refused(&spoilt), "{}", sent[file].0);
        let mut lost = sent.clone();
        lost.remove(file);
        assert!(refused(&lost), "without {}", sent[file].0);
    }
    for name in ["../x.run", "/tmp/x.run", "x.run", "a/b"] {
        let mut stray = sent.clone();
        stray.push((name.to_owned(), Vec::new()));
        let error = there.unpack(key, &stray).unwrap_err();
        assert!(matches!(error, ShipmentError::Stray(_)), "{name}: {error}");
    }
    let other = Key::of(&point.canonical, 4);
    assert!(there.unpack(other, &sent).is_err(), "another run's");
    assert_eq!(there.unpack(key, &sent).unwrap(), record);
    assert_eq!(there.load(key).unwrap(), Some(record));
    assert_eq!(there.pack(key).unwrap(), sent);
}
