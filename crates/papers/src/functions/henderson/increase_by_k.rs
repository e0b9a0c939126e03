//! Figure 4.10: Increase-by-K for one transfer.

use super::{Function, Numbers, SHORT, Samples, at, jain, less, max_by_mean, mean, number, ratio};
use super::{LONG, min_by_mean, per_run, throughput, used, utilisation};
use crate::functions::samples::{jackknife, largest_in_each_run, max, min};
use crate::run::{Number, PointRuns, Ran};

pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("H-4.10-E", curves),
    ("H-4.10-a", no_limit),
    ("H-4.10-b", small_and_large),
    ("H-4.10-c", newreno_over_fifo),
    ("H-4.10-d", modest),
    ("H-4.10-e", whose_loss),
    ("H-4.10-f", as_if_shorter),
];

const KS: [u32; 8] = [1, 2, 3, 4, 6, 8, 16, 32];
const FIFO: &str = "1e-9";
const RED: &str = "0.002";
const HOPS: [&str; 5] = ["f10-1", "f10-2", "f10-3", "f10-4", "f10-5"];

/// A curve of the figure: an experiment, and the transfer that increases by K in it.
#[derive(Clone, Copy)]
struct Curve {
    part: &'static str,
    transfer: &'static str,
    several: bool,
}

/// Topologies 1 to 3, and the transfer of 300 ms.
const CURVES: [Curve; 4] = [
    Curve { part: "topology-1", transfer: "f600", several: false },
    Curve { part: "topology-2", transfer: "f600", several: false },
    Curve { part: "topology-3", transfer: "f600", several: true },
    Curve { part: "middle", transfer: "f300", several: false },
];

impl Curve {
    fn at<'a>(
        self,
        ran: &'a Ran,
        (sack, weight): (&str, &str),
        k: u32,
    ) -> Result<&'a PointRuns, String> {
        let queue = if self.several { "bottleneck{n}" } else { "bottleneck" };
        let (queue, control) = (
            format!("link.{queue}.queue.weight"),
            format!("flow.{}.tcp.congestion", self.transfer),
        );
        let k = format!("increase-by-k:k={k}");
        at(ran.part(self.part)?, &[("tcp.sack", sack), (&queue, weight), (&control, &k)])
    }

    /// Of the whole network.
    fn fairness(self, point: &PointRuns) -> Result<Samples, String> {
        match self.part {
            "topology-1" => jain(point, &["f600", "f10"]),
            "topology-3" => jain(point, &[&["f600"][..], &HOPS].concat()),
            _ => jain(point, &[&LONG[..], &SHORT].concat()),
        }
    }

    /// In topology 3, of the first gateway.
    fn filled(self, point: &PointRuns) -> Result<Samples, String> {
        if self.several { used(point, &["f600", "f10-1", "n1"]) } else { utilisation(point) }
    }

    fn throughputs(self, ran: &Ran, case: (&str, &str)) -> Result<Vec<Samples>, String> {
        let of = |k| throughput(self.at(ran, case, k)?, self.transfer);
        KS.into_iter().map(of).collect()
    }

    fn indices(self, ran: &Ran, case: (&str, &str)) -> Result<Vec<Samples>, String> {
        let of = |k| self.fairness(self.at(ran, case, k)?);
        KS.into_iter().map(of).collect()
    }
}

const SACK_RED: (&str, &str) = ("on", RED);

fn curves(ran: &Ran) -> Numbers {
    let drawn = CURVES.iter().filter(|curve| curve.indices(ran, SACK_RED).is_ok()).count();
    Ok(vec![Number::new("curves", drawn as f64), Number::new("constants", KS.len() as f64)])
}

fn no_limit(ran: &Ran) -> Numbers {
    let mut steps = Vec::new();
    let mut gains = Vec::new();
    for curve in CURVES {
        let rates = curve.throughputs(ran, SACK_RED)?;
        steps.extend(rates.windows(2).map(|pair| ratio(&pair[1], &pair[0])));
        gains.push(ratio(&rates[5], &rates[0]));
    }
    Ok(vec![
        number("smallest-step", min_by_mean(steps)?),
        number("smallest-gain-at-8", min_by_mean(gains)?),
    ])
}

