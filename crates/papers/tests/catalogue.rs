//! The papers in the program are whole: every claim has its place, every experiment can be run, and
//! the tolerances are those that were frozen.

use bentpipe_core::tcp::presets::PRESETS;
use bentpipe_lab::drawing;
use bentpipe_papers::catalogue::{
    Catalogue, Cells, ClaimMethod, Files, Paper, Witness, figure_digest, frozen, preset_digest,
};
use bentpipe_papers::functions;
use bentpipe_papers::live::{LiveResults, inputs};
use bentpipe_papers::report::{ClaimClass, placeholder, placeholder_parts};
use bentpipe_papers::sensitivity::{self, Sensitivity};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn catalogue() -> Catalogue {
    Catalogue::read(crate::folder()).unwrap_or_else(|error| panic!("{error}"))
}

/// But for what real hosts gave, of which the folder has rows.
#[test]
fn the_folder_is_what_is_in_the_program() {
    let there = crate::folder();
    let built_in = Files::built_in();
    let without_rows = there.paths().filter(|path| !path.ends_with(".live.csv"));
    assert_eq!(without_rows.collect::<Vec<_>>(), built_in.paths().collect::<Vec<_>>());
    assert!(built_in.compressed().is_empty());
    assert!(Catalogue::read(built_in).is_ok());
}

#[test]
fn the_tolerances_are_those_that_were_frozen() {
    frozen(&catalogue()).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn every_experiment_can_be_run_and_drawn() {
    let catalogue = catalogue();
    for figure in catalogue.papers.iter().flat_map(|paper| &paper.figures) {
        for name in figure.scenarios.keys() {
            let experiment = figure.experiment(catalogue.files(), name);
            let experiment =
                experiment.unwrap_or_else(|error| panic!("{}, {name}: {error}", figure.id));
            let left_out = drawing::check(&experiment)
                .unwrap_or_else(|error| panic!("{}, {name}: {error}", figure.id));
            assert!(left_out.is_empty(), "{}, {name}: {left_out:?}", figure.id);
        }
    }
}

/// Where each claim is decided.
fn places(catalogue: &Catalogue) -> BTreeMap<&str, Vec<String>> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for paper in &catalogue.papers {
        for figure in &paper.figures {
            for claim in &figure.claims {
                places.entry(&claim.id).or_default().push(figure.id.clone());
            }
        }
        for id in paper.elsewhere.keys() {
            places.entry(id).or_default().push(format!("{}/elsewhere", paper.name));
        }
    }
    places
}

#[test]
fn no_claim_is_forgotten_and_none_is_in_two_places() {
    let catalogue = catalogue();
    for (id, at) in places(&catalogue) {
        assert_eq!(at.len(), 1, "{id} is in {}", at.join(" and "));
    }
    for paper in &catalogue.papers {
        assert_eq!(paper.claims().count(), paper.about.claims, "{}", paper.name);
        for claim in paper.claims() {
            let id = claim.id;
            assert!(id.starts_with(&format!("{}-", paper.about.prefix)), "{id}");
            assert!(claim.entry.priority > 2 || claim.class() != ClaimClass::Open, "{id} is open");
        }
    }
}

#[test]
fn every_claim_of_a_figure_has_tolerances_and_is_measured() {
    let catalogue = catalogue();
    let mut with_functions = BTreeSet::new();
    for claim in catalogue.papers.iter().flat_map(|paper| &paper.figures).flat_map(|f| &f.claims) {
        let numbers = &claim.accepted;
        assert!(!numbers.is_empty(), "{} accepts nothing", claim.id);
        if claim.checks.is_empty() {
            assert!(functions::find(&claim.id).is_some(), "{} is not measured", claim.id);
            with_functions.insert(claim.id.as_str());
            continue;
        }
        let checks: BTreeSet<&str> = claim.checks.iter().map(|check| check.name.as_str()).collect();
        let names: BTreeSet<&str> = numbers.keys().map(String::as_str).collect();
        assert_eq!(checks, names, "{}", claim.id);
    }
    let registered: BTreeSet<&str> = functions::ids().collect();
    assert_eq!(with_functions, registered, "functions that no claim needs");
    assert_eq!(functions::ids().count(), registered.len(), "two functions for a claim");
}

