//! bbn's buffer study: what slow start overruns, and how it is repaired.

use super::Function;
use crate::run::packets::{Packet, Packets};
use crate::run::trace::Trace;
use crate::run::{Number, Ran};

/// By claim.
pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("B-3-a", bursts),
    ("B-8-a", alternate_drops),
    ("B-8-b", doubling),
    ("B-8-f", repaired_by_tahoe),
    ("B-8-g", repaired_by_newreno),
    ("B-8-h", repaired_by_sack),
    ("B-EM-1", last_round_trip),
    ("B-EM-2", windows),
    ("B-EM-5", windows_by_buffer),
];

type Numbers = Result<Vec<Number>, String>;

/// Bytes of data in a packet.
const DATA: u64 = 984;
/// The round trip of an empty path, in seconds, and the packets that it holds.
pub(super) const RTT: f64 = 0.5;
const PATH: f64 = 1.5e6 * RTT / (8.0 * 1024.0);
pub(super) const TAHOE: &str = "recovery=tahoe,sack=off";
pub(super) const RENO: &str = "recovery=reno,sack=off";
pub(super) const NEWRENO: &str = "recovery=newreno,sack=off";
pub(super) const SACK: &str = "recovery=sack";
pub(super) const FACK: &str = "recovery=fack-abrupt";

/// The end of slow start: from the first drop until the sender hears of it.
pub(super) struct Overshoot {
    pub(super) packets: Packets,
    /// Of the first packet that was dropped, in `packets.sent`.
    pub(super) first: usize,
    /// One past the last that left before the first duplicate acknowledgment.
    pub(super) end: usize,
    /// When that came, in seconds.
    pub(super) heard: f64,
}

impl Overshoot {
    pub(super) fn new(packets: Packets) -> Result<Overshoot, String> {
        let first = packets.sent.iter().position(|packet| packet.arrived.is_none());
        let first = first.ok_or("nothing is dropped")?;
        let duplicate = packets.acknowledged.windows(2).find(|pair| pair[0].1 == pair[1].1);
        let heard =
            duplicate.map(|pair| pair[1].0).ok_or("there is no duplicate acknowledgment")?;
        let end = packets.sent.iter().take_while(|packet| packet.at < heard).count();
        Ok(Overshoot { packets, first, end, heard })
    }

    /// The figure `ran`'s scenario `packets` at this point.
    pub(super) fn of(ran: &Ran, tcp: &str, buffer: u32) -> Result<Overshoot, String> {
        packets(ran, tcp, buffer).and_then(Overshoot::new)
    }

    /// The e-mails' path of 90 packets.
    fn of_ninety(ran: &Ran, buffer: u32) -> Result<Overshoot, String> {
        let part = ran.part("ninety")?;
        let buffer = format!("{buffer}packets");
        let point = part.point(&[("link.sat.queue", &buffer)])?;
        Packets::new(part, point, 0, ("server", "client")).and_then(Overshoot::new)
    }

    pub(super) fn packets(&self) -> &[Packet] {
        &self.packets.sent[self.first..self.end]
    }

    /// What left in the last round trip of an empty path.
    fn last_round_trip(&self) -> impl Iterator<Item = &Packet> {
        let from = self.heard - RTT;
        self.packets.sent[..self.end].iter().filter(move |packet| packet.at >= from)
    }

    /// Of runs of drops one after the other, the share of single ones.
    fn single_drops(&self) -> f64 {
        let (mut runs, mut single, mut length) = (0, 0, 0);
        let lost = self.packets().iter().map(|packet| packet.arrived.is_none());
        for lost in lost.chain([false]) {
            if lost {
                length += 1;
            } else if length > 0 {
                runs += 1;
                single += usize::from(length == 1);
                length = 0;
            }
        }
        single as f64 / f64::from(runs)
    }

