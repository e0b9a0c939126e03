//! Single transfers with a gateway at each end: sizes, losses, fades, other links.

use super::{GEO_RATE, Size, geo, payload_rate, percent, told, told_geo};
use crate::satellite::case::{Case, Column, Figures, Seeds};
use crate::satellite::limit::{Limit, Opening, PACKET};
use crate::satellite::setup::{BOTH_WAYS, DOWNLOAD, FAR_SERVER, Setup};
use crate::satellite::target::{Figure, Target};
use bentpipe_core::link::{GilbertElliott, LossKind, States, loss_probability};
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Probability, Rate};

pub(super) fn all(long: bool) -> Vec<Case> {
    let mut cases = without_loss();
    cases.extend(packet_loss());
    cases.extend(bursts());
    cases.push(fade());
    cases.extend(leo());
    cases.extend(bit_errors());
    cases.push(both_ways());
    cases.extend(fast(long));
    cases.push(far_server());
    cases
}

/// The column with a known link is at most `factor` times the limit.
fn known(factor: f64) -> Target {
    Target::times(Figure::Known, factor, Figure::Limit)
}

/// With nothing configured at most 1.4 times the limit, and not slower than BBR end to end.
fn unknown_with_loss(case: Case) -> Case {
    case.target(Target::times(Figure::Estimated, 1.4, Figure::Limit)).target(Target::times(
        Figure::Estimated,
        1.0,
        Figure::EndToEndBbr,
    ))
}

/// Where nothing is lost, gateways that know nothing are not to become slower than they were when
/// this table was first made: 1.011, 2.065, 4.131 and 13.454 s, and a hundredth for rounding.
fn without_loss() -> Vec<Case> {
    let before =
        [(Size::KB_10, 1.021), (Size::KB_100, 2.086), (Size::MB_1, 4.172), (Size::MB_10, 13.589)];
    let cases = before.into_iter().map(|(size, seconds)| {
        let (setup, limit) = geo(size);
        Case::new(format!("{} without loss", size.name), Seeds::One)
            .limit(limit)
            .all_columns(&setup, &told_geo())
            .target(known(1.05))
            .target(Target::at_most(Figure::Estimated, seconds))
    });
    cases.collect()
}

/// Packets of either direction, acknowledgments too, are lost independently.
fn packet_loss() -> Vec<Case> {
    let mut cases = Vec::new();
    for (size, factors) in
        [(Size::MB_2, [1.05, 1.08, 1.12, 1.20]), (Size::MB_10, [1.03, 1.03, 1.05, 1.10])]
    {
        for (loss, factor) in [0.1, 1.0, 2.0, 5.0].into_iter().zip(factors) {
            let (text, probability) = percent(loss);
            let (setup, limit) = geo(size);
            let case = Case::new(format!("{}, packet loss {text}", size.name), Seeds::All)
                .limit(Limit { loss: probability.into(), ..limit })
                .all_columns(&setup.with("link.sat.loss", text), &told_geo())
                .target(known(factor));
            cases.push(if loss <= 2.0 { unknown_with_loss(case) } else { case });
        }
    }
    cases
}

/// As many losses as with 1 %, but ten in a row on average. A tenth more than there is allowed.
///
/// Bursts are in time: where states change with each packet, a lone SYN or probe that meets a bad
/// one meets it again whenever it is retransmitted, ten times on average, and one connection in a
/// hundred breaks. A full-sized packet takes 1.5 ms and is lost if the state is bad at any moment
/// of that: so 13.5 ms of it lose ten packets.
const BURSTS: GilbertElliott = GilbertElliott {
    states: States::InTime {
        good: Duration::from_micros(1_486_500),
        bad: Duration::from_micros(13_500),
    },
    k: Probability::ONE,
    h: Probability::ZERO,
};

fn bursts() -> Vec<Case> {
    let text = "{ mean-good = \"1486.5ms\", mean-bad = \"13.5ms\" }";
    let cases = [(Size::MB_2, 1.18), (Size::MB_10, 1.13)].into_iter().map(|(size, factor)| {
        let (setup, limit) = geo(size);
        Case::new(format!("{}, bursts of 10 packets, 1%", size.name), Seeds::All)
            .limit(Limit { loss: LossKind::GilbertElliott(BURSTS), ..limit })
            .all_columns(&setup.with("link.sat.gilbert-elliott", text), &told_geo())
            .target(known(factor))
            .target(Target::times(Figure::Estimated, 1.5, Figure::Limit))
    });
    cases.collect()
}

/// For 2 s nothing passes in either direction.
fn fade() -> Case {
    let (setup, limit) = geo(Size::MB_10);
    let outages = "[{ at = \"4s\", lasting = \"2s\" }]";
    Case::new("10 MB, fade of 2 s", Seeds::One)
        .limit(Limit { silence: Duration::from_secs(2), ..limit })
        .all_columns(&setup.with("link.sat.outages", outages), &told_geo())
        .target(known(1.10))
}

