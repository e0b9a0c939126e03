//! A row of the table, from the runs of its case.

use super::capacity::Capacity;
use super::case::{Case, Column, Figures};
use super::limit::Limit;
use super::measure::Measured;
use super::{ratio, target};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// More packets than this share are late on a machine that is too busy.
const LATE: f64 = 0.01;

/// A row, in the form of `--json`: a field that does not apply is absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Row {
    /// Its case.
    pub case: String,
    /// How many runs each column is the mean of.
    pub runs: u64,
    /// What an ideal sender takes.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short")]
    pub limit_s: Option<f64>,
    /// What it would take without losses.
    #[serde(skip)]
    pub lossless_s: Option<f64>,
    /// By the hosts alone, with CUBIC.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short")]
    pub end_to_end_s: Option<f64>,
    /// By the hosts alone, with BBR.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short")]
    pub end_to_end_bbr_s: Option<f64>,
    /// Through gateways whose file has the link's rate.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short")]
    pub known_s: Option<f64>,
    /// With the gateway at the server configured alone.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short")]
    pub server_told_s: Option<f64>,
    /// With that at the client configured alone.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short")]
    pub client_told_s: Option<f64>,
    /// Through unconfigured gateways.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short")]
    pub estimated_s: Option<f64>,
    /// Through a pair of PEPsal, with BBR.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short")]
    pub pepsal_s: Option<f64>,
    /// Columns in which transfers were not complete when the run ended, and the share of such runs.
    /// They count as long as the run, so that the mean is too low.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unfinished: BTreeMap<&'static str, f64>,
    /// What applications have read, as a share of what they could have.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short")]
    pub goodput_share: Option<f64>,
    /// The same of a third party's flow next to flows of BBR.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short")]
    pub goodput_share_next_to_bbr: Option<f64>,
    /// The share of its capacity that the link has sent.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short")]
    pub utilisation: Option<f64>,
    /// Jain's index of the flows' goodputs.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short")]
    pub jain: Option<f64>,
    /// Packets dropped at the link's queues.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short")]
    pub drops: Option<f64>,
    /// The 95th percentile of the time in its queue.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short")]
    pub queueing_p95_ms: Option<f64>,
    /// The same without the gateways' flows.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short")]
    pub queueing_alone_p95_ms: Option<f64>,
    /// The 99th percentile of the time from a request to its reply.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short")]
    pub reply_p99_ms: Option<f64>,
    /// The same without the other flows.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short")]
    pub reply_alone_p99_ms: Option<f64>,
    /// The same by the hosts alone, all with BBR.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short")]
    pub reply_next_to_bbr_p99_ms: Option<f64>,
    /// The share of the gateways' bytes that were retransmissions.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short")]
    pub retransmitted_share: Option<f64>,
    /// With the gateway over without it.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short")]
    pub ratio: Option<f64>,
    /// Its one-sided 95 % bound.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short")]
    pub ratio_bound: Option<f64>,
    /// The share of packets that a link released more than 1 ms late.
    ///
    /// It is there where it is more than a hundredth: the machine was busy.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short")]
    pub late_share: Option<f64>,
    /// What is wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Whether the row has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub met: Option<bool>,
}

/// Four decimals are more than any of it is sure of.
#[expect(clippy::ref_option, reason = "serde's form")]
fn short<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    value.map(|value| (value * 1e4).round() / 1e4).serialize(serializer)
}

