//! What the papers leave to others, answered where the gateways' turns on a link that is known do it.

use bentpipe_scenario::Scenario;
use bentpipe_sim::{Outcome, run};

fn outcome(text: &str) -> Outcome {
    let scenario = Scenario::parse(text).unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, 0, |_| true).unwrap()
}

/// Half a second over 8 Mbit/s between two gateways, with what their satellite legs are told.
fn between_gateways(leg: &str) -> String {
    format!(
        "[gateway.g1]\nlan = \"near\"\nsatellite-leg = {{ {leg} }}\n\
         [gateway.g2]\nlan = \"far\"\nsatellite-leg = {{ {leg} }}\n\
         [link.near]\nbetween = [\"server\", \"g1\"]\nprofile = \"ethernet-100\"\n\
         [link.sat]\nbetween = [\"g1\", \"g2\"]\nprofile = \"geo\"\n"
    )
}

const KNOWN: &str = "rate = \"8Mbit/s\", round-trip = \"500ms\"";

/// G01-W-5: of four downloads over one link, two go on over 256 kbit/s and two over 10 Mbit/s. The
/// slow ones leave their turns to the others, once the gateway behind the link holds for them what it has
/// promised.
#[test]
fn who_has_a_faster_way_on_gets_a_larger_share() {
    let ends = [("a", "256kbit/s"), ("b", "256kbit/s"), ("c", "10Mbit/s"), ("d", "10Mbit/s")];
    let mut clients = String::new();
    for (name, rate) in ends {
        clients += &format!(
            "[host.{name}]\ntcp = \"linux\"\n\
             [link.to-{name}]\nbetween = [\"r\", \"{name}\"]\nrate = \"{rate}\"\ndelay = \"1ms\"\n\
             queue = \"64KB\"\n\
             [flow.{name}]\nfrom = \"server\"\nto = \"{name}\"\nbytes = \"1GB\"\nopened-by = \"to\"\n"
        );
    }
    let rates = |boxes: &str, seconds: u32| {
        let text = format!(
            "[run]\nduration = \"{seconds}s\"\n[host.server]\ntcp = \"linux\"\n[router.r]\n\
             [link.far]\nbetween = [\"g2\", \"r\"]\nprofile = \"ethernet-100\"\n{boxes}{clients}"
        );
        let flows = outcome(&text).flows;
        flows.iter().map(|flow| flow.tally.delivered as f64 * 8e-6).collect::<Vec<f64>>()
    };
    let between = |boxes: &str, from: u32, to: u32| -> Vec<f64> {
        let (before, after) = (rates(boxes, from), rates(boxes, to));
        after.iter().zip(before).map(|(a, b)| (a - b) / f64::from(to - from)).collect()
    };
    let split = between(&between_gateways(KNOWN), 10, 20);
    let routers = between_gateways(KNOWN)
        .replace("gateway.", "router.")
        .replace("lan = \"near\"\n", "")
        .replace("lan = \"far\"\n", "")
        .replace(&format!("satellite-leg = {{ {KNOWN} }}\n"), "");
    let plain = between(&routers, 10, 20);
    println!("Mbit/s from 10 s to 20 s, by client: split {split:.2?}, end to end {plain:.2?}");
    let payload = 1448.0 / 1500.0;
    assert!(split[..2].iter().all(|rate| (0.9..1.0).contains(&(rate / 0.256 / payload))));
    // At least what is left of the link: for the slow ones there is something at hand.
    let share = (8.0 - 2.0 * 0.256) / 2.0 * payload;
    assert!(split[2..].iter().all(|rate| *rate > 0.95 * share), "{share}");
    let uneven = |rates: &[f64]| (rates[2] / rates[3]).ln().abs();
    assert!(uneven(&split) < 0.02 && uneven(&split) < uneven(&plain));
}

/// G01-W-10: a gateway that knows its link begins with the window that fills it, and is as fast as
/// or faster than with any fixed one.
#[test]
fn the_window_of_a_known_link_is_the_best_one_to_begin_with() {
    for bytes in ["10KB", "100KB", "1MB"] {
        let took = |leg: &str| {
            let boxes = between_gateways(leg);
            let text = format!(
                "[run]\nduration = \"120s\"\nuntil = \"flows-done\"\n[host.server]\ntcp = \"linux\"\n\
                 [host.client]\ntcp = \"linux\"\n{boxes}\
                 [link.far]\nbetween = [\"g2\", \"client\"]\nprofile = \"ethernet-100\"\n\
                 [flow.download]\nfrom = \"server\"\nto = \"client\"\nbytes = \"{bytes}\"\n\
                 opened-by = \"to\"\n"
            );
            outcome(&text).run.end.as_secs_f64()
        };
        let fixed =
            [1, 4, 16].map(|window| took(&format!("tcp = \"gateway-satellite,iw={window}\"")));
        let known = took(KNOWN);
        println!("{bytes}: initial windows of 1, 4 and 16 {fixed:.2?} s, of the link {known:.2} s");
        assert!(fixed.iter().all(|fixed| known < fixed + 0.01), "{known}, {fixed:?}");
    }
}
