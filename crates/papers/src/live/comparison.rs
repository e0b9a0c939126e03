//! What the simulator gives beside what real hosts have given, for the same file.

use super::{LivePointResults, LiveResults, Machine};
use crate::catalogue::{Figure, Live, same};
use crate::run::{Part, PointRuns, Ran, by_run};
use crate::significant::significant;
use bentpipe_lab::tables::Table;
use bentpipe_scenario::Experiment;
use bentpipe_scenario::repeat::SampleSummary;
use serde_json::{Value, json};

/// An experiment, point by point.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Its name.
    pub scenario: String,
    /// What is compared: a flow's column.
    pub compared: [String; 2],
    /// What the points differ by.
    pub fields: Vec<String>,
    /// The points, in the sweep's order.
    pub rows: Vec<ComparisonRow>,
    /// So near means are to be.
    pub within: f64,
    /// Why some are not.
    pub explanation: Option<String>,
    /// On what it was measured.
    pub machine: Machine,
}

/// A point.
#[derive(Debug, Clone)]
pub struct ComparisonRow {
    /// Its fields' values, or what they are called.
    pub values: Vec<String>,
    /// By run.
    pub simulated: Vec<f64>,
    /// By run; none if it was not measured.
    pub live: Vec<f64>,
    /// Retransmissions of a run on the mean: simulated, and live.
    pub retransmissions: [Option<f64>; 2],
    /// What 99 % of packets of the worst link were not later than in the worst run, in
    /// milliseconds.
    pub late_p99_ms: f64,
    /// The share of the processors that was in use in the busiest run.
    pub busy: f64,
    /// Whether both are the same.
    pub agreement: Agreement,
}

/// How near both are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// The means differ by no more than they may.
    Near,
    /// They do, but their 95 % intervals meet, and something is lost or random.
    Intervals,
    /// Neither.
    Apart,
    /// Only simulated, as its experiment says.
    Simulated,
    /// It was to be measured, and was not.
    Missing,
}

/// Whether runs of a point can differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chance {
    /// The simulator loses nothing, and all its runs are the same: real ones that scatter are no
    /// excuse.
    Excluded,
    /// Something is lost, or random.
    Possible,
}

impl Chance {
    fn of(point: &PointRuns, simulated: &[f64]) -> Chance {
        let none = |column: &str| {
            let counts = point.column(Table::Runs, &[], column);
            counts.is_ok_and(|counts| counts.iter().all(|count| *count == 0.0))
        };
        let same = simulated.windows(2).all(|pair| pair[0] == pair[1]);
        let certain = same && none("lost") && none("dropped");
        if certain { Chance::Excluded } else { Chance::Possible }
    }
}

impl Agreement {
    fn of(live: &[f64], simulated: &[f64], within: f64, chance: Chance) -> Agreement {
        let (live, simulated) = (interval(live), interval(simulated));
        let meet = (live.0 - simulated.0).abs() <= live.1 + simulated.1;
        if (live.0 / simulated.0 - 1.0).abs() <= within {
            Agreement::Near
        } else if meet && chance == Chance::Possible {
            Agreement::Intervals
        } else {
            Agreement::Apart
        }
    }
}

/// Of the simulated runs those that were also made live: runs of the same number have the same
/// random numbers. Where nothing is random there is but one.
fn same_runs(simulated: &[f64], live: &[f64]) -> Vec<f64> {
    let count = if simulated.len() > 1 { live.len() } else { 1 };
    simulated.iter().take(count).copied().collect()
}

/// The mean, and half of its 95 % interval.
fn interval(samples: &[f64]) -> (f64, f64) {
    let summary = SampleSummary::of(samples);
    let half = summary.and_then(|summary| summary.half_width_95).unwrap_or(0.0);
    (summary.map_or(f64::NAN, |summary| summary.mean), half)
}

impl Comparison {
    /// The figure's experiments that are run on real hosts.
    ///
    /// # Errors
    /// Something that is compared is missing, in a sentence.
    pub fn all(figure: &Figure, ran: &Ran) -> Result<Vec<Comparison>, String> {
        let of = |(name, live): (&str, &Live)| Comparison::new(name, live, ran);
        figure.live().map(of).collect()
    }

