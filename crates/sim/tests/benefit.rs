//! The model of unsplit transfers against simulated ones.

use crate::support::parsed;
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Bytes, Rate};
use bentpipe_gateway::benefit::UnsplitPath;
use bentpipe_sim::run;
use std::ops::Range;

/// A link: bits a second, the delay of a direction in milliseconds, and the share that is lost.
type Link = (u64, u64, f64);

/// From the SYN to the last acknowledgment, in seconds: the geometric mean of some runs.
fn simulated(bytes: u64, (rate, delay, loss): Link, runs: u64) -> f64 {
    let scenario = parsed(&format!(
        r#"
[run]
duration = "2000s"
until = "flows-done"
[host.server]
tcp = "linux"
[host.client]
tcp = "linux"
[link.sat]
between = ["server", "client"]
rate = "{rate}bit/s"
delay = "{delay}ms"
queue = "1bdp"
loss = {loss}
[flow.main]
from = "server"
to = "client"
bytes = {bytes}
opened-by = "to"
"#
    ));
    let mut sum = 0.0;
    for number in 0..runs {
        let outcome = run(&scenario, number, |_| true).expect("it is not given up");
        let read = outcome.flows[0].mean_completion.expect("complete").as_secs_f64();
        sum += (read + delay as f64 / 1e3).ln();
    }
    (sum / runs as f64).exp()
}

fn modelled(bytes: u64, (rate, delay, loss): Link) -> f64 {
    let rate = Some(Rate::from_bits_per_sec(rate));
    let round_trip = Duration::from_millis(2 * delay);
    let path = UnsplitPath { round_trip, loss, mss: Bytes::new(1448), rate };
    path.transfer_time(Bytes::new(bytes)).as_secs_f64()
}

/// What the model says over what transfers of three sizes take, where that is not as expected.
fn errors(link: Link, runs: u64, expected: &Range<f64>) -> Vec<String> {
    let mut far = Vec::new();
    for bytes in [100_000, 1_000_000, 10_000_000] {
        let (model, simulated) = (modelled(bytes, link), simulated(bytes, link, runs));
        let ratio = model / simulated;
        let found = format!("{link:?}, {bytes} B: {model:.2} s, {simulated:.2} s, {ratio:.2}");
        println!("{found}");
        if !expected.contains(&ratio) {
            far.push(found);
        }
    }
    far
}

/// The figures of `docs/measurements.md`, at which the model was chosen.
#[test]
fn the_model_is_near_transfers_over_a_geostationary_link() {
    for (loss, runs) in [(0.0, 1), (0.001, 20), (0.01, 20)] {
        let far = errors((8_000_000, 250, loss), runs, &(0.85..1.15));
        assert_eq!(far, Vec::<String>::new());
    }
}

/// The same over links at which it was not.
#[test]
fn the_model_is_not_far_from_transfers_over_other_links() {
    for link in [(2_000_000, 300, 0.005), (20_000_000, 30, 0.02), (50_000_000, 280, 0.0)] {
        let far = errors(link, 10, &(0.6..1.5));
        assert_eq!(far, Vec::<String>::new());
    }
}
