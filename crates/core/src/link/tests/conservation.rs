//! Whatever is offered to any kind of link, whenever anyone looks: nothing is made or forgotten.

use super::*;
use proptest::prelude::*;

fn instant(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn limits() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        (0u64..20).prop_map(QueueLimit::Packets),
        (0u64..20_000).prop_map(|n| QueueLimit::Bytes(Bytes::new(n))),
        Just(QueueLimit::Unlimited),
    ]
}

fn queues() -> impl Strategy<Value = QueueKind> {
    let measure = || prop_oneof![Just(Measure::Packets), Just(Measure::Bytes)];
    let thresholds = (0.1f64..5.0, 0.1f64..5.0, 0.001f64..1.0, 0.0f64..=1.0);
    let switches = (any::<(bool, bool, bool)>(), measure(), measure());
    let red = (limits(), thresholds, switches).prop_map(
        |(limit, (min, more, weight, max_p), ((gentle, wait, ecn), average, drops))| RedConfig {
            limit,
            min_threshold: min,
            max_threshold: min + more,
            weight,
            max_p: Probability::new(max_p).unwrap(),
            mean_packet: Bytes::new(1000),
            gentle,
            wait,
            average,
            drops,
            ecn,
        },
    );
    let codel = (limits(), 0u64..3_000_000, 1u64..5_000_000, any::<bool>()).prop_map(
        |(limit, target, interval, ecn)| CoDelConfig {
            limit,
            target: Duration::from_nanos(target),
            interval: Duration::from_nanos(interval),
            ecn,
        },
    );
    let policer =
        (limits(), 1u64..100_000_000_000, 0u64..10_000).prop_map(|(limit, rate, burst)| {
            PolicerConfig { rate: Rate::from_bits_per_sec(rate), burst: Bytes::new(burst), limit }
        });
    let times =
        || (0u64..3_000_000, 1u64..5_000_000).prop_map(|(a, b)| [a, b].map(Duration::from_nanos));
    let fq_codel = (limits(), 1u16..9, 1u64..4000, times(), any::<bool>()).prop_map(
        |(limit, flows, quantum, [target, interval], ecn)| FqCoDelConfig {
            limit,
            flows,
            quantum: Bytes::new(quantum),
            target,
            interval,
            ecn,
        },
    );
    let gains = (0.01f64..1000.0, 0.01f64..1000.0);
    let pie = (limits(), times(), 0u64..5_000_000, gains, any::<bool>()).prop_map(
        |(limit, [target, update], burst, (alpha, beta), ecn)| PieConfig {
            limit,
            target,
            update,
            burst: Duration::from_nanos(burst),
            alpha,
            beta,
            ecn,
        },
    );
    // Each discipline as its entry has it, so that a new one is held to the same.
    let examples = (limits(), prop::sample::select(QueueKind::entries()))
        .prop_map(|(limit, entry)| QueueKind::of_text(entry.example, None, Some(limit)).unwrap());
    prop_oneof![
        examples,
        fq_codel.prop_map(QueueKind::FqCoDel),
        pie.prop_map(QueueKind::Pie),
        policer.prop_map(QueueKind::Policer),
        limits().prop_map(QueueKind::DropTail),
        red.prop_map(QueueKind::Red),
        codel.prop_map(QueueKind::CoDel),
    ]
}

/// Constant, or steps of up to 5 ms that are held or repeated.
fn varying<T: Clone + std::fmt::Debug>(
    values: impl Strategy<Value = T> + Clone,
) -> impl Strategy<Value = Varying<T>> {
    let steps = prop::collection::vec((1u64..5_000_000, values.clone()), 1..6);
    let scheduled = (steps, prop::option::of(1u64..5_000_000)).prop_map(|(steps, repeat)| {
        let mut at = 0;
        let mut timed = Vec::new();
        for (span, value) in steps {
            timed.push((Duration::from_nanos(at), value));
            at += span;
        }
        let after = match repeat {
            Some(more) => After::Repeat(Duration::from_nanos(at + more)),
            None => After::Hold,
        };
        Varying::from(Schedule::new(timed, after).unwrap())
    });
    prop_oneof![values.prop_map(Varying::Constant), scheduled]
}

fn probabilities(max: f64) -> impl Strategy<Value = Probability> + Clone {
    (0.0..=max).prop_map(|value| Probability::new(value).unwrap())
}

fn losses() -> impl Strategy<Value = LossKind> {
    let per_packet =
        (probabilities(1.0), probabilities(1.0)).prop_map(|(p, r)| States::PerPacket { p, r });
    let in_time = (1_000u64..5_000_000, 1_000u64..5_000_000).prop_map(|(good, bad)| {
        States::InTime { good: Duration::from_nanos(good), bad: Duration::from_nanos(bad) }
    });
    let channel = (prop_oneof![per_packet, in_time], probabilities(1.0), probabilities(1.0))
        .prop_map(|(states, h, k)| GilbertElliott { states, k, h });
    prop_oneof![
        varying(probabilities(1.0)).prop_map(LossKind::Independent),
        channel.prop_map(LossKind::GilbertElliott),
    ]
}

fn outages() -> impl Strategy<Value = Outages> {
    let span = |nanos| Duration::from_nanos(nanos);
    let periodic = (0u64..9_000_000, 1u64..2_000_000, 1u64..2_000_000).prop_map(
        move |(first, lasting, more)| {
            Outages::periodic(span(first), span(lasting), span(lasting + more)).unwrap()
        },
    );
    let listed = (0u64..9_000_000, 1u64..9_000_000)
        .prop_map(|(start, lasting)| vec![instant(start)..instant(start + lasting)])
        .prop_map(|times| Outages::listed(times).unwrap());
    prop_oneof![Just(Outages::NONE), periodic, listed]
}