/// 50 MB over 100 Mbit/s and 40 ms.
fn leo() -> Vec<Case> {
    let (rate, round_trip) = (Rate::from_bits_per_sec(100_000_000), Duration::from_millis(40));
    let cases = [0.1, 0.5, 1.0].into_iter().map(|loss| {
        let (text, probability) = percent(loss);
        let limit = Limit::of(rate, round_trip, Size::MB_50.bytes, Opening::Receiver);
        let setup = Setup::of(DOWNLOAD)
            .with("flow.transfer.bytes", Size::MB_50.text())
            .with("link.sat.rate", "100Mbit/s")
            .with("link.sat.delay", "20ms")
            .with("link.sat.loss", text.clone());
        Case::new(format!("LEO, 50 MB, loss {text}"), Seeds::Tenth)
            .limit(Limit { loss: probability.into(), ..limit })
            .all_columns(&setup, &told("100Mbit/s", "40ms"))
            .target(known(1.05))
    });
    cases.collect()
}

/// Bits are wrong independently; one loses its packet.
fn bit_errors() -> Vec<Case> {
    let cases = [(1e-7, 0.97), (1e-6, 0.95), (1e-5, 0.90)].into_iter().map(|(errors, share)| {
        let bit_errors = Probability::new(errors).expect("few bits are wrong");
        let lost = loss_probability(Probability::ZERO, bit_errors, PACKET);
        let (setup, limit) = geo(Size::MB_100);
        Case::new(format!("100 MB, bit errors {errors:e}"), Seeds::Hundredth)
            .limit(Limit { bit_errors, ..limit })
            .all_columns(&setup.with("link.sat.bit-errors", format!("{errors:e}")), &told_geo())
            .figures(Column::Known, Figures::Goodput(payload_rate(GEO_RATE) * (1.0 - lost)))
            .target(Target::at_least(Figure::GoodputShare, share))
    });
    cases.collect()
}

/// 2 MB in each direction at once, over 10 Mbit/s and 200 ms.
fn both_ways() -> Case {
    let (text, probability) = percent(2.0);
    let (rate, round_trip) = (Rate::from_bits_per_sec(10_000_000), Duration::from_millis(200));
    let bytes = Size::MB_2.bytes;
    let limit = Limit {
        loss: probability.into(),
        transfers: vec![(bytes, Opening::Receiver), (bytes, Opening::Sender)],
        ..Limit::of(rate, round_trip, bytes, Opening::Receiver)
    };
    Case::new(format!("2 MB both ways at once, loss {text}"), Seeds::All)
        .limit(limit)
        .all_columns(&Setup::of(BOTH_WAYS).with("link.sat.loss", text), &told("10Mbit/s", "200ms"))
        .target(known(1.3))
}

/// Links that need more than the usual buffers, with gateways of which is configured nothing but
/// the link.
fn fast(long: bool) -> Vec<Case> {
    let sizes = [Size::MB_100, Size::GB_1];
    let sizes = &sizes[..if long { 2 } else { 1 }];
    let cases = sizes.iter().flat_map(|size| {
        [100, 400].map(|mbit| {
            let rate = Rate::from_bits_per_sec(mbit * 1_000_000);
            let round_trip = Duration::from_millis(600);
            let setup = Setup::of(DOWNLOAD)
                .with("flow.transfer.bytes", size.text())
                .with("link.sat.rate", format!("{mbit}Mbit/s"))
                .with("link.sat.delay", "300ms");
            Case::new(format!("{} over {mbit} Mbit/s and 600 ms", size.name), Seeds::One)
                .limit(Limit::of(rate, round_trip, size.bytes, Opening::Receiver))
                .all_columns(&setup, &told(&format!("{mbit}Mbit/s"), "600ms"))
                .target(known(1.05))
        })
    });
    cases.collect()
}

/// A server 40 ms and 0.1 % of loss behind the far gateway. The satellite link is the slower leg:
/// its limit, over the round trip of the whole way, is that of the whole.
fn far_server() -> Case {
    let round_trip = Duration::from_millis(540);
    Case::new("10 MB, server behind 40 ms and loss 0.1%", Seeds::Tenth)
        .limit(Limit::of(GEO_RATE, round_trip, Size::MB_10.bytes, Opening::Receiver))
        .all_columns(&Setup::of(FAR_SERVER), &told_geo())
        .target(known(1.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::link::{BurstLoss, LossModel, Transmission};
    use bentpipe_core::time::Instant;

    #[test]
    fn bursts_lose_a_hundredth_of_full_packets_ten_in_a_row() {
        let mut channel = BurstLoss::new(BURSTS, 1);
        let (mut now, mut lost, mut bursts, mut before) = (Instant::ZERO, 0, 0, false);
        let packets = 2_000_000;
        for _ in 0..packets {
            let began = now;
            now += GEO_RATE.time_for(PACKET);
            let loses = channel.loses(&Transmission { began, ended: now, wire_len: PACKET });
            lost += u32::from(loses);
            bursts += u32::from(loses && !before);
            before = loses;
        }
        let (share, mean) =
            (f64::from(lost) / f64::from(packets), f64::from(lost) / f64::from(bursts));
        assert!((share - 0.01).abs() < 0.0007 && (mean - 10.0).abs() < 0.5, "{share}, {mean}");
    }
}
