//! Rows of the table: medians over rounds, and ratios within a round.

use super::Rounds;
use super::measure::Sample;
use super::plan::{Load, Plan};
use crate::median::median;
use bentpipe_core::units::Rate;
use serde::Serialize;
use std::collections::BTreeMap;

/// A figure's rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl Spread {
    /// That of the rounds that have a figure; None if none has.
    fn of(figures: impl IntoIterator<Item = Option<f64>>) -> Option<Spread> {
        let mut sorted: Vec<f64> =
            figures.into_iter().flatten().filter(|figure| figure.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        Some(Spread { median: median(sorted.into_iter()), min, max })
    }
}

/// A counter of a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Counter {
    /// Its growth in a second, the median of the rounds.
    pub per_s: f64,
    /// Its growth for a million bytes that flows delivered, if they did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_mb: Option<f64>,
}

/// A load through a program.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub struct Row {
    /// The program's name.
    pub through: String,
    /// Bulk transfers, or none if connections are opened and closed.
    pub flows: Option<usize>,
    /// The rate of all transfers together, in bit/s; none at full speed.
    pub rate_bps: Option<u64>,
    /// The delivered bytes, in bit/s.
    pub goodput_bps: Option<Spread>,
    /// Connections opened, used and closed in a second.
    pub connections_per_s: Option<Spread>,
    /// Goodput, or connections per second, compared with the first program's in the same round.
    pub of_kernel: Option<Spread>,
    /// Goodput compared with the same program's single flow in the same round.
    pub of_one_flow: Option<Spread>,
    /// Seconds of processor time for a gigabyte (10⁹ bytes).
    ///
    /// Client, server, kernel and the program count, and other programs of this machine do not.
    pub cpu_s_per_gb: Option<Spread>,
    /// That compared with the same program's single flow.
    pub cpu_of_one_flow: Option<Spread>,
    /// The same of the whole machine, by `/proc/stat`.
    pub machine_s_per_gb: Option<Spread>,
    /// Seconds of processor time of the program's process for a gigabyte.
    pub process_s_per_gb: Option<Spread>,
    /// Milliseconds of processor time for a connection, as for a gigabyte.
    pub cpu_ms_per_connection: Option<Spread>,
    /// The same of the program's process.
    pub process_ms_per_connection: Option<Spread>,
    /// Processors of the machine that were in use, by any program.
    pub processors: Option<Spread>,
    /// Jain's index of the flows' goodputs.
    pub jain: Option<Spread>,
    /// The median round trip of pings meanwhile.
    pub ping_p50_ms: Option<Spread>,
    /// The round trip that 99 % of them do not exceed.
    pub ping_p99_ms: Option<Spread>,
    /// The median round trip of small requests on a TCP connection of their own.
    pub request_p50_ms: Option<Spread>,
    /// The round trip that 99 % of these do not exceed.
    pub request_p99_ms: Option<Spread>,
    /// Pings and requests without an answer, in all rounds.
    pub unanswered: f64,
    /// Connections that broke or failed, in all rounds.
    pub failed: f64,
    /// A gateway's counters, by their names with dots.
    pub work: BTreeMap<String, Counter>,
}

/// A row for each load and program; samples are by load, program and round.
pub(super) fn rows(plan: &Plan, loads: &[Load], samples: &[Vec<Rounds>]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (load, by_program) in loads.iter().zip(samples) {
        let single = loads.iter().position(|other| is_single(*load, *other));
        for (number, rounds) in by_program.iter().enumerate() {
            let compared = Compared {
                kernel: (number > 0).then(|| &*by_program[0]),
                single: single.map(|single| &*samples[single][number]),
            };
            rows.push(row(&plan.forwarders[number].name, *load, rounds, &compared));
        }
    }
    rows
}

/// Tells whether `other` is the same load as `load` with one flow, and not `load` itself.
fn is_single(load: Load, other: Load) -> bool {
    match (load, other) {
        (Load::Transfers { flows, rate }, Load::Transfers { flows: 1, rate: same }) => {
            flows != 1 && rate == same
        }
        _ => false,
    }
}

/// The rounds that a row is compared with.
struct Compared<'a> {
    kernel: Option<&'a [Option<Sample>]>,
    single: Option<&'a [Option<Sample>]>,
}

