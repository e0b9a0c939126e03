//! Series on disk, scenarios without randomness, and figures of groups and links, as a user gets
//! them.

use bentpipe_lab::drawing::{Additions, Drawn, JoinedPart, LiveSamples, draw_with};
use bentpipe_lab::{Executed, Folder, Options, Results, execute};
use bentpipe_scenario::Experiment;
use bentpipe_scenario::repeat::Enough;
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Four flows without randomness: three over the near link, one over the far one.
const TEXT: &str = r#"
[run]
duration = "20s"
until = "flows-done"
[repeat]
runs = 5
[host.a]
[host.b]
[host.c]
[link.near]
between = ["a", "b"]
rate = "3Mbit/s"
delay = "10ms"
queue = "100packets"
[link.far]
between = ["a", "c"]
rate = "1Mbit/s"
delay = "250ms"
queue = "100packets"
[flow.near]
from = "a"
to = "b"
bytes = "100KB"
count = 3
[flow.far]
from = "a"
to = "c"
bytes = "50KB"
[group.all]
flows = ["near", "far"]
[group.near]
flows = "near"
"#;

const SERIES: &str = "[record]\nflow = [\"cwnd\", \"sequence\"]\nlink = [\"queue\"]\n";

fn sitting(text: &str, folder: &Path) -> (Executed, Results) {
    let read = |_: &str| Err(String::new());
    let experiment = Experiment::parse("x.toml", text, &read).expect("it is a scenario");
    let (folder, store) = Folder::open(folder).unwrap();
    let stop = AtomicBool::new(false);
    let threads = NonZeroUsize::new(2).unwrap();
    let options = Options {
        runner: &bentpipe_sim::run_into,
        threads,
        point: None,
        run: None,
        shard: None,
        stop: &stop,
    };
    let executed = execute(&experiment, &store, &options, &|_| {}).unwrap();
    let results = folder.write(&experiment, &store, &executed).unwrap();
    (executed, results)
}

fn rows(folder: &Path, table: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(folder.join(table).with_extension("csv")).unwrap();
    reader.deserialize().map(|row| row.unwrap()).collect()
}

fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column} of {row:?}"))
}

#[test]
fn what_is_not_random_is_run_once() {
    let folder = tempfile::tempdir().unwrap();
    let (executed, results) = sitting(TEXT, folder.path());
    assert_eq!((executed.made, executed.stopped), (1, false));
    let point = &results.points[0];
    assert_eq!((point.runs, point.because), (1, Some(Enough::Certain)));
    assert_eq!(results.json()["points"][0]["because"], "nothing-random");
    // With anything random it is run as often as it says.
    let text = TEXT.replace("rate = \"1Mbit/s\"", "rate = \"1Mbit/s\"\nloss = 1e-9");
    let (executed, results) = sitting(&text, &folder.path().join("random"));
    assert_eq!((executed.made, results.points[0].because), (5, Some(Enough::Runs)));
}

#[test]
fn groups_and_links_have_their_figures() {
    let folder = tempfile::tempdir().unwrap();
    sitting(TEXT, folder.path());
    let flows = rows(folder.path(), "results");
    let goodputs: Vec<f64> = flows.iter().map(|row| number(row, "goodput_bps")).collect();
    let groups = rows(folder.path(), "groups");
    let names: Vec<&str> = groups.iter().map(|row| row["group"].as_str()).collect();
    assert_eq!(names, ["all", "near"]);
    for (group, mine) in groups.iter().zip([&goodputs[..], &goodputs[..3]]) {
        let (n, sum) = (mine.len() as f64, mine.iter().sum::<f64>());
        let near = |column: &str, expected: f64| {
            let found = number(group, column);
            assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{column}: {found}");
        };
        near("flows", n);
        near("goodput_sum_bps", sum);
        near("goodput_per_flow_bps", sum / n);
        let squares: f64 = mine.iter().map(|x| (x - sum / n).powi(2)).sum();
        let sum_of_squares: f64 = mine.iter().map(|x| x * x).sum();
        near("fairness_jain", sum * sum / (n * sum_of_squares));
        near("goodput_variation", (squares / (n - 1.0)).sqrt() / (sum / n));
    }
    let summary = rows(folder.path(), "summary-groups");
    assert_eq!(number(&summary[0], "goodput_sum_mean_bps"), number(&groups[0], "goodput_sum_bps"));
    let links = rows(folder.path(), "summary-links");
    assert_eq!(links.len(), 4);
    let runs = rows(folder.path(), "runs");
    let utilisation = number(&links[0], "utilisation_mean");
    assert_eq!(utilisation, number(&runs[0], "utilisation"));
    // What the line did not send in, it was idle.
    let idle = number(&links[0], "idle_mean_s") / number(&runs[0], "end_s");
    assert!((utilisation + idle - 1.0).abs() < 0.002, "{utilisation} and {idle}");
    let flow = &rows(folder.path(), "summary")[0];
    let completion = number(flow, "completion_mean_s");
    assert_eq!(number(flow, "completion_median_mean_s"), completion);
    assert!(number(flow, "efficiency_mean") < 1.0, "{flow:?}");
    for column in ["utilisation_half_width_95", "fairness_jain_sd", "timeouts_half_width_99"] {
        assert_eq!(flow[column], "", "{column}: there is one run");
    }
}

