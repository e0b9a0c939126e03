//! Captures: read, chosen from, and listed, explained, compared or drawn.

use super::{compare, explain, list, moment, output, pair, warn};
use bentpipe_capture::{Filter, Moment, Reading};
use bentpipe_lab::captures::{self, CaptureError, Order};
use output::Form;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// What to do with captures.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// List the connections
    #[arg(long, conflicts_with_all = ["output", "format", "reverse", "side_by_side"])]
    list: bool,
    /// The order of the list, and which are drawn where not all are: bytes (most first),
    /// retransmitted, duration, start
    #[arg(long, value_name = "BY", value_parser = by_name(&ORDERS, Order::name))]
    sort: Option<Order>,
    /// Only the first N of each file, by --sort (bytes without it)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,
    /// The connection of this number (as --list has it; Wireshark's tcp.stream); again for more
    #[arg(long, value_name = "NUMBER")]
    connection: Vec<usize>,
    /// Only connections that this takes, as tcpdump's filters, such as 'host 10.0.0.1 and port 80'
    #[arg(long, value_name = "FILTER")]
    filter: Option<String>,
    /// Only packets from then on: since the file's first packet (12.5s), or in UTC
    /// (2026-11-28T07:31:11Z)
    #[arg(long, value_name = "TIME", value_parser = moment::parse)]
    from: Option<Moment>,
    /// Only packets until then
    #[arg(long, value_name = "TIME", value_parser = moment::parse)]
    to: Option<Moment>,
    /// Draw what the other end sent: the one that sent less
    #[arg(long)]
    pub(super) reverse: bool,
    /// The page begins side by side instead of with one graph; still figures always are
    #[arg(long)]
    pub(super) side_by_side: bool,
    /// Where to: graph.html (a page to zoom in), graph.svg, graph.png, points.csv, graph.xpl (for
    /// xplot.org), graphs/ (a folder of .xpl), - (standard output)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The form of the output, whatever it is called
    #[arg(long, value_name = "FORM", requires = "output", value_parser = by_name(&Form::ALL, Form::name))]
    format: Option<Form>,
    /// Segments and series as CSV, on standard output
    #[arg(long, conflicts_with_all = ["list", "output", "format"])]
    csv: bool,
    /// Tell as text why each segment was sent, and what limited the sender in each silence
    #[arg(long, conflicts_with_all = ["list", "output", "csv", "compare_tshark"])]
    explain: bool,
    /// Tell what happened between two captures of the same connections, or three (by the path:
    /// client, satellite, server side): losses, reordering, delays. -o draws one connection
    #[arg(long = "match", conflicts_with_all = [
        "list", "explain", "compare_tshark", "csv", "top", "sort", "format", "reverse", "side_by_side"
    ])]
    matches: bool,
    /// Say where tshark marks other segments than this program
    #[arg(long, conflicts_with_all = ["output", "csv", "from", "to"])]
    compare_tshark: bool,
}

impl Options {
    /// The first of them that was given, as it is written.
    pub(super) fn given(&self) -> Option<&'static str> {
        let Options {
            list,
            sort,
            top,
            connection,
            filter,
            from,
            to,
            reverse,
            side_by_side,
            output,
            // It needs an output.
            format: _,
            csv,
            explain,
            matches,
            compare_tshark,
        } = self;
        let all = [
            (*list, "--list"),
            (sort.is_some(), "--sort"),
            (top.is_some(), "--top"),
            (!connection.is_empty(), "--connection"),
            (filter.is_some(), "--filter"),
            (from.is_some(), "--from"),
            (to.is_some(), "--to"),
            (*reverse, "--reverse"),
            (*side_by_side, "--side-by-side"),
            (output.is_some(), "--output"),
            (*csv, "--csv"),
            (*explain, "--explain"),
            (*matches, "--match"),
            (*compare_tshark, "--compare-tshark"),
        ];
        all.into_iter().find(|&(given, _)| given).map(|(_, name)| name)
    }
}

const ORDERS: [Order; 4] = [Order::Bytes, Order::Retransmitted, Order::Duration, Order::Start];

/// One of these, by its name.
fn by_name<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl clap::builder::TypedValueParser<Value = T> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(all.iter().map(|&one| name(one))).map(move |given| {
        let mut all = all.iter().copied();
        all.find(|&one| name(one) == given).expect("the parser knows these names only")
    })
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
    #[error(
        "{0}: a graph's name ends in .html, .svg, .png, .csv or .xpl; or say with --format what it is"
    )]
    Suffix(String),
    /// Standard output has no name.
    #[error("-o -: say with --format what it is to be: html, svg, png, csv or xpl")]
    Form,
    /// Several graphs in one file.
    #[error(
        "{connections} connections are as many .xpl files: name a folder for them (-o graphs/)"
    )]
    Several { connections: usize },
    /// A folder of something else.
    #[error("{0} is a folder: only .xpl files are written into one")]
    Folder(String),
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
    let reading = Reading {
        numbers: options.connection.clone(),
        filter: options.filter.as_deref().map(Filter::parse).transpose()?,
        from: options.from,
        to: options.to,
    };
    // Before anything is read, which may take long.
    let output = match &options.output {
        Some(path) => Some(output::Output::named(path, options.format)?),
        _ if options.csv => Some(output::Output::csv()),
        _ => None,
    };
    if options.matches {
        // The same connection has another number in each file, and other addresses behind NAT.
        let all = Reading { numbers: Vec::new(), filter: None, ..reading.clone() };
        let files = captures::open(paths, &all, &warn)?;
        let wanted = pair::Wanted {
            numbers: &options.connection,
            filter: reading.filter.as_ref(),
            json,
            output: options.output.as_deref(),
        };
        pair::run(&files, &wanted, &mut io::stdout().lock())?;
        return Ok(ExitCode::SUCCESS);
    }
    let files = captures::open(paths, &reading, &warn)?;
    let mut chosen = captures::choose(&files, &reading)?;
    let order = options.sort.unwrap_or(Order::Bytes);
    if options.top.is_some() || options.sort.is_some() && output.is_none() {
        let top = options.top.map(|top| top as usize);
        chosen = captures::sort(&files, &chosen, order, top);
    }
    let mut out = io::stdout().lock();
    if options.compare_tshark {
        return compare::run(&files, json, &mut out);
    }
    match output {
        _ if options.explain => explain::write(&files, &chosen, json, &mut out)?,
        Some(output) => output.write(&files, &chosen, order, options, &mut out)?,
        None => list::write(&files, &chosen, json, &mut out)?,
    }
    Ok(ExitCode::SUCCESS)
}
