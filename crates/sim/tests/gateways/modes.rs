//! What is end to end and what is hop by hop, as the near host sees it.

use super::*;
use bentpipe_gateway::{FinMode, Handshake};
use bentpipe_sim::Close;

const RATE: Rate = Rate::from_bits_per_sec(8_000_000);

fn bytes(bytes: u64) -> Script {
    Script { bytes, ..Script::default() }
}

/// How long the near host waits for the greeting of a server that speaks first.
fn greeting(handshakes: [Handshake; 2]) -> Duration {
    let configs = handshakes.map(|handshake| Config { handshake, ..knowing(RATE) });
    let near = Script { close: Close::AfterPeer, ..Script::default() };
    let (mut world, _) = Path::geo(RATE, configs).call(near, bytes(100)).build();
    assert!(world.run(Duration::from_secs(300)));
    assert_whole(&world, 0);
    reports(&world, 0)[0].last_read.unwrap().saturating_since(Instant::ZERO)
}

/// G01-D-7: where the server is answered first, its greeting comes right behind the SYN-ACK.
#[test]
fn a_greeting_comes_a_round_trip_earlier_where_servers_are_answered_first() {
    use Handshake::{DownstreamFirst, EndToEnd};
    let slow = greeting([EndToEnd; 2]);
    let fast = greeting([DownstreamFirst; 2]);
    let gain = slow.saturating_sub(fast);
    assert!(gain > Duration::from_millis(495) && fast < Duration::from_millis(515), "{fast:?}");
    // One of each: nothing is lost, and not much is won.
    for mixed in [[EndToEnd, DownstreamFirst], [DownstreamFirst, EndToEnd]] {
        let took = greeting(mixed);
        assert!(took <= slow + Duration::from_millis(5), "{mixed:?}: {took:?}, {slow:?}");
    }
}

/// When the near host's FIN left it, and when it was acknowledged to it.
fn fin_acknowledged_after(fin: FinMode) -> Duration {
    let configs = [knowing(RATE), knowing(RATE)].map(|config| Config { fin, ..config });
    let far = Script { close: Close::AfterPeer, ..Script::default() };
    let (mut world, probe) = Path::geo(RATE, configs).call(bytes(10_000), far).build();
    assert!(world.run(Duration::from_secs(300)));
    assert_whole(&world, 0);
    assert!(world.gateways().all(|gateway| gateway.flows() == 0 && gateway.held() == 0));
    let seen = probe.0.borrow();
    let fin = seen.iter().find(|seen| seen.leaves && seen.tcp.has(Flags::FIN)).unwrap();
    let end = fin.tcp.seq + fin.len as u64 + 1;
    let acked = seen.iter().find(|seen| !seen.leaves && seen.tcp.ack == end).unwrap();
    acked.at.saturating_since(fin.at)
}

/// G01-D-10 and H-D-19: within the terrestrial round trip, or not before the far host's.
#[test]
fn a_fin_is_acknowledged_within_the_near_round_trip_or_after_the_far_one() {
    let near = fin_acknowledged_after(FinMode::Immediate);
    assert!(near < Duration::from_millis(5), "{near:?}");
    let far = fin_acknowledged_after(FinMode::EndToEnd);
    assert!(far > Duration::from_millis(500), "{far:?}");
}

/// G01-D-10: five seconds after both FINs have arrived and been acknowledged, nothing is left.
#[test]
fn resources_are_free_five_seconds_after_both_fins() {
    let config = Config { fin: FinMode::Immediate, ..knowing(RATE) };
    let far = Script { close: Close::AfterPeer, ..Script::default() };
    let path = Path::geo(RATE, [config.clone(), config]).call(bytes(50_000), far);
    let (mut world, probe) = path.build();
    let limit = Instant::ZERO + Duration::from_secs(60);
    world.start();
    while world.gateways().any(|gateway| gateway.summary().closed == 0) && world.step(limit) {}
    assert!(world.gateways().all(|gateway| gateway.held() == 0 && gateway.flows() == 1));
    let closed = world.now();
    while world.step(closed + Duration::from_secs(5)) {}
    assert!(world.gateways().all(|gateway| gateway.flows() == 0));
    assert!(probe.0.borrow().iter().all(|seen| !seen.tcp.has(Flags::RST)));
    assert_whole(&world, 0);
}