fn links() -> impl Strategy<Value = LinkConfig> {
    // Not zero for ever: the end of the test is an empty link.
    let rates = varying((1u64..100_000_000).prop_map(Rate::from_bits_per_sec));
    let delays = varying((0u64..10_000_000).prop_map(Duration::from_nanos));
    let order = prop_oneof![Just(Order::Kept), Just(Order::ByArrival)];
    let framing = (0u64..100, 0u64..100).prop_map(|(overhead, min)| Framing {
        overhead: Bytes::new(overhead),
        min_packet: Bytes::new(min),
    });
    let way = (prop::option::of(rates), framing, delays, order);
    let losing = (losses(), varying(probabilities(0.001)), outages());
    (way, queues(), losing, any::<u64>()).prop_map(
        |((rate, framing, delay, order), queue, (packet_loss, bit_errors, outages), seed)| {
            LinkConfig {
                rate,
                framing,
                delay,
                order,
                queue,
                packet_loss,
                bit_errors,
                outages,
                seed,
            }
        },
    )
}

/// A number, a length, and whether it is urgent.
#[derive(Debug)]
struct Hasty(u64, u64, bool);

impl LinkPacket for Hasty {
    fn wire_len(&self) -> u64 {
        self.1
    }

    fn urgent(&self) -> bool {
        self.2
    }

    fn flow_hash(&self) -> u64 {
        self.flow() as u64
    }
}

impl Hasty {
    /// Three flows.
    fn flow(&self) -> usize {
        (self.0 % 3) as usize
    }
}

/// Time since the last packet, length, whether anyone looks, and whether the packet is urgent.
type Step = (u64, u64, bool, bool);

fn steps(max: usize) -> impl Strategy<Value = Vec<Step>> {
    let urgent = prop::bool::weighted(0.1);
    prop::collection::vec((0u64..3_000_000, 0u64..2000, any::<bool>(), urgent), 1..max)
}

/// Offers packets, looks where told, and returns what arrived and when.
fn run(config: &LinkConfig, steps: &[Step]) -> (Vec<(Instant, u64)>, Counters) {
    let mut link = Link::new(config);
    let mut now = Instant::ZERO;
    let mut seen: Vec<(Instant, u64)> = Vec::new();
    // The last number that has arrived, of packets that are urgent and of others, of each flow
    // where flows have queues of their own.
    let mut last = [[None, None]; 3];
    let parts = matches!(config.queue, QueueKind::FqCoDel(_));
    let mut look = |link: &mut Link<Hasty>, now: Instant| {
        while let Some((at, packet)) = link.pop_with_time(now) {
            assert!(at <= now);
            assert!(seen.last().is_none_or(|&(last, _)| last <= at));
            if config.order == Order::Kept {
                let flow = if parts { packet.flow() } else { 0 };
                let last = &mut last[flow][usize::from(packet.2)];
                assert!(last.replace(packet.0).is_none_or(|number| number < packet.0));
            }
            seen.push((at, packet.0));
        }
        assert!(link.next().is_none_or(|next| next > now));
        let counters = link.counters();
        assert_eq!(
            counters.offered,
            counters.dropped + counters.lost + counters.delivered + link.inside()
        );
        match config.queue.limit() {
            QueueLimit::Packets(limit) => assert!(link.queued().packets <= limit),
            QueueLimit::Bytes(limit) => assert!(link.queued().bytes <= limit.count()),
            QueueLimit::Unlimited => {}
        }
    };
    for (number, (gap, len, looks, urgent)) in steps.iter().enumerate() {
        now += Duration::from_nanos(*gap);
        link.push(now, Hasty(number as u64, *len, *urgent));
        if *looks {
            look(&mut link, now);
        }
    }
    while let Some(next) = link.next() {
        now = now.max(next);
        look(&mut link, now);
    }
    assert_eq!(link.inside(), Count::default());
    assert_eq!(link.queued(), Count::default());
    let counters = link.counters();
    assert_eq!(counters.delivered.packets, seen.len() as u64);
    (seen, counters)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn packets_are_conserved(
        config in links(),
        steps in steps(200),
    ) {
        let (seen, counters) = run(&config, &steps);
        // The same again, and nobody looks meanwhile: every moment is the same.
        let blind: Vec<_> = steps.iter().map(|&(gap, len, _, urgent)| (gap, len, false, urgent)).collect();
        prop_assert_eq!(&run(&config, &steps), &(seen.clone(), counters));
        prop_assert_eq!(run(&config, &blind), (seen, counters));
    }

    /// The line is never faster than its rate.
    #[test]
    fn arrivals_are_a_line_time_apart(
        rate in 1u64..100_000_000,
        steps in steps(100),
    ) {
        let rate = Rate::from_bits_per_sec(rate);
        let (seen, _) = run(&LinkConfig { rate: Some(rate.into()), ..config() }, &steps);
        for pair in seen.windows(2) {
            let line_time = rate.time_for(steps[pair[1].1 as usize].1);
            // Both ends are rounded up to the nanosecond.
            let apart = pair[1].0.saturating_since(pair[0].0) + Duration::from_nanos(1);
            prop_assert!(apart >= line_time);
        }
    }
}