    fn new(name: &str, live: &Live, ran: &Ran) -> Result<Comparison, String> {
        let missing = || format!("{name}.live.measure: it takes a flow and a column");
        let flow = live.measure.flow.clone().ok_or_else(missing)?;
        let column = live.measure.column.clone().ok_or_else(missing)?;
        let part = ran.part(name)?;
        let fields = fields(&part.experiment);
        let row = |point: &PointRuns| {
            let kept = ran.live.of(name, point);
            let (flow, column) = (flow.as_str(), column.as_str());
            let of = |column: &str| LiveResults::simulated(point, flow, column);
            let simulated = of(column)?;
            let measured = kept.map(|kept| kept.samples(flow, column)).transpose()?;
            let agreement = match &measured {
                Some(samples) => {
                    let chance = Chance::of(point, &simulated);
                    Agreement::of(samples, &same_runs(&simulated, samples), live.within, chance)
                }
                None if live.has(&point.values) => Agreement::Missing,
                None => Agreement::Simulated,
            };
            let retransmissions = [
                of("retransmissions").ok().map(|samples| interval(&samples).0),
                kept.and_then(|kept| kept.samples(flow, "retransmissions").ok())
                    .map(|samples| interval(&samples).0),
            ];
            let most = |of: fn(&LivePointResults) -> &[f64]| {
                kept.map_or(0.0, |kept| of(kept).iter().copied().fold(0.0, f64::max))
            };
            let named = |field: &String| called(part, field, point.value(field).unwrap_or(""));
            Ok(ComparisonRow {
                values: fields.iter().map(named).collect(),
                simulated,
                live: measured.unwrap_or_default(),
                retransmissions,
                late_p99_ms: most(|kept| &kept.late_p99_ms),
                busy: most(|kept| &kept.busy),
                agreement,
            })
        };
        let rows = part.points.iter().map(row).collect::<Result<Vec<_>, String>>()?;
        Ok(Comparison {
            scenario: name.to_owned(),
            compared: [flow, column],
            fields,
            rows,
            within: live.within,
            explanation: live.explanation.clone(),
            machine: ran.live.machine.clone(),
        })
    }

    /// Whether anything was measured.
    pub fn is_measured(&self) -> bool {
        self.rows.iter().any(|row| !row.live.is_empty())
    }

    /// Rows of cells, the headings first.
    pub fn cells(&self) -> Vec<Vec<String>> {
        let mut head = self.fields.clone();
        let more = ["simulated", "live", "live / simulated", "retransmitted", "live", "runs", ""];
        head.extend(more.map(str::to_owned));
        let mut table = vec![head];
        for row in &self.rows {
            let mut cells = row.values.clone();
            let mean = |samples: &[f64]| match interval(samples) {
                (mean, _) if mean.is_nan() => String::new(),
                (mean, 0.0) => significant(mean),
                (mean, half) => format!("{} ± {}", significant(mean), significant(half)),
            };
            let count = |count: Option<f64>| count.map(significant).unwrap_or_default();
            cells.extend([
                mean(&row.simulated),
                mean(&row.live),
                mean(&by_run(&row.live, &row.simulated)),
                count(row.retransmissions[0]),
                count(row.retransmissions[1]),
                row.live.len().to_string(),
                self.words(row.agreement),
            ]);
            table.push(cells);
        }
        table
    }

    /// How near both are, in words.
    fn words(&self, agreement: Agreement) -> String {
        match agreement {
            Agreement::Near => format!("within {} %", significant(self.within * 100.0)),
            Agreement::Intervals => "within their intervals".to_owned(),
            Agreement::Apart if self.explanation.is_none() => "apart, not explained".to_owned(),
            Agreement::Apart => "apart, see below".to_owned(),
            Agreement::Simulated => "simulated only".to_owned(),
            Agreement::Missing => "not measured".to_owned(),
        }
    }

