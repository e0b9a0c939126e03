//! An experiment's results as a table for people.

use bentpipe_lab::figures::FLOW_FIGURES;
use bentpipe_lab::{ElementSummary, PointSummary, Results};
use bentpipe_scenario::repeat::{Enough, SampleSummary};
use bentpipe_terminal::table::{Align, Table};
use std::io::{self, Write};

/// More flows of a point than this are shown by their mean.
const FLOWS: usize = 10;

/// The longest label, in characters.
const LABEL: usize = 60;

/// Units of goodput, the greatest first.
const UNITS: [(&str, f64); 4] = [("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0)];

/// Prints it.
pub(crate) fn print(out: &mut impl Write, results: &Results) -> io::Result<()> {
    if !results.title.is_empty() {
        writeln!(out, "{}\n", results.title)?;
    }
    let flows = || results.points.iter().flat_map(|point| &point.flows);
    let greatest =
        flows().filter_map(|flow| Some(flow.flow_figure("goodput")?.mean)).fold(0.0, f64::max);
    let (unit, scale) =
        UNITS.into_iter().find(|(_, scale)| greatest >= *scale).unwrap_or(("bit/s", 1.0));
    let completions = flows().any(|flow| flow.flow_figure("completion").is_some());
    let mut head = vec!["point".to_owned(), "flow".to_owned(), "runs".to_owned(), unit.to_owned()];
    let spread = ["sd", "±95 %"].map(str::to_owned);
    head.extend(spread.clone());
    if completions {
        head.push("done in s".to_owned());
        head.extend(spread);
    }
    head.extend(["retransmitted", "timeouts", "utilisation", "fairness"].map(str::to_owned));
    let columns = head.iter().enumerate();
    // Texts to the left, numbers to the right.
    let mut table =
        Table::new(columns.map(|(column, _)| if column < 2 { Align::Left } else { Align::Right }));
    table.row(head);
    for point in &results.points {
        let figures = Figures { scale, completions };
        figures.rows(point).into_iter().for_each(|row| table.row(row));
    }
    write!(out, "{table}")?;
    notes(out, results)
}

fn notes(out: &mut impl Write, results: &Results) -> io::Result<()> {
    let limited = results.points.iter().filter(|p| p.because == Some(Enough::Limit)).count();
    if limited > 0 {
        writeln!(out, "{limited} points reached the most runs before the rule was met (*)")?;
    }
    let certain = results.points.iter().filter(|p| p.because == Some(Enough::Certain)).count();
    if certain > 0 {
        let points = match results.points.len() {
            1 => "nothing in it is random: it was run once".to_owned(),
            all if all == certain => "nothing in it is random: each point was run once".to_owned(),
            _ => format!("{certain} points, in which nothing is random, were run once"),
        };
        writeln!(out, "{points}, as all runs would be the same")?;
    }
    let failed: u32 = results.points.iter().map(|point| point.failed).sum();
    if failed > 0 {
        writeln!(out, "{failed} runs failed and are in no figure")?;
    }
    Ok(())
}

struct Figures {
    scale: f64,
    completions: bool,
}

impl Figures {
    fn rows(&self, point: &PointSummary) -> Vec<Vec<String>> {
        let label = format!("{} {}", point.point, shortened(&point.label));
        let mut rows: Vec<Vec<String>> = if point.flows.len() <= FLOWS {
            point.flows.iter().map(|flow| self.row(point, flow)).collect()
        } else {
            vec![self.row(point, &together(&point.flows))]
        };
        if rows.is_empty() {
            rows.push(self.row(point, &together(&[])));
        }
        for (index, row) in rows.iter_mut().enumerate() {
            row.insert(0, if index == 0 { label.trim_end().to_owned() } else { String::new() });
            if index > 0 {
                // What is the point's is said once.
                row.truncate(row.len() - 2);
                row.extend([String::new(), String::new()]);
            }
        }
        rows
    }

    fn row(&self, point: &PointSummary, flow: &ElementSummary) -> Vec<String> {
        let limited = if point.because == Some(Enough::Limit) { "*" } else { "" };
        let mut row = vec![flow.name.join(" "), format!("{}{limited}", point.runs - point.failed)];
        row.extend(spread(flow.flow_figure("goodput"), self.scale));
        if self.completions {
            row.extend(spread(flow.flow_figure("completion"), 1.0));
        }
        let mean = |summary: Option<SampleSummary>| number(summary.map(|summary| summary.mean));
        row.extend(["retransmissions", "timeouts"].map(|name| mean(flow.flow_figure(name))));
        row.extend([point.utilisation, point.fairness].map(mean));
        row
    }
}

/// Labels of whole tables are long; the files have them in full.
/// Its end, where the fields are that change fastest.
fn shortened(label: &str) -> String {
    let count = label.chars().count();
    if count <= LABEL {
        return label.to_owned();
    }
    format!("…{}", label.chars().skip(count + 1 - LABEL).collect::<String>())
}

/// Mean, standard deviation and half-width.
fn spread(summary: Option<SampleSummary>, scale: f64) -> [String; 3] {
    let part =
        |of: fn(SampleSummary) -> Option<f64>| number(summary.and_then(of).map(|x| x / scale));
    [part(|s| Some(s.mean)), part(|s| s.standard_deviation), part(|s| s.half_width_95)]
}

/// Many flows as one: the means of their means. The spread of single flows is in the files.
fn together(flows: &[ElementSummary]) -> ElementSummary {
    let mean = |figure: usize| {
        let summaries = flows.iter().filter_map(|flow| *flow.figures.get(figure)?);
        let means: Vec<f64> = summaries.map(|summary| summary.mean).collect();
        SampleSummary::of(&means).map(|all| SampleSummary {
            standard_deviation: None,
            half_width_95: None,
            half_width_99: None,
            ..all
        })
    };
    let name = if flows.is_empty() { "-".to_owned() } else { format!("mean of {}", flows.len()) };
    ElementSummary { name: vec![name], figures: (0..FLOW_FIGURES.len()).map(mean).collect() }
}

/// With four digits that count.
fn number(number: Option<f64>) -> String {
    let Some(number) = number else { return "-".to_owned() };
    // What rounding leaves of a difference is none.
    if number.abs() < 1e-7 {
        return "0".to_owned();
    }
    let before = number.abs().log10().floor() as i32 + 1;
    let decimals = usize::try_from((4 - before).clamp(0, 6)).unwrap_or(0);
    format!("{number:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_that_count() {
        let texts = [1e-12, 1.5, 0.012_345, 123.456, 12_345.6].map(|x| number(Some(x)));
        assert_eq!(texts, ["0", "1.500", "0.01235", "123.5", "12346"]);
        assert_eq!(number(None), "-");
    }
}
