//! How far the gateways are from the limit of the link: every case in virtual time, with the code that
//! is deployed.

mod campaign;
mod case;
mod cases;
pub(crate) mod limit;
mod measure;
mod progress;
mod ratio;
mod row;
mod setup;
mod table;
mod target;

use super::BenchError;
use campaign::Campaign;
use progress::CaseProgress;
use row::{Row, Table};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::available_parallelism;

/// What a shell expects of a program that Ctrl-C has ended.
const INTERRUPTED: u8 = 130;

/// How far are the gateways from the limit of the link, and from what is wanted of them?
///
/// Each case is run in virtual time: by the hosts alone, as Linux is (CUBIC), through a pair of gateways that
/// know the link's rate and round trip, and through a pair of which nothing is known. The limit is an
/// ideal sender: back to back at the link's rate, each loss known a round trip later. Times are means
/// over the seeds, the same ones in all columns, from the SYN to the last byte, in seconds. A ratio is
/// with one gateway over without; its bound holds with 95 % confidence.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  bentpipe bench satellite                         the whole table: some minutes
  bentpipe bench satellite --seeds 20              the same, less sure
  bentpipe bench satellite --case 'packet loss'    the cases with this in their name
  bentpipe bench satellite --case LEO --case fade
  bentpipe bench satellite --list
  bentpipe bench satellite --json | jq '.rows[] | select(.met == false) | .case'
  bentpipe bench satellite --strict                exit with 1 if a target is not met
