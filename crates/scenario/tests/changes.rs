//! Changes from outside a scenario's file.

use bentpipe_core::time::Duration;
use bentpipe_scenario::{Change, Experiment, Repeat};

const TEXT: &str = r#"
[run]
duration = "60s"
[repeat]
until = "ci95 5%"
[host.a]
[host.b]
[link.sat]
between = ["a", "b"]
rate = "8Mbit/s"
delay = "250ms"
queue = "60packets"
[flow.main]
from = "a"
to = "b"
[sweep]
"link.sat.delay" = ["10ms", "20ms"]
"link.sat.queue" = ["6packets", "20packets"]
zip = [["link.sat.delay", "link.sat.queue"]]
"#;

fn changed(changes: &[&str]) -> Result<Experiment, String> {
    let changes: Vec<Change> = changes.iter().map(|text| text.parse().unwrap()).collect();
    let read = |_: &str| Err("no files".to_owned());
    Experiment::parse_changed("x.toml", TEXT, &changes, &read).map_err(|error| error.to_string())
}

#[test]
fn a_changed_field_has_its_new_value_and_is_swept_no_longer() {
    let plain = changed(&[]).unwrap();
    assert_eq!((plain.len(), plain.source()), (2, TEXT));
    let experiment =
        changed(&["run.duration=5s", "link.sat.delay=\"30ms\"", "repeat.runs=3"]).unwrap();
    assert_eq!(experiment.swept(), ["link.sat.queue"]);
    assert_eq!(experiment.repeat, Repeat::Runs(3));
    let point = experiment.point(1);
    assert_eq!(point.scenario.run.duration, Duration::from_secs(5));
    assert!(point.canonical.contains("delay = \"30ms\""), "{}", point.canonical);
    // What is said to have been run can be run, and is the same.
    let read = |_: &str| Err("no files".to_owned());
    let again = Experiment::parse("y.toml", experiment.source(), &read).unwrap();
    assert_eq!(again.point(1).canonical, point.canonical);
    assert_eq!(again.repeat, experiment.repeat);
}

#[test]
fn a_bad_change_is_named() {
    for (change, word) in [
        ("run.duration=soon", "change run.duration=soon: "),
        ("link.sta.delay=1ms", "did you mean `sat`?"),
        ("run.length=5s", "unknown key `length`"),
        ("repeat.runs=0", "change repeat.runs=0: "),
        ("title=x", "cannot be"),
    ] {
        let error = changed(&[change]).unwrap_err();
        assert!(error.contains(word), "{error}");
    }
    assert!("run.duration".parse::<Change>().is_err());
}
