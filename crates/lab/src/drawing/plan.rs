//! What a figure needs: its words as columns that are there.

use super::DrawError;
use super::columns::{self, Column, QUANTITIES};
use crate::cell::{CellKind, Heading};
use crate::tables::Table;
use bentpipe_plot::axes::Unit;
use bentpipe_scenario::{Experiment, Figure, FigureKind, Word};
use std::collections::BTreeMap;

/// A figure whose words are known.
#[derive(Debug, Clone)]
pub(super) struct Plan<'a> {
    pub(super) figure: &'a Figure,
    pub(super) table: Table,
    pub(super) kind: FigureKind,
    pub(super) x: X,
    pub(super) y: Y,
    pub(super) curves: Vec<Column>,
    pub(super) panels: Vec<Column>,
    pub(super) only: Vec<(Column, Vec<String>)>,
    pub(super) names: Vec<(Column, Vec<String>)>,
}

/// What runs from left to right.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum X {
    /// Numbers or names that a point or an element has.
    Of { column: Column, numbers: bool, label: String, unit: Unit },
    /// A number that each row has: a point for each element.
    Scatter { column: String, label: String, unit: Unit },
    /// The time of a series.
    Time,
    /// The values themselves.
    Values,
}

/// What runs from bottom to top.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Y {
    /// The column, or the series' quantities.
    pub(super) column: String,
    pub(super) quantities: Vec<&'static str>,
    pub(super) label: String,
    pub(super) unit: Unit,
}

/// How points differ without anybody having said so, in flows.
const FEW: usize = 8;