")]
pub(crate) struct Arguments {
    /// So many seeds; cases that take long, or vary little, take a tenth or a hundredth of them
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    seeds: u64,
    /// Only cases whose names contain this; may be given several times
    #[arg(long = "case", value_name = "SUBSTRING")]
    cases: Vec<String>,
    /// Also the cases that take minutes each: 1 GB
    #[arg(long)]
    long: bool,
    /// List the cases
    #[arg(long)]
    list: bool,
    /// Print JSON: a row for each case, without the fields that do not apply to it
    #[arg(long)]
    json: bool,
    /// Exit with 1 if a target is not met
    #[arg(long)]
    strict: bool,
    /// So many threads (as many as there are cores without it)
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Say nothing meanwhile
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, BenchError> {
    let mut cases = cases::all(arguments.long);
    if !arguments.cases.is_empty() {
        cases.retain(|case| arguments.cases.iter().any(|part| case.name.contains(part)));
    }
    if cases.is_empty() {
        return Err(BenchError::NoCase(arguments.cases.join(", ")));
    }
    let mut out = io::stdout().lock();
    if arguments.list {
        for case in &cases {
            writeln!(out, "{}", case.name)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // The second one ends the program at once.
        flag::register_conditional_shutdown(signal, i32::from(INTERRUPTED), Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    let threads = arguments.threads.or_else(|| available_parallelism().ok());
    let campaign = Campaign::new(&cases, arguments.seeds)?;
    let progress = CaseProgress::new(arguments.quiet, campaign.len());
    let rows = campaign.run(threads.unwrap_or(NonZeroUsize::MIN), &stop, &progress);
    progress.end();
    let rows = rows?;
    match arguments.json {
        true => writeln!(out, "{}", to_json(&Table { rows: &rows }))?,
        false => table::print(&mut out, &rows)?,
    }
    if stop.load(Ordering::Relaxed) {
        eprintln!("bentpipe bench satellite: stopped; {} of {} cases", rows.len(), cases.len());
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let missed = rows.iter().any(|row: &Row| row.met == Some(false));
    Ok(if arguments.strict && missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn to_json(table: &Table<'_>) -> String {
    serde_json::to_string_pretty(table).expect("numbers and texts can be written")
}

#[cfg(test)]
mod tests {
    use super::case::{Case, Column, Figures, Seeds};
    use super::setup::{DOWNLOAD, Place, Setup};
    use super::target::{Figure, Target};
    use super::*;
    use bentpipe_core::time::Duration;
    use bentpipe_core::units::Rate;
    use limit::{Limit, Opening};

    /// A lossy download of 100 KB, with one gateway and without.
    fn small() -> Case {
        let setup =
            Setup::of(DOWNLOAD).with("flow.transfer.bytes", "100KB").with("link.sat.loss", "1%");
        let rate = Rate::from_bits_per_sec(8_000_000);
        Case::new("small", Seeds::All)
            .limit(Limit::of(rate, Duration::from_millis(500), 100_000, Opening::Receiver))
            .column(Column::EndToEnd, setup.clone())
            .column(Column::Estimated, setup.between(Place::Gateway, Place::Router))
            .ratio(Column::Estimated, Column::EndToEnd)
            .target(Target::times(Figure::Estimated, 1.0, Figure::Limit))
    }

    fn rows(cases: &[Case], seeds: u64) -> Vec<Row> {
        let campaign = Campaign::new(cases, seeds).unwrap();
        let progress = CaseProgress::new(true, campaign.len());
        campaign.run(NonZeroUsize::MIN, &AtomicBool::new(false), &progress).unwrap()
    }

    #[test]
    fn a_row_has_the_fields_that_apply_to_it_and_no_others() {
        let cases = [small()];
        let rows = rows(&cases, 4);
        let json: serde_json::Value =
            serde_json::from_str(&to_json(&Table { rows: &rows })).unwrap();
        let row = json["rows"][0].as_object().unwrap();
        let fields: Vec<&str> = row.keys().map(String::as_str).collect();
        let expected = [
            "case",
            "end_to_end_s",
            "estimated_s",
            "limit_s",
            "met",
            "ratio",
            "ratio_bound",
            "runs",
            "target",
        ];
        assert_eq!(fields, expected);
        assert_eq!((&row["case"], &row["runs"]), (&"small".into(), &4.into()));
        assert_eq!((&row["target"], &row["met"]), (&"estimated ≤ limit".into(), &false.into()));
        let figure = |name: &str| row[name].as_f64().unwrap();
        assert!((figure("limit_s") - 1.1036).abs() < 1e-3, "{row:?}");
        assert!(
            figure("end_to_end_s") > 1.5 && figure("ratio_bound") >= figure("ratio"),
            "{row:?}"
        );
    }

    #[test]
    fn equal_columns_are_run_once() {
        let twice = [small(), Case { name: "again".to_owned(), ..small() }];
        assert_eq!(Campaign::new(&twice, 3).unwrap().len(), 6);
        let rows = rows(&twice, 2);
        assert_eq!(rows[0].end_to_end_s, rows[1].end_to_end_s);
    }

    #[test]
    fn what_many_flows_do_is_told_by_more_than_their_time() {
        let setup = Setup::of(DOWNLOAD)
            .with("flow.transfer.bytes", "200KB")
            .with("flow.transfer.count", "3")
            .recorded();
        let told = Place::Told {
            rate: "8Mbit/s".to_owned(),
            return_rate: None,
            round_trip: "500ms".to_owned(),
        };
        let case = Case::new("sharing", Seeds::One)
            .column(Column::Known, setup.pair(&told))
            .figures(Column::Known, Figures::Sharing(8e6))
            .target(Target::at_least(Figure::Jain, 0.9))
            .target(Target::at_most(Figure::Drops, 0.0));
        let row = &rows(&[case], 5)[0];
        assert_eq!((row.runs, row.met, row.limit_s), (1, Some(true), None));
        // 600 KB take 0.62 s of the link, behind two round trips.
        let (seconds, busy) = (row.known_s.unwrap(), row.utilisation.unwrap());
        assert!((1.6..1.8).contains(&seconds) && (0.3..0.45).contains(&busy), "{row:?}");
        assert!((row.goodput_share.unwrap() - 600e3 / 1e6 / seconds).abs() < 1e-6, "{row:?}");
        assert!(row.queueing_p95_ms.is_some_and(|ms| ms < 100.0), "{row:?}");
    }

    #[test]
    fn a_transfer_that_is_not_complete_counts_as_long_as_its_run_and_is_marked() {
        let setup = Setup::of(DOWNLOAD).with("run.duration", "4s");
        let case = Case::new("short", Seeds::One).column(Column::EndToEnd, setup);
        let row = &rows(&[case], 1)[0];
        assert_eq!((row.end_to_end_s, row.met), (Some(4.0), None));
        assert_eq!(row.unfinished, [("end_to_end_s", 1.0)].into());
    }

    #[test]
    fn what_is_stopped_has_no_row() {
        let cases = [small()];
        let campaign = Campaign::new(&cases, 1).unwrap();
        let progress = CaseProgress::new(true, campaign.len());
        let rows = campaign.run(NonZeroUsize::MIN, &AtomicBool::new(true), &progress).unwrap();
        assert_eq!(rows, []);
    }
}
