//! bbn's Internet Draft: starting with four packets into a modem with three buffers.

use super::Function;
use crate::run::packets::Packets;
use crate::run::{Number, Ran};

/// By claim.
pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("B-4PKT-1", one_packet_start),
    ("B-4PKT-2", four_packet_start),
    ("B-4PKT-3", same_from_then_on),
    ("B-10-a", same_from_then_on),
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

/// What leaves from the third duplicate acknowledgment on, of both starts, side by side: by how
/// much the times differ from the shift, and whether the packets do.
fn side_by_side(ran: &Ran) -> Result<(Vec<(f64, bool)>, bool), String> {
    let (one, four) = (packets(ran, TAHOE, "1")?, packets(ran, TAHOE, "4")?);
    let shift = third_duplicate(&one)? - third_duplicate(&four)?;
    let after = |packets: &Packets, at: f64| {
        let events = packets.sent.iter().map(|packet| (packet.at, packet.seq / DATA + 1));
        let events = events.filter(|(when, _)| (at..at + 30.0).contains(when));
        events.collect::<Vec<_>>()
    };
    let one = after(&one, third_duplicate(&one)?);
    let four = after(&four, third_duplicate(&four)?);
    let both = one.iter().zip(&four);
    let both = both.map(|((at, packet), (other, other_packet))| {
        ((at - other - shift).abs(), *packet == other_packet + 3)
    });
    let whole = one.len().abs_diff(four.len()) <= 1 && !one.is_empty();
    Ok((both.collect(), whole))
}

fn same_from_then_on(ran: &Ran) -> Numbers {
    let (both, whole) = side_by_side(ran)?;
    let same = whole && both.iter().all(|(_, same)| *same);
    let off = both.iter().map(|(off, _)| *off).fold(0.0, f64::max);
    Ok(vec![Number::new("most-off-s", if same { off } else { f64::INFINITY })])
}

/// As long as the same packets leave.
fn drift(ran: &Ran) -> Numbers {
    let (both, _) = side_by_side(ran)?;
    let same = both.iter().take_while(|(_, same)| *same);
    Ok(vec![Number::new("most-drift-s", same.map(|(off, _)| *off).fold(0.0, f64::max))])
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
