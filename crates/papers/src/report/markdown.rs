//! The report as Markdown with pictures, which a repository keeps: `README.md` with the scoreboard,
//! and a page a paper.

use super::future_work;
use super::score::{Standing, standing};
use super::tables;
use super::text::{number, printed};
use super::{Judgement, Report, ReportError, Score, write_file};
use crate::catalogue::{Catalogue, Figure, Paper};
use crate::verdict::Verdict;
use std::fmt::Write;
use std::path::Path;

/// Writes the scoreboard, a page a paper and one of what they leave to others into `folder`, with
/// the pictures that are in `from`.
///
/// # Errors
/// A file cannot be read or written.
pub fn write_docs(
    catalogue: &Catalogue,
    report: &Report,
    from: &Path,
    folder: &Path,
) -> Result<(), ReportError> {
    write_file(&folder.join("README.md"), &scoreboard(catalogue, report))?;
    write_file(&folder.join("future-work.md"), &future_work::page(catalogue, report))?;
    for paper in &catalogue.papers {
        let page = page(catalogue, report, paper);
        write_file(&folder.join(format!("{}.md", paper.name)), &page)?;
        for judgement in paper.figures.iter().filter_map(|figure| report.figure(&figure.id)) {
            for (picture, source) in pictures(judgement) {
                let path = from.join(source);
                let failed = |source| ReportError { path: path.display().to_string(), source };
                let svg = std::fs::read_to_string(&path).map_err(failed)?;
                write_file(&folder.join(picture), &svg)?;
            }
        }
    }
    Ok(())
}

/// Each picture's name in the documents, and where it was drawn.
pub(super) fn pictures(judgement: &Judgement) -> Vec<(String, String)> {
    let figure = &judgement.figure;
    let of = judgement.drawings.iter().map(|drawing| {
        let name = &drawing.figure.name;
        (
            format!("{figure}-{name}.svg"),
            format!("{figure}/{}/figures/{name}.svg", drawing.scenario),
        )
    });
    of.collect()
}

fn scoreboard(catalogue: &Catalogue, report: &Report) -> String {
    let score = report.score(catalogue);
    let mut text = format!(
        "# The papers, run again\n\n*Which claims of the papers hold?*\n\n`bentpipe papers --all --docs docs/papers` wrote these pages. \
         Claims of priority 1 and 2 count: what the papers show, require and compute. One holds if the whole 95 % interval of \
         what was found lies within what is accepted, which was frozen before anything was run (each claim in `papers/`); fails if it is \
         wholly outside; otherwise it is not decided. Real hosts decide some by what is kept of `bentpipe papers --live`; where nothing is, they wait. {}\n\n**{} of {} claims hold.**\n\n\
         | paper | claims | hold | do not | not decided | wait |\n| --- | ---: | ---: | ---: | ---: | ---: |\n",
        report.origin(),
        score.holds,
        score.all()
    );
    for paper in &catalogue.papers {
        let score = Score::of(catalogue, report, |name, _| name == paper.name);
        let _ = writeln!(
            text,
            "| [{}]({}.md), {} | {} | {} | {} | {} | {} |",
            paper.about.title,
            paper.name,
            paper.about.authors,
            score.all(),
            score.holds,
            score.fails,
            score.undecidable,
            score.pending
        );
    }
    text.push_str(
        "\nWhat the papers leave to others is answered in [future-work.md](future-work.md).\n",
    );
    text.push_str("\n## Tolerances that were changed since they were frozen\n\n");
    if catalogue.changes.is_empty() {
        text.push_str("None.\n");
    }
    for change in &catalogue.changes {
        let said = |text: &Option<String>| text.clone().unwrap_or_else(|| "nothing".to_owned());
        let _ = writeln!(
            text,
            "- {}, {}: {} became {}. {} The verdict before: {}.",
            change.id,
            change.number,
            said(&change.old),
            said(&change.new),
            change.reason,
            change.verdict_before
        );
    }
    text
}

