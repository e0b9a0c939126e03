//! The figures of an experiment that names none: what follows from its sweep and its `[record]`.

use super::columns;
use super::plan::differs;
use crate::cell::CellKind;
use bentpipe_scenario::{Experiment, Figure, SeriesRecording, Word};
use std::path::Path;

/// More points than these are not shown over time.
const POINTS: usize = 6;

/// They; some of them may have no data.
pub(super) fn figures(folder: &Path, experiment: &Experiment) -> Vec<Figure> {
    let scenario = experiment.point(0).scenario;
    let mut figures = Vec::new();
    let flows = scenario.flows.iter().filter(|flow| !flow.background).count();
    if experiment.len() > 1 || flows > 1 {
        for (name, y, title) in [
            ("completion", "completion_mean_s", "completion times"),
            ("goodput", "goodput_bps", "goodput"),
        ] {
            let figure = of_results(experiment, Figure::new(name, y), flows);
            figures.push(titled(figure, &scenario.title, title));
        }
    }
    // A part of an experiment may lack what another part has.
    if folder.join("series.csv").exists() {
        for quantity in quantities(&scenario.record) {
            let figure = over_time(experiment, Figure::new(quantity, quantity));
            let about = columns::QUANTITIES.iter().find(|(name, ..)| *name == quantity);
            figures.push(titled(
                figure,
                &scenario.title,
                about.map_or(quantity, |(.., label)| label),
            ));
        }
    }
    figures
}

fn titled(figure: Figure, title: &str, what: &str) -> Figure {
    let title = if title.is_empty() { what.to_owned() } else { format!("{title}: {what}") };
    Figure { title, ..figure }
}

/// The first number of the sweep below, one further field as curves, the others as panels.
fn of_results(experiment: &Experiment, figure: Figure, flows: usize) -> Figure {
    let mut fields: Vec<Word> =
        independent(experiment).into_iter().map(|path| word(&figure, &path)).collect();
    let mut panels = Vec::new();
    let several = flows > 1;
    let mut curves = Vec::new();
    let x = (!fields.is_empty()).then(|| fields.remove(0));
    if !fields.is_empty() {
        curves.push(fields.remove(0));
        if several {
            panels.push(word(&figure, "flows"));
        }
    } else if several && x.is_some() {
        curves.push(word(&figure, "flows"));
    }
    panels.append(&mut fields);
    Figure { x, curves: Some(curves), panels, ..figure }
}

/// A panel for each point, or the first point alone if there are many.
fn over_time(experiment: &Experiment, figure: Figure) -> Figure {
    let paths = independent(experiment);
    if experiment.len() <= POINTS {
        return Figure { panels: paths.iter().map(|path| word(&figure, path)).collect(), ..figure };
    }
    let values = experiment.values(0).into_iter();
    let only = values.map(|(path, value)| (word(&figure, &path), vec![value])).collect();
    Figure { only, caption: format!("At {}.", experiment.label(0)), ..figure }
}

fn word(figure: &Figure, text: &str) -> Word {
    Word { text: text.to_owned(), position: figure.position.clone() }
}

/// The swept fields, numbers first, without those that only change in step with others.
fn independent(experiment: &Experiment) -> Vec<String> {
    let headings = columns::swept(experiment);
    let mut order: Vec<usize> = (0..headings.len()).collect();
    let first = order.iter().position(|index| headings[*index].kind == CellKind::Number);
    if let Some(first) = first {
        let first = order.remove(first);
        order.insert(0, first);
    }
    let points: Vec<usize> = (0..experiment.len()).collect();
    let mut used = Vec::new();
    for index in order {
        if differs(experiment, &points, &used, index) {
            used.push(index);
        }
    }
    let paths = experiment.swept();
    used.into_iter().map(|index| paths[index].to_owned()).collect()
}

/// What the runs record, by the names in the table of series.
fn quantities(record: &SeriesRecording) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    names.extend(record.flow.iter().map(|series| <&str>::from(*series)));
    for series in &record.link {
        match <&str>::from(*series) {
            "queue" => names.push("queue-packets"),
            name => names.push(name),
        }
    }
    names.extend(record.gateway.iter().map(|series| <&str>::from(*series)));
    names.extend(record.middlebox.iter().map(|series| <&str>::from(*series)));
    let mut seen: Vec<&'static str> = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}
