//! Pings: at an interval, or as a flood (`ping -f`: when an echo is back, or 10 ms after the last
//! one). A transfer is a ping, from its request to its echo.

use super::{FlowEnds, Workload};
use crate::measurement::TransferId;
use crate::packet::Echo;
use crate::simulation::Net;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_scenario::PingPace;
use std::collections::BTreeMap;

/// Echo requests from one node to another.
#[derive(Debug)]
pub struct Ping {
    ends: FlowEnds,
    /// Payload bytes of each.
    len: u16,
    pace: PingPace,
    /// How many; None: as long as the flow lasts.
    packets: Option<u64>,
    identifier: u16,
    sent: u64,
    last: Instant,
    /// Those that have not been answered, by their sequence numbers.
    unanswered: BTreeMap<u16, TransferId>,
}

/// IPv4 and ICMP headers.
const HEADERS: u64 = 28;
/// What a flood waits for at most.
const FLOOD: Duration = Duration::from_millis(10);
/// What a flood waits for at least, between places without any distance.
const MIN: Duration = Duration::from_micros(1);
/// How long the last echo is awaited (iputils' ping: 10 s).
const LINGER: Duration = Duration::from_secs(10);
/// The timer of that; others bear the number of pings sent when they were set.
const END: u64 = 1 << 62;

impl Ping {
    /// Pings of `packet` bytes with their IP headers, as `pace` says.
    pub fn new(ends: FlowEnds, packet: u64, pace: PingPace, packets: Option<u64>) -> Ping {
        Ping {
            ends,
            len: packet.saturating_sub(HEADERS).min(u64::from(u16::MAX) - HEADERS) as u16,
            pace,
            packets,
            identifier: 0,
            sent: 0,
            last: Instant::ZERO,
            unanswered: BTreeMap::new(),
        }
    }

    fn ping(&mut self, net: &mut Net) {
        let now = net.now();
        if self.all_sent() {
            return;
        }
        self.last = now;
        let sequence = self.sent as u16;
        self.sent += 1;
        let FlowEnds { flow, from, to, .. } = self.ends;
        net.meters.sent(now, flow);
        let transfer = net.meters.begin(now, flow);
        if let Some(lost) = self.unanswered.insert(sequence, transfer) {
            net.meters.give_up(lost);
        }
        net.ping(from, to, self.identifier, sequence, self.len);
        match self.pace {
            _ if self.all_sent() => net.set_timer(now + LINGER, END),
            PingPace::Every(interval) => net.set_timer(now + interval, self.sent),
            PingPace::Flood => net.set_timer(now + FLOOD, self.sent),
        }
    }

    fn all_sent(&self) -> bool {
        self.packets.is_some_and(|packets| self.sent >= packets)
    }
}

impl Workload for Ping {
    fn start(&mut self, net: &mut Net) {
        self.identifier = net.echo_identifier(self.ends.from);
        if self.all_sent() {
            net.meters.finish(net.now(), self.ends.flow);
        }
        self.ping(net);
    }

    fn stop(&mut self, _net: &mut Net) {}

    fn on_timer(&mut self, net: &mut Net, mark: u64) {
        if mark == END {
            net.meters.finish(net.now(), self.ends.flow);
        } else if mark == self.sent {
            self.ping(net);
        }
    }

    fn on_echo(&mut self, net: &mut Net, at: Instant, echo: Echo) {
        let Some(transfer) = self.unanswered.remove(&echo.sequence) else { return };
        net.meters.complete(at, transfer, echo.len.into());
        net.meters.arrived(self.ends.flow, 0);
        if self.all_sent() {
            if self.unanswered.is_empty() {
                net.meters.finish(at, self.ends.flow);
            }
        } else if self.pace == PingPace::Flood {
            match self.last + MIN {
                next if next > at => net.set_timer(next, self.sent),
                _ => self.ping(net),
            }
        }
    }
}
