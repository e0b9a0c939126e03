//! Figures 4.7 and 4.8: Constant-Rate for all.

use super::{Function, LONG, Numbers, SHORT, Samples, at, flow, jain, less, mean, number, ratio};
use super::{max_by_mean, min_by_mean, throughput, used, utilisation};
use crate::functions::samples::{jackknife, largest_in_each_run, max, min};
use crate::run::{Number, PointRuns, Ran};

pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("H-4.4-1", topology_1),
    ("H-4.4-3", topology_3),
    ("H-4.7-E", points),
    ("H-4.8-E", points),
    ("H-4.7-a", unused_link),
    ("H-4.8-a", gain),
    ("H-4.8-b", near_optimal),
    ("H-4.8-c", several_gateways),
    ("H-4.8-d", best_constant),
    ("H-4.8-e", bound),
    ("H-4.8-f", good_everywhere),
    ("H-4.8-g", shallow_queues),
    ("H-4.8-h", sack_and_clocks),
    ("H-4.8-i", long_through_several),
];

const CONTROL: &str = "tcp.congestion";
const STANDARD: &str = "standard";
const CONSTANTS: [u32; 8] = [4, 9, 16, 36, 64, 100, 400, 1600];
const TOPOLOGIES: [u32; 3] = [1, 2, 3];

pub(super) fn constant(c: u32) -> String {
    format!("constant-rate:c={c}")
}

/// The transfers whose shares are compared: in topology 3 those at the first gateway.
pub(super) fn compared(topology: u32) -> Vec<&'static str> {
    match topology {
        1 => vec!["f600", "f10"],
        2 => LONG.into_iter().chain(SHORT).collect(),
        _ => vec!["f600", "f10-1"],
    }
}

/// How much of the bottleneck, in topology 3 of the first one, is used.
pub(super) fn filled(point: &PointRuns, topology: u32) -> Result<Samples, String> {
    if topology < 3 { utilisation(point) } else { used(point, &["f600", "f10-1", "n1"]) }
}

pub(super) fn fairness(point: &PointRuns, topology: u32) -> Result<Samples, String> {
    jain(point, &compared(topology))
}

fn of<'a>(ran: &'a Ran, topology: u32, control: &str) -> Result<&'a PointRuns, String> {
    at(ran.part(&format!("topology-{topology}"))?, &[(CONTROL, control)])
}

/// The index at each constant.
fn indices(ran: &Ran, topology: u32) -> Result<Vec<(u32, Samples)>, String> {
    let index = |c| Ok((c, fairness(of(ran, topology, &constant(c))?, topology)?));
    CONSTANTS.into_iter().map(index).collect()
}

fn best(indices: &[(u32, Samples)], up_to: u32) -> Result<&(u32, Samples), String> {
    let within = indices.iter().filter(|(c, _)| *c <= up_to);
    let best = within.max_by(|a, b| mean(&a.1).total_cmp(&mean(&b.1)));
    best.ok_or_else(|| "there is no constant".to_owned())
}

fn topology_1(ran: &Ran) -> Numbers {
    let points = &ran.part("round-trips")?.points;
    let filled = points.iter().map(utilisation).collect::<Result<Vec<_>, _>>()?;
    let trips = Number::new("round-trips", points.len() as f64);
    Ok(vec![trips, number("utilisation", min_by_mean(filled)?)])
}

fn topology_3(ran: &Ran) -> Numbers {
    let points = &ran.part("gateways")?.points;
    let filled = points.iter().map(|point| filled(point, 3)).collect::<Result<Vec<_>, _>>()?;
    let gateways = Number::new("gateways", points.len() as f64);
    Ok(vec![gateways, number("utilisation", min_by_mean(filled)?)])
}

fn points(ran: &Ran) -> Numbers {
    let parts = TOPOLOGIES.map(|topology| ran.part(&format!("topology-{topology}")));
    let parts = parts.into_iter().collect::<Result<Vec<_>, _>>()?;
    let points = parts.iter().map(|part| part.points.len()).sum::<usize>();
    Ok(vec![Number::new("points", points as f64)])
}

fn unused_link(ran: &Ran) -> Numbers {
    let loss = |topology| {
        let filled = |control: &str| filled(of(ran, topology, control)?, topology);
        let samples = less(&filled(STANDARD)?, &filled(&constant(4))?);
        Ok(number(format!("loss-{topology}"), samples))
    };
    [1, 3].into_iter().map(loss).collect()
}

fn gain(ran: &Ran) -> Numbers {
    let gain = |topology| {
        let benchmark = fairness(of(ran, topology, STANDARD)?, topology)?;
        let indices = indices(ran, topology)?;
        Ok(number(format!("gain-{topology}"), less(&best(&indices, 100)?.1, &benchmark)))
    };
    TOPOLOGIES.into_iter().map(gain).collect()
}

fn near_optimal(ran: &Ran) -> Numbers {
    let indices = indices(ran, 2)?;
    let (c, index) = best(&indices, 25)?;
    let filled = utilisation(of(ran, 2, &constant(*c))?)?;
    Ok(vec![number("jain", index.clone()), number("utilisation", filled)])
}