#[test]
fn what_decides_a_claim_elsewhere_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for paper in &catalogue().papers {
        for (id, elsewhere) in &paper.elsewhere {
            for at in elsewhere.places() {
                let separator = if at.contains("::") { "::" } else { "#" };
                let (file, name) = at.split_once(separator).unwrap_or((at, ""));
                let text = std::fs::read_to_string(root.join(file))
                    .unwrap_or_else(|error| panic!("{id}: {file}: {error}"));
                let found = match separator {
                    "::" => {
                        text.contains(&format!("fn {name}(")) || text.contains(&format!("{name},"))
                    }
                    _ => text.lines().any(|line| line.starts_with('#') && heading(line) == name),
                };
                assert!(name.is_empty() || found, "{id}: {file} has no {name}");
            }
        }
    }
}

/// Every claim of the papers is decided, or its page says why it is not.
#[test]
fn no_claim_stands_nowhere() {
    let catalogue = catalogue();
    let mut claims = 0;
    for paper in &catalogue.papers {
        for (id, elsewhere) in &paper.elsewhere {
            assert_ne!(elsewhere.by, Witness::Nothing, "{id} stands nowhere");
            assert!(elsewhere.places().next().is_some(), "{id} names no place");
        }
        claims += paper.claims().count();
    }
    assert_eq!(claims, 412, "as many as the register has");
}

/// A heading's anchor, as on pages made of Markdown.
fn heading(line: &str) -> String {
    let words = line.trim_start_matches('#').trim().to_lowercase();
    words
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
            _ => None,
        })
        .collect()
}

/// Half a minute may be shorter than what a scenario waits for.
#[test]
fn packets_of_each_scenario_can_be_recorded() {
    let catalogue = catalogue();
    for figure in catalogue.papers.iter().flat_map(|paper| &paper.figures) {
        for name in figure.scenarios.keys() {
            let wrong =
                figure.recorded(catalogue.files(), name).err().map(|error| error.to_string());
            let known = |why: &String| why.ends_with("nothing is captured");
            assert!(wrong.as_ref().is_none_or(known), "{wrong:?}");
        }
    }
}

/// What was measured of scenarios as they were counts no more, and goes. Rows are what single flows
/// give.
#[test]
fn what_is_kept_of_real_hosts_is_of_what_figures_say_now() {
    let catalogue = catalogue();
    let mut figures = BTreeSet::new();
    for figure in catalogue.papers.iter().flat_map(|paper| &paper.figures) {
        let kept =
            LiveResults::read(catalogue.files(), &figure.id).unwrap_or_else(|why| panic!("{why}"));
        let inputs: BTreeSet<(&str, String)> = figure
            .live()
            .flat_map(|(name, _)| {
                let experiment = figure.experiment(catalogue.files(), name).unwrap();
                let points: Vec<_> =
                    experiment.points().map(|point| (name, inputs(&point.canonical))).collect();
                points
            })
            .collect();
        if !kept.points.is_empty() {
            kept.check(catalogue.files(), &figure.id).unwrap_or_else(|why| panic!("{why}"));
        }
        for point in &kept.points {
            let known = inputs.contains(&(point.scenario.as_str(), point.inputs.clone()));
            assert!(
                known,
                "{}: {} with {:?} was measured otherwise",
                figure.id, point.scenario, point.at
            );
        }
        figures.insert(figure.id.as_str());
    }
    let compressed = catalogue.files().compressed().keys().map(String::as_str);
    for file in catalogue.files().paths().chain(compressed) {
        let of = [".live.toml", ".live.csv", ".flows.csv.gz"]
            .iter()
            .find_map(|end| file.strip_suffix(end));
        assert!(of.is_none_or(|of| figures.contains(of)), "{file} is of no figure");
    }
}

