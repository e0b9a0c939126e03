//! What the papers leave to others, answered where the gateways' turns on a link that is known do
//! it.

use crate::support::outcome;

/// Half a second over 8 Mbit/s between two gateways, with what their satellite legs are told.
fn between_gateways(leg: &str) -> String {
    format!(
        "[gateway.g1]\nlan-links = \"near\"\nsatellite = {{ {leg} }}\n\
         [gateway.g2]\nlan-links = \"far\"\nsatellite = {{ {leg} }}\n\
         [link.near]\nbetween = [\"server\", \"g1\"]\nprofile = \"ethernet-100\"\n\
         [link.sat]\nbetween = [\"g1\", \"g2\"]\nprofile = \"geo\"\n"
    )
}

const KNOWN: &str = "rate = \"8Mbit/s\", round-trip = \"500ms\"";

/// G01-W-5: of four downloads over one link, two go on over 256 kbit/s and two over 10 Mbit/s. The
/// slow ones leave their turns to the others, once the gateway behind the link holds for them what
/// it has promised.
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
        flows.iter().map(|flow| flow.counts.delivered as f64 * 8e-6).collect::<Vec<f64>>()
    };
    let between = |boxes: &str, from: u32, to: u32| -> Vec<f64> {
        let (before, after) = (rates(boxes, from), rates(boxes, to));
        after.iter().zip(before).map(|(a, b)| (a - b) / f64::from(to - from)).collect()
    };
    // Before, what slow start has lost in the slow links' queues is made up for, and delivered in
    // jumps.
    let split = between(&between_gateways(KNOWN), 15, 25);
    let routers = between_gateways(KNOWN)
        .replace("gateway.", "router.")
        .replace("lan-links = \"near\"\n", "")
        .replace("lan-links = \"far\"\n", "")
        .replace(&format!("satellite = {{ {KNOWN} }}\n"), "");
    let plain = between(&routers, 15, 25);
    println!("Mbit/s from 15 s to 25 s, by client: split {split:.2?}, end to end {plain:.2?}");
    let payload = 1448.0 / 1500.0;
    // Theirs are of the whole time, as a recovery over 256 kbit/s takes seconds and ends in a jump.
    let slow: Vec<f64> =
        rates(&between_gateways(KNOWN), 100)[..2].iter().map(|sent| sent / 100.0).collect();
    println!("slow ones over 100 s: {slow:.4?}");
    assert!(slow.iter().all(|rate| (0.9..1.0).contains(&(rate / 0.256 / payload))));
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

/// Goodput in Mbit/s over `seconds` of flows called `a`, `b`, ..., their fairness, and the most
/// that the first gateway has held, in KB.
fn shares(text: &str, seconds: u32) -> (f64, f64, u64) {
    let outcome = outcome(&format!("[run]\nduration = \"{seconds}s\"\n{text}"));
    let rates: Vec<f64> = outcome.flows.iter().map(|flow| flow.counts.delivered as f64).collect();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    let fairness = rates.iter().sum::<f64>().powi(2) / squares / rates.len() as f64;
    let sum = rates.iter().sum::<f64>() * 8e-6 / f64::from(seconds);
    (sum, fairness, outcome.gateways[0].max_held.unwrap() / 1000)
}

/// Six transfers that begin a second apart, from the server or to it.
fn six(boxes: &str, to_client: bool) -> String {
    let mut text = format!(
        "[host.server]\ntcp = \"linux\"\n[host.client]\ntcp = \"linux\"\n{boxes}\
         [link.far]\nbetween = [\"g2\", \"client\"]\nprofile = \"ethernet-100\"\n"
    );
    let ends = if to_client { ["server", "client"] } else { ["client", "server"] };
    for (second, name) in ["a", "b", "c", "d", "e", "f"].into_iter().enumerate() {
        text += &format!(
            "[flow.{name}]\nfrom = \"{}\"\nto = \"{}\"\nbytes = \"1GB\"\nstart = \"{second}s\"\n",
            ends[0], ends[1]
        );
    }
    text
}

/// G99-W-1: how six downloads that begin a second apart share a link while their windows find it,
/// for starts of the satellite leg from careful to bold; and with a link that is known, on which
/// they take turns.
#[test]
fn a_bold_start_is_not_a_fair_one() {
    println!("satellite leg: Mbit/s, Jain's index, KB held at most, in 30 s");
    let of = |leg: &str| {
        let found = shares(&six(&between_gateways(leg), true), 30);
        println!("{leg}: {:.2}, {:.3}, {}", found.0, found.1, found.2);
        found
    };
    let starts = [
        "iw=1,congestion=standard",
        "iw=16,congestion=standard",
        "iw=16,congestion=standard,pacing=on",
        "iw=16,congestion=increase-by-k:k=4",
        "iw=16,congestion=hybla",
        "iw=10",
    ];
    let unknown = starts.map(|start| of(&format!("tcp = \"gateway-satellite,{start}\"")));
    let known = of(KNOWN);
    assert!(known.1 > 0.95, "{known:?}");
    for found in unknown {
        assert!(found.0 < known.0 && found.2 > 2 * known.2, "{found:?}");
    }
    // What is usual comes nearest: it does not take the link's losses for its own.
    let (papers, usual) = unknown.split_at(starts.len() - 1);
    assert!(papers.iter().all(|found| found.1 < 0.6), "{papers:?}");
    assert!(usual[0].1 > 0.6 && usual[0].1 < known.1, "{usual:?}");
}

