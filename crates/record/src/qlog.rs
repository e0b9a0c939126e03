//! Recordings as qlog (draft-ietf-quic-qlog-main-schema-14), as `docs/qlog-tcp.md` specifies it.
//!
//! Files are JSON text sequences (RFC 7464): a header, and a record for each event.

mod text;

use crate::event::{Change, Direction, Endpoint, Event};
use crate::recorder::Sink;
use bentpipe_core::tcp::observation::Observation;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Bytes;
use std::fmt;
use std::io::{self, Write};
use text::{Object, escape, member, millis};

/// The schema of our events, as the header names it.
pub const EVENT_SCHEMA: &str = "https://github.com/bentpipe/bentpipe/blob/main/docs/qlog-tcp.md#1";

/// Begins each record (RFC 7464).
const RECORD_SEPARATOR: u8 = 0x1E;

/// The header of a file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Header<'a> {
    /// The title of the recording.
    pub title: &'a str,
    /// The name of the host or gateway that was watched.
    pub vantage_point: &'a str,
    /// The wall clock (RFC 3339) at zero of the events' clock, if there is one.
    pub wall_clock: Option<&'a str>,
}

/// A file that is being written.
pub struct Writer<W> {
    out: W,
    record: Vec<u8>,
    groups: Groups,
    written: u64,
    error: Option<io::Error>,
}

impl<W> fmt::Debug for Writer<W> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Writer { written, error, .. } = self;
        formatter.debug_struct("Writer").field("written", written).field("error", error).finish()
    }
}

