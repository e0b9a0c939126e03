//! Timer granularity: when the retransmission timer expires by a clock of 1 ms and of 500 ms
//! (Henderson, section 4.1.6: by the fine clock, coarse timeouts came before fast recovery could
//! be accomplished).

use bentpipe_core::tcp::recovery::RecoveryAlgorithm;
use bentpipe_core::tcp::rtt::RtoConfig;
use bentpipe_core::tcp::sender::{Ack, InitialWindow, Sender, SenderConfig};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Offset};

const SMSS: u64 = 1000;
const ROUND_TRIP: u64 = 560;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn acknowledge(sender: &mut Sender, now: Instant, segments: u64) {
    let ack = 1 + segments * SMSS;
    sender.on_ack(
        now,
        &Ack {
            segment: Offset::FIRST,
            ack: Offset::new(ack),
            window: Bytes::new(1 << 20),
            sack: &[],
            echoed: None,
            occupies: false,
        },
    );
}

/// After forty even round trips of a GEO satellite, the first of eight segments is lost. Returns
/// the numbers of timeouts and of fast recoveries until all was acknowledged, and how long the
/// timer was set for when the flight had left.
fn timeouts_in_fast_recovery(tick: u64) -> (u64, u64, Duration) {
    let tick = Duration::from_millis(tick);
    let rto = RtoConfig { tick, granularity: tick, min: tick, ..RtoConfig::default() };
    let mut sender = Sender::new(
        SenderConfig {
            smss: Bytes::new(SMSS),
            max_burst: Bytes::new(SMSS),
            recovery: RecoveryAlgorithm::NewReno,
            initial_window: InitialWindow::Segments(8),
            restart_after_idle: false,
            rto,
            ..SenderConfig::default()
        },
        Offset::FIRST,
        Bytes::new(1 << 20),
        Some(Duration::from_millis(ROUND_TRIP)),
    );
    let mut now = 100;
    let mut sent = 0;
    for _ in 0..40 {
        sent += 1;
        sender.extend(Offset::new(1 + sent * SMSS));
        assert!(sender.poll_transmit(at(now)).is_ok());
        now += ROUND_TRIP;
        acknowledge(&mut sender, at(now), sent);
    }
    sender.extend(Offset::new(1 + (sent + 8) * SMSS));
    while sender.poll_transmit(at(now)).is_ok() {}
    let patience = sender.poll_timer().expect("the timer runs").saturating_since(at(now));
    let pass = |sender: &mut Sender, until: u64| {
        while let Some(due) = sender.poll_timer().filter(|due| *due < at(until)) {
            sender.on_timer(due);
            while sender.poll_transmit(due).is_ok() {}
        }
    };
    // Seven duplicate acknowledgments a round trip later, a millisecond apart; what they let
    // leave is acknowledged yet another one later.
    for duplicate in 0..7 {
        pass(&mut sender, now + ROUND_TRIP + duplicate);
        acknowledge(&mut sender, at(now + ROUND_TRIP + duplicate), sent);
        while sender.poll_transmit(at(now + ROUND_TRIP + duplicate)).is_ok() {}
    }
    pass(&mut sender, now + 2 * ROUND_TRIP + 3);
    acknowledge(&mut sender, at(now + 2 * ROUND_TRIP + 3), sent + 8);
    (sender.stats().timeouts, sender.stats().recoveries, patience)
}

#[test]
fn a_fine_clock_times_out_before_fast_recovery_is_over() {
    let (timeouts, recoveries, soon) = timeouts_in_fast_recovery(1);
    assert_eq!((timeouts, recoveries), (1, 0));
    let (timeouts, recoveries, late) = timeouts_in_fast_recovery(500);
    assert_eq!((timeouts, recoveries), (0, 1));
    // The fine clock: the round trip and little more. The coarse one: the round trip in ticks, its
    // variation, and up to a tick until the count begins.
    let round_trip = Duration::from_millis(ROUND_TRIP);
    assert!(soon > round_trip && soon < round_trip + Duration::from_millis(10), "{soon:?}");
    assert!(late > 2 * round_trip && late < Duration::from_secs(3), "{late:?}");
}

#[test]
fn a_coarse_clock_expires_on_its_ticks_and_doubles_them() {
    let tick = Duration::from_millis(500);
    let rto = RtoConfig { tick, min: Duration::from_secs(1), ..RtoConfig::default() };
    let config = SenderConfig { rto, max_retries: 100, ..SenderConfig::default() };
    let mut sender = Sender::new(config, Offset::FIRST, Bytes::new(1 << 20), None);
    sender.extend(Offset::new(100));
    let mut now = at(730);
    let mut expired = Vec::new();
    for _ in 0..5 {
        while sender.poll_transmit(now).is_ok() {}
        now = sender.poll_timer().expect("the timer runs");
        sender.on_timer(now);
        expired.push(now.as_nanos() / 1_000_000);
    }
    // An RTO of 1 s is two ticks, the first of which came 270 ms later.
    assert_eq!(expired, [1500, 3500, 7500, 15_500, 31_500]);
}
