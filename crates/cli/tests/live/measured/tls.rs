//! What TLS gains by gateways, beside cleartext.

use std::thread;
use std::time::Duration;

use bentpipe_testbed::five_hosts::{BOTH, TestbedConfig};

use crate::observation::ask;
use crate::stage::{build, gateways_wanted, geo_link, start_gateways};
use crate::tls::downloads;

pub(crate) const CASES: &[(&str, fn())] = &[("tls_gains_as_much_as_cleartext", gains_as_much)];

/// What else the machine does only adds to a download's time: the shortest of so many counts,
/// unless the first are good enough.
const ROUNDS: usize = 6;
/// As much as both ways of a transfer may differ in what they gain.
const TOLERANCE: f64 = 0.10;

/// H-D-20: a TLS connection is split, and as much faster for it as one in cleartext. Both paths are
/// used at the same time, so that what else the machine does slows both.
fn gains_as_much() {
    if !gateways_wanted() {
        return;
    }
    let plan = TestbedConfig { link: Some(geo_link()), ..TestbedConfig::default() };
    let plain = build(plan);
    let mut split = build(plan);
    start_gateways(&mut split);
    let mut best = [[Duration::MAX; 2]; 2];
    let mut said = String::new();
    for round in 1..=ROUNDS {
        let times = thread::scope(|scope| {
            [&plain, &split]
                .map(|testbed| scope.spawn(|| downloads(testbed)))
                .map(thread::ScopedJoinHandle::join)
        });
        for (best, times) in best.iter_mut().zip(times) {
            let times = times.expect("downloads");
            *best = [best[0].min(times[0]), best[1].min(times[1])];
        }
        let [plain, with] = best;
        for place in BOTH {
            let status = ask(split.gateway_at(place).1, "status");
            assert_eq!(status["totals"]["split"], 2 * round, "{place:?}: {status}");
        }
        let gain = |way: usize| plain[way].as_secs_f64() / with[way].as_secs_f64();
        let [clear, tls] = [gain(0), gain(1)];
        said = format!("cleartext {clear:.2} times ({plain:?} to {with:?}), TLS {tls:.2} times");
        if clear > 1.3 && (tls / clear - 1.0).abs() < TOLERANCE {
            return println!("{said}");
        }
    }
    panic!("TLS does not gain as much: {said}");
}