impl<W: Write> Writer<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// `out` does not take it.
    pub fn new(out: W, header: Header<'_>) -> io::Result<Writer<W>> {
        let mut writer = Writer {
            out,
            record: Vec::with_capacity(512),
            groups: Groups::default(),
            written: 0,
            error: None,
        };
        let Header { title, vantage_point, wall_clock } = header;
        let wall_clock = wall_clock
            .map(|clock| format!(r#","wall_clock_time":"{}""#, escape(clock)))
            .unwrap_or_default();
        let version = env!("CARGO_PKG_VERSION");
        let text = format!(
            concat!(
                r#"{{"file_schema":"urn:ietf:params:qlog:file:sequential","#,
                r#""serialization_format":"application/qlog+json-seq","#,
                r#""title":"{}","description":"bentpipe {}","trace":{{"#,
                r#""vantage_point":{{"name":"{}","type":"unknown"}},"#,
                r#""common_fields":{{"time_format":"relative_to_epoch","#,
                r#""reference_time":{{"clock_type":"monotonic","epoch":"unknown"{}}}}},"#,
                r#""event_schemas":["{}"]}}}}"#,
            ),
            escape(title),
            version,
            escape(vantage_point),
            wall_clock,
            EVENT_SCHEMA
        );
        writer.record.push(RECORD_SEPARATOR);
        writer.record.extend(text.as_bytes());
        writer.end_record();
        writer.error.take().map_or(Ok(writer), Err)
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Ends it.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn finish(self) -> io::Result<W> {
        self.error.map_or(Ok(self.out), Err)
    }

    /// The writer that takes the text.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// True after something could not be written: nothing more is.
    pub fn failed(&self) -> bool {
        self.error.is_some()
    }

    fn end_record(&mut self) {
        self.record.push(b'\n');
        if self.error.is_none() {
            self.error = self.out.write_all(&self.record).err();
            self.written += self.record.len() as u64;
        }
        self.record.clear();
    }

    fn write(&mut self, at: Instant, endpoint: &Endpoint, event: &Event<'_>) {
        let group = self.groups.member(endpoint);
        let record = &mut self.record;
        record.extend_from_slice(b"\x1E{\"time\":");
        millis(record, at.as_nanos());
        record.extend_from_slice(name_of(event).as_bytes());
        record.extend_from_slice(group.as_bytes());
        let mut object = Object::within(record);
        let mut data = object.object(member!("data"));
        fill(&mut data, at, endpoint, event);
        data.end();
        object.end();
        self.end_record();
    }
}

impl<W: Write> Sink for Writer<W> {
    fn event(&mut self, at: Instant, endpoint: &Endpoint, event: &Event<'_>) {
        if self.error.is_none() {
            self.write(at, endpoint, event);
        }
    }
}

/// An event's name as a member between others.
macro_rules! named {
    ($name:literal) => {
        concat!(",\"name\":\"", $name, "\",")
    };
}

fn name_of(event: &Event<'_>) -> &'static str {
    match event {
        Event::Started { .. } => named!("tcp:connection_started"),
        Event::State { .. } => named!("tcp:connection_state_updated"),
        Event::Segment { segment, .. } if segment.direction == Direction::Sent => {
            named!("tcp:segment_sent")
        }
        Event::Segment { .. } => named!("tcp:segment_received"),
        Event::Metrics { .. } => named!("tcp:metrics_updated"),
        Event::Phase { .. } => named!("tcp:congestion_state_updated"),
        Event::Limiter { .. } => named!("tcp:limiter_updated"),
        Event::Timer { .. } => named!("tcp:timer_updated"),
        Event::Lost { .. } => named!("tcp:events_lost"),
    }
}

/// So many names of ends are kept: to find one is to compare it with all of them.
const GROUPS: usize = 16;

/// The members that name ends. Mostly an event is of an end that had one just before: a gateway's
/// two legs take turns.
#[derive(Default)]
struct Groups {
    known: Vec<(Endpoint, String)>,
    /// Which is forgotten next.
    oldest: usize,
}

impl Groups {
    fn member(&mut self, endpoint: &Endpoint) -> &str {
        let known = self.known.iter().position(|(of, _)| of == endpoint);
        let place = known.unwrap_or_else(|| {
            let named = (*endpoint, format!(r#""group_id":"{}""#, group(endpoint)));
            if self.known.len() < GROUPS {
                self.known.push(named);
                return self.known.len() - 1;
            }
            let place = self.oldest;
            self.known[place] = named;
            self.oldest = (place + 1) % GROUPS;
            place
        });
        &self.known[place].1
    }
}

/// How an end is called.
fn group(Endpoint { local, remote, leg }: &Endpoint) -> String {
    let leg = leg.map(|leg| format!("/{leg}")).unwrap_or_default();
    format!("{local}-{remote}{leg}")
}

/// Writes what is an event's own.
fn fill(data: &mut Object<'_>, at: Instant, endpoint: &Endpoint, event: &Event<'_>) {
    match *event {
        Event::Started { local_isn, remote_isn } => {
            for (name, end) in
                [(member!("local"), endpoint.local), (member!("remote"), endpoint.remote)]
            {
                let mut address = data.object(name);
                address.display(member!("ip"), end.ip());
                address.number(member!("port"), u64::from(end.port()));
                address.end();
            }
            if let Some(leg) = endpoint.leg {
                data.text(member!("leg"), leg);
            }
            for (name, isn) in
                [(member!("local_isn"), local_isn), (member!("remote_isn"), remote_isn)]
            {
                data.maybe(name, isn.map(|isn| u64::from(isn.0)));
            }
        }
        Event::State { old, new } => {
            data.change(old.map(Into::into), new.into());
        }
        Event::Phase { old, new } => data.change(old.map(Into::into), new.name()),
        Event::Limiter { old, new } => data.change(old.map(Into::into), new.name()),
        Event::Segment { segment, seq, ack, window, sack } => {
            data.number(member!("seq"), seq);
            data.number(member!("length"), segment.len as u64);
            data.maybe(member!("ack"), ack);
            data.flags(member!("flags"), segment.tcp.flags);
            data.number(member!("window"), window);
            if !sack.is_empty() {
                data.ranges(member!("sack"), sack);
            }
            if let Some(cause) = segment.cause {
                data.text(member!("cause"), cause.name());
            }
        }
        Event::Timer { timer, change } => {
            data.text(member!("timer"), timer.name());
            data.text(
                member!("event_type"),
                match change {
                    Change::Set(_) => "set",
                    Change::Expired => "expired",
                    Change::Cancelled => "cancelled",
                },
            );
            if let Change::Set(due) = change {
                data.millis(member!("delta"), due.saturating_since(at).as_nanos() as u64);
            }
        }
        Event::Metrics { old, new, rule } => {
            metrics(data, old, new);
            if let Some(rule) = rule {
                data.text(member!("rule"), rule.name());
            }
        }
        Event::Lost { count } => data.number(member!("count"), count),
    }
}

/// Those figures that are not the same.
fn metrics(data: &mut Object<'_>, old: Option<&Observation>, new: &Observation) {
    type Figure = (&'static str, fn(&Observation) -> Option<u64>);
    let figures: [Figure; 10] = [
        (member!("cwnd"), |it| Some(it.cwnd.count())),
        (member!("ssthresh"), |it| it.ssthresh.map(Bytes::count)),
        (member!("bytes_in_flight"), |it| Some(it.in_flight.count())),
        (member!("snd_una"), |it| Some(it.snd_una.get())),
        (member!("snd_nxt"), |it| Some(it.snd_nxt.get())),
        (member!("window_edge"), |it| Some(it.window_edge.get())),
        (member!("written"), |it| Some(it.written.get())),
        (member!("delivered"), |it| Some(it.delivered.count())),
        (member!("lost"), |it| Some(it.lost.count())),
        (member!("rcv_nxt"), |it| Some(it.rcv_nxt.get())),
    ];
    for (name, figure) in figures {
        let value = figure(new);
        if old.is_none_or(|old| figure(old) != value) {
            data.maybe(name, value);
        }
    }
    type Span = (&'static str, fn(&Observation) -> Option<Duration>);
    let spans: [Span; 4] = [
        (member!("smoothed_rtt"), |it| it.srtt),
        (member!("rtt_variance"), |it| it.srtt.map(|_| it.rttvar)),
        (member!("min_rtt"), |it| it.min_rtt),
        (member!("rto"), |it| Some(it.rto)),
    ];
    for (name, span) in spans {
        let value = span(new);
        if let Some(value) = value.filter(|_| old.is_none_or(|old| span(old) != value)) {
            data.millis(name, value.as_nanos() as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_named_rightly_also_after_they_were_forgotten() {
        let mut groups = Groups::default();
        let end = |port: u16| Endpoint {
            local: ([10, 0, 0, 1], port).into(),
            remote: ([10, 0, 0, 2], 80).into(),
            leg: (port % 2 == 1).then_some("lan"),
        };
        // More than are kept, in turns and there and back.
        for port in (0..40).chain((0..40).rev()).chain([3, 4, 3, 4]) {
            let leg = if port % 2 == 1 { "/lan" } else { "" };
            let member = format!(r#""group_id":"10.0.0.1:{port}-10.0.0.2:80{leg}""#);
            assert_eq!(groups.member(&end(port)), member);
        }
        assert_eq!(groups.known.len(), GROUPS);
    }
}
