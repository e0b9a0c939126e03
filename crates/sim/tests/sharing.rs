//! Parallel connections whose windows are shared (RFC 9040; Henderson's thesis, 4.1.6).

use crate::support::outcome;
use bentpipe_results::RunResults;

/// Four downloads at once over a geostationary link, and four more when those are over.
fn twice_four(share: &str, tcp: &str) -> RunResults {
    outcome(&format!(
        r#"
[run]
duration = "120s"
until = "flows-done"
[host.server]
tcp = "{tcp}"
share = "{share}"
[host.client]
tcp = "linux"
[router.r]
[link.lan]
between = ["server", "r"]
profile = "ethernet-100"
[link.sat]
between = ["r", "client"]
rate = "8Mbit/s"
delay = "250ms"
queue = "60packets"
[flow.first]
from = "server"
to = "client"
count = 4
bytes = "300KB"
[flow.second]
from = "server"
to = "client"
count = 4
bytes = "300KB"
start = "40s"
"#
    ))
}

/// NewReno's window, SACK, ten segments at first.
const PLAIN: &str = "linux,congestion=standard,slow-start=standard,recovery=sack,reduction=plain";

/// How many packets were retransmitted in all, by the first four, and by the second; and when the
/// last of the first and of the second were complete, in seconds from their beginning.
fn found(share: &str, tcp: &str) -> ([u64; 2], [f64; 2]) {
    let outcome = twice_four(share, tcp);
    let of =
        |name: &'static str| outcome.flows.iter().filter(move |flow| flow.name.starts_with(name));
    let waves = ["first", "second"];
    let again = waves.map(|name| of(name).map(|flow| flow.counts.retransmissions).sum());
    let last = waves.map(|name| {
        let times = of(name).map(|flow| flow.mean_completion.expect("complete").as_secs_f64());
        times.fold(0.0, f64::max)
    });
    println!("{share}, {tcp}: retransmitted {again:?}, last complete after {last:.2?} s");
    (again, last)
}

/// Section 7: four that begin at once have one initial window together, and lose less as their slow
/// starts overrun the queue; the way there takes longer.
#[test]
fn an_ensemble_begins_with_one_window() {
    let (off, ensemble) = (found("off", PLAIN), found("ensemble", PLAIN));
    assert!(2 * ensemble.0[0] < off.0[0] + 20 && ensemble.0[0] < off.0[0], "{ensemble:?} {off:?}");
    // There is nobody left of the first four when the second begin: nothing is remembered.
    assert_eq!(ensemble.0[0], ensemble.0[1]);
    assert!(ensemble.1[0] > off.1[0], "two round trips and a half more of slow start");
}

/// Section 6: those that come later begin with the window and threshold of the last one. They lose
/// less or nothing, and are slower: a threshold that parallel slow starts have found is low, as
/// section 8 warns.
#[test]
fn who_comes_later_begins_where_the_last_one_was() {
    for (tcp, share_of_losses) in [(PLAIN.to_owned(), 0.5), (format!("{PLAIN},pacing=on"), 0.0)] {
        let (off, temporal) = (found("off", &tcp), found("temporal", &tcp));
        assert_eq!((temporal.0[0], temporal.1[0]), (off.0[0], off.1[0]), "nothing is known yet");
        assert_eq!(off.0[0], off.0[1], "nothing is remembered");
        assert!(temporal.0[1] as f64 <= share_of_losses * off.0[1] as f64, "{temporal:?} {off:?}");
        assert!(temporal.1[1] > off.1[1]);
    }
}
