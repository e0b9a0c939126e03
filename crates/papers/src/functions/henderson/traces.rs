//! Figures 4.14 to 4.18: what becomes of slow start's losses over 600 ms.

use super::testbed::GEO;
use super::{Function, Numbers, at};
use crate::run::packets::{Packet, Packets};
use crate::run::trace::series;
use crate::run::{Number, Ran};
use bentpipe_core::tcp::cause::Cause;
use std::collections::BTreeSet;

pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("H-4.14-a", overshoot),
    ("H-4.14-b", timeouts_of_reno),
    ("H-4.14-c", false_retransmits),
    ("H-4.16-a", burst),
    ("H-4.18-b", after_sack),
];

/// A transfer's packets, with the moment of the first fast retransmission.
struct Traced {
    packets: Packets,
    /// Its place among what was sent.
    first: usize,
}

impl Traced {
    fn of(ran: &Ran, name: &str) -> Result<Traced, String> {
        let part = ran.part(name)?;
        let packets = Packets::new(part, at(part, &[])?, 0, ("s", "d"))?;
        let fast = |packet: &Packet| packet.cause == Some(Cause::FastRetransmit);
        let first = packets.sent.iter().position(fast).ok_or("nothing was recovered")?;
        Ok(Traced { packets, first })
    }

    /// When it began.
    fn began(&self) -> f64 {
        self.packets.sent[self.first].at
    }

    /// When all is acknowledged that was sent before.
    fn ended(&self) -> Result<f64, String> {
        let before = self.packets.sent[..self.first].iter();
        let recover = before.map(|packet| packet.seq + packet.len).max().unwrap_or(0);
        let whole = self.packets.acknowledged.iter().find(|(_, next)| *next >= recover);
        Ok(whole.ok_or("it never recovers")?.0)
    }
}

/// The last sample up to a moment.
fn sampled(ran: &Ran, name: &str, quantity: &str, when: f64) -> Result<f64, String> {
    let part = ran.part(name)?;
    let samples = series(part, at(part, &[])?, "main", quantity)?;
    let before = samples.iter().take_while(|(at, _)| *at <= when).last();
    Ok(before.ok_or("nothing was recorded before")?.1)
}

/// Captures count from the transfer's beginning, series from the run's.
const BEGIN: f64 = 1.0;

fn overshoot(ran: &Ran) -> Numbers {
    let traced = Traced::of(ran, "reno")?;
    let first = traced.packets.lost().next().ok_or("nothing was lost")?.at;
    let lost = traced.packets.lost().filter(|packet| packet.at < traced.began()).count();
    Ok(vec![Number::new("first-drop-s", first), Number::new("drops", lost as f64)])
}

fn timeouts_of_reno(ran: &Ran) -> Numbers {
    let traced = Traced::of(ran, "reno")?;
    let later = traced.packets.sent[traced.first..].iter();
    let timeouts = later.filter(|packet| packet.cause == Some(Cause::Timeout)).count();
    Ok(vec![Number::new("timeouts", timeouts as f64)])
}

/// After the first timeout; and the threshold that is left, over the window before the first fast
/// retransmission.
fn false_retransmits(ran: &Ran) -> Numbers {
    let traced = Traced::of(ran, "reno")?;
    let sent = &traced.packets.sent;
    let late = sent.iter().position(|packet| packet.cause == Some(Cause::Timeout));
    let late = late.ok_or("there is no timeout")?;
    // False: an earlier copy has arrived, or is on its way and will.
    let mut whole = BTreeSet::new();
    let mut needless = 0;
    for (place, packet) in sent.iter().enumerate() {
        let fast = packet.cause == Some(Cause::FastRetransmit);
        needless += usize::from(place > late && fast && whole.contains(&packet.seq));
        if packet.arrived.is_some() {
            whole.insert(packet.seq);
        }
    }
    let window = sampled(ran, "reno", "cwnd", BEGIN + traced.began() - 0.1)?;
    let part = ran.part("reno")?;
    let thresholds = series(part, at(part, &[])?, "main", "ssthresh")?;
    let after = thresholds.iter().filter(|(at, _)| *at > BEGIN + traced.began());
    let left = after.map(|(_, bytes)| *bytes).fold(f64::INFINITY, f64::min);
    Ok(vec![
        Number::new("false-fast-retransmits", needless as f64),
        Number::new("threshold-to-window", left / window),
    ])
}

/// New segments within a tenth of a round trip after the end of the first recovery, and what is
/// lost of those of a round trip.
fn end_of_recovery(ran: &Ran, name: &str) -> Result<(usize, usize), String> {
    let traced = Traced::of(ran, name)?;
    let end = traced.ended()?;
    let within = |packet: &&Packet, time: f64| packet.at >= end && packet.at <= end + time;
    let sent = traced.packets.sent.iter();
    let burst = sent.filter(|packet| within(packet, GEO / 10.0) && !packet.retransmitted).count();
    let dropped = traced.packets.lost().filter(|packet| within(packet, GEO)).count();
    Ok((burst, dropped))
}

fn burst(ran: &Ran) -> Numbers {
    let (segments, dropped) = end_of_recovery(ran, "burst")?;
    let (correct_segments, correct_dropped) = end_of_recovery(ran, "newreno")?;
    Ok(vec![
        Number::new("burst-segments", segments as f64),
        Number::new("dropped", dropped as f64),
        Number::new("correct-burst-segments", correct_segments as f64),
        Number::new("correct-dropped", correct_dropped as f64),
    ])
}

/// The window after the recovery over that before it, and the longest time without an arrival after
/// it.
fn after_sack(ran: &Ran) -> Numbers {
    let traced = Traced::of(ran, "sack")?;
    let end = traced.ended()?;
    let before = sampled(ran, "sack", "cwnd", BEGIN + traced.began() - 0.1)?;
    let after = sampled(ran, "sack", "cwnd", BEGIN + end + 0.1)?;
    let mut arrivals: Vec<f64> = traced
        .packets
        .sent
        .iter()
        .filter_map(|packet| packet.arrived)
        .filter(|at| *at >= end)
        .collect();
    arrivals.sort_by(f64::total_cmp);
    let silence = arrivals.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
    Ok(vec![Number::new("window-kept", after / before), Number::new("longest-silence-s", silence)])
}
