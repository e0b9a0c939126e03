//! Captures and recordings as tables.

use crate::error;
use crate::table::Table;
use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int64Builder, StringBuilder, UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use bentpipe_capture::{
    Analysis, Capture, Class, ClassKind, Connection, Direction, Fact, Segment, analyse, words,
};
use bentpipe_lab::captures::lacks;
use pyo3::prelude::*;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

/// The connections and the segments of a pcap, a pcapng or a qlog, and what of the file is damaged
/// or not read.
#[pyfunction]
pub(crate) fn read_capture(py: Python<'_>, path: PathBuf) -> PyResult<(Table, Table, Vec<String>)> {
    let failed = |why: String| error::os(format!("cannot read {}: {why}", path.display()));
    let read = py.detach(|| {
        let file = File::open(&path).map_err(|error| error.to_string())?;
        let capture = bentpipe_capture::read(file).map_err(|error| error.to_string())?;
        if capture.counts.tcp == 0 {
            return Err(format!("no TCP in its {} packets", capture.counts.packets));
        }
        let tables = tables(&capture).map_err(|error| error.to_string())?;
        Ok((tables, lacks(&capture)))
    });
    let ((connections, segments), lacks) = read.map_err(failed)?;
    Ok((Table::of(connections), Table::of(segments), lacks))
}

type Batches = (RecordBatch, RecordBatch);

fn tables(capture: &Capture) -> Result<Batches, arrow_schema::ArrowError> {
    let mut connections = Connections::default();
    let mut segments = Segments::default();
    // Times count from the file's first segment.
    let all = capture.connections.iter().flat_map(|connection| &connection.segments);
    let zero = all.map(|segment| segment.at).min().unwrap_or(0);
    for connection in &capture.connections {
        let analysis = analyse(connection);
        connections.add(connection, zero, &analysis);
        for (_, segment, fact) in analysis.facts_of(connection) {
            segments.add(connection.number, zero, segment, fact);
        }
    }
    Ok((connections.finish()?, segments.finish()?))
}

#[derive(Default)]
struct Connections {
    number: UInt64Builder,
    first: StringBuilder,
    second: StringBuilder,
    start: Float64Builder,
    duration: Float64Builder,
    packets: [UInt64Builder; 2],
    bytes: [UInt64Builder; 2],
    retransmissions: [UInt64Builder; 2],
    min_rtt: [Float64Builder; 2],
}

impl Connections {
    fn add(&mut self, connection: &Connection, zero: i64, analysis: &Analysis) {
        self.number.append_value(connection.number as u64);
        self.first.append_value(connection.ends[0].to_string());
        self.second.append_value(connection.ends[1].to_string());
        let start = connection.segments.first().map_or(zero, |segment| segment.at);
        self.start.append_value((start - zero) as f64 / 1e9);
        self.duration.append_value(connection.duration() as f64 / 1e9);
        for direction in Direction::BOTH {
            let (sums, index) = (analysis.summary(connection, direction), direction.index());
            self.packets[index].append_value(sums.packets);
            self.bytes[index].append_value(sums.bytes);
            let again = analysis.facts_of(connection).filter(|(_, segment, fact)| {
                segment.direction == direction && is_retransmission(segment, fact)
            });
            self.retransmissions[index].append_value(again.count() as u64);
            self.min_rtt[index].append_option(sums.round_trips.min.map(|nanos| nanos as f64 / 1e9));
        }
    }

    fn finish(mut self) -> Result<RecordBatch, arrow_schema::ArrowError> {
        let [packets, packets_back] = &mut self.packets;
        let [bytes, bytes_back] = &mut self.bytes;
        let [retransmissions, retransmissions_back] = &mut self.retransmissions;
        let [min_rtt, min_rtt_back] = &mut self.min_rtt;
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("connection", Arc::new(self.number.finish())),
            ("first_end", Arc::new(self.first.finish())),
            ("second_end", Arc::new(self.second.finish())),
            ("start_s", Arc::new(self.start.finish())),
            ("duration_s", Arc::new(self.duration.finish())),
            ("packets_forward", Arc::new(packets.finish())),
            ("packets_back", Arc::new(packets_back.finish())),
            ("bytes_forward", Arc::new(bytes.finish())),
            ("bytes_back", Arc::new(bytes_back.finish())),
            ("retransmissions_forward", Arc::new(retransmissions.finish())),
            ("retransmissions_back", Arc::new(retransmissions_back.finish())),
            ("min_rtt_forward_s", Arc::new(min_rtt.finish())),
            ("min_rtt_back_s", Arc::new(min_rtt_back.finish())),
        ];
        RecordBatch::try_from_iter(columns)
    }
}

/// By what its sender has recorded, or else by what the capture proves.
fn is_retransmission(segment: &Segment, fact: &Fact) -> bool {
    match (segment.recorded, Class::of(segment, fact)) {
        (Some(_), class) => class.is_some_and(|class| class.kind() == ClassKind::Again),
        (None, _) => segment.len > 0 && fact.repeat.is_retransmission(),
    }
}

#[derive(Default)]
struct Segments {
    connection: UInt64Builder,
    frame: UInt64Builder,
    time: Float64Builder,
    direction: StringBuilder,
    seq: Int64Builder,
    ack: Int64Builder,
    len: UInt64Builder,
    window: UInt64Builder,
    flags: UInt64Builder,
    retransmission: BooleanBuilder,
    rtt: Float64Builder,
    outstanding: UInt64Builder,
    class: StringBuilder,
    cause: StringBuilder,
    recorded: BooleanBuilder,
}

impl Segments {
    fn add(&mut self, connection: usize, zero: i64, segment: &Segment, fact: &Fact) {
        self.connection.append_value(connection as u64);
        self.frame.append_value(u64::from(segment.frame));
        self.time.append_value((segment.at - zero) as f64 / 1e9);
        self.direction.append_value(match segment.direction {
            Direction::Forward => "forward",
            Direction::Backward => "back",
        });
        self.seq.append_value(fact.seq);
        self.ack.append_option(fact.ack);
        self.len.append_value(u64::from(segment.len));
        self.window.append_option(fact.window);
        self.flags.append_value(u64::from(segment.flags.bits()));
        self.retransmission.append_value(is_retransmission(segment, fact));
        self.rtt.append_option(fact.round_trip.map(|nanos| nanos as f64 / 1e9));
        self.outstanding.append_value(fact.outstanding[segment.direction.index()]);
        let class = Class::of(segment, fact).map(Class::name);
        self.class.append_option(class);
        self.cause.append_option(segment.recorded.map(words));
        self.recorded.append_value(segment.recorded.is_some());
    }

    fn finish(mut self) -> Result<RecordBatch, arrow_schema::ArrowError> {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("connection", Arc::new(self.connection.finish())),
            ("frame", Arc::new(self.frame.finish())),
            ("time_s", Arc::new(self.time.finish())),
            ("direction", Arc::new(self.direction.finish())),
            ("seq", Arc::new(self.seq.finish())),
            ("ack", Arc::new(self.ack.finish())),
            ("len", Arc::new(self.len.finish())),
            ("window", Arc::new(self.window.finish())),
            ("flags", Arc::new(self.flags.finish())),
            ("retransmission", Arc::new(self.retransmission.finish())),
            ("rtt_s", Arc::new(self.rtt.finish())),
            ("outstanding", Arc::new(self.outstanding.finish())),
            ("class", Arc::new(self.class.finish())),
            ("cause", Arc::new(self.cause.finish())),
            ("recorded", Arc::new(self.recorded.finish())),
        ];
        RecordBatch::try_from_iter(columns)
    }
}
