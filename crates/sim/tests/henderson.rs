//! What Henderson's thesis, 4.1, says of Constant-Rate and Increase-by-K beyond its figures, in its
//! topology 2: six transfers of 10 to 600 ms on one bottleneck, with background (`concordance`).

use crate::support::{extended, parsed, timeouts};
use bentpipe_results::{FlowRow, RunResults};

/// The topology with other TCP settings, for so many seconds behind a warm-up of 50.
fn topology_2(tcp: &str, seconds: u32) -> String {
    let study: toml::Table = include_str!("concordance/topology-2.toml").parse().expect("a study");
    let text = study["scenario"].as_str().expect("a text");
    let first = text.lines().find(|line| line.starts_with("tcp = ")).expect("its TCP");
    text.replace(first, &format!("tcp = \"ns-1997,recovery=sack,mss=960,{tcp}\""))
        .replace("\"650s\"", &format!("\"{}s\"", 50 + seconds))
}

fn runs(text: &str, runs: u64) -> Vec<RunResults> {
    let scenario = parsed(text);
    (0..runs).map(|run| bentpipe_sim::run(&scenario, run, |_| true).expect("it runs")).collect()
}

/// The six transfers of all runs.
fn long(outcomes: &[RunResults]) -> impl Iterator<Item = &FlowRow> {
    outcomes.iter().flat_map(|outcome| &outcome.flows).filter(|flow| flow.name.starts_with('f'))
}

fn sum(outcomes: &[RunResults], of: fn(&FlowRow) -> u64) -> u64 {
    long(outcomes).map(of).sum()
}

/// Of the first run's transfer of 600 ms.
fn far(outcomes: &[RunResults]) -> &FlowRow {
    long(outcomes).find(|flow| flow.name == "f600").expect("a transfer of 600 ms")
}

/// 4.1.6: with a clock of 1 ms for all and no minimum, timeouts come before fast recovery is over.
/// With such a clock for Constant-Rate's increase alone and BSD's for the timer they do not, and
/// the increase still has the round-trip time that it needs.
#[test]
fn a_fine_clock_is_for_the_increase_and_not_for_the_timer() {
    let of = |clock: &str, control: &str| {
        let found = runs(&topology_2(&format!("{clock},congestion={control}"), 200), 2);
        let timeouts = sum(&found, |flow| timeouts(&flow.counts));
        let within = sum(&found, |flow| extended(&flow.counts).recovery_timeouts);
        let needless = sum(&found, |flow| extended(&flow.counts).needless_retransmissions);
        let fairness = found.iter().filter_map(|run| run.run.fairness).sum::<f64>() / 2.0;
        println!(
            "{control}, {clock}: {timeouts} timeouts, {within} of them in fast recovery, {needless} \
             needless retransmissions, Jain's index {fairness:.3}"
        );
        (within, needless, fairness)
    };
    let coarse = "rto.tick=500ms,rto.granularity=500ms";
    let apart = "rto.tick=500ms,rto.granularity=500ms,rtt-tick=1ms";
    let fine = "rto.tick=1ms,rto.granularity=1ms";
    let (plain_coarse, plain_fine) = (of(coarse, "standard"), of(fine, "standard"));
    assert!(2 * plain_fine.0 > 3 * plain_coarse.0 && plain_fine.1 > 5 * plain_coarse.1);
    let [coarse, apart, fine] = [coarse, apart, fine].map(|clock| of(clock, "constant-rate:c=36"));
    assert!(2 * fine.0 > 3 * apart.0 && fine.1 > 5 * apart.1, "{fine:?}, {apart:?}");
    // By 500 ms, a transfer of 10 ms takes itself for one of 500.
    assert!(apart.2 > 0.95 && fine.2 > 0.95 && coarse.2 < 0.85, "{coarse:?}, {apart:?}, {fine:?}");
}

/// 4.1.4: as c becomes larger, the bound of one segment an acknowledgment is in effect nearly all
/// of the time, and the unfairness is back.
#[test]
fn with_a_large_constant_the_bound_is_all_that_is_left_of_constant_rate() {
    let clock = "rto.tick=10ms,rto.granularity=10ms";
    let of = |control: &str| {
        let found = runs(&topology_2(&format!("{clock},congestion={control}"), 150), 1);
        let share = |flow: &FlowRow| extended(&flow.counts).bound_share();
        let shares: Vec<Option<f64>> = long(&found).map(share).collect();
        let fairness = found[0].run.fairness.expect("an index");
        println!("{control}: bound {shares:.3?}, Jain's index {fairness:.3}");
        (shares, fairness)
    };
    let (small, even) = of("constant-rate:c=4");
    let (large, uneven) = of("constant-rate:c=1600");
    assert!(small.iter().all(|share| *share == Some(0.0)), "{small:?}");
    assert!(large.iter().all(|share| *share > Some(0.8)), "{large:?}");
    assert!(large.last() > Some(&Some(0.99)) && uneven < even - 0.1);
    assert!(of("standard").0.iter().all(Option::is_none), "it has no such bound");
}

