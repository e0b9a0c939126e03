//! Many transfers that ask for as much as a link carries of which the gateways were told nothing.

use crate::support::{brief, link, outcome};
use bentpipe_results::{Completions, RunResults};

/// A link that is asked for all that it carries, for a minute and a half, by transfers of 100 KB on
/// the mean.
fn overloaded(split: bool) -> RunResults {
    outcome(&format!(
        "[run]\nduration = \"90s\"\nwarm-up = \"30s\"\n\
         [host.server]\ntcp = \"linux\"\n[host.client]\ntcp = \"linux\"\n\
         [gateway.g1]\nlan-links = \"server-side\"\nsplit = {split}\n\
         [gateway.g2]\nlan-links = \"client-side\"\nsplit = {split}\n\
         [link.server-side]\nbetween = [\"server\", \"g1\"]\nprofile = \"lan\"\n\
         [link.sat]\nbetween = [\"g1\", \"g2\"]\nrate = \"20Mbit/s\"\ndelay = \"300ms\"\nqueue = \"250KB\"\n\
         [link.client-side]\nbetween = [\"client\", \"g2\"]\nprofile = \"lan\"\n\
         [flow.main]\nfrom = \"server\"\nto = \"client\"\nworkload = \"poisson\"\nload = \"100%\"\nof = \"sat\"\n\
         size = {{ pareto = \"100KB\", shape = 1.5, max = \"1MB\" }}\nbackground = false\n"
    ))
}

fn drop_share(outcome: &RunResults, name: &str, from: &str) -> f64 {
    let counters = &link(outcome, name, from).counters;
    counters.dropped.packets as f64 / counters.offered.packets as f64
}

fn completions(outcome: &RunResults, flow: &str) -> Completions {
    let flow = outcome.flows.iter().find(|row| row.name == flow).expect("a flow of that name");
    flow.completions.expect("its times are kept")
}

/// No flow lives long enough to find its share, and each takes some losses for the link's own. All
/// together find the link's rate, and take turns at that.
#[test]
fn short_transfers_lose_less_than_without_gateways() {
    let [alone, split] = [false, true].map(overloaded);
    let shares = [&alone, &split].map(|outcome| drop_share(outcome, "sat", "g1"));
    let medians = [&alone, &split].map(|outcome| completions(outcome, "main").median);
    let slowest = [&alone, &split].map(|outcome| completions(outcome, "main").p95);
    println!(
        "dropped {shares:?}, medians {medians:?}, p95 {slowest:?}\n{}\n{}",
        brief(&alone),
        brief(&split)
    );
    assert!(shares[0] > 0.1 && shares[1] < 0.02, "{shares:?}");
    assert!(medians[1] < medians[0], "{medians:?}");
    assert!(slowest[1] < slowest[0], "{slowest:?}");
    let carried = link(&split, "sat", "g1").counters.delivered.bytes as f64;
    assert!(carried > 0.97 * 20e6 / 8.0 * 60.0, "{carried}");
}

/// One hub, two remotes with links of their own, one of which is asked for twice as much as it
/// carries.
fn hub(with_overloaded: bool, iw: &str) -> RunResults {
    let overload = match with_overloaded {
        true => {
            "[flow.overload]\nfrom = \"server\"\nto = \"a\"\nworkload = \"poisson\"\nload = \"200%\"\nof = \"narrow\"\n\
             size = { pareto = \"100KB\", shape = 1.5, max = \"1MB\" }\nbackground = false\n"
        }
        false => "",
    };
    outcome(&format!(
        "[run]\nduration = \"90s\"\nwarm-up = \"30s\"\n\
         [host.server]\ntcp = \"linux\"\n[host.a]\ntcp = \"linux\"\n[host.b]\ntcp = \"linux\"\n\
         [gateway.hub]\nlan-links = \"server-side\"\nsatellite = {{ iw = \"{iw}\" }}\n[gateway.ga]\nlan-links = \"a-side\"\n\
         [gateway.gb]\nlan-links = \"b-side\"\n\
         [link.server-side]\nbetween = [\"server\", \"hub\"]\nprofile = \"lan\"\n\
         [link.narrow]\nbetween = [\"hub\", \"ga\"]\nrate = \"4Mbit/s\"\ndelay = \"250ms\"\nqueue = \"50KB\"\n\
         [link.wide]\nbetween = [\"hub\", \"gb\"]\nrate = \"20Mbit/s\"\ndelay = \"250ms\"\nqueue = \"1bdp\"\n\
         [link.a-side]\nbetween = [\"a\", \"ga\"]\nprofile = \"lan\"\n\
         [link.b-side]\nbetween = [\"b\", \"gb\"]\nprofile = \"lan\"\n\
         [flow.main]\nfrom = \"server\"\nto = \"b\"\nworkload = \"poisson\"\nload = \"60%\"\nof = \"wide\"\n\
         size = {{ pareto = \"500KB\", shape = 1.5, max = \"2MB\" }}\nbackground = false\n{overload}"
    ))
}

/// What is found of all together is of no use where they do not share a link. (What flows begin
/// with beyond ten segments is shared: beside others who begin all the time, a flow has ten.)
#[test]
fn an_overloaded_remote_does_not_hold_up_another_one() {
    let [alone, beside] = [false, true].map(|overloaded| hub(overloaded, "10"));
    let by_round_trip = hub(true, "by-round-trip");
    let median = |outcome| completions(outcome, "main").median;
    let medians = [&alone, &beside, &by_round_trip].map(median);
    println!("median {medians:?}\n{}\n{}", brief(&alone), brief(&beside));
    assert!(drop_share(&beside, "narrow", "hub") > 0.05, "it is overloaded");
    assert!(medians[1] < medians[0].mul_f64(1.1), "{medians:?}");
    assert!(medians[2] < medians[0].mul_f64(1.02), "{medians:?}");
}