/// A figure that real hosts run has claims that they decide, and the other way round.
#[test]
fn real_hosts_decide_what_they_run() {
    let catalogue = catalogue();
    for figure in catalogue.papers.iter().flat_map(|paper| &paper.figures) {
        let decided = figure.claims.iter().any(|claim| claim.entry.how == ClaimMethod::Emulator);
        // Others show what real hosts give beside what is simulated.
        assert!(!decided || figure.live().next().is_some(), "{}", figure.id);
    }
}

#[test]
fn pictures_of_a_figure_have_names_of_their_own() {
    let catalogue = catalogue();
    for figure in catalogue.papers.iter().flat_map(|paper| &paper.figures) {
        let mut names = BTreeSet::new();
        for name in figure.scenarios.keys() {
            let experiment = figure.experiment(catalogue.files(), name).unwrap();
            for drawn in &experiment.figures {
                assert!(names.insert(drawn.name.clone()), "{}: two are {}", figure.id, drawn.name);
            }
        }
    }
}

#[test]
fn pictures_that_a_figure_orders_or_joins_are_drawn() {
    let catalogue = catalogue();
    for figure in catalogue.papers.iter().flat_map(|paper| &paper.figures) {
        let mut drawn = BTreeSet::new();
        for name in figure.scenarios.keys() {
            let experiment = figure.experiment(catalogue.files(), name).unwrap();
            drawn.extend(experiment.figures.iter().map(|figure| figure.name.clone()));
        }
        for picture in figure.pictures.iter().chain(figure.joined.keys()) {
            assert!(drawn.contains(picture), "{}: no scenario draws {picture}", figure.id);
        }
        for [name, _] in figure.joined.values().flatten() {
            assert!(figure.scenarios.contains_key(name), "{}: no scenario {name}", figure.id);
        }
    }
}

#[test]
fn every_cell_of_a_table_is_a_number_of_its_claim_or_is_printed() {
    let catalogue = catalogue();
    let mut tables = 0;
    for figure in catalogue.papers.iter().flat_map(|paper| &paper.figures) {
        for layout in figure.tables.values() {
            tables += 1;
            match &layout.cells {
                Cells::Claim { claim, .. } => {
                    let claim = figure.claims.iter().find(|other| other.id == *claim).unwrap();
                    let numbers: BTreeSet<&String> = claim.accepted.keys().collect();
                    let names = layout.names();
                    let names: BTreeSet<&String> = names.iter().flatten().collect();
                    assert_eq!(names, numbers, "{}", figure.id);
                }
                Cells::Read(rows) => {
                    let printed = |(_, printed): &(_, String)| !printed.is_empty();
                    assert!(rows.iter().flatten().all(printed), "{}", figure.id);
                }
            }
        }
    }
    assert!(tables >= 6);
}

/// The source of the functions that measure claims, without what wraps and comments change, by the
/// claims that they measure.
fn function_sources() -> Vec<(BTreeSet<String>, String)> {
    fn collect(folder: &Path, sources: &mut Vec<String>) {
        let mut paths: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                collect(&path, sources);
            } else {
                sources.push(std::fs::read_to_string(path).unwrap());
            }
        }
    }
    let mut sources = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/functions"), &mut sources);
    let with_claims = sources.into_iter().map(|source| {
        let ids = functions::ids().filter(|id| source.contains(&format!("(\"{id}\",")));
        let ids: BTreeSet<String> = ids.map(str::to_owned).collect();
        let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
        (ids, code.flat_map(str::split_whitespace).collect())
    });
    with_claims.filter(|(ids, _)| !ids.is_empty()).collect()
}

