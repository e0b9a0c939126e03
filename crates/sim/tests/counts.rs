//! What flows and links count, against cases counted by hand.

use crate::support::{extended, link, main_flow, outcome, timeouts};
use bentpipe_core::time::Duration;
use bentpipe_gateway::Side;
use bentpipe_results::{ExtendedCounts, GatewayRow};

/// A path without loss through two gateways: the far host's acknowledgment of the FIN takes half a
/// second and more, while the near timer expires after 200 ms.
const GATEWAYS: &str = r#"
tcp = "linux"
[run]
duration = "60s"
[host.server]
[host.client]
[gateway.g1]
lan-links = "lan1"
[gateway.g2]
lan-links = "lan2"
[link.lan1]
between = ["server", "g1"]
rate = "100Mbit/s"
delay = "1ms"
[link.sat]
between = ["g1", "g2"]
rate = "8Mbit/s"
delay = "250ms"
queue = "2bdp"
[link.lan2]
between = ["g2", "client"]
rate = "100Mbit/s"
delay = "1ms"
[flow.main]
from = "server"
to = "client"
bytes = "1MB"
"#;

#[test]
fn fins_and_probes_are_no_retransmissions_of_data() {
    let outcome = outcome(GATEWAYS);
    let dropped: u64 = outcome.links.iter().map(|link| link.counters.dropped.packets).sum();
    assert_eq!((dropped, outcome.run.lost), (0, 0), "nothing is lost on the way");
    let counts = main_flow(&outcome).counts;
    assert_eq!((counts.retransmissions, counts.timeouts), (0, Some(0)));
    let ExtendedCounts { fin_retransmissions, fin_timeouts, .. } = extended(&counts);
    // The gateway has the FIN, and acknowledges it when the far host has: until then it is
    // retransmitted, with a timer that doubles from 0.2 s on.
    assert!((1..=6).contains(&fin_retransmissions), "{fin_retransmissions}");
    assert!((1..=4).contains(&fin_timeouts), "{fin_timeouts}");
    assert_eq!(counts.retransmitted_bytes, 0, "a FIN is no data");
}

/// A link of 1 Mbit/s and 50 ms each way, and what is added to it and to its one flow.
fn one_flow(of_link: &str, of_flow: &str) -> String {
    format!(
        r#"
tcp = "ns-1997,opening=handshake,mss=960"
[run]
duration = "100s"
[host.a]
[host.b]
[link.l]
between = ["a", "b"]
rate = "1Mbit/s"
delay = "50ms"
queue = "1000packets"
back = {{ queue = "1000packets" }}
{of_link}
[flow.main]
from = "a"
to = "b"
{of_flow}
"#
    )
}

#[test]
fn needless_retransmissions_are_those_that_the_receiver_had() {
    // The link is out from 1 s to 3 s, as long as the timer waits for the acknowledgments: all of
    // the window is lost or, with only the way back out, nothing is.
    let back = "back = { queue = \"1000packets\", outages = [{ at = \"1s\", lasting = \"2s\" }] }";
    let text = one_flow("", "bytes = \"1MB\"")
        .replace("back = { queue = \"1000packets\" }", back)
        .replace("recovery=reno", "");
    let outcome = outcome(&text);
    let counts = main_flow(&outcome).counts;
    assert!(counts.retransmissions > 0 && timeouts(&counts) > 0, "{counts:?}");
    assert_eq!(
        outcome.links[0].counters.lost.packets + outcome.links[0].counters.dropped.packets,
        0
    );
    let needless = extended(&counts).needless_retransmissions;
    assert_eq!(needless, counts.retransmissions, "all of them");
    // Where a queue of ten packets drops what is too much, SACK retransmits what was dropped.
    let text = one_flow("", "bytes = \"1MB\"\ntcp = { recovery = \"sack\" }").replacen(
        "queue = \"1000packets\"",
        "queue = \"10packets\"",
        1,
    );
    let outcome = crate::support::outcome(&text);
    let counts = main_flow(&outcome).counts;
    let dropped = link(&outcome, "l", "a").counters.dropped.packets;
    assert!(dropped > 0, "{counts:?}");
    let needless = extended(&counts).needless_retransmissions;
    assert_eq!((counts.retransmissions, needless), (dropped, 0));
}

