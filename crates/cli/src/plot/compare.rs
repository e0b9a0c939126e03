//! Where tshark marks other segments than we do.

use super::capture::{Error, Opened};
use bentpipe_capture::{Mark, Marks, analyse};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};

/// One segment that is marked differently.
#[derive(Serialize)]
struct Difference {
    file: String,
    frame: u32,
    ours: Vec<&'static str>,
    tshark: Vec<&'static str>,
}

/// Compares every segment of the files. The exit code is that of a comparison: 1 if they differ.
pub(super) fn run(files: &[Opened], json: bool, out: &mut impl Write) -> Result<ExitCode, Error> {
    let mut differences = Vec::new();
    let mut segments = 0;
    for file in files {
        let theirs = tshark(&file.path)?;
        let mut ours: BTreeMap<u32, Marks> = BTreeMap::new();
        for connection in &file.capture.connections {
            let facts = analyse(connection).facts;
            let marks =
                connection.segments.iter().zip(facts).map(|(s, fact)| (s.frame, fact.marks));
            ours.extend(marks);
        }
        segments += ours.len();
        for (frame, marks) in ours {
            let other = theirs.get(&frame).copied().unwrap_or_default();
            if marks != other {
                let names = |marks: Marks| marks.iter().map(Mark::name).collect();
                let path = file.path.display().to_string();
                differences.push(Difference {
                    file: path,
                    frame,
                    ours: names(marks),
                    tshark: names(other),
                });
            }
        }
    }
    if json {
        serde_json::to_writer_pretty(&mut *out, &differences).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        for Difference { file, frame, ours, tshark } in &differences {
            let text = |names: &[&str]| {
                if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
            };
            writeln!(
                out,
                "{file}: packet {frame}: bentpipe {}; tshark {}",
                text(ours),
                text(tshark)
            )?;
        }
        writeln!(out, "{} of {segments} segments are marked differently", differences.len())?;
    }
    Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The marks of each packet, by tshark.
fn tshark(path: &Path) -> Result<BTreeMap<u32, Marks>, Error> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(path).args(["-Y", "tcp.analysis.flags", "-T", "fields"]);
    command.args(["-E", "separator=/t", "-e", "frame.number"]);
    for mark in Mark::ALL {
        command.arg("-e").arg(format!("tcp.analysis.{}", mark.name()));
    }
    let output = command.output().map_err(|error| {
        Error::Tshark(if error.kind() == std::io::ErrorKind::NotFound {
            "it is not installed (package tshark)".to_owned()
        } else {
            error.to_string()
        })
    })?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        let last = why.lines().last().unwrap_or("it failed").to_owned();
        return Err(Error::Tshark(last));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(line).collect())
}

fn line(line: &str) -> Option<(u32, Marks)> {
    let mut fields = line.split('\t');
    let frame = fields.next()?.parse().ok()?;
    let mut marks = Marks::default();
    for (mark, field) in Mark::ALL.into_iter().zip(fields) {
        if !field.is_empty() {
            marks.add(mark);
        }
    }
    // Fast and spurious ones are retransmissions to tshark, too.
    Some((frame, marks.most_specific()))
}
