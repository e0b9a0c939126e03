//! Which loss recovery and congestion control suit the satellite leg: 2 MB through two gateways
//! over 8 Mbit/s and 500 ms, by loss, with and without reordering, in virtual time.
//!
//! ```text
//! cargo bench -p bentpipe-sim --bench gateway_recovery -- [--runs N]
//! ```
//!
//! Seconds until the last byte is read, the mean of N runs (default 20) with its standard error.
//! The limit is 3.07 s: two round trips and the bytes on the wire.

use bentpipe_core::link::{LinkConfig, QueueLimit};
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Probability, Rate};
use bentpipe_core::wire::SeqNum;
use bentpipe_gateway::{Config, Gateway};
use bentpipe_sim::fuzz::Faults;
use bentpipe_sim::{Close, Host, Line, Node, Script, Start, World};
use std::net::IpAddr;

const FILE: u64 = 2_000_000;
const LEGS: [&str; 9] = [
    "recovery=newreno",
    "recovery=sack",
    "recovery=fack",
    "recovery=rack",
    "recovery=fack,reduction=prr",
    "recovery=rack,reduction=prr",
    "recovery=fack,reduction=prr,congestion=cubic",
    "recovery=rack,reduction=prr,congestion=cubic",
    "recovery=sack,congestion=hybla",
];
const LOSSES: [f64; 3] = [0.0, 0.001, 0.01];

/// The satellite link.
#[derive(Clone, Copy)]
struct Satellite {
    loss: f64,
    /// A packet in a hundred is up to 20 ms late.
    reorders: bool,
    /// The gateways know its rate and round-trip time.
    known: bool,
}

fn main() {
    // `cargo bench` adds --bench; a test runner that lists or filters gets nothing.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let at = arguments.iter().position(|argument| argument == "--runs");
    let runs = at.and_then(|at| arguments.get(at + 1)).map_or(20, |text| {
        text.parse().unwrap_or_else(|_| panic!("--runs takes a number, not `{text}`"))
    });
    for (known, reorders) in [(true, false), (true, true), (false, false), (false, true)] {
        let link = if known { "rate configured" } else { "unconfigured" };
        let order = if reorders { "1 % up to 20 ms late" } else { "in order" };
        println!(
            "\n{:44}{:>18}{:>18}{:>18}",
            format!("{link}, {order}; loss"),
            "0",
            "0.1 %",
            "1 %"
        );
        for leg in LEGS {
            print!("{leg:44}");
            for loss in LOSSES {
                let satellite = Satellite { loss, reorders, known };
                let random = loss > 0.0 || reorders;
                let seconds: Vec<f64> = (0..if random { runs } else { 1 })
                    .map(|run| download(satellite, leg, run))
                    .collect();
                let (mean, error) = mean(&seconds);
                print!("{mean:11.2} ±{error:5.2}");
            }
            println!();
        }
    }
}

/// The mean and its standard error.
fn mean(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, if values.len() < 2 { 0.0 } else { (squares / (count - 1.0) / count).sqrt() })
}

/// Seconds from the SYN to the last byte.
fn download(satellite: Satellite, leg: &str, run: u64) -> f64 {
    let addresses = [IpAddr::from([10, 91, 1, 2]), IpAddr::from([10, 91, 4, 2])];
    let key = (50_000, addresses[1], 80);
    let config: ConnectionConfig = "linux".parse().expect("a preset");
    let mut client = Host::new(addresses[0]);
    let request =
        Script { bytes: 80, key: 1, peer_key: 2, close: Close::AfterPeer, ..Script::default() };
    client.call(Instant::ZERO, key, config, SeqNum(1), request);
    let mut server = Host::new(addresses[1]);
    let answer = Script {
        bytes: FILE,
        key: 2,
        peer_key: 1,
        start: Start::AfterReading(80),
        ..Script::default()
    };
    server.listen(80, config, SeqNum(2), answer);

    let rate = Rate::from_bits_per_sec(8_000_000);
    let delay = Duration::from_millis(250);
    let link = LinkConfig {
        rate: Some(rate.into()),
        delay: delay.into(),
        queue: QueueLimit::bandwidth_delay_product(rate, 2 * delay).into(),
        packet_loss: Probability::new(satellite.loss).expect("between 0 and 1").into(),
        seed: 1 + 2 * run,
        ..LinkConfig::IDEAL
    };
    let late = Probability::new(if satellite.reorders { 0.01 } else { 0.0 }).expect("below 1");
    let faults = Faults { reorder: late, jitter: Duration::from_millis(20), ..Faults::default() };
    let back = LinkConfig { seed: link.seed + 1, ..link.clone() };
    let cable = || [0, 1].map(|_| Line::new(&LinkConfig::IDEAL));

    let gateway = |lan_port| {
        let mut config = Config { super_segments: false, ..Config::default() };
        config.satellite.set_all("congestion=standard,reduction=plain").expect("parameters");
        config.satellite.set_all(leg).expect("parameters of a leg");
        if satellite.known {
            config.satellite.rate = Some(rate);
            config.satellite.round_trip = Some(2 * delay);
        }
        (config.lan.mtu, config.satellite.mtu) = (1500, 1500);
        Node::Gateway(Box::new(Gateway::new(config)), vec![lan_port])
    };
    let nodes = vec![Node::Host(client), gateway(0), gateway(1), Node::Host(server)];
    let satellite = [&link, &back].map(|link| faults.line(link));
    let mut world = World::chain(nodes, vec![cable(), satellite, cable()]);
    world.run(Duration::from_secs(3600));
    let report = world.host(0).report(&key).expect("the client's connection");
    assert_eq!(report.read, FILE, "{leg}, run {run}: not all arrived");
    report.last_read.map_or(f64::NAN, Instant::as_secs_f64)
}
