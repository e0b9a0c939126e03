//! Congestion controls and pairs of gateways on traces of links, scored.

use super::BenchError;
use crate::plot;
use crate::sim::{self, progress::RunProgress};
use bentpipe_core::time::Duration;
use bentpipe_core::units::parse_duration;
use bentpipe_lab::traces::{self, Contender, Score, Scores, TraceBench, Way, scores};
use bentpipe_lab::{Folder, Options, drawing, execute};
use bentpipe_terminal::interrupt::{interrupted, stop_flag};
use bentpipe_terminal::table::{Align, Table};
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::available_parallelism;

/// Who is best on traces of links: congestion controls of Linux hosts, and pairs of gateways?
///
/// The setting is LeoReplayer's (SIGCOMM 2025): bulk flows over a link whose rate and delay are the
/// trace's; downlinks have a queue of 50,000 packets and lose 0.01 %, uplinks (`up` or `uplink` in
/// the name) 500 packets and 0.2 %. 100 KB start every second beside them, and a ping every 100 ms.
/// A trace is any file that `trace show` reads, RATES,DELAYS, or a folder of them. Tables, figures,
/// the scenario and the traces are in the folder of results, which makes the same again.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  bentpipe bench traces                                        two traces that come with bentpipe
  bentpipe bench traces ~/leocc/                               all of a folder
  bentpipe bench traces bw_1.txt,delay_1.txt --flows 1 --runs 5
  bentpipe bench traces x.csv --contender bbr --contender 'mine=linux,congestion=cubic,iw=40'
  bentpipe bench traces --json | jq '.means[] | {contender, flows, utilisation, delay_p95_s}'
")]
pub(crate) struct Arguments {
    /// Traces, or folders of them
    #[arg(value_name = "TRACE")]
    traces: Vec<String>,
    /// `gateways`, a congestion control, or NAME=TCP settings; instead of cubic, bbr1, bbr,
    /// gateways
    #[arg(long = "contender", value_name = "WHO")]
    contenders: Vec<Contender>,
    /// Bulk flows at a time
    #[arg(long, value_name = "N,N", default_value = "1,10", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=10_000))]
    flows: Vec<u32>,
    /// Replay so much of a trace at most
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = duration)]
    duration: Duration,
    /// So many runs of each, with random losses of their own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Take all as of this direction, whatever their names say
    #[arg(long, value_name = "WAY", value_parser = way)]
    way: Option<Way>,
    /// The folder of results
    #[arg(long, short, value_name = "FOLDER", default_value = "results/traces")]
    output: PathBuf,
    /// Print JSON: a row for each trace, contender and number of flows
    #[arg(long)]
    json: bool,
    /// Draw no figures
    #[arg(long)]
    no_figures: bool,
    /// So many threads (without it as many as there are cores)
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Say nothing meanwhile
    #[arg(long, short)]
    quiet: bool,
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration = parse_duration(text).map_err(|error| error.to_string())?;
    match duration >= Duration::from_secs(2) {
        true => Ok(duration),
        false => Err("at least 2s, in which the first 100 KB start".to_owned()),
    }
}

fn way(text: &str) -> Result<Way, String> {
    Way::of_word(text).ok_or_else(|| "expected up or down".to_owned())
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, BenchError> {
    let mut read = Vec::new();
    for path in &arguments.traces {
        read.extend(traces::of_path(path, arguments.way)?);
    }
    if arguments.traces.is_empty() {
        read = traces::built_in(arguments.way)?;
    }
    let contenders = match arguments.contenders.is_empty() {
        true => Contender::usual(),
        false => arguments.contenders.clone(),
    };
    let (flows, longest) = (arguments.flows.clone(), arguments.duration);
    let bench = TraceBench::new(read, contenders, flows, longest, arguments.runs);
    bench.traces.iter().for_each(|trace| sim::say(&trace.notes));
    let experiment = bench.experiment()?;
    let (folder, store) = Folder::open(&arguments.output)?;
    let folder = if arguments.no_figures { folder.without_figures() } else { folder };
    let stop = stop_flag()?;
    let threads = arguments.threads.or_else(|| available_parallelism().ok());
    let options = Options {
        runner: &bentpipe_sim::run_into,
        threads: threads.unwrap_or(NonZeroUsize::MIN),
        point: None,
        run: None,
        shard: None,
        stop: &stop,
    };
    let progress = RunProgress::new("bentpipe bench traces", arguments.quiet);
    let executed = execute(&experiment, &store, &options, &|event| progress.on_event(&event))?;
    progress.end();
    if executed.stopped {
        eprintln!("bentpipe bench traces: stopped; the same command goes on from there");
        return Ok(interrupted());
    }
    if let Some(failure) = executed.failures.first() {
        return Err(BenchError::Failed {
            label: failure.label.clone(),
            why: failure.why.to_string(),
        });
    }
    let scored = scores(&bench, &folder.results(&experiment, &store, &executed)?);
    let mut out = io::stdout().lock();
    match arguments.json {
        true => writeln!(out, "{}", super::sim::to_json(&scored))?,
        false => print(&mut out, &scored)?,
    }
    if arguments.no_figures {
        return Ok(ExitCode::SUCCESS);
    }
    if !arguments.json {
        let place = arguments.output.display();
        writeln!(out, "figures of each trace, tables and the scenario: {place}/index.html")?;
    }
    Ok(plot::complain(&drawing::draw(&arguments.output, &experiment)))
}

/// Prints the scores of each trace, if there are several, and the means.
fn print(out: &mut impl Write, scored: &Scores) -> io::Result<()> {
    let mut traces: Vec<&str> = scored.scores.iter().map(|score| score.trace.as_str()).collect();
    traces.dedup();
    let left = [Align::Left, Align::Left];
    let mut table = Table::new(left.into_iter().chain([Align::Right; 10]));
    let heads = ["trace", "contender", "flows", "utilisation", "ping p50", "p95", "p99 ms"];
    let rest = ["100 KB mean", "p95 s", "not done", "Jain", "dropped"];
    table.row(heads.into_iter().chain(rest));
    let means = scored.means.iter().filter(|_| traces.len() > 1);
    let mut last = "";
    for score in scored.scores.iter().chain(means) {
        let named = if score.trace == last { String::new() } else { named(score) };
        last = &score.trace;
        table.row(std::iter::once(named).chain(cells(score)));
    }
    write!(out, "{table}")
}

fn named(score: &Score) -> String {
    format!("{} ({})", score.trace, score.way)
}

fn cells(score: &Score) -> [String; 11] {
    let text = |figure: Option<f64>, scale: f64, digits: usize| {
        figure.map_or_else(|| "-".to_owned(), |figure| format!("{:.digits$}", figure * scale))
    };
    [
        score.contender.clone(),
        score.flows.to_string(),
        text(score.utilisation, 1.0, 3),
        text(score.delay_p50_s, 1e3, 1),
        text(score.delay_p95_s, 1e3, 1),
        text(score.delay_p99_s, 1e3, 1),
        text(score.short_mean_s, 1.0, 3),
        text(score.short_p95_s, 1.0, 3),
        score.short_unfinished.to_string(),
        text(score.jain, 1.0, 3),
        text(score.drop_share, 1.0, 5),
    ]
}
