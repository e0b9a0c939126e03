//! A paper's page: its figures with their claims, and the claims that tests decide.

use super::block::{Block, Cell, Inline, OVERVIEW, Picture, Tone};
use super::score::{Standing, standing};
use super::text::{explained, number, printed, with_interval};
use super::{Judgement, Report};
use super::{appendix, tables};
use crate::catalogue::{ClaimPlace, Figure, LocatedClaim, Paper};
use crate::live::Comparison;
use crate::tested::Outcome;
use crate::verdict::{Judged, Verdict};
use std::path::Path;

/// The page, without its title. `folder` has what was drawn.
pub(super) fn page(report: &Report, paper: &Paper, folder: &Path) -> Vec<Block> {
    let mut blocks = vec![
        Block::text(format!("{}.", paper.about.authors.trim_end_matches('.'))),
        Block::text(paper.about.about.trim()),
        Block::Paragraph(vec![
            Inline::Page(OVERVIEW.to_owned(), "All papers".to_owned()),
            Inline::Text(report.origin()),
        ]),
    ];
    for figure in &paper.figures {
        if let Some(judgement) = report.figure(&figure.id) {
            blocks.extend(of_figure(report, figure, judgement, folder));
        }
    }
    blocks.extend(elsewhere(report, paper));
    blocks
}

/// The pictures of a figure.
pub(super) fn pictures(judgement: &Judgement) -> impl Iterator<Item = Picture> {
    let figure = &judgement.figure;
    judgement.drawings.iter().map(move |drawing| {
        let name = &drawing.figure.name;
        Picture {
            title: drawing.figure.title.clone(),
            kept: format!("{figure}-{name}.svg"),
            drawn: format!("{figure}/{}/figures/{name}", drawing.scenario),
            has_data: true,
        }
    })
}

fn of_figure(report: &Report, figure: &Figure, judgement: &Judgement, folder: &Path) -> Vec<Block> {
    let mut blocks = vec![
        Block::Heading(2, figure.title.clone(), figure.name().to_owned()),
        Block::text(figure.about.trim()),
    ];
    blocks.extend(pictures(judgement).map(Block::Picture));
    blocks.push(claims(&judgement.claims));
    for judged in judgement.claims.iter().filter(|judged| judged.verdict != Verdict::Reproduced) {
        blocks.push(why(report, judged));
    }
    for judged in &judgement.claims {
        if let Some(fitted) = &judged.claim.calibrated {
            blocks.push(said(&format!("{} is calibrated.", judged.claim.id), fitted));
        }
    }
    blocks.extend(other_values(figure, &judgement.claims));
    for (name, layout) in &figure.tables {
        blocks.push(Block::Table(layout.title.clone(), tables::cells(name, layout, judgement)));
    }
    let mut more = Vec::new();
    more.extend(figure.chosen.as_deref().map(|text| said("Chosen.", text)));
    more.extend(figure.today.as_deref().map(|text| said("Today.", text)));
    if !more.is_empty() {
        blocks.push(Block::Folded("What was chosen, and what is so today".to_owned(), more));
    }
    let live = judgement.beside.iter().filter(|beside| beside.is_measured());
    let live: Vec<Block> = live.flat_map(on_real_hosts).collect();
    if !live.is_empty() {
        blocks.push(Block::Folded("On real hosts, beside the simulator".to_owned(), live));
    }
    blocks.extend(links(figure, folder));
    blocks
}

fn links(figure: &Figure, folder: &Path) -> Vec<Block> {
    let mut blocks = Vec::new();
    let link = |name: &String| {
        let page = format!("{}/{name}/index.html", figure.id);
        folder.join(&page).is_file().then(|| (page, name.clone()))
    };
    let experiments: Vec<(String, String)> = figure.scenarios.keys().filter_map(link).collect();
    if !experiments.is_empty() {
        let text = "Experiments, with their scenarios and all data:".to_owned();
        blocks.push(Block::Links(text, experiments));
    }
    let graph = format!("{}/{}", figure.id, super::GRAPH);
    if folder.join(&graph).is_file() {
        let link = (graph, "packet by packet".to_owned());
        blocks.push(Block::Links("One run,".to_owned(), vec![link]));
    }
    blocks
}

fn on_real_hosts(beside: &Comparison) -> Vec<Block> {
    let cells = beside.cells().into_iter().map(|row| {
        let cells = row.into_iter().enumerate();
        let cell = |(column, text)| if column == 0 { Cell::Text(text) } else { Cell::Number(text) };
        cells.map(cell).collect()
    });
    let mut blocks = vec![Block::Table(beside.title(), cells.collect())];
    blocks.extend(beside.explanation.as_deref().map(|why| Block::text(why.trim())));
    blocks.push(Block::Paragraph(vec![Inline::Page(
        appendix::NAME.to_owned(),
        "How their kernels were set".to_owned(),
    )]));
    blocks
}