    /// What is compared, and on what it was measured.
    pub fn title(&self) -> String {
        let Machine { measured, commit, kernel, processor, cores, memory_mib, side_by_side } =
            &self.machine;
        let [flow, column] = &self.compared;
        let what = format!("{column} of {flow}, simulated and on real hosts ({})", self.scenario);
        if !self.is_measured() {
            return what;
        }
        let commit =
            commit.as_ref().map_or_else(String::new, |commit| format!(", at commit {commit}"));
        let busy = self.rows.iter().map(|row| row.busy).fold(0.0, f64::max);
        let late = self.rows.iter().map(|row| row.late_p99_ms).fold(0.0, f64::max);
        format!(
            "{what}: {kernel}, {cores} processors ({processor}), {memory_mib} MiB of memory, at most {side_by_side} runs side \
             by side, {measured}{commit}. In the busiest run {:.0} % of the processors were in use; of the least punctual \
             link 99 % of the packets left no more than {} ms late.",
            busy * 100.0,
            significant(late)
        )
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let values =
                self.fields.iter().cloned().zip(row.values.iter().map(|value| json!(value)));
            json!({
                "at": Value::Object(values.collect()),
                "simulated": row.simulated,
                "live": row.live,
                "agreement": self.words(row.agreement),
                "late_p99_ms": row.late_p99_ms,
            })
        });
        json!({
            "scenario": self.scenario,
            "flow": self.compared[0],
            "column": self.compared[1],
            "kernel": self.machine.kernel,
            "points": rows.collect::<Vec<_>>(),
        })
    }
}

/// What the points of an experiment differ by: what its first figure draws them by, if it has one.
fn fields(experiment: &Experiment) -> Vec<String> {
    let swept: Vec<String> = experiment.swept().into_iter().map(str::to_owned).collect();
    let Some(figure) = experiment.figures.first() else { return swept };
    let drawn: Vec<&str> = figure
        .x
        .iter()
        .chain(figure.curves.iter().flatten())
        .chain(&figure.panels)
        .chain(figure.only.iter().map(|(word, _)| word))
        .map(|word| word.text.as_str())
        .collect();
    let shown: Vec<String> =
        swept.iter().filter(|field| drawn.contains(&field.as_str())).cloned().collect();
    if shown.is_empty() { swept } else { shown }
}

/// What a value is called in the experiment's first figure, or the value.
fn called(part: &Part, field: &str, value: &str) -> String {
    let names = part.experiment.figures.first().and_then(|figure| {
        figure.names.iter().find(|(word, _)| word.text == field).map(|(_, names)| names)
    });
    let mut values: Vec<&str> = Vec::new();
    for one in part.points.iter().filter_map(|point| point.value(field)) {
        if !values.contains(&one) {
            values.push(one);
        }
    }
    let at = values.iter().position(|one| same(one, value));
    let name = names.zip(at).and_then(|(names, at)| names.get(at));
    name.cloned().unwrap_or_else(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_near_or_intervals_meet_or_they_are_apart() {
        let of = |live: &[f64]| Agreement::of(live, &[1.0], 0.05, Chance::Possible);
        assert_eq!(of(&[1.04, 1.04]), Agreement::Near);
        assert_eq!(of(&[1.2, 1.0, 1.1]), Agreement::Intervals);
        assert_eq!(of(&[1.2, 1.2, 1.21]), Agreement::Apart);
    }

    #[test]
    fn where_nothing_is_lost_or_random_runs_that_scatter_are_no_excuse() {
        let of = |live: &[f64]| Agreement::of(live, &[1.0], 0.05, Chance::Excluded);
        assert_eq!(of(&[1.04, 1.04]), Agreement::Near);
        assert_eq!(of(&[3.2, 1.0, 1.0]), Agreement::Apart);
    }

    #[test]
    fn live_runs_are_compared_with_the_simulated_ones_of_their_numbers() {
        assert_eq!(same_runs(&[1.0, 2.0, 9.0], &[1.0, 2.0]), [1.0, 2.0]);
        assert_eq!(same_runs(&[1.0], &[1.0, 1.1]), [1.0]);
    }
}