/// G99-W-2: what the papers' two ways to manage a gateway's buffer, and back-pressure alone, make
/// of the same six downloads: memory differs, throughput and fairness do not.
#[test]
fn a_gateways_buffer_may_be_short() {
    let [off, single, early] = ["off", "single", "random-early"].map(|discard| {
        let lan = format!("lan-links = \"near\"\nlan = {{ discard = \"{discard}\" }}\n");
        let boxes = between_gateways(KNOWN).replace("lan-links = \"near\"\n", &lan);
        let found = shares(&six(&boxes, true), 60);
        println!("{discard}: {:.2} Mbit/s, Jain {:.3}, {} KB at most", found.0, found.1, found.2);
        found
    });
    for mode in [single, early] {
        assert!((mode.0 / off.0 - 1.0).abs() < 0.01 && mode.1 > 0.99, "{mode:?}, {off:?}");
    }
    assert!(2 * single.2 < off.2 && 4 * early.2 < 3 * off.2, "{single:?}, {early:?}, {off:?}");
}

/// Mbit/s of long downloads from one server whose Ethernet of 10 Mbit/s is all that they share:
/// `each` to a client near it, and as many by two gateways and a satellite; and the KB that the
/// first gateway held at most. The topology of bharadwaj-2001, figure 15.
fn near_and_far(each: u32, leg: &str) -> ([f64; 2], u64) {
    let flow = |name| {
        format!(
            "[host.{name}]\ntcp = \"linux\"\n[flow.{name}]\nfrom = \"server\"\nto = \"{name}\"\n\
             bytes = \"1GB\"\ncount = {each}\nstart = {{ uniform = [\"0s\", \"1s\"] }}\n"
        )
    };
    let text = format!(
        "[run]\nduration = \"60s\"\n[host.server]\ntcp = \"linux\"\n[router.r]\n\
         [link.ether]\nbetween = [\"server\", \"r\"]\nrate = \"10Mbit/s\"\ndelay = \"1ms\"\nqueue = \"64KB\"\n\
         [link.to-l]\nbetween = [\"r\", \"l\"]\nprofile = \"ethernet-100\"\n\
         [link.far]\nbetween = [\"g2\", \"h\"]\nprofile = \"ethernet-100\"\n{}{}{}",
        between_gateways(leg).replace("\"server\", \"g1\"", "\"r\", \"g1\""),
        flow("l"),
        flow("h"),
    );
    let outcome = outcome(&text);
    let sum = |name: &str| {
        let flows = outcome.flows.iter().filter(|flow| flow.name.starts_with(name));
        flows.map(|flow| flow.counts.delivered as f64 * 8e-6 / 60.0).sum()
    };
    ([sum("l"), sum("h")], outcome.gateways[0].max_held.unwrap() / 1000)
}

/// G01-W-11: increments by the round trip on the satellite leg change nothing here, as that leg
/// loses nothing; what the server's Ethernet loses, the terrestrial legs share out.
#[test]
fn increments_of_the_satellite_leg_do_not_matter_where_it_loses_nothing() {
    let controls = ["standard", "increase-by-k:k=4", "constant-rate"];
    let found = controls.map(|control| {
        let leg = format!("tcp = \"gateway-satellite,congestion={control},iw=1\"");
        near_and_far(4, &leg).0
    });
    println!("Mbit/s near and far, by control: {found:.2?}");
    assert!(found.iter().all(|rates| *rates == found[0]), "{found:?}");
}

/// G01-W-6: a gateway that acknowledges as a host does takes no more than a host from those who
/// share a terrestrial link with it; by default it acknowledges each segment, and takes more. In
/// its memory it holds what the satellite takes in either case.
#[test]
fn a_gateway_that_acknowledges_as_hosts_do_takes_no_more_than_they() {
    for each in [4, 8] {
        let of = |ack: &str| {
            let leg = format!("tcp = \"gateway-satellite,iw=1\" }}\nlan = {{ tcp = \"ack={ack}\"");
            near_and_far(each, &leg)
        };
        let (bold, like_a_host) = (of("per-segment"), of("delayed:40ms"));
        println!(
            "{each} and {each}: each segment acknowledged {bold:.2?}, delayed {like_a_host:.2?}"
        );
        let half = (like_a_host.0[0] + like_a_host.0[1]) / 2.0;
        assert!(half > 4.7, "the Ethernet is full: {half}");
        assert!(like_a_host.0.iter().all(|rate| *rate > 0.9 * half), "{like_a_host:?}");
        assert!(bold.0[0] < like_a_host.0[0]);
        // Two products of the satellite link are 1 MB.
        assert!(bold.1 < 1000 && like_a_host.1 < 1000);
    }
}
