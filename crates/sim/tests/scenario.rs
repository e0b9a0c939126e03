//! Scenarios from text to results.

use crate::support::{brief, outcome, parsed};
use bentpipe_sim::run;

const GEO: &str = r#"
[run]
duration = "60s"
until = "flows-done"
[host.server]
tcp = "ns-1997,recovery=sack"
[host.client]
tcp = "ns-1997,recovery=sack"
[router.r]
[link.lan]
between = ["server", "r"]
rate = "100Mbit/s"
[link.sat]
between = ["r", "client"]
rate = "1.5Mbit/s"
delay = "250ms"
queue = "60packets"
[flow.main]
from = "server"
to = "client"
bytes = "1MB"
"#;

#[test]
fn a_download_is_complete_and_its_figures_fit_together() {
    let outcome = outcome(GEO);
    let [flow] = &outcome.flows[..] else { panic!("{}", brief(&outcome)) };
    assert_eq!((flow.counts.delivered, flow.completed, flow.connections), (1_000_000, 1, 1));
    assert_eq!(outcome.transfers[0].transfer.bytes, 1_000_000);
    assert_eq!(flow.mean_completion, Some(outcome.run.end));
    let goodput = 8e6 / outcome.run.end.as_secs_f64();
    assert!((flow.goodput - goodput).abs() < 1.0, "{}", brief(&outcome));
    // All that was lost was dropped by the satellite link's queue, and retransmitted.
    let sat = outcome.links.iter().find(|link| link.name == "sat" && link.from == "r").unwrap();
    assert_eq!(outcome.run.dropped, sat.counters.dropped.packets);
    assert!(flow.counts.retransmissions >= sat.counters.dropped.packets);
    assert_eq!(outcome.run.fairness, Some(1.0));
    let utilisation = sat.utilisation().unwrap();
    assert!(utilisation > 0.3 && utilisation <= 1.0, "{utilisation}");
    assert_eq!(outcome.run.utilisation, Some(utilisation));
}

#[test]
fn the_same_run_gives_the_same_results_and_another_one_others() {
    let text = GEO.replace("delay = \"250ms\"", "delay = \"250ms\"\nloss = 0.01");
    let scenario = parsed(&text);
    let digest = |number| run(&scenario, number, |_| true).unwrap();
    assert_eq!(digest(0), digest(0));
    assert_ne!(digest(0).run.digest, digest(1).run.digest);
}

#[test]
fn statistics_begin_after_the_warm_up() {
    let text =
        GEO.replace("until = \"flows-done\"", "warm-up = \"20s\"").replace("bytes = \"1MB\"", "");
    let outcome = outcome(&text);
    let sat = outcome.links.iter().find(|link| link.name == "sat" && link.from == "r").unwrap();
    assert_eq!(sat.capacity, Some(1.5e6 / 8.0 * 40.0));
    let utilisation = sat.utilisation().unwrap();
    assert!(utilisation > 0.8 && utilisation <= 1.0, "{}", brief(&outcome));
    let wire = outcome.flows[0].goodput * 1040.0 / 1000.0;
    assert!(wire > 0.8 * 1.5e6 && wire <= 1.5e6, "{}", brief(&outcome));
}

#[test]
fn a_run_can_be_given_up() {
    let scenario = parsed(GEO);
    let mut asked = 0;
    let result = run(&scenario, 0, |share| {
        asked += 1;
        share < 0.05
    });
    assert_eq!(result, Err(bentpipe_results::RunError::Cancelled));
    assert_eq!(asked, 3);
}

/// When the one packet of a prearranged connection is delivered.
fn one_packet(link: &str) -> f64 {
    let text =
        GEO.replace("\"1MB\"", "\"1000B\"").replace("queue = ", &format!("{link}\nqueue = "));
    let outcome = outcome(&text);
    assert_eq!((outcome.flows[0].counts.delivered, outcome.flows[0].completed), (1000, 1));
    outcome.run.end.as_secs_f64()
}

#[test]
fn a_prearranged_connection_begins_with_its_data() {
    // 1040 bytes at 100 and at 1.5 Mbit/s, and the propagation.
    let expected = 1040.0 * 8.0 / 100e6 + 1040.0 * 8.0 / 1.5e6 + 0.25;
    assert!((one_packet("") - expected).abs() < 1e-8);
    // Lost, it comes again by ns's first timeout of 6 s.
    let late = one_packet("outages = [{ at = \"0s\", lasting = \"1s\" }]");
    assert!((late - expected - 6.0).abs() <= 0.1, "{late}");
}

#[test]
fn gateways_of_a_scenario_are_the_deployed_ones() {
    let text = include_str!("../../../scenarios/geo-gateways.toml")
        .replace("bytes = \"1MB\"", "bytes = \"10MB\"");
    let text = text.split("[sweep]").next().unwrap();
    let split = outcome(text);
    assert_eq!(split.flows[0].counts.delivered, 10_000_000);
    // 10 MB in 1500-byte packets at 8 Mbit/s, and two round trips for the SYN and the request.
    let limit = 10e6 * 1500.0 / 1448.0 * 8.0 / 8e6 + 0.75;
    let took = split.run.end.as_secs_f64();
    assert!(took > limit - 0.1 && took < limit + 0.5, "{took} for {limit}");
}

#[test]
fn a_linux_receiver_does_not_hold_back_a_sender_in_slow_start() {
    // Linux 6.18 to itself over such a link: 13.45 s and 670 retransmissions.
    let transfer = |window: &str| {
        let tcp = format!("linux,congestion=standard,slow-start=standard{window}");
        let outcome = outcome(&format!(
            "[run]\nduration = \"60s\"\nuntil = \"flows-done\"\n[host.a]\ntcp = \"{tcp}\"\n\
             [host.b]\ntcp = \"{tcp}\"\n[link.sat]\nbetween = [\"a\", \"b\"]\nrate = \"8Mbit/s\"\n\
             delay = \"250ms\"\nqueue = \"333packets\"\n\
             [flow.main]\nfrom = \"a\"\nto = \"b\"\nbytes = \"10MB\"\n"
        ));
        let flow = &outcome.flows[0];
        (flow.mean_completion.unwrap().as_secs_f64(), flow.counts.retransmissions)
    };
    let (tuned, large) = (transfer(""), transfer(",receive-buffer=16MiB"));
    assert!((tuned.0 / large.0 - 1.0).abs() < 0.01 && tuned.1 == large.1, "{tuned:?}, {large:?}");
    assert!((13.0..14.0).contains(&tuned.0) && (600..740).contains(&tuned.1), "{tuned:?}");
}
