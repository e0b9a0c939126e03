//! Connections that gateways split in mid-life (G01-W-1): every byte is the right one, whatever
//! happens on the way, and short connections are never split.

use super::*;
use bentpipe_core::units::{Bytes, Probability};
use bentpipe_gateway::Reason;
use bentpipe_sim::Close;
use bentpipe_sim::fuzz::Faults;

fn adopting(after: u64) -> Config {
    Config { adopt_after: Some(Bytes::new(after)), ..Config::default() }
}

fn chance(value: f64) -> Probability {
    Probability::new(value).unwrap()
}

/// Hosts with gateways that adopt `after` so many bytes, at the ends of a satellite link with these
/// faults. The near host sends `up` bytes and the far one `down`; how many connections each gateway
/// adopted.
fn transfer(
    tcp: ConnectionConfig,
    after: [u64; 2],
    [up, down]: [u64; 2],
    bad: (f64, u64),
) -> [u64; 2] {
    let (fault, seed) = bad;
    let satellite = LinkConfig {
        packet_loss: chance(fault).into(),
        ..satellite(Rate::from_bits_per_sec(8_000_000))
    };
    let faults = Faults {
        duplicate: chance(fault),
        reorder: chance(fault),
        jitter: Duration::from_millis(40),
        ..Faults::default()
    };
    // Who sends nothing closes behind the other one: a connection that is half closed is not
    // adopted.
    let waits = |waits| if waits { Close::AfterPeer } else { Close::default() };
    let near =
        Script { bytes: up, key: 1, peer_key: 2, close: waits(up == 0), ..Script::default() };
    let far =
        Script { bytes: down, key: 2, peer_key: 1, close: waits(up > 0), ..Script::default() };
    let mut hosts = HOSTS.map(Host::new);
    hosts[0].call(Instant::ZERO, (1_000, HOSTS[1], 80), tcp, SeqNum(u32::MAX - 5_000), near);
    hosts[1].listen(80, tcp, SeqNum(7), far);
    let line = |link: &LinkConfig, seed: u64, faults: &Faults| {
        let seeded = |seed| LinkConfig { seed, ..link.clone() };
        [seed, seed + 1].map(|seed| faults.line(&seeded(seed)))
    };
    let [a, b] = hosts;
    let boxes = [gateway(adopting(after[0]), 0), gateway(adopting(after[1]), 1)];
    let [g1, g2] = boxes;
    let none = Faults::default();
    let lines = vec![
        line(&cable(), 10 * seed + 1, &none),
        line(&satellite, 10 * seed + 3, &faults),
        line(&cable(), 10 * seed + 5, &none),
    ];
    let mut world = World::chain(vec![Node::Host(a), g1, g2, Node::Host(b)], lines);
    assert!(world.run(Duration::from_secs(3600)), "it is not over");
    let near = world.host(0).report(&(1_000, HOSTS[1], 80)).unwrap();
    let far = world.host(3).report(&(80, HOSTS[0], 1_000)).unwrap();
    assert_eq!((near.read, near.clean_end), (down, true), "seed {seed}");
    assert_eq!((far.read, far.clean_end), (up, true), "seed {seed}");
    let mut adopted = [0, 0];
    for (gateway, adopted) in world.gateways().zip(&mut adopted) {
        let summary = gateway.summary();
        assert_eq!((gateway.flows(), gateway.held(), gateway.panicked()), (0, 0, 0));
        assert_eq!((summary.split, summary.lost_bytes, summary.reset), (summary.adopted, 0, 0));
        assert_eq!(summary.route_changes, 0, "seed {seed}: taken for a change of route");
        *adopted = summary.adopted;
    }
    adopted
}

/// With all options, with none, and with each that a gateway might mistake.
fn tcps() -> Vec<ConnectionConfig> {
    let linux = ConnectionConfig::preset("linux").unwrap();
    vec![
        linux,
        ConnectionConfig { timestamps: false, ..linux },
        ConnectionConfig { sack: false, ..linux },
        ConnectionConfig { window_scale: None, ..linux },
        ConnectionConfig { window_scale: None, timestamps: false, sack: false, ..linux },
    ]
}

#[test]
fn long_transfers_are_adopted_and_whole() {
    for tcp in tcps() {
        for bytes in [[2_000_000, 0], [0, 2_000_000], [1_000_000, 1_000_000]] {
            let adopted = transfer(tcp, [100_000, 100_000], bytes, (0.0, 1));
            assert_eq!(adopted, [1, 1], "{bytes:?} {tcp:?}");
        }
    }
}

/// Loss, reordering and duplication, 2 % each.
#[test]
fn transfers_over_a_bad_link_are_adopted_and_whole() {
    let mut sum = [0, 0];
    for (number, tcp) in tcps().into_iter().enumerate() {
        for seed in 0..6 {
            let bytes = [[500_000, 0], [0, 500_000], [250_000, 250_000]][seed % 3];
            let seed = (10 * number + seed) as u64;
            let adopted = transfer(tcp, [1 + 3_000 * seed, 20_000], bytes, (0.02, seed));
            (sum[0], sum[1]) = (sum[0] + adopted[0], sum[1] + adopted[1]);
        }
    }
    assert!(sum.iter().all(|sum| *sum >= 20), "adopted {sum:?} of 30");
}

#[test]
fn short_transfers_are_forwarded() {
    let tcp = ConnectionConfig::preset("linux").unwrap();
    assert_eq!(transfer(tcp, [100_000, 100_000], [50_000, 40_000], (0.0, 1)), [0, 0]);
    assert_eq!(transfer(tcp, [100_000, 1], [50_000, 40_000], (0.0, 1)), [0, 1]);
}

/// G01-W-2: of pages' many connections and a few downloads, those that are worth it are split.
#[test]
fn only_long_connections_take_memory() {
    let rate = Rate::from_bits_per_sec(8_000_000);
    let run = |after: Option<u64>| {
        let config = Config { adopt_after: after.map(Bytes::new), ..Config::default() };
        let mut path = Path::geo(rate, [config.clone(), config]);
        for number in 0..45 {
            let bytes = if number % 15 == 0 { 3_000_000 } else { 10_000 };
            let client = Script { close: Close::AfterPeer, ..Script::default() };
            path = path.call(client, Script { bytes, ..Script::default() });
            path.calls[number].0 = Instant::ZERO + Duration::from_millis(300) * number as u32;
        }
        let (mut world, _) = path.build();
        assert!(world.run(Duration::from_secs(600)));
        let long: Vec<f64> = (0..45)
            .map(|number| (number, reports(&world, number)[0]))
            .inspect(|(number, report)| assert!(report.clean_end, "{number}: {report:?}"))
            .filter(|(number, _)| number % 15 == 0)
            .map(|(number, report)| {
                let begun = Instant::ZERO + Duration::from_millis(300) * number as u32;
                report.last_read.unwrap().saturating_since(begun).as_secs_f64()
            })
            .collect();
        let gateway = world.gateways().next().unwrap();
        let summary = gateway.summary();
        let short = summary.forwarded_flows(Reason::Short);
        (summary.split, short, long.iter().sum::<f64>() / long.len() as f64)
    };
    let (all, selected) = (run(None), run(Some(100_000)));
    println!("split, forwarded, mean time of a long one: all {all:?}, selected {selected:?}");
    assert_eq!((all.0, all.1), (45, 0));
    assert!(selected.0 == 3 && selected.1 >= 45, "{selected:?}");
}
