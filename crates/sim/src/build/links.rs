//! A scenario's links as the core has them.

use bentpipe_core::link::{
    self, After, CoDelConfig, LinkConfig, LossKind, Measure, QueueKind, RedConfig,
};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Probability;
use bentpipe_scenario::{
    Counted, Direction, GilbertElliott, Loss, Order, Queue, Scenario, Seeds, States, Varying,
};

/// The configuration of one direction of a link, whose random numbers are those of `name`.
pub(super) fn config(
    scenario: &Scenario,
    direction: &Direction,
    seeds: Seeds,
    name: &str,
) -> LinkConfig {
    let mut rng = seeds.rng(&format!("{name}/outages"));
    let outages = direction.outage_spans(&mut rng, scenario.run.duration);
    let spans = outages.into_iter().map(|(begin, length)| {
        let begin = Instant::ZERO + begin;
        begin..begin + length
    });
    LinkConfig {
        rate: direction.rate.as_ref().map(varying),
        delay: varying(&direction.delay),
        order: match direction.order {
            Order::Kept => link::Order::Kept,
            Order::ByArrival => link::Order::ByArrival,
        },
        queue: queue(&direction.queue),
        packet_loss: loss(&direction.loss),
        bit_errors: varying(&direction.bit_errors),
        outages: link::Outages::listed(spans.collect()).expect("spans are in order and apart"),
        seed: seeds.stream(&format!("{name}/loss")),
    }
}

fn varying<T: Copy>(value: &Varying<T>) -> link::Varying<T> {
    match value {
        Varying::Fixed(value) => link::Varying::Constant(*value),
        Varying::Schedule(schedule) => {
            let steps: Vec<(Duration, T)> = schedule.steps().to_vec();
            let schedule = link::Schedule::new(steps, After::Hold);
            link::Varying::Scheduled(schedule.expect("the scenario has checked it").into())
        }
    }
}

fn queue(queue: &Queue) -> QueueKind {
    let measure = |counted| match counted {
        Counted::Packets => Measure::Packets,
        Counted::Bytes => Measure::Bytes,
    };
    match *queue {
        Queue::DropTail { limit } => QueueKind::DropTail(limit),
        Queue::Red(red) => QueueKind::Red(RedConfig {
            limit: red.limit,
            min_threshold: red.min_threshold,
            max_threshold: red.max_threshold,
            weight: red.weight,
            max_p: red.max_probability,
            mean_packet: red.mean_packet,
            gentle: red.gentle,
            wait: red.wait,
            average: measure(red.average),
            drops: measure(red.drops),
            ecn: red.ecn,
        }),
        Queue::CoDel(codel) => QueueKind::CoDel(CoDelConfig {
            limit: codel.limit,
            target: codel.target,
            interval: codel.interval,
            ecn: codel.ecn,
        }),
    }
}

fn loss(loss: &Loss) -> LossKind {
    let arrives = |lost: Probability| {
        Probability::new(1.0 - lost.value()).expect("the complement of a probability is one")
    };
    match loss {
        Loss::Independent(probability) => LossKind::Independent(varying(probability)),
        Loss::GilbertElliott(GilbertElliott { states, good_loss, bad_loss }) => {
            LossKind::GilbertElliott(link::GilbertElliott {
                states: match *states {
                    States::PerPacket { good_to_bad, bad_to_good } => {
                        link::States::PerPacket { p: good_to_bad, r: bad_to_good }
                    }
                    States::InTime { good, bad } => link::States::InTime { good, bad },
                },
                k: arrives(*good_loss),
                h: arrives(*bad_loss),
            })
        }
    }
}
