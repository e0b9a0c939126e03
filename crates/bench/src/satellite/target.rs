//! What is wanted of a case, and whether a row has it.

use super::case::{Case, Column, Figures};
use super::row::Row;
use std::fmt;
use std::iter;
use std::str::FromStr;
use strum::VariantNames;

/// A figure of a row.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, strum::EnumString, strum::VariantNames, strum::IntoStaticStr,
)]
pub(super) enum Figure {
    #[strum(serialize = "limit")]
    Limit,
    #[strum(serialize = "lossless")]
    Lossless,
    #[strum(serialize = "end to end")]
    EndToEnd,
    #[strum(serialize = "end to end BBR")]
    EndToEndBbr,
    #[strum(serialize = "known")]
    Known,
    #[strum(serialize = "server told")]
    ServerTold,
    #[strum(serialize = "client told")]
    ClientTold,
    #[strum(serialize = "estimated")]
    Estimated,
    #[strum(serialize = "pepsal")]
    Pepsal,
    #[strum(serialize = "goodput")]
    GoodputShare,
    #[strum(serialize = "goodput next to BBR")]
    GoodputShareNextToBbr,
    #[strum(serialize = "utilisation")]
    Utilisation,
    #[strum(serialize = "Jain")]
    Jain,
    #[strum(serialize = "drops")]
    Drops,
    #[strum(serialize = "queueing")]
    Queueing,
    #[strum(serialize = "alone")]
    QueueingAlone,
    #[strum(serialize = "replies")]
    Replies,
    #[strum(serialize = "replies alone")]
    RepliesAlone,
    #[strum(serialize = "replies next to BBR")]
    RepliesNextToBbr,
    #[strum(serialize = "retransmitted")]
    RetransmittedShare,
    #[strum(serialize = "ratio")]
    Ratio,
    #[strum(serialize = "bound")]
    RatioBound,
}

impl Figure {
    fn of(self, row: &Row) -> Option<f64> {
        match self {
            Figure::Limit => row.limit_s,
            Figure::Lossless => row.lossless_s,
            Figure::EndToEnd => row.end_to_end_s,
            Figure::EndToEndBbr => row.end_to_end_bbr_s,
            Figure::Known => row.known_s,
            Figure::ServerTold => row.server_told_s,
            Figure::ClientTold => row.client_told_s,
            Figure::Estimated => row.estimated_s,
            Figure::Pepsal => row.pepsal_s,
            Figure::GoodputShare => row.goodput_share,
            Figure::GoodputShareNextToBbr => row.goodput_share_next_to_bbr,
            Figure::Utilisation => row.utilisation,
            Figure::Jain => row.jain,
            Figure::Drops => row.drops,
            Figure::Queueing => row.queueing_p95_ms,
            Figure::QueueingAlone => row.queueing_alone_p95_ms,
            Figure::Replies => row.reply_p99_ms,
            Figure::RepliesAlone => row.reply_alone_p99_ms,
            Figure::RepliesNextToBbr => row.reply_next_to_bbr_p99_ms,
            Figure::RetransmittedShare => row.retransmitted_share,
            Figure::Ratio => row.ratio,
            Figure::RatioBound => row.ratio_bound,
        }
    }
}

impl Figure {
    /// Its name in targets.
    pub(super) fn name(self) -> &'static str {
        self.into()
    }

    /// Tells whether the row of a case will have it. `recorded`: queues are.
    pub(super) fn is_had_by(self, case: &Case, recorded: bool) -> bool {
        let figures = case.figures;
        let shared = matches!(figures, Some(Figures::Sharing(_)));
        let third_party = matches!(figures, Some(Figures::ThirdParty(_)));
        let replies = matches!(figures, Some(Figures::Replies(_)));
        let has = |column| case.columns.contains_key(&column);
        let column = |column| has(column) && figures.is_none_or(Figures::leave_times);
        match self {
            Figure::Limit | Figure::Lossless => case.limit.is_some(),
            Figure::EndToEnd => column(Column::EndToEnd),
            Figure::EndToEndBbr => column(Column::EndToEndBbr),
            Figure::Known => column(Column::Known),
            Figure::ServerTold => column(Column::ServerTold),
            Figure::ClientTold => column(Column::ClientTold),
            Figure::Estimated => column(Column::Estimated),
            Figure::Pepsal => column(Column::Pepsal),
            Figure::GoodputShare => {
                shared || third_party || matches!(figures, Some(Figures::Goodput(_)))
            }
            Figure::GoodputShareNextToBbr => third_party && has(Column::EndToEndBbr),
            Figure::Utilisation | Figure::Jain | Figure::Drops => shared,
            Figure::Queueing => recorded && (shared || third_party),
            Figure::QueueingAlone => recorded && has(Column::Alone),
            Figure::Replies => replies,
            Figure::RepliesAlone => replies && has(Column::Alone),
            Figure::RepliesNextToBbr => replies && has(Column::EndToEndBbr),
            Figure::RetransmittedShare => matches!(figures, Some(Figures::Retransmitted(_))),
            Figure::Ratio | Figure::RatioBound => case.ratio.is_some(),
        }
    }
}

/// A number, or so many times a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Term {
    factor: f64,
    figure: Option<Figure>,
}

/// How a figure and its bound are related.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    AtLeast,
    Below,
    AtMost,
}

/// What a figure is compared with.
#[derive(Debug, Clone, PartialEq)]
enum Bound {
    Sum(Vec<Term>),
    Greatest(Vec<Term>),
}

