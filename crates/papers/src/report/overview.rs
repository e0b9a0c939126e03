//! The first page. One screen answers whether the papers are reproduced.
//!
//! Then follow the claims that are not, with their causes, and the decisions after a first result.

use super::block::{Block, Cell, Inline, Picture, Tone};
use super::page::{tone, why};
use super::score::{ClaimClass, Score, Share};
use super::text::{number, with_interval};
use super::{Report, appendix, axis, transitions};
use crate::catalogue::{Catalogue, Cause, Known, Paper};
use crate::verdict::{Finding, Judged, Verdict};

/// The page, without its title.
pub(super) fn overview(catalogue: &Catalogue, report: &Report) -> Vec<Block> {
    let mut blocks = headline(catalogue, report);
    blocks.push(counts(catalogue, report));
    for paper in &catalogue.papers {
        blocks.extend(known_for(report, paper));
    }
    let picture = Picture {
        title: "Every measured number on one axis".to_owned(),
        kept: axis::FILE.to_owned(),
        drawn: axis::FILE.trim_end_matches(".svg").to_owned(),
        has_data: false,
    };
    blocks.extend([heading("Every measured number", "axis"), Block::Picture(picture)]);
    blocks.extend(not_reproduced(catalogue, report));
    blocks.extend(decided_afterwards(catalogue));
    blocks
}

fn heading(text: &str, anchor: &str) -> Block {
    Block::Heading(2, text.to_owned(), anchor.to_owned())
}

fn headline(catalogue: &Catalogue, report: &Report) -> Vec<Block> {
    let score = Score::of(catalogue, report, |_| true);
    let said = format!(
        "{} of {} measured claims are reproduced, {} more by the paper's words and not by our number. {} are different, {} \
         undecided. For {} of these claims tables have other values of what the papers leave free; {} depend on it.",
        score.with(Verdict::Reproduced),
        score.all_measured(),
        score.with(Verdict::InWords),
        score.with(Verdict::Different),
        score.with(Verdict::Undecided),
        score.tried_elsewhere,
        score.with(Verdict::FreeParameter)
    );
    let apart = format!(
        "Not among them: {} calibrated claims ({} hold), and {} that share a number or a cause with another. A claim is \
         calibrated if a free value, a model or what is counted was chosen after a first result, and moved its verdict: \
         whatever that is now, it confirms nothing. Repairs of our own faults are no such thing. Two of the calibrated ones, G99-4-a and G01-4-a, are one claim in two papers. Arithmetic comes to the papers' in {}. {} sweeps were drawn. {} requirements are held by tests{}; {} \
         requirements are answered by a page.",
        score.calibrated.of,
        score.calibrated.holds,
        score.counted_with,
        share(score.arithmetic),
        share(score.drawn),
        share(score.tested),
        match score.not_tested {
            0 => String::new(),
            not => format!(" ({not} not run here)"),
        },
        score.read
    );
    let claims = || catalogue.papers.iter().flat_map(Paper::claims);
    let wishes = claims().filter(|claim| !claim.counts()).count();
    let register = format!(
        "The five texts make {} claims. Priority 1 is a paper's core, 2 what follows from it, 3 the rest, most of it left to \
         others. {wishes} are of priority 3, and do not count.",
        claims().count()
    );
    let rule = "A claim is reproduced if the intervals of all its numbers lie within what is accepted; it is different if \
                one lies wholly outside, and undecided if one lies across the end. It depends on a free parameter if it is \
                reproduced, in words at least, with the chosen value and different with another, or the other way round; what is undecided \
                with another value does not count against it. The intervals of one claim hold together with 95 % (Bonferroni). How \
                many runs are made is the scenario's: a number, or as many as it takes until their spread is small, \
                within two numbers. No verdict changes it now; in eight figures it is what a former rule, more runs while \
                a verdict was undecided, had come to, and two others were fixed after a first result. What the paper's words bear was written when the numbers were known. \
                Three of these ranges are so wide that no result misses them: those of B-4PKT-10, S-3.6-b and H-4.13-c. Without \
                its own H-4.13-c would be different, and not dependent on a free parameter. \
                What is accepted of bbn and sfu was frozen before \
                their figures were run, but for the changes below (papers/frozen.toml names the commits, and what was \
                known of the same paths by then); of the other three papers the history does not show it. What is simulated alone \
                has one seed, which was new at 76370f12. With it both of the papers on gateways were run again, as their \
                gateways were changed twice since then (the list below).";
    let words = "In ACM's words, this is a replication: other code on other machines, from what the papers print. What \
                 was simulated is repeated by `make papers`, to the digit; all verdicts are derived again from kept raw data by \
                 `make artifact`.";
    vec![
        Block::Paragraph(vec![Inline::Strong(said)]),
        Block::text(apart),
        Block::text(register),
        Block::text(rule),
        Block::text(words),
        Block::text(format!(
            "`bentpipe papers --all` wrote these pages. {} {}",
            report.origin(),
            report.tests_origin()
        )),
        Block::Paragraph(vec![
            Inline::Page(
                transitions::NAME.to_owned(),
                "Earlier verdicts and present ones".to_owned(),
            ),
            Inline::Text("stand side by side, claim by claim;".to_owned()),
            Inline::Page(appendix::NAME.to_owned(), "the appendix".to_owned()),
            Inline::Text("has machines, times, commands and settings.".to_owned()),
        ]),
    ]
}

