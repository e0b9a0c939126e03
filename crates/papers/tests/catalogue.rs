//! The papers in the program are whole: every claim has its place, every experiment can be run, and
//! the tolerances are those that were frozen.

use bentpipe_lab::drawing;
use bentpipe_papers::catalogue::{Catalogue, ClaimMethod, Files, Witness, frozen};
use bentpipe_papers::functions;
use bentpipe_papers::live::{LiveResults, inputs, path};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn catalogue() -> Catalogue {
    Catalogue::read(Files::built_in()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_folder_is_what_is_in_the_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let there = Files::of_folder(&folder).unwrap();
    let built_in = Files::built_in();
    assert_eq!(there.paths().collect::<Vec<_>>(), built_in.paths().collect::<Vec<_>>());
    assert!(Catalogue::read(there).is_ok());
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
            let experiment = figure.experiment(catalogue.files(), name, None);
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
        let claims = paper.claims();
        assert_eq!(claims.len(), paper.about.claims, "{}", paper.name);
        for (id, entry) in claims {
            assert!(id.starts_with(&format!("{}-", paper.about.prefix)), "{id}");
            let by = paper.elsewhere.get(id).map(|elsewhere| elsewhere.by);
            assert!(entry.priority > 2 || by != Some(Witness::Nothing), "{id} is not decided");
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

/// What was measured of scenarios as they were counts no more, and goes.
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
                let experiment = figure.experiment(catalogue.files(), name, None).unwrap();
                let points: Vec<_> =
                    experiment.points().map(|point| (name, inputs(&point.canonical))).collect();
                points
            })
            .collect();
        for point in &kept.points {
            let known = inputs.contains(&(point.scenario.as_str(), point.inputs.clone()));
            assert!(
                known,
                "{}: {} with {:?} was measured otherwise",
                figure.id, point.scenario, point.at
            );
        }
        figures.insert(path(&figure.id));
    }
    let files = catalogue.files().paths().filter(|path| path.ends_with(".live.toml"));
    for file in files {
        assert!(figures.contains(file), "{file} is of no figure");
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
            let experiment = figure.experiment(catalogue.files(), name, None).unwrap();
            for drawn in &experiment.figures {
                assert!(names.insert(drawn.name.clone()), "{}: two are {}", figure.id, drawn.name);
            }
        }
    }
}

#[test]
fn every_cell_of_a_table_is_a_number_of_its_claim() {
    let catalogue = catalogue();
    let mut tables = 0;
    for figure in catalogue.papers.iter().flat_map(|paper| &paper.figures) {
        for layout in figure.tables.values() {
            let claim = figure.claims.iter().find(|claim| claim.id == layout.claim).unwrap();
            let numbers: BTreeSet<&String> = claim.accepted.keys().collect();
            let names = layout.names();
            assert_eq!(names.iter().collect::<BTreeSet<_>>(), numbers, "{}", figure.id);
            tables += 1;
        }
    }
    assert!(tables >= 2);
}
