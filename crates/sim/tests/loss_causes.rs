//! Losses whose cause is inferred (`congestion=tolerant-cubic` at a host) or told
//! (`loss-notification` of a link): what is taken for corruption that was congestion, and the
//! reverse. An answer is given to an episode of recovery: a smaller window, or none.

use crate::support::{brief, extended, outcome, timeouts};
use bentpipe_results::{ExtendedCounts, RunResults};

const SATELLITE: &str = r#"
tcp = "linux,congestion=CONGESTION,send-buffer=4MB,receive-buffer=BUFFER,receive-buffer-max=off,window-scale=7"
[run]
duration = "120s"
warm-up = "10s"
[host.server]
[host.client]
[router.edge]
[link.lan]
between = ["server", "edge"]
rate = "100Mbit/s"
delay = "1ms"
queue = "unlimited"
[link.sat]
between = ["edge", "client"]
rate = "8Mbit/s"
delay = "250ms"
queue = "160packets"
bit-errors = ERRORS
loss-notification = TOLD
back = { bit-errors = 0, loss-notification = false }
[flow.main]
from = "server"
to = "client"
count = FLOWS
"#;

/// What a run has counted.
fn seen(congestion: &str, buffer: &str, errors: &str, flows: u32, told: bool) -> RunResults {
    let text = SATELLITE.replace("CONGESTION", congestion).replace("BUFFER", buffer);
    let text = text.replace("ERRORS", errors).replace("TOLD", &told.to_string());
    let outcome = outcome(&text.replace("FLOWS", &flows.to_string()));
    let run = &outcome.run;
    println!(
        "{congestion}, {flows} flows, bit errors {errors}, told {told}: {} lost, {} dropped, {} episodes, {} reductions, {} timeouts, {:.0} kbit/s, {:?}",
        run.lost,
        run.dropped,
        run.counts.recoveries,
        extended(&run.counts).reductions,
        timeouts(&run.counts),
        run.goodput / 1e3,
        extended(&run.counts).causes
    );
    outcome
}

/// B-W-5, B-W-2.
#[test]
fn losses_at_a_bit_error_rate_of_a_millionth_are_told_from_congestion() {
    // The peer's window is what the link holds: nothing but the link loses anything.
    let [believing, inferring] =
        ["standard", "tolerant-cubic"].map(|control| seen(control, "480KB", "1e-6", 1, false));
    for outcome in [&believing, &inferring] {
        assert!(outcome.run.dropped == 0 && outcome.run.lost > 20, "{}", brief(outcome));
        assert_eq!(extended(&outcome.run.counts).causes.congestion, 0, "{}", brief(outcome));
    }
    let causes = extended(&believing.run.counts).causes;
    assert!(causes.corruption > 10 && causes.corruption_answered == causes.corruption);
    let causes = extended(&inferring.run.counts).causes;
    let taken_for_congestion = causes.corruption_answered as f64 / causes.corruption as f64;
    println!("corruption taken for congestion: {taken_for_congestion:.3} of the episodes");
    assert!(causes.corruption > 20 && taken_for_congestion < 0.05, "{taken_for_congestion}");
    assert!(inferring.run.goodput > 3.0 * believing.run.goodput);
    // Nothing but the queue loses anything.
    for flows in [1, 4] {
        let congested = seen("tolerant-cubic", "4MB", "0", flows, false);
        let ExtendedCounts { causes, reductions, .. } = extended(&congested.run.counts);
        assert!(congested.run.lost == 0 && causes.corruption == 0 && causes.congestion > 0);
        assert!(reductions > 0, "its own reductions count: {}", brief(&congested));
        // Of few flows each notices the queue; of several that lose together, some have not
        // measured it yet.
        let missed = causes.congestion_unanswered as f64;
        assert!(missed <= 0.4 * causes.congestion as f64, "{}", brief(&congested));
    }
}

#[test]
fn a_window_hears_nothing_of_losses_that_are_told_to_be_corruption() {
    for control in ["standard", "cubic"] {
        let believing = seen(control, "480KB", "1e-6", 1, false);
        let told = seen(control, "480KB", "1e-6", 1, true);
        let causes = extended(&told.run.counts).causes;
        assert!(told.run.lost > 20 && causes.corruption > 20, "{}", brief(&told));
        // What a repair has held back leaves at once and may overrun the queue: that is answered.
        assert!(causes.congestion <= causes.corruption / 10, "{}", brief(&told));
        assert_eq!((causes.corruption_answered, causes.congestion_unanswered), (0, 0));
        assert!(told.run.goodput > 2.0 * believing.run.goodput, "{control}");
    }
}

#[test]
fn rfc_6675_answers_told_corruption_by_nothing_but_timeouts() {
    // It does not notice that a retransmission was lost: the timer does, and a timeout closes the
    // window.
    let [believing, told] =
        [false, true].map(|told| seen("standard,recovery=sack", "480KB", "1e-6", 1, told));
    let counts = &told.run.counts;
    let (causes, timeouts) = (extended(counts).causes, timeouts(counts));
    assert!(told.run.lost > 100 && causes.corruption > 60, "{}", brief(&told));
    assert!(causes.congestion <= causes.corruption / 10, "{}", brief(&told));
    assert!(causes.corruption_answered <= timeouts && timeouts < 5, "{}", brief(&told));
    assert_eq!(causes.congestion_unanswered, 0);
    assert!(told.run.goodput > 4.0 * believing.run.goodput, "{}", brief(&believing));
}

#[test]
fn a_full_queue_is_answered_whatever_the_link_tells() {
    let congested = seen("standard", "4MB", "0", 4, true);
    let causes = extended(&congested.run.counts).causes;
    assert!(congested.run.lost == 0 && causes.corruption == 0 && causes.congestion > 0);
    assert_eq!(causes.congestion_unanswered, 0, "{}", brief(&congested));
    // Both at once: each is answered as it should be, and the link is full.
    let both = seen("standard", "4MB", "1e-6", 4, true);
    let causes = extended(&both.run.counts).causes;
    assert!(both.run.lost > 20 && both.run.dropped > 0, "{}", brief(&both));
    assert!(causes.corruption > 20 && causes.congestion > 0, "{}", brief(&both));
    assert_eq!((causes.corruption_answered, causes.congestion_unanswered), (0, 0));
}