#[test]
fn the_first_recovery_is_short_with_sack_and_takes_a_round_trip_for_each_loss_with_newreno() {
    // Slow start runs over a queue of 20 packets. The round trip is then 100 ms and 21 packets of 8
    // ms.
    let run = |recovery: &str| {
        let text =
            one_flow("", &format!("bytes = \"300KB\"\ntcp = {{ recovery = \"{recovery}\" }}"))
                .replacen("queue = \"1000packets\"", "queue = \"20packets\"", 1);
        main_flow(&outcome(&text)).counts
    };
    let (sack, newreno) = (run("sack"), run("newreno"));
    for counts in [&sack, &newreno] {
        assert!(counts.retransmissions > 3 && counts.timeouts == Some(0), "{counts:?}");
    }
    let (took, reductions) = sack.first_recovery.expect("there was one");
    assert_eq!(reductions, 1);
    // Half of what was sent in the last round trip is lost, and then repaired in the next two.
    let round_trip = 0.268;
    assert!((1.0..3.0).contains(&(took.as_secs_f64() / round_trip)), "{took:?}");
    let (took, reductions) = newreno.first_recovery.expect("there was one");
    assert_eq!(reductions, 1);
    // One loss a round trip, of which only the first sees the full queue.
    let trips = took.as_secs_f64() / 0.1;
    let losses = newreno.retransmissions as f64;
    assert!((losses..2.7 * losses).contains(&trips), "{trips} round trips for {losses} losses");
    // Tahoe begins anew with one segment: a reduction, and no episode that ends early.
    let tahoe = extended(&run("tahoe"));
    assert!(tahoe.reductions >= 1 && tahoe.needless_retransmissions > 0, "{tahoe:?}");
}

#[test]
fn an_endless_stream_without_loss_has_an_efficiency_of_one() {
    let text = one_flow("", "").replace("[run]", "[run]\nwarm-up = \"10s\"");
    let text = text.replace("mss=960", "mss=960,receive-buffer=61440B,window-scale=off");
    let flow = main_flow(&outcome(&text)).clone();
    let efficiency = flow.efficiency.expect("the link has a rate");
    assert!((efficiency - 1.0).abs() < 0.005, "{efficiency}");
    // 960 bytes of 1000.
    assert!((flow.goodput / 960e3 - 1.0).abs() < 0.005, "{}", flow.goodput);
    // A window of ten segments, 9600 bytes each round trip of 100 ms and two serialisations.
    let text = text.replace("61440B", "9600B");
    let efficiency = main_flow(&outcome(&text)).efficiency.expect("the link has a rate");
    assert!((efficiency - 0.0768e6 / 0.10832 / 960e3).abs() < 0.01, "{efficiency}");
    let nothing = text.replace("rate = \"1Mbit/s\"", "");
    assert_eq!(main_flow(&outcome(&nothing)).efficiency, None);
}

