//! Scenarios whose packets are captured at their nodes, and what is true of them.

use bentpipe_capture::pcapng::{Interface, Packet, Writer};
use bentpipe_capture::{Capture, read};
use bentpipe_core::wire::HEADERS_MAX;
use bentpipe_gateway::Side;
use bentpipe_results::{Captured, Direction, PacketSink, RunResults, Sinks};
use bentpipe_scenario::Scenario;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A packet at a place.
#[derive(Debug, Clone)]
pub(crate) struct Passed {
    /// In nanoseconds.
    pub(crate) at: i64,
    pub(crate) bytes: Vec<u8>,
    pub(crate) len: u64,
    pub(crate) sent: bool,
}

/// A clock that is ahead, and drifts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Clock {
    pub(crate) ahead: i64,
    pub(crate) ppm: f64,
}

/// Packets by their place: a node's name, for gateways with `@lan` or `@satellite`.
pub(crate) type Places = BTreeMap<String, Vec<Passed>>;

/// Runs a scenario.
pub(crate) fn play(text: &str) -> (Places, RunResults) {
    let scenario = Scenario::parse(&format!("{text}\n[record]\npackets = true\n"))
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let names: Vec<String> = scenario.nodes.iter().map(|node| node.name.clone()).collect();
    let places = Rc::new(RefCell::new(Places::new()));
    let sink = Sink { names, places: Rc::clone(&places) };
    let sinks = Sinks { packets: Some(Box::new(sink)), ..Sinks::default() };
    let results = bentpipe_sim::run_into(&scenario, 0, sinks, &mut |_| true).expect("a run");
    let places = Rc::into_inner(places).expect("the run is over").into_inner();
    (places, results)
}

#[derive(Debug)]
struct Sink {
    names: Vec<String>,
    places: Rc<RefCell<Places>>,
}

impl PacketSink for Sink {
    fn packet(&mut self, packet: &Captured) {
        let side = match packet.interface.side {
            None => "",
            Some(Side::Lan) => "@lan",
            Some(Side::Satellite) => "@satellite",
        };
        let place = format!("{}{side}", self.names[packet.interface.node.0]);
        self.places.borrow_mut().entry(place).or_default().push(Passed {
            at: packet.at.as_nanos() as i64,
            bytes: packet.headers.to_vec(),
            len: packet.len,
            sent: packet.direction == Direction::Sent,
        });
    }
}

/// A file of packets, by a clock, with or without IP IDs.
pub(crate) fn capture(packets: &[Passed], clock: Clock, ids: bool) -> Capture {
    let interface = Interface { name: "tap", description: "" };
    let mut file = Writer::new(Vec::new(), &[interface], HEADERS_MAX).expect("memory");
    for packet in packets {
        let mut bytes = packet.bytes.clone();
        if !ids {
            bytes[4..6].fill(0);
        }
        let drifted = (packet.at as f64 * clock.ppm / 1e6).round() as i64;
        let at = (packet.at + clock.ahead + drifted) as u64;
        let (bytes, len) = (&bytes[..], packet.len);
        let whole = Packet { interface: 0, at, bytes, len, way: None, comment: "" };
        file.packet(&whole).expect("memory");
    }
    read(&file.into_inner()[..]).expect("a capture")
}

/// What tells a packet from all others of a short run: its addresses, ID and sequence number.
pub(crate) fn name(packet: &Passed) -> Vec<u8> {
    let mut name = packet.bytes[4..6].to_vec();
    name.extend(&packet.bytes[12..28]);
    name
}
