//! bbn's Internet Draft: starting with four packets into a modem with three buffers.

use super::Function;
use crate::run::packets::Packets;
use crate::run::{Number, Ran};
use bentpipe_core::tcp::cause::Cause;

/// By claim.
pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("B-4PKT-1", one_packet_start),
    ("B-4PKT-2", four_packet_start),
    ("B-4PKT-3", same_from_then_on),
    ("B-10-a", same_packets_and_losses),
    ("B-4PKT-5", lead),
    ("B-4PKT-6", leads_of_all),
    ("B-4PKT-7", drops),
    ("B-4PKT-9", drift),
    ("B-4PKT-10", deliveries),
];

type Numbers = Result<Vec<Number>, String>;

/// Bytes of data in a packet.
const DATA: u64 = 960;
/// A packet at the modem, in seconds.
const PACKET_TIME: f64 = 8000.0 / 9600.0;
const TAHOE: &str = "recovery=tahoe,sack=off";
const VARIANTS: [&str; 4] =
    [TAHOE, "recovery=reno,sack=off", "recovery=sack", "recovery=fack-abrupt"];

/// The draft's printed acknowledgments: when, in seconds, and of which packet. Its 6.111 stands
/// here as 6.611.
const ONE: [(f64, u64); 9] = [
    (1.222, 1),
    (2.444, 2),
    (3.278, 3),
    (4.111, 4),
    (4.944, 5),
    (5.778, 6),
    (6.611, 6),
    (7.444, 6),
    (8.278, 6),
];
const FOUR: [(f64, u64); 6] =
    [(1.222, 1), (2.055, 2), (2.889, 3), (3.722, 3), (4.555, 3), (5.389, 3)];

fn packets(ran: &Ran, recovery: &str, window: &str) -> Result<Packets, String> {
    let part = ran.part("start")?;
    let at = [("flow.main.tcp", recovery), ("host.server.tcp.iw", window)];
    let point = part.point(&at)?;
    Packets::new(part, point, 0, ("server", "client"))
}

/// Acknowledgments, with the number of the last packet that each has.
fn acknowledged(packets: &Packets) -> Vec<(f64, u64)> {
    packets.acknowledged.iter().map(|&(at, next)| (at, next / DATA)).collect()
}

fn max_off_by(packets: &Packets, printed: &[(f64, u64)]) -> f64 {
    let found = acknowledged(packets);
    let off = printed.iter().enumerate().map(|(index, (at, packet))| match found.get(index) {
        Some((when, of)) if of == packet => (when - at).abs(),
        _ => f64::INFINITY,
    });
    off.fold(0.0, f64::max)
}

/// The retransmission is in the trace, too, at the third duplicate.
fn start(ran: &Ran, window: &str, printed: &[(f64, u64)]) -> Numbers {
    let packets = packets(ran, TAHOE, window)?;
    let third = printed.last().map_or(0.0, |(at, _)| *at);
    let again = packets.sent.iter().find(|packet| packet.retransmitted);
    let again = again.map_or(f64::INFINITY, |packet| (packet.at - third).abs());
    Ok(vec![Number::new("most-off-s", max_off_by(&packets, printed).max(again))])
}

fn one_packet_start(ran: &Ran) -> Numbers {
    start(ran, "1", &ONE)
}

fn four_packet_start(ran: &Ran) -> Numbers {
    start(ran, "4", &FOUR)
}

/// When the first retransmission leaves: at the third duplicate acknowledgment.
fn third_duplicate(packets: &Packets) -> Result<f64, String> {
    let again = packets.sent.iter().find(|packet| packet.retransmitted);
    again.map(|packet| packet.at).ok_or_else(|| "nothing is retransmitted".to_owned())
}

/// A packet that leaves after the third duplicate acknowledgment.
struct Later {
    /// Behind that, in seconds.
    after: f64,
    /// Its number; of the four-packet start three more, as the traces are so many apart.
    number: u64,
    lost: bool,
    timeout: bool,
}

/// What leaves in thirty seconds from then on, of both starts.
fn later(ran: &Ran, recovery: &str) -> Result<[Vec<Later>; 2], String> {
    let of = |window: &str, apart: u64| {
        let packets = packets(ran, recovery, window)?;
        let third = third_duplicate(&packets)?;
        let within = |at: f64| (third..third + 30.0).contains(&at);
        let sent = packets.sent.iter().filter(|packet| within(packet.at));
        let later = sent.map(|packet| Later {
            after: packet.at - third,
            number: packet.seq / DATA + 1 + apart,
            lost: packet.arrived.is_none(),
            timeout: packet.cause == Some(Cause::Timeout),
        });
        Ok::<_, String>(later.collect::<Vec<_>>())
    };
    Ok([of("1", 0)?, of("4", 3)?])
}

