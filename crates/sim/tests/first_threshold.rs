//! The first slow start threshold from the path's rate (Hoe 1996): how good it is, and what it
//! brings.

use crate::support::{brief, main_flow, parsed};
use bentpipe_results::RunResults;
use bentpipe_sim::run;

/// 125 KB and a queue that holds what slow start sends in bursts; `CROSS` is there besides.
const SATELLITE: &str = r#"
tcp = "ns-1997,opening=handshake,recovery=newreno,sack=off,ack=per-segment,ssthresh-estimate=ESTIMATE,send-buffer=1MB,receive-buffer=1MB,window-scale=5"
[run]
duration = "400s"
until = "flows-done"
[host.server]
[host.client]
[router.r]
[link.lan]
between = ["server", "r"]
rate = "100Mbit/s"
delay = "5ms"
queue = "unlimited"
[link.sat]
between = ["r", "client"]
rate = "2Mbit/s"
delay = "245ms"
queue = "80packets"
[flow.main]
from = "server"
to = "client"
bytes = "500KB"
start = "2s"
"#;

const CROSS: &str = r#"
[flow.cross]
workload = "udp"
background = true
from = "server"
to = "client"
arrivals = "poisson"
rate = "600kbit/s"
packet = "1000B"
"#;

fn outcomes(estimate: &str, cross: &str) -> Vec<RunResults> {
    let scenario = parsed(&(SATELLITE.replace("ESTIMATE", estimate) + cross));
    (0..20).map(|number| run(&scenario, number, |_| true).unwrap()).collect()
}

/// Mean and largest absolute error.
fn errors(outcomes: &[RunResults]) -> (f64, f64) {
    let errors = outcomes.iter().map(|outcome| main_flow(outcome).ssthresh_error.unwrap());
    let errors: Vec<f64> = errors.collect();
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    (mean, errors.iter().fold(0.0, |most, error| error.abs().max(most)))
}

fn dropped(outcomes: &[RunResults]) -> u64 {
    outcomes.iter().map(|outcome| outcome.run.dropped).sum()
}

/// B-W-3.
#[test]
fn the_first_threshold_is_right_without_cross_traffic_and_distorted_with_it() {
    for cross in ["", CROSS] {
        let plain = outcomes("off", cross);
        assert!(plain.iter().all(|outcome| main_flow(outcome).ssthresh_error.is_none()));
        println!("{} cross: {} dropped without an estimate", cross.is_empty(), dropped(&plain));
        for estimate in ["packet-pair", "ack-rate"] {
            let with = outcomes(estimate, cross);
            let (mean, most) = errors(&with);
            let seconds = |outcomes: &[RunResults]| {
                outcomes.iter().map(|outcome| outcome.run.end.as_secs_f64()).sum::<f64>()
            };
            println!(
                "{estimate}, cross traffic {}: mean error {mean:.3}, most {most:.3}, {} dropped, {:.3} of the time",
                !cross.is_empty(),
                dropped(&with),
                seconds(&with) / seconds(&plain)
            );
            if cross.is_empty() {
                assert!(most < 0.05, "{estimate}: {most}");
                assert!(5 * dropped(&with) < dropped(&plain), "{}", brief(&with[0]));
            } else {
                assert!(mean < -0.1 && most > 0.2, "{estimate}: {mean} {most}");
            }
        }
    }
}
