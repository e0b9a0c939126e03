//! `bentpipe plot`: figures of results, and graphs of what captures hold.

mod capture;
mod compare;
mod explain;
mod list;
mod moment;
mod output;
mod pair;
mod results;

pub(crate) use bentpipe_lab::captures::CaptureError as PlotError;
pub(crate) use results::{check as check_figures, complain};

use bentpipe_lab::captures;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Draw the figures of results anew, or the time-sequence graphs of captures
///
/// A folder of results is drawn from its tables, and nothing is run. Which figures there are says
/// its own scenario.toml, or another file with the same sweep. Captures in it become graphs, a page
/// for each run.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  bentpipe plot results/geo-download             its figures anew
  bentpipe plot results/mine --scenario mine.toml     after its [figure] tables were changed
  bentpipe plot --list download.pcap             which connections are in it
  bentpipe plot download.pcap -o graph.html      a page to zoom in, with all panels
  bentpipe plot --explain download.pcap          why each segment was sent, as text
  bentpipe plot sender.pcap receiver.pcap --match     what was lost, late or reordered between them
  bentpipe plot download.pcap --connection 3 -o graph.xpl
  bentpipe plot download.pcap --filter 'tcp port 443' -o graph.svg
  bentpipe plot --list --sort retransmitted --top 10 download.pcap
  bentpipe plot download.pcap --connection 3 --from 10s --to 12.5s -o points.csv
  bentpipe plot download.pcap -o graphs/         a .xpl of each direction of each connection
  tcpdump -r download.pcap -w - port 80 | bentpipe plot - -o - --format svg > graph.svg
  bentpipe plot before.pcap after.pcap --filter 'host 10.0.0.1 and port 80' -o both.html")]
pub(crate) struct Arguments {
    /// A folder of results, or captures (pcap, pcapng, or qlog); - is standard input
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Of results: whose figures are drawn (FOLDER/scenario.toml without it)
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    #[command(flatten)]
    capture: capture::Options,
    /// As JSON: what was written, or with --list, --explain, --match and --compare-tshark what is
    /// told
    #[arg(long)]
    json: bool,
}

/// Why nothing was drawn.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Several folders, or a folder among captures.
    #[error(
        "{0} is a folder: the results of one folder are drawn at a time, and no captures with them"
    )]
    Folder(String),
    /// An option of captures, for results.
    #[error(
        "{folder} is a folder, whose figures are drawn into it: {option} is for captures; name a file of its packets/"
    )]
    OfCaptures {
        /// The folder.
        folder: String,
        /// The option.
        option: &'static str,
    },
    /// An option of results, for captures.
    #[error("--scenario is for the results of one folder")]
    OfResults,
    /// Standard output.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// Of results.
    #[error(transparent)]
    Results(#[from] results::Error),
    /// Of a capture.
    #[error(transparent)]
    Capture(#[from] capture::Error),
}

/// Draws, lists or compares.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let Arguments { paths, scenario, capture, json } = arguments;
    match &paths[..] {
        [folder] if folder.is_dir() || scenario.is_some() => {
            if let Some(option) = capture.given() {
                let folder = folder.display().to_string();
                return Err(Error::OfCaptures { folder, option });
            }
            Ok(results::run(folder, scenario.as_deref(), *json)?)
        }
        paths => match paths.iter().find(|path| path.is_dir()) {
            Some(folder) => Err(Error::Folder(folder.display().to_string())),
            None if scenario.is_some() => Err(Error::OfResults),
            None => Ok(capture::run(paths, capture, *json)?),
        },
    }
}

/// The page of a run's captures, which are in `run`; nothing if they are too many for a page.
pub(crate) fn page_of_run(run: &Path) -> Result<Option<String>, Box<PlotError>> {
    captures::page_of_run(run, &warn)
}

/// Says what a capture lacks.
fn warn(text: &str) {
    eprintln!("bentpipe: {text}");
}