/// One thing that is wanted of a case, such as `known ≤ 1.05 × limit`.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Target {
    text: String,
    figure: Figure,
    relation: Relation,
    bound: Bound,
}

/// A text is no target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no target: {why}")]
pub(super) struct TargetError {
    text: String,
    why: String,
}

impl FromStr for Target {
    type Err = TargetError;
    fn from_str(text: &str) -> Result<Target, TargetError> {
        Target::parse(text).map_err(|why| TargetError { text: text.to_owned(), why })
    }
}

impl TryFrom<String> for Target {
    type Error = TargetError;
    fn try_from(text: String) -> Result<Target, TargetError> {
        text.parse()
    }
}

impl Target {
    fn parse(text: &str) -> Result<Target, String> {
        let relations = [
            ("≥", Relation::AtLeast),
            (">=", Relation::AtLeast),
            ("≤", Relation::AtMost),
            ("<=", Relation::AtMost),
            ("<", Relation::Below),
        ];
        let parts = relations
            .into_iter()
            .find_map(|(sign, relation)| Some((text.split_once(sign)?, relation)));
        let ((figure, bound), relation) = parts.ok_or("it has none of ≤, < and ≥")?;
        let terms = |text: &str, sign: char| text.split(sign).map(term).collect::<Result<_, _>>();
        let bound = bound.trim();
        let inside = bound.strip_prefix("max(").and_then(|rest| rest.strip_suffix(')'));
        let bound = match inside {
            Some(inside) => Bound::Greatest(terms(inside, ',')?),
            None => Bound::Sum(terms(bound, '+')?),
        };
        Ok(Target { text: text.to_owned(), figure: figure_of(figure)?, relation, bound })
    }

    /// All figures that it takes.
    pub(super) fn figures(&self) -> impl Iterator<Item = Figure> + '_ {
        let (Bound::Sum(terms) | Bound::Greatest(terms)) = &self.bound;
        iter::once(self.figure).chain(terms.iter().filter_map(|term| term.figure))
    }

    /// Tells whether `row` has it; None if it lacks a figure that this takes.
    pub(super) fn met(&self, row: &Row) -> Option<bool> {
        let value = self.figure.of(row)?;
        let of = |term: &Term| Some(term.factor * term.figure.map_or(Some(1.0), |it| it.of(row))?);
        let bound = match &self.bound {
            Bound::Sum(terms) => terms.iter().map(of).sum::<Option<f64>>()?,
            Bound::Greatest(terms) => {
                let values = terms.iter().map(of).collect::<Option<Vec<f64>>>()?;
                values.into_iter().fold(f64::NEG_INFINITY, f64::max)
            }
        };
        Some(match self.relation {
            Relation::AtLeast => value >= bound,
            Relation::Below => value < bound,
            Relation::AtMost => value <= bound,
        })
    }
}

/// `limit`, `1.05 × limit` or `100`.
fn term(text: &str) -> Result<Term, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    if let Some(factor) = number(text) {
        return Ok(Term { factor, figure: None });
    }
    let (factor, figure) = text.split_once(['×', '*']).unwrap_or(("1", text));
    let factor = number(factor).ok_or_else(|| format!("`{}` is no number", factor.trim()))?;
    Ok(Term { factor, figure: Some(figure_of(figure)?) })
}

fn figure_of(text: &str) -> Result<Figure, String> {
    let text = text.trim();
    text.parse().map_err(|_| {
        format!("there is no figure `{text}` (there are {})", Figure::VARIANTS.join(", "))
    })
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
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
            lossless_s: Some(9.0),
            known_s: Some(10.4),
            queueing_p95_ms: Some(150.0),
            queueing_alone_p95_ms: Some(80.0),
            ..Row::default()
        };
        let target = |text: &str| text.parse::<Target>().unwrap();
        let bbr = target("estimated ≤ end to end BBR");
        assert_eq!(target("known ≤ 1.05 × limit").met(&row), Some(true));
        assert_eq!(target("known ≤ 1.03 × limit").met(&row), Some(false));
        assert_eq!(target("known < 10.4").met(&row), Some(false));
        assert_eq!(target("known <= 1.05 * limit").met(&row), Some(true));
        assert_eq!(target("known ≥ 10.4").met(&row), Some(true));
        assert_eq!(target("known ≤ limit + 0.03 × lossless").met(&row), Some(false));
        assert_eq!(target("known ≤ limit + 0.05 × lossless").met(&row), Some(true));
        assert_eq!(bbr.met(&row), None, "there is no such column");
        assert_eq!(target("queueing ≤ max(2 × alone, 100)").met(&row), Some(true));
        assert_eq!(target("queueing ≤ max(alone, 100)").met(&row), Some(false));
        let [loose, tight] = ["known ≤ 1.05 × limit", "known ≤ 1.03 × limit"].map(target);
        assert_eq!(all_met(&[loose.clone(), bbr.clone()], &row), Some(true));
        assert_eq!(all_met(&[tight, loose.clone()], &row), Some(false));
        assert_eq!(all_met(std::slice::from_ref(&bbr), &row), None);
        let text = describe(&[loose, bbr]);
        assert_eq!(text, "known ≤ 1.05 × limit, estimated ≤ end to end BBR");
    }

    #[test]
    fn what_is_no_target_is_said() {
        let why = |text: &str| text.parse::<Target>().unwrap_err().to_string();
        assert_eq!(why("known = 3"), "`known = 3` is no target: it has none of ≤, < and ≥");
        assert!(why("knwon ≤ limit").contains("no figure `knwon` (there are limit, lossless, "));
        assert!(why("known ≤ x × limit").ends_with("`x` is no number"));
    }
}
