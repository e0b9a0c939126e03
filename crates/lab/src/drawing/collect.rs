//! A figure's data, from the tables: its rows, and their means over runs.

use super::data::Data;
use super::means::Means;
use super::plan::Plan;
use super::sorter::{Row, Sorter, shown_y};
use super::table::TableReader;
use super::{DrawError, JoinedPart, LiveSamples};
use crate::tables::Table;
use bentpipe_scenario::{Experiment, Figure, FigureKind};
use std::collections::BTreeMap;
use std::path::Path;

/// Reads what `plan` needs.
pub(super) fn collect(
    folder: &Path,
    experiment: &Experiment,
    plan: &Plan<'_>,
    live: &LiveSamples<'_>,
) -> Result<Data, DrawError> {
    let missing =
        |why: &str| DrawError::Data { figure: plan.figure.name.clone(), why: why.to_owned() };
    let table = plan.table.name();
    let Some(mut reader) = TableReader::open(folder, table)? else {
        return Err(missing(&format!("has no data: there is no table {table}")));
    };
    let mut sorter = Sorter::new(experiment, plan, &reader);
    let (mut means, mut rows) = (Means::new(plan), Vec::new());
    let averaged = matches!(plan.kind, FigureKind::Lines | FigureKind::Points | FigureKind::Bars);
    let share = plan.figure.share;
    let compared = averaged && !share && plan.table == Table::Results;
    let (mut measured, flow) = (Means::new(plan), reader.column("flow"));
    reader.rows(|cells| {
        let Some(row) = sorter.row(cells) else { return };
        if compared && row.run == 0 {
            let flow = flow.and_then(|at| cells.get(at)).unwrap_or_default();
            let samples = live(row.point, flow, &plan.y.column);
            let shown = samples.into_iter().map(|y| shown_y(plan.figure, y));
            (0..).zip(shown).for_each(|(run, y)| measured.add(&Row { run, y, ..row }));
        }
        // Of most figures only sums are kept.
        if averaged && !share { means.add(&row) } else { rows.push(row) }
    })?;
    if share {
        into_shares(&mut rows);
    }
    let mut data = Data {
        live: measured.points(&mut None),
        panels: sorter.panels.0,
        curves: sorter.curves.0,
        categories: sorter.categories.0,
        ..Data::default()
    };
    data.points = if averaged {
        rows.iter().for_each(|row| means.add(row));
        means.points(&mut data.runs)
    } else {
        rows.iter().map(Row::point).collect()
    };
    if data.points.is_empty() {
        return Err(missing(&format!(
            "has no data: no row of {table} has a value of `{}`",
            plan.y.column
        )));
    }
    let (curves, panels) = (data.curves.len(), data.panels.len());
    let most = bentpipe_plot::palette::MAX;
    if curves > most || panels > 24 {
        let why = format!(
            "has {panels} panels of {curves} curves; it may have 24 of {most} (see `where`)"
        );
        return Err(missing(&why));
    }
    Ok(data)
}

/// Reads what `figure` needs of each of `parts`, as data of one figure.
pub(super) fn together(figure: &Figure, parts: &[JoinedPart<'_>]) -> Result<Data, DrawError> {
    let mut all = Data::default();
    for part in parts {
        let plan = Plan::new(part.experiment, figure)?;
        all.join(collect(part.folder, part.experiment, &plan, part.live)?, part.curve);
    }
    Ok(all)
}

/// Each y as a share of the sum of its run.
fn into_shares(rows: &mut [Row]) {
    let mut sums: BTreeMap<(usize, u64), f64> = BTreeMap::new();
    for row in rows.iter() {
        *sums.entry((row.point, row.run)).or_default() += row.y;
    }
    for row in rows {
        let sum = sums[&(row.point, row.run)];
        row.y = if sum > 0.0 { row.y / sum } else { 0.0 };
    }
}
