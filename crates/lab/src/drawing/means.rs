//! Means over runs; in a run first over all that is not told apart. Of rows only sums are kept.

use super::data::Point;
use super::plan::{Plan, X};
use super::sorter::Row;
use bentpipe_scenario::Errors;
use bentpipe_scenario::repeat::SampleSummary;
use std::collections::BTreeMap;

/// Rows on their way into means.
pub(super) struct Means<'a> {
    plan: &'a Plan<'a>,
    /// Of each group its runs.
    groups: BTreeMap<Group, BTreeMap<u64, Sums>>,
}

/// What goes into one mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    panel: usize,
    curve: usize,
    x: u64,
    element: (usize, usize),
}

/// What a run adds to a mean.
#[derive(Debug, Clone, Copy)]
struct Sums {
    rows: u32,
    x: f64,
    y: f64,
}

impl<'a> Means<'a> {
    /// Of no row yet.
    pub(super) fn new(plan: &'a Plan<'a>) -> Means<'a> {
        Means { plan, groups: BTreeMap::new() }
    }

    /// Takes a row.
    pub(super) fn add(&mut self, row: &Row) {
        let scatter = matches!(self.plan.x, X::Scatter { .. });
        let x = if scatter { 0 } else { order(row.x) };
        let element = if scatter { (row.point, row.element) } else { (0, 0) };
        let group = Group { panel: row.panel, curve: row.curve, x, element };
        // Adding to it changes nothing, not even the sign of a zero.
        let none = Sums { rows: 0, x: -0.0, y: -0.0 };
        let sums = self.groups.entry(group).or_default().entry(row.run).or_insert(none);
        sums.rows += 1;
        sums.x += row.x;
        sums.y += row.y;
    }

    /// All means, sorted for curves; `runs` becomes the fewest and the most runs of one.
    pub(super) fn points(&self, runs: &mut Option<(usize, usize)>) -> Vec<Point> {
        let mut points = Vec::new();
        for (&Group { panel, curve, .. }, group) in &self.groups {
            let mean = |of: fn(&Sums) -> f64| {
                group.values().map(move |sums| of(sums) / f64::from(sums.rows))
            };
            let ys: Vec<f64> = mean(|sums| sums.y).collect();
            let x = mean(|sums| sums.x).sum::<f64>() / group.len() as f64;
            let Some(summary) = SampleSummary::of(&ys) else { continue };
            let error = match self.plan.figure.errors {
                Errors::None => None,
                Errors::Sd => summary.standard_deviation,
                Errors::Ci95 => summary.half_width_95,
                Errors::Ci99 => summary.half_width_99,
            };
            let samples = summary.samples;
            let (min, max) = runs.unwrap_or((samples, samples));
            *runs = Some((min.min(samples), max.max(samples)));
            points.push(Point { panel, curve, x, y: summary.mean, error, samples });
        }
        points
            .sort_by(|a, b| (a.panel, a.curve).cmp(&(b.panel, b.curve)).then(a.x.total_cmp(&b.x)));
        points
    }
}

/// A number of which equal values are equal, in their order.
fn order(x: f64) -> u64 {
    let bits = x.to_bits();
    if x.is_sign_negative() { !bits } else { bits | 1 << 63 }
}
