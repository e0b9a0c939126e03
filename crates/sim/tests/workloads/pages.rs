//! Pages: round trips of HTTP's versions on an empty link.

use super::{alone, flow, ms, scenario, times};
use crate::support::{main_flow, outcome, played};
use bentpipe_core::text::Choice;
use bentpipe_core::units::Rate;

/// A page of a document and 16 objects, each shorter than a segment.
fn small_page(keys: &str) -> String {
    format!("page = {{ document = \"500B\", objects = \"500B\", count = 16 }}\n{keys}")
}

#[test]
fn round_trips_of_each_version() {
    for (version, connections, round_trips, opened) in [
        // Two for each object: one of the handshake, one of the request.
        ("1.0", 1, 2 * 17, 17),
        // The document, and four rows of four.
        ("1.0", 4, 2 + 2 * 4, 17),
        ("1.0", 16, 2 + 2, 17),
        // One handshake.
        ("1.1", 1, 1 + 17, 1),
        // The second connection, opened after the document, comes one round trip late: in k round
        // trips the two load 2k - 1 objects.
        ("1.1", 2, 2 + 9, 2),
        // All objects in one round trip.
        ("1.1-pipelined", 1, 3, 1),
        // The other half of the objects waits for a handshake.
        ("1.1-pipelined", 2, 4, 2),
    ] {
        let keys = format!("workload = \"http/{version}\"\nconnections = {connections}");
        let outcome = alone(&small_page(&keys));
        let name = format!("HTTP/{version}, {connections}");
        assert_eq!(times(&outcome), [ms(500 * round_trips)], "{name}");
        let flow = main_flow(&outcome);
        assert_eq!((flow.connections, flow.counts.delivered), (opened, 17 * 500), "{name}");
        assert_eq!(outcome.transfers[0].transfer.bytes, 17 * 500);
    }
}

/// S-W-4: four connections for the four parts of a file (XFTP) are four of the period's windows.
#[test]
fn a_file_in_four_parts_takes_a_quarter_of_the_time() {
    let took = |connections: u64| {
        let bytes = 1_000_000 / connections;
        let keys = format!("bytes = {bytes}\ncount = {connections}\ntcp = \"windows-95\"\n");
        let outcome = played(&scenario("rate = \"8Mbit/s\"", &flow(&keys)));
        assert!(outcome.flows.iter().all(|flow| flow.completed == 1));
        outcome.run.end.as_secs_f64()
    };
    let [one, four] = [1, 4].map(took);
    assert!((0.2..0.3).contains(&(four / one)), "{four} s with four, {one} s with one");
}

#[test]
fn connections_that_stay_open_serve_the_next_page() {
    let outcome =
        alone(&small_page("workload = \"http/1.1\"\nconnections = 1\npages = 3\nthink = \"5s\""));
    assert_eq!(times(&outcome), [18, 17, 17].map(|round_trips| ms(500 * round_trips)));
    assert_eq!(main_flow(&outcome).connections, 1);
    assert_eq!(outcome.run.end, ms(500 * (18 + 17 + 17) + 2 * 5000));
}

#[test]
fn servers_think_about_each_request_and_answer_in_order() {
    let page = |version: &str| {
        let keys =
            format!("workload = \"http/{version}\"\nconnections = 1\nserver-delay = \"20ms\"");
        times(&alone(&small_page(&keys)))[0]
    };
    assert_eq!(page("1.1"), ms(18 * 500 + 17 * 20));
    // Pipelined requests are worked at together.
    assert_eq!(page("1.1-pipelined"), ms(3 * 500 + 2 * 20));
}

#[test]
fn serialisation_adds_what_it_takes() {
    // Over 1 Mbit/s, one at a time: each request and each reply waits for its own bytes only.
    let keys = "workload = \"http/1.1\"\nconnections = 1\nrequest = \"400B\"\n\
                page = { document = \"1000B\", objects = \"1000B\", count = 16 }";
    let link = "rate = \"1Mbit/s\"\nback = { rate = \"1Mbit/s\" }";
    let took = times(&played(&scenario(link, &flow(keys))))[0];
    let rate = Rate::from_bits_per_sec(1_000_000);
    let headers = 52;
    let exchanges = 17 * rate.time_for(400 + 1000 + 2 * headers);
    let handshake = rate.time_for(2 * 60 + headers);
    let expected = ms(18 * 500) + exchanges + handshake;
    let packet = rate.time_for(1500);
    let difference = took.abs_diff(expected);
    assert!(difference < packet, "{took:?}, not {expected:?}");
}

/// The three pages of bharadwaj-2001 (section 4.1.1) over its path, with and without gateways.
#[test]
fn the_papers_pages_with_and_without_gateways() {
    let path = |gateways: bool, page: &str, keys: &str| {
        // Gateways that know the link, as those of the papers do.
        let gateway = |name: &str, lan: &str| match gateways {
            true => format!(
                "[gateway.{name}]\nlan-links = \"{lan}\"\n\
                 satellite = {{ rate = \"8Mbit/s\", round-trip = \"500ms\" }}"
            ),
            false => format!("[router.{name}]"),
        };
        let (g1, g2) = (gateway("g1", "server-side"), gateway("g2", "client-side"));
        let text = format!(
            r#"
tcp = "linux"
[run]
duration = "10min"
until = "flows-done"
[host.server]
[host.client]
{g1}
{g2}
[link.server-side]
between = ["server", "g1"]
rate = "10Mbit/s"
queue = "1000packets"
[link.sat]
between = ["g1", "g2"]
profile = "geo"
[link.client-side]
between = ["g2", "client"]
rate = "10Mbit/s"
queue = "1000packets"
[flow.page]
from = "server"
to = "client"
page = "{page}"
{keys}
"#
        );
        times(&outcome(&text))[0].as_secs_f64()
    };
    println!("page, HTTP: seconds without gateways, with gateways");
    for page in bentpipe_scenario::web::PagePreset::ALL.iter().map(|page| page.name()) {
        for (version, connections) in [("1.0", 1), ("1.0", 4), ("1.1", 1), ("1.1-pipelined", 1)] {
            let keys = format!("workload = \"http/{version}\"\nconnections = {connections}");
            let [plain, split] = [false, true].map(|gateways| path(gateways, page, &keys));
            println!("{page}, {version} x{connections}: {plain:.3} {split:.3}");
            // Gateways shorten the slow start, not the round trips of requests.
            assert!(split <= plain + 0.01, "{page} {version}: {split} with, {plain} without");
            let objects = if page.ends_with('1') { 1.0 } else { 16.0 };
            let min = match version {
                "1.0" => 1.0 + f64::from(16 / connections.min(16)).min(objects),
                "1.1" => 1.0 + 0.5 * objects,
                _ => 1.5,
            };
            assert!(plain > min && split > min, "{page} {version}: {split}, {plain}");
        }
    }
}
