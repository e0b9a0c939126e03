//! A connection on each of its three hops, between the near host, two gateways and the far host:
//! C1, C2 and C3 of the user guide.

use super::*;
use bentpipe_core::link::Outages;
use bentpipe_core::tcp::recovery::RecoveryAlgorithm;
use bentpipe_core::tcp::sender::InitialWindow;
use bentpipe_core::units::Bytes;
use bentpipe_gateway::AddOptions;
use bentpipe_sim::{Close, Start};
use std::collections::BTreeMap;

const RATE: Rate = Rate::from_bits_per_sec(8_000_000);
/// One way over the satellite, and there and back over a cable.
const SATELLITE: Duration = Duration::from_millis(250);
const NEAR: Duration = Duration::from_millis(5);

/// A TCP packet that passed a hop.
#[derive(Debug, Clone)]
struct Passed {
    at: Instant,
    /// It is on its way to the far host.
    onwards: bool,
    packet: Packet,
}

impl Passed {
    fn tcp(&self) -> &TcpHeader {
        match &self.packet.content {
            Content::Tcp(tcp, _) => tcp,
            other => panic!("{other:?} is not TCP"),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        match &self.packet.content {
            Content::Tcp(_, body) => body.to_bytes(),
            other => panic!("{other:?} is not TCP"),
        }
    }
}

#[derive(Debug, Clone, Default)]
struct Tap(Rc<RefCell<Vec<Passed>>>);

impl Middlebox for Tap {
    fn handle(
        &mut self,
        now: Instant,
        port: usize,
        packet: Packet,
        send: &mut dyn FnMut(usize, Packet),
    ) {
        let passed = Passed { at: now, onwards: port == 0, packet: packet.clone() };
        self.0.borrow_mut().push(passed);
        send(1 - port, packet);
    }
}

/// What a connection's ends and its gateways are like.
struct Case {
    tcp: ConnectionConfig,
    gateways: Config,
    near: Script,
    far: Script,
    /// Nothing gets onto the satellite link before.
    blocked: Duration,
}

impl Case {
    fn new() -> Case {
        Case {
            tcp: ConnectionConfig::preset("linux").unwrap(),
            gateways: Config { super_segments: false, ..Config::default() },
            near: Script { bytes: 100_000, ..Script::default() },
            far: Script { bytes: 50_000, ..Script::default() },
            blocked: Duration::ZERO,
        }
    }

