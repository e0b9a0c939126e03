//! What a gateway owes for its early acknowledgments: it holds every byte until the other side has it, and repairs alone what
//! the satellite loses.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bentpipe_core::units::Probability;
use bentpipe_net::netns::Namespace;
use bentpipe_net::testbed::{Place, TestbedConfig};

use crate::observation::ask;
use crate::stage::{Ends, FAMILIES, build, gateways_wanted, narrow_link, start_gateways};
use crate::toolbox::{accept, assert_same, content, receive, send};

pub(crate) const CASES: &[(&str, fn())] =
    &[("what_the_satellite_loses_is_held_and_repaired_by_the_gateway_alone", held_and_repaired)];

/// Bytes: 1.6 s of the link.
const SIZE: usize = 2_000_000;

/// Segments that the kernel of this host has retransmitted.
fn retransmitted(host: &Namespace) -> u64 {
    let text = host.output("cat", &["/proc/net/snmp"]).expect("counters");
    let mut lines = text.lines().filter(|line| line.starts_with("Tcp:"));
    let (names, values) = (lines.next().expect("names"), lines.next().expect("values"));
    let mut columns = names.split_whitespace().zip(values.split_whitespace());
    let (_, value) = columns.find(|(name, _)| *name == "RetransSegs").expect("RetransSegs");
    value.parse().expect("a number")
}

fn held_and_repaired() {
    if !gateways_wanted() {
        return;
    }
    let link = narrow_link().with_loss(Probability::new(0.02).expect("a probability"));
    let mut testbed = build(TestbedConfig { link: Some(link), ..TestbedConfig::default() });
    start_gateways(&mut testbed);
    let testbed = Arc::new(testbed);
    for family in FAMILIES {
        let ends = Ends::of(&testbed, family);
        let (listener, address) = ends.listen();
        let (client, server) = (ends.connect(address), accept(&listener));
        let sent = content(31, SIZE);
        let before = retransmitted(&testbed.h1);
        let near = testbed.gateway_at(Place::Near).1;
        let name = client.local_addr().expect("address").to_string();
        let flow = || {
            let flows = ask(near, "flows");
            let mut flows = flows.as_array().cloned().unwrap_or_default().into_iter();
            flows.find(|flow| flow["client"] == name).unwrap_or_default()
        };
        let mut max_held = 0;
        thread::scope(|scope| {
            scope.spawn(|| send(&client, &sent));
            let received = scope.spawn(|| receive(&server, SIZE));
            while !received.is_finished() {
                max_held = max_held.max(flow()["held_bytes"].as_u64().unwrap_or_default());
                thread::sleep(Duration::from_millis(20));
            }
            assert_same("an upload", &sent, &received.join().expect("it is received"));
        });
        let flow = flow();
        let satellite = &flow["legs"]["server"];
        let repaired = satellite["retransmissions"].as_u64().unwrap_or_default();
        assert!(repaired > 0, "nothing was lost: {flow}");
        assert!(max_held > 100_000, "{max_held} bytes were held: {flow}");
        // On a busy machine a timer or a probe of the host's may be early.
        let by_host = retransmitted(&testbed.h1) - before;
        assert!(4 * by_host <= repaired, "the host has retransmitted {by_host}: {flow}");
    }
}
