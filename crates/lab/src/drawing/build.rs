//! Data with the names that a figure says.

use super::data::{Data, Point};
use super::plan::{Plan, X};
use super::sorter::DROPPED;
use super::{DrawError, overlay};
use crate::tables::Table;
use bentpipe_plot::axes::{AxisSpec, Limits, Unit};
use bentpipe_plot::chart::{self, Curve, Datum, Figure, Panel, Quartiles, Reference};
use bentpipe_scenario::{AxisName, AxisText, Errors, Experiment, FigureKind, Line};
use std::collections::BTreeMap;

/// The figure of `data`.
///
/// # Errors
/// [`DrawError::Named`] for a printed value of what is not shown.
pub(super) fn figure(
    experiment: &Experiment,
    plan: &Plan<'_>,
    data: &Data,
) -> Result<Figure, DrawError> {
    let spec = plan.figure;
    let cdf = plan.kind == FigureKind::Cdf;
    let unit_of_y = match (spec.share, spec.per) {
        (true, _) => Unit::Share,
        (_, Some(_)) => Unit::None,
        _ => plan.y.unit.clone(),
    };
    let of_y = |log: bool| {
        let (min, max) = ends_with(data, spec);
        let bars = matches!(plan.kind, FigureKind::Bars);
        let cut = !log && cut_at_zero(data);
        Limits {
            log,
            zero: bars || cut || (min >= 0.0 && min <= 0.5 * max),
            nice: true,
            from: cut.then_some(0.0),
            ..Limits::default()
        }
    };
    let log = |axis: AxisName| spec.log.contains(&axis);
    let y_label =
        if spec.share { format!("share of {}", plan.y.label) } else { plan.y.label.clone() };
    let (x, y) = if cdf {
        let what = match plan.table {
            Table::Transfers => "transfers",
            Table::Runs => "runs",
            Table::Links => "links",
            Table::Gateways => "gateways",
            Table::Groups => "groups",
            Table::Results | Table::Series => "flows",
        };
        let nice = Limits { zero: true, nice: true, to: Some(1.0), ..Limits::default() };
        let limits = Limits { log: log(AxisName::X), ..Limits::default() };
        (
            axis(&spec.x_axis, &y_label, unit_of_y, limits, Vec::new()),
            axis(&spec.y_axis, &format!("share of {what}"), Unit::Share, nice, Vec::new()),
        )
    } else {
        let limits = Limits { log: log(AxisName::X), ..Limits::default() };
        let (label, unit) = match &plan.x {
            X::Of { label, unit, .. } | X::Scatter { label, unit, .. } => {
                (label.clone(), unit.clone())
            }
            X::Time => ("time".to_owned(), Unit::Seconds),
            X::Values => (String::new(), Unit::None),
        };
        (
            axis(&spec.x_axis, &label, unit, limits, data.categories.clone()),
            axis(&spec.y_axis, &y_label, unit_of_y, of_y(log(AxisName::Y)), Vec::new()),
        )
    };
    let styles = if plan.kind == FigureKind::Sequence { of_sequences(data) } else { Vec::new() };
    let style_of = |curve: usize| styles.get(curve).copied().unwrap_or(curve);
    let overlays = overlay::overlays(plan, data, style_of)?;
    let mut panels: Vec<Panel> = data
        .panels
        .iter()
        .map(|title| Panel { title: title.clone(), curves: Vec::new() })
        .collect();
    let mut parts: BTreeMap<(usize, usize), Vec<&Point>> = BTreeMap::new();
    for point in &data.points {
        parts.entry((point.panel, point.curve)).or_default().push(point);
    }
    for ((panel, style), points) in parts {
        let name = data.curves[style].clone();
        let drawn = drawn(plan, &name, &points);
        panels[panel].curves.push(Curve { name, style: style_of(style), data: drawn });
    }
    let title = match spec.title.as_str() {
        "" => experiment.point(0).scenario.title,
        title => title.to_owned(),
    };
    let references = spec.references.iter().map(|reference| {
        let label = reference.label.clone();
        match reference.line {
            Line::Horizontal(y) => Reference::Horizontal { y, label },
            Line::Vertical(x) => Reference::Vertical { x, label },
            Line::Power { factor, exponent } => Reference::Power { factor, exponent, label },
        }
    });
    let references = references.collect();
    let caption = caption(experiment, plan, data);
    Ok(Figure { title, caption, x, y, panels, references, overlays })
}

fn axis(
    text: &AxisText,
    label: &str,
    unit: Unit,
    limits: Limits,
    categories: Vec<String>,
) -> AxisSpec {
    let (from, to) =
        text.range.map_or((limits.from, limits.to), |(from, to)| (Some(from), Some(to)));
    AxisSpec {
        label: text.label.clone().unwrap_or_else(|| label.to_owned()),
        unit,
        shown: text.unit.clone(),
        limits: Limits { from, to, ..limits },
        categories,
    }
}

/// Whether error bars go on below zero, where no value is: there the axis begins, and cuts them
/// off.
fn cut_at_zero(data: &Data) -> bool {
    data.points.iter().all(|point| point.y >= 0.0) && ends(data).0 < 0.0
}

