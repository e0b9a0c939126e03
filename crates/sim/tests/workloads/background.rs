//! Background offers the load that it states, for as long as one likes.

use super::{flow, lasting};
use crate::support::{main_flow, parsed, played};
use bentpipe_core::time::Instant;
use bentpipe_links::Distribution;
use bentpipe_scenario::{Scenario, Workload, web};
use bentpipe_sim::build;

const LINK: &str = "rate = \"10Mbit/s\"\nqueue = \"1000packets\"";

fn background(keys: &str, seconds: u64) -> Scenario {
    lasting(seconds, LINK, &flow(keys))
}

/// E[X] and E[X²] of what is drawn.
fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    (mean, values.map(|x| x * x).sum::<f64>() / count)
}

/// Equally likely slices of a distribution.
fn slices(distribution: &Distribution) -> impl Iterator<Item = f64> + Clone + '_ {
    (0..100_000).map(|slice| distribution.quantile((f64::from(slice) + 0.5) / 1e5))
}

#[test]
fn poisson_transfers_offer_their_load() {
    // A fifth of 10 Mbit/s for 4400 s: a hundred thousand transfers.
    let scenario = background("workload = \"poisson\"\nload = \"20%\"\nof = \"sat\"", 4400);
    let outcome = played(&scenario);
    let flow = main_flow(&outcome);
    assert!(flow.background && outcome.transfers.is_empty(), "background is only counted");
    assert!(flow.completed > 99_000, "{}", flow.completed);
    assert!(flow.begun - flow.completed < 200, "{} of {}", flow.completed, flow.begun);
    let offered = flow.counts.delivered as f64 * 8.0 / 4400.0;
    // A compound Poisson process: Var = λ T E[X²].
    let Workload::Poisson { size, .. } = &scenario.flows[0].workload else { panic!() };
    let (_, square) =
        moments(slices(&size.distribution).map(|bytes| (bytes / 1000.0).ceil() * 1000.0));
    let arrivals = 2e6 / 8.0 / size.mean_bytes() * 4400.0;
    let error = (arrivals * square).sqrt() * 8.0 / 4400.0;
    println!("poisson: {offered:.0} bit/s of 2000000, standard error {error:.0}");
    assert!((offered - 2e6).abs() < 3.0 * error, "{offered} ± {error}");
}

#[test]
fn web_pages_offer_their_load() {
    let keys = "workload = \"web\"\nload = \"20%\"\nof = \"sat\"";
    let outcome = played(&background(keys, 4000));
    let flow = main_flow(&outcome);
    let offered = flow.counts.delivered as f64 * 8.0 / 4000.0;
    let (mean, square) = moments(slices(&Workload::mah_reply().distribution));
    let (count, count_square) = moments(
        (0..100_000).map(|slice| f64::from(web::mah_connections((f64::from(slice) + 0.5) / 1e5))),
    );
    // E[S²] of a page: the sum of so many replies.
    let page = Workload::mah_page_bytes();
    let page_square = count * (square - mean * mean) + count_square * mean * mean;
    let pages = 2e6 / 8.0 / page * 4000.0;
    let error = (pages * page_square).sqrt() * 8.0 / 4000.0;
    println!("web: {offered:.0} bit/s of 2000000, standard error {error:.0}, {pages:.0} pages");
    assert!((offered - 2e6).abs() < 3.0 * error, "{offered} ± {error}");
    let chance = pages.sqrt() * 3.0;
    assert!((flow.begun as f64 - pages).abs() < chance, "{} of {pages}", flow.begun);
    let connections = flow.connections as f64 / flow.begun as f64;
    assert!((connections / count - 1.0).abs() < 0.05, "{connections}, {count}");
}

