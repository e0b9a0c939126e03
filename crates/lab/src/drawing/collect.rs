//! A figure's data, from the tables: who belongs to which curve, and the means over runs.

use super::columns::{self, Column, is_named, without_number};
use super::means::Means;
use super::plan::{Plan, X};
use super::table::{TableReader, number};
use super::{DrawError, JoinedPart, LiveSamples};
use crate::tables::Table;
use bentpipe_scenario::{Experiment, Figure, FigureKind};
use std::collections::BTreeMap;
use std::path::Path;

/// What a figure shows.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Data {
    /// The panels' titles.
    pub(super) panels: Vec<String>,
    /// The curves' names.
    pub(super) curves: Vec<String>,
    /// What stands side by side below, if these are names.
    pub(super) categories: Vec<String>,
    pub(super) points: Vec<Point>,
    /// Means of what real hosts have given at some of those points.
    pub(super) live: Vec<Point>,
    /// The fewest and the most runs of a mean.
    pub(super) runs: Option<(usize, usize)>,
}

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point {
    pub(super) panel: usize,
    pub(super) curve: usize,
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) error: Option<f64>,
    /// How many values it is the mean of.
    pub(super) samples: usize,
}

/// A row of a table that belongs to the figure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) panel: usize,
    pub(super) curve: usize,
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) point: usize,
    pub(super) run: u64,
    /// Which flow, link, group or transfer.
    pub(super) element: usize,
}

/// Texts in the order in which they came, each with its number.
#[derive(Debug, Default)]
struct Known(Vec<String>);

impl Known {
    fn number(&mut self, text: &str) -> usize {
        self.0.iter().position(|known| known == text).unwrap_or_else(|| {
            self.0.push(text.to_owned());
            self.0.len() - 1
        })
    }
}

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
        rows.iter().map(Point::of).collect()
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

