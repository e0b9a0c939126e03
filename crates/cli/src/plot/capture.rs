//! Captures: read, chosen from, and drawn in the form that the output's name asks for.

use super::{compare, explain, list, warn};
use bentpipe_capture::{Filter, analyse, xpl};
use bentpipe_lab::captures::{self, CaptureError, PageView, at_most, direction};
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// What to do with captures.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// List the connections
    #[arg(long)]
    list: bool,
    /// The connection of this number (as --list has it; Wireshark's tcp.stream); again for more
    #[arg(long, value_name = "NUMBER")]
    connection: Vec<usize>,
    /// Only connections that this takes, such as 'host 10.0.0.1 and port 80'
    #[arg(long, value_name = "FILTER")]
    filter: Option<String>,
    /// Draw what the other end sent: the one that sent less
    #[arg(long)]
    reverse: bool,
    /// The page begins side by side instead of with one graph; still figures always are
    #[arg(long)]
    side_by_side: bool,
    /// Where to: graph.html (a page to zoom in), graph.svg, graph.png, graph.xpl (for xplot.org)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Tell as text why each segment was sent, and what limited the sender in each silence
    #[arg(long, conflicts_with_all = ["list", "output", "compare_tshark"])]
    explain: bool,
    /// Say where tshark marks other segments than this program
    #[arg(long)]
    compare_tshark: bool,
}

/// Why a capture is not drawn.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Standard output.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It cannot be read, or what was chosen not be drawn.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The filter.
    #[error("--filter: {0}")]
    Filter(#[from] bentpipe_capture::FilterError),
    /// The output's name.
    #[error("{0}: a graph's name ends in .html, .svg, .png or .xpl")]
    Suffix(String),
    /// The output.
    #[error("{path}: {why}")]
    Write { path: String, why: io::Error },
    /// The picture.
    #[error(transparent)]
    Png(#[from] bentpipe_plot::png::PngError),
    /// tshark.
    #[error("tshark: {0}")]
    Tshark(String),
}

/// Does what the options say.
pub(super) fn run(paths: &[PathBuf], options: &Options, json: bool) -> Result<ExitCode, Error> {
    let filter = options.filter.as_deref().map(Filter::parse).transpose()?;
    let files = captures::open(paths, &warn)?;
    let chosen = captures::choose(&files, &options.connection, filter.as_ref())?;
    let mut out = io::stdout().lock();
    if options.compare_tshark {
        return compare::run(&files, json, &mut out);
    }
    if options.explain {
        explain::write(&files, &chosen, json, &mut out)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some(output) = options.output.as_deref().filter(|_| !options.list) else {
        list::write(&files, &chosen, json, &mut out)?;
        return Ok(ExitCode::SUCCESS);
    };
    let suffix = output.extension().and_then(|suffix| suffix.to_str()).unwrap_or_default();
    let bytes = match suffix {
        "html" => {
            let Options { reverse, side_by_side, .. } = *options;
            let view = PageView { reverse, side_by_side };
            captures::page(&files, &chosen, view)?.into_bytes()
        }
        "xpl" => {
            at_most(1, &files, &chosen, suffix)?;
            let connection = chosen[0].of(&files);
            let direction = direction(connection, options.reverse);
            xpl::write(connection, &analyse(connection), direction).into_bytes()
        }
        "svg" | "png" => {
            at_most(captures::COLUMNS_MAX, &files, &chosen, suffix)?;
            let scene = captures::still(&files, &chosen, options.reverse);
            match suffix {
                "svg" => bentpipe_plot::svg::write(&scene).into_bytes(),
                _ => bentpipe_plot::png::write(&scene, 2.0)?,
            }
        }
        _ => return Err(Error::Suffix(output.display().to_string())),
    };
    fs::write(output, bytes)
        .map_err(|why| Error::Write { path: output.display().to_string(), why })?;
    writeln!(out, "{}", output.display())?;
    Ok(ExitCode::SUCCESS)
}