#[test]
fn series_on_disk_are_those_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{TEXT}{SERIES}");
    sitting(&text, folder.path());
    let outcome = {
        let read = |_: &str| Err(String::new());
        let scenario = Experiment::parse("x.toml", &text, &read).unwrap().point(0).scenario;
        bentpipe_sim::run(&scenario, 0, |_| true).unwrap()
    };
    let found = rows(folder.path(), "series");
    assert!(found.len() > 1000, "{}", found.len());
    assert_eq!(found.len(), outcome.series.len());
    for (row, sample) in found.iter().zip(&outcome.series) {
        assert_eq!(*row["element"], *sample.element);
        assert_eq!(
            (row["quantity"].as_str(), number(row, "value")),
            (sample.quantity, sample.value)
        );
        assert_eq!(number(row, "time_s"), sample.at.as_nanos() as f64 / 1e9);
    }
    // The run's own record has none of it.
    let files =
        || fs::read_dir(folder.path().join("runs")).unwrap().map(|file| file.unwrap().path());
    let of = |ending: &str| files().find(|path| path.extension().is_some_and(|end| end == ending));
    let (run, series) = (of("run").unwrap(), of("series").unwrap());
    assert!(fs::metadata(run).unwrap().len() < 10_000);
    // A run whose series are damaged, or gone, is made again.
    let whole = fs::read(&series).unwrap();
    fs::write(&series, &whole[..whole.len() - 1]).unwrap();
    assert_eq!(sitting(&text, folder.path()).0.made, 1);
    fs::remove_file(&series).unwrap();
    assert_eq!(sitting(&text, folder.path()).0.made, 1);
    assert_eq!(sitting(&text, folder.path()).0.made, 0);
    assert_eq!(fs::read(&series).unwrap(), whole);
}

fn nothing(_: usize, _: &str, _: &str) -> Vec<f64> {
    Vec::new()
}

/// Draws `text` from the tables in `folder`.
fn drawn(folder: &Path, text: &str, live: &LiveSamples<'_>) -> Drawn {
    let experiment = Experiment::parse("x.toml", text, &|_: &str| Err(String::new())).unwrap();
    draw_with(folder, &experiment, &Additions { live, joined: BTreeMap::new() })
}

fn picture(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(format!("figures/{name}.svg"))).unwrap()
}

const BARS: &str = "[figure.f]\nx = \"flow\"\ny = \"goodput_bps\"\n";

#[test]
fn printed_numbers_are_marks_over_the_data_and_wrong_ones_are_said_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    sitting(TEXT, folder.path());
    let with = |printed: &str| {
        drawn(folder.path(), &format!("{TEXT}{BARS}printed = [{printed}]\n"), &nothing)
    };
    let none = drawn(folder.path(), &format!("{TEXT}{BARS}"), &nothing);
    assert!(none.failures.is_empty() && !picture(folder.path(), "f").contains("overlay"));
    let good = with("{ x = \"far\", y = 5e6, interval = 1e5 }, { y = 1e6, label = \"Table 1\" }");
    assert!(good.failures.is_empty(), "{:?}", good.failures);
    let svg = picture(folder.path(), "f");
    assert!(svg.contains("class=\"overlay\"") && svg.contains("printed in the paper"));
    assert!(svg.contains("Table 1"));
    // The axis goes up to the printed number.
    assert!(svg.contains(">5</text>") || svg.contains(">6</text>"), "{svg}");
    for (printed, said) in [
        ("{ x = \"fat\", y = 1 }", "no name on the axis below `fat` (did you mean `far`?)"),
        ("{ x = 1, y = 1 }", "the axis below has names, such as `near.1`"),
        ("{ x = \"far\", y = 1, curve = \"SACK\" }", "there is no curve `SACK`"),
        ("{ x = \"far\", y = 1, panel = \"on land\" }", "there is no panel `on land`"),
    ] {
        let wrong = with(printed);
        let [failure] = &wrong.failures[..] else { panic!("{printed}: {:?}", wrong.failures) };
        let failure = failure.to_string();
        assert!(failure.contains(said), "{failure}");
        assert!(failure.starts_with("x.toml:") && failure.lines().count() == 1, "{failure}");
    }
}

