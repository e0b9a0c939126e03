//! Datagrams without feedback: evenly at a rate, in bursts, or as a Poisson process.

use super::{AGAIN, FlowEnds, Workload};
use crate::simulation::{Net, Socket};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_links::{Distribution, RandomTime};
use bentpipe_scenario::Arrivals;
use rand_pcg::Pcg64Mcg;

/// A flow of datagrams.
#[derive(Debug)]
pub struct Udp {
    ends: FlowEnds,
    arrivals: Arrivals,
    /// IP length of each.
    packet: u64,
    rng: UdpRng,
    socket: Option<Socket>,
    began: Instant,
    sent: u64,
    /// Of on-off: when the burst ends, and how long of the next one until the next datagram. So
    /// the mean rate is exact, however short the bursts are.
    on_until: Instant,
    left: Duration,
}

/// The flow's random numbers.
#[derive(Debug)]
pub struct UdpRng {
    /// Of a Poisson process.
    pub arrival: Pcg64Mcg,
    /// Of the bursts' lengths.
    pub on: Pcg64Mcg,
    /// Of the pauses between them.
    pub off: Pcg64Mcg,
}

/// IPv4 and UDP headers.
const HEADERS: u64 = 28;
/// The timer of the next burst.
const BURST: u64 = AGAIN + 1;

impl Udp {
    /// Datagrams that come as `arrivals` says, of `packet` bytes with their IP headers.
    pub fn new(ends: FlowEnds, arrivals: Arrivals, packet: u64, rng: UdpRng) -> Udp {
        let (began, left) = (Instant::ZERO, Duration::ZERO);
        Udp { ends, arrivals, packet, rng, socket: None, began, sent: 0, on_until: began, left }
    }

    fn send(&mut self, net: &mut Net) {
        let Some(socket) = self.socket else { return };
        self.sent += 1;
        net.meters.sent(net.now(), self.ends.flow);
        let len = self.packet.saturating_sub(HEADERS).min(u64::from(u16::MAX) - HEADERS);
        net.datagram(socket, len as u16);
    }

    /// Sets the timer of the next datagram.
    fn await_next(&mut self, net: &mut Net) {
        let now = net.now();
        let min = Duration::from_nanos(1);
        match &self.arrivals {
            // From the beginning on: the rounding of one interval does not add up.
            Arrivals::Constant(rate) => {
                let at = self.began + rate.time_for(self.packet.saturating_mul(self.sent));
                net.set_timer(at.max(now + min), AGAIN);
            }
            Arrivals::Poisson(rate) => {
                let mean = self.packet as f64 * 8.0 / rate.bits_per_sec() as f64;
                let between = RandomTime(Distribution::Exponential(mean));
                net.set_timer(now + between.sample(&mut self.rng.arrival), AGAIN);
            }
            Arrivals::OnOff { rate, .. } => {
                let interval = rate.time_for(self.packet).max(min);
                self.in_burst(net, now + interval);
            }
        }
    }

    /// Sends at `at` if the burst lasts so long.
    fn in_burst(&mut self, net: &mut Net, at: Instant) {
        let Arrivals::OnOff { off, .. } = &self.arrivals else { return };
        if at < self.on_until {
            net.set_timer(at, AGAIN);
        } else {
            self.left = at.saturating_since(self.on_until);
            net.set_timer(self.on_until + off.sample(&mut self.rng.off), BURST);
        }
    }

    fn burst(&mut self, net: &mut Net) {
        let Arrivals::OnOff { on, .. } = &self.arrivals else { return };
        self.on_until = net.now() + on.sample(&mut self.rng.on);
        self.in_burst(net, net.now() + self.left);
    }
}

impl Workload for Udp {
    fn start(&mut self, net: &mut Net) {
        self.socket = Some(net.socket(self.ends.from, self.ends.to));
        self.began = net.now();
        match self.arrivals {
            Arrivals::Constant(_) => {
                self.send(net);
                self.await_next(net);
            }
            Arrivals::Poisson(_) => self.await_next(net),
            Arrivals::OnOff { .. } => self.burst(net),
        }
    }

    fn stop(&mut self, _net: &mut Net) {}

    fn on_timer(&mut self, net: &mut Net, mark: u64) {
        if mark == BURST {
            return self.burst(net);
        }
        self.send(net);
        self.await_next(net);
    }

    fn on_datagram(&mut self, net: &mut Net, _socket: Socket, len: u16) {
        net.meters.arrived(self.ends.flow, len.into());
    }
}
