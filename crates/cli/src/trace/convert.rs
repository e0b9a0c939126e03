//! `bentpipe trace convert`: other programs' files as traces.

use super::Error;
use bentpipe_core::time::Duration;
use bentpipe_links::foreign::{self, ForeignError, Rows};
use std::io::{BufWriter, Write};
use std::process::ExitCode;

/// Turns a file of another program into a trace, which goes to standard output.
///
/// A trace is CSV with a time, a delay (one way), a rate and a share of loss. A link of a scenario
/// replays it (trace = "file.csv"). Traces of mahimahi alone need no conversion: links read them as
/// they are.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  bentpipe trace convert leocc bw_1.txt delay_1.txt > starlink.csv
  bentpipe trace convert irtt measured.json --window 1s > measured.csv
  bentpipe trace convert hypatia networkx_rtt_1593_to_1650.txt > path.csv
  bentpipe trace convert mahimahi Verizon-LTE-driving.down > cellular.csv
")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    from: Format,
}

#[derive(clap::Subcommand)]
enum Format {
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
        /// JSON
        file: String,
        /// The share of loss is that of so long
        #[arg(long, value_name = "TIME", default_value = "1s", value_parser = super::path::step)]
        window: Duration,
    },
    /// Round trips of Hypatia (networkx_rtt_…txt): ns and ns; half of each is the delay of a
    /// direction
    Hypatia {
        /// A line for each change
        file: String,
    },
}

/// Converts and writes.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let rows = match &arguments.from {
        Format::Mahimahi { file } => convert(file, foreign::mahimahi)?,
        Format::Leocc { rates, delays } => {
            let mut rows = convert(rates, foreign::mahimahi)?;
            rows.take_delays(convert(delays, foreign::leocc_delays)?);
            rows
        }
        Format::Irtt { file, window } => convert(file, |text| foreign::irtt(text, *window))?,
        Format::Hypatia { file } => convert(file, foreign::hypatia)?,
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    rows.write(&mut out)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn convert(
    path: &str,
    read: impl FnOnce(&str) -> Result<Rows, ForeignError>,
) -> Result<Rows, Error> {
    let text =
        std::fs::read_to_string(path).map_err(|why| Error::File { path: path.to_owned(), why })?;
    read(&text).map_err(|ForeignError { line, why }| {
        let place = line.map_or_else(|| path.to_owned(), |line| format!("{path}, line {line}"));
        Error::Format { place, why }
    })
}
