//! The appendix of the pages: machines, times, room, commands, kernels' settings, deviations.

use super::Report;
use super::block::{Block, Cell, Inline, OVERVIEW};
use super::transitions;
use crate::catalogue::{Catalogue, CatalogueError, Costs, Figure, LiveCost};
use crate::run::{LivePointResults, LiveResults, Machine};
use std::collections::BTreeMap;

/// The page's name.
pub(super) const NAME: &str = "appendix";
/// A text that dissents from the pages, in the papers' folder.
const DISSENT: &str = "dissent.md";

/// The page, without its title.
///
/// # Errors
/// What was kept of real hosts cannot be read.
pub(super) fn page(catalogue: &Catalogue, report: &Report) -> Result<Vec<Block>, CatalogueError> {
    let figures: Vec<&Figure> = catalogue.papers.iter().flat_map(|paper| &paper.figures).collect();
    let mut live = Vec::new();
    for figure in &figures {
        let kept = LiveResults::read(catalogue.files(), &figure.id)?;
        if !kept.points.is_empty() {
            live.push((*figure, kept));
        }
    }
    let mut blocks = vec![Block::text(format!("{} {}", report.origin(), report.tests_origin()))];
    blocks.extend(commands());
    blocks.extend(catalogue.costs.as_ref().map(|costs| machine(costs, figures.len())));
    blocks.push(by_figure(catalogue.costs.as_ref(), &figures));
    blocks.extend(real_hosts(catalogue.costs.as_ref(), &live));
    blocks.extend(deviations(catalogue));
    Ok(blocks)
}

fn heading(text: &str, anchor: &str) -> Block {
    Block::Heading(2, text.to_owned(), anchor.to_owned())
}

fn heads(heads: &[&str]) -> Vec<Cell> {
    heads.iter().map(|head| Cell::Text((*head).to_owned())).collect()
}

fn commands() -> Vec<Block> {
    let row = |command: &str, what: &str, needs: &str| {
        vec![
            Cell::Code(command.to_owned()),
            Cell::Text(what.to_owned()),
            Cell::Text(needs.to_owned()),
        ]
    };
    let rows = vec![
        heads(&["command", "what", "takes"]),
        row(
            "make papers",
            "the tests that claims name, all figures, these pages",
            "root for the live tests",
        ),
        row(
            "bentpipe papers --all --papers papers --docs docs/papers",
            "all figures, these pages; tests by out/papers/tests.json",
            "",
        ),
        row("bentpipe papers --sensitivity --keep papers", "other values of free parameters", ""),
        row("sudo bentpipe papers --live --all --keep papers", "points on real hosts", "root"),
        row(
            "make artifact",
            "an archive of all raw data, with checksums",
            "the runs of make papers",
        ),
        row(
            "bentpipe papers --from ARTIFACT",
            "these pages from the archive's data alone, compared with those in it",
            "nothing: no network, no root, no simulation",
        ),
    ];
    vec![heading("Commands", "commands"), Block::Table(String::new(), rows)]
}

/// The machine of the simulations, as a paragraph.
fn machine(costs: &Costs, figures: usize) -> Block {
    let all =
        |of: fn(&crate::catalogue::FigureCost) -> f64| costs.figure.values().map(of).sum::<f64>();
    let (seconds, kept) = (all(|cost| cost.processor_s), all(|cost| cost.kept_mb));
    Block::text(format!(
        "{} of {figures} figures took {:.0} minutes of a processor's time and {kept:.0} MB of disk for what is kept of their runs, on \
         {} ({} processors, {} MiB of memory, {}), compiled by {}, with {} at commit {}, {}. Runs of two figures were made \
         once, and count with the first. (scripts/papers_costs.py)",
        costs.figure.len(),
        seconds / 60.0,
        costs.processor,
        costs.cores,
        costs.memory_mib,
        costs.kernel,
        costs.compiler,
        match costs.threads {
            1 => "one thread".to_owned(),
            threads => format!("{threads} threads"),
        },
        costs.commit,
        costs.measured,
    ))
}

/// A row for each figure or table, with its exact commands.
fn by_figure(costs: Option<&Costs>, figures: &[&Figure]) -> Block {
    let mut rows = vec![heads(&[
        "figure or table",
        "claims",
        "processor, s",
        "kept, MB",
        "command",
        "on real hosts",
    ])];
    for figure in figures {
        let cost = costs.and_then(|costs| costs.figure.get(&figure.id));
        let number =
            |of: Option<f64>| Cell::Number(of.map(|it| format!("{it:.1}")).unwrap_or_default());
        let live = match figure.live().next() {
            Some(_) => format!("sudo bentpipe papers --live {}", figure.id),
            None => String::new(),
        };
        rows.push(vec![
            Cell::Text(figure.title.clone()),
            Cell::Number(figure.claims.len().to_string()),
            number(cost.map(|cost| cost.processor_s)),
            number(cost.map(|cost| cost.kept_mb)),
            Cell::Code(format!("bentpipe papers {}", figure.id)),
            Cell::Code(live),
        ]);
    }
    Block::Table("Each figure or table:".to_owned(), rows)
}

