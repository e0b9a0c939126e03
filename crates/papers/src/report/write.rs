//! The report's files: pages of HTML, and Markdown with pictures for a repository.

use super::block::{Block, OVERVIEW, html, markdown};
use super::overview::overview;
use super::page::{page, pictures};
use super::{Report, ReportError, appendix, axis, future_work, transitions, write_file};
use crate::catalogue::Catalogue;
use bentpipe_plot::svg::escaped;
use std::path::Path;

const STYLE: &str = include_str!("style.css");
const TITLE: &str = "The papers, run again";

/// The title and the question of a page that no paper has.
type Head = (&'static str, &'static str, &'static str);
const TRANSITIONS: Head = (
    transitions::NAME,
    "Earlier verdicts and present ones",
    "Which verdicts have changed since the count of 24 November, in which direction, and why?",
);
const APPENDIX: Head = (
    appendix::NAME,
    "The papers' appendix",
    "On which machines, with which commands and at which cost were these pages made?",
);

/// The pages that no paper has.
fn more(catalogue: &Catalogue, report: &Report) -> Result<Vec<(Head, Vec<Block>)>, ReportError> {
    let failed = |error| ReportError {
        path: appendix::NAME.to_owned(),
        source: std::io::Error::other(error),
    };
    let earlier = catalogue.earlier.as_ref();
    let transitions =
        earlier.map(|earlier| (TRANSITIONS, transitions::page(catalogue, report, earlier)));
    let appendix = (APPENDIX, appendix::page(catalogue, report).map_err(failed)?);
    Ok(transitions.into_iter().chain([appendix]).collect())
}

/// Writes `index.html` and a page a paper into `folder`, where the figures were drawn.
///
/// # Errors
/// A file cannot be written.
pub fn write(catalogue: &Catalogue, report: &Report, folder: &Path) -> Result<(), ReportError> {
    let save = |name: &str, title: &str, blocks: &[Block]| {
        write_file(&folder.join(format!("{name}.html")), &document(title, &html(blocks)))
    };
    write_file(&folder.join(axis::FILE), &axis::svg(catalogue, report))?;
    save("index", TITLE, &overview(catalogue, report))?;
    for ((name, title, _), blocks) in more(catalogue, report)? {
        save(name, title, &blocks)?;
    }
    for paper in &catalogue.papers {
        save(&paper.name, &paper.about.title, &page(report, paper, folder))?;
    }
    Ok(())
}

/// Writes all pages into `folder`, with the pictures that are in `from`.
///
/// # Errors
/// A file cannot be read or written.
pub fn write_docs(
    catalogue: &Catalogue,
    report: &Report,
    from: &Path,
    folder: &Path,
) -> Result<(), ReportError> {
    let save = |name: &str, title: &str, question: &str, blocks: &[Block]| {
        let text = format!("# {title}\n\n*{question}*\n{}", markdown(blocks));
        write_file(&folder.join(format!("{name}.md")), &text)
    };
    write_file(&folder.join(axis::FILE), &axis::svg(catalogue, report))?;
    let mut first = overview(catalogue, report);
    first.push(Block::text(
        "What the papers leave to others is answered in [future-work.md](future-work.md).",
    ));
    save(OVERVIEW, TITLE, "Are the papers reproduced?", &first)?;
    write_file(&folder.join("future-work.md"), &future_work::page(catalogue, report))?;
    for ((name, title, question), blocks) in more(catalogue, report)? {
        save(name, title, question, &blocks)?;
    }
    for paper in &catalogue.papers {
        let question = "Which of its figures and statements are reproduced?";
        save(&paper.name, &paper.about.title, question, &page(report, paper, from))?;
        for judgement in paper.figures.iter().filter_map(|figure| report.figure(&figure.id)) {
            for picture in pictures(judgement) {
                let path = from.join(format!("{}.svg", picture.drawn));
                let failed = |source| ReportError { path: path.display().to_string(), source };
                let svg = std::fs::read_to_string(&path).map_err(failed)?;
                write_file(&folder.join(picture.kept), &svg)?;
            }
        }
    }
    Ok(())
}

fn document(title: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <h1>{title}</h1>\n{body}</body>\n</html>\n"
    )
}
