//! The report's files: pages of HTML, and Markdown with pictures for a repository.

use super::block::{Block, OVERVIEW, html, markdown};
use super::overview::overview;
use super::page::{page, pictures};
use super::{Report, ReportError, axis, future_work, write_file};
use crate::catalogue::Catalogue;
use bentpipe_plot::svg::escaped;
use std::path::Path;

const STYLE: &str = include_str!("style.css");
const TITLE: &str = "The papers, run again";

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
