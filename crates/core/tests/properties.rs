//! The property suite: whatever the channel does, and whatever the parameters, every byte
//! arrives once and in order, windows are at least one segment, no deadline lies in the past,
//! nothing is sent beyond what the peer promised, and who has nothing to say is quiet.
//!
//! Algorithms are put to the test by being in [`RecoveryAlgorithm::ALL`] or
//! [`CongestionAlgorithm::ALL`].

use crate::kept::kept;
use crate::pair::{Close, End, Faults, Pace, Setup, run};
use bentpipe_core::tcp::buffer::{Chunks, Pattern};
use bentpipe_core::tcp::congestion::{CongestionAlgorithm, Growth, InitialWindowUse, Probing};
use bentpipe_core::tcp::connection::{ConnectionConfig, Opening};
use bentpipe_core::tcp::pacing::Pacing;
use bentpipe_core::tcp::receiver::AckPolicy;
use bentpipe_core::tcp::recovery::RecoveryAlgorithm;
use bentpipe_core::tcp::rtt::RtoConfig;
use bentpipe_core::tcp::sender::{InitialWindow, Reduction, SenderConfig};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Rate};
use proptest::prelude::*;

/// Every loss recovery algorithm.
fn algorithms() -> impl Strategy<Value = RecoveryAlgorithm> {
    proptest::sample::select(RecoveryAlgorithm::ALL)
}

/// Every congestion control, with every slow start.
fn controls() -> impl Strategy<Value = (CongestionAlgorithm, Growth, InitialWindowUse, Probing)> {
    let uses = [
        InitialWindowUse::Beginning,
        InitialWindowUse::BeginningAndIdle,
        InitialWindowUse::EverySlowStart,
    ];
    (
        proptest::sample::select(CongestionAlgorithm::ALL.to_vec()),
        proptest::sample::select(Growth::ALL.to_vec()),
        proptest::sample::select(uses.to_vec()),
        prop_oneof![Just(Probing::TwiceAckRate), Just(Probing::AckRate)],
    )
}

fn millis(range: std::ops::Range<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_millis)
}

fn pacings() -> impl Strategy<Value = Pacing> {
    let cap = (20_000u64..100_000_000).prop_map(Rate::from_bits_per_sec);
    prop_oneof![Just(Pacing::Off), proptest::option::of(cap).prop_map(|cap| Pacing::Window { cap })]
}

fn senders() -> impl Strategy<Value = SenderConfig> {
    let bursts = prop_oneof![Just(1u64), 2u64..40];
    let byte_limit = proptest::option::of(1u32..3);
    let switches = (any::<bool>(), any::<bool>(), any::<bool>());
    let reductions = prop_oneof![Just(Reduction::Plain), Just(Reduction::Prr)];
    ((algorithms(), reductions), controls(), 1u32..20, byte_limit, bursts, pacings(), switches)
        .prop_map(
            |(
                (algorithm, reduction),
                (control, slow_start, initial_window_use, probing),
                window,
                byte_limit,
                burst,
                pacing,
                (nagle, restart, undo),
            )| SenderConfig {
                recovery: algorithm,
                reduction,
                undo,
                congestion: control,
                slow_start,
                initial_window_use,
                probing,
                initial_window: InitialWindow::Segments(window),
                byte_limit,
                max_burst: burst * SenderConfig::default().smss,
                pacing,
                nagle,
                restart_after_idle: restart,
                // Long enough for any run of losses; short enough to end within the limit.
                max_retries: 100,
                rto: RtoConfig { max: Duration::from_secs(10), ..RtoConfig::default() },
                ..SenderConfig::default()
            },
        )
}

fn ack_policies() -> impl Strategy<Value = AckPolicy> {
    let thinned = (1u32..20, millis(1..400));
    prop_oneof![
        2 => Just(AckPolicy::PerSegment),
        2 => millis(1..400).prop_map(AckPolicy::Delayed),
        1 => millis(1..400).prop_map(AckPolicy::Heartbeat),
        1 => thinned.prop_map(|(segments, delay)| AckPolicy::Thinned { segments, delay }),
        1 => (1u32..10).prop_map(AckPolicy::Division),
    ]
}

/// Exact clocks, and clocks of 1 to 500 ms.
fn ticks() -> impl Strategy<Value = Duration> {
    prop_oneof![2 => Just(Duration::ZERO), 1 => millis(1..501)]
}

