//! `bentpipe demo`: real downloads over an emulated GEO link, with and without the gateways.
//!
//! The scene is that of the papers: one client, one server, a geostationary satellite between
//! them, files from one that fits the initial window to one that fills the link for seconds
//! (Henderson and Katz 1999; Bharadwaj et al. 1999, 2001).

mod progress;
mod table;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bentpipe_bench::demo::lossy::{self, Lossy};
use bentpipe_bench::demo::measure::{self, MeasureError};
use bentpipe_bench::demo::report::{self, Report, Row};
use bentpipe_bench::demo::{SIZES, chart, geo_link, simulated};
use bentpipe_linux::netns::teardown;
use bentpipe_testbed::five_hosts::{SatelliteLink, TestbedError};

use progress::DemoProgress;

/// Download files over an emulated GEO link, with and without the gateways.
///
/// Builds five network namespaces, runs nginx and curl at the ends and a satellite link of 8 Mbit/s
/// and 250 ms each way between them, and measures files of 10 KB to 10 MB. Then the link loses one
/// packet in a hundred, each way, and 10 MB come by CUBIC and BBR end to end, through gateways that
/// are not configured, and through gateways that know the link: all at once, on networks of
/// their own. What is not complete after a minute is stopped. It takes two minutes. Everything it
/// makes is gone when it ends. Without root it runs the same downloads in virtual time.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  sudo bentpipe demo --output out/demo")]
pub(crate) struct Arguments {
    /// Where demo.json and demo.svg are written.
    #[arg(long, value_name = "DIR", default_value = "out/demo")]
    output: PathBuf,

    /// Print the measurements as JSON instead of a table.
    #[arg(long)]
    json: bool,

    /// Measure end to end only, without the gateways.
    #[arg(long, hide = true)]
    end_to_end_only: bool,

    /// Run in virtual time, as without root.
    #[arg(long)]
    simulated: bool,
}

/// Why the demo could not be given, or did not show what it should.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DemoError {
    /// A program of the testbed is not installed.
    #[error("demo: missing: {0} (`make demo` installs what is missing)")]
    Missing(String),
    /// The testbed could not be built.
    #[error("demo: {0}")]
    Testbed(#[from] TestbedError),
    /// A download failed.
    #[error("demo: {0}")]
    Measure(#[from] MeasureError),
    /// The results could not be written.
    #[error("demo: cannot write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Signal handlers could not be installed.
    #[error("demo: cannot handle signals: {0}")]
    Signals(io::Error),
    /// A file did not arrive as it was sent.
    #[error("demo: {0} of the downloads differ from the file that was sent")]
    Corrupt(usize),
}

/// Gives the demo.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, DemoError> {
    if arguments.simulated || !nix::unistd::geteuid().is_root() {
        return run_simulated(arguments);
    }
    check_programs()?;
    teardown::on_signals().map_err(DemoError::Signals)?;
    teardown::remove_leftovers();

    let link = geo_link();
    eprintln!("bentpipe demo: {}", report::describe(&link));
    let gateways = !arguments.end_to_end_only;
    let steps = SIZES.len() * (1 + usize::from(gateways)) + lossy::STEPS;
    let mut progress = DemoProgress::new(steps);
    let rows = measure::all(&link, &SIZES, gateways, &mut progress)?;
    let lossy = Lossy::new(&link, lossy::measure(&link, gateways, &mut progress)?);
    drop(progress);
    let hosts = "Linux at the ends, with CUBIC unless another is named";
    finish(arguments, &link, hosts, &Report { rows, lossy })?;
    Ok(ExitCode::SUCCESS)
}

/// The demo in virtual time, for those without root.
fn run_simulated(arguments: &Arguments) -> Result<ExitCode, DemoError> {
    let link = geo_link();
    if !arguments.simulated {
        eprintln!("bentpipe demo: network namespaces need root, so this is the simulated version:");
    }
    eprintln!(
        "bentpipe's own TCP at the ends (with losses in the manner of Linux), the same gateways, virtual time"
    );
    eprintln!("bentpipe demo: {}", report::describe(&link));
    let rows = simulated::all(&link, &SIZES);
    let lossy = Lossy::new(&link, lossy::simulate(&link));
    finish(arguments, &link, "simulated, bentpipe's TCP at the ends", &Report { rows, lossy })?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the files, prints the table or the JSON, and complains of downloads that differ.
fn finish(
    arguments: &Arguments,
    link: &SatelliteLink,
    hosts: &str,
    report: &Report,
) -> Result<(), DemoError> {
    let json = report.to_json();
    let json_path = arguments.output.join("demo.json");
    let chart_path = arguments.output.join("demo.svg");
    write(&json_path, &json)?;
    write(&chart_path, &chart::draw(link, hosts, report))?;
    if arguments.json {
        print!("{json}");
    } else {
        print!("\n{}", table::of(report));
        println!("\nnumbers: {}\nchart:   {}", json_path.display(), chart_path.display());
    }
    let differ = report.rows.iter().filter(|row: &&Row| !row.hashes_match).count();
    match differ + report.lossy.differ() {
        0 => Ok(()),
        differ => Err(DemoError::Corrupt(differ)),
    }
}

fn write(path: &Path, text: &str) -> Result<(), DemoError> {
    let error = |source| DemoError::Write { path: path.to_owned(), source };
    fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(error)?;
    fs::write(path, text).map_err(error)
}

fn check_programs() -> Result<(), DemoError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories: Vec<_> = std::env::split_paths(&path).collect();
    let missing: Vec<_> = ["ip", "nft", "nginx", "curl"]
        .into_iter()
        .filter(|program| !directories.iter().any(|directory| directory.join(program).exists()))
        .collect();
    if missing.is_empty() { Ok(()) } else { Err(DemoError::Missing(missing.join(", "))) }
}
