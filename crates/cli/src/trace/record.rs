//! `bentpipe trace record`: the delay and loss between two hosts, measured by UDP probes, as a
//! trace.

use super::Error;
use super::path::{span, step};
use bentpipe_core::time::Duration;
use bentpipe_emulator::probing::{self, LENGTH, Probed, ProbedLine, Probing, ProbingError};
use std::io::{self, Write};
use std::net::UdpSocket;
use std::process::ExitCode;

/// Measures the delay and loss between this host and another, and writes them as a trace.
///
/// The other host runs `bentpipe trace record --listen ADDRESS:PORT`. What is measured is the round
/// trip: each way is given half of its delay, and the loss that twice in a row makes what was
/// found. With --one-way the delay is that from here to there by the clocks of both hosts, which
/// have to agree (as with PTP or GPS).
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  There:
    bentpipe trace record --listen 0.0.0.0:4747
  Here, and replayed:
    bentpipe trace record there.example:4747 --for 10min > there.csv
    bentpipe trace show there.csv
    bentpipe link --realtime --rate 50Mbit/s --both trace=there.csv -- curl -O http://example.org/file
")]
pub(crate) struct Arguments {
    /// Who listens
    #[arg(value_name = "HOST:PORT", required_unless_present = "listen")]
    host: Option<String>,
    /// Send back what comes to this address, until interrupted
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "host")]
    listen: Option<String>,
    /// How long
    #[arg(long = "for", value_name = "TIME", default_value = "60s", value_parser = span)]
    lasting: Duration,
    /// How often a probe is sent
    #[arg(long, value_name = "TIME", default_value = "20ms", value_parser = step)]
    every: Duration,
    /// How often the trace has a line: with the median of the delays
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = step)]
    step: Duration,
    /// The delay from here to there, by both hosts' clocks
    #[arg(long)]
    one_way: bool,
}

/// Listens, or measures.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    match (&arguments.listen, &arguments.host) {
        (Some(address), _) => listen(address)?,
        (None, Some(host)) => measure(arguments, host)?,
        (None, None) => {}
    }
    Ok(ExitCode::SUCCESS)
}

fn listen(address: &str) -> Result<(), Error> {
    let socket = UdpSocket::bind(address)?;
    let mut out = io::stdout();
    writeln!(out, "bentpipe trace record: listening on {}", socket.local_addr()?)?;
    out.flush()?;
    probing::answer(&socket)
}

fn measure(arguments: &Arguments, host: &str) -> Result<(), Error> {
    let Arguments { lasting, every, step, one_way, .. } = *arguments;
    let probed = probing::probe(host, &Probing { lasting, every, step, one_way });
    let probed = probed.map_err(|error| match error {
        ProbingError::Io(error) => Error::Io(error),
        why => Error::Format { place: host.to_owned(), why: why.to_string() },
    })?;
    Ok(write(arguments, host, &probed)?)
}

fn write(arguments: &Arguments, host: &str, probed: &Probed) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let delay = match arguments.one_way {
        true => "one way, by both hosts' clocks",
        false => "half of the round trip",
    };
    let every = arguments.every.as_secs_f64() * 1e3;
    writeln!(
        out,
        "# {} probes of {LENGTH} bytes to {host}, one in {every} ms; the delay is {delay}; the loss is each way's, if \
         both lose alike",
        probed.probes()
    )?;
    writeln!(out, "time_ms,delay_ms,loss")?;
    for ProbedLine { at_ms, delay, loss } in probed.lines() {
        match delay {
            Some(delay) => writeln!(out, "{at_ms},{:.6},{loss:.6}", delay as f64 / 1e6)?,
            None => writeln!(out, "{at_ms},,{loss:.6}")?,
        }
    }
    Ok(())
}
