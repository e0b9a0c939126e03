//! `bentpipe trace shell`: a shell that may not fly yet, as element sets.

use super::Error;
use bentpipe_core::time::Duration;
use bentpipe_scenario::orbit::{Choice, Timing, Walker, element_sets};
use std::io::Write;
use std::process::ExitCode;

/// Writes two-line element sets of satellites in circular orbits, evenly spread (Walker's pattern),
/// to standard output.
///
/// The first line says how many planes there are and how many satellites in each; `trace path` and
/// scenarios need it for links between satellites.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  bentpipe trace shell --planes 72 --satellites 22 --phasing 39 > shell.tle
  bentpipe trace shell --planes 6 --satellites 11 --altitude 780 --inclination 86.4 --spread 180 > star.tle
")]
pub(crate) struct Arguments {
    /// How many planes
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    planes: u32,
    /// How many satellites in each plane
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    satellites: u32,
    /// Walker's F: satellites of the next plane are ahead by F × 360° / all satellites
    #[arg(long, value_name = "F", default_value_t = 0)]
    phasing: u32,
    /// Above the ground, in km
    #[arg(long, value_name = "KM", default_value_t = 550.0, value_parser = within::<100, 40_000>)]
    altitude: f64,
    /// Of every orbit, in degrees
    #[arg(long, value_name = "DEGREES", default_value_t = 53.0, value_parser = within::<0, 180>)]
    inclination: f64,
    /// Over which angle the planes are spread: 360, or 180 for a star
    #[arg(long, value_name = "DEGREES", default_value_t = 360.0, value_parser = within::<1, 360>)]
    spread: f64,
}

/// A number between two.
pub(super) fn within<const MIN: u32, const MAX: u32>(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    let sound = number.filter(|number| (f64::from(MIN)..=f64::from(MAX)).contains(number));
    sound.ok_or_else(|| format!("expected a number from {MIN} to {MAX}"))
}

/// Writes them.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let shell = Walker {
        altitude: arguments.altitude,
        inclination: arguments.inclination,
        planes: arguments.planes,
        satellites: arguments.satellites,
        phasing: arguments.phasing % arguments.planes,
        spread: arguments.spread,
        // Of how it is used the sets say nothing.
        min_elevation: 0.0,
        choice: Choice::default(),
        timing: Timing {
            slot: None,
            handover: Duration::ZERO,
            step: Duration::from_secs(1),
            begin: Duration::ZERO,
        },
    };
    std::io::stdout().lock().write_all(element_sets(&shell).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
