//! The examples run, shortened.

use bentpipe_core::time::Duration;
use bentpipe_scenario::Experiment;
use bentpipe_sim::run;
use std::path::Path;

#[test]
fn every_example_runs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    assert!(files.len() >= 9, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let read = |path: &str| {
            std::fs::read_to_string(folder.join(path)).map_err(|error| error.to_string())
        };
        let name = file.display().to_string();
        let experiment =
            Experiment::parse(&name, &text, &read).unwrap_or_else(|error| panic!("{error}"));
        for point in experiment.points() {
            let mut scenario = point.scenario;
            scenario.run.duration = scenario.run.duration.min(Duration::from_secs(20));
            scenario.run.warm_up = scenario.run.warm_up.min(Duration::from_secs(5));
            let outcome = run(&scenario, 0, |_| true).unwrap_or_else(|error| panic!("{error}"));
            assert!(outcome.run.packets > Some(0), "{name}");
        }
    }
}
