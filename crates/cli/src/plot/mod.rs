//! `bentpipe plot`: graphs of what captures hold.

mod capture;
mod choice;
mod compare;
mod figure;
mod list;
mod page;

use std::path::PathBuf;
use std::process::ExitCode;

/// Draw the time-sequence graphs of captures
#[derive(clap::Args)]
#[command(after_help = "Examples:
  bentpipe plot --list download.pcap             which connections are in it
  bentpipe plot download.pcap -o graph.html      a page to zoom in, with all panels
  bentpipe plot download.pcap --connection 3 -o graph.xpl
  bentpipe plot download.pcap --filter 'port 443' -o graph.svg
  bentpipe plot before.pcap after.pcap --filter 'host 10.0.0.1 and port 80' -o both.html")]
pub(crate) struct Arguments {
    /// Captures (pcap or pcapng)
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    capture: capture::Options,
    /// With --list or --compare-tshark: as JSON
    #[arg(long)]
    json: bool,
}

/// Why nothing was drawn.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Standard output.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// Of a capture.
    #[error(transparent)]
    Capture(#[from] capture::Error),
}

/// Draws, lists or compares.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    Ok(capture::run(&arguments.paths, &arguments.capture, arguments.json)?)
}