fn share(share: Share) -> String {
    format!("{} of {}", share.holds, share.of)
}

fn counts(catalogue: &Catalogue, report: &Report) -> Block {
    let head = ["paper", "measured"].into_iter().map(str::to_owned);
    let head = head.chain(Verdict::ALL.map(|verdict| verdict.words().to_owned()));
    let head = head.chain(["arithmetic", "drawn", "tested"].map(str::to_owned));
    let mut rows = vec![head.map(Cell::Text).collect::<Vec<Cell>>()];
    for paper in &catalogue.papers {
        let score = Score::of(catalogue, report, |other| other.name == paper.name);
        let mut row = vec![
            Cell::Page(paper.name.clone(), paper.about.title.clone()),
            Cell::Number(score.all_measured().to_string()),
        ];
        row.extend(Verdict::ALL.map(|verdict| match (verdict, score.tried_elsewhere) {
            (Verdict::FreeParameter, 0) => Cell::Text("not tried".to_owned()),
            (Verdict::FreeParameter, tried) => {
                Cell::Number(format!("{} of {tried}", score.with(verdict)))
            }
            (verdict, _) => Cell::Number(score.with(verdict).to_string()),
        }));
        let shares = [score.arithmetic, score.drawn, score.tested];
        row.extend(shares.map(|of| Cell::Number(format!("{} / {}", of.holds, of.of))));
        rows.push(row);
    }
    Block::Table(String::new(), rows)
}

/// The statements that a paper is known for, with the findings.
fn known_for(report: &Report, paper: &Paper) -> Vec<Block> {
    let head = ["", "the paper", "found", "in", "", "why", "claim"];
    let mut rows = vec![head.map(|text| Cell::Text(text.to_owned())).to_vec()];
    rows.extend(paper.about.known.iter().map(|known| known_row(report, known)));
    if rows.len() == 1 {
        return Vec::new();
    }
    let said = format!("{}: {}", paper.about.authors, paper.about.title);
    vec![Block::Heading(3, said, paper.name.clone()), Block::Table(String::new(), rows)]
}

fn known_row(report: &Report, known: &Known) -> Vec<Cell> {
    let judged = report.judged(&known.claim);
    let finding = judged
        .and_then(|judged| judged.findings.iter().find(|finding| finding.name == known.number));
    let verdict = match judged {
        Some(judged) if judged.claim.calibrated.is_some() => {
            Cell::Verdict(format!("{} (calibrated)", judged.verdict.words()), Tone::Open)
        }
        Some(judged) => Cell::Verdict(judged.verdict.words().to_owned(), tone(judged.verdict)),
        None => Cell::Text("not run".to_owned()),
    };
    let cause = judged
        .filter(|judged| judged.verdict != Verdict::Reproduced)
        .and_then(|judged| judged.claim.cause);
    vec![
        Cell::Text(known.says.clone()),
        Cell::Text(known.printed.clone()),
        Cell::Number(finding.map(|named| decisive(judged, named, known.scale)).unwrap_or_default()),
        Cell::Text(known.unit.clone()),
        verdict,
        Cell::Text(cause.map(Cause::words).unwrap_or_default().to_owned()),
        Cell::Text(known.claim.clone()),
    ]
}

