//! The report as pages that work without a network: `index.html` with the scoreboard, and one a
//! paper.

use super::score::{Standing, standing};
use super::tables;
use super::text::{number, printed};
use super::{Judgement, Report, ReportError, Score, write_file};
use crate::catalogue::{Catalogue, Figure, Paper};
use crate::verdict::{Judged, Verdict};
use bentpipe_plot::svg::escaped;
use std::fmt::Write;
use std::path::Path;

const STYLE: &str = include_str!("style.css");

/// Writes `index.html` and a page a paper into `folder`.
///
/// # Errors
/// A file cannot be written.
pub fn write(catalogue: &Catalogue, report: &Report, folder: &Path) -> Result<(), ReportError> {
    write_file(&folder.join("index.html"), &index(catalogue, report))?;
    for paper in &catalogue.papers {
        let page = page(catalogue, report, folder, paper);
        write_file(&folder.join(format!("{}.html", paper.name)), &page)?;
    }
    Ok(())
}

fn head(title: &str) -> String {
    let title = escaped(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <h1>{title}</h1>\n"
    )
}

fn index(catalogue: &Catalogue, report: &Report) -> String {
    let mut page = head("The papers, run again");
    let score = report.score(catalogue);
    let _ = writeln!(
        page,
        "<p>{} of {} claims hold, {} do not, {} are not decided, {} wait for real hosts. A claim holds if the whole 95 % \
         interval of what was found is within what is accepted; what is accepted was frozen before anything was run. Made by bentpipe \
         {} in {:.0} s. {}</p>",
        score.holds,
        score.all(),
        score.fails,
        score.undecidable,
        score.pending,
        env!("CARGO_PKG_VERSION"),
        report.wall_s,
        escaped(&report.origin())
    );
    page.push_str(
        "<div class=\"table\"><table>\n<tr><th>paper</th><th class=\"number\">hold</th><th class=\"number\">do not</th>\
         <th class=\"number\">not decided</th><th class=\"number\">wait</th></tr>\n",
    );
    for paper in &catalogue.papers {
        let Score { holds, fails, undecidable, pending } =
            Score::of(catalogue, report, |name, _| name == paper.name);
        let _ = writeln!(
            page,
            "<tr><td><a href=\"{name}.html\">{}</a>, {}</td><td class=\"number\">{holds}</td><td class=\"number\">{fails}</td>\
             <td class=\"number\">{undecidable}</td><td class=\"number\">{pending}</td></tr>",
            escaped(&paper.about.title),
            escaped(&paper.about.authors),
            name = paper.name
        );
    }
    page.push_str("</table></div>\n");
    page.push_str(&changes(catalogue));
    page.push_str("</body>\n</html>\n");
    page
}

/// What was changed in the tolerances since they were frozen.
fn changes(catalogue: &Catalogue) -> String {
    if catalogue.changes.is_empty() {
        return "<p>No tolerance was changed since.</p>\n".to_owned();
    }
    let mut text =
        String::from("<h2>Tolerances that were changed since they were frozen</h2>\n<ul>\n");
    for change in &catalogue.changes {
        let said = |text: &Option<String>| escaped(text.as_deref().unwrap_or("nothing"));
        let _ = writeln!(
            text,
            "<li>{}, {}: {} became {}. {} The verdict before: {}.</li>",
            change.id,
            escaped(&change.number),
            said(&change.old),
            said(&change.new),
            escaped(&change.reason),
            escaped(&change.verdict_before)
        );
    }
    text.push_str("</ul>\n");
    text
}

fn page(catalogue: &Catalogue, report: &Report, folder: &Path, paper: &Paper) -> String {
    let mut page = head(&paper.about.title);
    let _ = writeln!(
        page,
        "<p>{}. {}</p>\n<p><a href=\"index.html\">All papers</a>. {}</p>",
        escaped(&paper.about.authors),
        escaped(paper.about.about.trim()),
        escaped(&report.origin())
    );
    for figure in &paper.figures {
        page.push_str(&of_figure(figure, report.figure(&figure.id), folder));
    }
    page.push_str(&elsewhere(catalogue, report, paper));
    page.push_str("</body>\n</html>\n");
    page
}

