//! What crosses a link, as a capture: each packet where it came in, with the queue that it found,
//! and where it left; what did not arrive, and why, apart.
//!
//! A thread of its own writes the file. The loop that carries packets never waits for it: what the
//! thread does not get done in time is left out and counted.

use bentpipe_capture::pcapng::{Interface, Packet, Way, Writer};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Packets that may wait for the thread.
const WAITING: usize = 20_000;
/// So long after the last packet at most is what there is in the file.
const FLUSH: Duration = Duration::from_millis(500);
/// The longest IP packet.
const WHOLE: usize = 65_535;
/// The longest headers of IPv4, or IPv6, and TCP.
const HEADERS: usize = 120;

/// Protocol numbers.
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;

/// What is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordingOptions {
    /// Payloads as well as headers.
    pub payload: bool,
    /// The file's greatest length in bytes.
    pub max: u64,
}

/// What has become of a recording.
#[derive(Debug, Default)]
pub struct RecordingSummary {
    /// Packets in the file.
    pub packets: u64,
    /// Packets that are missing, because the file was full, the disk was, or writing took too long.
    pub missed: u64,
    /// The file's length in bytes.
    pub bytes: u64,
}

/// Where a packet is captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TapPoint {
    /// It came in at this end of the link.
    Entry(usize),
    /// It left at this end.
    Exit(usize),
    /// It did not arrive.
    Lost,
}

/// A packet to be written.
#[derive(Debug)]
pub(crate) struct RecordedPacket {
    pub(crate) point: TapPoint,
    /// Nanoseconds since Unix's epoch.
    pub(crate) at: u64,
    pub(crate) bytes: Vec<u8>,
    pub(crate) len: usize,
    pub(crate) comment: String,
}

/// A recording that is made.
#[derive(Debug)]
pub struct Recording {
    options: RecordingOptions,
    records: Option<SyncSender<RecordedPacket>>,
    thread: Option<JoinHandle<RecordingSummary>>,
    missed: u64,
}

impl Recording {
    /// Begins the file at `path`, which is made anew, with an interface for each of the two `ends`
    /// of the link.
    ///
    /// # Errors
    /// When there is no such file to be had, or no thread.
    pub fn begin(
        path: &Path,
        ends: &[String; 2],
        options: RecordingOptions,
    ) -> io::Result<Recording> {
        let lost = Interface { name: "lost", description: "packets that did not arrive" };
        let [a, b] = ends.each_ref().map(|name| Interface { name, description: "end of the link" });
        let out = BufWriter::new(File::create(path)?);
        let most = if options.payload { WHOLE } else { HEADERS };
        let mut writer = Writer::new(out, &[a, b, lost], most)?;
        let (send, receive) = sync_channel(WAITING);
        let name = path.display().to_string();
        let write = move || write(&name, &mut writer, &receive, options.max);
        let thread = std::thread::Builder::new().name("recording".to_owned()).spawn(write)?;
        Ok(Recording { options, records: Some(send), thread: Some(thread), missed: 0 })
    }

    /// What is recorded of a packet.
    pub(crate) fn part<'a>(&self, packet: &'a [u8]) -> &'a [u8] {
        if self.options.payload { packet } else { &packet[..headers(packet).min(packet.len())] }
    }

    pub(crate) fn add(&mut self, record: RecordedPacket) {
        let sent = self.records.as_ref().is_some_and(|records| records.try_send(record).is_ok());
        self.missed += u64::from(!sent);
    }

    /// Waits until all is in the file.
    pub fn end(mut self) -> RecordingSummary {
        self.records = None;
        let thread = self.thread.take();
        let summary = thread.and_then(|thread| thread.join().ok()).unwrap_or_default();
        RecordingSummary { missed: summary.missed + self.missed, ..summary }
    }
}

