//! Where tshark marks other segments than we do.

use super::capture::Error;
use bentpipe_capture::{Mark, Marks, tshark};
use bentpipe_lab::captures::Opened;
use serde::Serialize;
use std::io::Write;
use std::process::{Command, ExitCode};

/// tshark's exit code for files that it cannot read up to their end.
const CUT_SHORT: i32 = 2;

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
        if file.is_stdin() {
            let why = "it reads a file, and standard input is none".to_owned();
            return Err(Error::Tshark(why));
        }
        let written = written_by_tshark(file)?;
        let compared = tshark::compare(&file.capture, &written);
        segments += compared.segments;
        let names = |marks: Marks| marks.iter().map(Mark::name).collect();
        differences.extend(compared.differences.into_iter().map(|it| Difference {
            file: file.path.display().to_string(),
            frame: it.frame,
            ours: names(it.ours),
            tshark: names(it.tshark),
        }));
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

/// What tshark writes of a file.
fn written_by_tshark(file: &Opened) -> Result<String, Error> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&file.path).args(tshark::arguments());
    let output = command.output().map_err(|error| {
        Error::Tshark(if error.kind() == std::io::ErrorKind::NotFound {
            "it is not installed (package tshark)".to_owned()
        } else {
            error.to_string()
        })
    })?;
    // Of a file that ends too early it says all that there is, and complains.
    let cut_short = output.status.code() == Some(CUT_SHORT) && file.capture.damage.is_some();
    if !output.status.success() && !cut_short {
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        let last = why.lines().last().unwrap_or("it failed").to_owned();
        return Err(Error::Tshark(last));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