/// The number that a statement names, in its unit, and the claim's worst one if that is what
/// decides.
fn decisive(judged: Option<&Judged>, named: &Finding, scale: f64) -> String {
    let findings = judged.map(|judged| judged.findings.as_slice()).unwrap_or_default();
    let said = with_interval(named.found * scale, named.half_width * scale);
    // Of several, the first.
    match findings.iter().rev().max_by_key(|finding| finding.verdict) {
        Some(worst) if worst.verdict > named.verdict => {
            format!("{said}; {} {}", worst.name, number(worst))
        }
        _ => said,
    }
}

/// Claims that are not reproduced, by their cause.
fn not_reproduced(catalogue: &Catalogue, report: &Report) -> Vec<Block> {
    let mut blocks = vec![
        heading("What is not reproduced, and why", "why"),
        Block::text(
            "Calibrated claims are among them, and arithmetic. A paper's page has all numbers of a claim, and its table of \
             other values.",
        ),
    ];
    let claims = catalogue.papers.iter().flat_map(Paper::claims);
    let counted = claims.filter(|claim| {
        let class = claim.class();
        claim.counts()
            && matches!(
                class,
                ClaimClass::Measured | ClaimClass::Calibrated | ClaimClass::Arithmetic
            )
    });
    let judged: Vec<&Judged> = counted
        .filter_map(|claim| report.judged(claim.id))
        .filter(|judged| judged.verdict != Verdict::Reproduced)
        .collect();
    let causes = Cause::ALL.map(Some).into_iter().chain([None]);
    for cause in causes {
        let of_cause: Vec<&&Judged> =
            judged.iter().filter(|judged| judged.claim.cause == cause).collect();
        if of_cause.is_empty() {
            continue;
        }
        let said = cause.map_or("No cause is given.", Cause::words);
        blocks.push(Block::Heading(3, format!("{said} ({})", of_cause.len()), String::new()));
        blocks.extend(of_cause.into_iter().map(|judged| why(report, judged)));
    }
    blocks
}

/// The decisions after a first result.
fn decided_afterwards(catalogue: &Catalogue) -> Vec<Block> {
    let mut blocks = vec![
        heading("What was decided after a first result", "afterwards"),
        Block::text(
            "Tolerances, scenarios, functions, durations, definitions and models of TCP that were changed when a first result was known. \
             A digest holds each figure's scenarios, checks and functions (papers/ledger.toml), others hold what is \
             accepted (papers/frozen.toml). Since 721fad51 a test fails if one of these is changed without an entry here. \
             Three times digests were written over without an entry of their own: 5c7a4a60, 40753ba9, and 78718c23 within another entry. \
             07b25f5b wrote over 46 of 49 with an entry of discards alone; those of the seed and of the numbers of runs were added later. \
             Presets of TCP have one since 5b6e22f7: e30b570e changed one unseen. Before 721fad51 an entry names the claims whose verdict was \
             in view, and since then all that it can move, but for the two models of 9c622f8d. Causes, explanations, what the paper's words bear, which other values are \
             tried, and the rest of our own TCP have none.",
        ),
    ];
    let head = ["claims", "what", "before", "after", "why", "commit"];
    let mut rows = vec![head.map(|text| Cell::Text(text.to_owned())).to_vec()];
    for decision in &catalogue.ledger.decisions {
        let found = match &decision.found_before {
            Some(found) => format!("{} ({found})", decision.before),
            None => decision.before.clone(),
        };
        rows.push(vec![
            Cell::Text(match decision.claims.len() {
                0 => "all".to_owned(),
                _ => decision.claims.join(", "),
            }),
            Cell::Text(decision.what.words().to_owned()),
            Cell::Text(found),
            Cell::Text(decision.after.clone()),
            Cell::Text(decision.why.clone()),
            Cell::Text(decision.commit.clone()),
        ]);
    }
    let said = format!("{} decisions", rows.len() - 1);
    blocks.push(Block::Folded(said, vec![Block::Table(String::new(), rows)]));
    let tolerances: Vec<String> = catalogue
        .changes
        .iter()
        .map(|change| {
            let said = |text: &Option<String>| text.clone().unwrap_or_else(|| "nothing".to_owned());
            format!(
                "{}, {}: {} became {}. {} The verdict before: {}.",
                change.id,
                change.number,
                said(&change.old),
                said(&change.new),
                change.reason,
                change.verdict_before
            )
        })
        .collect();
    let said = format!("{} accepted numbers that were added or changed", tolerances.len());
    blocks.push(Block::Folded(said, vec![Block::List(tolerances)]));
    blocks
}
