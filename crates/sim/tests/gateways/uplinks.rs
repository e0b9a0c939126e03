//! A pair of gateways, and two uplinks over which routers spread their flows (mwan3, ECMP).

use super::*;
use bentpipe_gateway::FoundBy;
use bentpipe_sim::{EqualWay, FlowHash, Spread};

const FLOWS: usize = 16;

/// The gateways, and the routers between them.
const GATEWAYS: [usize; 2] = [2, 3];
const ROUTERS: [usize; 2] = [4, 5];

/// A satellite, and a mobile network.
const DELAYS: [u64; 2] = [270, 25];

/// Uploads of so many bytes over two uplinks of so many Mbit/s each; links are found so. When the
/// last byte of each has arrived, in seconds.
fn uploads(found_by: FoundBy, rates: [u64; 2], bytes: u64) -> Vec<f64> {
    let tcp = ConnectionConfig::preset("linux").unwrap();
    let mut hosts = HOSTS.map(Host::new);
    for number in 0..FLOWS {
        let [near, far] = &mut hosts;
        let isn = SeqNum(u32::MAX - 1_000 * number as u32);
        let [mine, theirs] = [0, 1].map(|end| 2 * number as u64 + end);
        let script = |key, peer_key, bytes| Script { bytes, key, peer_key, ..Script::default() };
        let at = Instant::ZERO + Duration::from_millis(20 * number as u64);
        let key = (1_000 + number as u16, HOSTS[1], port(number));
        near.call(at, key, tcp, isn, script(mine, theirs, bytes));
        far.listen(port(number), tcp, isn + 7, script(theirs, mine, 0));
    }
    let mut world = World::default();
    for host in hosts {
        world.add(host);
    }
    for (number, node) in GATEWAYS.into_iter().enumerate() {
        let mut config = Config { super_segments: false, ..Config::default() };
        config.satellite.found_by = found_by;
        let mut gateway = Gateway::new(config);
        gateway.identify_as(77 + number as u32);
        assert_eq!(world.add(Node::Gateway(Box::new(gateway), vec![0])), node);
    }
    for router in ROUTERS {
        assert_eq!(world.add(Node::Router), router);
    }
    let join = |world: &mut World, a, b, link: &LinkConfig| {
        world.join(a, b, Line::new(link), Line::new(link));
    };
    for end in [0, 1] {
        join(&mut world, (end, 0), (GATEWAYS[end], 0), &cable());
        join(&mut world, (GATEWAYS[end], 1), (ROUTERS[end], 0), &cable());
    }
    for (uplink, (delay, rate)) in DELAYS.into_iter().zip(rates).enumerate() {
        let rate = Rate::from_bits_per_sec(1_000_000 * rate);
        let link = LinkConfig {
            rate: Some(rate.into()),
            delay: Duration::from_millis(delay).into(),
            ..LinkConfig::IDEAL
        };
        join(&mut world, (ROUTERS[0], 1 + uplink), (ROUTERS[1], 1 + uplink), &link);
    }
    world.route();
    for end in [0, 1] {
        let ways = [0, 1].map(|uplink| EqualWay { label: uplink as u32, port: 1 + uplink });
        world.set_spread(
            ROUTERS[end],
            HOSTS[1 - end],
            Spread::new(FlowHash::Symmetric, ways.to_vec()),
        );
    }
    world.start();
    assert!(world.run(Duration::from_secs(3_600)));
    let last = |number| {
        let [_, far] = reports(&world, number);
        assert_eq!(far.read, bytes);
        far.last_read.unwrap().as_secs_f64()
    };
    (0..FLOWS).map(last).collect()
}

/// Flow by flow the fast uplink is used up. Together all would have the same share of both, and so
/// all the time of the slow one.
#[test]
fn flows_of_two_uplinks_do_not_wait_for_each_other() {
    let [each, together] = [FoundBy::EachFlow, FoundBy::AllFlows].map(|found_by| {
        let times = uploads(found_by, [20, 5], 6_000_000);
        println!("{found_by:?} {times:.1?}");
        times
    });
    let last = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
    let slow = last(&each);
    let fast: Vec<usize> = (0..FLOWS).filter(|number| each[*number] < slow / 3.0).collect();
    assert!((4..=12).contains(&fast.len()), "flows of both uplinks: {fast:?} are fast");
    let mean =
        |times: &[f64]| fast.iter().map(|number| times[*number]).sum::<f64>() / fast.len() as f64;
    let means = [&each, &together].map(|times| mean(times));
    assert!(means[1] < 1.2 * means[0], "of the fast uplink's, alone and together: {means:.1?} s");
    assert!(last(&together) < 1.05 * slow, "{:.1} s, {slow:.1} flow by flow", last(&together));
}
