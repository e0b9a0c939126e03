//! A link of a testbed: a process that carries packets between a TUN device in one namespace and
//! one in another, and is told over a socket when a run begins.

use super::state::Folder;
use super::{NetworkError, PlacedLink};
use bentpipe_core::link::{Count, Counters, Occupancy};
use bentpipe_core::time::Duration;
use bentpipe_emulator::duplex_link::DuplexLinkConfig;
use bentpipe_emulator::emulator::{Emulator, Exit};
use bentpipe_emulator::lateness::Lateness;
use bentpipe_emulator::recording::{Recording, RecordingOptions};
use bentpipe_linux::netns::Namespace;
use bentpipe_linux::signals::Signals;
use bentpipe_linux::tun::{Offload, Tun};
use bentpipe_scenario::{LinkIndex, Scenario};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// Whoever asks a link waits so long for its answer, and the link for a question that has begun.
const PATIENCE: Duration = Duration::from_secs(5);
const QUESTION: Duration = Duration::from_millis(200);
/// The longest capture of a run, in bytes.
const MAX_RECORDING: u64 = 1 << 30;

/// Packets and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// Packets.
    pub packets: u64,
    /// Bytes, with all headers.
    pub bytes: u64,
}

impl From<Count> for Amount {
    fn from(count: Count) -> Amount {
        Amount { packets: count.packets, bytes: count.bytes }
    }
}

impl From<Amount> for Count {
    fn from(amount: Amount) -> Count {
        Count { packets: amount.packets, bytes: amount.bytes }
    }
}

/// What a direction of a link has done since the end of the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DirectionReport {
    /// Came to the queue.
    pub offered: Amount,
    /// The queue did not take or keep.
    pub dropped: Amount,
    /// Were lost.
    pub lost: Amount,
    /// Were marked.
    pub marked: Amount,
    /// Arrived.
    pub delivered: Amount,
    /// The queue's mean length: packets and bytes.
    pub mean_queue: (f64, f64),
    /// Its greatest since the run began.
    pub longest_queue: Amount,
}

impl DirectionReport {
    fn since(now: &(Counters, Occupancy), then: &(Counters, Occupancy)) -> DirectionReport {
        let counters = now.0 - then.0;
        DirectionReport {
            offered: counters.offered.into(),
            dropped: counters.dropped.into(),
            lost: counters.lost.into(),
            marked: counters.marked.into(),
            delivered: counters.delivered.into(),
            mean_queue: now.1.mean_since(&then.1),
            longest_queue: now.1.longest().into(),
        }
    }

    /// As the link's own counters.
    pub fn counters(&self) -> Counters {
        Counters {
            offered: self.offered.into(),
            dropped: self.dropped.into(),
            lost: self.lost.into(),
            marked: self.marked.into(),
            delivered: self.delivered.into(),
        }
    }
}

/// The counts of a link since the end of the warm-up, and its lateness.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinkReport {
    /// Forward, and back.
    pub directions: [DirectionReport; 2],
    /// The share of packets that left more than 1 ms later than they were to, since the run began.
    pub late: f64,
    /// What 99 % of packets were not later than, in milliseconds.
    pub late_p99_ms: f64,
}

impl LinkReport {
    fn new(directions: [DirectionReport; 2], lateness: &Lateness) -> LinkReport {
        let packets = lateness.packets().max(1) as f64;
        LinkReport {
            directions,
            late: lateness.late_packets() as f64 / packets,
            late_p99_ms: lateness.quantile(0.99).as_secs_f64() * 1e3,
        }
    }
}

/// What a link is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Order {
    /// This run of this point begins now.
    Begin { point: usize, run: u64, record: bool },
    /// Its warm-up ends now.
    Mark,
    /// What has been done since?
    Report,
}

/// Tells the link of this number `order`, and returns its answer.
pub(crate) fn tell(folder: &Folder, link: usize, order: Order) -> io::Result<String> {
    let mut stream = UnixStream::connect(folder.socket(link))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    writeln!(stream, "{}", serde_json::json!(order))?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    if answer.ends_with('\n') { Ok(answer) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Carries the packets of the link of this number until a signal comes. The calling thread must be
/// in the namespace of the link's first end. `scenario` gives the points of the experiment; `ready`
/// is called when both devices are there.
///
/// # Errors
/// [`NetworkError`].
pub fn carry(
    folder: &Folder,
    (number, link): (usize, &PlacedLink),
    far: &Namespace,
    scenario: &dyn Fn(usize) -> Option<Scenario>,
    ready: &dyn Fn() -> io::Result<()>,
) -> Result<(), NetworkError> {
    let signals = Signals::catch().map_err(NetworkError::Io)?;
    let [near_device, far_device] = link.ends.each_ref().map(|(_, device)| device.as_str());
    let near = Tun::open(near_device, Offload::TcpAndUdp)?;
    let far = far.run(|| Tun::open(far_device, Offload::TcpAndUdp))??;
    let config = |point: usize, run: u64| {
        Some(DuplexLinkConfig::from(&scenario(point)?.live_link(LinkIndex(number), run)))
    };
    let Some(first) = config(0, 0) else { return Ok(()) };
    let mut emulator = Emulator::new([near, far], Exit::Other, first);
    let path = folder.socket(number);
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).map_err(NetworkError::Io)?;
    listener.set_nonblocking(true).map_err(NetworkError::Io)?;
    ready().map_err(NetworkError::Io)?;
    let mut mark = emulator.counts();
    let capture = folder.capture(number);
    let ends = link.ends.each_ref().map(|(_, device)| device.clone());
    loop {
        if emulator.run(&signals, Some(&listener)).map_err(NetworkError::Link)?.is_some() {
            return Ok(());
        }
        // Who hangs up, or says nothing that we know, gets no answer.
        let Ok((stream, _)) = listener.accept() else { continue };
        let _ = answer(stream, (capture.as_path(), &ends), &mut emulator, &mut mark, &config);
    }
}

fn answer(
    mut stream: UnixStream,
    (capture, ends): (&Path, &[String; 2]),
    emulator: &mut Emulator,
    mark: &mut [(Counters, Occupancy); 2],
    config: &dyn Fn(usize, u64) -> Option<DuplexLinkConfig>,
) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(QUESTION))?;
    stream.set_write_timeout(Some(QUESTION))?;
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line)?;
    let text = match serde_json::from_str(&line)? {
        Order::Begin { point, run, record } => {
            let unknown = || io::Error::from(io::ErrorKind::InvalidInput);
            // That of a run that was interrupted.
            let _ = emulator.end_recording();
            emulator.restart(config(point, run).ok_or_else(unknown)?);
            if record {
                let options = RecordingOptions { payload: false, max: MAX_RECORDING };
                emulator.record(Recording::begin(capture, ends, options)?);
            }
            *mark = emulator.counts();
            "begun".to_owned()
        }
        Order::Mark => {
            *mark = emulator.counts();
            "marked".to_owned()
        }
        Order::Report => {
            let now = emulator.counts();
            let missed = emulator.end_recording().map_or(0, |recorded| recorded.missed);
            if missed > 0 {
                tracing::warn!(missed, "packets are missing in the capture");
            }
            let directions = [0, 1].map(|side| DirectionReport::since(&now[side], &mark[side]));
            let lateness = emulator.summary().lateness;
            serde_json::json!(LinkReport::new(directions, &lateness)).to_string()
        }
    };
    writeln!(stream, "{text}")
}