fn row(through: &str, load: Load, rounds: &[Option<Sample>], compared: &Compared<'_>) -> Row {
    let measured = || rounds.iter().flatten();
    let spread = |figure: &dyn Fn(&Sample) -> Option<f64>| Spread::of(measured().map(figure));
    let ratio = |others: Option<&[Option<Sample>]>, figure: fn(&Sample) -> Option<f64>| {
        let pairs = rounds.iter().zip(others?);
        Spread::of(
            pairs.map(|(own, other)| Some(figure(own.as_ref()?)? / figure(other.as_ref()?)?)),
        )
    };
    let milliseconds = |seconds: Option<f64>| seconds.map(|seconds| 1e3 * seconds);
    let transfers = !matches!(load, Load::Exchanges(_));
    let (flows, rate_bps) = match load {
        Load::Transfers { flows, rate } => (Some(flows), rate.map(Rate::bits_per_sec)),
        Load::Exchanges(_) => (None, None),
    };
    let of = if transfers { Sample::goodput } else { Sample::connections };
    Row {
        through: through.to_owned(),
        flows,
        rate_bps,
        goodput_bps: spread(&Sample::goodput),
        connections_per_s: spread(&Sample::connections),
        of_kernel: ratio(compared.kernel, of),
        of_one_flow: ratio(compared.single, Sample::goodput),
        cpu_s_per_gb: spread(&Sample::cpu_per_gb),
        cpu_of_one_flow: ratio(compared.single, Sample::cpu_per_gb),
        machine_s_per_gb: spread(&|sample| sample.per_gb(sample.machine_s)),
        process_s_per_gb: spread(&|sample| sample.per_gb(sample.process_s?)),
        cpu_ms_per_connection: spread(&|sample| {
            milliseconds(sample.per_connection(sample.cpu_s()))
        }),
        process_ms_per_connection: spread(&|sample| {
            milliseconds(sample.per_connection(sample.process_s?))
        }),
        processors: spread(&|sample| Some(sample.machine_s / sample.seconds)),
        jain: spread(&Sample::jain),
        ping_p50_ms: spread(&|sample| milliseconds(sample.pings.quantile(0.5))),
        ping_p99_ms: spread(&|sample| milliseconds(sample.pings.quantile(0.99))),
        request_p50_ms: spread(&|sample| milliseconds(sample.echoes.quantile(0.5))),
        request_p99_ms: spread(&|sample| milliseconds(sample.echoes.quantile(0.99))),
        unanswered: measured().map(Sample::unanswered).sum(),
        failed: measured().map(|sample| sample.failed).sum(),
        work: work(&measured().collect::<Vec<_>>()),
    }
}

/// The medians of counters.
fn work(rounds: &[&Sample]) -> BTreeMap<String, Counter> {
    let names = rounds.iter().flat_map(|sample| sample.work.keys());
    let counter = |name: &String| {
        let growths = |per: &dyn Fn(&Sample) -> Option<f64>| {
            let rates = rounds.iter().map(|sample| Some(sample.work.get(name)? / per(sample)?));
            Spread::of(rates).map(|spread| spread.median)
        };
        let per_mb = growths(&|sample| (sample.work_bytes > 0.0).then(|| sample.work_bytes / 1e6));
        let per_s = growths(&|sample| Some(sample.work_s)).unwrap_or(0.0);
        (name.clone(), Counter { per_s, per_mb })
    };
    names.map(counter).collect()
}

impl Sample {
    fn bytes(&self) -> f64 {
        self.flows.iter().sum()
    }

    fn goodput(&self) -> Option<f64> {
        self.exchanges.is_none().then(|| 8.0 * self.bytes() / self.seconds)
    }

    fn connections(&self) -> Option<f64> {
        self.exchanges.map(|exchanges| exchanges / self.seconds)
    }

    fn cpu_s(&self) -> f64 {
        self.hosts_s + self.process_s.unwrap_or(0.0)
    }

    fn cpu_per_gb(&self) -> Option<f64> {
        self.per_gb(self.cpu_s())
    }

    fn unanswered(&self) -> f64 {
        (self.pings.lost + self.echoes.lost) as f64
    }

    fn per_gb(&self, seconds: f64) -> Option<f64> {
        let bytes = self.bytes();
        (bytes > 0.0).then(|| seconds / (bytes / 1e9))
    }

    fn per_connection(&self, seconds: f64) -> Option<f64> {
        self.exchanges.filter(|exchanges| *exchanges > 0.0).map(|exchanges| seconds / exchanges)
    }

    /// (Σx)² ÷ (n Σx²), of two flows or more.
    fn jain(&self) -> Option<f64> {
        let squares: f64 = self.flows.iter().map(|bytes| bytes * bytes).sum();
        let several = self.flows.len() > 1 && squares > 0.0;
        several.then(|| self.bytes().powi(2) / (self.flows.len() as f64 * squares))
    }
}

