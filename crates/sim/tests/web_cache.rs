//! A Web cache near its users: what it answers never crosses the satellite, what it fetches does so
//! on connections of its own, and everything else passes.

use crate::support::{brief, link, main_flow, parsed, played};
use bentpipe_core::text::Choice;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_results::RunResults;
use bentpipe_scenario::{Scenario, web};
use bentpipe_sim::{build, run};
use rand::RngExt;

/// A server, 250 ms of satellite, a router with a cache, 10 ms of LAN, a client. `SAT` and `LAN`
/// are further keys of the links.
const NETWORK: &str = r#"
tcp = "TCP"
[run]
RUN
[host.server]
[host.client]
NEAR
[link.sat]
between = ["server", "near"]
delay = "DELAY"
SAT
[link.lan]
between = ["near", "client"]
delay = "10ms"
LAN
[flow.main]
from = "server"
to = "client"
"#;

struct Path<'a> {
    tcp: &'a str,
    run: &'a str,
    near: &'a str,
    delay: &'a str,
    sat: &'a str,
    lan: &'a str,
    /// The flow's keys, and more.
    rest: String,
}

impl Default for Path<'_> {
    fn default() -> Self {
        Path {
            tcp: "linux",
            run: "duration = \"1h\"\nuntil = \"flows-done\"",
            near: "[router.near]",
            delay: "250ms",
            sat: "",
            lan: "",
            rest: String::new(),
        }
    }
}

impl Path<'_> {
    fn text(&self) -> String {
        let text = NETWORK.replace("TCP", self.tcp).replace("RUN", self.run);
        let text = text.replace("NEAR", self.near).replace("DELAY", self.delay);
        text.replace("SAT", self.sat).replace("LAN", self.lan) + &self.rest
    }

    fn scenario(&self) -> Scenario {
        parsed(&self.text())
    }

    fn outcome(&self) -> RunResults {
        played(&self.scenario())
    }
}

fn cache(hits: f64) -> String {
    format!(
        "[middlebox.cache]\nkind = \"web-cache\"\nat = \"near\"\nlink = \"sat\"\nhits = {hits}\n"
    )
}

fn seconds(outcome: &RunResults) -> f64 {
    let transfer = outcome.transfers[0].transfer;
    transfer.completed.expect("it is loaded").saturating_since(transfer.started).as_secs_f64()
}

const OBJECTS: usize = 17;

/// A page of 17 objects, each shorter than a segment.
fn small_page(version: &str, rest: &str) -> String {
    format!(
        "workload = \"http/{version}\"\nconnections = 1\nserver-delay = \"20ms\"\n\
         page = {{ document = \"500B\", objects = \"500B\", count = 16 }}\n{rest}"
    )
}

#[test]
fn hits_take_round_trips_of_the_lan_and_misses_of_the_satellite_too() {
    let [lan, satellite, server] = [20, 500, 20].map(Duration::from_millis);
    for hits in [0.0, 0.3, 0.7, 1.0] {
        for version in ["1.0", "1.1", "1.1-pipelined"] {
            let scenario =
                Path { rest: small_page(version, &cache(hits)), ..Path::default() }.scenario();
            // The objects' own numbers do not depend on the share of hits.
            let mut ranks = scenario.seeds(0).rng("flow.main/web-cache");
            let missed: Vec<bool> = (0..OBJECTS).map(|_| ranks.random::<f64>() >= hits).collect();
            let misses = missed.iter().filter(|missed| **missed).count() as u32;
            let any = u32::from(misses > 0);
            let expected = match version {
                // Each object has a connection, and one over the satellite if it is missed.
                "1.0" => OBJECTS as u32 * 2 * lan + misses * (2 * satellite + server),
                // One connection to the cache, and one from there at the first miss.
                "1.1" => {
                    (1 + OBJECTS as u32) * lan + misses * (satellite + server) + any * satellite
                }
                _ => {
                    let document = u32::from(missed[0]);
                    let objects = u32::from(missed[1..].contains(&true));
                    3 * lan + any * satellite + (document + objects) * (satellite + server)
                }
            };
            let outcome = run(&scenario, 0, |_| true).unwrap();
            let took = seconds(&outcome);
            assert_eq!(took, expected.as_secs_f64(), "{hits}, HTTP/{version}: {missed:?}");
            // Every object has come whole, and only those that were missed have crossed.
            assert_eq!(main_flow(&outcome).counts.delivered, OBJECTS as u64 * 500);
            let satellite = link(&outcome, "sat", "server").counters.delivered;
            let payload = satellite.bytes - satellite.packets * 52;
            assert!(
                (payload as i64 - i64::from(misses) * 500).abs() < 20 * i64::from(misses) + 20,
                "{payload} bytes of {misses} objects"
            );
            assert!(hits < 1.0 || satellite.packets == 0);
        }
    }
}

/// As a gateway's buffers, which are not tuned up.
const LARGE_WINDOWS: &str = "linux,receive-buffer=1MB";

