//! `bentpipe demo`: real downloads over an emulated GEO link, with and without the gateways.
//!
//! The scene is that of the papers: one client, one server, a geostationary satellite between
//! them, files from one that fits the initial window to one that fills the link for seconds
//! (Henderson and Katz 1999; Bharadwaj et al. 1999, 2001).

mod progress;
mod table;

use bentpipe_bench::demo::report::Report;
use bentpipe_bench::demo::{Demo, chart};
use bentpipe_bench::{BenchError, World};
use bentpipe_terminal::interrupt::{interrupted, stop_flag};
use progress::DemoProgress;
use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Download files over an emulated GEO link, with and without the gateways.
///
/// Builds network namespaces: Linux hosts at the ends and a satellite link of 8 Mbit/s and 250 ms
/// each way between them, and measures files of 10 KB to 10 MB, every byte of which is compared
/// with the one that was sent. Then the link loses one packet in a hundred, each way, and 10 MB
/// come by CUBIC and BBR end to end, through unconfigured gateways, and through gateways whose file
/// has the link's rate: all at once, on networks of their own. What is not complete after a minute
/// is stopped. It takes two minutes. Everything it makes is gone when it ends. Without root it runs
/// the same downloads in virtual time.
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

/// Why the demo could not be given.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DemoError {
    /// A program of the testbed is not installed.
    #[error("demo: missing: {0} (`make demo` installs what is missing)")]
    Missing(String),
    /// A download failed.
    #[error("demo: {0}")]
    Download(#[from] BenchError),
    /// The results could not be written.
    #[error("demo: cannot write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Standard output.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Signal handlers could not be installed.
    #[error("demo: cannot handle signals: {0}")]
    Signals(io::Error),
}

/// Gives the demo.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, DemoError> {
    let root = nix::unistd::geteuid().is_root();
    let (world, hosts) = match root && !arguments.simulated {
        true => {
            let world = World::Live { proxies: Vec::new() };
            (world, "Linux at the ends, with CUBIC unless another is named")
        }
        false => (World::Simulated, "simulated, bentpipe's TCP at the ends in the manner of Linux"),
    };
    match world {
        World::Live { .. } => check_programs()?,
        World::Simulated => {
            if !root {
                eprintln!(
                    "bentpipe demo: network namespaces need root, so this is the simulated version"
                );
            }
            eprintln!(
                "bentpipe demo: bentpipe's own TCP at the ends in the manner of Linux, the same gateways, virtual time"
            );
        }
    }
    let quiet = world == World::Simulated;
    let demo = Demo::new(world, !arguments.end_to_end_only)?;
    let link = demo.link();
    eprintln!("bentpipe demo: {link}");
    let stop = stop_flag().map_err(DemoError::Signals)?;
    let mut progress = DemoProgress::new(demo.steps(), quiet);
    let report = demo.run(&stop, &mut progress);
    drop(progress);
    match report {
        Ok(report) => finish(arguments, &link, hosts, &report)?,
        Err(BenchError::Stopped) => {
            eprintln!("bentpipe demo: stopped; nothing of it is left");
            return Ok(interrupted());
        }
        Err(error) => return Err(error.into()),
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the files, and prints the table or the JSON.
fn finish(
    arguments: &Arguments,
    link: &str,
    hosts: &str,
    report: &Report,
) -> Result<(), DemoError> {
    let json = report.to_json();
    let json_path = arguments.output.join("demo.json");
    let chart_path = arguments.output.join("demo.svg");
    write(&json_path, &json)?;
    write(&chart_path, &chart::draw(link, hosts, report))?;
    let mut out = io::stdout().lock();
    if arguments.json {
        write!(out, "{json}")?;
    } else {
        write!(out, "\n{}", table::of(report))?;
        writeln!(out, "\nnumbers: {}\nchart:   {}", json_path.display(), chart_path.display())?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), DemoError> {
    let error = |source| DemoError::Write { path: path.to_owned(), source };
    fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(error)?;
    fs::write(path, text).map_err(error)
}

fn check_programs() -> Result<(), DemoError> {
    let path = env::var_os("PATH").unwrap_or_default();
    let directories: Vec<_> = env::split_paths(&path).collect();
    let missing: Vec<_> = ["ip"]
        .into_iter()
        .filter(|program| !directories.iter().any(|directory| directory.join(program).exists()))
        .collect();
    if missing.is_empty() { Ok(()) } else { Err(DemoError::Missing(missing.join(", "))) }
}
