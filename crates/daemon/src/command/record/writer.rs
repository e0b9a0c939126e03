//! The gateway's side: from the queue to the file, on a thread of its own.

use super::frames;
use super::order::{Format, Order};
use crate::control::ControlClient;
use crate::tap::{Item, Outlet, Payloads, TapConfig, TappedPacket};
use bentpipe_capture::pcapng::{self, Interface, Packet, Way};
use bentpipe_core::time::Instant as Moment;
use bentpipe_gateway::Side;
use bentpipe_linux::serve::stream;
use bentpipe_record::{Direction, Endpoint, Recorder, Segment, qlog};
use serde_json::json;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::RecvTimeoutError;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, UNIX_EPOCH};

/// From one look at whether somebody still wants it to the next.
const LOOK: Duration = Duration::from_millis(100);

/// How long a client that does not read is waited for, and a gateway that does not answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the last records of a file may take.
const RESERVE: u64 = 8 << 10;

/// Begins a recording. Returns what is answered to who has asked, and the thread that records.
pub(crate) fn serve(
    control_client: &ControlClient,
    service: &str,
    order: Order,
) -> (String, Option<JoinHandle<()>>) {
    let client = control_client.clone();
    let begin = || -> Result<(String, JoinHandle<()>), String> {
        let chooses = order.chooser()?;
        let payloads = if order.payload { Payloads::Kept } else { Payloads::LeftOut };
        let pcapng = order.format == Format::Pcapng;
        let config = TapConfig { chooses, packets: pcapng.then_some(payloads), events: !pcapng };
        let record = move |stream| match client.tap(config) {
            Ok(outlet) => match record(&stream, &order, outlet) {
                Ok(()) => {}
                Err(error) => tracing::info!(%error, "a recording was broken off"),
            },
            Err(error) => tracing::debug!(%error, "nothing is recorded"),
        };
        stream::offer(service, record).map_err(|error| error.to_string())
    };
    match begin() {
        Ok((name, thread)) => (format!("ok {name}\n"), Some(thread)),
        Err(why) => (format!("no {why}\n"), None),
    }
}

/// A file that is sent in pieces.
struct Pieces<'a> {
    stream: &'a UnixStream,
    piece: Vec<u8>,
    bytes: u64,
}

impl Write for Pieces<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        self.bytes += bytes.len() as u64;
        if self.piece.len() >= 32 << 10 {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        frames::piece(&mut self.stream, &self.piece)?;
        self.piece.clear();
        Ok(())
    }
}

/// Why a recording ends.
#[derive(Debug, Clone, Copy)]
enum End {
    Time,
    Size,
    Asked,
    Gateway,
}

impl End {
    fn words(self) -> &'static str {
        match self {
            End::Time => "the time was over",
            End::Size => "the file was full",
            End::Asked => "it was to end",
            End::Gateway => "the gateway ended",
        }
    }
}

/// What is written.
enum File<'a> {
    /// With the wall clock's nanoseconds since Unix's epoch at the moment zero of the events.
    Pcapng(pcapng::Writer<Pieces<'a>>, u64),
    Qlog(Box<Recorder<qlog::Writer<Pieces<'a>>>>),
}

fn record(stream: &UnixStream, order: &Order, outlet: Outlet) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_read_timeout(Some(Duration::from_millis(1)))?;
    let pieces = Pieces { stream, piece: Vec::new(), bytes: 0 };
    let zero = match outlet.items.recv_timeout(PATIENCE) {
        Ok(Item::Began { zero }) => zero,
        Err(RecvTimeoutError::Timeout) => return refuse(stream, "the gateway does not answer"),
        _ => return refuse(stream, "another recording is under way"),
    };
    let mut file = match order.format {
        Format::Pcapng => {
            let interface = |side: Side| Interface {
                name: side.name(),
                description: "a side of the gateway: what came, and what it sent",
            };
            let since = zero.duration_since(UNIX_EPOCH).unwrap_or_default();
            let zero = since.as_nanos() as u64;
            File::Pcapng(pcapng::Writer::new(pieces, &Side::BOTH.map(interface), 0)?, zero)
        }
        Format::Qlog => {
            let title = "bentpipe gateway";
            let wall_clock = humantime::format_rfc3339_nanos(zero).to_string();
            let wall_clock = Some(wall_clock.as_str());
            let header = qlog::Header { title, vantage_point: "gateway", wall_clock };
            File::Qlog(Box::new(Recorder::new(qlog::Writer::new(pieces, header)?)))
        }
    };
    let began = Instant::now();
    let (mut recorded, mut lost, mut last) = (0_u64, 0_u64, Moment::ZERO);
    let mut looked = began;
    let end = loop {
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            if is_closed(stream) {
                break End::Asked;
            }
        }
        let Some(left) = order.span.checked_sub(began.elapsed()).filter(|left| !left.is_zero())
        else {
            break End::Time;
        };
        let item = match outlet.items.recv_timeout(left.min(LOOK)) {
            Ok(item) => item,
            Err(RecvTimeoutError::Timeout) => {
                file.flush()?;
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => break End::Gateway,
        };
        outlet.taken(&item);
        let room = RESERVE + item_len(&item);
        if file.bytes() + room > order.max_bytes {
            break End::Size;
        }
        let missing = outlet.take_lost();
        lost += missing;
        last = file.take(&item, missing)?;
        recorded += 1;
    };
    lost += outlet.take_lost();
    // Whoever is told of the end may begin the next one.
    drop(outlet);
    let bytes = file.finish(last, recorded, lost)?;
    let what = if order.format == Format::Pcapng { "packets" } else { "segments and states" };
    let summary = json!({
        "recorded": recorded, "what": what, "bytes": bytes, "lost": lost, "end": end.words(),
    });
    frames::summary(&mut &*stream, &summary.to_string())
}

