//! A hub whose remotes have links of their own that nobody has described.

use crate::support::{brief, outcome};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_results::{RunResults, Sample, fairness};
use std::ops::Range;

/// Four downloads from a server behind the hub to a host behind each remote, over 2 Mbit/s and
/// 20 Mbit/s, half a second there and back, with queues that hold seconds.
fn hub(rest: &str) -> RunResults {
    outcome(&format!(
        "[run]\nduration = \"40s\"\n\
         [record]\ninterval = \"10ms\"\nlink = [\"queue\", \"throughput\"]\nlinks = [\"narrow\", \"wide\"]\n\
         [host.server]\ntcp = \"linux\"\n[host.a]\ntcp = \"linux\"\n[host.b]\ntcp = \"linux\"\n\
         [gateway.hub]\nlan-links = \"server-side\"\nsatellite.found-by = \"all-flows\"\n[gateway.ga]\nlan-links = \"a-side\"\nsatellite.found-by = \"all-flows\"\n\
         [gateway.gb]\nlan-links = \"b-side\"\nsatellite.found-by = \"all-flows\"\n\
         [link.server-side]\nbetween = [\"server\", \"hub\"]\nprofile = \"lan\"\n\
         [link.narrow]\nbetween = [\"hub\", \"ga\"]\nrate = \"2Mbit/s\"\ndelay = \"250ms\"\nqueue = \"2000packets\"\n\
         [link.wide]\nbetween = [\"hub\", \"gb\"]\nrate = \"20Mbit/s\"\ndelay = \"250ms\"\nqueue = \"20000packets\"\n\
         [link.a-side]\nbetween = [\"a\", \"ga\"]\nprofile = \"lan\"\n\
         [link.b-side]\nbetween = [\"b\", \"gb\"]\nprofile = \"lan\"\n\
         [flow.a]\nfrom = \"server\"\nto = \"a\"\nopened-by = \"to\"\ncount = 4\n\
         [flow.b]\nfrom = \"server\"\nto = \"b\"\nopened-by = \"to\"\ncount = 4\n{rest}"
    ))
}

/// The remotes' links, with their rates in Mbit/s.
const LINKS: [(&str, f64); 2] = [("narrow", 2.0), ("wide", 20.0)];

/// What was sampled of a link at the hub, in these seconds.
fn samples(outcome: &RunResults, link: &str, quantity: &str, seconds: Range<u64>) -> Vec<f64> {
    let element = format!("{link}/forward");
    let [from, to] =
        [seconds.start, seconds.end].map(|second| Instant::ZERO + Duration::from_secs(second));
    let of = |sample: &&Sample| *sample.element == *element && sample.quantity == quantity;
    let samples = outcome.series.iter().filter(of);
    samples.filter(|it| (from..to).contains(&it.at)).map(|it| it.value).collect()
}

/// The share of a link's rate that was carried in these seconds.
fn carried(outcome: &RunResults, (link, megabits): (&str, f64), seconds: Range<u64>) -> f64 {
    let rates = samples(outcome, link, "throughput", seconds);
    rates.iter().sum::<f64>() / rates.len() as f64 / megabits / 1e6
}

/// How long packets wait for a link in these seconds, at the 95th percentile, in milliseconds.
fn waiting(outcome: &RunResults, (link, megabits): (&str, f64), seconds: Range<u64>) -> f64 {
    let mut bytes = samples(outcome, link, "queue-bytes", seconds);
    bytes.sort_by(f64::total_cmp);
    bytes[bytes.len() * 95 / 100] * 8e-3 / megabits
}

#[test]
fn each_remotes_link_is_found_by_its_own_flows() {
    let outcome = hub("");
    for link in LINKS {
        let [carried, waiting] = [carried(&outcome, link, 5..40), waiting(&outcome, link, 10..40)];
        println!("{}: {carried:.3} carried, {waiting:.1} ms", link.0);
        assert!(carried >= 0.95 && waiting <= 100.0, "{}", brief(&outcome));
    }
}

/// It has another identity: what is begun then finds the link again. Connections from before go on
/// without it, as those of another remote on the same link: both keep a queue, and drain the link
/// now and then. The other link does not hear of it.
#[test]
fn a_remote_that_boots_again_goes_on() {
    let outcome = hub(
        "[fault.crash]\nkind = \"gateway-crash\"\ngateway = \"ga\"\nat = \"12s\"\nlasting = \"1s\"\n\
         [flow.late]\nfrom = \"server\"\nto = \"a\"\nopened-by = \"to\"\ncount = 4\nstart = \"15s\"\n",
    );
    for ((link, from), longest) in LINKS.into_iter().zip([25, 10]).zip([600.0, 60.0]) {
        let waiting = waiting(&outcome, link, from..40);
        let carried = carried(&outcome, link, from..40);
        println!("{}: {carried:.3} carried, {waiting:.1} ms", link.0);
        assert!(carried >= 0.95 && waiting <= longest, "{}", brief(&outcome));
    }
}

