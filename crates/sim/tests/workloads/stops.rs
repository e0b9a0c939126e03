//! A flow ends when it is told to, with all its connections.

use super::{flow, ms, scenario};
use crate::support::{brief, played};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_sim::{build, run};

const LINK: &str = "rate = \"2Mbit/s\"\nqueue = \"100packets\"";

const ENDLESS: [&str; 14] = [
    "workload = \"bulk\"",
    "workload = \"bulk\"\nopened-by = \"to\"",
    "workload = \"request-response\"\nreply = \"100KB\"",
    "workload = \"request-response\"\nreply = \"100KB\"\nconnection = \"new\"",
    "workload = \"http/1.0\"\npage = \"bharadwaj-2001-2\"\npages = 0",
    "workload = \"http/1.1\"\npage = \"bharadwaj-2001-2\"\npages = 0",
    "workload = \"http/1.1-pipelined\"\npage = \"bharadwaj-2001-2\"\npages = 0\nserver-delay = \"1s\"",
    "workload = \"telnet\"",
    "workload = \"web\"\nload = \"50%\"\nof = \"sat\"",
    "workload = \"poisson\"\nload = \"50%\"\nof = \"sat\"",
    "workload = \"udp\"\nrate = \"1Mbit/s\"",
    "workload = \"udp\"\nrate = \"1Mbit/s\"\narrivals = \"on-off\"",
    "workload = \"ping\"",
    "workload = \"ping\"\nevery = \"flood\"",
];

#[test]
fn all_end_when_they_are_told_to() {
    for keys in ENDLESS {
        let keys = format!("{keys}\nbackground = false\nstop = \"20s\"\nstart = \"1s\"");
        let scenario = scenario(LINK, &flow(&keys));
        let outcome = played(&scenario);
        let flow = &outcome.flows[0];
        assert_eq!(flow.finished, Some(Instant::from_millis(20_000)), "{keys}");
        assert_eq!(outcome.run.end, ms(20_000), "{keys}");
        assert!(flow.goodput <= 2e6 && flow.started >= Some(Instant::from_millis(1000)), "{keys}");
        // Nothing remains: half a minute later no connection stands but those of TIME-WAIT, and
        // after those nothing.
        let mut built = build(&scenario, 0);
        built.simulation.run(Instant::from_millis(20_000 + 90_000));
        let world = built.simulation.world();
        for &node in &built.layout.nodes {
            assert_eq!(world.host(node).sessions(), 0, "{keys}");
        }
        assert!(!built.simulation.run(Instant::from_millis(3_600_000)), "{keys}: it is quiet");
    }
}

#[test]
fn what_stops_before_it_starts_does_nothing() {
    for keys in ENDLESS {
        let keys = format!("{keys}\nbackground = false\nstop = \"5s\"\nstart = \"5s\"");
        let outcome = run(&scenario(LINK, &flow(&keys)), 0, |_| true).unwrap();
        assert_eq!((outcome.run.end, outcome.run.packets), (ms(5000), Some(0)), "{keys}");
    }
}

#[test]
fn clients_get_over_a_link_that_is_down() {
    // Ten minutes without the link break connections; afterwards work goes on.
    let link = "rate = \"2Mbit/s\"\noutages = [{ at = \"10s\", lasting = \"2000s\" }]\n\
                back = { rate = \"2Mbit/s\", outages = [{ at = \"10s\", lasting = \"2000s\" }] }";
    for keys in [
        "workload = \"request-response\"\nreply = \"20KB\"\nthink = \"1s\"",
        "workload = \"request-response\"\nreply = \"20KB\"\nconnection = \"new\"",
        "workload = \"http/1.0\"\npage = \"bharadwaj-2001-3\"\npages = 0",
        "workload = \"http/1.1\"\npage = \"bharadwaj-2001-3\"\npages = 0",
        "workload = \"http/1.1-pipelined\"\npage = \"bharadwaj-2001-3\"\npages = 0\nconnections = 2",
    ] {
        let keys =
            format!("{keys}\nstop = \"3500s\"\ntcp = {{ max-retries = 6, syn-retries = 3 }}");
        let mut scenario = scenario(link, &flow(&keys));
        scenario.run.duration = Duration::from_secs(3600);
        let outcome = played(&scenario);
        let after = outcome.transfers.iter().filter(|row| {
            row.transfer.completed.is_some_and(|at| at > Instant::from_millis(3_000_000))
        });
        assert!(after.count() > 20, "{keys}: {}", brief(&outcome));
    }
}