/// Writes what comes until nothing will any more. When the file is full, or cannot be written, that
/// is said once.
fn write(
    name: &str,
    writer: &mut Writer<BufWriter<File>>,
    records: &Receiver<RecordedPacket>,
    max: u64,
) -> RecordingSummary {
    let mut summary = RecordingSummary::default();
    let mut ended = false;
    let mut flushed = true;
    loop {
        let record = match records.recv_timeout(FLUSH) {
            Ok(record) => Some(record),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let done = match record {
            _ if ended => {
                summary.missed += u64::from(record.is_some());
                continue;
            }
            None if flushed => continue,
            None => {
                flushed = true;
                writer.flush()
            }
            // What a packet takes beside its bytes: less than this.
            Some(record) if writer.written() + (record.bytes.len() + 256) as u64 > max => {
                tracing::warn!("{name} has its {max} bytes: nothing more is recorded");
                (ended, summary.missed) = (true, summary.missed + 1);
                writer.flush()
            }
            Some(record) => {
                flushed = false;
                summary.packets += 1;
                put(writer, &record)
            }
        };
        if let Err(error) = done {
            tracing::warn!(
                "cannot write {name}: {error}: nothing more is recorded; the link goes on"
            );
            ended = true;
        }
    }
    if !ended && let Err(error) = writer.flush() {
        tracing::warn!("cannot write {name}: {error}");
    }
    RecordingSummary { bytes: writer.written(), ..summary }
}

fn put(writer: &mut Writer<BufWriter<File>>, record: &RecordedPacket) -> io::Result<()> {
    let (interface, way) = match record.point {
        TapPoint::Entry(end) => (end as u32, Some(Way::Inbound)),
        TapPoint::Exit(end) => (end as u32, Some(Way::Outbound)),
        TapPoint::Lost => (2, None),
    };
    let RecordedPacket { at, bytes, len, comment, .. } = record;
    writer.packet(&Packet { interface, at: *at, bytes, len: *len as u64, way, comment })
}

/// How long the headers of a packet are: of IP, and of what is in it, if that is known and begins
/// here.
fn headers(packet: &[u8]) -> usize {
    let (ip, protocol) = match packet.first().map(|byte| byte >> 4) {
        Some(4) if packet.len() >= 20 => {
            let fragment = u16::from_be_bytes([packet[6], packet[7]]) & 0x1fff;
            let length = usize::from(packet[0] & 0x0f) * 4;
            (length, if fragment == 0 { packet[9] } else { 0 })
        }
        Some(6) if packet.len() >= 40 => (40, packet[6]),
        _ => return packet.len().min(20),
    };
    let transport = match protocol {
        TCP => packet.get(ip + 12).map_or(0, |byte| usize::from(byte >> 4) * 4),
        UDP | ICMP | ICMPV6 => 8,
        _ => 0,
    };
    ip + transport
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u8) -> RecordedPacket {
        let bytes = vec![number; 40];
        RecordedPacket {
            point: TapPoint::Entry(0),
            at: 7,
            bytes,
            len: 1500,
            comment: String::new(),
        }
    }

    fn ends() -> [String; 2] {
        ["a", "b"].map(str::to_owned)
    }

    #[test]
    fn a_file_has_its_bound_and_the_rest_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.pcapng");
        let options = RecordingOptions { payload: false, max: 2000 };
        let mut recording = Recording::begin(&path, &ends(), options).unwrap();
        (0..100).for_each(|number| recording.add(record(number)));
        let summary = recording.end();
        assert_eq!(summary.packets + summary.missed, 100);
        assert!((10..30).contains(&summary.packets), "{summary:?}");
        let length = std::fs::metadata(&path).unwrap().len();
        assert!(length <= 2000 && length == summary.bytes, "{length} {summary:?}");
    }

    #[test]
    fn a_full_disk_ends_the_recording_alone() {
        let path = Path::new("/dev/full");
        if !path.exists() {
            return;
        }
        let options = RecordingOptions { payload: false, max: u64::MAX };
        let mut recording = Recording::begin(path, &ends(), options).unwrap();
        // More than a buffer holds.
        (0..2000).for_each(|number| recording.add(record(number as u8)));
        let summary = recording.end();
        assert_eq!(summary.packets + summary.missed, 2000);
        assert!(summary.missed > 0, "{summary:?}");
    }

    #[test]
    fn headers_end_where_payloads_begin() {
        let mut tcp = vec![0x46; 24];
        (tcp[6], tcp[7], tcp[9]) = (0x40, 0, TCP);
        tcp.extend([0; 12]);
        tcp.push(0x80);
        tcp.resize(1500, 0);
        assert_eq!(headers(&tcp), 56);
        tcp[7] = 1;
        assert_eq!(headers(&tcp), 24);
        let mut udp = vec![0x60; 1500];
        udp[6] = UDP;
        assert_eq!(headers(&udp), 48);
        for length in [0, 1, 19, 20, 39, 40] {
            for first in [0x45, 0x4f, 0x60, 0xff] {
                headers(&vec![first; length]);
            }
        }
    }
}