fn connections() -> impl Strategy<Value = ConnectionConfig> {
    let mss = prop_oneof![Just(1460u16), 64u16..1500];
    let receive = prop_oneof![1u64..10, 10u64..5_000, 5_000u64..200_000];
    let send = prop_oneof![1u64..5_000, 5_000u64..200_000];
    let scale = proptest::option::of(0u8..5);
    let receive = (receive, proptest::option::of(1u64..400_000));
    let options = (any::<bool>(), any::<bool>(), any::<bool>());
    let buffers = (receive, send, scale);
    (senders(), mss, buffers, options, ack_policies(), ticks()).prop_map(
        |(mut sender, mss, buffers, options, ack_policy, tick)| {
            let ((receive_buffer, receive_buffer_max), send_buffer, window_scale) = buffers;
            let (sack, timestamps, ecn) = options;
            sender.rto.tick = tick;
            ConnectionConfig {
                mss,
                send_buffer: Bytes::new(send_buffer),
                receive_buffer: Bytes::new(receive_buffer),
                receive_buffer_max: receive_buffer_max.map(Bytes::new),
                window_scale,
                sack,
                timestamps,
                opening: Opening::Handshake,
                transactions: false,
                min_mtu: 552,
                ecn,
                ack_policy,
                sender,
                syn_retries: 100,
                time_wait: Duration::from_secs(300),
            }
        },
    )
}

fn paces() -> impl Strategy<Value = Pace> {
    let slow = (1u64..5_000, millis(1..2_000)).prop_map(|(chunk, every)| Pace { chunk, every });
    prop_oneof![3 => Just(Pace::EAGER), 1 => slow]
}

fn ends() -> impl Strategy<Value = End> {
    let isn = prop_oneof![any::<u32>(), (u32::MAX - 50_000)..=u32::MAX];
    let bytes = prop_oneof![Just(0u64), 1u64..3_000, 3_000u64..300_000];
    (connections(), isn, bytes, paces(), paces()).prop_map(|(config, isn, bytes, write, read)| {
        End { config, isn, bytes, write, read, close: Close::AtOnce }
    })
}

fn closings() -> impl Strategy<Value = [Close; 2]> {
    prop_oneof![
        2 => Just([Close::AtOnce, Close::AtOnce]),
        1 => Just([Close::AtOnce, Close::AfterPeer]),
        1 => Just([Close::AfterPeer, Close::AtOnce]),
        1 => Just([Close::Never, Close::Never]),
    ]
}

fn faults(worst: f64) -> impl Strategy<Value = Faults> {
    let chance = move || prop_oneof![Just(0.0), 0.0..worst];
    let marks = (chance(), any::<bool>());
    (millis(0..600), chance(), chance(), millis(0..200), chance(), chance(), marks).prop_map(
        |(delay, loss, reorder, jitter, duplicate, corrupt, (mark, cut))| Faults {
            delay,
            loss: loss * (1.0 - corrupt),
            reorder,
            jitter,
            duplicate,
            corrupt: corrupt / 2.0,
            mark,
            cut,
        },
    )
}

fn setups(worst: f64) -> impl Strategy<Value = Setup> {
    (any::<u64>(), faults(worst), ends(), ends(), closings()).prop_map(
        |(seed, faults, mut a, mut b, close)| {
            (a.close, b.close) = (close[0], close[1]);
            limit_bytes(&mut a, &b);
            limit_bytes(&mut b, &a);
            Setup { seed, faults, ends: [a, b], limit: Duration::from_secs(4 * 3600) }
        },
    )
}

/// Leaves enough to be sent for many round trips, but not for days of them.
fn limit_bytes(sender: &mut End, receiver: &End) {
    let step = receiver.config.receive_buffer.min(sender.config.send_buffer);
    let step = step.min(Bytes::new(receiver.read.chunk)).min(Bytes::new(sender.write.chunk));
    sender.bytes = sender.bytes.min(step.saturating_mul(200).count());
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2_000, ..kept("proptest-regressions/properties.txt") })]

    #[test]
    fn every_byte_arrives_once_and_in_order(setup in setups(0.25)) {
        run::<Chunks>(&setup);
    }

    #[test]
    fn lengths_alone_behave_like_bytes(setup in setups(0.1)) {
        run::<Pattern>(&setup);
    }

    #[test]
    fn a_clean_channel_brings_no_surprise(setup in setups(f64::MIN_POSITIVE)) {
        run::<Chunks>(&setup);
    }
}

#[test]
fn a_clean_channel_carries_each_segment_once() {
    let config = ConnectionConfig { time_wait: Duration::from_secs(1), ..Default::default() };
    let end = End {
        config,
        isn: u32::MAX - 100_000,
        bytes: 1_448_000,
        write: Pace::EAGER,
        read: Pace::EAGER,
        close: Close::AtOnce,
    };
    let ends = [end, End { bytes: 0, close: Close::AfterPeer, ..end }];
    let setup = Setup { seed: 0, faults: Faults::NONE, ends, limit: Duration::from_secs(60) };
    let outcome = run::<Chunks>(&setup);
    // SYN, data with the FIN on the last segment, and the acknowledgment of the peer's FIN.
    assert_eq!(outcome.segments[0], 1 + 1000 + 1);
    // Flights of 10, 20, ... 640 segments: the seventh carries the last byte, and TIME-WAIT.
    assert!(outcome.ended < Instant::from_millis(20 * 10 + 1_000), "{:?}", outcome.ended);
}
