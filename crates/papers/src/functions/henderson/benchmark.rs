//! Figures 4.2, 4.5 and 4.6: standard TCP by the queue.

use super::{Function, PACKET, at, flow, max_by_mean, min_by_mean, run, utilisation};
use super::{
    LONG, Numbers, SHORT, Samples, jain, less, mean, number, per_run, ratio, scaled, throughput,
};
use crate::functions::samples::jackknife;
use crate::run::trace::series;
use crate::run::{Number, PointRuns, Ran};
use bentpipe_lab::tables::Table;

pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("H-4.2-E", traces),
    ("H-4.4-2", topology_2),
    ("H-4.5-a", utilisation_by_queue),
    ("H-4.5-b", timeouts_by_queue),
    ("H-4.6-a", poor_fairness),
    ("H-4.6-b", shares),
    ("H-4.6-c", longest_transfer),
    ("H-4.6-d", sack_and_newreno),
    ("H-4.6-e", bias_of_sack),
    ("H-4.6-f", red_and_fifo),
    ("H-F-9", delay_of_twenty),
];

const SACK: &str = "tcp.sack";
const WEIGHT: &str = "link.bottleneck.queue.weight";
const LIMIT: &str = "link.bottleneck.queue.limit";
/// RED whose average does not move, and RED.
const FIFO: &str = "1e-9";
const RED: &str = "0.002";
const LIMITS: [u32; 6] = [4, 10, 20, 30, 40, 50];
/// As the claims name them.
const CASES: [(&str, &str, &str); 4] = [
    ("newreno-fifo", "off", FIFO),
    ("newreno-red", "off", RED),
    ("sack-fifo", "on", FIFO),
    ("sack-red", "on", RED),
];

fn all_six() -> Vec<&'static str> {
    LONG.into_iter().chain(SHORT).collect()
}

fn queue<'a>(ran: &'a Ran, sack: &str, weight: &str, limit: u32) -> Result<&'a PointRuns, String> {
    let limit = format!("{limit}packets");
    at(ran.part("queues")?, &[(SACK, sack), (WEIGHT, weight), (LIMIT, &limit)])
}

fn traces(ran: &Ran) -> Numbers {
    let part = ran.part("sequence")?;
    let point = at(part, &[])?;
    let flows = ["f10", "f100", "f200", "f300", "f600"];
    let drawn = flows.iter().filter(|flow| series(part, point, flow, "segment").is_ok());
    Ok(vec![Number::new("traces", drawn.count() as f64)])
}

fn topology_2(ran: &Ran) -> Numbers {
    let point = queue(ran, "on", RED, 50)?;
    let flows = all_six().into_iter().filter(|name| throughput(point, name).is_ok());
    let flows = flows.count() as f64;
    Ok(vec![Number::new("flows", flows), number("utilisation", utilisation(point)?)])
}

/// Spearman's correlation of queue and utilisation.
fn rank(means: &[f64]) -> f64 {
    let place = |x: &f64| means.iter().filter(|other| *other < x).count() as f64;
    let squares = means.iter().enumerate().map(|(i, x)| (place(x) - i as f64).powi(2));
    let n = means.len() as f64;
    1.0 - 6.0 * squares.sum::<f64>() / (n * (n * n - 1.0))
}

fn utilisation_by_queue(ran: &Ran) -> Numbers {
    let mut numbers = Vec::new();
    for (name, sack, weight) in CASES {
        let of = |limit| utilisation(queue(ran, sack, weight, limit)?);
        let by_limit = LIMITS.into_iter().map(of).collect::<Result<Vec<_>, _>>()?;
        numbers.push(number(format!("{name}-50-less-4"), less(&by_limit[5], &by_limit[0])));
        numbers.push(number(format!("{name}-rank"), jackknife(&by_limit, rank)));
    }
    Ok(numbers)
}