    /// Packets outstanding when the packet of this index has left.
    fn window(&self, index: usize) -> f64 {
        let packet = &self.packets.sent[index];
        let until = |ack: &&(f64, u64)| ack.0 <= packet.at;
        let acknowledged = self.packets.acknowledged.iter().take_while(until);
        let acknowledged = acknowledged.map(|ack| ack.1).max().unwrap_or_default();
        ((packet.seq + packet.len - acknowledged) / DATA) as f64
    }
}

fn dropped<'a>(packets: impl Iterator<Item = &'a Packet>) -> usize {
    packets.filter(|packet| packet.arrived.is_none()).count()
}

fn packets(ran: &Ran, tcp: &str, buffer: u32) -> Result<Packets, String> {
    let part = ran.part("packets")?;
    let buffer = format!("{buffer}packets");
    let point = part.point(&[("flow.main.tcp", tcp), ("link.sat.queue", &buffer)])?;
    Packets::new(part, point, 0, ("server", "client"))
}

/// Where a packet takes whole nanoseconds: see the figure's `chosen`.
fn whole_nanoseconds(ran: &Ran, buffer: u32) -> Result<Overshoot, String> {
    let part = ran.part("whole-nanoseconds")?;
    let point = part.point(&[("link.sat.queue", &format!("{buffer}packets"))])?;
    Packets::new(part, point, 0, ("server", "client")).and_then(Overshoot::new)
}

fn alternate_drops(ran: &Ran) -> Numbers {
    let large = Overshoot::of(ran, TAHOE, 200)?;
    let share = dropped(large.packets().iter()) as f64 / large.packets().len() as f64;
    let mut numbers = vec![Number::new("dropped-200", share)];
    for buffer in [200, 60, 20, 6] {
        let overshoot = if buffer < 60 {
            whole_nanoseconds(ran, buffer)
        } else {
            Overshoot::of(ran, TAHOE, buffer)
        };
        let single = overshoot?.single_drops();
        numbers.push(Number::new(format!("single-drops-{buffer}"), single));
    }
    Ok(numbers)
}

fn doubling(ran: &Ran) -> Numbers {
    let mut numbers = Vec::new();
    for buffer in [60, 200] {
        let sent = Overshoot::of(ran, TAHOE, buffer)?.last_round_trip().count();
        numbers.push(Number::new(format!("sent-{buffer}-bdp"), sent as f64 / PATH));
    }
    for buffer in [20, 6] {
        let overshoot = Overshoot::of(ran, TAHOE, buffer)?;
        let from = overshoot.packets()[0].at;
        let times = from..overshoot.heard;
        let acknowledged = overshoot.packets.acknowledged.iter();
        let acknowledged = acknowledged.filter(|(at, _)| times.contains(at)).count();
        let sent = overshoot.packets().len() as f64 / acknowledged as f64;
        numbers.push(Number::new(format!("sent-for-an-ack-{buffer}"), sent));
    }
    Ok(numbers)
}

fn repaired_by_tahoe(ran: &Ran) -> Numbers {
    let overshoot = Overshoot::of(ran, TAHOE, 200)?;
    let (sent, later) = (overshoot.packets(), &overshoot.packets.sent[overshoot.end..]);
    let again: std::collections::BTreeSet<u64> = later.iter().map(|packet| packet.seq).collect();
    let repeated = sent.iter().filter(|packet| again.contains(&packet.seq)).count();
    Ok(vec![
        Number::new("retransmitted", repeated as f64 / sent.len() as f64),
        Number::new("dropped", dropped(sent.iter()) as f64 / sent.len() as f64),
    ])
}