fn of_figure(figure: &Figure, judgement: Option<&Judgement>, folder: &Path) -> String {
    let mut text = format!(
        "<h2 id=\"{}\">{}</h2>\n<p>{}</p>\n",
        figure.name(),
        escaped(&figure.title),
        escaped(figure.about.trim())
    );
    let Some(judgement) = judgement else {
        text.push_str("<p class=\"small\">Not run this time.</p>\n");
        return text;
    };
    for drawing in &judgement.drawings {
        let name = &drawing.figure.name;
        let base = format!("{}/{}", figure.id, drawing.scenario);
        let _ = writeln!(
            text,
            "<figure>\n<picture><source media=\"(max-width: 600px)\" srcset=\"{base}/figures/{name}-narrow.svg\">\
             <img src=\"{base}/figures/{name}.svg\" alt=\"{}\"></picture>\n<figcaption>\
             <a href=\"{base}/figures/{name}.csv\">Its data</a></figcaption>\n</figure>",
            escaped(&drawing.figure.title)
        );
    }
    for layout in figure.tables.values() {
        table(&mut text, &layout.title, &tables::cells(layout, judgement));
    }
    for beside in judgement.beside.iter().filter(|beside| beside.is_measured()) {
        table(&mut text, &beside.title(), &beside.cells());
        for said in beside.kernel_settings.iter().chain(&beside.explanation) {
            let _ = writeln!(text, "<p class=\"small\">{}</p>", escaped(said.trim()));
        }
    }
    for (label, said) in [("Chosen", &figure.chosen), ("Today", &figure.today)] {
        if let Some(said) = said {
            let _ =
                writeln!(text, "<p class=\"small\"><b>{label}.</b> {}</p>", escaped(said.trim()));
        }
    }
    let links: Vec<String> = figure
        .scenarios
        .keys()
        .filter(|name| folder.join(&figure.id).join(name).join("index.html").is_file())
        .map(|name| format!("<a href=\"{}/{name}/index.html\">{name}</a>", figure.id))
        .collect();
    if !links.is_empty() {
        let _ = writeln!(
            text,
            "<p class=\"small\">Experiments, with their scenarios and all data: {}.</p>",
            links.join(", ")
        );
    }
    if folder.join(&figure.id).join(super::GRAPH).is_file() {
        let _ = writeln!(
            text,
            "<p class=\"small\"><a href=\"{}/{}\">One run, packet by packet</a>.</p>",
            figure.id,
            super::GRAPH
        );
    }
    for judged in &judgement.claims {
        text.push_str(&of_claim(judged));
    }
    text
}

/// The headings are the first row.
fn table(text: &mut String, title: &str, rows: &[Vec<String>]) {
    let _ = writeln!(text, "<figure class=\"table\"><table>");
    for (index, row) in rows.iter().enumerate() {
        let cell = if index == 0 { "th" } else { "td" };
        let (first, others) = row.split_first().map_or(("", &[][..]), |(a, b)| (a.as_str(), b));
        let _ = write!(text, "<tr><{cell}>{}</{cell}>", escaped(first));
        for other in others {
            let _ = write!(text, "<{cell} class=\"number\">{}</{cell}>", escaped(other));
        }
        text.push_str("</tr>\n");
    }
    let _ = writeln!(text, "</table>\n<figcaption>{}</figcaption></figure>", escaped(title));
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Fails => "fails",
        Verdict::Undecidable => "open",
    }
}

fn of_claim(judged: &Judged) -> String {
    let claim = &judged.claim;
    let mut text = format!(
        "<div class=\"claim {}\" id=\"{id}\">\n<p><span class=\"mark\">{}</span> {id}: {}</p>\n",
        class(judged.verdict),
        judged.verdict.words(),
        escaped(&claim.says),
        id = claim.id
    );
    if let Some(explanation) = &claim.explanation {
        let _ = writeln!(text, "<p class=\"small why\">{}</p>", escaped(explanation.trim()));
    }
    let open = if judged.verdict == Verdict::Holds { "" } else { " open" };
    let _ = writeln!(
        text,
        "<details{open}><summary>What was found</summary>\n<div class=\"table\"><table>\n<tr><th>number</th>\
         <th class=\"number\">found</th><th class=\"number\">runs</th><th class=\"number\">printed</th><th>accepted</th><th></th></tr>"
    );
    for finding in &judged.findings {
        let _ = writeln!(
            text,
            "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&finding.name),
            number(finding),
            finding.runs,
            printed(finding),
            escaped(&finding.accepted.to_string()),
            finding.verdict.words()
        );
    }
    text.push_str("</table></div></details>\n</div>\n");
    text
}

/// Claims that no figure decides.
fn elsewhere(catalogue: &Catalogue, report: &Report, paper: &Paper) -> String {
    let mut text = String::new();
    for (id, entry) in paper.claims().into_iter().filter(|(_, entry)| entry.priority <= 2) {
        let said = match (standing(catalogue, report, id), paper.elsewhere.get(id)) {
            (Standing::Witnessed(_), Some(at)) => {
                let by = escaped(&at.at);
                format!("<td>{}</td><td class=\"holds\"><b>holds</b>: {by}</td>", escaped(&at.says))
            }
            (Standing::Refuted(_), Some(at)) => {
                let why = escaped(at.fails.as_deref().unwrap_or_default());
                format!(
                    "<td>{}</td><td class=\"fails\"><b>does not hold</b>: {why}</td>",
                    escaped(&at.says)
                )
            }
            (Standing::Pending, _) => "<td></td><td>real hosts will decide it</td>".to_owned(),
            (Standing::Missing, _) => "<td></td><td><b>nothing decides it yet</b></td>".to_owned(),
            _ => continue,
        };
        let _ = writeln!(
            text,
            "<tr><td>{id}</td><td class=\"number\">{}</td>{said}</tr>",
            entry.priority
        );
    }
    if text.is_empty() {
        return text;
    }
    format!(
        "<h2>Decided elsewhere</h2>\n<div class=\"table\"><table>\n<tr><th>claim</th><th class=\"number\">priority</th>\
         <th>what</th><th>by</th></tr>\n{text}</table></div>\n"
    )
}
