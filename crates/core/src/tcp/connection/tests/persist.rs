//! Probes of a closed window.

use super::*;

#[test]
fn a_ticking_clock_probes_on_its_ticks() {
    let mut config = ConnectionConfig {
        receive_buffer: Bytes::new(3000),
        window_scale: None,
        ..Default::default()
    };
    let tick = Duration::from_millis(500);
    (config.sender.rto.tick, config.sender.rto.min) = (tick, tick);
    let (mut a, mut b) = connected(config);
    a.write(Payload::Bytes(&[7; 10_000]));
    exchange(&mut a, &mut b, at(123));
    let mut probes = Vec::new();
    for _ in 0..6 {
        let probe_at = a.poll_timeout().expect("the persist timer runs");
        probes.push(probe_at.as_nanos() / 1_000_000);
        a.handle_timeout(probe_at);
        // The answer comes within the tick, and says that the window is closed.
        exchange(&mut a, &mut b, probe_at + Duration::from_millis(77));
    }
    assert!(probes.iter().all(|at| at % 500 == 0), "{probes:?}");
    let waits: Vec<u64> = probes.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(waits[3..].windows(2).all(|pair| pair[1] == 2 * pair[0]), "{waits:?}");
}