/// K of 2 and 4 against 1, in the topologies; the largest K against the best.
fn small_and_large(ran: &Ran) -> Numbers {
    let (mut gains, mut falls) = (Vec::new(), Vec::new());
    for curve in CURVES {
        let indices = curve.indices(ran, SACK_RED)?;
        gains.extend([1, 3].map(|k| less(&indices[k], &indices[0])));
        falls.push(less(&max_by_mean(indices.clone())?, &indices[7]));
    }
    Ok(vec![
        number("smallest-gain", min_by_mean(gains)?),
        number("largest-fall", max_by_mean(falls)?),
    ])
}

fn newreno_over_fifo(ran: &Ran) -> Numbers {
    let mut numbers = Vec::new();
    for (topology, curve) in (1..).zip(&CURVES[..3]) {
        let rates = curve.throughputs(ran, ("off", FIFO))?;
        let best = (0..KS.len()).max_by(|a, b| mean(&rates[*a]).total_cmp(&mean(&rates[*b])));
        let best = best.ok_or("no K")?;
        let each = largest_in_each_run(&rates).into_iter().map(|place| f64::from(KS[place]));
        numbers.push(number(format!("best-constant-{topology}"), each.collect()));
        let fall = ratio(&rates[7], &rates[best]);
        numbers.push(number(format!("fall-at-32-{topology}"), fall));
    }
    Ok(numbers)
}

/// K of 2, 3, 4 and 6 in all cases of the three topologies.
fn modest(ran: &Ran) -> Numbers {
    let (mut gains, mut changes) = (Vec::new(), Vec::new());
    for curve in &CURVES[..3] {
        for case in [("off", FIFO), ("off", RED), ("on", FIFO), ("on", RED)] {
            let benchmark = curve.at(ran, case, 1)?;
            let (fair, full) = (curve.fairness(benchmark)?, curve.filled(benchmark)?);
            for k in [2, 3, 4, 6] {
                let point = curve.at(ran, case, k)?;
                gains.push(less(&curve.fairness(point)?, &fair));
                let change = less(&curve.filled(point)?, &full);
                let sign = mean(&change).signum();
                changes.push(super::scaled(&change, sign));
            }
        }
    }
    Ok(vec![
        number("smallest-gain", min_by_mean(gains)?),
        number("largest-change-of-utilisation", max_by_mean(changes)?),
    ])
}

/// Of what the others lose to K = 4, the part that falls on those with more than a sixth before.
fn whose_loss(ran: &Ran) -> Numbers {
    let curve = CURVES[1];
    let (before, after) = (curve.at(ran, SACK_RED, 1)?, curve.at(ran, SACK_RED, 4)?);
    let six = [&LONG[..], &SHORT].concat();
    let rates = six.iter().map(|name| throughput(before, name)).collect::<Result<Vec<_>, _>>()?;
    let fair = mean(&per_run(&rates, mean));
    let mut losses = Vec::new();
    for (name, rate) in six.iter().zip(&rates).skip(1) {
        let loss = less(rate, &throughput(after, name)?);
        losses.push((mean(rate) > fair, loss));
    }
    let (rich, columns): (Vec<bool>, Vec<Samples>) = losses.into_iter().unzip();
    let share = |means: &[f64]| {
        let of_rich = means.iter().zip(&rich).filter(|(_, rich)| **rich).map(|(loss, _)| loss);
        of_rich.sum::<f64>() / means.iter().sum::<f64>()
    };
    Ok(vec![number("borne-by-the-rich", jackknife(&columns, share))])
}

/// The largest deviation of another transfer's throughput, for the round trip for which it is
/// smallest.
fn as_if_shorter(ran: &Ran) -> Numbers {
    let bold = CURVES[1].at(ran, SACK_RED, 4)?;
    let others = [&LONG[1..], &SHORT].concat();
    let mut columns =
        others.iter().map(|name| throughput(bold, name)).collect::<Result<Vec<_>, _>>()?;
    for point in &ran.part("shorter")?.points {
        for name in &others {
            columns.push(throughput(point, name)?);
        }
    }
    let smallest = |means: &[f64]| {
        let (bold, shorter) = means.split_at(others.len());
        let of = |point: &[f64]| max(bold.iter().zip(point).map(|(a, b)| (a / b - 1.0).abs()));
        min(shorter.chunks(others.len()).map(of))
    };
    Ok(vec![number("largest-deviation", jackknife(&columns, smallest))])
}
