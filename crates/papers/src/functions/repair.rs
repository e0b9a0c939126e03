//! How each TCP repairs what slow start has overrun, and whether the link stays full: bbn,
//! section 8.

use super::Function;
use super::overshoot::{FACK, NEWRENO, Overshoot, RENO, RTT, SACK, TAHOE};
use crate::run::packets::{Packet, Packets};
use crate::run::{Number, Ran};
use bentpipe_lab::tables::Table;
use std::collections::BTreeSet;

/// By claim.
pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("B-8-c", queue_growth),
    ("B-8-d", stretched_round_trip),
    ("B-8-e", slow_or_wasteful),
    ("B-8-i", never_behind),
    ("B-8-j", always_full),
    ("B-8-k", idle_by_buffer),
];

type Numbers = Result<Vec<Number>, String>;

/// Bytes of data in a packet.
const DATA: u64 = 984;

/// Bits per second, and seconds for a packet.
const RATE: f64 = 1.5e6;
const PACKET_TIME: f64 = 1024.0 * 8.0 / RATE;

/// How long a packet waits and travels, beyond the way itself.
fn waited(packet: &Packet) -> Option<f64> {
    packet.arrived.map(|arrived| arrived - packet.at - RTT / 2.0)
}

/// The queue's growth by its wait: with twice the link's rate it grows as fast as the link sends.
fn queue_growth(ran: &Ran) -> Numbers {
    let overshoot = Overshoot::of(ran, TAHOE, 200)?;
    let before = &overshoot.packets.sent[..overshoot.first];
    let last = before.last().ok_or("nothing is sent before")?;
    let mut first = last;
    for packet in before.iter().rev() {
        match (waited(packet), waited(first)) {
            (Some(wait), Some(later)) if wait <= later && wait > 10.0 * PACKET_TIME => {
                first = packet;
            }
            _ => break,
        }
    }
    let waits = waited(last).zip(waited(first)).ok_or("a packet is lost")?;
    Ok(vec![Number::new("growth-200", (waits.0 - waits.1) / (last.at - first.at))])
}

fn stretched_round_trip(ran: &Ran) -> Numbers {
    let mut numbers = Vec::new();
    for buffer in [60, 200] {
        let overshoot = Overshoot::of(ran, TAHOE, buffer)?;
        let expected = RTT + f64::from(buffer) * PACKET_TIME;
        let last = overshoot.packets.sent[..overshoot.first].last().and_then(waited);
        let rtt = RTT + last.ok_or("nothing arrives before")?;
        let episode = overshoot.heard - overshoot.packets()[0].at;
        numbers.push(Number::new(format!("rtt-{buffer}"), rtt / expected));
        numbers.push(Number::new(format!("episode-{buffer}"), episode / expected));
    }
    Ok(numbers)
}

impl Overshoot {
    /// When all that was outstanding when the loss was heard of is acknowledged.
    fn repaired(&self) -> f64 {
        let edge = self.packets.sent[..self.end].iter().map(|p| p.seq + p.len).max();
        let edge = edge.unwrap_or_default();
        let whole = self.packets.acknowledged.iter().find(|(_, next)| *next >= edge);
        whole.map_or(f64::INFINITY, |(at, _)| *at)
    }

    /// Of the retransmissions until then, the share of those whose data had arrived.
    fn needless(&self) -> f64 {
        let repaired = self.repaired();
        let mut there = BTreeSet::new();
        let (mut all, mut needless) = (0, 0);
        for packet in self.packets.sent.iter().filter(|packet| packet.at <= repaired) {
            if packet.retransmitted {
                all += 1;
                needless += usize::from(there.contains(&packet.seq));
            }
            if packet.arrived.is_some() {
                there.insert(packet.seq);
            }
        }
        if all == 0 { 0.0 } else { needless as f64 / f64::from(all) }
    }
}