/// The path of bharadwaj-2001 to a user with a cache.
fn papers_page<'a>(page: &str, version: &str, connections: u32, more: &str) -> Path<'a> {
    Path {
        tcp: LARGE_WINDOWS,
        sat: "rate = \"8Mbit/s\"",
        lan: "rate = \"10Mbit/s\"\nqueue = \"1000packets\"",
        rest: format!(
            "workload = \"http/{version}\"\nconnections = {connections}\npage = \"{page}\"\n{more}"
        ),
        ..Path::default()
    }
}

#[test]
fn pages_come_as_from_the_lan_as_over_a_split_connection_or_in_between() {
    println!("page, HTTP: seconds end to end, split, with 0, 0.5 and all hits, from the LAN");
    for page in web::PagePreset::ALL.iter().map(|page| page.name()) {
        for (version, connections) in [("1.0", 1), ("1.0", 4), ("1.1", 1), ("1.1-pipelined", 1)] {
            let path = |more: &str| papers_page(page, version, connections, more);
            let [none, half, all] = [0.0, 0.5, 1.0].map(|hits| path(&cache(hits)).outcome());
            let plain = path("").outcome();
            // A gateway at the same place, with the same TCP.
            let near = "[gateway.near]\nlan-links = \"lan\"\nsatellite = { tcp = \"linux\" }\n\
                        lan = { tcp = \"linux\" }";
            let split = Path { near, ..path("") }.outcome();
            // A server where the cache is.
            let local = Path { sat: "", delay: "0ms", ..path("") }.outcome();
            let [plain, split, local, zero, fifty, hundred] =
                [&plain, &split, &local, &none, &half, &all].map(seconds);
            println!(
                "{page}, {version} x{connections}: {plain:.3} {split:.3} {zero:.3} {fifty:.3} {hundred:.3} {local:.3}"
            );
            let name = format!("{page}, HTTP/{version}, {connections}");
            assert!((hundred / local - 1.0).abs() < 0.001, "{name}: {hundred} and {local}");
            // A gateway's streams begin small: it is some percent slower than the cache's buffers.
            assert!((zero / split - 1.0).abs() < 0.15, "{name}: {zero} and {split}");
            assert!(hundred <= fifty && fifty <= zero, "{name}: {hundred}, {fifty}, {zero}");
            let bytes = main_flow(&none).counts.delivered;
            assert!(bytes > 0 && main_flow(&half).counts.delivered == bytes, "{name}");
            assert_eq!(main_flow(&all).counts.delivered, bytes, "{name}");
            let crossed = |outcome| link(outcome, "sat", "server").counters.delivered.bytes;
            assert!(crossed(&none) > bytes && crossed(&all) == 0, "{name}");
        }
    }
}

#[test]
fn every_object_arrives_whole_through_losses_on_both_sides() {
    for (version, connections) in [("1.0", 4), ("1.1", 2), ("1.1-pipelined", 2)] {
        for hits in [0.0, 0.5, 1.0] {
            let keys = format!("pages = 5\nthink = \"1s\"\n{}", cache(hits));
            let path = papers_page("bharadwaj-2001-2", version, connections, &keys);
            let lossy = Path {
                sat: "rate = \"8Mbit/s\"\nloss = 0.01",
                lan: "rate = \"10Mbit/s\"\nqueue = \"20packets\"\nloss = 0.01",
                ..path
            };
            let outcome = lossy.outcome();
            let flow = main_flow(&outcome);
            assert_eq!(
                (flow.completed, flow.counts.delivered),
                (5, 5 * 670_700),
                "{version} {hits}"
            );
            assert!(link(&outcome, "lan", "near").counters.lost.packets > 0);
            assert_eq!(outcome, lossy.outcome(), "the same seed, the same run");
        }
    }
}

#[test]
fn what_is_not_the_webs_passes_and_so_does_what_has_no_handshake() {
    for keys in [
        "bytes = \"300KB\"",
        "bytes = \"300KB\"\nopened-by = \"to\"",
        "workload = \"request-response\"\nreply = \"30KB\"\nrequests = 10",
        "workload = \"telnet\"\nbetween = \"1s\"\nstop = \"20s\"",
        "workload = \"http/1.0\"\npage = \"bharadwaj-2001-3\"\ntcp = \"opening=prearranged\"",
    ] {
        let path = |more: &str| Path { rest: format!("{keys}\n{more}"), ..Path::default() };
        let [with, without] = [&cache(1.0), ""].map(|more| path(more).outcome());
        assert!(main_flow(&without).counts.delivered > 0, "{keys}");
        assert_eq!(with.flows, without.flows, "{keys}");
        assert_eq!(with.transfers, without.transfers, "{keys}");
        assert_eq!(with.links, without.links, "{keys}");
    }
}

#[test]
fn a_background_of_pages_crosses_the_satellite_as_far_as_it_is_missed() {
    let crossed = |hits: f64| {
        let keys = "workload = \"web\"\nper-second = 2\nstop = \"1000s\"\nbackground = false\n";
        let path = Path { rest: format!("{keys}{}", cache(hits)), ..Path::default() };
        let outcome = path.outcome();
        let flow = main_flow(&outcome);
        assert!(flow.completed > 1000 && flow.begun - flow.completed < 100, "{flow:?}");
        (
            flow.counts.delivered as f64,
            link(&outcome, "sat", "server").counters.delivered.bytes as f64,
        )
    };
    let [(all, max), (_, half), (_, none)] = [0.0, 0.5, 1.0].map(crossed);
    assert!(max > all && none == 0.0, "{all} {max} {none}");
    // Sizes are spread widely, and their headers with them.
    assert!((half / max - 0.5).abs() < 0.1, "{}", half / max);
}