/// The least and the greatest y.
fn ends(data: &Data) -> (f64, f64) {
    let ends = data.points.iter().map(|point| {
        let error = point.error.unwrap_or(0.0);
        (point.y - error, point.y + error)
    });
    ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), (low, high)| {
        (min.min(low), max.max(high))
    })
}

/// As [`ends`], with the numbers that are printed.
fn ends_with(data: &Data, spec: &bentpipe_scenario::Figure) -> (f64, f64) {
    spec.printed.iter().fold(ends(data), |(min, max), printed| {
        let (y, half) = (printed.y.middle(), printed.y.half().unwrap_or(0.0));
        (min.min(y - half), max.max(y + half))
    })
}

/// The styles of segments and acknowledgments. Those of one sender have one color, unless it is the
/// only one.
fn of_sequences(data: &Data) -> Vec<usize> {
    let sender = |name: &str| name.rsplit_once(": ").map_or("", |(sender, _)| sender).to_owned();
    let senders: Vec<String> = data.curves.iter().map(|name| sender(name)).collect();
    let mut distinct = senders.clone();
    let mut known = std::collections::BTreeSet::new();
    distinct.retain(|sender| known.insert(sender.clone()));
    match distinct.len() {
        0 | 1 => data.curves.iter().map(|name| OF_ONE[what(name)]).collect(),
        _ => senders.iter().filter_map(|one| distinct.iter().position(|it| it == one)).collect(),
    }
}

/// The styles of segments, acknowledgments and drops of a sender alone.
const OF_ONE: [usize; 3] = [0, 1, 3];

/// The place in [`OF_ONE`] of a curve of a sequence.
fn what(name: &str) -> usize {
    if name.ends_with("acknowledgment") {
        1
    } else if name.ends_with(DROPPED) {
        2
    } else {
        0
    }
}

/// Values over time, interrupted where they have come to the modulus.
fn interrupted(points: Vec<Datum>, modulo: Option<f64>) -> Vec<Datum> {
    let Some(modulo) = modulo else { return points };
    let mut all: Vec<Datum> = Vec::with_capacity(points.len());
    for point in points {
        if all.last().is_some_and(|last| (point.y - last.y).abs() > modulo / 2.0) {
            all.push(Datum::new(point.x, f64::NAN));
        }
        all.push(point);
    }
    all
}

fn drawn(plan: &Plan<'_>, name: &str, points: &[&Point]) -> chart::Data {
    let data = || {
        points.iter().map(|point| Datum { x: point.x, y: point.y, error: point.error }).collect()
    };
    match plan.kind {
        FigureKind::Lines => chart::Data::Lines(data()),
        FigureKind::Points => chart::Data::Points(data()),
        FigureKind::Bars => chart::Data::Bars(data()),
        FigureKind::Series => chart::Data::Series(interrupted(data(), plan.figure.modulo)),
        FigureKind::Sequence => match what(name) {
            1 => chart::Data::Steps(data()),
            2 => chart::Data::Crosses(data()),
            _ => chart::Data::Dots(data()),
        },
        FigureKind::Cdf => {
            let samples: Vec<f64> = points.iter().map(|point| point.y).collect();
            chart::Data::Steps(chart::cdf(&samples))
        }
        FigureKind::Box => chart::Data::Boxes(boxes(points)),
    }
}

fn boxes(points: &[&Point]) -> Vec<Quartiles> {
    let mut places: Vec<f64> = points.iter().map(|point| point.x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let at = |x: f64| {
        let here = points.iter().filter(|point| point.x == x);
        chart::quartiles(x, &here.map(|point| point.y).collect::<Vec<f64>>())
    };
    places.into_iter().filter_map(at).collect()
}

/// What is said below, and what a reader has to know of the data.
fn caption(experiment: &Experiment, plan: &Plan<'_>, data: &Data) -> String {
    let number = |(min, max): (usize, usize)| {
        if min == max { format!("{min} runs") } else { format!("{min} to {max} runs") }
    };
    let has_errors = data.points.iter().any(|point| point.error.is_some_and(|error| error > 0.0));
    let several = data.runs.filter(|(_, max)| *max > 1).map(number);
    let said = match (plan.kind, several) {
        (FigureKind::Series | FigureKind::Sequence, _) if experiment.repeat.max() > 1 => {
            format!("Run {} of each point.", plan.figure.run)
        }
        (FigureKind::Box, _) => {
            "Boxes: quartiles; whiskers: the last values within 1.5 heights of the box.".to_owned()
        }
        (_, None) => String::new(),
        (_, Some(runs)) => match plan.figure.errors {
            Errors::None => format!("Means of {runs}."),
            _ if !has_errors => format!("Means of {runs}."),
            Errors::Sd => format!("Means of {runs}; error bars: ± one standard deviation of runs."),
            Errors::Ci95 => format!("Means of {runs}; error bars: 95 % confidence intervals."),
            Errors::Ci99 => format!("Means of {runs}; error bars: 99 % confidence intervals."),
        },
    };
    let log = plan.figure.log.contains(&AxisName::Y);
    let cut = if !log && plan.figure.y_axis.range.is_none() && cut_at_zero(data) {
        "Error bars are cut off at zero."
    } else {
        ""
    };
    let parts = [plan.figure.caption.trim(), said.as_str(), cut];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}