impl Data {
    /// Takes the data of another experiment's figure, whose curves get this name.
    fn join(&mut self, other: Data, name: &str) {
        let numbers = |mine: &mut Vec<String>, theirs: &[String]| -> Vec<usize> {
            let mut known = Known(std::mem::take(mine));
            let numbers = theirs.iter().map(|text| known.number(text)).collect();
            *mine = known.0;
            numbers
        };
        let named = |curve: &String| match curve.as_str() {
            "" => name.to_owned(),
            curve => format!("{name}, {curve}"),
        };
        let curves: Vec<String> = other.curves.iter().map(named).collect();
        let panels = numbers(&mut self.panels, &other.panels);
        let curves = numbers(&mut self.curves, &curves);
        let categories = numbers(&mut self.categories, &other.categories);
        let moved = |point: Point| Point {
            panel: panels[point.panel],
            curve: curves[point.curve],
            x: categories.get(point.x as usize).map_or(point.x, |at| *at as f64),
            ..point
        };
        self.points.extend(other.points.into_iter().map(moved));
        self.live.extend(other.live.into_iter().map(moved));
        let all = self.runs.into_iter().chain(other.runs);
        self.runs = all.reduce(|(a, b), (c, d)| (a.min(c), b.max(d)));
    }
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

/// The data as CSV: a row each point.
pub(super) fn csv(data: &Data) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // A vector takes everything.
    let _ = writer.write_record(["panel", "curve", "x", "y", "error", "samples"]);
    for point in &data.points {
        let name = |names: &[String], index: usize| names.get(index).cloned().unwrap_or_default();
        let named = data.categories.get(point.x as usize).filter(|_| !data.categories.is_empty());
        let x = named.cloned().unwrap_or_else(|| point.x.to_string());
        let error = point.error.map_or_else(String::new, |error| error.to_string());
        let (panel, curve) = (name(&data.panels, point.panel), name(&data.curves, point.curve));
        let _ = writer.write_record([
            panel,
            curve,
            x,
            point.y.to_string(),
            error,
            point.samples.to_string(),
        ]);
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

impl Point {
    /// A value alone.
    fn of(row: &Row) -> Point {
        let Row { panel, curve, x, y, .. } = *row;
        Point { panel, curve, x, y, error: None, samples: 1 }
    }
}

/// The flows whose sequences `plan` shows, in the order of the file.
fn recorded_flows(experiment: &Experiment, plan: &Plan<'_>) -> Vec<String> {
    let scenario = experiment.point(0).scenario;
    let element = Column::Own("element".to_owned());
    let asked = plan.only.iter().any(|(column, _)| *column == element);
    let chosen = scenario.record.flows.as_ref();
    let recorded = |index: &usize| chosen.is_none_or(|flows| flows.contains(index));
    let of_flows = plan.y.column == "sequence" && !asked;
    let flows = (0..scenario.flows.len()).filter(recorded).filter(|_| of_flows);
    let flows = flows.map(|index| &scenario.flows[index]).filter(|flow| !flow.background);
    flows.flat_map(bentpipe_scenario::Flow::instances).collect()
}

/// A value of y as `figure` shows it.
fn shown_y(figure: &Figure, y: f64) -> f64 {
    let y = y / figure.per.unwrap_or(1.0);
    figure.modulo.map_or(y, |modulo| y.rem_euclid(modulo))
}

/// The curve of segments that a queue has dropped.
pub(super) const DROPPED: &str = "dropped";

/// Sorts rows to panels and curves.
struct Sorter<'a> {
    plan: &'a Plan<'a>,
    /// The swept values of each point; `None` of one that is not shown.
    points: Vec<Option<Vec<(String, String)>>>,
    point: Option<usize>,
    run: Option<usize>,
    background: Option<usize>,
    quantity: Option<usize>,
    y: Option<usize>,
    x: Option<usize>,
    elements: Vec<usize>,
    columns: BTreeMap<String, usize>,
    panels: Known,
    curves: Known,
    categories: Known,
    known_elements: BTreeMap<Vec<String>, usize>,
    /// The values of columns that have names of the author's.
    named: Vec<Known>,
    rows: usize,
}

impl<'a> Sorter<'a> {
    fn new(experiment: &Experiment, plan: &'a Plan<'a>, reader: &TableReader) -> Sorter<'a> {
        let shown = |point| plan.shows(experiment, point).then(|| experiment.values(point));
        let series = plan.table == Table::Series;
        let of_elements = match plan.table {
            Table::Results => &["flow"][..],
            Table::Links => &["link", "from"],
            Table::Gateways => &["gateway"],
            Table::Groups => &["group"],
            Table::Series => &["element"],
            Table::Runs | Table::Transfers => &[],
        };
        let own = |column: &Column| match column {
            Column::Own(name) => Some(name.clone()),
            Column::Flows => Some("flow".to_owned()),
            Column::Quantity => Some("quantity".to_owned()),
            Column::Swept(_, name) => Some(name.clone()),
        };
        let x = match &plan.x {
            X::Of { column, .. } => Some(column),
            _ => None,
        };
        let only = plan.only.iter().chain(&plan.names).map(|(column, _)| column);
        let all = plan.panels.iter().chain(&plan.curves).chain(x).chain(only);
        let columns =
            all.filter_map(own).filter_map(|name| reader.column(&name).map(|at| (name, at)));
        // Series come in the order in which flows begin; they are shown in that of the file.
        let element = Column::Own("element".to_owned());
        let flows = if series { recorded_flows(experiment, plan) } else { Vec::new() };
        let known = |(column, _): &(Column, Vec<String>)| {
            Known(if *column == element { flows.clone() } else { Vec::new() })
        };
        let named: Vec<Known> = plan.names.iter().map(known).collect();
        let names = plan.names.iter().find(|(column, _)| *column == element);
        let called = |(index, flow): (usize, &String)| {
            names.and_then(|(_, names)| names.get(index)).unwrap_or(flow).clone()
        };
        let panels = match plan.panels[..] {
            [ref one] if *one == element => flows.iter().enumerate().map(called).collect(),
            _ => Vec::new(),
        };
        // Who asks for a flow by its name gets it.
        let asked = plan.only.iter().any(|(column, _)| own(column).as_deref() == Some("flow"));
        Sorter {
            plan,
            points: (0..experiment.len()).map(shown).collect(),
            point: reader.column("point"),
            run: reader.column("run"),
            background: reader.column("background").filter(|_| !asked),
            quantity: reader.column("quantity"),
            y: reader.column(if series { "value" } else { &plan.y.column }),
            x: match &plan.x {
                X::Scatter { column, .. } => reader.column(column),
                X::Time => reader.column("time_s"),
                _ => None,
            },
            elements: of_elements.iter().filter_map(|name| reader.column(name)).collect(),
            columns: columns.collect(),
            panels: Known(panels),
            curves: Known::default(),
            categories: Known::default(),
            known_elements: BTreeMap::new(),
            named,
            rows: 0,
        }
    }