#[test]
fn what_real_hosts_gave_is_marked_where_it_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    sitting(TEXT, folder.path());
    let text = format!("{TEXT}{BARS}");
    let far = |point: usize, flow: &str, column: &str| match (point, flow, column) {
        (0, "far", "goodput_bps") => vec![4e5, 6e5],
        _ => Vec::new(),
    };
    assert!(drawn(folder.path(), &text, &far).failures.is_empty());
    let svg = picture(folder.path(), "f");
    assert!(svg.contains("on real hosts"));
    let overlay = &svg[svg.find("class=\"overlay\"").unwrap()..];
    let overlay = &overlay[..overlay.find("</g>").unwrap()];
    // Two paths of the interval (white and dark), and one star.
    assert_eq!(overlay.matches("<path").count(), 3, "{overlay}");
}

#[test]
fn a_figure_can_have_curves_of_several_experiments() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let sweep = "[sweep]\n\"link.near.delay\" = [\"10ms\", \"20ms\"]\n";
    let figure =
        "[figure.f]\nx = \"link.near.delay\"\ny = \"goodput_bps\"\nwhere = { flow = \"far\" }\n";
    let first = format!("{TEXT}{sweep}{figure}");
    let texts = [first, format!("{TEXT}{sweep}").replace("50KB", "60KB")];
    let experiments = [0, 1].map(|index: usize| {
        sitting(&texts[index], folders[index].path());
        Experiment::parse("x.toml", &texts[index], &|_: &str| Err(String::new())).unwrap()
    });
    let part = |index: usize, curve: &'static str| JoinedPart {
        folder: folders[index].path(),
        experiment: &experiments[index],
        curve,
        live: &nothing,
    };
    let joined = BTreeMap::from([("f", vec![part(0, "first"), part(1, "second")])]);
    let additions = Additions { live: &nothing, joined };
    let drawn = draw_with(folders[0].path(), &experiments[0], &additions);
    assert!(drawn.failures.is_empty(), "{:?}", drawn.failures);
    let csv = fs::read_to_string(folders[0].path().join("figures/f.csv")).unwrap();
    let curves: Vec<&str> =
        csv.lines().skip(1).map(|line| line.split(',').nth(1).unwrap()).collect();
    assert_eq!(curves, ["first", "first", "second", "second"], "{csv}");
}

#[test]
fn dropped_segments_are_recorded_and_sequences_can_be_modulo_a_window() {
    let folder = tempfile::tempdir().unwrap();
    let small = TEXT.replacen("queue = \"100packets\"", "queue = \"5packets\"", 1);
    let figures = "[figure.all]\ny = \"sequence\"\n[figure.modulo]\ny = \"sequence\"\n\
                   kind = \"series\"\nwhere = { quantity = \"segment\" }\npanels = \"flow\"\n\
                   y-per = 1460\ny-modulo = 10\n";
    let text = format!("{small}{SERIES}{figures}");
    sitting(&text, folder.path());
    let series = rows(folder.path(), "series");
    let of = |quantity: &'static str| series.iter().filter(move |row| row["quantity"] == quantity);
    let place = |row: &BTreeMap<String, String>| (row["element"].clone(), row["value"].clone());
    let sent: Vec<_> = of("segment").map(place).collect();
    assert!(of("dropped").all(|row| sent.contains(&place(row))));
    let dropped = of("dropped").count() as f64;
    let links = rows(folder.path(), "links");
    let of_links: f64 = links.iter().map(|row| number(row, "dropped_packets")).sum();
    // A FIN alone has no place in the stream.
    assert!(dropped > 20.0 && (0.0..=3.0).contains(&(of_links - dropped)), "{dropped} {of_links}");
    let drawn = drawn(folder.path(), &text, &nothing);
    assert!(drawn.failures.is_empty(), "{:?}", drawn.failures);
    assert!(picture(folder.path(), "all").contains("near.1: dropped"));
    let csv = fs::read_to_string(folder.path().join("figures/modulo.csv")).unwrap();
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert!(rows.len() > 100 && rows.iter().all(|row| row[3].parse::<f64>().unwrap() < 10.0));
    // Panels stand in the order of the file.
    let svg = picture(folder.path(), "modulo");
    let place = |flow: &str| svg.find(&format!(">{flow}</text>")).unwrap();
    let places = ["near.1", "near.2", "near.3", "far"].map(place);
    assert!(places.is_sorted(), "{places:?}");
}