/// Three times as long as SACK, or four fifths of the retransmissions for nothing: whichever is
/// nearer.
fn slow_or_wasteful(ran: &Ran) -> Numbers {
    let mut numbers = Vec::new();
    for buffer in [20, 60] {
        let time = |overshoot: &Overshoot| overshoot.repaired() - overshoot.packets()[0].at;
        let sack = time(&Overshoot::of(ran, SACK, buffer)?);
        for (name, tcp) in [("tahoe", TAHOE), ("reno", RENO), ("newreno", NEWRENO)] {
            let overshoot = Overshoot::of(ran, tcp, buffer)?;
            let slow = time(&overshoot) / sack / 3.0;
            let wasteful = overshoot.needless() / 0.8;
            numbers.push(Number::new(format!("{name}-{buffer}"), slow.max(wasteful)));
        }
    }
    Ok(numbers)
}

/// How many packets acknowledgments are behind the line of the last second before, two seconds
/// after the repair. (That of a round trip, 91 packets, is one of them off at most, and ten seconds
/// later by twenty.) The window is halved too late and overruns the queue again: the repair is over
/// when the last hole of ten seconds is filled.
fn never_behind(ran: &Ran) -> Numbers {
    let overshoot = Overshoot::of(ran, FACK, 200)?;
    let next = |at: f64| {
        let until = overshoot.packets.acknowledged.iter().take_while(|ack| ack.0 <= at);
        until.map(|ack| ack.1).max().unwrap_or_default() as f64
    };
    let before = overshoot.heard;
    let acknowledged = overshoot.packets.acknowledged.windows(2);
    let filled = acknowledged.filter(|pair| pair[1].1 > pair[0].1 + 10 * DATA);
    let filled = filled.map(|pair| pair[1].0).take_while(|at| *at < before + 10.0).last();
    let after = filled.unwrap_or_else(|| overshoot.repaired()) + 2.0;
    let slope = next(before) - next(before - 1.0);
    let expected = next(before) + slope * (after - before);
    Ok(vec![Number::new("packet-times-late", (expected - next(after)) / DATA as f64)])
}

/// How long the link is idle between two times: gaps between arrivals beyond a packet's time.
fn idle(packets: &Packets, from: f64, to: f64) -> f64 {
    let arrivals: Vec<f64> = packets.sent.iter().filter_map(|packet| packet.arrived).collect();
    let gaps = arrivals.windows(2).filter(|pair| pair[1] > from && pair[1] <= to);
    gaps.map(|pair| (pair[1] - pair[0] - PACKET_TIME).max(0.0)).sum()
}

fn always_full(ran: &Ran) -> Numbers {
    let overshoot = Overshoot::of(ran, FACK, 200)?;
    let from = overshoot.packets()[0].at;
    Ok(vec![
        Number::new("idle-s", idle(&overshoot.packets, from, f64::INFINITY)),
        Number::new("duplicates", overshoot.packets.duplicates as f64),
    ])
}

/// The link in the twenty seconds after the first recovery, by the buffer; and over some cycles of
/// congestion avoidance.
fn idle_by_buffer(ran: &Ran) -> Numbers {
    let part = ran.part("fack")?;
    let (mut max_above, mut min_below) = (0.0_f64, f64::INFINITY);
    let mut utilisation = Vec::new();
    for point in &part.points {
        let buffer: f64 = point
            .value("link.sat.queue")
            .and_then(|queue| queue.trim_end_matches("packets").parse().ok())
            .ok_or("no buffer")?;
        let packets = Packets::new(part, point, 0, ("server", "client"))?;
        let overshoot = Overshoot::new(packets)?;
        let from = overshoot.repaired();
        let idle = idle(&overshoot.packets, from, from + 20.0);
        if buffer >= 100.0 {
            max_above = max_above.max(idle);
        } else if buffer <= 80.0 {
            min_below = min_below.min(idle);
        }
    }
    for point in &ran.part("fack-long")?.points {
        let rows = [("link", "sat"), ("from", "ground")];
        utilisation.push(point.column(Table::Links, &rows, "utilisation")?[0]);
    }
    let steps = utilisation.windows(2).map(|pair| pair[1] - pair[0]);
    Ok(vec![
        Number::new("idle-most-above-100-s", max_above),
        Number::new("idle-least-below-80-s", min_below),
        Number::new("least-step-of-utilisation", steps.fold(f64::INFINITY, f64::min)),
    ])
}
