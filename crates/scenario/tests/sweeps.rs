//! Sweeps: order, labels, ranges, zips, paths into texts, and random numbers in common.

use bentpipe_core::link::{QueueKind, QueueLimit};
use bentpipe_core::tcp::recovery::RecoveryAlgorithm;
use bentpipe_core::units::Bytes;
use bentpipe_scenario::{Experiment, Point, Scenario};

const BASE: &str = r#"
title = "t"
[run]
duration = "10s"
seed = 7
[host.a]
tcp = "linux"
[host.b]
[link.l]
between = ["a", "b"]
rate = "8Mbit/s"
delay = "250ms"
queue = "60packets"
[flow.f]
from = "a"
to = "b"
"#;

fn points(sweep: &str) -> Vec<Point> {
    let text = format!("{BASE}[sweep]\n{sweep}\n");
    let experiment = Experiment::parse("s.toml", &text, &|_: &str| Err(String::new()));
    let experiment = experiment.unwrap_or_else(|error| panic!("{error}"));
    experiment.points().collect()
}

fn labels(sweep: &str) -> Vec<String> {
    points(sweep).into_iter().map(|point| point.label).collect()
}

#[test]
fn without_a_sweep_there_is_one_point() {
    let points = points("");
    assert_eq!((points.len(), points[0].label.as_str()), (1, ""));
}

#[test]
fn the_last_axis_changes_fastest() {
    let sweep =
        "\"link.l.delay\" = [\"1ms\", \"2ms\"]\n\"flow.f.tcp.recovery\" = [\"sack\", \"reno\"]";
    assert_eq!(
        labels(sweep),
        [
            "delay=1ms, recovery=sack",
            "delay=1ms, recovery=reno",
            "delay=2ms, recovery=sack",
            "delay=2ms, recovery=reno",
        ]
    );
    let last = points(sweep).pop().unwrap();
    assert_eq!(last.values[1], ("flow.f.tcp.recovery".to_owned(), "reno".to_owned()));
    assert_eq!(last.scenario.flows[0].tcp_from.sender.recovery, RecoveryAlgorithm::Reno);
    // What the flow does not say is the host's.
    assert_eq!(last.scenario.flows[0].tcp_from.receive_buffer, Bytes::new(64 << 10));
}

#[test]
fn zipped_axes_change_in_step() {
    let sweep = "\"link.l.delay\" = [\"1ms\", \"2ms\"]\n\"flow.f.count\" = [1, 2, 3]\n\
                 \"link.l.queue\" = [\"5packets\", \"9packets\"]\n\
                 zip = [[\"link.l.delay\", \"link.l.queue\"]]";
    let labels = labels(sweep);
    assert_eq!(labels.len(), 6);
    assert_eq!(labels[0], "delay=1ms, queue=5packets, count=1");
    assert_eq!(labels[5], "delay=2ms, queue=9packets, count=3");
}

#[test]
fn of_many_zipped_fields_labels_have_one_that_tells_them_apart() {
    let sweep = "\"link.l.queue\" = [\"5packets\", \"5packets\"]\n\
                 \"link.l.delay\" = [\"1ms\", \"2ms\"]\n\"flow.f.count\" = [1, 3]\n\
                 zip = [[\"link.l.queue\", \"link.l.delay\", \"flow.f.count\"]]";
    assert_eq!(labels(sweep), ["delay=1ms", "delay=2ms"]);
}

#[test]
fn ranges_reach_both_ends() {
    assert_eq!(
        labels("\"link.l.delay\" = { from = \"10ms\", to = \"1s\", steps = 4 }"),
        ["delay=10ms", "delay=340ms", "delay=670ms", "delay=1s"]
    );
    assert_eq!(
        labels(
            "\"link.l.queue\" = { from = \"4packets\", to = \"64packets\", steps = 5, scale = \"log\" }"
        ),
        [
            "queue=4packets",
            "queue=8packets",
            "queue=16packets",
            "queue=32packets",
            "queue=64packets"
        ]
    );
    assert_eq!(
        labels("\"link.l.rate\" = { from = \"1Mbit/s\", to = \"2Mbit/s\", steps = 3 }"),
        ["rate=1Mbit/s", "rate=1.5Mbit/s", "rate=2Mbit/s"]
    );
    assert_eq!(
        labels("\"flow.f.bytes\" = { from = \"10KB\", to = \"1MB\", steps = 3, scale = \"log\" }"),
        ["bytes=10KB", "bytes=100KB", "bytes=1MB"]
    );
    let losses = labels("\"link.l.loss\" = { from = 1e-4, to = 1e-2, steps = 3, scale = \"log\" }");
    assert_eq!((losses[0].as_str(), losses[2].as_str()), ("loss=0.0001", "loss=0.01"));
    // Whole numbers stay whole, and equal ones count once.
    assert_eq!(
        labels("\"flow.f.count\" = { from = 1, to = 3, steps = 5 }"),
        ["count=1", "count=2", "count=3"]
    );
}

#[test]
fn paths_lead_into_texts() {
    let points = points("\"host.a.tcp.iw\" = [4]\n\"link.l.queue.limit\" = [\"9packets\"]");
    let scenario = &points[0].scenario;
    assert_eq!(scenario.links[0].forward.queue, QueueKind::DropTail(QueueLimit::Packets(9)));
    let linux = Scenario::parse(BASE).unwrap();
    let (before, after) = (linux.flows[0].tcp_from, scenario.flows[0].tcp_from);
    assert_ne!(before.sender.initial_window, after.sender.initial_window);
    assert_eq!(before.sender.recovery, after.sender.recovery);
    assert_eq!(linux.flows[0].tcp_to, scenario.flows[0].tcp_to);
}

#[test]
fn labels_tell_alike_paths_apart() {
    assert_eq!(
        labels("\"host.a.tcp.iw\" = [4]\n\"host.b.tcp.iw\" = [5]"),
        ["host.a.tcp.iw=4, host.b.tcp.iw=5"]
    );
}

#[test]
fn all_points_share_their_random_numbers() {
    let points = points("\"link.l.delay\" = [\"1ms\", \"2ms\"]");
    for run in 0..3 {
        assert_eq!(points[0].scenario.seeds(run), points[1].scenario.seeds(run));
    }
    let seeds = points[0].scenario.seeds(0);
    assert_ne!(seeds.stream("link.l/forward/loss"), seeds.stream("link.l/back/loss"));
    assert_ne!(seeds, points[0].scenario.seeds(1));
}

#[test]
fn canonical_texts_hold_what_matters_only() {
    let points = points("\"link.l.delay\" = [\"1ms\", \"2ms\"]");
    assert_ne!(points[0].canonical, points[1].canonical);
    assert!(!points[0].canonical.contains("title") && !points[0].canonical.contains("sweep"));
    // Comments, layout and the title do not change it.
    let other = BASE.replace("title = \"t\"", "title = \"u\"\nabout = \"v\" # w");
    let other = other.replace("queue = \"60packets\"", "queue   =   '60packets'");
    let canonical = |text: &str| {
        let read = |_: &str| Err(String::new());
        Experiment::parse("s.toml", text, &read).unwrap().point(0).canonical
    };
    assert_eq!(canonical(BASE), canonical(&other));
    // What a named file says is part of it.
    let traced = BASE.replace("delay = \"250ms\"", "trace = \"t.csv\"");
    let with = |csv: &'static str| {
        let read = move |_: &str| Ok(csv.to_owned());
        Experiment::parse("s.toml", &traced, &read).unwrap().point(0).canonical
    };
    assert_ne!(with("time,delay\n0s,1ms\n"), with("time,delay\n0s,2ms\n"));
}
