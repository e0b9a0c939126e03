//! Figures of the papers on real hosts beside the simulator.

use std::process::Command;

use crate::papers::json;
use crate::stage::BENTPIPE;

pub(crate) const CASES: &[(&str, fn())] = &[("papers_quick_points_are_as_simulated", quick)];

/// What of the papers themselves real hosts run here: of these figures the quick points.
const QUICK: [&str; 4] = [
    "henderson/fig-4-19",
    "bharadwaj-2001/fig-8",
    "bharadwaj-2001/fig-10",
    "bharadwaj-2001/fig-11",
];

/// The named list, few side by side. What bounds catch are windows that are not what hosts were
/// told (1.7 and more), a NewReno that is not Linux's (1.2), and gateways that do not split (0.1 to
/// 0.4).
fn quick() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(BENTPIPE);
    command.current_dir(folder.path()).args(["papers", "--live", "--quick", "--json"]);
    command.args(["--side-by-side", "4"]);
    let figures = json(&command.args(QUICK).output().expect("bentpipe"));
    let figures = figures.as_array().expect("figures");
    let ids: Vec<&str> = figures.iter().filter_map(|figure| figure["figure"].as_str()).collect();
    assert_eq!(ids, QUICK);
    let (mut judged, mut late) = (0, 0);
    for scenario in figures.iter().flat_map(|one| one["scenarios"].as_array().expect("scenarios")) {
        for point in scenario["points"].as_array().expect("points") {
            let Some(live) = point["live"][0].as_f64() else { continue };
            // A link that was late all three times says nothing of TCP.
            if point["late_p99_ms"].as_f64().is_none_or(|late| late > 5.0) {
                late += 1;
                eprintln!("a link was late: {point}");
                continue;
            }
            judged += 1;
            let ratio = live / point["simulated"][0].as_f64().expect("simulated");
            let at = &point["at"];
            let bounds = match at["tcp.recovery"].as_str() {
                Some("SACK-NewReno") => 0.9..1.1,
                Some("NewReno") => 0.85..1.15,
                // Ten at once, which lose some.
                _ if at["flow.main.count"].is_string() => 0.9..1.1,
                // A file or a page, without losses.
                _ => 0.95..1.05,
            };
            assert!(bounds.contains(&ratio), "live / simulated is {ratio}: {point}");
        }
    }
    assert_eq!(
        judged + late,
        12,
        "six of Henderson's points, four files, a page and ten transfers at once"
    );
}