#[test]
fn a_queue_has_its_spread_and_a_link_its_idle_time() {
    // A datagram of 1000 bytes takes 8 ms. Two of them every 100 ms: for 8 ms there are two in the
    // queue, for 8 ms one, for 84 ms none.
    let udp = "workload = \"udp\"\nrate = \"80kbit/s\"\npacket = \"1000B\"\nstop = \"99.95s\"";
    let second = format!("[flow.second]\nfrom = \"a\"\nto = \"b\"\n{udp}");
    let outcome = outcome(&format!("{}{second}", one_flow("", udp)));
    let row = link(&outcome, "l", "a");
    let lengths = row.lengths.as_ref().expect("it has a rate");
    let near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 1e-6;
    assert!(near(lengths.empty().as_secs_f64(), 84.0), "{:?}", lengths.empty());
    assert!(near(row.mean_queue.0, 0.24), "{:?}", row.mean_queue);
    let spread = lengths.standard_deviation().expect("time has passed");
    assert!(near(spread, (0.4 - 0.24 * 0.24_f64).sqrt()), "{spread}");
    let quantiles = [0.5, 0.84, 0.9, 0.92, 0.95, 1.0].map(|share| lengths.quantile(share));
    assert_eq!(quantiles, [0, 0, 1, 1, 2, 2].map(Some));
    assert!(near(row.throughput().expect("time has passed"), 160e3), "{:?}", row.throughput());
    assert!(near(row.utilisation().expect("it has a rate"), 0.16), "{:?}", row.utilisation());
    // The way back carries nothing.
    let back = link(&outcome, "l", "b");
    assert_eq!((back.throughput(), back.measured), (Some(0.0), Duration::from_secs(100)));
}

#[test]
fn a_gateway_that_does_not_split_is_a_router() {
    let with = |keys: &str| {
        ["1", "2"].iter().fold(GATEWAYS.to_owned(), |text, number| {
            let gateway = format!("[gateway.g{number}]\nlan-links = \"lan{number}\"");
            let node = match keys {
                "" => format!("[router.g{number}]"),
                keys => format!("{gateway}\n{keys}"),
            };
            text.replace(&gateway, &node)
        })
    };
    let (split, forwards) = (outcome(&with("split = true")), outcome(&with("split = false")));
    let router = outcome(&with(""));
    assert_eq!(forwards.run, router.run, "to the last packet");
    assert_ne!(split.run.digest, router.run.digest);
    let counts = |gateway: &GatewayRow| gateway.split;
    assert_eq!(forwards.gateways.iter().map(counts).collect::<Vec<_>>(), [Some(0), Some(0)]);
    assert_eq!(split.gateways.iter().map(counts).collect::<Vec<_>>(), [Some(1), Some(1)]);
}

/// Hosts without timestamps and window scale between gateways that add them on the satellite leg.
fn with_added_options() -> String {
    let hosts = "tcp = \"linux,timestamps=off,window-scale=off\"";
    ["1", "2"].iter().fold(GATEWAYS.replace("tcp = \"linux\"", hosts), |text, number| {
        let gateway = format!("lan-links = \"lan{number}\"");
        text.replace(&gateway, &format!("{gateway}\nsatellite.add-options = \"always\""))
    })
}

#[test]
fn a_full_segment_of_a_host_is_one_packet_over_the_satellite() {
    let outcome = outcome(&with_added_options());
    let packets = link(&outcome, "sat", "g1").counters.offered.packets;
    // 1448 bytes each beside timestamps; then a SYN or its answer, and a FIN.
    assert!((691..=700).contains(&packets), "{packets}");
}

#[test]
fn the_legs_of_a_gateway_count_their_own_losses() {
    let lossy = GATEWAYS.replace("queue = \"2bdp\"", "queue = \"2bdp\"\nloss = 0.03");
    let outcome = outcome(&lossy);
    let g1 = &outcome.gateways[0];
    let (lan, satellite) = (&g1.legs[Side::Lan], &g1.legs[Side::Satellite]);
    let none = [lan.retransmissions, lan.recoveries, lan.reductions, lan.reduced_again];
    assert_eq!(none, [Some(0); 4], "the client's acknowledgments are all that goes there");
    assert!(satellite.recoveries >= Some(1), "{satellite:?}");
    // A gateway takes these losses for the link's, and reduces nothing, unless it is to heed them.
    let heed = lossy.replace(
        "lan-links = \"lan1\"",
        "lan-links = \"lan1\"\nsatellite.tcp.congestion = \"cubic\"",
    );
    let g1 = &self::outcome(&heed).gateways[0].legs[Side::Satellite];
    assert!(g1.reductions >= Some(2), "{g1:?}");
    assert_eq!(g1.reduced_again, Some(1), "the one connection: {g1:?}");
}