fn page(catalogue: &Catalogue, report: &Report, paper: &Paper) -> String {
    let mut text = format!(
        "# {}\n\n*{}*\n\n{}\n\n[All papers](README.md). {}\n",
        paper.about.title,
        paper.about.authors,
        paper.about.about.trim(),
        report.origin()
    );
    for figure in &paper.figures {
        if let Some(judgement) = report.figure(&figure.id) {
            of_figure(&mut text, figure, judgement);
        }
    }
    elsewhere(&mut text, catalogue, report, paper);
    text
}

fn of_figure(text: &mut String, figure: &Figure, judgement: &Judgement) {
    let _ = writeln!(text, "\n## {}\n\n{}", figure.title, figure.about.trim());
    for ((picture, _), drawing) in pictures(judgement).iter().zip(&judgement.drawings) {
        let _ = writeln!(text, "\n![{}]({picture})", drawing.figure.title);
    }
    for layout in figure.tables.values() {
        table(text, &layout.title, &tables::cells(layout, judgement));
    }
    for beside in judgement.beside.iter().filter(|beside| beside.is_measured()) {
        table(text, &beside.title(), &beside.cells());
        for said in &beside.kernel_settings {
            let _ = writeln!(text, "\n{said}");
        }
        if let Some(why) = &beside.explanation {
            let _ = writeln!(text, "\n{}", why.trim());
        }
    }
    for (label, said) in [("Chosen", &figure.chosen), ("Today", &figure.today)] {
        if let Some(said) = said {
            let _ = writeln!(text, "\n**{label}.** {}", said.trim());
        }
    }
    text.push_str(
        "\n| claim | | found | printed | accepted | |\n| --- | --- | ---: | ---: | --- | --- |\n",
    );
    for judged in &judgement.claims {
        for (index, finding) in judged.findings.iter().enumerate() {
            let (id, says) = match index {
                0 => (judged.claim.id.as_str(), judged.claim.says.as_str()),
                _ => ("", ""),
            };
            let colon = if says.is_empty() { "" } else { " " };
            let _ = writeln!(
                text,
                "| {id} | {says}{colon}`{}` | {} | {} | {} | {} |",
                finding.name,
                number(finding),
                printed(finding),
                finding.accepted.to_string().replace('|', "\\|"),
                finding.verdict.words()
            );
        }
    }
    for judged in judgement.claims.iter().filter(|judged| judged.verdict != Verdict::Holds) {
        let why = judged.claim.explanation.as_deref().unwrap_or("Not explained yet.");
        let _ =
            writeln!(text, "\n**{} {}.** {}", judged.claim.id, judged.verdict.words(), why.trim());
    }
}

/// The headings are the first row.
fn table(text: &mut String, title: &str, rows: &[Vec<String>]) {
    let _ = writeln!(text, "\n{title}\n");
    for (index, row) in rows.iter().enumerate() {
        let _ = writeln!(text, "| {} |", row.join(" | "));
        if index == 0 {
            let _ = writeln!(text, "| --- |{}", " ---: |".repeat(row.len() - 1));
        }
    }
}

fn elsewhere(text: &mut String, catalogue: &Catalogue, report: &Report, paper: &Paper) {
    let mut rows = String::new();
    for (id, entry) in paper.claims().into_iter().filter(|(_, entry)| entry.priority <= 2) {
        let (says, by) = match (standing(catalogue, report, id), paper.elsewhere.get(id)) {
            (Standing::Witnessed(_), Some(at)) => (at.says.as_str(), format!("holds: {}", at.at)),
            (Standing::Refuted(_), Some(at)) => (
                at.says.as_str(),
                format!("does not hold: {}", at.fails.as_deref().unwrap_or_default()),
            ),
            (Standing::Pending, _) => ("", "real hosts will decide it".to_owned()),
            (Standing::Missing, _) => ("", "nothing decides it yet".to_owned()),
            _ => continue,
        };
        let _ = writeln!(rows, "| {id} | {} | {says} | {by} |", entry.priority);
    }
    if !rows.is_empty() {
        let head = "| claim | priority | what | by |\n| --- | ---: | --- | --- |";
        let _ = write!(text, "\n## Decided elsewhere\n\n{head}\n{rows}");
    }
}
