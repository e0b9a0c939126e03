//! `index.html`: what was run, its figures, and where everything is. It needs nothing but its
//! folder.

use super::table::{TableReader, number};
use super::{DrawnFigure, columns};
use crate::LabError;
use crate::table_file::write_text;
use bentpipe_plot::axes::Unit;
use bentpipe_plot::svg::escaped;
use bentpipe_scenario::Experiment;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// More rows than these stand only in the file.
const ROWS: usize = 200;

const STYLE: &str = "\
body { font: 16px/1.5 'DejaVu Sans', Verdana, 'Segoe UI', Helvetica, Arial, sans-serif; color: #222; background: #fff;
  max-width: 760px; margin: 0 auto; padding: 12px 15px 48px; }
h1 { font-size: 1.5em; line-height: 1.25; } h2 { font-size: 1.15em; margin-top: 2em; }
figure { margin: 1.5em 0 2.5em; } figure img { width: 100%; height: auto; display: block; border: 1px solid #ddd; }
figcaption { font-size: 0.85em; margin-top: 0.4em; } a { color: #005a8c; }
.table { overflow-x: auto; background: linear-gradient(90deg, #fff 30px, #fff0) left / 60px 100% no-repeat local,
  linear-gradient(270deg, #fff 30px, #fff0) right / 60px 100% no-repeat local,
  linear-gradient(90deg, #0003, #0000) left / 10px 100% no-repeat, linear-gradient(270deg, #0003, #0000) right / 10px 100% no-repeat; }
table { border-collapse: collapse; font-size: 0.8em; line-height: 1.35; }
th, td { padding: 3px 10px 3px 0; text-align: left; border-bottom: 1px solid #ddd; vertical-align: top; }
th { vertical-align: bottom; } td { white-space: nowrap; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; } th:last-child, td:last-child { padding-right: 0; }
@media (min-width: 1000px) { .table { width: max-content; min-width: 100%; max-width: calc(100vw - 40px);
  position: relative; left: 50%; transform: translateX(-50%); } }
@media (max-width: 600px) { table { font-size: 0.72em; } }
@media print { body { max-width: none; padding: 0; font-size: 11pt; } .table { overflow: visible; background: none; } table { font-size: 0.7em; }
  td { white-space: normal; } figure, tr { break-inside: avoid; } h2 { break-after: avoid; } }
";

/// Columns of the points' summary that stand on the page: a name, the column, and that of its
/// error.
const SHOWN: [(&str, &str, &str, &str); 3] = [
    ("goodput", "goodput_mean_bps", "goodput_half_width_95_bps", "bit/s"),
    ("completion time", "completion_mean_s", "completion_half_width_95_s", "s"),
    ("utilisation", "utilisation_mean", "utilisation_half_width_95", "share"),
];

/// Writes it; says where it is.
pub(super) fn write(
    folder: &Path,
    experiment: &Experiment,
    figures: &[DrawnFigure],
) -> Result<PathBuf, LabError> {
    let path = folder.join("index.html");
    write_text(&path, &text(folder, experiment, figures))?;
    Ok(path)
}

fn text(folder: &Path, experiment: &Experiment, figures: &[DrawnFigure]) -> String {
    let scenario = experiment.point(0).scenario;
    let title = if scenario.title.is_empty() { "An experiment" } else { &scenario.title };
    let title = escaped(title);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <h1>{title}</h1>\n"
    );
    if !scenario.about.trim().is_empty() {
        let _ = writeln!(page, "<p>{}</p>", escaped(scenario.about.trim()));
    }
    let points = experiment.len();
    let s = if points == 1 { "" } else { "s" };
    let _ = writeln!(
        page,
        "<p>{points} point{s} of <a href=\"scenario.toml\">scenario.toml</a>, made by bentpipe {}. \
         <a href=\"README.md\">README.md</a> explains all files.</p>",
        env!("CARGO_PKG_VERSION")
    );
    for figure in figures {
        page.push_str(&of_figure(figure));
    }
    page.push_str(&summary(folder, experiment).unwrap_or_default());
    page.push_str(&graphs(folder));
    page.push_str(&files(folder));
    page.push_str("</body>\n</html>\n");
    page
}

fn of_figure(figure: &DrawnFigure) -> String {
    let name = &figure.name;
    let said = [figure.title.as_str(), figure.caption.as_str()];
    let said = said.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(". ");
    format!(
        "<figure id=\"{name}\">\n<picture><source media=\"(max-width: 600px)\" srcset=\"figures/{name}-narrow.svg\">\
         <img src=\"figures/{name}.svg\" alt=\"{}\"></picture>\n<figcaption>{name}: \
         <a href=\"figures/{name}.svg\">SVG</a>, <a href=\"figures/{name}.png\">PNG</a>, \
         <a href=\"figures/{name}.csv\">its data</a></figcaption>\n</figure>\n",
        escaped(&said)
    )
}

/// The points' means.
fn summary(folder: &Path, experiment: &Experiment) -> Option<String> {
    let mut reader = TableReader::open(folder, "summary").ok()??;
    let swept: Vec<usize> = columns::swept(experiment)
        .iter()
        .filter_map(|heading| reader.column(&heading.name))
        .collect();
    let (point, flow, runs) =
        (reader.column("point")?, reader.column("flow")?, reader.column("runs")?);
    let shown: Vec<_> = SHOWN
        .iter()
        .filter_map(|(name, mean, error, unit)| {
            Some((*name, reader.column(mean)?, reader.column(error), *unit))
        })
        .collect();
    let mut text = String::from(
        "<h2>Means</h2>\n<div class=\"table\"><table>\n<tr><th class=\"number\">point</th>",
    );
    for path in experiment.swept() {
        // It may break at its dots.
        let _ = write!(text, "<th>{}</th>", escaped(path).replace('.', ".<wbr>"));
    }
    text.push_str("<th>flow</th><th class=\"number\">runs</th>");
    for (name, ..) in &shown {
        let _ = write!(text, "<th class=\"number\">{name}<br>(± 95 %)</th>");
    }
    text.push_str("</tr>\n");
    let mut count = 0;
    let all = reader.rows(|row| {
        count += 1;
        if count > ROWS {
            return;
        }
        let cell = |at: usize| escaped(row.get(at).unwrap_or_default());
        let _ = write!(text, "<tr><td class=\"number\">{}</td>", cell(point));
        let values = cell(point).parse().ok().filter(|point| *point < experiment.len());
        let values = values.map(|point| experiment.values(point)).unwrap_or_default();
        for (index, at) in swept.iter().enumerate() {
            let value = values.get(index).map_or_else(|| cell(*at), |(_, value)| escaped(value));
            let _ = write!(text, "<td>{value}</td>");
        }
        let _ = write!(text, "<td>{}</td><td class=\"number\">{}</td>", cell(flow), cell(runs));
        for (_, mean, error, unit) in &shown {
            let unit = Unit::named(unit);
            // A number stays with its unit.
            let text_of = |at: usize| {
                row.get(at).and_then(number).map(|value| unit.text(value).replace(' ', "\u{a0}"))
            };
            let mean = text_of(*mean).unwrap_or_default();
            let error =
                error.and_then(text_of).map_or_else(String::new, |error| format!(" ± {error}"));
            let _ = write!(text, "<td class=\"number\">{mean}{error}</td>");
        }
        text.push_str("</tr>\n");
    });
    all.ok()?;
    text.push_str("</table></div>\n");
    if count > ROWS {
        let _ = writeln!(
            text,
            "<p>{} more rows are in <a href=\"summary.csv\">summary.csv</a>.</p>",
            count - ROWS
        );
    }
    Some(text)
}

/// Links to the graphs of runs whose packets were captured.
fn graphs(folder: &Path) -> String {
    let mut names = names_in(&folder.join("graphs"));
    names.retain(|name| name.ends_with(".html"));
    if names.is_empty() {
        return String::new();
    }
    names.sort_by_key(|name| (name.len(), name.clone()));
    let mut text = String::from("<h2>Graphs of packets</h2>\n<ul>\n");
    for name in names {
        let name = escaped(&name);
        let run = name.trim_end_matches(".html").replace('-', " ");
        let _ = writeln!(text, "<li><a href=\"graphs/{name}\">{run}</a></li>");
    }
    text.push_str("</ul>\n");
    text
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder);
    let names = |entries: std::fs::ReadDir| {
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    entries.map(names).unwrap_or_default()
}

/// Links to the folder's files.
fn files(folder: &Path) -> String {
    let mut names = names_in(folder);
    names.retain(|name| {
        !name.starts_with('.')
            && !["index.html", "runs", "figures", "graphs"].contains(&name.as_str())
    });
    names.sort();
    let mut text = String::from("<h2>Files</h2>\n<ul>\n");
    for name in names {
        let name = escaped(&name);
        let _ = writeln!(text, "<li><a href=\"{name}\">{name}</a></li>");
    }
    text.push_str("</ul>\n");
    text
}
