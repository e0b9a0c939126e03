//! Initial windows of satellite legs by the load (bharadwaj-2001, 4.3), beside fixed ones on the
//! parallel transfers of its figures 11 to 14: all connect first, and begin together.

use crate::support::outcome;

/// The link's rate and round trip, which a window by the load needs; else the same TCP as with
/// fixed ones.
const FROM_LOAD: &str = "rate = \"8Mbit/s\", round-trip = \"500ms\", iw = \"from-load\"";

/// What became of `count` transfers of `bytes`.
#[derive(Debug, Clone, Copy)]
struct Found {
    /// Mean of the transfers' throughputs, times their number, as a share of the link's rate.
    utilisation: f64,
    /// The throughputs' standard deviation by their mean.
    spread: f64,
    /// When the last one was complete, in seconds.
    last: f64,
    /// Packets dropped at the satellite link.
    dropped: u64,
}

/// With this satellite leg, and so much of other traffic on the Ethernet behind the link.
fn transfers(count: u32, bytes: &str, leg: &str, noise: Option<&str>) -> Found {
    let noise = noise.map_or(String::new(), |rate| {
        format!(
            "[flow.noise]\nworkload = \"udp\"\nfrom = \"noise\"\nto = \"client\"\nrate = \"{rate}\"\n\
             packet = \"1472B\"\n"
        )
    });
    let leg = format!("congestion = \"standard\", pacing = \"off\", losses = \"believed\", {leg}");
    let outcome = outcome(&format!(
        r#"
[run]
duration = "600s"
until = "flows-done"
[host]
server = {{ tcp = "linux" }}
client = {{ tcp = "linux" }}
noise = {{}}
[router.r]
[gateway.g1]
lan-links = "near"
satellite = {{ {leg} }}
[gateway.g2]
lan-links = "far"
satellite.found-by = "each-flow"
[link]
near = {{ between = ["server", "g1"], profile = "ethernet-10" }}
far = {{ between = ["g2", "r"], profile = "ethernet-100" }}
noise = {{ between = ["noise", "r"], profile = "ethernet-100" }}
client = {{ between = ["r", "client"], profile = "ethernet-10" }}
sat = {{ between = ["g1", "g2"], rate = "8Mbit/s", delay = "250ms", queue = "100packets" }}
[flow.transfer]
from = "server"
to = "client"
bytes = "{bytes}"
count = {count}
barrier = "connected"
opened-by = "to"
{noise}"#
    ));
    let flows = outcome.flows.iter().filter(|flow| flow.name.starts_with("transfer"));
    let times: Vec<f64> =
        flows.map(|flow| flow.mean_completion.expect("it is complete").as_secs_f64()).collect();
    let bits = if bytes == "10KB" { 80e3 } else { 800e3 };
    let rates: Vec<f64> = times.iter().map(|time| bits / time).collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let variance =
        rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (rates.len() - 1) as f64;
    let dropped = outcome.links.iter().filter(|link| link.name == "sat");
    Found {
        utilisation: mean * rates.len() as f64 / 8e6,
        spread: variance.sqrt() / mean,
        last: times.iter().copied().fold(0.0, f64::max),
        dropped: dropped.map(|link| link.counters.dropped.packets).sum(),
    }
}

/// Of so many transfers with initial windows of 1, 4 and 16 segments and with what is free.
fn row(count: u32, bytes: &str, noise: Option<&str>) -> [Found; 4] {
    let legs = ["iw = 1", "iw = 4", "iw = 16", FROM_LOAD];
    let row = legs.map(|leg| transfers(count, bytes, leg, noise));
    let cell = |found: &Found| {
        let Found { utilisation, spread, last, dropped } = found;
        format!("{utilisation:.2} ({spread:.2}), {last:.2} s, {dropped}")
    };
    println!("| {count} of {bytes} | {} |", row.each_ref().map(cell).join(" | "));
    row
}

/// Figures 11 and 12: no fixed window is good for all, what is free is. (Where 40 have 100 KB each
/// all slow starts end in losses, and the last of them is later than with four segments.)
#[test]
fn what_is_free_is_as_good_as_the_best_fixed_window() {
    let mut far_from_best = [0; 3];
    for bytes in ["10KB", "100KB"] {
        for count in [10, 20, 30, 40] {
            let row = row(count, bytes, None).map(|found| found.utilisation);
            let best = row[..3].iter().copied().fold(0.0, f64::max);
            assert!(row[3] > 0.95 * best, "{count} of {bytes}: {row:?}");
            for (far, fixed) in far_from_best.iter_mut().zip(row) {
                *far += u32::from(fixed < 0.92 * best);
            }
        }
    }
    assert!(far_from_best.iter().all(|cells| *cells >= 1), "{far_from_best:?}");
}

/// Figures 13 and 14: where the Ethernet behind the link is congested, a larger window helps short
/// transfers only. The gateway before the link knows nothing of that.
#[test]
fn behind_the_link_a_window_by_its_load_is_no_help() {
    let noise = Some("7Mbit/s");
    for count in [10, 20, 30, 40] {
        let short = row(count, "10KB", noise);
        assert!(short[3].utilisation > 0.98 * short[2].utilisation, "{short:?}");
    }
    let long = [10, 20, 30, 40].map(|count| row(count, "100KB", noise));
    assert!(long[3][3].utilisation < long[3][1].utilisation, "{long:?}");
}

/// Downloads over 8 Mbit/s and half a second of which the gateways know nothing, all of which begin
/// at once: when the last one is complete, and packets dropped.
fn unknown(count: u32, bytes: &str, iw: &str) -> (f64, u64) {
    let outcome = outcome(&format!(
        r#"
[run]
duration = "600s"
until = "flows-done"
[host.server]
tcp = "linux"
[host.client]
tcp = "linux"
[gateway.g1]
lan-links = "near"
satellite = {{ iw = "{iw}" }}
[gateway.g2]
lan-links = "far"
satellite = {{ iw = "{iw}" }}
[link]
near = {{ between = ["server", "g1"], profile = "lan" }}
far = {{ between = ["g2", "client"], profile = "lan" }}
sat = {{ between = ["g1", "g2"], rate = "8Mbit/s", delay = "250ms", queue = "100packets" }}
[flow.transfer]
from = "server"
to = "client"
bytes = "{bytes}"
count = {count}
opened-by = "to"
"#
    ));
    let times = outcome.flows.iter().map(|flow| flow.mean_completion.expect("it is complete"));
    let dropped = outcome.links.iter().filter(|link| link.name == "sat");
    let last = times.max().expect("there are flows").as_secs_f64();
    (last, dropped.map(|link| link.counters.dropped.packets).sum())
}

/// A flow that begins alone on a path of half a second has fifty segments, spread over that; where
/// many begin at once, ten, as ever.
#[test]
fn who_begins_alone_has_more_than_who_begins_in_a_crowd() {
    for (bytes, saved) in [("100KB", 0.4), ("1MB", 0.35)] {
        let [(usual, _), (spread, dropped)] =
            ["10", "by-round-trip"].map(|iw| unknown(1, bytes, iw));
        assert!(spread < usual - saved, "{bytes}: {spread} s instead of {usual}");
        assert_eq!(dropped, 0, "{bytes}");
    }
    let [(_, usual), (_, crowd)] = ["10", "by-round-trip"].map(|iw| unknown(40, "100KB", iw));
    println!("dropped: {usual}, {crowd}");
    assert!(crowd * 10 < usual * 11, "{crowd} dropped instead of {usual}");
}
