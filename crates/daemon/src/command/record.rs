//! `record`: what a running gateway receives and sends, and why, into a file.
//!
//! The gateway's loop copies what is wanted into a queue of fixed length. A thread in its process
//! makes a file of that and sends it, in pieces, to who asks, who writes it to the disk. So a slow
//! disk fills a socket's buffer and then the queue, and what comes then is counted and left out:
//! the loop never waits.

mod frames;
mod order;
mod writer;

pub(super) use order::Order;
pub(super) use writer::serve;

use super::{Error, answers};
use crate::invocation::service;
use bentpipe_core::text;
use bentpipe_linux::serve::{ClientError, stream};
use bentpipe_linux::signals::Signals;
use frames::{Frame, REFUSED, read};
use order::Format;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::Shutdown;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// What is to be recorded.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Of which connections: `host 10.0.0.1 and port 80`, `net 10.0.0.0/8`, `not`, `and`, `or`,
    /// parentheses
    #[arg(long, value_name = "FILTER")]
    flow: Option<String>,
    /// For how long
    #[arg(long = "for", value_name = "TIME", default_value = "60s", value_parser = time)]
    span: Duration,
    /// At most so much
    #[arg(long, value_name = "SIZE", default_value = "100MB", value_parser = size)]
    max_bytes: u64,
    /// Packets with their payloads (pcapng): what users send and get
    #[arg(long)]
    payload: bool,
    /// Where to: `.pcapng` (packets) or `.qlog` (events)
    #[arg(short, value_name = "FILE")]
    output: PathBuf,
    /// What was recorded as JSON
    #[arg(long)]
    json: bool,
}

fn time(value: &str) -> Result<Duration, String> {
    let span = text::span(value).ok_or("expected a time, such as 60s or 10min")?;
    if span.is_zero() { Err("a recording takes some time".into()) } else { Ok(span) }
}

fn size(value: &str) -> Result<u64, String> {
    let bytes = text::bytes(value).ok_or("expected a size, such as 100MB")?.count();
    if bytes < order::MIN_BYTES { Err("a file has 64KiB at least".into()) } else { Ok(bytes) }
}

/// Why nothing was recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// No such format.
    #[error("{0}: a recording's name ends in .pcapng or .qlog")]
    Suffix(PathBuf),
    /// Events have no payload.
    #[error("--payload is for .pcapng: events have no payload")]
    Payload,
    /// The gateway does not do it.
    #[error("{0}")]
    Refused(String),
    /// The file.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The disk.
    #[error(
        "{0}: no space is left there, and the file ends where it did; make room, or record less (--max-bytes)"
    )]
    Full(PathBuf),
    /// The gateway has ended, or hangs.
    #[error("{0}: the gateway ended before the file was complete")]
    Incomplete(PathBuf),
}

/// How long a look for a signal may wait.
const LOOK: Duration = Duration::from_millis(100);

/// Records until the time is over, the file is full or a signal comes.
pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let path = &arguments.output;
    let format = Format::of(path).ok_or_else(|| RecordError::Suffix(path.clone()))?;
    if arguments.payload && format == Format::Qlog {
        return Err(RecordError::Payload.into());
    }
    let order = Order {
        format,
        payload: arguments.payload,
        span: arguments.span,
        max_bytes: arguments.max_bytes,
        filter: arguments.flow.clone().unwrap_or_default(),
    };
    let _ = order.chooser().map_err(RecordError::Refused)?;
    let signals = Signals::catch()?;
    let answer = answers::order(&order)?;
    let answer = String::from_utf8_lossy(&answer);
    let Some(name) = answer.trim_end().strip_prefix("ok ") else {
        let why = answer.trim_end().strip_prefix("no ").unwrap_or("the gateway does not record");
        return Err(RecordError::Refused(why.to_owned()).into());
    };
    let stream = stream::connect(&service(), name)?;
    let summary = copy(stream, &signals, path)?;
    let mut out = io::stdout().lock();
    if arguments.json {
        writeln!(out, "{summary}")?;
    } else {
        writeln!(out, "{}", words(path, &summary))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The file at `path` cannot be written.
fn failed_at(path: &Path) -> impl Fn(io::Error) -> RecordError + '_ {
    |source| match source.kind() {
        io::ErrorKind::StorageFull => RecordError::Full(path.to_owned()),
        _ => RecordError::File { path: path.to_owned(), source },
    }
}

/// Copies the file from the gateway. Returns what it says at the end. There is no file before there
/// is something in it: a recording that is refused leaves what is there alone.
fn copy(
    mut stream: std::os::unix::net::UnixStream,
    signals: &Signals,
    path: &Path,
) -> Result<serde_json::Value, Error> {
    let failed = |source| ClientError::Io { name: service(), source };
    stream.set_read_timeout(Some(LOOK)).map_err(failed)?;
    let mut file: Option<BufWriter<File>> = None;
    let mut asked_to_end = false;
    loop {
        if signals.received().is_some() {
            if asked_to_end {
                return Err(RecordError::Incomplete(path.to_owned()).into());
            }
            asked_to_end = true;
            stream.shutdown(Shutdown::Write).map_err(failed)?;
        }
        match read(&mut stream) {
            // What there is may be read while it grows.
            Ok(Frame::Nothing) => {
                file.as_mut().map_or(Ok(()), Write::flush).map_err(failed_at(path))?;
            }
            Ok(Frame::Piece(bytes)) => {
                if file.is_none() {
                    file = Some(File::create(path).map(BufWriter::new).map_err(failed_at(path))?);
                }
                let written = file.as_mut().map_or(Ok(()), |file| file.write_all(&bytes));
                written.map_err(failed_at(path))?;
            }
            Ok(Frame::Summary(text)) => {
                let summary: serde_json::Value =
                    serde_json::from_slice(&text).map_err(io::Error::from)?;
                if let Some(why) = summary[REFUSED].as_str() {
                    return Err(RecordError::Refused(format!("nothing is recorded: {why}")).into());
                }
                file.as_mut().map_or(Ok(()), Write::flush).map_err(failed_at(path))?;
                return Ok(summary);
            }
            Err(_) => return Err(RecordError::Incomplete(path.to_owned()).into()),
        }
    }
}

/// The summary in words.
fn words(path: &Path, summary: &serde_json::Value) -> String {
    let number = |key: &str| summary[key].as_u64().unwrap_or(0);
    let lost = match number("lost") {
        0 => String::new(),
        lost => format!("; {lost} were left out, as the file could not be written fast enough"),
    };
    let end = summary["end"].as_str().unwrap_or_default();
    let (bytes, items) = (number("bytes"), number("recorded"));
    let what = summary["what"].as_str().unwrap_or_default();
    format!("{}: {items} {what}, {bytes} bytes, until {end}{lost}", path.display())
}