fn several_gateways(ran: &Ran) -> Numbers {
    let indices = indices(ran, 3)?;
    let share = |c| {
        let point = of(ran, 3, &constant(c))?;
        let (long, short) = (throughput(point, "f600")?, throughput(point, "f10-1")?);
        Ok(ratio(&long, &super::per_run(&[long.clone(), short], |both| both.iter().sum())))
    };
    let shares = CONSTANTS.into_iter().map(share).collect::<Result<Vec<_>, String>>()?;
    Ok(vec![
        number("best-jain", best(&indices, u32::MAX)?.1.clone()),
        number("largest-long-share", max_by_mean(shares)?),
    ])
}

/// In each run.
fn best_constant(ran: &Ran) -> Numbers {
    let of = |topology| {
        let indices: Vec<Samples> = indices(ran, topology)?.into_iter().map(|of| of.1).collect();
        let best =
            largest_in_each_run(&indices).into_iter().map(|place| f64::from(CONSTANTS[place]));
        Ok(number(format!("best-constant-{topology}"), best.collect()))
    };
    TOPOLOGIES.into_iter().map(of).collect()
}

fn bound(ran: &Ran) -> Numbers {
    let mut numbers = Vec::new();
    for topology in TOPOLOGIES {
        let point = of(ran, topology, &constant(1600))?;
        numbers
            .push(number(format!("bound-share-{topology}"), flow(point, "f600", "bound_share")?));
        let indices = indices(ran, topology)?;
        let fall = less(&best(&indices, u32::MAX)?.1, &fairness(point, topology)?);
        numbers.push(number(format!("fall-{topology}"), fall));
    }
    Ok(numbers)
}

/// How far the best constant is from the best index or the best utilisation, in whichever of the
/// topologies it is the farthest.
fn good_everywhere(ran: &Ran) -> Numbers {
    let mut rows = Vec::new();
    for topology in TOPOLOGIES {
        rows.extend(indices(ran, topology)?.into_iter().map(|(_, index)| index));
        for c in CONSTANTS {
            rows.push(filled(of(ran, topology, &constant(c))?, topology)?);
        }
    }
    let least = |means: &[f64]| {
        let rows: Vec<&[f64]> = means.chunks(CONSTANTS.len()).collect();
        let short = |c: usize| max(rows.iter().map(|row| max(row.iter().copied()) - row[c]));
        min((0..CONSTANTS.len()).map(short))
    };
    Ok(vec![number("least-shortfall", jackknife(&rows, least))])
}

/// The benchmark's fairness, then of each constant its fairness and its share of the link.
fn of_constants<'a>(
    topology: u32,
    constants: &[u32],
    point: impl Fn(&str) -> Result<&'a PointRuns, String>,
) -> Result<Vec<Samples>, String> {
    let mut columns = vec![fairness(point(STANDARD)?, topology)?];
    for c in constants {
        let point = point(&constant(*c))?;
        columns.extend([fairness(point, topology)?, filled(point, topology)?]);
    }
    Ok(columns)
}

/// Counts constants that are fairer than standard TCP by 0.05 and use nine tenths of the link, by
/// the means of [`of_constants`].
fn good_constants(means: &[f64]) -> usize {
    let Some((benchmark, constants)) = means.split_first() else { return 0 };
    let is_good = |of: &&[f64]| of[0] >= benchmark + 0.05 && of[1] >= 0.9;
    constants.chunks(2).filter(is_good).count()
}

fn shallow_queues(ran: &Ran) -> Numbers {
    const QUEUES: [&str; 2] =
        ["drop-tail:limit=50packets", "red:limit=10packets,min-threshold=4,max-threshold=8"];
    const CONSTANTS_HERE: [u32; 4] = [4, 36, 100, 400];
    let mut cases = Vec::new();
    for topology in TOPOLOGIES {
        let part = ran.part(&format!("shallow-{topology}"))?;
        let path = if topology < 3 { "link.bottleneck.queue" } else { "link.bottleneck{n}.queue" };
        for queue in QUEUES {
            let point = |control: &str| at(part, &[(path, queue), (CONTROL, control)]);
            cases.extend(of_constants(topology, &CONSTANTS_HERE, point)?);
        }
    }
    let deep = of_constants(2, &CONSTANTS, |control| of(ran, 2, control))?;
    let without = |means: &[f64]| {
        let cases = means.chunks(1 + 2 * CONSTANTS_HERE.len());
        cases.filter(|case| good_constants(case) == 0).count() as f64
    };
    Ok(vec![
        number("cases-without-a-good-constant", jackknife(&cases, without)),
        number(
            "good-constants-in-deep-red",
            jackknife(&deep, |means| good_constants(means) as f64),
        ),
    ])
}

fn sack_and_clocks(ran: &Ran) -> Numbers {
    let best_of = |part: &str| {
        let part = ran.part(part)?;
        let index = |c| jain(at(part, &[(CONTROL, &constant(c))])?, &compared(2));
        max_by_mean([4, 16, 36, 64, 100].into_iter().map(index).collect::<Result<Vec<_>, _>>()?)
    };
    let (fine, newreno, coarse) = (best_of("topology-2")?, best_of("newreno")?, best_of("coarse")?);
    Ok(vec![
        number("sack-less-newreno", less(&fine, &newreno)),
        number("fine-less-coarse", less(&fine, &coarse)),
    ])
}

fn long_through_several(ran: &Ran) -> Numbers {
    let of = |control: &str| throughput(of(ran, 3, control)?, "f600");
    Ok(vec![number("ratio", ratio(&of(&constant(4))?, &of(STANDARD)?))])
}