fn timeouts_by_queue(ran: &Ran) -> Numbers {
    let of = |(name, sack, weight): (&str, &str, &str)| {
        let timeouts = |limit| run(queue(ran, sack, weight, limit)?, "timeouts");
        Ok(number(format!("{name}-timeouts-4-less-50"), less(&timeouts(4)?, &timeouts(50)?)))
    };
    CASES.into_iter().map(of).collect()
}

fn poor_fairness(ran: &Ran) -> Numbers {
    let mut found = Vec::new();
    for (_, sack, weight) in CASES {
        for limit in LIMITS.into_iter().filter(|limit| *limit <= 30) {
            found.push(jain(queue(ran, sack, weight, limit)?, &all_six())?);
        }
    }
    Ok(vec![number("largest-jain", max_by_mean(found)?)])
}

/// Means over all queues and cases.
fn shares(ran: &Ran) -> Numbers {
    let mut by_kind: [Vec<Samples>; 3] = Default::default();
    for (_, sack, weight) in CASES {
        for limit in LIMITS {
            let point = queue(ran, sack, weight, limit)?;
            let web = point.column(Table::Groups, &[("group", "web")], "goodput_sum_bps")?;
            by_kind[0].push(super::used(point, &SHORT)?);
            by_kind[1].push(scaled(&web, PACKET / super::DATA / super::BOTTLENECK));
            by_kind[2].push(super::used(point, &LONG)?);
        }
    }
    let names = ["short", "web", "long"].into_iter().zip(by_kind);
    Ok(names.map(|(name, each)| number(name, per_run(&each, mean))).collect())
}

fn longest_transfer(ran: &Ran) -> Numbers {
    let of = |limit| Ok(scaled(&throughput(queue(ran, "off", FIFO, limit)?, "f600")?, 1e-3));
    let found = LIMITS.into_iter().map(of).collect::<Result<Vec<_>, String>>()?;
    let (least, most) = (min_by_mean(found.clone())?, max_by_mean(found)?);
    Ok(vec![number("least-kbps", least), number("most-kbps", most)])
}

/// The mean over 30 to 50 packets of `of`.
fn deep(
    ran: &Ran,
    (sack, weight): (&str, &str),
    of: impl Fn(&PointRuns) -> Result<Samples, String>,
) -> Result<Samples, String> {
    let each = [30, 40, 50].map(|limit| of(queue(ran, sack, weight, limit)?));
    let each = each.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(per_run(&each, mean))
}

fn sack_and_newreno(ran: &Ran) -> Numbers {
    let of = |(name, weight): (&str, &str)| {
        let fairness = |sack| deep(ran, (sack, weight), |point| jain(point, &all_six()));
        Ok(number(name, less(&fairness("on")?, &fairness("off")?)))
    };
    [("fifo", FIFO), ("red", RED)].into_iter().map(of).collect()
}

/// Of a sixth of what the Web leaves.
fn bias_of_sack(ran: &Ran) -> Numbers {
    let of = |(name, weight): (&str, &str)| {
        let point = queue(ran, "on", weight, 50)?;
        let six = all_six().into_iter().map(|name| flow(point, name, "goodput_bps"));
        let six = six.collect::<Result<Vec<_>, _>>()?;
        Ok(number(name, ratio(&six[0], &per_run(&six, mean))))
    };
    [("fifo", FIFO), ("red", RED)].into_iter().map(of).collect()
}

fn red_and_fifo(ran: &Ran) -> Numbers {
    let mut numbers = Vec::new();
    for (name, sack) in [("newreno", "off"), ("sack", "on")] {
        let fairness = |weight| deep(ran, (sack, weight), |point| jain(point, &all_six()));
        let filled = |weight| deep(ran, (sack, weight), utilisation);
        numbers.push(number(format!("jain-{name}"), less(&fairness(RED)?, &fairness(FIFO)?)));
        numbers.push(number(format!("utilisation-{name}"), less(&filled(RED)?, &filled(FIFO)?)));
    }
    Ok(numbers)
}

fn delay_of_twenty(_: &Ran) -> Numbers {
    Ok(vec![Number::new("delay-ms", 20.0 * PACKET * 8.0 / super::BOTTLENECK * 1e3)])
}