/// What is measured was frozen: a change of it takes a decision in the ledger.
#[test]
fn no_figure_is_changed_without_a_decision() {
    let catalogue = catalogue();
    let sources = function_sources();
    let mut undecided = Vec::new();
    for figure in catalogue.papers.iter().flat_map(|paper| &paper.figures) {
        let measures = |(ids, _): &&(BTreeSet<String>, String)| {
            figure.claims.iter().any(|claim| claim.checks.is_empty() && ids.contains(&claim.id))
        };
        let own: Vec<&str> =
            sources.iter().filter(measures).map(|(_, source)| source.as_str()).collect();
        let digest = figure_digest(figure, catalogue.files(), &own).unwrap();
        if catalogue.ledger.digest(&figure.id) != Some(&digest) {
            undecided.push(format!("\"{}\" = \"{digest}\"", figure.id));
        }
    }
    // A scenario names a TCP: what that means is as much a part of it.
    let files = catalogue.files();
    let scenarios: Vec<&str> = files.paths().filter_map(|path| files.text(path).ok()).collect();
    for preset in PRESETS {
        let named = |text: &&str| {
            text.split(|c: char| !c.is_alphanumeric() && c != '-').any(|word| word == preset.name)
        };
        let digest = preset_digest(preset.text);
        if scenarios.iter().any(named)
            && catalogue.ledger.preset_digest(preset.name) != Some(&digest)
        {
            undecided.push(format!("presets \"{}\" = \"{digest}\"", preset.name));
        }
    }
    assert!(
        undecided.is_empty(),
        "papers/ledger.toml has no decision by which these are so:\n{}",
        undecided.join("\n")
    );
    let ids: BTreeSet<&str> =
        catalogue.papers.iter().flat_map(Paper::claims).map(|claim| claim.id).collect();
    for decision in &catalogue.ledger.decisions {
        for id in &decision.claims {
            assert!(ids.contains(id.as_str()), "the ledger names {id}, which is no claim");
        }
    }
}

#[test]
fn what_a_paper_is_known_for_is_a_number_of_a_claim() {
    let catalogue = catalogue();
    for paper in &catalogue.papers {
        assert!((5..=8).contains(&paper.about.known.len()), "{}", paper.name);
        for known in &paper.about.known {
            let claim = paper.claims().find(|claim| claim.id == known.claim);
            let claim = claim.unwrap_or_else(|| panic!("{} is no claim", known.claim));
            let named = claim.accepted().any(|(name, _)| name == known.number);
            assert!(named, "{} has no number {}", known.claim, known.number);
        }
    }
}

/// A claim counts with one that counts, and words bear more than what is accepted.
#[test]
fn claims_name_others_and_numbers_that_are_there() {
    let catalogue = catalogue();
    let claims =
        || catalogue.papers.iter().flat_map(|paper| &paper.figures).flat_map(|f| &f.claims);
    for claim in claims() {
        if let Some(other) = &claim.counted_with {
            let other = claims().find(|claim| claim.id == *other);
            assert!(other.is_some_and(|other| other.counted_with.is_none()), "{}", claim.id);
        }
        for (name, words) in &claim.words {
            let accepted = &claim.accepted[name];
            assert!(words.has_all(accepted.min, accepted.max) || accepted.open, "{}", claim.id);
        }
    }
}

/// The texts between placeholders, and the placeholders.
fn pieces(text: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut texts, mut names, mut rest) = (Vec::new(), Vec::new(), text);
    while let Some((before, name, after)) = placeholder(rest) {
        texts.push(before);
        names.push(name);
        rest = after;
    }
    texts.push(rest);
    (texts, names)
}

#[test]
fn placeholders_name_numbers_and_values_that_are_there() {
    let catalogue = catalogue();
    let figures = || catalogue.papers.iter().flat_map(|paper| &paper.figures);
    for claim in figures().flat_map(|figure| &figure.claims) {
        for name in claim.explanation.iter().flat_map(|text| pieces(text).1) {
            let (id, number, value) = placeholder_parts(name);
            let id = id.unwrap_or(&claim.id);
            let of = figures().find_map(|figure| {
                let claim = figure.claims.iter().find(|claim| claim.id == id)?;
                claim.accepted.contains_key(number).then_some(figure)
            });
            let of = of.unwrap_or_else(|| panic!("{}: {{{name}}} is no number", claim.id));
            let Some(value) = value else { continue };
            let kept = Sensitivity::read(catalogue.files(), of).unwrap();
            let known = kept.of(id).any(|other| other.name == number && other.value == value);
            assert!(known, "{}: {{{name}}} is no other value", claim.id);
        }
    }
}

