//! What is wanted of a case, and whether a row has it.

use super::row::Row;
use std::fmt;

/// A figure of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Figure {
    Limit,
    EndToEndBbr,
    Known,
    ServerTold,
    ClientTold,
    Estimated,
    GoodputShare,
    Utilisation,
    Jain,
    Drops,
    Queueing,
    RetransmittedShare,
    Ratio,
    RatioBound,
}

impl Figure {
    fn of(self, row: &Row) -> Option<f64> {
        match self {
            Figure::Limit => row.limit_s,
            Figure::EndToEndBbr => row.end_to_end_bbr_s,
            Figure::Known => row.known_s,
            Figure::ServerTold => row.server_told_s,
            Figure::ClientTold => row.client_told_s,
            Figure::Estimated => row.estimated_s,
            Figure::GoodputShare => row.goodput_share,
            Figure::Utilisation => row.utilisation,
            Figure::Jain => row.jain,
            Figure::Drops => row.drops,
            Figure::Queueing => row.queueing_p95_ms,
            Figure::RetransmittedShare => row.retransmitted_share,
            Figure::Ratio => row.ratio,
            Figure::RatioBound => row.ratio_bound,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Figure::Limit => "limit",
            Figure::EndToEndBbr => "end to end BBR",
            Figure::Known => "known",
            Figure::ServerTold => "server told",
            Figure::ClientTold => "client told",
            Figure::Estimated => "estimated",
            Figure::GoodputShare => "goodput",
            Figure::Utilisation => "utilisation",
            Figure::Jain => "Jain",
            Figure::Drops => "drops",
            Figure::Queueing => "queueing",
            Figure::RetransmittedShare => "retransmitted",
            Figure::Ratio => "ratio",
            Figure::RatioBound => "bound",
        }
    }
}

/// What a figure is compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Bound {
    AtLeast(f64),
    Below(f64),
    AtMost(f64),
    /// At most so many times another figure.
    Times(f64, Figure),
    /// At most so much more than another figure.
    Beyond(f64, Figure),
    /// Queueing: at most twice what it is without the gateways' flows, or so many milliseconds.
    TwiceAlone(f64),
}

/// One thing that is wanted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Target {
    figure: Figure,
    bound: Bound,
}

impl Target {
    /// `figure` is `min` at least.
    pub(super) fn at_least(figure: Figure, min: f64) -> Target {
        Target { figure, bound: Bound::AtLeast(min) }
    }

    /// `figure` is below `bound`.
    pub(super) fn below(figure: Figure, bound: f64) -> Target {
        Target { figure, bound: Bound::Below(bound) }
    }

    /// `figure` is `max` at most.
    pub(super) fn at_most(figure: Figure, max: f64) -> Target {
        Target { figure, bound: Bound::AtMost(max) }
    }

    /// `figure` is at most `factor` times `other`.
    pub(super) fn times(figure: Figure, factor: f64, other: Figure) -> Target {
        Target { figure, bound: Bound::Times(factor, other) }
    }

    /// `figure` is at most `more` above `other`.
    pub(super) fn beyond(figure: Figure, more: f64, other: Figure) -> Target {
        Target { figure, bound: Bound::Beyond(more, other) }
    }

    /// Queueing is at most twice what it is without the gateways' flows, or `max` milliseconds.
    pub(super) fn twice_alone(max: f64) -> Target {
        Target { figure: Figure::Queueing, bound: Bound::TwiceAlone(max) }
    }

    /// Whether `row` has it; None if it lacks a figure that this takes.
    pub(super) fn met(&self, row: &Row) -> Option<bool> {
        let value = self.figure.of(row)?;
        Some(match self.bound {
            Bound::AtLeast(min) => value >= min,
            Bound::Below(bound) => value < bound,
            Bound::AtMost(max) => value <= max,
            Bound::Times(factor, other) => value <= factor * other.of(row)?,
            Bound::Beyond(more, other) => value <= other.of(row)? + more,
            Bound::TwiceAlone(max) => value <= (2.0 * row.queueing_alone_p95_ms?).max(max),
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.figure.name();
        match self.bound {
            Bound::AtLeast(min) => write!(f, "{name} ≥ {min}"),
            Bound::Below(bound) => write!(f, "{name} < {bound}"),
            Bound::AtMost(max) => write!(f, "{name} ≤ {max}"),
            Bound::Times(1.0, other) => write!(f, "{name} ≤ {}", other.name()),
            Bound::Times(factor, other) => write!(f, "{name} ≤ {factor} × {}", other.name()),
            Bound::Beyond(more, other) => write!(f, "{name} ≤ {} + {more:.3} s", other.name()),
            Bound::TwiceAlone(max) => write!(f, "{name} ≤ max(2 × alone, {max} ms)"),
        }
    }
}

/// All of `targets` that can be told of `row`; None if there is none.
pub(super) fn all_met(targets: &[Target], row: &Row) -> Option<bool> {
    targets.iter().filter_map(|target| target.met(row)).reduce(|all, one| all && one)
}

/// `known ≤ 1.03 × limit, estimated ≤ 1.4 × limit`.
pub(super) fn describe(targets: &[Target]) -> String {
    targets.iter().map(Target::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_meets_what_it_has_figures_for() {
        let row = Row {
            limit_s: Some(10.0),
            known_s: Some(10.4),
            queueing_p95_ms: Some(150.0),
            queueing_alone_p95_ms: Some(80.0),
            ..Row::default()
        };
        let known = |factor| Target::times(Figure::Known, factor, Figure::Limit);
        let bbr = Target::times(Figure::Estimated, 1.0, Figure::EndToEndBbr);
        assert_eq!(known(1.05).met(&row), Some(true));
        assert_eq!(known(1.03).met(&row), Some(false));
        assert_eq!(bbr.met(&row), None, "there is no such column");
        assert_eq!(Target::twice_alone(100.0).met(&row), Some(true));
        assert_eq!(all_met(&[known(1.05), bbr], &row), Some(true));
        assert_eq!(all_met(&[known(1.03), known(1.05)], &row), Some(false));
        assert_eq!(all_met(&[bbr], &row), None);
        let text = describe(&[known(1.05), bbr]);
        assert_eq!(text, "known ≤ 1.05 × limit, estimated ≤ end to end BBR");
    }
}
