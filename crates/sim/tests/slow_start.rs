//! Slow start as the papers propose it: paced, in short bursts, with larger initial windows.

use crate::support::{brief, link, main_flow, parsed};
use bentpipe_results::RunResults;
use bentpipe_sim::run;

/// bbn's path and sfu's, whose files end in one flow.
const BBN: &str = include_str!("../../../papers/bbn/path.toml");
const SFU: &str = include_str!("../../../papers/sfu/switch.toml");

/// The papers' pacing: slow start sends as fast as acknowledgments return.
const PACED: &str = "tcp = { pacing = \"on\", probing = \"ack-rate\" }\n";

fn changed(text: &str, changes: &[(&str, &str)], more: &str) -> RunResults {
    let text = changes.iter().fold(text.to_owned(), |text, (old, new)| {
        assert!(text.contains(old), "{old}");
        text.replace(old, new)
    });
    run(&parsed(&(text + more)), 0, |_| true).expect("it is not given up")
}

/// B-W-1: with 20 packets of buffer (section 8), and a first threshold of the path's size, which
/// pacing needs to know when to stop.
#[test]
fn a_paced_slow_start_loses_next_to_nothing_of_what_an_unpaced_one_does() {
    let with = |more: &str| {
        let changes = [
            ("ns-1997,", "ns-1997,recovery=sack,ssthresh=90528B,"),
            ("duration = \"60s\"", "duration = \"300s\"\nuntil = \"flows-done\""),
            ("queue = \"50packets\"", "queue = \"20packets\""),
        ];
        changed(BBN, &changes, &format!("bytes = 2000000\n{more}"))
    };
    let (plain, paced) = (with(""), with(PACED));
    println!("{}{}", brief(&plain), brief(&paced));
    let dropped = [&plain, &paced].map(|outcome| outcome.run.dropped);
    assert!(dropped[0] > 10 && 5 * dropped[1] <= dropped[0], "{dropped:?}");
    assert!(paced.run.end <= plain.run.end, "{}", brief(&paced));
}

/// B-EM-7: "release a few packets each time the pacing timer goes off", in B-EM-6's scenario.
#[test]
fn five_packets_a_timer_do_as_well_as_one() {
    let goodput = |burst: u32| {
        let changes = [
            ("ns-1997,", "ns-1997,ssthresh=88560B,receive-buffer=94464B,"),
            ("duration = \"60s\"", "duration = \"20s\"\nwarm-up = \"8s\""),
            ("rate = \"1.5Mbit/s\"", "rate = \"1474560bit/s\""),
            ("queue = \"50packets\"", "queue = \"6packets\""),
        ];
        let burst = PACED.replace(" }", &format!(", burst = {burst} }}"));
        main_flow(&changed(BBN, &changes, &burst)).goodput
    };
    let [one, five] = [1, 5].map(goodput);
    println!("bursts of 1: {one:.0} bit/s, of 5: {five:.0} bit/s");
    assert!(one > 1.3e6 && (five / one - 1.0).abs() < 0.05, "{one}, {five}");
}

/// S-W-3: in figure 4.2's scenario, with a queue that drops nothing.
#[test]
fn pacing_packets_or_acknowledgments_halves_the_switchs_queue() {
    let spacer = "[middlebox.spacer]\nkind = \"ack-spacer\"\nat = \"satellite\"\nlink = \"up\"\n\
                  rate = \"1.544Mbit/s\"\n";
    let changes = [("queue = \"50packets\"", "queue = \"200packets\"")];
    let [plain, paced, spaced] = ["", PACED, spacer].map(|more| {
        let outcome = changed(SFU, &changes, more);
        assert_eq!(outcome.run.dropped, 0, "{}", brief(&outcome));
        let queue = link(&outcome, "down", "satellite").longest_queue.packets;
        println!("{queue} packets at most, {:.0} bit/s", main_flow(&outcome).goodput);
        (queue, main_flow(&outcome).goodput)
    });
    for other in [paced, spaced] {
        assert!(2 * other.0 <= plain.0, "{other:?}, {plain:?}");
        assert!((other.1 / plain.1 - 1.0).abs() < 0.05, "{other:?}, {plain:?}");
    }
}

/// Transfers of 100 KB each that begin within ten seconds, over a link of 1.5 Mbit/s and half a
/// second that they congest.
const MANY: &str = r#"
tcp = "linux,congestion=standard,slow-start=standard,recovery=sack,iw=WINDOW"
[run]
duration = "600s"
until = "flows-done"
[host]
server = {}
client = {}
[router.ground]
[link.lan]
between = ["server", "ground"]
rate = "100Mbit/s"
[link.sat]
between = ["ground", "client"]
rate = "1.5Mbit/s"
delay = "250ms"
queue = "50packets"
[flow.main]
from = "server"
to = "client"
bytes = "100KB"
count = COUNT
start = { uniform = ["0s", "10s"] }
"#;

/// What became of so many transfers with such a window, over ten runs.
#[derive(Debug)]
struct Crowd {
    /// Of the packets offered to the link.
    dropped: f64,
    /// Mean time of a transfer, in seconds.
    took: f64,
    /// Jain's index of the transfers' rates.
    fairness: f64,
}

fn crowd(count: u32, window: u32) -> Crowd {
    let text = MANY.replace("WINDOW", &window.to_string()).replace("COUNT", &count.to_string());
    let scenario = parsed(&text);
    let runs = (0..10).map(|number| run(&scenario, number, |_| true).expect("it ends"));
    let (mut dropped, mut offered, mut took, mut fairness) = (0, 0, 0.0, 0.0);
    for outcome in runs {
        let sat = link(&outcome, "sat", "ground").counters;
        dropped += sat.dropped.packets;
        offered += sat.offered.packets;
        let times = outcome.flows.iter().map(|flow| {
            assert_eq!(flow.completed, 1, "{}", brief(&outcome));
            flow.mean_completion.expect("it is complete").as_secs_f64()
        });
        let times: Vec<f64> = times.collect();
        took += times.iter().sum::<f64>() / times.len() as f64 / 10.0;
        let rates = || times.iter().map(|time| 1.0 / time);
        let squares: f64 = rates().map(|rate| rate * rate).sum();
        fairness += rates().sum::<f64>().powi(2) / squares / times.len() as f64 / 10.0;
    }
    Crowd { dropped: dropped as f64 / offered as f64, took, fairness }
}

/// B-4PKT-W2 and S-W-2: what initial windows make of a link that 10 to 40 transfers congest.
#[test]
fn larger_initial_windows_drop_more_and_are_not_slower_on_a_congested_link() {
    println!("| transfers | window | dropped | mean time, s | Jain's index |");
    for count in [10, 20, 40] {
        let row = [1, 2, 4, 8, 16].map(|window| {
            let found = crowd(count, window);
            let Crowd { dropped, took, fairness } = found;
            println!("| {count} | {window} | {dropped:.4} | {took:.2} | {fairness:.3} |");
            found
        });
        let [one, _, four, _, sixteen] = &row;
        // Four segments are safe for the network: not two per cent more are dropped.
        assert!(four.dropped < one.dropped + 0.02, "{count}: {row:?}");
        assert!(four.took < 1.05 * one.took && four.fairness > one.fairness - 0.05, "{row:?}");
        assert!(sixteen.dropped >= one.dropped, "{count}: {row:?}");
    }
}
