//! The papers' paths: satellites with a queue and without, separate return paths, profiles.

use crate::support::{brief, link, main_flow, outcome, parsed, played};
use bentpipe_core::link::Counters;
use bentpipe_core::time::Instant;
use bentpipe_results::RunResults;
use bentpipe_scenario::Scenario;
use bentpipe_sim::{LineId, build, run};

/// A scenario of sfu's paper with some of its words replaced.
fn of_sfu(text: &str, changes: &[(&str, &str)]) -> RunResults {
    let changed = changes.iter().fold(text.to_owned(), |text, (old, new)| {
        assert!(text.contains(old), "{old}");
        text.replace(old, new)
    });
    played(&parsed(&changed))
}

/// S-D-1: the on-board switch has a queue of so many packets, which overflows on the satellite and
/// nowhere else. A bent pipe has none: its link runs from the ground to the client, and what waits
/// for it waits on the ground.
#[test]
fn a_switch_drops_on_the_satellite_and_a_bent_pipe_on_the_ground() {
    let switch = include_str!("../../../papers/sfu/switch.toml");
    // A window that overruns each of them.
    let large = ("receive-buffer=122880B", "receive-buffer=480000B");
    for packets in [30, 50, 80] {
        let queue = format!("queue = \"{packets}packets\"");
        let outcome = of_sfu(switch, &[large, ("queue = \"50packets\"", &queue)]);
        let (up, down) = (link(&outcome, "up", "server"), link(&outcome, "down", "satellite"));
        assert_eq!(down.longest_queue.packets, packets, "{}", brief(&outcome));
        assert!(down.counters.dropped.packets > 0, "{}", brief(&outcome));
        assert_eq!(up.counters.dropped.packets, 0, "{}", brief(&outcome));
    }
    let bent_pipe = include_str!("../../../papers/sfu/bent-pipe.toml");
    let outcome = of_sfu(bent_pipe, &[large]);
    let nodes = |outcome: &RunResults| {
        let links = outcome.links.iter().map(|link| (link.from.clone(), link.to.clone()));
        links.collect::<Vec<_>>()
    };
    let expected = [("server", "ground"), ("ground", "server"), ("ground", "client")];
    let expected = expected.into_iter().chain([("client", "ground")]);
    let expected: Vec<_> = expected.map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
    assert_eq!(nodes(&outcome), expected, "nothing is on the satellite");
    let sat = link(&outcome, "sat", "ground");
    assert!(sat.longest_queue.packets == 50 && sat.counters.dropped.packets > 0);
}

/// A satellite of 1.3 Mbit/s down, a telephone line of 50 kbit/s up.
const TWO_WAYS: &str = r#"
tcp = "linux"
[run]
duration = "300s"
until = "flows-done"
[host.server]
[host.client]
[router.hub]
[router.home]
[link.internet]
between = ["server", "hub"]
rate = "10Mbit/s"
[link.sat]
between = ["hub", "home"]
rate = "1.3Mbit/s"
delay = "300ms"
queue = "50packets"
bit-errors = 1e-6
[link.phone]
between = ["hub", "home"]
cost = 10
rate = "50kbit/s"
delay = "50ms"
queue = "10packets"
[link.lan]
between = ["home", "client"]
rate = "10Mbit/s"
[flow.main]
from = "server"
to = "client"
bytes = "2MB"
"#;

/// Runs it with the client's packets over the telephone: how long it took, and the counters of both
/// directions of the satellite and of the telephone.
fn with_a_return_path(scenario: &Scenario) -> (f64, [[Counters; 2]; 2]) {
    let mut built = build(scenario, 0);
    let [server, home] = ["server", "home"].map(|name| {
        let index = scenario.nodes.iter().position(|node| node.name == name).expect("a node");
        built.layout.nodes[index]
    });
    let ways = ["sat", "phone"].map(|name| {
        let index = scenario.links.iter().position(|link| link.name == name).expect("a link");
        built.layout.links[index]
    });
    let world = built.simulation.world_mut();
    let address = world.address(server).expect("a host's");
    world.set_route(home, address, Some(ways[1].ports[1]));
    let mut tenths = 0;
    while built.simulation.meters().flows()[0].completed == 0 {
        tenths += 1;
        assert!(tenths < 3000, "it never ends");
        built.simulation.run(Instant::from_millis(100 * tenths));
    }
    let world = built.simulation.world();
    let counters = |id: LineId| world.line(id).link().counters();
    (world.now().as_secs_f64(), ways.map(|way| way.lines.map(counters)))
}

