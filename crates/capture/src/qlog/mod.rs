//! Recordings in qlog: JSON text sequences (RFC 7464) with the events that `docs/qlog-tcp.md`
//! defines. Each watched end of a connection becomes a [`Connection`], with its causes, its
//! limiters, and its windows and timers over time.

mod event;
mod trace;

use crate::capture::{Capture, Counts};
use crate::connection::Connection;
use crate::file::{Damage, ReadError};
use event::{Event, Header, Limited, Lost, Metrics, Name, Passed, Started};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use trace::Trace;

/// By what each text begins.
pub(crate) const RECORD_SEPARATOR: u8 = 0x1E;
/// What the first text says of itself.
const SCHEMA: &str = "urn:ietf:params:qlog:file:sequential";
/// No text of these is longer, in bytes.
const TEXT_MAX: u64 = 1 << 20;

/// Milliseconds as nanoseconds.
fn nanos(milliseconds: f64) -> i64 {
    // It saturates, and what is no number is 0.
    (milliseconds * 1e6).round() as i64
}

/// Reads a recording as a stream.
pub(crate) fn read(reader: impl Read) -> Result<Capture, ReadError> {
    let mut reader = BufReader::new(reader);
    let mut table = Table::default();
    let mut damage = None;
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        if reader.by_ref().take(TEXT_MAX).read_until(b'\n', &mut bytes)? == 0 {
            break;
        }
        let whole = bytes.ends_with(b"\n");
        if !whole && bytes.len() as u64 == TEXT_MAX {
            let why = format!("longer than {TEXT_MAX} bytes");
            return Err(ReadError::Text { number: u64::from(number), why });
        }
        let text = bytes.strip_prefix(&[RECORD_SEPARATOR]).unwrap_or(&bytes).trim_ascii();
        if text.is_empty() {
            continue;
        }
        match table.text(number, text) {
            Ok(()) => {}
            // The program that wrote it was stopped.
            Err(_) if !whole && number > 1 => {
                damage = Some(Damage::Truncated);
                break;
            }
            Err(why) => return Err(ReadError::Text { number: u64::from(number), why }),
        }
        if number == u32::MAX {
            return Err(ReadError::TooMany);
        }
    }
    Ok(table.finish(damage))
}

/// Ends by their group, and those that are over.
#[derive(Default)]
struct Table {
    open: BTreeMap<String, Trace>,
    finished: Vec<Trace>,
    begun: usize,
    counts: Counts,
    lost: u64,
}

/// Why a text cannot be read.
type Why = String;

impl Table {
    fn text(&mut self, number: u32, text: &[u8]) -> Result<(), Why> {
        if number == 1 {
            let header: Header<'_> = parse(text)?;
            return if header.file_schema == SCHEMA {
                Ok(())
            } else {
                Err(format!("its file_schema is {:?}, not {SCHEMA:?}", header.file_schema))
            };
        }
        let Name { name } = parse(text)?;
        match &*name {
            "tcp:connection_started" => {
                let event: Event<'_, Started> = parse(text)?;
                let group = group(&event)?;
                let [local, remote] = [&event.data.local, &event.data.remote]
                    .map(|end| SocketAddr::new(end.ip, end.port));
                let goes_on = self.open.get_mut(group).is_some_and(|one| one.started(&event.data));
                if !goes_on {
                    let mut trace = self.begin([local, remote], group);
                    trace.started(&event.data);
                    self.finished.extend(self.open.insert(group.to_owned(), trace));
                }
            }
            "tcp:segment_sent" | "tcp:segment_received" => {
                self.counts.packets += 1;
                self.counts.tcp += 1;
                let event: Event<'_, Passed<'_>> = parse(text)?;
                let sent = name == "tcp:segment_sent";
                let (at, data) = (nanos(event.time), &event.data);
                if !self.trace(group(&event)?)?.passed(at, number, sent, data) {
                    return Err("it has more SACK blocks than can be numbered".to_owned());
                }
            }
            "tcp:metrics_updated" => {
                let event: Event<'_, Metrics> = parse(text)?;
                self.trace(group(&event)?)?.measured(nanos(event.time), &event.data);
            }
            "tcp:limiter_updated" => {
                let event: Event<'_, Limited<'_>> = parse(text)?;
                if !self.trace(group(&event)?)?.limited(nanos(event.time), &event.data) {
                    return Err(format!("there is no limiter {:?}", event.data.new));
                }
            }
            "tcp:events_lost" => {
                let event: Event<'_, Lost> = parse(text)?;
                self.lost = self.lost.saturating_add(event.data.count);
            }
            // Others are nobody's business here.
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, ends: [SocketAddr; 2], group: &str) -> Trace {
        self.begun += 1;
        Trace::new(self.begun - 1, ends, group.split_once('/').map(|(_, leg)| leg))
    }

    /// The end of this group. One whose beginning is not in the file is named by its group.
    fn trace(&mut self, group: &str) -> Result<&mut Trace, Why> {
        if !self.open.contains_key(group) {
            let trace = self.begin(ends(group)?, group);
            self.open.insert(group.to_owned(), trace);
        }
        self.open.get_mut(group).ok_or_else(|| format!("no group {group:?}"))
    }

    fn finish(mut self, damage: Option<Damage>) -> Capture {
        self.finished.extend(self.open.into_values());
        let mut connections: Vec<Connection> =
            self.finished.into_iter().filter_map(Trace::finish).collect();
        connections.sort_by_key(|connection| connection.number);
        for (number, connection) in connections.iter_mut().enumerate() {
            connection.number = number;
        }
        let (counts, lost_events) = (self.counts, self.lost);
        Capture { connections, counts, damage, lost_events, ..Capture::default() }
    }
}

fn parse<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Why> {
    serde_json::from_slice(text).map_err(|error| {
        // Texts are of one line each: where in it says enough.
        error.to_string().replacen("line 1 column", "column", 1)
    })
}

fn group<'e, D>(event: &'e Event<'_, D>) -> Result<&'e str, Why> {
    event.group_id.as_deref().ok_or_else(|| "it has no group_id".to_owned())
}

/// The addresses in a group's name: `10.0.0.1:80-10.0.0.2:4000/lan`.
fn ends(group: &str) -> Result<[SocketAddr; 2], Why> {
    let name = group.split('/').next().unwrap_or_default();
    let parsed = name
        .split_once('-')
        .and_then(|(local, remote)| Some([local.parse().ok()?, remote.parse().ok()?]));
    parsed.ok_or_else(|| format!("its group_id {group:?} names no addresses"))
}

#[cfg(test)]
mod tests;
