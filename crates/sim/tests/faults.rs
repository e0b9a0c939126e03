//! What breaks, and what becomes of the flows.

use crate::support::{main_flow, outcome};
use bentpipe_core::time::Instant;
use bentpipe_results::RunResults;
use std::time::Duration;

/// A long way round, `far`, beside a satellite link; `middle` is a router or a gateway.
const NETWORK: &str = r#"
[run]
duration = "3000s"
until = "flows-done"
[host.server]
[host.client]
[router.hub]
[MIDDLE]
[link.lan]
between = ["server", "MID"]
rate = "100Mbit/s"
[link.sat]
between = ["MID", "hub"]
rate = "4Mbit/s"
delay = "100ms"
[link.far]
between = ["MID", "hub"]
rate = "4Mbit/s"
delay = "300ms"
cost = 5
[link.last]
between = ["hub", "client"]
rate = "100Mbit/s"
[flow.main]
from = "server"
to = "client"
bytes = "5MB"
"#;

fn network(middle: &str, more: &str) -> String {
    let (kind, keys) = match middle {
        "gateway" => ("gateway.g", "lan-links = \"lan\"\nlimits.memory = \"4MiB\""),
        _ => ("router.g", ""),
    };
    let text = NETWORK.replace("[MIDDLE]", &format!("[{kind}]\n{keys}")).replace("MID", "g");
    format!("{text}{more}")
}

#[test]
fn a_download_survives_an_outage_of_its_link() {
    let fault =
        "[fault.rain]\nkind = \"link-down\"\nlink = \"sat\"\nat = \"5s\"\nlasting = \"8s\"\n";
    for middle in ["router", "gateway"] {
        let (plain, hit) = (outcome(&network(middle, "")), outcome(&network(middle, fault)));
        assert_eq!(main_flow(&hit).counts.delivered, 5_000_000);
        let late = hit.run.end.saturating_sub(plain.run.end);
        // The retransmission timer has backed off: at most twice the outage is lost.
        let range = Duration::from_secs(7)..Duration::from_secs(20);
        assert!(range.contains(&late), "{middle}: {late:?}");
        assert!(hit.run.lost > 0 && plain.run.lost == 0);
    }
}

#[test]
fn routes_change_to_a_longer_path_and_back() {
    let fault = "[fault.turn]\nkind = \"route-change\"\nlink = \"sat\"\nat = \"4s\"\nlasting = \"5s\"\n\
                 [record]\nlink = [\"throughput\"]\ninterval = \"1s\"\n";
    let outcome = outcome(&network("router", fault));
    assert_eq!(main_flow(&outcome).counts.delivered, 5_000_000);
    let rate = |element: &str, second: u64| {
        let at = Instant::from_millis(1000 * second);
        let found = outcome.series.iter().find(|s| &*s.element == element && s.at == at);
        found.unwrap().value
    };
    assert!(rate("sat/forward", 4) > 1e6 && rate("far/forward", 4) == 0.0);
    assert!(rate("far/forward", 7) > 5e4 && rate("sat/forward", 7) == 0.0);
    assert!(rate("sat/forward", 11) > 1e5 && rate("far/forward", 11) == 0.0);
}

#[test]
fn a_route_may_cost_more_and_be_kept() {
    let fault = |cost: &str| {
        format!(
            "[fault.turn]\nkind = \"route-change\"\nlink = \"sat\"\nat = \"4s\"\ncost = {cost}\n"
        )
    };
    let through = |cost: &str| {
        let outcome = outcome(&network("router", &fault(cost)));
        outcome.links.iter().find(|l| l.name == "far").unwrap().counters.offered.packets
    };
    assert_eq!(through("4"), 0);
    assert!(through("6") > 1000);
}