    /// What a row adds, if anything.
    fn row(&mut self, cells: &csv::StringRecord) -> Option<Row> {
        let plan = self.plan;
        let cell = |at: Option<usize>| at.and_then(|at| cells.get(at));
        let point: usize = cell(self.point)?.parse().ok()?;
        let run: u64 = cell(self.run)?.parse().ok()?;
        let values = self.points.get(point)?.clone()?;
        if cell(self.background) == Some("true") {
            return None;
        }
        if plan.table == Table::Series {
            let quantity = cell(self.quantity)?;
            if run != u64::from(plan.figure.run) || !plan.y.quantities.contains(&quantity) {
                return None;
            }
        }
        for (column, wanted) in &plan.only {
            let text = self.text(column, &values, cells);
            if !matches!(column, Column::Swept(..))
                && !wanted.iter().any(|name| is_named(&text, name))
            {
                return None;
            }
        }
        let y = shown_y(plan.figure, number(cell(self.y)?)?);
        let panel = self.label(&plan.panels, &values, cells);
        let mut curve = self.label(&plan.curves, &values, cells);
        if plan.kind == FigureKind::Sequence {
            let what = match cell(self.quantity) {
                Some("ack") => "acknowledgment",
                Some("dropped") => DROPPED,
                _ => "segment",
            };
            curve = if curve.is_empty() { what.to_owned() } else { format!("{curve}: {what}") };
        }
        let x = match &plan.x {
            X::Of { column: Column::Swept(_, name), numbers: true, .. } => {
                // Where it stands in the table, it is in the base unit.
                number(cells.get(*self.columns.get(name)?)?)?
            }
            X::Of { column, .. } => {
                let text = self.text(column, &values, cells);
                let text = self.shown(column, text);
                self.categories.number(&text) as f64
            }
            X::Scatter { .. } | X::Time => number(cell(self.x)?)?,
            X::Values => 0.0,
        };
        self.rows += 1;
        let count = self.known_elements.len();
        let element = match (self.elements.is_empty(), plan.kind) {
            // Those of equal x are one.
            (_, FigureKind::Lines) if matches!(plan.x, X::Scatter { .. }) => {
                *self.known_elements.entry(vec![x.to_string()]).or_insert(count)
            }
            (true, _) => self.rows,
            (false, _) => {
                let name = self.elements.iter().filter_map(|at| cells.get(*at)).map(str::to_owned);
                *self.known_elements.entry(name.collect()).or_insert(count)
            }
        };
        let (panel, curve) = (self.panels.number(&panel), self.curves.number(&curve));
        Some(Row { panel, curve, x, y, point, run, element })
    }

    fn text(
        &self,
        column: &Column,
        values: &[(String, String)],
        cells: &csv::StringRecord,
    ) -> String {
        let own = |name: &str| {
            self.columns.get(name).and_then(|at| cells.get(*at)).unwrap_or_default().to_owned()
        };
        match column {
            Column::Swept(index, _) => {
                values.get(*index).map_or_else(String::new, |(_, value)| value.clone())
            }
            Column::Own(name) => own(name),
            Column::Quantity => own("quantity"),
            Column::Flows => without_number(&own("flow")).to_owned(),
        }
    }

    /// What the author calls a value.
    fn shown(&mut self, column: &Column, text: String) -> String {
        let named =
            self.plan.names.iter().zip(&mut self.named).find(|((named, _), _)| named == column);
        let Some(((_, names), known)) = named else { return text };
        let index = known.number(&text);
        names.get(index).cloned().unwrap_or(text)
    }

    /// The name of what has these values.
    fn label(
        &mut self,
        columns: &[Column],
        values: &[(String, String)],
        cells: &csv::StringRecord,
    ) -> String {
        let mut parts = Vec::new();
        for column in columns {
            let raw = self.text(column, values, cells);
            let text = self.shown(column, raw.clone());
            let bare =
                text == raw && (text.parse::<f64>().is_ok() || text == "true" || text == "false");
            match column {
                // A number alone says nothing.
                Column::Swept(index, _) if bare => {
                    let paths: Vec<&str> = values.iter().map(|(path, _)| path.as_str()).collect();
                    let name = columns::shortest_name(paths[*index], &paths);
                    parts.push(format!("{name} = {text}"));
                }
                _ => parts.push(text),
            }
        }
        parts.join(", ")
    }
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
