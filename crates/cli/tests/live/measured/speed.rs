//! How long transfers take over a long path: through gateways, and in a testbed beside the
//! simulator.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bentpipe_testbed::five_hosts::TestbedConfig;

use super::{in_some_try, timed};
use crate::stage::{FAMILIES, StageEnds, build, gateways_wanted, geo_link, start_gateways};
use crate::testbed::{Bed, DOWNLOAD, goodput};
use crate::toolbox::{accept, assert_same, content, receive, receive_to_end, send};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("gateways_are_faster_over_a_long_path", faster_over_a_long_path),
    ("testbed_is_as_fast_as_the_simulator", as_simulated),
];

/// That the gateways do split, seen from outside: slow start from end to end needs 2.5 s for
/// 100 KB over a geostationary link, the link itself 1.1 s.
fn faster_over_a_long_path() {
    if !gateways_wanted() {
        return;
    }
    let mut testbed = build(TestbedConfig { link: Some(geo_link()), ..TestbedConfig::default() });
    start_gateways(&mut testbed);
    let testbed = Arc::new(testbed);
    for family in FAMILIES {
        let ends = StageEnds::of(&testbed, family);
        in_some_try("a download", || match download(&ends, 100_000) {
            took if took < Duration::from_millis(2300) => Ok(()),
            took => Err(format!("{family}: {took:?}, as from end to end")),
        });
    }
}

/// How long a request and its answer of `size` bytes take on a new connection.
fn download(ends: &StageEnds, size: usize) -> Duration {
    let sent = content(11, size);
    let (listener, address) = ends.listen();
    thread::scope(|scope| {
        scope.spawn(|| {
            let server = accept(&listener);
            assert_eq!(receive(&server, 3), b"GET");
            send(&server, &sent);
        });
        let (received, took) = timed(|| {
            let client = ends.connect(address);
            send(&client, b"GET");
            receive_to_end(&client)
        });
        assert_same("download", &sent, &received);
        took
    })
}

fn as_simulated() {
    let bed = Bed::new("speed", DOWNLOAD);
    bed.up();
    let simulated = goodput(&bed.simulate(&["--json", "--output", "sim"]));
    in_some_try("goodput", || {
        let live = goodput(&bed.succeed(&["run", &bed.name, "--json", "--output", "live"]));
        println!("live {live}, simulated {simulated} bit/s");
        match (live / simulated - 1.0).abs() < 0.15 {
            true => Ok(()),
            false => Err(format!("live {live}, simulated {simulated} bit/s")),
        }
    });
    bed.down();
}