/// The figures in a text, such as `1.5`, `1e-7` and `97.5`; none that is a part of a name.
fn literals(text: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || ".-_/^".contains(c);
    let words = text.split(|c: char| !is_part(c));
    let trimmed = words.map(|word| word.trim_matches(|c| ".-_/".contains(c)));
    trimmed.filter(|word| word.parse::<f64>().is_ok_and(f64::is_finite)).collect()
}

#[test]
fn literals_are_found_and_names_are_none() {
    let text = "At 1e-7 it has 12 % of 8760 bytes (97.5 KB, RFC 1644), ns-2's 0.94; H-4.13-a.";
    assert_eq!(literals(text), ["1e-7", "12", "8760", "97.5", "1644", "0.94"]);
}

/// An explanation's figure is measured, and then it comes from the run; or it is a parameter that
/// the figure's file has; or the claim says that it is stated.
#[test]
fn an_explanation_has_no_measured_figure_as_text() {
    let catalogue = catalogue();
    let mut wrong = Vec::new();
    for figure in catalogue.papers.iter().flat_map(|paper| &paper.figures) {
        let mut given = vec![figure.title.clone(), figure.about.clone()];
        given.extend(figure.chosen.clone());
        for parameter in &figure.free {
            given.extend([parameter.chosen.clone(), parameter.source.clone()]);
            given.extend(parameter.values.iter().map(|value| value.name.clone()));
        }
        for name in figure.scenarios.keys() {
            let experiment = figure.experiment(catalogue.files(), name).unwrap();
            given.push(experiment.source().to_owned());
            given.extend(experiment.points().flat_map(|p| p.values).map(|(_, value)| value));
        }
        for claim in &figure.claims {
            let Some(explanation) = &claim.explanation else { continue };
            let mut known = given.clone();
            known.push(claim.says.clone());
            known.extend(claim.accepted.iter().map(|(name, range)| format!("{name} {range}")));
            // Of texts such as `450ms` and `accepted-16` the digits count.
            let digits = |text: &String| {
                let parts = text.split(|c: char| !(c.is_ascii_digit() || c == '.'));
                parts.map(|part| part.trim_matches('.').to_owned()).collect::<Vec<_>>()
            };
            let known: BTreeSet<String> = known.iter().flat_map(digits).collect();
            let mut stated: BTreeSet<&str> = claim.stated.iter().map(String::as_str).collect();
            for text in pieces(explanation).0 {
                for literal in literals(text) {
                    let declared = claim.stated.iter().any(|other| other == literal);
                    stated.remove(literal);
                    let exponents = literal.contains('e');
                    if !declared && !exponents && !known.contains(literal) {
                        wrong.push(format!("{}: {literal}", claim.id));
                    }
                }
            }
            wrong.extend(stated.iter().map(|it| format!("{}: {it} is not in it", claim.id)));
        }
    }
    assert!(wrong.is_empty(), "neither {{name}}, a parameter nor `stated`:\n{}", wrong.join("\n"));
}

/// Numbers of figures as they were count no more.
#[test]
fn what_is_kept_of_free_parameters_is_of_what_figures_say_now() {
    let catalogue = catalogue();
    for figure in catalogue.papers.iter().flat_map(|paper| &paper.figures) {
        let path = sensitivity::path(&figure.id);
        if catalogue.files().has(&path) {
            let kept = Sensitivity::read(catalogue.files(), figure).unwrap();
            assert!(!kept.numbers.is_empty(), "{path}: run `bentpipe papers --sensitivity` again");
        }
    }
}
