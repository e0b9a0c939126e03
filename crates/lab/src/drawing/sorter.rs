//! Rows of a table, sorted to a figure's panels and curves.

use super::columns::{self, Column, is_named, without_number};
use super::data::{Known, Point};
use super::plan::{Plan, X};
use super::table::{TableReader, number};
use crate::tables::Table;
use bentpipe_scenario::{Experiment, Figure, FigureKind};
use std::collections::BTreeMap;

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

impl Row {
    /// Its value alone.
    pub(super) fn point(&self) -> Point {
        let Row { panel, curve, x, y, .. } = *self;
        Point { panel, curve, x, y, error: None, samples: 1 }
    }
}

/// The curve of segments that a queue has dropped.
pub(super) const DROPPED: &str = "dropped";

/// Sorts rows to panels and curves.
pub(super) struct Sorter<'a> {
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
    pub(super) panels: Known,
    pub(super) curves: Known,
    pub(super) categories: Known,
    known_elements: BTreeMap<Vec<String>, usize>,
    /// The values of columns that have names of the author's.
    named: Vec<Known>,
    rows: usize,
}

impl<'a> Sorter<'a> {
    pub(super) fn new(
        experiment: &Experiment,
        plan: &'a Plan<'a>,
        reader: &TableReader,
    ) -> Sorter<'a> {
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
    pub(super) fn row(&mut self, cells: &csv::StringRecord) -> Option<Row> {
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
pub(super) fn shown_y(figure: &Figure, y: f64) -> f64 {
    let y = y / figure.per.unwrap_or(1.0);
    figure.modulo.map_or(y, |modulo| y.rem_euclid(modulo))
}