/// H-D-1 (figure 4.1): data over the satellite, acknowledgments over a telephone line.
#[test]
fn a_transfer_has_a_return_path_that_does_not_cross_the_satellite() {
    let (took, [[down, up], [out, back]]) = with_a_return_path(&parsed(TWO_WAYS));
    assert_eq!((up.offered.packets, out.offered.packets), (0, 0), "one way each");
    assert!(down.delivered.bytes > 2_000_000 && back.delivered.packets > 500, "{back:?}");
    assert!(down.lost.packets > 0 && back.lost.packets == 0, "errors are the satellite's");
    // 12.8 s at 1.3 Mbit/s with headers; by the modem's rate alone it would take five minutes.
    assert!((12.8..60.0).contains(&took), "{took}");
    // The acknowledgments fit: they are 3 % of the data, with SACK's blocks.
    assert!(back.delivered.bytes * 30 < down.delivered.bytes, "{back:?}");
}

/// H-D-7: round trips by ping, within 2 %, and the rate, without errors and jitter.
#[test]
fn hendersons_links_have_their_round_trips_and_rate() {
    for (profile, delay, round_trip) in [
        ("geo-henderson", "", 0.6),
        ("leo-henderson", "delay = \"20ms\"", 0.04),
        ("leo-henderson", "", 0.08),
        ("leo-henderson", "delay = \"200ms\"", 0.4),
    ] {
        let outcome = outcome(&format!(
            "[run]\nduration = \"100s\"\n[host.a]\n[host.b]\n[link.sat]\nbetween = [\"a\", \"b\"]\n\
             profile = \"{profile}\"\n{delay}\n[flow.main]\nworkload = \"ping\"\nfrom = \"a\"\nto = \"b\"\n\
             packets = 50\n[flow.flood]\nworkload = \"udp\"\nfrom = \"a\"\nto = \"b\"\nrate = \"2Mbit/s\"\n\
             packet = \"1500B\"\nstart = \"60s\"\nstop = \"90s\"\n"
        ));
        let ping = main_flow(&outcome);
        assert_eq!((ping.begun, ping.completed), (50, 50), "{profile}: no errors");
        let found = ping.mean_completion.expect("answers").as_secs_f64();
        // Twice 84 bytes at 1.3 Mbit/s are 1 ms.
        assert!((found - round_trip).abs() <= (0.02 * round_trip).max(0.0011), "{found} s");
        let sat = link(&outcome, "sat", "a");
        let (carried, lost) = (sat.counters.delivered.bytes, sat.counters.lost.packets);
        let rate = (carried - 50 * 84) as f64 * 8.0 / 30.0;
        assert!(lost == 0 && (rate / 1.3e6 - 1.0).abs() < 0.02, "{rate} bit/s, {lost} lost");
    }
}

/// H-W-9: direct broadcast with a modem's way back, in Mbit/s forward.
fn broadcast(acknowledgments: &str, queue: &str) -> f64 {
    let outcome = outcome(&format!(
        "[run]\nduration = \"120s\"\nwarm-up = \"60s\"\n[host.server]\ntcp = \"bsd-reno-1997,send-buffer=1MB\"\n\
         [host.client]\ntcp = \"bsd-reno-1997,receive-buffer=1MB,window-scale=4,ack={acknowledgments}\"\n[link.sat]\n\
         between = [\"server\", \"client\"]\nprofile = \"hybrid-dbs\"\nqueue = \"1000packets\"\n\
         back = {{ queue = \"{queue}\" }}\n[flow.main]\nfrom = \"server\"\nto = \"client\"\n"
    ));
    let back = link(&outcome, "sat", "client").utilisation().expect("a rate");
    let forward = link(&outcome, "sat", "server").throughput().expect("a rate") / 1e6;
    println!("{acknowledgments}, {queue}: {forward:.2} Mbit/s, way back {back:.3}");
    assert!(back > 0.95, "the way back is full: {back}");
    forward
}