/// 4.1.7: Increase-by-K wherever the round-trip time is above a threshold does for the transfer of
/// 600 ms what choosing it by hand does (table 4.1), and nothing else.
#[test]
fn a_threshold_chooses_who_increases_by_k() {
    let clock = "rto.tick=10ms,rto.granularity=10ms";
    let plain = topology_2(clock, 200);
    let everywhere = |control: &str| topology_2(&format!("{clock},congestion={control}"), 200);
    let by_hand = plain.replace(
        "from = \"s600\", to",
        "tcp = { congestion = \"increase-by-k:k=4\" }, from = \"s600\", to",
    );
    assert_ne!(by_hand, plain);
    let texts = [
        plain,
        by_hand,
        everywhere("increase-by-k:k=4;above-rtt=500ms"),
        everywhere("increase-by-k:k=4"),
    ];
    let found = texts.map(|text| {
        let found = runs(&text, 1);
        let (goodput, fairness) = (far(&found).goodput / 1e3, found[0].run.fairness.unwrap_or(0.0));
        println!("600 ms: {goodput:.1} kbit/s, Jain's index {fairness:.3}");
        let others = long(&found).filter(|flow| flow.name != "f600");
        let bold = others.filter(|flow| extended(&flow.counts).bound_share().is_some()).count();
        (goodput, fairness, bold)
    });
    let [none, by_hand, by_rtt, all] = found;
    // To the byte: nobody else's increase is another one.
    assert_eq!(by_rtt, by_hand);
    assert!(by_rtt.0 > 1.3 * none.0 && by_rtt.1 > none.1, "{by_rtt:?}, {none:?}");
    assert_eq!((none.2, by_rtt.2, all.2), (0, 0, 5));
    assert!(by_rtt.0 > 1.2 * all.0, "where all do so nothing is won: {all:?}");
}

/// 4.1.6: four parallel transfers of 600 ms take twice what one with Increase-by-K does, and
/// fairness falls. Windows that are shared as they begin (RFC 9040) change that little: their long
/// lives decide.
#[test]
fn four_parallel_transfers_are_bolder_than_one_that_increases_by_four() {
    let plain = topology_2("rto.tick=10ms,rto.granularity=10ms", 200);
    let with = |what: &str| {
        let text = plain.replace("from = \"s600\", to", &format!("{what}, from = \"s600\", to"));
        assert_ne!(text, plain);
        text
    };
    let four = with("count = 4");
    let share = four.replace("s600 = {}", "s600 = { share = \"ensemble\" }");
    assert_ne!(share, four);
    let bold = with("tcp = { congestion = \"increase-by-k:k=4\" }");
    let found = [plain.clone(), bold, four, share].map(|text| {
        let found = runs(&text, 2);
        let far = long(&found).filter(|flow| flow.name.starts_with("f600"));
        let kbit = far.map(|flow| flow.goodput / 2e3).sum::<f64>();
        let fairness = found.iter().filter_map(|run| run.run.fairness).sum::<f64>() / 2.0;
        println!("600 ms: {kbit:.0} kbit/s together, Jain's index {fairness:.3}");
        (kbit, fairness)
    });
    let [one, bold, four, share] = found;
    assert!(bold.0 > 1.3 * one.0 && four.0 > 1.7 * bold.0, "{found:?}");
    assert!(four.1 < bold.1 - 0.1 && four.1 < one.1, "{found:?}");
    assert!((share.0 / four.0 - 1.0).abs() < 0.2, "{found:?}");
}

/// 4.1.2: utilisation counts original bits. With a tenth of all packets lost behind the bottleneck
/// and sent again, what arrives once is what was sent less what was retransmitted, and the flow has
/// that and no more.
#[test]
fn what_is_retransmitted_does_not_count_as_used() {
    let text = "tcp = \"ns-1997,recovery=sack,mss=960\"\n[run]\nduration = \"100s\"\n[host]\na = {}\nb = {}\n\
                [link.l]\nbetween = [\"a\", \"b\"]\nrate = \"1.5Mbit/s\"\ndelay = \"10ms\"\nloss = 0.1\n\
                back = { loss = 0 }\n[flow.main]\nfrom = \"a\"\nto = \"b\"\n";
    let found = &runs(text, 1)[0];
    let counts = found.flows[0].counts;
    assert!(10 * counts.retransmissions > counts.segments / 2, "{counts:?}");
    let original = (counts.segments - counts.retransmissions) * 960;
    // What is on its way at the end, or waits behind a hole, has not arrived.
    assert!(counts.delivered <= original && original - counts.delivered < 100 * 960, "{counts:?}");
    let delivered = found.flows[0].goodput * 100.0 / 8.0;
    assert!((delivered / counts.delivered as f64 - 1.0).abs() < 0.01);
}

/// 4.1.2: Jain's index is one for equal shares, 1/n if one of n has all, and does not depend on the
/// unit.
#[test]
fn jains_index_runs_from_one_nth_to_one() {
    use bentpipe_results::fairness;
    assert_eq!(fairness(&[3.0; 6]), Some(1.0));
    assert_eq!(fairness(&[0.0, 0.0, 5.0, 0.0]), Some(0.25));
    assert_eq!(fairness(&[1.0, 2.0]), fairness(&[1e6, 2e6]));
    assert_eq!(fairness(&[0.0, 0.0]), None);
}
