//! Several captures of one connection, matched.

use super::capture::Error;
use bentpipe_capture::Filter;
use bentpipe_capture::pair::telling::{self, Common, File};
use bentpipe_lab::captures::{self, CaptureError, Opened};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::Path;

/// Client, satellite and server side.
const FILES_MAX: usize = 3;

/// Which connections are compared, and what is made of that.
pub(super) struct Wanted<'o> {
    /// Numbers of the first file; all if there are none.
    pub(super) numbers: &'o [usize],
    pub(super) filter: Option<&'o Filter>,
    pub(super) json: bool,
    /// A picture, if one is wanted.
    pub(super) output: Option<&'o Path>,
}

/// Tells what happened to the connections that all files have.
pub(super) fn run(
    opened: &[Opened],
    wanted: &Wanted<'_>,
    out: &mut impl Write,
) -> Result<(), Error> {
    if !(2..=FILES_MAX).contains(&opened.len()) {
        let count = opened.len();
        return Err(choice(format!(
            "--match takes two captures of the same connections, or three: there are {count}"
        )));
    }
    let files: Vec<File<'_>> =
        opened.iter().map(|it| File { name: &it.name, capture: &it.capture }).collect();
    let found = telling::common(&files, &|connection| {
        (wanted.numbers.is_empty() || wanted.numbers.contains(&connection.number))
            && wanted.filter.is_none_or(|filter| filter.takes(connection))
    });
    if found.is_empty() {
        return Err(choice(none_in_common(opened, wanted)));
    }
    if let Some(between) = found.iter().find_map(Common::misplaced) {
        let order = if between == 0 { [1, 0, 2] } else { [0, 2, 1] };
        let order = order.map(|file| opened[file].name.as_str()).join(", ");
        let name = &opened[between].name;
        return Err(choice(format!(
            "{name} was captured between the two others: name the files in the order of the path, {order}"
        )));
    }
    if let Some(output) = wanted.output {
        draw(&files, &found, output)?;
    }
    if wanted.json {
        let all: Vec<Value> = found.iter().map(|one| telling::as_json(&files, one)).collect();
        writeln!(out, "{:#}", json!({ "schema": 1, "connections": all }))?;
        return Ok(());
    }
    for (number, one) in found.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        telling::write(&files, one, out)?;
    }
    if let Some(output) = wanted.output {
        writeln!(out, "{}", output.display())?;
    }
    Ok(())
}

fn choice(why: String) -> Error {
    CaptureError::Choice(why).into()
}

/// What each file has instead.
fn none_in_common(opened: &[Opened], wanted: &Wanted<'_>) -> String {
    let has = opened.iter().map(|file| {
        let connections = &file.capture.connections;
        let [from, to] = connections
            .first()
            .map(|one| one.ends)
            .unwrap_or_else(|| [std::net::SocketAddr::from(([0, 0, 0, 0], 0)); 2]);
        let more = match connections.len() {
            0 | 1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        format!("{} has {from} > {to}{more}", file.name)
    });
    let chosen = wanted.filter.is_some() || !wanted.numbers.is_empty();
    let as_said = if chosen { " as --connection and --filter say" } else { "" };
    format!("no connection is in all files{as_said}: {}", has.collect::<Vec<_>>().join("; "))
}

fn draw(files: &[File<'_>], found: &[Common<'_>], output: &Path) -> Result<(), Error> {
    let suffix = output.extension().and_then(|suffix| suffix.to_str()).unwrap_or_default();
    if !["svg", "png"].contains(&suffix) {
        return Err(choice(format!(
            "{}: with --match a picture's name ends in .svg or .png",
            output.display()
        )));
    }
    let [one] = found else {
        let size = |common: &&Common<'_>| common.connections[0].segments.len();
        let largest = found.iter().max_by_key(size).map_or(0, |one| one.connections[0].number);
        return Err(choice(format!(
            "{} connections are in all files, and a picture shows one: choose with --connection or --filter; the largest is \
             --connection {largest}",
            found.len()
        )));
    };
    let names: Vec<&str> = files.iter().map(|file| file.name).collect();
    let scene = captures::matched(&names, one);
    let bytes = match suffix {
        "svg" => bentpipe_plot::svg::write(&scene).into_bytes(),
        _ => bentpipe_plot::png::write(&scene, 2.0)?,
    };
    fs::write(output, bytes).map_err(|why| Error::Write { path: output.display().to_string(), why })
}