/// H-W-9: acknowledgments of 52 bytes for every second segment of 1500, 1.7 %, or for each, 3.5 %,
/// let 50 kbit/s carry 2.9 or 1.4 Mbit/s forward: the register's 2 % and 2.5 Mbit/s lie between.
/// Where the modem's queue is short and drops acknowledgments, later ones say the same.
#[test]
fn a_modems_acknowledgments_limit_what_a_broadcast_satellite_carries() {
    let [every_second, each] =
        ["delayed:200ms", "per-segment"].map(|acks| broadcast(acks, "unlimited"));
    for (found, share) in [(every_second, 52.0 / 3000.0), (each, 52.0 / 1500.0)] {
        assert!((found / (0.05 / share) - 1.0).abs() < 0.05, "{found} Mbit/s");
    }
    let dropped = broadcast("per-segment", "10packets");
    assert!(dropped > 2.0 * each, "{dropped}, {each} Mbit/s");
}

/// The gateways of the matrix, and none.
const BOXES: [(&str, bool); 4] = [("1", false), ("1", true), ("4", true), ("16", true)];

/// A transfer of the matrix, over both papers' path.
fn of_matrix(bytes: &str, rate: &str, delay: &str, errors: &str, boxes: (&str, bool)) -> Scenario {
    let (window, split) = boxes;
    let delay = format!("delay = \"{delay}\"\nbit-errors = {errors}");
    let text = include_str!("../../../papers/bharadwaj-2001/path.toml")
        .replace("rate = \"8Mbit/s\"", &format!("rate = \"{rate}\""))
        .replace("delay = \"250ms\"", &delay)
        .replace("iw=1", &format!("iw={window}"))
        .replace("10MB", bytes)
        .replace("lan-links = \"near\"", &format!("lan-links = \"near\"\nsplit = {split}"))
        .replace("lan-links = \"far\"", &format!("lan-links = \"far\"\nsplit = {split}"));
    parsed(&text)
}

/// G99-3-E and G01-4.1.1-E: transfers over each rate, delay and bit-error rate, end to end and with
/// gateways of three initial windows, end whole, and three times each have a mean. (All five sizes
/// are the experiment `bharadwaj-2001/section-4-1-1`.)
#[test]
fn transfers_of_the_matrix_are_whole_and_timed() {
    let mut means = 0;
    for bytes in ["10KB", "100KB"] {
        for rate in ["384kbit/s", "1536kbit/s", "8Mbit/s"] {
            for delay in ["0ms", "250ms"] {
                for errors in ["0", "1e-9", "1e-8", "1e-7", "1e-6"] {
                    for boxes in BOXES {
                        let scenario = of_matrix(bytes, rate, delay, errors, boxes);
                        let times = [0, 1, 2].map(|number| whole(&scenario, number, boxes.1));
                        let mean = times.iter().sum::<f64>() / 3.0;
                        // A byte takes its time on the link, and a request and its reply theirs.
                        let megabytes = if bytes == "10KB" { 0.01 } else { 0.1 };
                        let megabits = if rate == "8Mbit/s" { 8.0 } else { 1.536 };
                        let way = if delay == "0ms" { 0.0 } else { 0.25 };
                        assert!(mean > way + 8.0 * megabytes / megabits, "{mean} s of {bytes}");
                        means += 1;
                    }
                }
            }
        }
    }
    assert_eq!(means, 2 * 3 * 2 * 5 * 4);
}

/// How long a run's transfer took, whose every byte is there.
fn whole(scenario: &Scenario, number: u64, split: bool) -> f64 {
    let outcome = run(scenario, number, |_| true).expect("it ends");
    let flow = main_flow(&outcome);
    assert_eq!((flow.begun, flow.completed), (1, 1), "{}", brief(&outcome));
    let splits = outcome.gateways.iter().map(|gateway| gateway.split);
    assert!(splits.eq([Some(u64::from(split)); 2]), "{}", brief(&outcome));
    flow.mean_completion.expect("it is complete").as_secs_f64()
}
