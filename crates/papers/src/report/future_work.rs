//! What the papers leave to others, as a page of questions and answers. Those that a figure answers
//! have its numbers and its pictures; the others what a test prints, or a page that has them.

use super::page::pictures;
use super::text::{explained, number};
use super::{Judgement, Report};
use crate::catalogue::{Catalogue, ClaimKind, Paper, Witness};
use crate::verdict::{Judged, Verdict};
use std::fmt::Write;

/// The page.
pub(super) fn page(catalogue: &Catalogue, report: &Report) -> String {
    let mut text = format!(
        "# What the papers leave to others\n\n*What became of the papers' future work?*\n\n`bentpipe papers --all --docs docs/papers` \
         wrote this page, too. It does not count: these are the papers' wishes (priority 3). [All papers](README.md). {}\n",
        report.origin()
    );
    for paper in &catalogue.papers {
        let wishes = paper.claims().filter(|claim| claim.entry.kind == ClaimKind::FutureWork);
        let wishes = by_number(wishes.map(|claim| claim.id).collect());
        let (answered, open): (Vec<&str>, Vec<&str>) =
            wishes.into_iter().partition(|id| is_answered(paper, id));
        if answered.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n## {}\n\n[The paper]({}.md)", paper.about.title, paper.name);
        for id in answered {
            answer(&mut text, report, paper, id);
        }
        if !open.is_empty() {
            let _ = writeln!(text, "\nNot answered: {}.", open.join(", "));
        }
    }
    text
}

/// Whether a figure, a test or a page answers it.
fn is_answered(paper: &Paper, id: &str) -> bool {
    let mut claims = paper.figures.iter().flat_map(|figure| &figure.claims);
    paper.elsewhere.get(id).is_some_and(|at| at.by != Witness::Nothing)
        || claims.any(|claim| claim.id == id)
}

/// `G01-W-2` before `G01-W-10`.
fn by_number(mut ids: Vec<&str>) -> Vec<&str> {
    ids.sort_by_key(|id| id.rsplit('-').next().and_then(|number| number.parse::<u32>().ok()));
    ids
}

fn answer(text: &mut String, report: &Report, paper: &Paper, id: &str) {
    let question = paper.questions.get(id);
    let _ = match question {
        Some(question) => writeln!(text, "\n### {id}: {}", question.question),
        None => writeln!(text, "\n### {id}"),
    };
    let mut figures = report.figures.iter();
    let judged = figures.find_map(|judgement| {
        let mut claims = judgement.claims.iter();
        claims.find(|judged| judged.claim.id == id).map(|judged| (judgement, judged))
    });
    if let Some((judgement, judged)) = judged {
        by_figure(text, report, paper, judgement, judged);
        return;
    }
    if let Some(elsewhere) = paper.elsewhere.get(id) {
        let _ = writeln!(text, "\n{}", elsewhere.says);
        if let Some(why) = &elsewhere.fails {
            let _ = writeln!(text, "\n**Not so.** {why}");
        }
        if let Some(numbers) = question.and_then(|question| question.numbers.as_ref()) {
            let _ = writeln!(text, "\n{}", numbers.trim());
        }
        let places = elsewhere.places().map(place);
        let _ = writeln!(text, "\nBy {}.", places.collect::<Vec<_>>().join(", "));
        return;
    }
    let mut figures = paper.figures.iter();
    if let Some(figure) = figures.find(|figure| figure.claims.iter().any(|claim| claim.id == id)) {
        let _ = writeln!(text, "\n{} was not run.", figure.id);
    }
}

fn by_figure(
    text: &mut String,
    report: &Report,
    paper: &Paper,
    judgement: &Judgement,
    judged: &Judged,
) {
    let _ = writeln!(text, "\n{}\n\n| number | found | asked for | |", judged.claim.says);
    text.push_str("| --- | ---: | --- | --- |\n");
    for finding in &judged.findings {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            finding.name,
            number(finding),
            finding.accepted.to_string().replace('|', "\\|"),
            finding.verdict.words()
        );
    }
    if let (true, Some(why)) = (judged.verdict != Verdict::Reproduced, &judged.claim.explanation) {
        let _ = {
            let why = explained(report, judged, why.trim());
            writeln!(text, "\n**{}.** {why}", judged.verdict.words())
        };
    }
    for picture in pictures(judgement) {
        let _ = writeln!(text, "\n![{}]({})", picture.title, picture.kept);
    }
    let title = paper.figures.iter().find(|figure| figure.id == judgement.figure);
    let title = title.map_or(judgement.figure.as_str(), |figure| figure.title.as_str());
    let _ = writeln!(text, "\nBy the experiment `{}`: {title}.", judgement.figure);
}

/// A page of the documents as a link, a test as its name.
fn place(at: &str) -> String {
    match at.strip_prefix("docs/") {
        Some(page) => format!("[{page}](../{page})"),
        None => format!("`{at}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Files, LocatedClaim};

    #[test]
    fn ids_are_in_the_order_of_their_numbers() {
        assert_eq!(by_number(vec!["A-W-10", "A-W-2", "A-W-1"]), ["A-W-1", "A-W-2", "A-W-10"]);
    }

    /// Of the papers that have questions; nothing of them is without one or without an answer.
    #[test]
    fn every_wish_has_a_question_and_an_answer() {
        let catalogue = Catalogue::read(Files::built_in()).unwrap();
        let page = page(&catalogue, &Report::default());
        for paper in catalogue.papers.iter().filter(|paper| !paper.questions.is_empty()) {
            let is_wish = |claim: &LocatedClaim<'_>| claim.entry.kind == ClaimKind::FutureWork;
            let wishes: Vec<&str> = paper.claims().filter(is_wish).map(|claim| claim.id).collect();
            for id in &wishes {
                let question = paper.questions.get(*id);
                let question = question.unwrap_or_else(|| panic!("{id} has no question"));
                let heading = format!("### {id}: {}\n", question.question);
                assert!(page.contains(&heading), "{id} is not answered");
            }
            for id in paper.questions.keys() {
                assert!(wishes.contains(&id.as_str()), "{id}");
            }
        }
    }
}
