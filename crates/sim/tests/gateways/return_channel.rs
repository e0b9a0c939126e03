//! What the satellite leg needs of the return channel, as configured and by default.

use super::*;
use bentpipe_core::link::{LinkPacket as _, LossKind};
use bentpipe_core::units::Probability;
use bentpipe_sim::Close;

const RATE: Rate = Rate::from_bits_per_sec(8_000_000);
const BYTES: u64 = 10_000_000;

/// What a transfer took of both directions of the satellite link.
#[derive(Debug)]
struct Use {
    /// Bytes on the wire back over those onwards.
    share: f64,
    goodput: f64,
}

/// The bytes that have passed, by direction.
#[derive(Debug, Clone, Default)]
struct Meter(Rc<RefCell<[u64; 2]>>);

impl Middlebox for Meter {
    fn handle(
        &mut self,
        _: Instant,
        port: usize,
        packet: Packet,
        send: &mut dyn FnMut(usize, Packet),
    ) {
        self.0.borrow_mut()[port] += packet.wire_len();
        send(1 - port, packet);
    }
}

/// An upload of ten megabytes through gateways that acknowledge so on the satellite link.
fn upload(config: &Config, acknowledgments: Option<&str>, loss: f64, seed: u64) -> Use {
    let mut config = config.clone();
    if let Some(policy) = acknowledgments {
        config.satellite.set("ack", policy).unwrap();
    }
    transfer([config.clone(), config], None, loss, seed)
}

/// The same through these gateways, over a link whose way back has a rate of its own.
fn transfer(configs: [Config; 2], back: Option<Rate>, loss: f64, seed: u64) -> Use {
    let meter = Meter::default();
    let mut path = Path::geo(RATE, configs);
    path.back = back.map(|rate| (2, rate));
    path.boxes.insert(1, Node::Middlebox(Box::new(meter.clone())));
    let packet_loss: LossKind = Probability::new(loss).unwrap().into();
    path.links.insert(1, LinkConfig::IDEAL);
    path.links[2] = LinkConfig { packet_loss, seed, ..path.links[2].clone() };
    let far = Script { close: Close::AfterPeer, ..Script::default() };
    let (mut world, _) = path.call(Script { bytes: BYTES, ..Script::default() }, far).build();
    assert!(world.run(Duration::from_secs(3_000)));
    assert_whole(&world, 0);
    let took = reports(&world, 0)[1].last_read.unwrap().saturating_since(Instant::ZERO);
    let [onwards, back] = *meter.0.borrow();
    Use { share: back as f64 / onwards as f64, goodput: 8.0 * BYTES as f64 / took.as_secs_f64() }
}

/// One acknowledgment for every eight segments; a link of 8 Mbit/s takes 12 ms for those.
const THINNED: &str = "thinned:8:200ms";

/// As hosts do. Gateways thin by themselves where much comes.
const USUAL: &str = "delayed:40ms";

/// H-D-23: less than a hundredth of what goes onwards, at the throughput that more acknowledgments
/// give, whether the gateways know their link or find it out by slow start.
#[test]
fn thinned_acknowledgments_take_a_hundredth_of_the_forward_bytes() {
    let unknown = Config { super_segments: false, ..Config::default() };
    for (name, config) in [("unknown link", unknown), ("known link", knowing(RATE))] {
        let [usual, thinned] = [USUAL, THINNED].map(|acks| upload(&config, Some(acks), 0.0, 1));
        println!("{name}: {usual:?}, thinned {thinned:?}");
        assert!(thinned.share < 0.01 && usual.share > 0.01, "{name}: {thinned:?}, {usual:?}");
        assert!(thinned.goodput > 0.9 * usual.goodput, "{name}: {thinned:?}, {usual:?}");
    }
}

/// H-D-23, with losses: what follows a hole is reported by many segments at once, too.
#[test]
fn thinned_acknowledgments_do_as_well_with_losses() {
    let unknown = Config { super_segments: false, ..Config::default() };
    for (name, config) in [("unknown link", unknown), ("known link", knowing(RATE))] {
        let mean = |acks: Option<&str>| {
            let uses = [100, 102].map(|seed| upload(&config, acks, 0.001, seed));
            let mean = |of: fn(&Use) -> f64| uses.iter().map(of).sum::<f64>() / uses.len() as f64;
            Use { share: mean(|it| it.share), goodput: mean(|it| it.goodput) }
        };
        let (usual, thinned) = (mean(Some(USUAL)), mean(Some(THINNED)));
        println!("{name}: {usual:?}, thinned {thinned:?}");
        assert!(thinned.share < 0.01 && usual.share > 0.02, "{name}: {thinned:?}, {usual:?}");
        assert!(thinned.goodput > 0.9 * usual.goodput, "{name}: {thinned:?}, {usual:?}");
    }
}

/// An upload through gateways that know both rates of their link: its share of the way back, and
/// its goodput, with acknowledgments as the link decides or as `policy` says.
fn known_both_ways(back: Rate, policy: Option<&str>, loss: f64) -> Use {
    let [mut near, mut far] = [knowing(RATE), knowing(back)];
    near.satellite.return_rate = Some(back);
    far.satellite.return_rate = Some(RATE);
    if let Some(policy) = policy {
        far.satellite.set("ack", policy).unwrap();
    }
    let uses =
        [100, 102, 104].map(|seed| transfer([near.clone(), far.clone()], Some(back), loss, seed));
    let mean = |of: fn(&Use) -> f64| uses.iter().map(of).sum::<f64>() / uses.len() as f64;
    Use { share: mean(|it| it.share), goodput: mean(|it| it.goodput) }
}

/// Where acknowledgments would take more than a tenth of the way back they are thinned by default,
/// and that costs less than a hundredth of goodput: at the edge of that rule as well as where it is
/// needed.
#[test]
fn the_link_decides_on_thinning_and_it_costs_no_goodput() {
    for kbits in [1_300, 256, 64] {
        let back = Rate::from_bits_per_sec(1_000 * kbits);
        for loss in [0.0, 0.01] {
            let by_link = known_both_ways(back, None, loss);
            let usual = known_both_ways(back, Some("delayed:40ms"), loss);
            println!("{kbits} kbit/s, {loss} lost: {by_link:?}, usual {usual:?}");
            assert!(
                by_link.goodput > 0.99 * usual.goodput,
                "{kbits}, {loss}: {by_link:?}, {usual:?}"
            );
            assert!(by_link.share < 0.5 * usual.share, "{kbits}, {loss}: {by_link:?}, {usual:?}");
        }
    }
}
