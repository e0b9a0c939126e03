//! The cases: those of `bench/` that the program has, or those of a file.

use super::case::Case;
use super::family::{self, Reading};
use crate::BenchError;
use crate::files::Files;
use std::fs;
use std::path::Path;

/// The files of cases, in the order of the table.
const FILES: [&str; 6] = [
    "transfers.toml",
    "jitter.toml",
    "alone.toml",
    "asymmetric.toml",
    "sharing.toml",
    "found.toml",
];

/// All cases that the program has. `patience`: the longest time of runs that end with their flows.
/// `long`: those, too, that take minutes.
///
/// # Errors
/// `patience` is no time.
pub fn all(patience: Option<&str>, long: bool) -> Result<Vec<Case>, BenchError> {
    let read = |file: &&str| {
        let wrong = |why| BenchError::File { file: (*file).to_owned(), why };
        let text = Files::BuiltIn.text(file).map_err(wrong)?;
        family::read(&text, file, &Files::BuiltIn, Reading { patience, long })
    };
    Ok(FILES.iter().map(read).collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// The cases of the file at `path`, as [`all`] has those of the program. Scenarios that it names
/// are looked for in its folder, and then among the program's.
///
/// # Errors
/// [`BenchError::File`].
pub fn of_file(path: &Path, patience: Option<&str>, long: bool) -> Result<Vec<Case>, BenchError> {
    let file = path.display().to_string();
    let wrong = |why: String| BenchError::File { file: file.clone(), why };
    let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let cases = family::read(&text, &file, &Files::Folder(folder), Reading { patience, long })?;
    match cases.is_empty() {
        true => Err(wrong("there is no case, or none that is not long (--long)".to_owned())),
        false => Ok(cases),
    }
}

#[cfg(test)]
mod tests {
    use super::super::case::Column;
    use super::*;
    use bentpipe_gateway::policy::Policy;
    use bentpipe_scenario::NodeKind;
    use std::collections::BTreeSet;

    #[test]
    fn every_case_can_be_run_and_has_a_name_of_its_own() {
        let mut names = BTreeSet::new();
        for case in all(None, true).unwrap() {
            assert!(names.insert(case.name.clone()), "{} is there twice", case.name);
            assert!(!case.columns.is_empty(), "{}", case.name);
        }
    }

    #[test]
    fn the_families_are_all_there() {
        let cases = all(None, false).unwrap();
        let count = |part: &str| cases.iter().filter(|case| case.name.contains(part)).count();
        assert_eq!(count("without loss"), 4);
        assert_eq!(count("packet loss"), 8);
        assert_eq!(count("one gateway"), 72);
        assert_eq!(count("bit errors"), 3);
        assert_eq!(count("LEO"), 3);
        assert_eq!(count("delay varies"), 4);
        assert_eq!(count("asymmetric"), 116);
        assert_eq!(count("too high"), 6);
        assert_eq!(count("1 GB"), 0);
        assert_eq!(all(None, true).unwrap().len() - cases.len(), 2);
        assert_eq!(count("third party"), 8);
        assert_eq!(count("found by"), 38);
        assert_eq!(count("first flow"), 9);
        assert_eq!(count("50 KB at once"), 2);
        assert_eq!(count("next to 4"), 4);
        assert_eq!(count("next to a host that"), 8);
        let without = |case: &&Case| case.targets.is_empty();
        let without: Vec<&str> =
            cases.iter().filter(without).map(|case| case.name.as_str()).collect();
        assert!(without.iter().all(|name| name.contains("unconfigured")), "{without:?}");
    }

    #[test]
    fn gateways_stand_where_the_columns_say() {
        let cases = all(None, false).unwrap();
        let splits = |name: &str, column: Column| {
            let case = cases.iter().find(|case| case.name == name).unwrap();
            let scenario = case.point(column).unwrap().scenario;
            let gateways = scenario.nodes.iter().filter_map(|node| match &node.kind {
                NodeKind::Gateway(gateway) => Some((
                    gateway.config.policy == Policy::default(),
                    gateway.config.satellite.rate.is_some(),
                )),
                _ => None,
            });
            gateways.collect::<Vec<_>>()
        };
        let name = "1 MB without loss";
        assert_eq!(splits(name, Column::EndToEnd), [(false, false); 2]);
        assert_eq!(splits(name, Column::Known), [(true, true); 2]);
        assert_eq!(splits(name, Column::Estimated), [(true, false); 2]);
        let alone = "one gateway, server, rate configured, download, 1 MB, loss 0%";
        assert_eq!(splits(alone, Column::Known), [(true, true), (false, false)]);
    }

    #[test]
    fn the_readmes_example_can_be_run() {
        let readme = include_str!("../../../../bench/README.md");
        let (_, example) = readme.split_once("```toml\n").unwrap();
        let (example, _) = example.split_once("```").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("my.toml");
        fs::write(&file, example).unwrap();
        let cases = of_file(&file, None, false).unwrap();
        assert_eq!(cases.len(), 4);
        assert_eq!(cases[3].name, "my link, 10 MB, loss 1%");
        assert_eq!(cases[3].targets.len(), 2);
    }

    #[test]
    fn a_file_that_is_wrong_says_where() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("my.toml");
        let why = |text: &str| {
            fs::write(&file, format!("about = \"x\"\n{text}")).unwrap();
            let why = of_file(&file, None, false).unwrap_err().to_string();
            why.replace(&folder.path().display().to_string(), "").trim_start_matches('/').to_owned()
        };
        let family = |text: &str| {
            why(&format!("[cases.a]\nbase = \"networks/download.toml\"\nname = \"a\"\n{text}"))
        };
        assert!(why("").starts_with("my.toml: "));
        let known = "sweep.variant = [\"known\"]\n";
        assert_eq!(
            family(&format!("{known}target = [\"knwon ≤ limit\"]"))
                .split_once(" (there are")
                .unwrap()
                .0,
            "my.toml: cases.a: `knwon ≤ limit` is no target: there is no figure `knwon`"
        );
        assert!(family("sweep.variant = [\"konwn\"]").contains("konwn"));
        let alone = family(&format!("{known}figures = {{ sharing = \"estimated\" }}"));
        assert_eq!(alone, "my.toml: cases.a: there is no column `estimated`");
        let limit = family(&format!("{known}target = [\"known ≤ limit\"]"));
        assert_eq!(limit, "my.toml: cases.a: `known ≤ limit`: `a` has no figure `limit`");
        let at = "target = [{ wants = \"known ≤ 1\", at = { \"link.sat.loss\" = 0.01 } }]";
        let at = family(&format!("{known}sweep.\"link.sat.loss\" = [\"1%\"]\n{at}"));
        assert!(at.ends_with("no case has link.sat.loss = 0.01, written so"), "{at}");
        let same = family(&format!("{known}sweep.\"link.sat.loss\" = [\"1%\", \"2%\"]"));
        assert!(same.contains("points 0 and 1 are both column `known` of `a`"), "{same}");
        assert!(family(&format!("{known}nonsense = 1")).contains("nonsense"));
        assert!(family(&format!("{known}base = 1")).starts_with("my.toml"));
    }
}
