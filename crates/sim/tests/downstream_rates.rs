//! Shares of the satellite link where some flows have faster downstream links than others
//! (Bharadwaj 2001, section 5).

use crate::support::{brief, link, outcome};
use bentpipe_results::RunResults;
use std::collections::BTreeMap;

/// What the flows can read where the satellite link's 8 Mbit/s are shared max-min: headers off.
const PAYLOAD: f64 = 1448.0 / 1500.0;
const SLOW: f64 = 256e3 * PAYLOAD;
const FAST: f64 = (8e6 - 2.0 * 256e3) / 2.0 * PAYLOAD;

/// The example, its sweep taken off.
fn downloads(gateways: &str, duration: &str) -> RunResults {
    let text = include_str!("../../../scenarios/downstream-rates.toml");
    let (text, _) = text.split_once("[sweep]").expect("a sweep");
    let text = text.replace("satellite = { rate = \"8Mbit/s\", round-trip = \"500ms\" }", gateways);
    outcome(&text.replace("duration = \"60s\"", &format!("duration = \"{duration}\"")))
}

/// The first second from which all flows have at least 90 % of their shares for five seconds; none
/// if they never have.
fn shared_from(outcome: &RunResults) -> Option<usize> {
    const SPAN: usize = 5;
    let mut flows: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for sample in outcome.series.iter().filter(|sample| !sample.element.contains('/')) {
        if sample.quantity == "throughput" {
            flows.entry(&sample.element).or_default().push(sample.value);
        }
    }
    let seconds = flows.values().map(Vec::len).min()?;
    let has_share = |from: usize, (name, rates): (&&str, &Vec<f64>)| {
        let share = if name.starts_with("slow") { SLOW } else { FAST };
        rates[from..from + SPAN].iter().sum::<f64>() >= 0.9 * share * SPAN as f64
    };
    (0..seconds - SPAN).find(|&from| flows.iter().all(|flow| has_share(from, flow)))
}

fn max_held(outcome: &RunResults, gateway: &str) -> f64 {
    let of = outcome.series.iter().filter(|sample| &*sample.element == gateway);
    of.map(|sample| sample.value).fold(0.0, f64::max)
}

/// G01-W-5.
#[test]
fn flows_with_faster_downstream_links_take_what_the_others_leave() {
    let known = "satellite = { rate = \"8Mbit/s\", round-trip = \"500ms\" }";
    let mut seen = Vec::new();
    for (name, gateways) in [("known", known), ("unknown", ""), ("plain", "split = false")] {
        let outcome = downloads(gateways, "120s");
        let utilisation = link(&outcome, "sat", "g1").utilisation().unwrap();
        let from = shared_from(&outcome);
        let goodputs: Vec<f64> = outcome.flows.iter().map(|flow| flow.goodput / 1e3).collect();
        println!(
            "{name}: utilisation {utilisation:.3}, shares from {from:?} s, goodputs {goodputs:.0?} kbit/s, at most {:.0} and {:.0} KB held",
            max_held(&outcome, "g1") / 1e3,
            max_held(&outcome, "g2") / 1e3
        );
        seen.push((utilisation, from, brief(&outcome)));
    }
    let [(used, from, text), _, (plain_used, plain_from, _)] = &seen[..] else { panic!() };
    assert!(*used > 0.97 && from.is_some_and(|from| from <= 5), "{used} {from:?} {text}");
    assert!(used > plain_used, "{used} {plain_used}");
    assert!(plain_from.is_none_or(|plain| plain > from.unwrap()), "{plain_from:?}");
}