impl<'a> Plan<'a> {
    /// That of `figure`.
    pub(super) fn new(experiment: &Experiment, figure: &'a Figure) -> Result<Plan<'a>, DrawError> {
        let (table, y) = find_y(figure)?;
        let words = Words { experiment, figure, table, swept: columns::swept(experiment) };
        let x = words.x()?;
        let kind = figure.kind.unwrap_or(match (&x, y.column.as_str()) {
            (X::Time, "sequence") => FigureKind::Sequence,
            (X::Time, _) => FigureKind::Series,
            (X::Scatter { .. }, _) => FigureKind::Points,
            (X::Of { numbers: true, .. }, _) => FigureKind::Lines,
            _ => FigureKind::Bars,
        });
        let x = if kind == FigureKind::Cdf { X::Values } else { x };
        let over_time = matches!(kind, FigureKind::Series | FigureKind::Sequence);
        if over_time != (x == X::Time) {
            let why = format!("kind `{}` goes with series over time", <&str>::from(kind));
            return Err(words.wrong(&figure.y, &why));
        }
        let all = |list: &[Word]| {
            list.iter().map(|word| words.column(word)).collect::<Result<Vec<_>, _>>()
        };
        let pairs = |list: &[(Word, Vec<String>)]| {
            let pair =
                |(word, values): &(Word, Vec<String>)| Ok((words.column(word)?, values.clone()));
            list.iter().map(pair).collect::<Result<Vec<_>, DrawError>>()
        };
        let panels = all(&figure.panels)?;
        let only = pairs(&figure.only)?;
        let mut plan = Plan {
            curves: Vec::new(),
            names: pairs(&figure.names)?,
            figure,
            table,
            kind,
            x,
            y,
            panels,
            only,
        };
        plan.curves = match &figure.curves {
            Some(list) => all(list)?,
            None => plan.usual_curves(experiment, &words),
        };
        plan.check_points(experiment)?;
        Ok(plan)
    }

    /// Swept fields that are not said yet, and flows if there are several.
    fn usual_curves(&self, experiment: &Experiment, words: &Words<'_>) -> Vec<Column> {
        let mut used = self.used();
        let mut curves = Vec::new();
        for (index, heading) in words.swept.iter().enumerate() {
            let column = Column::Swept(index, heading.name.clone());
            if !used.contains(&index) && differs(experiment, &self.points(experiment), &used, index)
            {
                used.push(index);
                curves.push(column);
            }
        }
        let element = match self.table {
            Table::Results | Table::Transfers => Column::Flows,
            Table::Links => Column::Own("link".to_owned()),
            Table::Gateways => Column::Own("gateway".to_owned()),
            Table::Groups => Column::Own("group".to_owned()),
            Table::Series => Column::Own("element".to_owned()),
            Table::Runs => return curves,
        };
        let mut said = self.only.iter().map(|(column, _)| column).chain(&self.panels);
        let of_x = matches!(&self.x, X::Of { column: Column::Own(_) | Column::Flows, .. });
        let mut about_elements = said
            .any(|column| matches!(column, Column::Flows) || matches!(column, Column::Own(name) if ["flow", "link", "gateway", "group", "element"].contains(&name.as_str())));
        // One that is chosen alone needs no name, several do.
        let several = self
            .only
            .iter()
            .any(|(column, values)| !matches!(column, Column::Swept(..)) && values.len() > 1);
        about_elements &= !several;
        let flows =
            experiment.point(0).scenario.flows.iter().filter(|flow| !flow.background).count();
        let few = element != Column::Flows || (2..=FEW).contains(&flows);
        if !about_elements && !of_x && few {
            curves.push(element);
        }
        curves
    }

    /// The swept fields that are told apart.
    fn used(&self) -> Vec<usize> {
        let x = match &self.x {
            X::Of { column, .. } => Some(column),
            _ => None,
        };
        let swept = |column: &Column| {
            if let Column::Swept(index, _) = column { Some(*index) } else { None }
        };
        self.panels.iter().chain(&self.curves).chain(x).filter_map(swept).collect()
    }

    /// The points of which something is shown.
    fn points(&self, experiment: &Experiment) -> Vec<usize> {
        (0..experiment.len()).filter(|point| self.shows(experiment, *point)).collect()
    }

    /// Whether anything of point `point` is shown.
    pub(super) fn shows(&self, experiment: &Experiment, point: usize) -> bool {
        let values = experiment.values(point);
        self.only.iter().all(|(column, wanted)| match column {
            Column::Swept(index, _) => {
                values.get(*index).is_some_and(|(_, value)| wanted.contains(value))
            }
            _ => true,
        })
    }

    /// Points that differ must not be thrown together.
    fn check_points(&self, experiment: &Experiment) -> Result<(), DrawError> {
        if matches!(self.x, X::Scatter { .. }) {
            return Ok(());
        }
        let used = self.used();
        let (paths, points) = (experiment.swept(), self.points(experiment));
        match (0..paths.len()).find(|index| differs(experiment, &points, &used, *index)) {
            None => Ok(()),
            Some(index) => Err(DrawError::Mixed {
                position: Box::new(self.figure.position.clone()),
                figure: self.figure.name.clone(),
                swept: paths[index].to_string(),
            }),
        }
    }
}

/// Whether `points` that are alike in the swept fields `used` differ in field `index`.
pub(super) fn differs(
    experiment: &Experiment,
    points: &[usize],
    used: &[usize],
    index: usize,
) -> bool {
    let mut known: BTreeMap<Vec<String>, String> = BTreeMap::new();
    points.iter().any(|point| {
        let values = experiment.values(*point);
        let key = used.iter().map(|field| values[*field].1.clone()).collect();
        let value = values[index].1.clone();
        known.insert(key, value.clone()).is_some_and(|other| other != value)
    })
}

/// Which table has `y`.
fn find_y(figure: &Figure) -> Result<(Table, Y), DrawError> {
    let wanted = figure.y.text.as_str();
    let table = match &figure.table {
        None => None,
        Some(word) => {
            let named = Table::ALL.into_iter().find(|table| table.name() == word.text);
            let names = Table::ALL.map(Table::name);
            let none = || {
                wrong(
                    figure,
                    word,
                    &format!("there is no table `{}` ({})", word.text, hint(&word.text, &names)),
                )
            };
            Some(named.ok_or_else(none)?)
        }
    };
    for table in Table::ALL.into_iter().filter(|one| table.is_none_or(|table| table == *one)) {
        if table == Table::Series {
            continue;
        }
        if let Some(heading) = table.headings().iter().find(|heading| heading.name == wanted) {
            if heading.kind == CellKind::Text {
                return Err(wrong(figure, &figure.y, &format!("y: `{wanted}` is no number")));
            }
            let y = Y {
                column: wanted.to_owned(),
                quantities: Vec::new(),
                label: columns::label(heading),
                unit: columns::unit(heading),
            };
            return Ok((table, y));
        }
    }
    if table.is_none_or(|table| table == Table::Series)
        && let Some((name, unit, label)) = QUANTITIES.iter().find(|(name, ..)| *name == wanted)
    {
        let quantities =
            if *name == "sequence" { vec!["segment", "ack", "dropped"] } else { vec![*name] };
        let (column, label) = (wanted.to_owned(), (*label).to_owned());
        return Ok((Table::Series, Y { column, quantities, label, unit: Unit::named(unit) }));
    }
    let tables = Table::ALL.into_iter().filter(|one| table.is_none_or(|table| table == *one));
    let mut known: Vec<String> =
        tables.flat_map(Table::headings).map(|heading| heading.name).collect();
    known.extend(QUANTITIES.iter().map(|(name, ..)| (*name).to_owned()));
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Err(wrong(
        figure,
        &figure.y,
        &format!("y: no table has a column `{wanted}` ({})", hint(wanted, &known)),
    ))
}

/// The error of a word of `figure`.
pub(super) fn wrong(figure: &Figure, word: &Word, why: &str) -> DrawError {
    DrawError::Named {
        position: Box::new(word.position.clone()),
        figure: figure.name.clone(),
        why: why.to_owned(),
    }
}

fn hint(name: &str, known: &[&str]) -> String {
    if let Some(longer) = known.iter().find(|one| one.starts_with(&format!("{name}_"))) {
        return format!("did you mean `{longer}`?");
    }
    match bentpipe_config::hint(name, known.iter().copied()) {
        list if list.starts_with("there are") && known.len() > 20 => {
            "see docs/metrics.md".to_owned()
        }
        hint => hint,
    }
}

/// What the words of a figure can mean.
struct Words<'a> {
    experiment: &'a Experiment,
    figure: &'a Figure,
    table: Table,
    swept: Vec<Heading>,
}

