//! The cases: those of `bench/` that the program has, or those of a file.

use super::case::Case;
use super::family;
use crate::BenchError;
use crate::files::Files;
use bentpipe_scenario::Change;
use std::path::Path;

/// The files of cases, in the order of the table.
const FILES: [&str; 5] =
    ["transfers.toml", "jitter.toml", "alone.toml", "asymmetric.toml", "sharing.toml"];

/// All cases that the program has, with `changes` of their scenarios. `long`: those, too, that take
/// minutes.
///
/// # Errors
/// A change is wrong.
pub fn all(changes: &[Change], long: bool) -> Result<Vec<Case>, BenchError> {
    let families = FILES.iter().map(|file| family::read(&Files::BuiltIn, file, changes, long));
    Ok(families.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// The cases of the file at `path`. Scenarios that it names are looked for in its folder, and then
/// among the program's.
///
/// # Errors
/// [`BenchError::File`].
pub fn of_file(path: &Path, changes: &[Change], long: bool) -> Result<Vec<Case>, BenchError> {
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    family::read(&Files::Folder(folder), &name, changes, long)
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
        for case in all(&[], true).unwrap() {
            assert!(names.insert(case.name.clone()), "{} is there twice", case.name);
            assert!(!case.columns.is_empty(), "{}", case.name);
            if let Some(figures) = case.figures {
                assert!(case.columns.contains_key(&figures.column()), "{}", case.name);
            }
            for column in case.ratio.into_iter().flat_map(|(with, without)| [with, without]) {
                assert!(case.columns.contains_key(&column), "{}", case.name);
            }
        }
    }

    #[test]
    fn the_families_are_all_there() {
        let cases = all(&[], false).unwrap();
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
        assert_eq!(all(&[], true).unwrap().len() - cases.len(), 2);
        assert_eq!(count("third party"), 8);
        let without = |case: &&Case| case.targets.is_empty();
        let without: Vec<&str> =
            cases.iter().filter(without).map(|case| case.name.as_str()).collect();
        assert!(without.iter().all(|name| name.contains("nothing known")), "{without:?}");
    }

    #[test]
    fn gateways_stand_where_the_columns_say() {
        let cases = all(&[], false).unwrap();
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
        let alone = "one gateway, server, rate known, download, 1 MB, loss 0%";
        assert_eq!(splits(alone, Column::Known), [(true, true), (false, false)]);
    }
}
