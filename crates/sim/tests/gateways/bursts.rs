//! Pairs that hand over super-segments, as deployed ones do, on links that nobody has described.

use crate::support::{brief, outcome};
use bentpipe_results::RunResults;

/// So many downloads between two gateways over 20 Mbit/s, by the shorter of two ways for ten
/// seconds and by the longer one for ten more, with a queue of so many packets.
fn downloads(count: usize, queue: u32) -> RunResults {
    let way =
        format!("between = [\"r1\", \"r2\"]\nrate = \"20Mbit/s\"\nqueue = \"{queue}packets\"\n");
    outcome(&format!(
        "[run]\nduration = \"60s\"\nwarm-up = \"2s\"\n\
         [host.server]\ntcp = \"linux\"\n[host.client]\ntcp = \"linux\"\n[router.r1]\n[router.r2]\n\
         [gateway.g1]\nlan-links = \"a\"\nsuper-segments = true\nsatellite.found-by = \"all-flows\"\n\
         [gateway.g2]\nlan-links = \"b\"\nsuper-segments = true\nsatellite.found-by = \"all-flows\"\n\
         [link.a]\nbetween = [\"server\", \"g1\"]\nprofile = \"lan\"\n\
         [link.near]\nbetween = [\"g1\", \"r1\"]\nprofile = \"lan\"\n\
         [link.short]\n{way}delay = \"12ms\"\n[link.long]\n{way}delay = \"30ms\"\ncost = 2\n\
         [link.far]\nbetween = [\"r2\", \"g2\"]\nprofile = \"lan\"\n\
         [link.b]\nbetween = [\"g2\", \"client\"]\nprofile = \"lan\"\n\
         [fault.first]\nkind = \"route-change\"\nlink = \"short\"\nat = \"10s\"\nlasting = \"10s\"\n\
         [fault.second]\nkind = \"route-change\"\nlink = \"short\"\nat = \"30s\"\nlasting = \"10s\"\n\
         [fault.third]\nkind = \"route-change\"\nlink = \"short\"\nat = \"50s\"\n\
         [flow.main]\nfrom = \"server\"\nto = \"client\"\nopened-by = \"to\"\ncount = {count}\n"
    ))
}

fn goodput(outcome: &RunResults) -> f64 {
    outcome.flows.iter().map(|flow| flow.goodput).sum::<f64>() / (20e6 * 1448.0 / 1500.0)
}

#[test]
fn a_path_that_becomes_longer_is_told_from_a_queue() {
    for count in [1, 4] {
        let outcome = downloads(count, 2_000);
        let goodput = goodput(&outcome);
        println!("{count} flows: {goodput:.3}");
        assert!(goodput >= 0.93, "{}", brief(&outcome));
    }
}

/// A burst of 64 KB would be more than twice as long as the queue.
#[test]
fn a_queue_of_twenty_packets_has_room_for_what_leaves_at_once() {
    for count in [1, 4] {
        let outcome = downloads(count, 20);
        let dropped = outcome.links.iter().map(|link| link.counters.dropped.packets).sum::<u64>();
        let goodput = goodput(&outcome);
        println!("{count} flows: {goodput:.3}, {dropped} dropped");
        assert!(goodput >= 0.9, "{}", brief(&outcome));
    }
}

/// Next to BBR on a short path. Two segments at once lose a third of what they are, and the pair
/// has 1.5 Mbit/s of 8.
#[test]
fn next_to_a_rival_who_keeps_the_queue_full_a_pair_has_a_share() {
    let share = |start: &str| {
        let outcome = outcome(&format!(
            "[run]\nduration = \"180s\"\n\
             [host.server]\ntcp = \"linux\"\n[host.client]\ntcp = \"linux\"\n\
             [host.rival]\ntcp = \"linux,congestion=bbr1\"\n[host.his]\ntcp = \"linux\"\n\
             [router.r1]\n[router.r2]\n\
             [gateway.g1]\nlan-links = \"a\"\nsuper-segments = true\n\
             [gateway.g2]\nlan-links = \"b\"\nsuper-segments = true\n\
             [link.a]\nbetween = [\"server\", \"g1\"]\nprofile = \"lan\"\n\
             [link.near]\nbetween = [\"g1\", \"r1\"]\nprofile = \"lan\"\n\
             [link.his-near]\nbetween = [\"rival\", \"r1\"]\nprofile = \"lan\"\n\
             [link.sat]\nbetween = [\"r1\", \"r2\"]\nrate = \"8Mbit/s\"\ndelay = \"25ms\"\nqueue = \"1bdp\"\n\
             [link.far]\nbetween = [\"r2\", \"g2\"]\nprofile = \"lan\"\n\
             [link.his-far]\nbetween = [\"r2\", \"his\"]\nprofile = \"lan\"\n\
             [link.b]\nbetween = [\"g2\", \"client\"]\nprofile = \"lan\"\n\
             [flow.main]\nfrom = \"server\"\nto = \"client\"\nopened-by = \"to\"\n\
             [flow.rival]\nfrom = \"rival\"\nto = \"his\"\nopened-by = \"to\"\nstart = \"{start}\"\n"
        ));
        outcome.flows[0].goodput / 8e6
    };
    let shares = ["5s", "6.3s", "7.7s", "9.1s"].map(share);
    println!("{shares:?}");
    assert!(shares.iter().sum::<f64>() > 4.0 * 0.25, "{shares:?}");
}