/// Says why there will be no file.
fn refuse(stream: &UnixStream, why: &str) -> io::Result<()> {
    frames::summary(&mut &*stream, &json!({ frames::REFUSED: why }).to_string())
}

/// At least what an item takes in the file.
fn item_len(item: &Item) -> u64 {
    match item {
        Item::Packet(seen) => seen.bytes.len() as u64,
        _ => 0,
    }
}

/// Whether the client has said that it is to end, or is gone.
fn is_closed(mut stream: &UnixStream) -> bool {
    matches!(stream.read(&mut [0]), Ok(0))
}

impl File<'_> {
    fn flush(&mut self) -> io::Result<()> {
        match self {
            File::Pcapng(file, _) => file.flush(),
            File::Qlog(recorder) => recorder.sink_mut().get_mut().flush(),
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            File::Pcapng(file, _) => file.written(),
            File::Qlog(recorder) => recorder.sink().written(),
        }
    }

    /// Writes an item, before which so many are missing. Returns its time.
    fn take(&mut self, item: &Item, missing: u64) -> io::Result<Moment> {
        match (self, item) {
            (File::Pcapng(file, zero), Item::Packet(seen)) => {
                let TappedPacket { at, side, sent, ref bytes, len, cause } = *seen;
                let comment = cause.map(|cause| format!("cause: {cause}"));
                file.packet(&Packet {
                    interface: side as u32,
                    at: *zero + at.as_nanos(),
                    bytes,
                    len: len as u64,
                    way: Some(if sent { Way::Outbound } else { Way::Inbound }),
                    comment: comment.as_deref().unwrap_or_default(),
                })?;
                Ok(at)
            }
            (File::Qlog(recorder), item) => {
                let at = events(recorder, item, missing);
                recorder.forget_if_many();
                if recorder.sink().failed() {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
                Ok(at)
            }
            (File::Pcapng(..), Item::Segment { at, .. } | Item::Leg { at, .. }) => Ok(*at),
            (File::Pcapng(..), Item::Began { .. }) => Ok(Moment::ZERO),
        }
    }

    /// Writes the end. Returns the file's length.
    fn finish(self, last: Moment, recorded: u64, lost: u64) -> io::Result<u64> {
        let mut pieces = match self {
            File::Pcapng(mut file, zero) => {
                // Which side's were lost is not known: they are told of the first.
                file.statistics(0, zero + last.as_nanos(), recorded + lost, lost)?;
                file.into_inner()
            }
            File::Qlog(recorder) => recorder.into_sink().finish()?,
        };
        pieces.flush()?;
        Ok(pieces.bytes)
    }
}

fn events(recorder: &mut Recorder<qlog::Writer<Pieces<'_>>>, item: &Item, missing: u64) -> Moment {
    let (at, endpoint) = match item {
        Item::Segment { at, side, sent, ends: [src, dst], .. } => {
            (*at, endpoint(if *sent { [*src, *dst] } else { [*dst, *src] }, *side))
        }
        Item::Leg { at, leg } => (*at, endpoint([leg.local, leg.remote], leg.side)),
        Item::Packet(seen) => return seen.at,
        Item::Began { .. } => return Moment::ZERO,
    };
    if missing > 0 {
        recorder.lost(at, &endpoint, missing);
    }
    match item {
        Item::Segment { sent, tcp, len, cause, .. } => {
            let direction = if *sent { Direction::Sent } else { Direction::Received };
            let segment = Segment { direction, tcp, len: *len, cause: *cause };
            recorder.segment(at, &endpoint, segment);
        }
        Item::Leg { leg, .. } => {
            recorder.agreed(&endpoint, leg.isns, leg.shifts);
            let (limiter, observation) = (leg.limiter, Some(&leg.tcb));
            recorder.observe(
                at,
                &endpoint,
                bentpipe_record::ObservedConnection { state: None, limiter, observation },
            );
        }
        Item::Packet(_) | Item::Began { .. } => {}
    }
    at
}

fn endpoint([local, remote]: [SocketAddr; 2], side: Side) -> Endpoint {
    Endpoint { local, remote, leg: Some(side.name()) }
}
