//! Figure 4.9: Constant-Rate beside one standard connection, or standard Web traffic.

use super::constant_rate::{compared, constant, fairness, filled};
use super::throughput;
use super::{
    Function, Numbers, Samples, at, jain, less, max_by_mean, mean, number, per_run, ratio,
};
use crate::functions::samples::{jackknife, ranked};
use crate::run::{Number, PointRuns, Ran};

pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("H-4.9-E", points),
    ("H-4.9-a", what_is_lost),
    ("H-4.9-b", trailblazer),
    ("H-4.9-c", standard_web),
];

const TOPOLOGIES: [u32; 3] = [1, 2, 3];
const ADDED: &str = "added";

fn of<'a>(ran: &'a Ran, kind: &str, topology: u32, control: &str) -> Result<&'a PointRuns, String> {
    at(ran.part(&format!("{kind}-{topology}"))?, &[("tcp.congestion", control)])
}

/// The constants that an experiment tries, in the order of its sweep.
fn constants(ran: &Ran, kind: &str, topology: u32) -> Result<Vec<u32>, String> {
    let points = &ran.part(&format!("{kind}-{topology}"))?.points;
    let controls = points.iter().filter_map(|point| point.value("tcp.congestion"));
    let tried = controls.filter_map(|control| control.strip_prefix("constant-rate:c="));
    tried.map(|c| c.parse().map_err(|_| format!("{c} is no constant"))).collect()
}

/// The compared transfers and the added one.
fn with_added(topology: u32) -> Vec<&'static str> {
    compared(topology).into_iter().chain([ADDED]).collect()
}

fn filled_with_added(point: &PointRuns, topology: u32) -> Result<Samples, String> {
    let added = super::scaled(&throughput(point, ADDED)?, 1.0 / super::BOTTLENECK);
    Ok(per_run(&[filled(point, topology)?, added], |both| both.iter().sum()))
}

/// The constant that is the fairest without the added connection, and its index.
fn best(ran: &Ran, kind: &str, topology: u32) -> Result<(u32, Samples), String> {
    let index = |c| Ok((c, fairness(of(ran, kind, topology, &constant(c))?, topology)?));
    let tried = constants(ran, kind, topology)?.into_iter();
    let each = tried.map(index).collect::<Result<Vec<_>, String>>()?;
    let best = each.into_iter().max_by(|a, b| mean(&a.1).total_cmp(&mean(&b.1)));
    best.ok_or_else(|| "there is no constant".to_owned())
}

fn points(ran: &Ran) -> Numbers {
    let parts = TOPOLOGIES.map(|topology| ran.part(&format!("added-{topology}")));
    let parts = parts.into_iter().collect::<Result<Vec<_>, _>>()?;
    let points = parts.iter().map(|part| part.points.len()).sum::<usize>();
    Ok(vec![Number::new("points", points as f64)])
}

/// What the added connection takes of the gain in fairness, where that is the second of three, at
/// the constant that is the fairest without it: in two topologies it is as much.
fn what_is_lost(ran: &Ran) -> Numbers {
    let mut rises = Vec::new();
    let mut indices = Vec::new();
    for topology in TOPOLOGIES {
        for c in constants(ran, ADDED, topology)? {
            let with = filled_with_added(of(ran, ADDED, topology, &constant(c))?, topology)?;
            let without = filled(of(ran, "plain", topology, &constant(c))?, topology)?;
            rises.push(less(&with, &without));
        }
        let (c, alone) = best(ran, "plain", topology)?;
        indices.push(fairness(of(ran, "plain", topology, "standard")?, topology)?);
        indices.push(alone);
        indices.push(jain(of(ran, ADDED, topology, &constant(c))?, &with_added(topology))?);
    }
    let lost = |means: &[f64]| {
        let shares = means.chunks(3).map(|of| (of[1] - of[2]) / (of[1] - of[0]));
        ranked(shares, 1)
    };
    Ok(vec![
        number("mean-rise", per_run(&rises, mean)),
        number("largest-rise", max_by_mean(rises)?),
        number("second-largest-share-lost", jackknife(&indices, lost)),
    ])
}

fn trailblazer(ran: &Ran) -> Numbers {
    let mut numbers = Vec::new();
    for topology in TOPOLOGIES {
        let (c, _) = best(ran, "plain", topology)?;
        let point = of(ran, ADDED, topology, &constant(c))?;
        let all = with_added(topology).into_iter().map(|name| throughput(point, name));
        let all = all.collect::<Result<Vec<_>, _>>()?;
        let share = ratio(&throughput(point, ADDED)?, &per_run(&all, mean));
        numbers.push(number(format!("added-over-fair-share-{topology}"), share));
    }
    let short_to_long = |kind: &str| {
        let ratio = |c| {
            let point = of(ran, kind, 2, &constant(c))?;
            let short = [throughput(point, "f10")?, throughput(point, "f20")?];
            let short = per_run(&short, |both| both.iter().sum());
            Ok(ratio(&short, &throughput(point, "f600")?))
        };
        let tried = constants(ran, kind, 2)?.into_iter();
        let each = tried.map(ratio).collect::<Result<Vec<_>, String>>()?;
        Ok::<_, String>(per_run(&each, mean))
    };
    let (with, without) = (short_to_long(ADDED)?, short_to_long("plain")?);
    numbers.push(number("short-to-long", ratio(&with, &without)));
    Ok(numbers)
}

/// By how much the best constant is less fair beside standard Web traffic, where that is the second
/// of three: in two topologies it is.
fn standard_web(ran: &Ran) -> Numbers {
    let mut indices = Vec::new();
    for topology in TOPOLOGIES {
        indices.push(best(ran, "plain", topology)?.1);
        indices.push(best(ran, "web", topology)?.1);
    }
    let fall = |means: &[f64]| ranked(means.chunks(2).map(|pair| pair[0] - pair[1]), 1);
    Ok(vec![number("second-largest-fall", jackknife(&indices, fall))])
}