#[test]
fn what_is_over_is_forgotten() {
    // A hundred thousand transfers in a thousand seconds: what remains are those of TIME-WAIT.
    let keys = "workload = \"poisson\"\nper-second = 100\nsize = \"1KB\"\nstop = \"1000s\"\n\
                tcp = { time-wait = \"10s\" }";
    let mut built = build(&background(keys, 1100), 0);
    let simulation = &mut built.simulation;
    let mut max = 0;
    for second in 1..=1000 {
        simulation.run(Instant::from_millis(1000 * second));
        let world = simulation.world();
        let sessions = [0, 1].map(|node| world.host(built.layout.nodes[node]).sessions());
        max = max.max(sessions[0] + sessions[1]);
    }
    let begun = simulation.meters().flows()[0].begun;
    assert!((99_000..101_000).contains(&begun), "{begun}");
    // 100 a second, for the 1 s or so that they last and the 10 s of TIME-WAIT.
    println!("{begun} transfers, at most {max} connections at once");
    assert!(max < 1_600, "{max}");
    simulation.run(Instant::from_millis(1_100_000));
    let world = simulation.world();
    for node in [0, 1] {
        assert_eq!(world.host(built.layout.nodes[node]).sessions(), 0);
    }
}

#[test]
fn the_same_seed_gives_the_same_packets() {
    for keys in [
        "workload = \"poisson\"\nload = \"20%\"\nof = \"sat\"",
        "workload = \"web\"\nload = \"20%\"\nof = \"sat\"",
        "workload = \"udp\"\narrivals = \"on-off\"\nrate = \"1Mbit/s\"",
        "workload = \"udp\"\narrivals = \"poisson\"\nrate = \"1Mbit/s\"",
        "workload = \"telnet\"",
    ] {
        let scenario = background(keys, 60);
        let digest = |run| bentpipe_sim::run(&scenario, run, |_| true).unwrap().run.digest;
        assert_eq!(digest(0), digest(0), "{keys}");
        assert_ne!(digest(0), digest(1), "{keys}");
    }
}

#[test]
fn gateways_forget_as_well() {
    let text = r#"
tcp = "linux,time-wait=10s"
[run]
duration = "400s"
[host.server]
[host.client]
[gateway.g1]
lan-links = "near"
[gateway.g2]
lan-links = "far"
[link.near]
between = ["server", "g1"]
[link.sat]
between = ["g1", "g2"]
profile = "geo"
[link.far]
between = ["g2", "client"]
[flow.main]
from = "server"
to = "client"
workload = "poisson"
per-second = 50
size = "2KB"
stop = "200s"
"#;
    let mut built = build(&parsed(text), 0);
    let simulation = &mut built.simulation;
    let mut max = 0;
    for second in 1..=400 {
        simulation.run(Instant::from_millis(1000 * second));
        max = simulation
            .world()
            .gateways()
            .map(bentpipe_gateway::Gateway::flows)
            .max()
            .max(Some(max))
            .unwrap();
    }
    let world = simulation.world();
    let flow = &simulation.meters().flows()[0];
    println!("{} transfers through gateways, at most {max} flows in one", flow.completed);
    assert!(flow.completed > 9_600 && flow.begun - flow.completed < 120, "{flow:?}");
    assert_eq!(world.gateways().map(bentpipe_gateway::Gateway::flows).sum::<usize>(), 0);
    assert_eq!(world.host(0).sessions() + world.host(1).sessions(), 0);
}

#[test]
fn nothing_is_left_behind_by_losses_either() {
    for tcp in ["linux", "ns-1997", "bsd-reno-1997"] {
        let keys = format!(
            "workload = \"poisson\"\nper-second = 10\nsize = \"5KB\"\nstop = \"200s\"\n\
             tcp = {{ preset = \"{tcp}\", time-wait = \"10s\" }}"
        );
        let link = format!("{LINK}\nloss = 0.05\nback = {{ loss = 0.05 }}");
        let mut built = build(&lasting(1000, &link, &flow(&keys)), 0);
        built.simulation.run(Instant::from_millis(1_000_000));
        let flow = &built.simulation.meters().flows()[0];
        assert!(flow.completed > 1_700, "{tcp}: {flow:?}");
        let world = built.simulation.world();
        let left = [0, 1].map(|node| world.host(built.layout.nodes[node]).sessions());
        assert_eq!(left, [0, 0], "{tcp}");
    }
}