/// G01-D-22: bytes that were acknowledged are gone with the gateway, and the hosts know.
#[test]
fn a_crash_breaks_split_flows_off_and_never_ends_them_cleanly_with_bytes_missing() {
    for lasting in ["", "lasting = \"3s\"\n"] {
        let fault = format!(
            "[fault.crash]\nkind = \"gateway-crash\"\ngateway = \"g\"\nat = \"5s\"\n{lasting}\
             [record]\ngateway = [\"memory\"]\ninterval = \"1s\"\n"
        );
        let outcome = outcome(&network("gateway", &fault));
        let flow = main_flow(&outcome);
        // The gateway held bytes that it had acknowledged: no one has them any more.
        let held = outcome.series.iter().filter(|s| s.at <= Instant::from_millis(4000));
        assert!(held.map(|s| s.value).fold(0.0, f64::max) > 100_000.0);
        assert_eq!(flow.completed, 0, "{flow:?}");
        assert!(flow.counts.delivered < 5_000_000);
        assert!(flow.finished.is_some(), "somebody has given up: {flow:?}");
        // What its first life counted is not forgotten, and its buffers are empty since.
        let gateway = &outcome.gateways[0];
        assert!(gateway.split >= Some(1) && gateway.max_held > Some(100_000), "{gateway:?}");
        let (mean, most) = (gateway.mean_held.unwrap(), gateway.max_held.unwrap());
        assert!(mean < most as f64 / 2.0, "{gateway:?}");
    }
}

#[test]
fn a_crash_that_takes_nothing_with_it_is_survived() {
    // The gateway crashes before the flow begins, and the flow goes through unsplit.
    let fault = "[fault.crash]\nkind = \"gateway-crash\"\ngateway = \"g\"\nat = \"1s\"\n";
    let text =
        network("gateway", fault).replace("bytes = \"5MB\"", "bytes = \"5MB\"\nstart = \"2s\"");
    let outcome = outcome(&text);
    assert_eq!(
        (main_flow(&outcome).counts.delivered, main_flow(&outcome).completed),
        (5_000_000, 1)
    );
}

/// Two pairs of gateways between routers that spread flows over them.
fn side_by_side(ecmp: &str, more: &str) -> RunResults {
    let pair = |n: u32| {
        format!(
            "[gateway.near{n}]\nlan-links = \"in{n}\"\n[gateway.far{n}]\nlan-links = \"out{n}\"\n\
             [link.in{n}]\nbetween = [\"r1\", \"near{n}\"]\nprofile = \"lan\"\n\
             [link.sat{n}]\nbetween = [\"near{n}\", \"far{n}\"]\nrate = \"4Mbit/s\"\ndelay = \"250ms\"\n\
             [link.out{n}]\nbetween = [\"far{n}\", \"r2\"]\nprofile = \"lan\"\n"
        )
    };
    outcome(&format!(
        "[run]\nduration = \"3000s\"\nuntil = \"flows-done\"\n[host.a]\n[host.b]\n\
         [router.r1]\n{ecmp}[router.r2]\n{ecmp}\
         [link.a]\nbetween = [\"a\", \"r1\"]\nprofile = \"lan\"\n\
         [link.b]\nbetween = [\"b\", \"r2\"]\nprofile = \"lan\"\n{}{}\
         [flow.main]\nfrom = \"a\"\nto = \"b\"\nbytes = \"200KB\"\ncount = 20\nstart = {{ uniform = [\"0s\", \"8s\"] }}\n{more}",
        pair(1),
        pair(2)
    ))
}

#[test]
fn routers_spread_flows_over_equal_ways_and_move_them_when_one_is_lost() {
    let split = |outcome: &RunResults| -> Vec<u64> {
        outcome.gateways.iter().filter_map(|gateway| gateway.split).collect()
    };
    let whole = |outcome: &RunResults| outcome.flows.iter().map(|flow| flow.completed).sum::<u64>();
    let first = side_by_side("", "");
    assert_eq!((split(&first), whole(&first)), (vec![20, 20, 0, 0], 20), "the earlier links");
    let even = side_by_side("ecmp = \"symmetric\"\n", "");
    let shares = split(&even);
    assert_eq!((shares[0], shares[2]), (shares[1], shares[3]), "one pair each");
    assert_eq!((shares[0] + shares[2], whole(&even)), (20, 20));
    assert!(shares[0] >= 4 && shares[2] >= 4, "{shares:?}");
    let apart = side_by_side("ecmp = \"directed\"\n", "");
    assert_eq!(whole(&apart), 20);
    assert!((1..20).contains(&(split(&apart)[0] + split(&apart)[2])), "{:?}", split(&apart));
    // From then on all open through the other pair.
    let lost = "[fault.lost]\nkind = \"route-change\"\nlink = \"sat1\"\nat = \"4s\"\n";
    let lost = split(&side_by_side("ecmp = \"symmetric\"\n", lost));
    assert!(0 < lost[0] && lost[0] < shares[0] && lost[2] > shares[2], "{lost:?}, {shares:?}");
}
