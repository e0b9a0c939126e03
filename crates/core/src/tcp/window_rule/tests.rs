//! Each rule, by what it leaves behind.

use super::*;
use crate::tcp::observation::{Signs, TimersAt};
use crate::time::Duration;
use crate::units::{Bytes, Offset};
use std::collections::BTreeSet;

/// Ten segments of 1000 bytes are outstanding.
fn observation() -> Observation {
    Observation {
        limiter: None,
        phase: Phase::Open,
        cwnd: Bytes::new(10_000),
        ssthresh: None,
        in_flight: Bytes::new(10_000),
        snd_una: Offset::new(1),
        snd_nxt: Offset::new(10_001),
        window_edge: Offset::new(100_001),
        written: Offset::new(50_001),
        delivered: Bytes::ZERO,
        lost: Bytes::ZERO,
        srtt: None,
        rttvar: Duration::ZERO,
        min_rtt: None,
        rto: Duration::from_secs(1),
        timers: TimersAt::default(),
        signs: Signs::default(),
        rcv_nxt: Offset::FIRST,
    }
}

/// By which rule the window becomes `cwnd`, if all else is as in `before` and `change` has been
/// made.
fn rule(
    before: Observation,
    cwnd: u64,
    change: impl FnOnce(&mut Observation),
) -> Option<WindowRule> {
    let mut after = Observation { cwnd: Bytes::new(cwnd), ..before };
    change(&mut after);
    WindowRule::between(&before, &after)
}

#[test]
fn an_acknowledgment_opens_the_window_below_and_above_the_threshold() {
    let before = observation();
    let acked = |after: &mut Observation| after.snd_una = Offset::new(1001);
    assert_eq!(rule(before, 10_000, acked), None, "it has not changed");
    assert_eq!(rule(before, 11_000, acked), Some(WindowRule::SlowStart));
    let before = Observation { ssthresh: Some(Bytes::new(10_000)), ..before };
    assert_eq!(rule(before, 10_100, acked), Some(WindowRule::CongestionAvoidance));
    assert_eq!(rule(before, 10_100, |_| ()), Some(WindowRule::Control), "nothing was acknowledged");
}

#[test]
fn what_is_counted_names_the_rule() {
    let before = observation();
    let counted = |count: fn(&mut Signs), phase| {
        rule(before, 5_000, |after| {
            count(&mut after.signs);
            after.signs.reductions += 1;
            after.phase = phase;
        })
    };
    let entered = Some(WindowRule::RecoveryEntered);
    assert_eq!(counted(|signs| signs.recoveries += 1, Phase::Recovery), entered);
    assert_eq!(counted(|signs| signs.timeouts += 1, Phase::Loss), Some(WindowRule::Timeout));
    assert_eq!(counted(|_| (), Phase::Open), Some(WindowRule::CongestionSign));
    assert_eq!(rule(before, 9_000, |after| after.signs.undone += 1), Some(WindowRule::Undo));
}

#[test]
fn recovery_changes_the_window_within_and_at_its_end() {
    let before = Observation { phase: Phase::Recovery, ..observation() };
    assert_eq!(rule(before, 9_000, |_| ()), Some(WindowRule::Recovery));
    let left = rule(before, 5_000, |after| after.phase = Phase::Open);
    assert_eq!(left, Some(WindowRule::RecoveryLeft));
}

#[test]
fn a_pause_and_a_threshold_are_rules() {
    let before = Observation { snd_una: Offset::new(10_001), ..observation() };
    assert_eq!(rule(before, 4_000, |_| ()), Some(WindowRule::Idle));
    let estimated = |after: &mut Observation| after.ssthresh = Some(Bytes::new(9_000));
    assert_eq!(rule(before, 10_000, estimated), Some(WindowRule::Control));
}

#[test]
fn each_has_a_name_of_its_own() {
    let names: BTreeSet<_> = WindowRule::ALL.iter().map(|rule| rule.name()).collect();
    assert_eq!(names.len(), WindowRule::ALL.len());
    assert_eq!(WindowRule::RecoveryEntered.to_string(), "recovery-entered");
}
