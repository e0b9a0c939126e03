//! What a transfer did at a link whose packets were recorded: what slow start overruns, what is
//! retransmitted without need, and how long the link is idle.

use bentpipe_capture::{Capture, Connection, read};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// Headers of IPv4 and TCP without options, as the scenarios' senders have them.
const HEADERS: f64 = 40.0;

/// A data packet that came to the link.
struct Came {
    at: f64,
    first: usize,
    end: usize,
    dropped: bool,
}

/// The numbers of the only transfer over a link of `rate` bytes per second, whose capture
/// (`bentpipe link --record`) is at `path`:
///
/// - `dropped`: of what came from the first drop to the first duplicate acknowledgment, the share
///   that was dropped;
/// - `lost`: all packets that were dropped;
/// - `needless`: packets that brought nothing new over the link;
/// - `idle`: the share of the time from the first drop to the last packet's leaving in which the
///   link sent nothing.
///
/// # Errors
/// It cannot be read, or there is no such thing in it, in a sentence.
pub fn numbers(path: &Path, rate: f64) -> Result<BTreeMap<String, f64>, String> {
    let failed = |why: String| format!("{}: {why}", path.display());
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    let Capture { connections, .. } = read(file).map_err(|error| failed(error.to_string()))?;
    match &connections[..] {
        [connection] => of(connection, rate).map_err(failed),
        several => Err(failed(format!("{} connections, and not one", several.len()))),
    }
}

fn of(connection: &Connection, rate: f64) -> Result<BTreeMap<String, f64>, String> {
    let direction = connection.main_direction();
    let begin = connection.segments.first().map_or(0, |segment| segment.at);
    let seconds = |at: i64| (at - begin) as f64 / 1e9;
    let segments = connection.segments.iter().enumerate();
    let data = segments.clone().filter(|(_, one)| one.direction == direction && one.len > 0);
    let origin = data.clone().next().map(|(_, one)| one.seq).ok_or("no data")?;
    // What comes in has the queue that it found as its comment, what leaves has none.
    let comment =
        |index: usize| u32::try_from(index).ok().and_then(|at| connection.comments.get(&at));
    let mut came = Vec::new();
    let mut left: Vec<(f64, f64)> = Vec::new();
    for (index, one) in data {
        let first = one.seq.wrapping_sub(origin) as usize;
        let (at, end) = (seconds(one.at), first + one.len as usize);
        match comment(index) {
            Some(text) => came.push(Came { at, first, end, dropped: text.starts_with("dropped") }),
            None => left.push((at, f64::from(one.len) + HEADERS)),
        }
    }
    let acknowledged: Vec<(f64, u32)> = segments
        .filter(|(index, one)| one.direction != direction && comment(*index).is_none())
        .map(|(_, one)| (seconds(one.at), one.ack))
        .collect();
    let drop = came.iter().position(|one| one.dropped).ok_or("nothing is dropped")?;
    let since = came[drop].at;
    let duplicate =
        acknowledged.windows(2).find(|pair| pair[1].0 > since && pair[0].1 == pair[1].1);
    let heard = duplicate.map(|pair| pair[1].0).ok_or("no duplicate acknowledgment")?;
    let overrun: Vec<&Came> = came[drop..].iter().take_while(|one| one.at < heard).collect();
    let dropped = overrun.iter().filter(|one| one.dropped).count() as f64;
    let later: Vec<(f64, f64)> = left.into_iter().filter(|(at, _)| *at >= since).collect();
    let (Some((from, first)), Some((to, _))) = (later.first(), later.last()) else {
        return Err("nothing leaves after the first drop".to_owned());
    };
    let bytes: f64 = later.iter().map(|(_, bytes)| bytes).sum();
    let sending = (bytes - first) / rate;
    let numbers = [
        ("dropped", dropped / overrun.len() as f64),
        ("lost", came.iter().filter(|one| one.dropped).count() as f64),
        ("needless", needless(&came) as f64),
        ("idle", (1.0 - sending / (to - from)).max(0.0)),
    ];
    Ok(numbers.map(|(name, value)| (name.to_owned(), value)).into())
}

