//! Earlier verdicts next to those of this report, claim by claim.

use super::Report;
use super::block::{Block, Cell, Inline, OVERVIEW};
use super::score::{ClaimClass, Standing, standing};
use crate::catalogue::{Catalogue, Cause, Decision, Earlier, EarlierVerdict, LocatedClaim, Paper};
use crate::tested::Outcome;
use crate::verdict::{Judged, Verdict};
use std::collections::BTreeMap;

/// The page's name.
pub(super) const NAME: &str = "transitions";

/// The state of a claim in this report; the order is that of the page's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    class: ClaimClass,
    counted_with: bool,
    standing: Standing,
}

/// A claim with both of its verdicts.
struct Transition<'a> {
    claim: LocatedClaim<'a>,
    before: EarlierVerdict,
    now: State,
    why: String,
}

impl State {
    fn of(report: &Report, claim: &LocatedClaim<'_>) -> State {
        let counted_with = claim.counted_with().is_some();
        State { class: claim.class(), counted_with, standing: standing(report, claim) }
    }

    /// True if it is among those that could come out otherwise, and counts.
    fn is_measured(self) -> bool {
        self.class == ClaimClass::Measured && !self.counted_with
    }

    fn is_reproduced(self) -> bool {
        self.standing == Standing::Judged(Verdict::Reproduced)
    }

    fn words(self) -> String {
        let verdict = match self.standing {
            Standing::Judged(verdict) => verdict.words(),
            Standing::Tested(outcome) => return format!("tested: {}", outcome.words()),
            Standing::Read => return "answered by a page".to_owned(),
            Standing::Refuted => "refuted",
            Standing::NotRun => "not run",
            Standing::Open => "nothing decides it",
        };
        match self.class {
            ClaimClass::Measured if self.counted_with => format!("counts with another: {verdict}"),
            ClaimClass::Calibrated if self.counted_with => {
                format!("calibrated, counts with another: {verdict}")
            }
            ClaimClass::Calibrated => format!("calibrated: {verdict}"),
            ClaimClass::Arithmetic => format!("arithmetic: {verdict}"),
            ClaimClass::Drawn if self.is_reproduced() => "drawn".to_owned(),
            ClaimClass::Drawn => format!("drawn: {verdict}"),
            _ => verdict.to_owned(),
        }
    }
}

/// The page, without its title.
pub(super) fn page(catalogue: &Catalogue, report: &Report, earlier: &Earlier) -> Vec<Block> {
    let claims = catalogue.papers.iter().flat_map(Paper::claims);
    let all: Vec<Transition<'_>> =
        claims.map(|claim| Transition::of(catalogue, report, earlier, claim)).collect();
    let counted: Vec<&Transition<'_>> = all.iter().filter(|it| it.claim.counts()).collect();
    let mut blocks = head(report, earlier, counted.len());
    blocks.push(matrix(&counted));
    blocks.push(Block::text(
        "What only counts points, computes, or names a test left the count of measured claims: it can hardly come out \
         otherwise. So did claims to which a value was fitted, and claims that share a number with another.",
    ));
    let general: Vec<&Decision> =
        later(catalogue, earlier).filter(|decision| decision.claims.is_empty()).collect();
    if !general.is_empty() {
        blocks.push(heading("What changed for all of them", "all"));
        blocks.push(Block::List(general.into_iter().map(said).collect()));
    }
    let held = |it: &Transition<'_>| it.before == EarlierVerdict::Holds;
    let measured = |it: &Transition<'_>| it.now.is_measured();
    let good = |it: &Transition<'_>| measured(it) && it.now.is_reproduced();
    blocks.extend(list(&counted, "Held, and is not reproduced now", "fell", |it| {
        held(it) && measured(it) && !good(it)
    }));
    blocks.extend(list(&counted, "Did not hold, and is reproduced now", "rose", |it| {
        !held(it) && good(it)
    }));
    blocks.extend(list(
        &counted,
        "Did not hold, and is not reproduced now, either",
        "same",
        |it| !held(it) && measured(it) && !good(it),
    ));
    let apart = |it: &Transition<'_>| {
        it.now.class == ClaimClass::Calibrated
            || it.now.counted_with
            || (it.now.class == ClaimClass::Arithmetic && !it.now.is_reproduced())
            || matches!(
                it.now.standing,
                Standing::Tested(Outcome::NotRun | Outcome::Failed) | Standing::Refuted
            )
    };
    blocks.extend(list(&counted, "Counted apart now, where that says something", "apart", apart));
    blocks.push(heading("Every claim", "every"));
    let rows = all.iter().map(|it| row(it, true));
    let summary = format!("{} claims, those of priority 3 among them", all.len());
    blocks.push(Block::Folded(summary, vec![table(true, rows)]));
    blocks
}

fn heading(text: &str, anchor: &str) -> Block {
    Block::Heading(2, text.to_owned(), anchor.to_owned())
}