fn said(label: &str, text: &str) -> Block {
    Block::Paragraph(vec![Inline::Strong(label.to_owned()), Inline::Text(text.trim().to_owned())])
}

fn heads(heads: &[&str]) -> Vec<Cell> {
    heads.iter().map(|head| Cell::Text((*head).to_owned())).collect()
}

/// A figure's claims, a number a row.
fn claims(claims: &[Judged]) -> Block {
    let mut rows = vec![heads(&["claim", "what", "number", "found", "printed", "accepted", ""])];
    for judged in claims {
        for (index, finding) in judged.findings.iter().enumerate() {
            let (id, says) = match index {
                0 => (judged.claim.id.clone(), judged.claim.says.clone()),
                _ => Default::default(),
            };
            rows.push(vec![
                Cell::Text(id),
                Cell::Text(says),
                Cell::Code(finding.name.clone()),
                Cell::Number(number(finding)),
                Cell::Number(printed(finding)),
                Cell::Text(finding.accepted.to_string()),
                Cell::Verdict(finding.verdict.words().to_owned(), tone(finding.verdict)),
            ]);
        }
    }
    Block::Table(String::new(), rows)
}

/// The numbers at other values of what the paper leaves free.
fn other_values(figure: &Figure, claims: &[Judged]) -> Vec<Block> {
    let mut blocks = Vec::new();
    for parameter in &figure.free {
        let mut rows = vec![heads(&["value", "claim", "number", "found", ""])];
        for value in &parameter.values {
            let others = claims.iter().flat_map(|judged| &judged.others);
            let of_value = others
                .filter(|other| (&other.parameter, &other.value) == (&parameter.name, &value.name));
            rows.extend(of_value.map(|other| {
                vec![
                    Cell::Text(other.value.clone()),
                    Cell::Text(other.claim.clone()),
                    Cell::Code(other.name.clone()),
                    Cell::Number(with_interval(other.found.unwrap_or(f64::NAN), other.half_width)),
                    Cell::Verdict(other.verdict.words().to_owned(), tone(other.verdict)),
                ]
            }));
        }
        let title = format!("{}: {} was chosen", parameter.name, parameter.chosen);
        match rows.len() {
            1 => blocks.push(Block::text(format!("{title}; other values were not run."))),
            _ => blocks.push(Block::Table(title, rows)),
        }
        blocks.push(Block::text(&parameter.source));
    }
    blocks
}

/// The reason why a claim is not reproduced.
pub(super) fn why(report: &Report, judged: &Judged) -> Block {
    let label = format!("{}: {}.", judged.claim.id, judged.verdict.words());
    let why = judged.claim.explanation.as_deref().unwrap_or("Not explained yet.");
    said(&label, &explained(report, judged, why))
}

pub(super) fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Reproduced | Verdict::InWords => Tone::Good,
        Verdict::FreeParameter | Verdict::Undecided => Tone::Open,
        Verdict::Different => Tone::Bad,
    }
}

/// Claims that no figure decides.
fn elsewhere(report: &Report, paper: &Paper) -> Vec<Block> {
    let mut rows = vec![heads(&["claim", "priority", "what", "where", ""])];
    for claim in paper.claims().filter(LocatedClaim::counts) {
        let ClaimPlace::Elsewhere(elsewhere) = claim.place else { continue };
        let (verdict, tone) = match standing(report, &claim) {
            Standing::Tested(outcome @ Outcome::Passed) => (outcome.words(), Tone::Good),
            Standing::Tested(outcome @ Outcome::Failed) => (outcome.words(), Tone::Bad),
            Standing::Tested(outcome @ Outcome::NotRun) => (outcome.words(), Tone::Open),
            Standing::Read => ("answered", Tone::Good),
            Standing::Refuted => ("not so", Tone::Bad),
            Standing::Judged(_) | Standing::NotRun | Standing::Open => ("open", Tone::Open),
        };
        let says = match &elsewhere.fails {
            Some(why) => format!("{} Not so: {why}", elsewhere.says),
            None => elsewhere.says.clone(),
        };
        rows.push(vec![
            Cell::Text(claim.id.to_owned()),
            Cell::Number(claim.entry.priority.to_string()),
            Cell::Text(says),
            Cell::Text(elsewhere.places().collect::<Vec<_>>().join(", ")),
            Cell::Verdict(verdict.to_owned(), tone),
        ]);
    }
    if rows.len() == 1 {
        return Vec::new();
    }
    let heading = "Required, and held by tests".to_owned();
    vec![
        Block::Heading(2, heading, "elsewhere".to_owned()),
        Block::text(report.tests_origin()),
        Block::Table(String::new(), rows),
    ]
}