fn real_hosts(costs: Option<&Costs>, live: &[(&Figure, LiveResults)]) -> Vec<Block> {
    let time = match costs.and_then(|costs| costs.live.as_ref()) {
        Some(LiveCost { commit, runs, minutes }) => {
            format!(
                "{runs}, with those that two figures share counted once, took {minutes:.0} minutes together at commit {commit}."
            )
        }
        None => "how long all of them took was not kept.".to_owned(),
    };
    let mut rows = vec![heads(&["figure", "points", "runs", "day", "commit", "kernel", "machine"])];
    for (figure, kept) in live {
        let Machine { measured, commit, kernel, processor, cores, memory_mib, side_by_side } =
            &kept.machine;
        let runs: usize = kept.points.iter().map(LivePointResults::runs).sum();
        rows.push(vec![
            Cell::Code(figure.id.clone()),
            Cell::Number(kept.points.len().to_string()),
            Cell::Number(runs.to_string()),
            Cell::Text(measured.clone()),
            Cell::Text(commit.clone().unwrap_or_default()),
            Cell::Text(kernel.clone()),
            Cell::Text(format!(
                "{processor}, {cores} processors, {memory_mib} MiB, at most {side_by_side} runs side by side"
            )),
        ]);
    }
    let mut settings: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (figure, kept) in live {
        for line in &kept.kernel_settings {
            let (scenario, setting) = line.split_once(": ").unwrap_or(("", line));
            settings.entry(setting).or_default().push(format!("{} ({scenario})", figure.id));
        }
    }
    let mut list = vec![heads(&["setting", "of"])];
    list.extend(settings.into_iter().map(|(setting, figures)| {
        vec![Cell::Text(setting.to_owned()), Cell::Text(figures.join(", "))]
    }));
    let summary = format!("{} settings", list.len() - 1);
    vec![
        heading("Real hosts", "real-hosts"),
        Block::text(format!(
            "Runs are in real time; {time} papers/NAME/fig-….live.csv has a \
             row for each point, run and kind of flow, with the lateness of links and the load of the machine; fig-….flows.csv.gz has the same of \
             single flows.",
        )),
        Block::Table(String::new(), rows),
        heading("How the kernels' TCP was set", "kernel-settings"),
        Block::text(
            "Linux's own TCP, set as old hosts were. Each line once, with the figures whose hosts have it:",
        ),
        Block::Folded(summary, vec![Block::Table(String::new(), list)]),
    ]
}

fn deviations(catalogue: &Catalogue) -> Vec<Block> {
    let changed = catalogue.changes.len();
    let mut blocks = vec![
        heading("Deviations", "deviations"),
        Block::Paragraph(vec![
            Inline::Text(format!(
                "{} decisions were made when a first result was known, and {changed} accepted numbers were added or changed. \
                 papers/ledger.toml and papers/frozen.toml have each with its reason. So has",
                catalogue.ledger.decisions.len()
            )),
            Inline::Page(OVERVIEW.to_owned(), "the first page,".to_owned()),
            Inline::Text("and".to_owned()),
            Inline::Page(transitions::NAME.to_owned(), "this page".to_owned()),
            Inline::Text("has earlier verdicts next to the present ones.".to_owned()),
        ]),
    ];
    if let Ok(dissent) = catalogue.files().text(DISSENT) {
        blocks.push(heading("Dissent", "dissent"));
        blocks.push(Block::text(
            "What readers who had no part in the measurements found doubtful (papers/dissent.md), unedited to point 15. Each spoke of the pages \
             of that day: points 2 to 5, 8 to 10 and 12 to 15 are of former ones.",
        ));
        blocks
            .extend(dissent.split("\n\n").map(|part| Block::text(part.trim().replace('\n', " "))));
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Files;
    use crate::report::block::markdown;
    use std::path::Path;

    #[test]
    fn every_figure_has_its_command_and_every_setting_stands_once() {
        // The program has no rows of real hosts.
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
        let catalogue = Catalogue::read(Files::of_folder(&folder).unwrap()).unwrap();
        let text = markdown(&page(&catalogue, &Report::default()).unwrap());
        for figure in catalogue.papers.iter().flat_map(|paper| &paper.figures) {
            assert!(text.contains(&format!("`bentpipe papers {}`", figure.id)), "{}", figure.id);
            let live = LiveResults::read(catalogue.files(), &figure.id).unwrap();
            for line in live.kernel_settings {
                let setting = line.split_once(": ").unwrap().1.replace('|', "\\|");
                assert_eq!(text.matches(&format!("| {setting} |")).count(), 1, "{setting}");
            }
        }
    }

    #[test]
    fn costs_are_of_figures() {
        let catalogue = Catalogue::read(Files::built_in()).unwrap();
        let costs = catalogue.costs.as_ref().unwrap();
        assert_eq!(
            costs.figure.len(),
            catalogue.papers.iter().map(|p| p.figures.len()).sum::<usize>()
        );
        for id in costs.figure.keys() {
            assert!(id.contains('/') && catalogue.find(id).len() == 1, "{id}");
        }
    }
}