impl Words<'_> {
    fn wrong(&self, word: &Word, why: &str) -> DrawError {
        wrong(self.figure, word, why)
    }

    /// The swept field of this path, or of its column's name.
    fn swept(&self, name: &str) -> Option<Column> {
        let paths = self.experiment.swept();
        let index = paths
            .iter()
            .zip(&self.swept)
            .position(|(path, heading)| *path == name || heading.name == name)?;
        Some(Column::Swept(index, self.swept[index].name.clone()))
    }

    fn column(&self, word: &Word) -> Result<Column, DrawError> {
        let name = word.text.as_str();
        if let Some(column) = self.swept(name) {
            return Ok(column);
        }
        if self.table == Table::Series {
            match name {
                "flow" | "flows" | "link" | "gateway" | "middlebox" => {
                    return Ok(Column::Own("element".to_owned()));
                }
                "quantity" => return Ok(Column::Quantity),
                _ => {}
            }
        }
        let headings = columns::headings(self.table);
        if name == "flows" && headings.iter().any(|heading| heading.name == "flow") {
            return Ok(Column::Flows);
        }
        if headings.iter().any(|heading| heading.name == name) {
            return Ok(Column::Own(name.to_owned()));
        }
        let mut known = self.experiment.swept();
        known.extend(headings.iter().map(|heading| heading.name.as_str()));
        let (table, hint) = (self.table.name(), hint(name, &known));
        Err(self
            .wrong(word, &format!("`{name}` is neither swept nor a column of {table} ({hint})")))
    }

    fn x(&self) -> Result<X, DrawError> {
        let Some(word) = &self.figure.x else { return Ok(self.usual_x()) };
        if self.table == Table::Series {
            return match word.text.as_str() {
                "time" | "time_s" => Ok(X::Time),
                _ => Err(self.wrong(word, "x: series are shown over `time`")),
            };
        }
        let column = self.column(word)?;
        let heading = match &column {
            Column::Swept(index, _) => return Ok(self.swept_x(*index)),
            Column::Own(name) => {
                columns::headings(self.table).into_iter().find(|heading| heading.name == *name)
            }
            Column::Flows | Column::Quantity => None,
        };
        let bars = matches!(self.figure.kind, Some(FigureKind::Bars | FigureKind::Box));
        Ok(match heading {
            Some(heading)
                if matches!(heading.kind, CellKind::Number | CellKind::Count) && !bars =>
            {
                X::Scatter {
                    label: columns::label(&heading),
                    unit: columns::unit(&heading),
                    column: heading.name,
                }
            }
            _ => X::Of { column, numbers: false, label: word.text.clone(), unit: Unit::None },
        })
    }

    fn swept_x(&self, index: usize) -> X {
        let heading = &self.swept[index];
        let bars = matches!(self.figure.kind, Some(FigureKind::Bars | FigureKind::Box));
        let named = self
            .figure
            .names
            .iter()
            .any(|(word, _)| self.swept(&word.text) == self.swept(&heading.name));
        X::Of {
            column: Column::Swept(index, heading.name.clone()),
            numbers: heading.kind == CellKind::Number && !bars && !named,
            label: columns::swept_label(self.experiment.swept()[index]),
            unit: columns::unit(heading),
        }
    }

    /// The first swept number, or else the first swept field, or else the flow.
    fn usual_x(&self) -> X {
        if self.table == Table::Series {
            return X::Time;
        }
        let said = |index: usize| {
            let mut words = self.figure.curves.iter().flatten().chain(&self.figure.panels);
            words.any(|word| matches!(self.swept(&word.text), Some(Column::Swept(other, _)) if other == index))
        };
        let mut free = (0..self.swept.len()).filter(|index| !said(*index));
        let mut numbers = free.clone().filter(|index| self.swept[*index].kind == CellKind::Number);
        match numbers.next().or_else(|| free.next()) {
            Some(index) => self.swept_x(index),
            None => {
                let name = match self.table {
                    Table::Links => "link",
                    Table::Gateways => "gateway",
                    Table::Groups => "group",
                    Table::Runs => "run",
                    _ => "flow",
                };
                let column = Column::Own(name.to_owned());
                X::Of { column, numbers: false, label: name.to_owned(), unit: Unit::None }
            }
        }
    }
}