fn head(report: &Report, earlier: &Earlier, counted: usize) -> Vec<Block> {
    vec![
        Block::Paragraph(vec![
            Inline::Text(format!(
                "The earlier verdicts are those of docs/papers at commit {}, whose pages were made at {}; papers/earlier.toml \
                 keeps them. {} The present verdicts:",
                earlier.commit,
                earlier.pages,
                report.origin()
            )),
            Inline::Page(OVERVIEW.to_owned(), "all papers".to_owned()),
        ]),
        Block::text(
            "Reasons are the ledger's decisions that name a claim, and what its verdict rests on now. Which of them changed \
             the verdict was not tried.",
        ),
        Block::text(format!("Of the {counted} claims of priority 1 and 2, by both:")),
    ]
}

/// Counts in both directions: a row for each present state, a column for each earlier one.
fn matrix(counted: &[&Transition<'_>]) -> Block {
    let mut columns: Vec<EarlierVerdict> = counted.iter().map(|it| it.before).collect();
    columns.sort_unstable();
    columns.dedup();
    let mut counts: BTreeMap<State, Vec<usize>> = BTreeMap::new();
    for it in counted {
        let row = counts.entry(it.now).or_insert_with(|| vec![0; columns.len()]);
        let at = columns.iter().position(|column| *column == it.before);
        row[at.unwrap_or_default()] += 1;
    }
    let mut rows = vec![vec![Cell::Text("now".to_owned())]];
    rows[0].extend(columns.iter().map(|column| Cell::Text(format!("before: {}", column.words()))));
    rows[0].push(Cell::Text("all".to_owned()));
    let numbers = |name: String, counts: &[usize]| {
        let all = counts.iter().sum::<usize>();
        let cells = counts.iter().chain([&all]).map(|count| Cell::Number(count.to_string()));
        [Cell::Text(name)].into_iter().chain(cells).collect::<Vec<_>>()
    };
    let mut sums = vec![0; columns.len()];
    for (state, counts) in &counts {
        rows.push(numbers(state.words(), counts));
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    rows.push(numbers("all".to_owned(), &sums));
    Block::Table(String::new(), rows)
}

fn list(
    counted: &[&Transition<'_>],
    title: &str,
    anchor: &str,
    wanted: impl Fn(&Transition<'_>) -> bool,
) -> Vec<Block> {
    let rows: Vec<Vec<Cell>> =
        counted.iter().filter(|it| wanted(it)).map(|it| row(it, false)).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let title = format!("{title} ({})", rows.len());
    vec![heading(&title, anchor), table(false, rows.into_iter())]
}

fn table(priority: bool, rows: impl Iterator<Item = Vec<Cell>>) -> Block {
    let mut heads = vec!["claim", "what", "before", "now", "why"];
    if priority {
        heads.insert(1, "priority");
    }
    let heads = heads.into_iter().map(|head| Cell::Text(head.to_owned())).collect();
    Block::Table(String::new(), std::iter::once(heads).chain(rows).collect())
}

fn row(it: &Transition<'_>, priority: bool) -> Vec<Cell> {
    let mut cells = vec![
        Cell::Page(it.claim.paper.name.clone(), it.claim.id.to_owned()),
        Cell::Text(it.claim.says().trim().to_owned()),
        Cell::Text(it.before.words().to_owned()),
        Cell::Text(it.now.words()),
        Cell::Text(it.why.clone()),
    ];
    if priority {
        cells.insert(1, Cell::Number(it.claim.entry.priority.to_string()));
    }
    cells
}

impl<'a> Transition<'a> {
    fn of(
        catalogue: &Catalogue,
        report: &Report,
        earlier: &Earlier,
        claim: LocatedClaim<'a>,
    ) -> Transition<'a> {
        let (before, now) = (earlier.verdict(claim.id), State::of(report, &claim));
        let same = (before == EarlierVerdict::Holds) == now.is_reproduced() && now.is_measured();
        let why = if same && before == EarlierVerdict::Holds {
            String::new()
        } else {
            why(catalogue, report, earlier, &claim, now)
        };
        Transition { claim, before, now, why }
    }
}

/// The decisions that the earlier verdicts did not have.
fn later<'a>(catalogue: &'a Catalogue, earlier: &'a Earlier) -> impl Iterator<Item = &'a Decision> {
    let decisions = catalogue.ledger.decisions.iter();
    decisions.filter(|decision| !earlier.decisions.contains(&decision.commit))
}

fn said(decision: &Decision) -> String {
    format!(
        "{}: {} became {}. {} ({})",
        decision.what.words(),
        decision.before,
        decision.after.trim_end_matches('.'),
        decision.why.trim(),
        decision.commit
    )
}

/// The reason for what a claim is now: decisions of the ledger, then what the verdict rests on.
fn why(
    catalogue: &Catalogue,
    report: &Report,
    earlier: &Earlier,
    claim: &LocatedClaim<'_>,
    now: State,
) -> String {
    let named = |decision: &&Decision| decision.claims.iter().any(|id| id == claim.id);
    let mut reasons: Vec<String> = later(catalogue, earlier).filter(named).map(said).collect();
    match now.class {
        ClaimClass::Arithmetic => reasons.push("It is computed.".to_owned()),
        ClaimClass::Drawn => reasons.push("It counts the points of a sweep.".to_owned()),
        ClaimClass::Tested => reasons.push("A test decides it.".to_owned()),
        ClaimClass::Read => reasons.push("A page answers it.".to_owned()),
        ClaimClass::Open => reasons.push("Nothing decides it.".to_owned()),
        ClaimClass::Measured | ClaimClass::Calibrated => {
            let judged = report.judged(claim.id);
            reasons.extend(judged.map(grounds).unwrap_or_default());
        }
    }
    reasons.extend(claim.counted_with().map(|other| format!("It counts with {other}.")));
    let says_nothing = [Cause::Unknown, Cause::Chance].map(|cause| format!("{}.", cause.words()));
    if reasons.iter().all(|reason| says_nothing.contains(reason)) {
        reasons.push("The runs: as many as the scenario says, with another seed.".to_owned());
    }
    reasons.join(" ")
}

/// The grounds of a measured claim's verdict, but for its explanation, which its page has.
fn grounds(judged: &Judged) -> Vec<String> {
    let mut grounds = Vec::new();
    if let Some(fitted) = &judged.claim.calibrated {
        grounds.push(format!("Fitted: {}", fitted.trim()));
    }
    if judged.verdict == Verdict::FreeParameter {
        let chosen = judged.findings.iter().map(|finding| finding.verdict).max();
        let good = chosen.is_some_and(|verdict| verdict <= Verdict::InWords);
        let others = judged.others.iter().filter(|other| !other.stated);
        let against = others.filter(|other| (other.verdict <= Verdict::InWords) != good);
        let mut at: Vec<String> = against
            .filter(|other| other.verdict != Verdict::Undecided)
            .map(|other| format!("{}, {}", other.parameter.to_lowercase(), other.value))
            .collect();
        at.dedup();
        grounds.push(format!("Otherwise with: {}.", at.join("; ")));
    } else if judged.verdict != Verdict::Reproduced {
        grounds.extend(judged.claim.cause.map(|cause| format!("{}.", cause.words())));
    }
    // What the paper states decides; what was so before it was taken explains.
    let stated = judged.others.iter().filter(|other| other.stated);
    let mut worst: BTreeMap<(&str, &str), Verdict> = BTreeMap::new();
    for other in stated {
        let value = worst.entry((&other.parameter, &other.value)).or_insert(other.verdict);
        *value = (*value).max(other.verdict);
    }
    for ((parameter, value), verdict) in worst {
        if verdict != judged.verdict {
            let parameter = parameter.to_lowercase();
            grounds.push(format!("With {parameter}, {value}: {}.", verdict.words()));
        }
    }
    grounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Files;

    fn cells(block: &Block) -> Vec<Vec<String>> {
        let Block::Table(_, rows) = block else { panic!("{block:?}") };
        let text = |cell: &Cell| match cell {
            Cell::Text(text) | Cell::Number(text) | Cell::Page(_, text) => text.clone(),
            other => panic!("{other:?}"),
        };
        rows.iter().map(|row| row.iter().map(text).collect()).collect()
    }

    #[test]
    fn each_claim_is_in_one_cell_of_the_matrix() {
        let catalogue = Catalogue::read(Files::built_in()).unwrap();
        let earlier = catalogue.earlier.clone().unwrap();
        let blocks = page(&catalogue, &Report::default(), &earlier);
        let matrix = blocks.iter().find(|block| matches!(block, Block::Table(..))).unwrap();
        let rows = cells(matrix);
        // What the pages of that time say of themselves.
        assert_eq!(
            rows[0],
            ["now", "before: holds", "before: does not hold", "before: not decided", "all"]
        );
        assert_eq!(rows.last().unwrap()[1..], ["333", "32", "3", "368"]);
    }

    #[test]
    fn a_change_has_the_decision_that_made_it() {
        let catalogue = Catalogue::read(Files::built_in()).unwrap();
        let earlier = catalogue.earlier.clone().unwrap();
        let claim = catalogue.claim("B-T2-a").unwrap();
        let it = Transition::of(&catalogue, &Report::default(), &earlier, claim);
        assert_eq!(it.now.words(), "not run");
        assert!(it.why.contains("aa646e12"), "{}", it.why);
        // Those that the earlier verdict already had explain no change.
        let claim = catalogue.claim("B-8-k").unwrap();
        let it = Transition::of(&catalogue, &Report::default(), &earlier, claim);
        assert!(!it.why.contains("94f696f0"), "{}", it.why);
    }
}
