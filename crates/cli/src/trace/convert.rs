//! `bentpipe trace convert`: other programs' files as traces.

use super::Error;
use super::path::{span, step};
use super::read::text;
use bentpipe_core::time::Duration;
use bentpipe_links::foreign::{self, ColumnChoice, CsvColumns, ForeignError, NetemTable, Rows};
use std::io::{BufWriter, Write};
use std::process::ExitCode;

/// Turns a file of another program into a trace, which goes to standard output.
///
/// A trace is CSV with a time, a delay (one way), a rate and a share of loss. A link of a scenario
/// replays it (trace = "file.csv"). Files that links read as they are need no conversion: see
/// `bentpipe trace show`.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  bentpipe trace convert csv drive.csv --time t_s --rate capacity_mbps=Mbit/s --rtt rtt_ms > drive-trace.csv
  bentpipe trace convert csv udp.csv --rate throughput_mbps --step 20ms > udp-trace.csv
  bentpipe trace convert leocc bw_1.txt delay_1.txt > starlink.csv
  bentpipe trace convert irtt measured.json.gz --window 100ms > measured.csv
  bentpipe trace convert netem /usr/lib/tc/pareto.dist --delay 40ms --jitter 10ms >> link.toml
")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    from: Format,
}

#[derive(clap::Subcommand)]
enum Format {
    /// A table with a header; columns that are not named are known by their names
    Csv(Columns),
    /// Moments in ms at which a packet of 1500 bytes may leave: mahimahi's mm-link
    Mahimahi {
        /// One moment a line
        file: String,
    },
    /// LeoReplayer's, of LeoCC: rates as mahimahi's, and a delay for each 10 ms
    Leocc {
        /// The rates: bw_1.txt
        rates: String,
        /// The delays, one way, in ms: delay_1.txt
        delays: String,
    },
    /// Round trips of IRTT (irtt client -o), as in the LENS data set; half of each is the delay of
    /// a direction
    Irtt {
        /// JSON, or that as gzip
        file: String,
        /// The share of loss is that of so long
        #[arg(long, value_name = "TIME", default_value = "1s", value_parser = step)]
        window: Duration,
    },
    /// Rates of iperf3's intervals (iperf3 --json)
    Iperf3 {
        /// JSON
        file: String,
    },
    /// Round trips of Hypatia (networkx_rtt_…txt): ns and ns; half of each is the delay of a
    /// direction
    Hypatia {
        /// A line for each change
        file: String,
    },
    /// A delay distribution of tc-netem (….dist), as the delay and jitter of a scenario's link
    Netem {
        /// Whole numbers, as in /usr/lib/tc
        file: String,
        /// The mean delay, as netem is given it
        #[arg(long, value_name = "TIME", value_parser = span)]
        delay: Duration,
        /// The deviation, as netem is given it
        #[arg(long, value_name = "TIME", value_parser = span)]
        jitter: Duration,
    },
}

#[derive(clap::Args)]
struct Columns {
    /// Commas, semicolons or tabs between the cells
    file: String,
    /// The times: numbers with a unit, seconds since 1970, or ISO 8601
    #[arg(long, value_name = "COLUMN[=UNIT]")]
    time: Option<ColumnChoice>,
    /// The rates
    #[arg(long, value_name = "COLUMN[=UNIT]")]
    rate: Option<ColumnChoice>,
    /// The delays, one way
    #[arg(long, value_name = "COLUMN[=UNIT]", conflicts_with = "rtt")]
    delay: Option<ColumnChoice>,
    /// The round trips, of which half is the delay
    #[arg(long, value_name = "COLUMN[=UNIT]")]
    rtt: Option<ColumnChoice>,
    /// The losses; =% if they are per cent
    #[arg(long, value_name = "COLUMN[=UNIT]")]
    loss: Option<ColumnChoice>,
    /// The time from row to row, instead of what the table says
    #[arg(long, value_name = "TIME", value_parser = step)]
    step: Option<Duration>,
}

/// Converts and writes.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let rows = match &arguments.from {
        Format::Csv(columns) => columns.convert()?,
        Format::Mahimahi { file } => convert(file, foreign::mahimahi)?,
        Format::Leocc { rates, delays } => {
            let (rate, delay) =
                (convert(rates, foreign::mahimahi)?, convert(delays, foreign::leoreplayer_delays)?);
            foreign::join(vec![(rates, rate), (delays, delay)])?
        }
        Format::Irtt { file, window } => convert(file, |text| foreign::irtt(text, *window))?,
        Format::Iperf3 { file } => convert(file, foreign::iperf3)?,
        Format::Hypatia { file } => convert(file, foreign::hypatia)?,
        Format::Netem { file, delay, jitter } => return netem(file, *delay, *jitter),
    };
    crate::sim::say(&rows.notes);
    if let Some(period) = rows.period() {
        let again =
            format!("the trace begins again after {period:?} with `trace-period={period:?}`");
        crate::sim::say(&[format!("{again}; without it the last value holds")]);
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    rows.write(&mut out)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

impl Columns {
    fn convert(&self) -> Result<Rows, Error> {
        let Columns { file, time, rate, delay, rtt, loss, step } = self;
        let asked = CsvColumns {
            time: time.clone(),
            rate: rate.clone(),
            delay: delay.clone(),
            rtt: rtt.clone(),
            loss: loss.clone(),
            step: *step,
        };
        convert(file, |text| foreign::csv(text, &asked))
    }
}

fn convert(
    path: &str,
    read: impl FnOnce(&str) -> Result<Rows, ForeignError>,
) -> Result<Rows, Error> {
    let mut rows = read(&text(path)?).map_err(|error| error.of(path))?;
    for note in &mut rows.notes {
        *note = format!("{path}: {note}");
    }
    Ok(rows)
}

fn netem(file: &str, delay: Duration, jitter: Duration) -> Result<ExitCode, Error> {
    let table = NetemTable::parse(&text(file)?).map_err(|error| error.of(file))?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    writeln!(out, "# tc-netem: delay {delay:?} {jitter:?} distribution {file}")?;
    table.write(&mut out, delay, jitter)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
