//! `bentpipe trace path`: the delay between two places over a constellation, as a trace.

use super::Error;
use super::shell::within;
use bentpipe_core::time::Duration;
use bentpipe_core::units::parse_duration;
use bentpipe_scenario::orbit::{
    Constellation, Crosslinks, ElementSets, Pass, PassChange, Position, Timing,
};
use std::io::{BufWriter, Write};
use std::process::ExitCode;

/// Computes the shortest way between two places over the satellites of a file, and writes its delay
/// as a trace.
///
/// The file has two-line element sets: of satellites that fly, or of `bentpipe trace shell`. SGP4
/// moves them. What is written is what `orbit = { kind = "tle", … }` of a scenario's link does; as
/// a file it suits `trace = "…"`.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  bentpipe trace shell --planes 72 --satellites 22 --phasing 39 > shell.tle
  bentpipe trace path shell.tle --from '48.86N 2.35E' --to '40.71N 74.01W' --crosslinks grid > paris-new-york.csv
  bentpipe trace path starlink.tle --from '50.1N 8.7E' --to '48.1N 11.6E' --slot 15s --handover 30ms > bent-pipe.csv
")]
pub(crate) struct Arguments {
    /// A file of two-line element sets
    #[arg(value_name = "FILE")]
    file: String,
    /// Where one end stands: 48.86N 2.35E, or -33.9N 151.2E
    #[arg(long, value_name = "POSITION", allow_hyphen_values = true)]
    from: Position,
    /// Where the other end stands
    #[arg(long, value_name = "POSITION", allow_hyphen_values = true)]
    to: Position,
    /// A station on the ground that sends up again what comes down (any number of them)
    #[arg(long, value_name = "POSITION", allow_hyphen_values = true)]
    relay: Vec<Position>,
    /// Links between satellites: none, or grid (four each)
    #[arg(long, value_name = "KIND", default_value = "none", value_parser = crosslinks)]
    crosslinks: Crosslinks,
    /// Below this elevation no station uses a satellite, in degrees
    #[arg(long, value_name = "DEGREES", default_value_t = 25.0, value_parser = within::<0, 90>)]
    min_elevation: f64,
    /// How long
    #[arg(long, value_name = "TIME", default_value = "200s", value_parser = span)]
    duration: Duration,
    /// How often the delay changes
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = step)]
    step: Duration,
    /// The way is chosen anew this often; else in every step
    #[arg(long, value_name = "TIME", value_parser = step)]
    slot: Option<Duration>,
    /// For how long nothing passes as another satellite takes over at one of the ends
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = span)]
    handover: Duration,
    /// How long after the newest element set's epoch it begins
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = span)]
    begin: Duration,
}

fn crosslinks(text: &str) -> Result<Crosslinks, String> {
    match text {
        "none" => Ok(Crosslinks::None),
        "grid" => Ok(Crosslinks::Grid),
        _ => Err("expected none or grid".to_owned()),
    }
}

pub(super) fn span(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}

pub(super) fn step(text: &str) -> Result<Duration, String> {
    let step = span(text)?;
    (step >= Duration::from_millis(1)).then_some(step).ok_or_else(|| "1ms at least".to_owned())
}

/// Computes and writes it.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let path = arguments.file.clone();
    let text = super::read::text(&path)?;
    let sets =
        ElementSets::parse(&text).map_err(|why| Error::ElementSets { path: path.clone(), why })?;
    let timing = Timing {
        slot: arguments.slot,
        handover: arguments.handover,
        step: arguments.step,
        begin: arguments.begin,
    };
    let relays = arguments.relay.clone();
    let sky =
        Constellation::new(sets, arguments.crosslinks, relays, arguments.min_elevation, timing)
            .ok_or(Error::NoGrid(path))?;
    let pass = sky.pass(arguments.from, arguments.to, arguments.duration);
    if pass.ways.iter().all(|(_, way)| way.is_none()) {
        return Err(Error::NoWay);
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    write(&mut out, &pass)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// A line for each change.
fn write(out: &mut impl Write, pass: &Pass) -> std::io::Result<()> {
    writeln!(out, "time_s,delay_ms,loss")?;
    for PassChange { at, delay, is_out } in pass.changes() {
        let (at, delay) = (at.as_secs_f64(), delay.as_secs_f64() * 1e3);
        writeln!(out, "{at},{delay:.6},{}", u8::from(is_out))?;
    }
    Ok(())
}
