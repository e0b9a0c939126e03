//! Captures: read, chosen from, and drawn in the form that the output's name asks for.

use super::choice::Chosen;
use super::{choice, compare, explain, figure, list, page};
use bentpipe_capture::{Analysis, Capture, Damage, Filter, ReadError, analyse, xpl};
use bentpipe_plot::scene::Scene;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What to do with captures.
#[derive(clap::Args, Default)]
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
    pub(super) reverse: bool,
    /// The page begins side by side instead of with one graph; still figures always are
    #[arg(long)]
    pub(super) side_by_side: bool,
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
    /// It cannot be opened or read.
    #[error("{path}: {why}")]
    Read { path: String, why: ReadError },
    /// It is read, and nothing is to be drawn.
    #[error("{path}: {why}")]
    Nothing { path: String, why: String },
    /// The filter.
    #[error("--filter: {0}")]
    Filter(#[from] bentpipe_capture::FilterError),
    /// What was chosen.
    #[error("{0}")]
    Choice(String),
    /// The output's name.
    #[error("{0}: a graph's name ends in .html, .svg, .png or .xpl")]
    Suffix(String),
    /// The output.
    #[error("{path}: {why}")]
    Write { path: String, why: io::Error },
    /// The picture.
    #[error(transparent)]
    Png(#[from] bentpipe_plot::png::PngError),
    /// The series of the run that a capture is of.
    #[error(transparent)]
    Series(#[from] bentpipe_lab::drawing::DrawError),
    /// tshark.
    #[error("tshark: {0}")]
    Tshark(String),
}

/// A file that was read.
pub(super) struct Opened {
    pub(super) path: PathBuf,
    pub(super) capture: Capture,
    /// What to call it in a graph: its name, with those folders before it that tell it from others.
    pub(super) name: String,
}

/// Gives files the shortest names by which they can be told apart.
fn name_all(files: &mut [Opened]) {
    let short = |path: &Path, parts: usize| {
        let all: Vec<_> =
            path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        all[all.len().saturating_sub(parts)..].join("/")
    };
    let deepest = files.iter().map(|file| file.path.components().count()).max().unwrap_or(1);
    let names = (1..=deepest)
        .map(|parts| files.iter().map(|file| short(&file.path, parts)).collect::<Vec<String>>());
    let mut last = Vec::new();
    for names in names {
        let distinct: std::collections::BTreeSet<_> = names.iter().collect();
        let alone = distinct.len() == names.len();
        last = names;
        if alone {
            break;
        }
    }
    for (file, name) in files.iter_mut().zip(elided(&last)) {
        file.name = name;
    }
}

/// Leaves out the folders between the first and the file that are the same in all of these names.
fn elided(names: &[String]) -> Vec<String> {
    let parts: Vec<Vec<&str>> = names.iter().map(|name| name.split('/').collect()).collect();
    let same = |at: usize| parts.iter().all(|one| one.get(at) == parts[0].get(at));
    let short = |one: &Vec<&str>| {
        let mut short: Vec<&str> = Vec::new();
        for (at, part) in one.iter().enumerate() {
            let between = at > 0 && at + 1 < one.len() && names.len() > 1;
            match between && same(at) {
                false => short.push(part),
                true if short.last() == Some(&"…") => {}
                true => short.push("…"),
            }
        }
        short.join("/")
    };
    parts.iter().map(short).collect()
}

/// Does what the options say.
pub(super) fn run(paths: &[PathBuf], options: &Options, json: bool) -> Result<ExitCode, Error> {
    let filter = options.filter.as_deref().map(Filter::parse).transpose()?;
    let mut files = paths.iter().map(|path| open(path)).collect::<Result<Vec<_>, _>>()?;
    name_all(&mut files);
    let chosen = choice::choose(&files, &options.connection, filter.as_ref())?;
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
            choice::page_takes(&files, &chosen)?;
            page::write(&files, &chosen, options)?.into_bytes()
        }
        "xpl" => {
            choice::at_most(1, &files, &chosen, suffix)?;
            let connection = chosen[0].of(&files);
            let direction = direction(connection, options.reverse);
            xpl::write(connection, &analyse(connection), direction).into_bytes()
        }
        "svg" | "png" => {
            choice::at_most(figure::COLUMNS_MAX, &files, &chosen, suffix)?;
            let scene = still(&files, &chosen, options.reverse);
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

/// The still figure of these connections.
fn still(files: &[Opened], chosen: &[Chosen], reverse: bool) -> Scene {
    let analyses: Vec<Analysis> = chosen.iter().map(|one| analyse(one.of(files))).collect();
    let columns = chosen.iter().zip(&analyses).map(|(one, analysis)| {
        let connection = one.of(files);
        let direction = direction(connection, reverse);
        let [from, to] =
            [direction, direction.reverse()].map(|end| connection.ends[end.index()].to_string());
        let label = connection.label().map(|label| format!(" ({label})")).unwrap_or_default();
        let (file, number) = (&files[one.file].name, connection.number);
        let name = format!("{file} #{number}{label}: {from} → {to}");
        figure::Column { name, connection, analysis, direction }
    });
    figure::scene(&columns.collect::<Vec<_>>())
}

/// The page of all connections of these captures; `None` if there is no TCP in them.
pub(super) fn page_of(paths: &[PathBuf]) -> Result<Option<String>, Error> {
    let mut files = Vec::new();
    for path in paths {
        match open(path) {
            Ok(opened) => files.push(opened),
            Err(Error::Nothing { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    if files.is_empty() {
        return Ok(None);
    }
    name_all(&mut files);
    let chosen = choice::choose(&files, &[], None)?;
    choice::page_takes(&files, &chosen)?;
    Ok(Some(page::write(&files, &chosen, &Options::default())?))
}

/// The one that sent most, or the other one.
pub(super) fn direction(
    connection: &bentpipe_capture::Connection,
    reverse: bool,
) -> bentpipe_capture::Direction {
    let main = connection.main_direction();
    if reverse { main.reverse() } else { main }
}

fn open(path: &Path) -> Result<Opened, Error> {
    let name = path.display().to_string();
    let read = File::open(path).map_err(ReadError::from).and_then(bentpipe_capture::read);
    let capture = read.map_err(|why| Error::Read { path: name.clone(), why })?;
    let packets = capture.counts.packets;
    match capture.damage {
        Some(Damage::Truncated) => {
            eprintln!(
                "bentpipe: {name} ends in the middle of a packet; the {packets} before are used"
            );
        }
        Some(Damage::Damaged) => {
            eprintln!("bentpipe: {name} is damaged; the {packets} packets before that are used");
        }
        None => {}
    }
    if capture.counts.tcp == 0 {
        let links: Vec<String> = capture.unknown_links.iter().map(i32::to_string).collect();
        let why = if links.is_empty() {
            format!("no TCP in its {packets} packets")
        } else {
            format!(
                "no TCP is found in its {packets} packets: link type {} is not understood",
                links.join(", ")
            )
        };
        return Err(Error::Nothing { path: name, why });
    }
    if capture.lost_events > 0 {
        let lost = capture.lost_events;
        eprintln!("bentpipe: {name}: {lost} events are missing: its writer was too slow");
    }
    if capture.counts.fragments > 0 {
        let fragments = capture.counts.fragments;
        eprintln!("bentpipe: {name}: {fragments} fragments of IP packets are left out");
    }
    Ok(Opened { path: path.to_owned(), capture, name })
}