    /// Plays it to its end. What has passed on C1, on C2 where G1 sends, and on C3.
    fn play(self) -> (World, [Vec<Passed>; 3]) {
        let taps = [(); 3].map(|()| Tap::default());
        let [c1, c2, c3] = taps.clone().map(|tap| Node::Middlebox(Box::new(tap)));
        let up = gateway(self.gateways.clone(), 0);
        let boxes = vec![c1, up, c2, gateway(self.gateways, 1), c3];
        let mut space = satellite(RATE);
        if self.blocked > Duration::ZERO {
            let end = Instant::ZERO + self.blocked;
            space.outages = Outages::listed(vec![Instant::ZERO..end]).unwrap();
        }
        let links =
            vec![LinkConfig::IDEAL, cable(), LinkConfig::IDEAL, space, cable(), LinkConfig::IDEAL];
        let path = Path { boxes, links, back: None, tcp: self.tcp, calls: Vec::new() };
        let (mut world, _) = path.call(self.near, self.far).build();
        assert!(world.run(Duration::from_secs(4 * 3600)));
        assert_whole(&world, 0);
        for gateway in world.gateways() {
            assert_eq!((gateway.summary().split, gateway.summary().closed), (1, 1));
        }
        (world, taps.map(|tap| tap.0.borrow().clone()))
    }
}

fn syns(hop: &[Passed], onwards: bool) -> Vec<&Passed> {
    hop.iter().filter(|it| it.onwards == onwards && it.tcp().has(Flags::SYN)).collect()
}

/// The stream in one direction, by sequence number.
fn stream(hop: &[Passed], onwards: bool) -> BTreeMap<u32, u8> {
    let mut stream = BTreeMap::new();
    for passed in hop.iter().filter(|it| it.onwards == onwards) {
        for (offset, byte) in passed.bytes().into_iter().enumerate() {
            let known = stream.insert((passed.tcp().seq + offset as u64).0, byte);
            assert!(known.is_none_or(|known| known == byte), "sent twice, and differently");
        }
    }
    stream
}

/// G01-D-3, G01-D-4 and G99-D-6: on all hops the same addresses, ports, initial sequence numbers,
/// and the same bytes at the same numbers. The client's port is a privileged one.
#[test]
fn each_hop_has_the_hosts_addresses_and_sequence_numbers() {
    let (_, hops) = Case::new().play();
    for onwards in [true, false] {
        let [isn, ..] = hops.each_ref().map(|hop| syns(hop, onwards)[0].tcp().seq);
        let streams = hops.each_ref().map(|hop| stream(hop, onwards));
        let len = if onwards { 100_000 } else { 50_000 };
        assert_eq!(streams.each_ref().map(BTreeMap::len), [len; 3]);
        assert!(streams[0] == streams[1] && streams[1] == streams[2]);
        for passed in hops.iter().flatten().filter(|passed| passed.onwards == onwards) {
            let (ip, tcp) = (&passed.packet.ip, passed.tcp());
            let mut ends = [(HOSTS[0], 1_000), (HOSTS[1], port(0))];
            if !onwards {
                ends.reverse();
            }
            assert_eq!([(ip.src, tcp.src_port), (ip.dst, tcp.dst_port)], ends);
            assert!(!tcp.has(Flags::SYN) || tcp.seq == isn);
        }
    }
}

/// G01-D-5, G01-D-7 and G01-D-9: SYN and SYN-ACK go from host to host, through both gateways.
/// G01-D-1 and G01-D-8: data is acknowledged by the next gateway, in the far host's name, and
/// before the far host has it.
#[test]
fn handshakes_are_end_to_end_and_acknowledgments_are_not() {
    let (_, [c1, c2, c3]) = Case::new().play();
    let at = |hop, onwards| syns(hop, onwards)[0].at;
    assert!(at(&c1, true) < at(&c2, true) && at(&c2, true) + SATELLITE <= at(&c3, true));
    assert!(at(&c3, false) + SATELLITE <= at(&c2, false) && at(&c2, false) < at(&c1, false));
    assert!(at(&c1, false) > at(&c3, true));
    let data = c1.iter().filter(|it| it.onwards && !it.bytes().is_empty());
    let mut checked = 0;
    for sent in data {
        let end = sent.tcp().seq + sent.bytes().len() as u64;
        let covers = |ack: &TcpHeader| ack.ack.distance_from(end) >= 0;
        let acked = c1.iter().find(|it| !it.onwards && it.at >= sent.at && covers(it.tcp()));
        // Gateways cut segments anew.
        let reaches =
            |it: &Passed| (it.tcp().seq + it.bytes().len() as u64).distance_from(end) >= 0;
        let arrived = c3.iter().find(|it| it.onwards && reaches(it));
        let (acked, arrived) = (acked.unwrap(), arrived.unwrap());
        assert_eq!((acked.packet.ip.src, acked.tcp().src_port), (HOSTS[1], port(0)));
        assert!(acked.at < arrived.at, "{:?}", sent.tcp());
        // Delayed acknowledgments included, which G1 sends of every second segment.
        assert!(acked.at <= sent.at + NEAR + Duration::from_millis(40), "{:?}", sent.tcp());
        checked += 1;
    }
    assert!(checked > 50, "{checked}");
}

/// G01-D-2: the near host measures the terrestrial round trip, and not that over the satellite.
#[test]
fn the_near_host_measures_the_near_round_trip() {
    let case = Case { near: Script { bytes: 1_000_000, ..Script::default() }, ..Case::new() };
    let (world, _) = case.play();
    let key = (1_000, HOSTS[1], port(0));
    let tcb = world.host(0).connection(&key).and_then(|connection| connection.last_tcb()).unwrap();
    let srtt = tcb.sender.rtt().srtt().unwrap();
    // Two milliseconds, and what the gateway's acknowledgments are delayed.
    assert!(srtt <= Duration::from_millis(2 + 20), "{srtt:?}");
}

/// G01-D-6, G01-D-7, G99-D-2 and H-D-16: the options that hosts do not offer are on C2, on SYN and
/// SYN-ACK, and in use. G01-W-13: private ones are there too, and on no other hop.
#[test]
fn options_that_hosts_lack_are_added_on_the_satellite_link_alone() {
    let mut case = Case::new();
    case.tcp.window_scale = None;
    (case.tcp.sack, case.tcp.timestamps) = (false, false);
    case.gateways.add_options = AddOptions::Always;
    let (_, hops) = case.play();
    for onwards in [true, false] {
        for (number, hop) in hops.iter().enumerate() {
            let added = number == 1;
            for syn in syns(hop, onwards) {
                let options = &syn.tcp().options;
                let scale = options.window_scale.is_some();
                let offered = [scale, options.sack_permitted, options.timestamps.is_some()];
                assert_eq!(offered, [added; 3], "C{} {onwards}", number + 1);
                assert_eq!(!options.other.is_empty(), added, "C{} {onwards}", number + 1);
            }
            let mut data = hop.iter().filter(|it| !it.bytes().is_empty());
            assert!(data.all(|it| it.tcp().options.timestamps.is_some() == added));
        }
    }
}

/// G01-D-20, G99-D-2 and H-D-18: initial window and recovery of the satellite leg are chosen by
/// name, and the other hops know nothing of it.
#[test]
fn the_satellite_legs_initial_window_is_its_own() {
    let first_flight = |hop: &[Passed]| {
        let data: Vec<_> = hop.iter().filter(|it| it.onwards && !it.bytes().is_empty()).collect();
        let acked =
            hop.iter().find(|it| !it.onwards && it.tcp().ack.distance_from(data[0].tcp().seq) > 0);
        let acked = acked.unwrap().at;
        data.iter().filter(|it| it.at < acked).count()
    };
    let flights = [1, 4, 16].map(|iw| {
        let mut case = Case::new();
        case.gateways.satellite.set("iw", &iw.to_string()).unwrap();
        case.gateways.satellite.set("recovery", "fack").unwrap();
        assert_eq!(case.gateways.satellite.sender.initial_window, InitialWindow::Segments(iw));
        assert_eq!(case.gateways.satellite.sender.recovery, RecoveryAlgorithm::Fack);
        let (_, [c1, c2, _]) = case.play();
        [first_flight(&c1), first_flight(&c2)]
    });
    let near = flights[0][0];
    assert_eq!(flights, [[near, 1], [near, 4], [near, 16]]);
}

/// G01-D-20: the paper's gateways had FACK. Ours have its successor by default (RFC 8985), on the
/// satellite's side alone an initial window of ten, and FACK where it is chosen.
#[test]
fn a_satellite_leg_has_rack_unless_told_otherwise() {
    let config = Config::default();
    assert_eq!(config.satellite.sender.recovery, RecoveryAlgorithm::Rack);
    for recovery in ["fack", "fack-abrupt"] {
        let mut chosen = config.clone();
        chosen.satellite.set("recovery", recovery).unwrap();
        assert_eq!(chosen.satellite.sender.recovery.to_string(), recovery);
        assert_eq!(chosen.lan.sender, config.lan.sender, "the hosts' side is as it was");
    }
}

/// G01-D-16: a SYN that is lost behind the gateway is repeated by the host, and by nobody else.
#[test]
fn a_lost_syn_is_the_hosts_business() {
    let case = Case { blocked: Duration::from_millis(1_500), ..Case::new() };
    let (_, [c1, c2, c3]) = case.play();
    let times = |hop| syns(hop, true).iter().map(|syn| syn.at).collect::<Vec<_>>();
    let (sent, relayed) = (times(&c1), times(&c2));
    assert!(sent.len() >= 2 && sent.len() == relayed.len(), "{sent:?}, {relayed:?}");
    for (sent, relayed) in sent.iter().zip(&relayed) {
        assert!(relayed.saturating_since(*sent) < NEAR);
    }
    assert_eq!(
        syns(&c3, true).len(),
        relayed.iter().filter(|at| **at >= Instant::ZERO + Duration::from_millis(1_500)).count()
    );
}

/// G99-D-14: a connection that gateways hold nothing of outlives them.
#[test]
fn without_its_gateways_a_connection_goes_on() {
    let config = knowing(RATE);
    let mut path = Path::geo(RATE, [config.clone(), config]);
    path.tcp.send_buffer = Bytes::new(64_000);
    // The far host answers what the near one has sent, ten seconds later.
    let near = Script { bytes: 50_000, close: Close::AfterPeer, ..Script::default() };
    let pace = bentpipe_sim::Pace { chunk: 10_000, every: Duration::from_secs(10) };
    let far = Script {
        bytes: 60_000,
        start: Start::AfterReading(50_000),
        write: pace,
        ..Script::default()
    };
    let (mut world, _) = path.call(near, far).build();
    world.start();
    let end = Instant::ZERO + Duration::from_secs(19);
    while world.step(end) {}
    world.advance(end);
    let [near, far] = reports(&world, 0);
    assert!(far.read == 50_000 && near.read > 0 && near.read < 60_000, "{near:?}, {far:?}");
    for node in [2, 3] {
        let Node::Gateway(gateway, _) = world.node(node) else { panic!("a gateway") };
        assert_eq!((gateway.summary().split, gateway.flows(), gateway.held()), (1, 1, 0));
        world.replace(node, Node::Router);
    }
    assert!(world.run(Duration::from_secs(3600)));
    assert_whole(&world, 0);
}