/// Flows wait for a link that carries nothing, and for no other one.
#[test]
fn a_link_that_is_down_keeps_no_other_remote_waiting() {
    let outcome = hub(
        "[fault.rain]\nkind = \"link-down\"\nlink = \"narrow\"\nat = \"12s\"\nlasting = \"15s\"\n",
    );
    let [narrow, wide] = LINKS;
    let waiting = waiting(&outcome, wide, 10..40);
    let [again, meanwhile] = [carried(&outcome, narrow, 30..40), carried(&outcome, wide, 12..27)];
    println!("{meanwhile:.3} carried, {waiting:.1} ms; {again:.3} when it is up again");
    assert!(outcome.run.lost > 0 && again >= 0.95, "{}", brief(&outcome));
    assert!(meanwhile >= 0.95 && waiting <= 60.0, "{}", brief(&outcome));
}

/// Six pairs begin one after another. None knows of the others but that they are there.
#[test]
fn pairs_that_share_a_carrier_keep_its_queue_short_and_have_equal_shares() {
    let mut text = "[run]\nduration = \"70s\"\nwarm-up = \"40s\"\n\
         [record]\ninterval = \"10ms\"\nlink = [\"queue\", \"throughput\"]\nlinks = [\"carrier\"]\n\
         [router.hub]\n[router.r]\n[link.carrier]\nbetween = [\"hub\", \"r\"]\n\
         rate = \"20Mbit/s\"\ndelay = \"25ms\"\nqueue = \"1bdp\"\n"
        .to_owned();
    for n in 0..6 {
        text += &format!(
            "[host.s{n}]\ntcp = \"linux\"\n[host.c{n}]\ntcp = \"linux\"\n\
             [gateway.a{n}]\nlan-links = \"here{n}\"\nsatellite.shared-carrier = true\n\
             [gateway.b{n}]\nlan-links = \"there{n}\"\nsatellite.shared-carrier = true\n\
             [link.here{n}]\nbetween = [\"s{n}\", \"a{n}\"]\nprofile = \"lan\"\n\
             [link.up{n}]\nbetween = [\"a{n}\", \"hub\"]\nprofile = \"lan\"\n\
             [link.down{n}]\nbetween = [\"r\", \"b{n}\"]\nprofile = \"lan\"\n\
             [link.there{n}]\nbetween = [\"b{n}\", \"c{n}\"]\nprofile = \"lan\"\n\
             [flow.f{n}]\nfrom = \"s{n}\"\nto = \"c{n}\"\nopened-by = \"to\"\ncount = {}\nstart = \"{}s\"\n",
            1 + n % 3,
            3 * n
        );
    }
    let outcome = outcome(&text);
    let carrier = ("carrier", 20.0);
    let [carried, waiting] =
        [carried(&outcome, carrier, 40..70), waiting(&outcome, carrier, 40..70)];
    let shares = (0..6).map(|n| {
        let of_pair = outcome.flows.iter().filter(|flow| flow.name.starts_with(&format!("f{n}")));
        of_pair.map(|flow| flow.goodput).sum::<f64>()
    });
    let jain = fairness(&shares.collect::<Vec<_>>()).expect("six pairs");
    println!("{carried:.3} carried, {waiting:.1} ms, Jain's index {jain:.3}");
    assert!(carried >= 0.97 && waiting <= 20.0 && jain >= 0.97, "{}", brief(&outcome));
}

/// Of a hub and six remotes, with two flows to each.
#[test]
fn behind_one_carrier_the_flows_to_all_remotes_find_it_together() {
    let mut text = "[run]\nduration = \"40s\"\n\
         [record]\ninterval = \"10ms\"\nlink = [\"queue\", \"throughput\"]\nlinks = [\"carrier\"]\n\
         [host.server]\ntcp = \"linux\"\n[router.r]\n\
         [gateway.hub]\nlan-links = \"server-side\"\nsatellite.found-by = \"all-remotes\"\n\
         [link.server-side]\nbetween = [\"server\", \"hub\"]\nprofile = \"lan\"\n\
         [link.carrier]\nbetween = [\"hub\", \"r\"]\nrate = \"20Mbit/s\"\ndelay = \"250ms\"\nqueue = \"20000packets\"\n"
        .to_owned();
    for n in 0..6 {
        text += &format!(
            "[host.c{n}]\ntcp = \"linux\"\n\
             [gateway.g{n}]\nlan-links = \"lan{n}\"\nsatellite.found-by = \"all-flows\"\n\
             [link.lan{n}]\nbetween = [\"c{n}\", \"g{n}\"]\nprofile = \"lan\"\n\
             [link.r{n}]\nbetween = [\"r\", \"g{n}\"]\nprofile = \"lan\"\n\
             [flow.f{n}]\nfrom = \"server\"\nto = \"c{n}\"\nopened-by = \"to\"\ncount = 2\nstart = \"{n}s\"\n"
        );
    }
    let outcome = outcome(&text);
    let carrier = ("carrier", 20.0);
    let [carried, waiting] =
        [carried(&outcome, carrier, 15..40), waiting(&outcome, carrier, 15..40)];
    println!("{carried:.3} carried, {waiting:.1} ms");
    assert!(carried >= 0.95 && waiting <= 40.0, "{}", brief(&outcome));
}