/// By how much the times of the same packets are not the printed 2.889 s apart; it is without bound
/// if other packets leave.
fn same_from_then_on(ran: &Ran) -> Numbers {
    const SHIFT: f64 = 2.889;
    let [one, four] = later(ran, TAHOE)?;
    let third = |window| third_duplicate(&packets(ran, TAHOE, window)?);
    let shifted = third("1")? - third("4")? - SHIFT;
    let same = !one.is_empty()
        && one.len().abs_diff(four.len()) <= 1
        && one.iter().zip(&four).all(|(one, four)| one.number == four.number);
    let off = one.iter().zip(&four).map(|(one, four)| (one.after - four.after + shifted).abs());
    let off = if same { off.fold(0.0, f64::max) } else { f64::INFINITY };
    Ok(vec![Number::new("most-off-s", off)])
}

/// Packet for packet: which one it is, and whether it is lost.
fn same_packets_and_losses(ran: &Ran) -> Numbers {
    let [one, four] = later(ran, TAHOE)?;
    let differ = one
        .iter()
        .zip(&four)
        .filter(|(one, four)| (one.number, one.lost) != (four.number, four.lost));
    Ok(vec![
        Number::new("packets-that-differ", differ.count() as f64),
        Number::new("packets", one.len().min(four.len()) as f64),
    ])
}

/// Of all variants whose timer expires later in both starts: by how much more the two differ when
/// it does so first.
fn drift(ran: &Ran) -> Numbers {
    let mut drifts = Vec::new();
    for recovery in VARIANTS {
        let both = later(ran, recovery)?;
        let first = both.map(|sent| sent.into_iter().find(|later| later.timeout));
        if let [Some(one), Some(four)] = first {
            drifts.push((one.after - four.after).abs());
        }
    }
    Ok(vec![
        Number::new("variants-with-timeouts", drifts.len() as f64),
        Number::new("most-drift-s", drifts.into_iter().fold(0.0, f64::max)),
    ])
}

/// By how much a packet is earlier with four packets at first: the traces' shift, less three
/// packets at the modem.
fn lead_of(ran: &Ran, recovery: &str) -> Result<f64, String> {
    let (one, four) = (packets(ran, recovery, "1")?, packets(ran, recovery, "4")?);
    Ok(third_duplicate(&one)? - third_duplicate(&four)? - 3.0 * PACKET_TIME)
}

/// The draft takes three packets of 1064 bytes from a shift of packets of 1000.
fn lead(ran: &Ran) -> Numbers {
    let printed = 2.889 - (3.0_f64 * 8.0 * 1064.0 / 9600.0 * 100.0).round() / 100.0;
    Ok(vec![Number::new("printed-s", printed), Number::new("simulated-s", lead_of(ran, TAHOE)?)])
}

fn leads_of_all(ran: &Ran) -> Numbers {
    let leads = VARIANTS.map(|recovery| lead_of(ran, recovery));
    let leads = leads.into_iter().collect::<Result<Vec<_>, _>>()?;
    let (least, most) = leads.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), lead| {
        (least.min(*lead), most.max(lead.abs()))
    });
    Ok(vec![
        Number::new("least-lead-s", least),
        Number::new("most-lead-packets", most / PACKET_TIME),
    ])
}

fn drops(ran: &Ran) -> Numbers {
    let mut differ = 0;
    for (window, expected) in [("1", [7, 9, 11, 13]), ("4", [4, 6, 8, 10])] {
        let packets = packets(ran, TAHOE, window)?;
        let lost: Vec<u64> =
            packets.lost().map(|packet| packet.seq / DATA + 1).take(expected.len()).collect();
        differ += expected.iter().zip(&lost).filter(|(a, b)| a != b).count();
        differ += expected.len() - lost.len();
    }
    Ok(vec![Number::new("drops-that-differ", differ as f64)])
}

/// When each packet from the 10th to the 100th was first there, of all variants: four packets at
/// first less one.
fn deliveries(ran: &Ran) -> Numbers {
    let mut later = Vec::new();
    for recovery in VARIANTS {
        let [one, four] = [packets(ran, recovery, "1")?, packets(ran, recovery, "4")?];
        let when = |packets: &Packets, number: u64| {
            let copies = packets.sent.iter().filter(|packet| packet.seq / DATA + 1 == number);
            copies.filter_map(|packet| packet.arrived).reduce(f64::min)
        };
        for number in 10..=100 {
            let there = when(&four, number).zip(when(&one, number));
            let (four, one) = there.ok_or_else(|| format!("packet {number} does not arrive"))?;
            later.push(four - one);
        }
    }
    Ok(vec![
        Number::new("latest-s", later.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        Number::new("mean-s", later.iter().sum::<f64>() / later.len() as f64),
    ])
}