impl Row {
    /// The row of `case`, whose columns have had these runs, in the order of their seeds.
    pub(super) fn of(case: &Case, runs: &BTreeMap<Column, Vec<Measured>>) -> Row {
        let mean = |column: Column| Measured::mean(runs.get(&column)?);
        let mut row = Row { case: case.name.clone(), ..Row::default() };
        row.runs = runs.values().map(|runs| runs.len() as u64).max().unwrap_or(0);
        row.limit_s = case.limit.as_ref().map(Limit::seconds);
        row.lossless_s = case.limit.as_ref().map(|limit| limit.lossless().seconds());
        let have_times = case.figures.is_none_or(Figures::leave_times);
        for (column, name, seconds) in [
            (Column::EndToEnd, "end_to_end_s", &mut row.end_to_end_s),
            (Column::EndToEndBbr, "end_to_end_bbr_s", &mut row.end_to_end_bbr_s),
            (Column::Known, "known_s", &mut row.known_s),
            (Column::ServerTold, "server_told_s", &mut row.server_told_s),
            (Column::ClientTold, "client_told_s", &mut row.client_told_s),
            (Column::Estimated, "estimated_s", &mut row.estimated_s),
            (Column::Pepsal, "pepsal_s", &mut row.pepsal_s),
        ] {
            let Some(mean) = mean(column).filter(|_| have_times) else { continue };
            *seconds = Some(mean.seconds);
            if mean.unfinished > 0.0 {
                row.unfinished.insert(name, mean.unfinished);
            }
        }
        if let Some(figures) = &case.figures {
            row.take(figures, case, &mean);
        }
        let late = runs.keys().filter_map(|column| Some(mean(*column)?.late)).fold(0.0, f64::max);
        row.late_share = Some(late).filter(|late| *late > LATE);
        row.queueing_alone_p95_ms = mean(Column::Alone).and_then(|mean| in_ms(mean.queueing));
        if let Some((with, without)) = case.ratio {
            let seconds = |column| {
                let runs = runs.get(&column).map(Vec::as_slice).unwrap_or_default();
                runs.iter().map(|run| run.seconds).collect::<Vec<f64>>()
            };
            let ratio = ratio::of_means(&seconds(with), &seconds(without));
            (row.ratio, row.ratio_bound) = ratio.unzip();
        }
        if !case.targets.is_empty() {
            row.target = Some(target::describe(&case.targets));
            row.met = target::all_met(&case.targets, &row);
        }
        row
    }

    fn take(&mut self, figures: &Figures, case: &Case, of: &dyn Fn(Column) -> Option<Measured>) {
        let column = figures.column();
        let Some(mean) = of(column) else { return };
        let capacity = case.point(column).and_then(|point| Capacity::of(&point.scenario));
        let share = |goodput: f64, of: fn(&Capacity) -> f64| {
            capacity.as_ref().map(|capacity| goodput / of(capacity))
        };
        let of_link = |capacity: &Capacity| capacity.payload;
        let of_flow = |capacity: &Capacity| capacity.payload / capacity.flows;
        match figures {
            Figures::Goodput(_) => self.goodput_share = share(mean.goodput, of_link),
            Figures::Sharing(_) => {
                self.goodput_share = share(mean.goodput, of_link);
                self.utilisation = Some(mean.utilisation);
                self.jain = Some(mean.jain);
                self.drops = Some(mean.drops);
                self.queueing_p95_ms = in_ms(mean.queueing);
            }
            Figures::ThirdParty(_) => {
                self.goodput_share = share(mean.goodput, of_flow);
                let next_to_bbr = of(Column::EndToEndBbr).map(|mean| mean.goodput);
                self.goodput_share_next_to_bbr =
                    next_to_bbr.and_then(|goodput| share(goodput, of_flow));
                self.queueing_p95_ms = in_ms(mean.queueing);
            }
            Figures::Replies(_) => {
                let replies = |column| in_ms(of(column)?.replies);
                self.reply_p99_ms = in_ms(mean.replies);
                self.reply_alone_p99_ms = replies(Column::Alone);
                self.reply_next_to_bbr_p99_ms = replies(Column::EndToEndBbr);
            }
            Figures::Retransmitted(_) => self.retransmitted_share = Some(mean.retransmitted),
        }
    }
}

fn in_ms(seconds: Option<f64>) -> Option<f64> {
    seconds.map(|seconds| 1e3 * seconds)
}

/// All rows, as `--json` prints them.
#[derive(Debug, Serialize)]
pub struct Table<'a> {
    /// In the order of their cases.
    pub rows: &'a [Row],
}

impl Table<'_> {
    /// The same as text.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("numbers and texts can be written")
    }
}
