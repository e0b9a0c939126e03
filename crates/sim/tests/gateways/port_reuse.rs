//! A host that aborts an upload, and connects from the same port.

use super::*;
use bentpipe_core::units::Probability;
use bentpipe_sim::Pace;

/// When the client resets: all windows are closed by then.
const ABORT: Duration = Duration::from_secs(10);
/// When it sends another SYN.
const AGAIN: Duration = Duration::from_millis(10_100);

/// After how long the client's second connection is open, through two gateways, behind one to a
/// server that does not read. Of so many packets on the satellite link some are lost.
fn open_again(loss: f64, seed: u64) -> Duration {
    let configs = [(); 2].map(|()| Config { super_segments: false, ..Config::default() });
    let mut path = Path::geo(Rate::from_bits_per_sec(20_000_000), configs);
    path.links[1].packet_loss = Probability::new(loss).unwrap().into();
    path.links[1].seed = seed;
    let upload = Script { bytes: 30_000_000, abort_after: Some(ABORT), ..Script::default() };
    let stalled = Pace { chunk: 1_000, every: Duration::from_secs(10_000) };
    let (mut world, _) = path.call(upload, Script { read: stalled, ..Script::default() }).build();
    let far = 4;
    let key = (1_000, HOSTS[1], port(0));
    let tcp = ConnectionConfig::preset("linux").unwrap();
    let short = Script { bytes: 1_000, key: 0, peer_key: 1, ..Script::default() };
    world.host_mut(0).reuse_ports();
    world.host_mut(far).reuse_ports();
    world.host_mut(0).call(Instant::ZERO + AGAIN, key, tcp, SeqNum(77_000_000), short);
    world.run(Duration::from_secs(60));
    let lost: u64 = world.gateways().map(|gateway| gateway.summary().lost_bytes).sum();
    assert!(lost > 0, "what the server did not take is counted");
    let report = world.host(0).report(&key).expect("a second connection");
    assert!(!report.reset, "{report:?}");
    let connected = report.connected.unwrap_or_else(|| panic!("seed {seed}: never: {report:?}"));
    connected.saturating_since(Instant::ZERO + AGAIN)
}

#[test]
fn a_client_connects_from_the_port_that_it_has_aborted() {
    let took = open_again(0.0, 1);
    assert!(took <= Duration::from_secs(3), "{took:?}");
}

/// The RST, the SYN, the question and its answer may be lost: the SYN is repeated after 1, 3, 7 and
/// 15 s.
#[test]
fn it_connects_though_packets_are_lost() {
    for seed in 0..20 {
        let took = open_again(0.05, seed);
        assert!(took <= Duration::from_secs(16), "seed {seed}: {took:?}");
    }
}
