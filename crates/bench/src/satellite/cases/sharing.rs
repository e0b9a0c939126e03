//! Links that are shared, and links that are slower than the gateways were told.

use super::{GEO_RATE, Size, geo, payload_rate, percent, told, told_geo};
use crate::satellite::case::{Case, Column, Figures, Seeds};
use crate::satellite::setup::{BESIDE, Place, Setup, bbr};
use crate::satellite::target::{Figure, Target};

pub(super) fn all() -> Vec<Case> {
    let mut cases = parallel();
    cases.extend(rate_too_high());
    cases.extend(third_party());
    cases
}

/// Forty downloads of 1 MB that begin at once. Times are those of the last one.
fn parallel() -> Vec<Case> {
    let mut cases = Vec::new();
    for loss in [0.0, 1.0] {
        let (text, probability) = percent(loss);
        let (setup, _) = geo(Size::MB_1);
        let setup = setup.with("flow.transfer.count", "40").recorded();
        let (setup, seeds) = match loss > 0.0 {
            true => (setup.with("link.sat.loss", text.clone()), Seeds::Tenth),
            false => (setup, Seeds::One),
        };
        let allowed = payload_rate(GEO_RATE) * (1.0 - probability.value());
        let name = |knows: &str| format!("40 downloads of 1 MB, {knows}, loss {text}");
        let known = Case::new(name("rate known"), seeds)
            .end_to_end(&setup)
            .column(Column::Known, setup.clone().pair(&told_geo()))
            .figures(Column::Known, Figures::Sharing(allowed));
        cases.push(match loss > 0.0 {
            true => known.target(Target::at_least(Figure::Utilisation, 0.93)),
            false => known
                .target(Target::at_least(Figure::Utilisation, 0.95))
                .target(Target::at_least(Figure::Jain, 0.98))
                .target(Target::at_most(Figure::Drops, 0.0))
                .target(Target::at_most(Figure::Queueing, 20.0)),
        });
        cases.push(
            Case::new(name("nothing known"), seeds)
                .column(Column::Estimated, setup.pair(&Place::Gateway))
                .figures(Column::Estimated, Figures::Sharing(allowed)),
        );
    }
    cases
}

/// What drops what exceeds 8 Mbit/s at once. Its burst is what the shorter of the queues holds. The
/// line behind it is fast.
const POLICER: &str = "{ kind = \"policer\", rate = \"8Mbit/s\", burst = \"30KB\" }";

/// 10 MB with gateways that were told 1.3 times and twice the rate that there is. What is
/// retransmitted counts from 5 s on.
fn rate_too_high() -> Vec<Case> {
    let mut cases = Vec::new();
    for (rate, factor) in [("10.4Mbit/s", "1.3"), ("16Mbit/s", "2")] {
        for (queue, what) in [
            ("20packets", "queue of 20 packets"),
            ("1bdp", "queue of one BDP"),
            (POLICER, "on a policer"),
        ] {
            let (setup, limit) = geo(Size::MB_10);
            let setup = setup.with("link.sat.queue", queue);
            let setup =
                if queue == POLICER { setup.with("link.sat.rate", "100Mbit/s") } else { setup };
            let wrong = setup.clone().pair(&told(rate, "500ms")).with("run.warm-up", "5s");
            cases.push(
                Case::new(format!("10 MB, rate {factor} × too high, {what}"), Seeds::One)
                    .limit(limit)
                    .end_to_end(&setup)
                    .column(Column::Known, wrong)
                    .figures(Column::Known, Figures::Retransmitted)
                    .target(Target::times(Figure::Known, 1.15, Figure::Limit))
                    .target(Target::below(Figure::RetransmittedShare, 0.05)),
            );
        }
    }
    cases
}

/// A flow of a third party beside flows of the pair, for a minute.
fn third_party() -> Vec<Case> {
    let mut cases = Vec::new();
    for control in ["cubic"].into_iter().chain(bbr()) {
        let tcp = format!("linux,congestion={control}");
        let setup = Setup::of(BESIDE).with("flow.third-party.tcp", tcp);
        let alone = setup.clone().with("flow.pair.start", "1h");
        for flows in [1, 10] {
            for (column, place, knows) in [
                (Column::Known, told_geo(), "rate known"),
                (Column::Estimated, Place::Gateway, "nothing known"),
            ] {
                let share = payload_rate(GEO_RATE) / f64::from(flows + 1);
                let setup = setup.clone().with("flow.pair.count", flows.to_string());
                let s = if flows == 1 { "" } else { "s" };
                let name = format!("{control} of a third party beside {flows} flow{s}, {knows}");
                cases.push(
                    Case::new(name, Seeds::Tenth)
                        .column(column, setup.pair(&place))
                        .column(Column::Alone, alone.clone())
                        .figures(column, Figures::Beside(share))
                        .target(Target::at_least(Figure::GoodputShare, 0.25))
                        .target(Target::twice_alone(100.0)),
                );
            }
        }
    }
    cases
}