/// The first recovery with 6 packets of buffer, which lengthen a round trip least: from the first
/// retransmission until all that was lost is repaired.
fn repaired_by_newreno(ran: &Ran) -> Numbers {
    let overshoot = Overshoot::of(ran, NEWRENO, 6)?;
    let lost: Vec<u64> =
        overshoot.packets().iter().filter(|p| p.arrived.is_none()).map(|p| p.seq).collect();
    let later = &overshoot.packets.sent[overshoot.end..];
    let repairs: Vec<f64> = lost
        .iter()
        .filter_map(|seq| later.iter().find(|packet| packet.seq == *seq).map(|packet| packet.at))
        .collect();
    let spacing: Vec<f64> = repairs.windows(2).map(|pair| (pair[1] - pair[0]) / RTT).collect();
    let span = repairs.last().zip(repairs.first()).map_or(0.0, |(last, first)| last - first);
    let rounds = span / RTT + 1.0;
    Ok(vec![
        Number::new("least-spacing-rtt", spacing.iter().copied().fold(f64::INFINITY, f64::min)),
        Number::new("most-spacing-rtt", spacing.iter().copied().fold(0.0, f64::max)),
        Number::new("rounds-less-losses", rounds - lost.len() as f64),
    ])
}

/// Packets that arrived and had been there: retransmissions that nobody needed.
fn repaired_by_sack(ran: &Ran) -> Numbers {
    let mut numbers = Vec::new();
    for (name, tcp) in [("sack", SACK), ("fack", FACK)] {
        for buffer in [6, 20, 60, 200] {
            let needless = packets(ran, tcp, buffer)?.duplicates;
            numbers.push(Number::new(format!("{name}-{buffer}"), needless as f64));
        }
    }
    Ok(numbers)
}

fn last_round_trip(ran: &Ran) -> Numbers {
    let overshoot = Overshoot::of_ninety(ran, 90)?;
    Ok(vec![
        Number::new("dropped-in-last-round-trip", dropped(overshoot.last_round_trip()) as f64),
        Number::new("sent-in-last-round-trip", overshoot.last_round_trip().count() as f64),
        Number::new("dropped-in-episode", dropped(overshoot.packets().iter()) as f64),
        Number::new("sent-in-episode", overshoot.packets().len() as f64),
    ])
}

fn windows(ran: &Ran) -> Numbers {
    let overshoot = Overshoot::of_ninety(ran, 90)?;
    Ok(vec![
        Number::new("cwnd-at-drop", overshoot.window(overshoot.first)),
        Number::new("cwnd-at-detection", overshoot.window(overshoot.end - 1)),
    ])
}

fn windows_by_buffer(ran: &Ran) -> Numbers {
    let mut numbers = Vec::new();
    for buffer in [6, 20, 45, 60, 90, 200] {
        let overshoot = Overshoot::of_ninety(ran, buffer)?;
        numbers.push(Number::new(format!("cwnd-{buffer}"), overshoot.window(overshoot.first)));
    }
    Ok(numbers)
}

/// Of the satellite's transfer from the tenth second on: packets with less than a tenth of a second
/// between them.
fn bursts(ran: &Ran) -> Numbers {
    let part = ran.part("sequence")?;
    let point = part.point(&[("link.sat.delay", "250ms")])?;
    let trace = Trace::new(part, point, "main")?;
    let mut bursts: Vec<(f64, usize)> = Vec::new();
    let mut last = f64::NEG_INFINITY;
    for sent in trace.sent.iter().filter(|sent| sent.at > 10.0) {
        match bursts.last_mut() {
            Some(burst) if sent.at - last < 0.1 => burst.1 += 1,
            _ => bursts.push((sent.at, 1)),
        }
        last = sent.at;
    }
    // The first and the last may be cut.
    let whole = bursts.get(1..bursts.len().saturating_sub(1)).unwrap_or_default();
    let spacing: Vec<f64> = whole.windows(2).map(|pair| (pair[1].0 - pair[0].0) / RTT).collect();
    let packets: usize = whole.iter().map(|(_, packets)| packets).sum();
    Ok(vec![
        Number::new("packets-of-a-burst", packets as f64 / whole.len() as f64),
        Number::new("least-spacing-rtt", spacing.iter().copied().fold(f64::INFINITY, f64::min)),
        Number::new("most-spacing-rtt", spacing.iter().copied().fold(0.0, f64::max)),
    ])
}