#[cfg(test)]
mod tests {
    use super::super::forwarder::Forwarder;
    use super::super::plan::{Direction, Exchange};
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_median_is_of_the_rounds_that_have_a_figure() {
        let spread = |figures: &[f64]| Spread::of(figures.iter().copied().map(Some));
        assert_eq!(spread(&[3.0, 1.0, 2.0]), Some(Spread { median: 2.0, min: 1.0, max: 3.0 }));
        assert_eq!(spread(&[4.0, 1.0]).unwrap().median, 2.5);
        assert_eq!(spread(&[f64::NAN]), None);
        assert_eq!(Spread::of([None, Some(1.0)]).unwrap().max, 1.0);
    }

    #[test]
    fn ratios_are_between_measurements_of_a_round() {
        let transfers = |flows| Load::Transfers { flows, rate: None };
        let loads = [transfers(1), transfers(2)];
        let plan = Plan {
            forwarders: vec![
                Forwarder::kernel(),
                Forwarder { name: "gateway".to_owned(), ..Forwarder::kernel() },
            ],
            flows: vec![1, 2],
            rates: vec![None],
            write: None,
            direction: Direction::Down,
            congestion: "cubic".to_owned(),
            idle: 0,
            exchanges: None,
            seconds: Duration::from_secs(1),
            rounds: 2,
            threads: 1,
            settle: Duration::ZERO,
            settings: String::new(),
        };
        assert_eq!(plan.loads(), loads);
        assert_eq!(plan.measurements(), 8);
        let sample = |flows: &[f64], hosts_s| Sample {
            seconds: 1.0,
            flows: flows.to_vec(),
            hosts_s,
            work: [("wakeups".to_owned(), 10.0)].into(),
            work_s: 2.0,
            work_bytes: 1e6,
            ..Sample::default()
        };
        let rounds = |samples: [Sample; 2]| samples.map(Some).to_vec();
        let one = vec![
            rounds([sample(&[1e9], 1.0), sample(&[4e9], 4.0)]),
            rounds([sample(&[5e8], 1.0), sample(&[2e9], 4.0)]),
        ];
        let two = vec![
            rounds([sample(&[5e8, 5e8], 1.0), sample(&[1e9, 1e9], 2.0)]),
            rounds([sample(&[1e9, 0.0], 3.0), sample(&[2e9, 0.0], 6.0)]),
        ];
        let mut failed = two.clone();
        failed[1][0] = None;
        let rows_of = |two| rows(&plan, &loads, &[one.clone(), two]);
        let gateway = &rows_of(failed)[3];
        let of_second = Some(Spread { median: 1.0, min: 1.0, max: 1.0 });
        assert_eq!(gateway.of_one_flow, of_second, "the round that it failed in has no ratio");
        let rows = rows_of(two);
        assert_eq!(rows.len(), 4);
        let gateway = &rows[1];
        assert_eq!(gateway.of_kernel, Some(Spread { median: 0.5, min: 0.5, max: 0.5 }));
        assert_eq!((gateway.of_one_flow, rows[0].of_kernel), (None, None));
        assert_eq!(gateway.cpu_s_per_gb.unwrap().median, 2.0);
        let gateway = &rows[3];
        assert_eq!(gateway.of_one_flow, Some(Spread { median: 1.5, min: 1.0, max: 2.0 }));
        assert_eq!(gateway.cpu_of_one_flow.unwrap().median, 1.5);
        assert_eq!(gateway.jain.unwrap().median, 0.5);
        assert_eq!(gateway.work["wakeups"], Counter { per_s: 5.0, per_mb: Some(10.0) });
    }

    #[test]
    fn connections_are_compared_as_flows_are() {
        let sample = Sample {
            seconds: 2.0,
            exchanges: Some(1000.0),
            hosts_s: 0.5,
            process_s: Some(0.5),
            ..Sample::default()
        };
        let load = Load::Exchanges(Exchange { parallel: 1, answer: 64 });
        let kernel = [Some(Sample { exchanges: Some(2000.0), ..sample.clone() })];
        let compared = Compared { kernel: Some(&kernel), single: None };
        let row = row("gateway", load, &[Some(sample)], &compared);
        assert_eq!(row.connections_per_s.unwrap().median, 500.0);
        assert_eq!(row.of_kernel.unwrap().median, 0.5);
        assert_eq!(row.cpu_ms_per_connection.unwrap().median, 1.0);
        assert_eq!(row.process_ms_per_connection.unwrap().median, 0.5);
        assert_eq!((row.goodput_bps, row.jain), (None, None));
    }
}