/// Packets all of whose bytes had crossed the link before.
fn needless(came: &[Came]) -> usize {
    let end = came.iter().map(|one| one.end).max().unwrap_or(0);
    let mut there = vec![false; end];
    let mut needless = 0;
    for one in came.iter().filter(|one| !one.dropped) {
        let bytes = &mut there[one.first..one.end];
        needless += usize::from(bytes.iter().all(|there| *there));
        bytes.fill(true);
    }
    needless
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_capture::pcapng::{Interface, Packet, Way, Writer};

    /// A segment of 10 bytes of data, or an acknowledgment.
    fn packet(data: Option<u32>, ack: u32) -> Vec<u8> {
        let (from, to): ([u8; 6], [u8; 6]) = ([10, 0, 0, 1, 0, 80], [10, 0, 0, 2, 3, 232]);
        let (source, destination) = if data.is_some() { (from, to) } else { (to, from) };
        let len: u16 = if data.is_some() { 50 } else { 40 };
        let mut bytes = vec![0x45, 0];
        bytes.extend(len.to_be_bytes());
        bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
        bytes.extend(&source[..4]);
        bytes.extend(&destination[..4]);
        bytes.extend(&source[4..]);
        bytes.extend(&destination[4..]);
        bytes.extend(data.unwrap_or(0).to_be_bytes());
        bytes.extend(ack.to_be_bytes());
        bytes.extend([0x50, 0x10, 1, 0, 0, 0, 0, 0]);
        bytes
    }

    #[test]
    fn drops_needless_packets_and_idle_times_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("link.pcapng");
        let names = ["a", "b", "lost"].map(|name| Interface { name, description: "" });
        let mut writer = Writer::new(File::create(&path).unwrap(), &names, 200).unwrap();
        let queue = "queue: 0 packets, 0 bytes";
        let drop = "dropped by the queue; queue: 1 packets, 50 bytes";
        // When, in tenths of a second, data or an acknowledgment, and the comment.
        let all: [(u64, Option<u32>, u32, &str); 14] = [
            (0, Some(100), 1, queue),
            (10, Some(100), 1, ""),
            (11, None, 110, ""),
            (20, Some(110), 1, drop),
            (21, Some(120), 1, queue),
            (22, Some(130), 1, drop),
            (23, Some(140), 1, queue),
            (30, Some(120), 1, ""),
            (40, Some(140), 1, ""),
            (41, None, 110, ""),
            (42, Some(110), 1, queue),
            (43, Some(120), 1, queue),
            (50, Some(110), 1, ""),
            (80, Some(120), 1, ""),
        ];
        for (at, data, ack, comment) in all {
            let bytes = packet(data, ack);
            let way = if comment.is_empty() { Way::Outbound } else { Way::Inbound };
            let (at, len) = (at * 100_000_000, bytes.len() as u64);
            let packet = Packet { interface: 0, at, bytes: &bytes, len, way: Some(way), comment };
            writer.packet(&packet).unwrap();
        }
        writer.flush().unwrap();
        // 50 bytes take a second.
        let numbers = numbers(&path, 50.0).unwrap();
        assert_eq!(numbers["dropped"], 0.5);
        assert_eq!((numbers["lost"], numbers["needless"]), (2.0, 1.0));
        assert!((numbers["idle"] - 0.4).abs() < 1e-9, "{numbers:?}");
    }

    #[test]
    fn what_is_no_capture_is_told_in_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none.pcapng");
        assert!(numbers(&path, 1.0).unwrap_err().contains("none.pcapng"));
        std::fs::write(&path, "no capture").unwrap();
        assert!(!numbers(&path, 1.0).unwrap_err().contains('\n'));
    }
}