#[test]
fn clients_get_over_a_fetch_that_breaks() {
    let down =
        "[fault.rain]\nkind = \"link-down\"\nlink = \"sat\"\nat = \"10s\"\nlasting = \"2000s\"\n";
    for version in ["1.0", "1.1", "1.1-pipelined"] {
        let keys = format!(
            "pages = 0\nstop = \"3000s\"\n{}tcp = {{ max-retries = 6, syn-retries = 3 }}\n{down}",
            cache(0.5)
        );
        let path = papers_page("bharadwaj-2001-3", version, 2, &keys);
        let outcome = Path { run: "duration = \"1h\"", ..path }.outcome();
        let later = outcome.transfers.iter().filter_map(|row| row.transfer.completed);
        let later = later.filter(|at| *at > Instant::from_millis(2_100_000));
        assert!(later.count() > 50, "{version}: {}", brief(&outcome));
    }
}

#[test]
fn nothing_stands_when_a_flow_has_been_stopped() {
    for version in ["1.0", "1.1", "1.1-pipelined"] {
        let keys = format!("pages = 0\nstop = \"20s\"\n{}", cache(0.5));
        let scenario = papers_page("bharadwaj-2001-2", version, 4, &keys).scenario();
        let mut built = build(&scenario, 0);
        built.simulation.run(Instant::from_millis(20_000));
        assert!(built.simulation.meters().flows()[0].begun > 1);
        // Caches are hosts like others: after TIME-WAIT there is no timer left.
        assert!(!built.simulation.run(Instant::from_millis(3_600_000)), "{version}");
    }
}

#[test]
fn what_one_cache_does_not_hold_the_next_one_may() {
    // A second cache at the satellite's far end, before 50 ms to the server.
    let path = |near: f64, far: f64| {
        let second = cache(far).replace("cache]", "second]");
        let second = second.replace("\"near\"", "\"far\"").replace("\"sat\"", "\"wan\"");
        let wan = "[link.wan]\nbetween = [\"server\", \"far\"]\ndelay = \"50ms\"\n";
        let rest = small_page("1.1", &format!("{}{second}{wan}", cache(near)));
        let path = Path { near: "[router.near]\n[router.far]", rest, ..Path::default() };
        let text = path.text().replace("[\"server\", \"near\"]", "[\"far\", \"near\"]");
        let outcome = run(&parsed(&text), 0, |_| true).unwrap();
        assert_eq!(main_flow(&outcome).counts.delivered, OBJECTS as u64 * 500);
        let crossed = |from, name| link(&outcome, name, from).counters.delivered.packets;
        (seconds(&outcome), crossed("far", "sat"), crossed("server", "wan"))
    };
    let [ms20, ms500, ms100] = [0.02, 0.5, 0.1];
    // Each object over all three, with a handshake on each and 20 ms at the server.
    let objects = OBJECTS as f64;
    let all = (objects + 1.0) * (ms20 + ms500 + ms100) + objects * 0.02;
    assert!((path(0.0, 0.0).0 - all).abs() < 1e-9);
    let (took, _, wan) = path(0.0, 1.0);
    assert!(wan == 0 && (took - (objects + 1.0) * (ms20 + ms500)).abs() < 1e-9, "{took}");
    let (took, sat, wan) = path(1.0, 1.0);
    assert!(sat + wan == 0 && (took - (objects + 1.0) * ms20).abs() < 1e-9, "{took}");
    // The same objects: what the first does not hold at 0.3, the second does not, either, but some
    // more at 0.7.
    let ((_, sat, same), (_, _, fewer)) = (path(0.3, 0.3), path(0.3, 0.7));
    assert!(sat > 0 && same > fewer && fewer > 0, "{sat} {same} {fewer}");
}

#[test]
fn a_route_that_leaves_the_cache_breaks_its_connections_and_goes_on_without_it() {
    let other = "[link.bypass]\nbetween = [\"server\", \"near\"]\ndelay = \"100ms\"\ncost = 10\n\
                 [fault.f]\nkind = \"route-change\"\nlink = \"sat\"\nat = \"1s\"\n";
    for version in ["1.0", "1.1", "1.1-pipelined"] {
        let path = papers_page("bharadwaj-2001-2", version, 2, &(cache(0.0) + other));
        let outcome = path.outcome();
        let flow = main_flow(&outcome);
        // The page is whole, though some of it has been loaded twice.
        assert_eq!((flow.completed, outcome.transfers[0].transfer.bytes), (1, 670_700));
        assert!(
            flow.counts.delivered >= 670_700 && seconds(&outcome) < 20.0,
            "{version}: {flow:?}"
        );
        assert!(link(&outcome, "bypass", "near").counters.delivered.packets > 20, "{version}");
    }
}
