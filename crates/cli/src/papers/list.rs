//! Figures and verdicts as text.

use bentpipe_papers::catalogue::{Catalogue, Figure};
use bentpipe_papers::report::Report;
use bentpipe_papers::verdict::Verdict;
use serde_json::json;
use std::io::{self, Write};

/// Lists papers and figures; if asked, those with points for real hosts alone.
pub(super) fn write(
    catalogue: &Catalogue,
    live: bool,
    json: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let listed = |figure: &&Figure| !live || figure.live().next().is_some();
    if json {
        let papers = catalogue.papers.iter().map(|paper| {
            let figures = paper.figures.iter().filter(listed).map(|figure| {
                json!({ "id": figure.id, "title": figure.title, "claims": figure.claims.len(), "quick": figure.quick })
            });
            json!({ "paper": paper.name, "title": paper.about.title, "figures": figures.collect::<Vec<_>>() })
        });
        return writeln!(out, "{:#}", json!(papers.collect::<Vec<_>>()));
    }
    let ids = catalogue
        .papers
        .iter()
        .flat_map(|paper| paper.figures.iter().filter(listed))
        .map(|figure| figure.id.len());
    let width = ids.max().unwrap_or_default();
    for paper in &catalogue.papers {
        if paper.figures.iter().any(|figure| listed(&figure)) {
            writeln!(out, "{} ({})", paper.about.title, paper.about.authors)?;
        }
        for figure in paper.figures.iter().filter(listed) {
            writeln!(
                out,
                "  {:width$}  {} ({} claims)",
                figure.id,
                figure.title,
                figure.claims.len()
            )?;
        }
    }
    let live = if live { " --live" } else { "" };
    writeln!(out, "\nOne of them: bentpipe papers{live} ID. All: bentpipe papers{live} --all")
}

/// Says what became of each claim.
pub(super) fn results(
    catalogue: &Catalogue,
    report: &Report,
    out: &mut impl Write,
) -> io::Result<()> {
    for judgement in &report.figures {
        writeln!(out, "{}", judgement.figure)?;
        for judged in &judgement.claims {
            writeln!(
                out,
                "  {:27} {}: {}",
                judged.verdict.words(),
                judged.claim.id,
                judged.claim.says
            )?;
            for finding in judged.findings.iter().filter(|f| f.verdict != Verdict::Reproduced) {
                writeln!(
                    out,
                    "      {} {:.6} ± {:.2e} ({} runs), accepted {}",
                    finding.name, finding.found, finding.half_width, finding.runs, finding.accepted
                )?;
            }
        }
    }
    let score = report.score(catalogue);
    let verdicts =
        Verdict::ALL.map(|verdict| format!("{} {}", score.with(verdict), verdict.words()));
    writeln!(out, "of {} measured claims: {}", score.all_measured(), verdicts.join(", "))?;
    if score.not_run > 0 {
        writeln!(out, "of figures that were not run now: {}", score.not_run)?;
    }
    if !catalogue.files().has_live_rows() {
        writeln!(out, "claims that real hosts decide wait: `--papers DIR` has what these gave")?;
    }
    Ok(())
}
