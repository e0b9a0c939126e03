//! Two-line element sets: files of them, and those of a shell that does not fly yet.

use super::super::{Walker, walker};
use sgp4::{Constants, Elements, MinutesSinceEpoch};
use std::fmt::Write;

/// A day, in minutes.
const DAY: f64 = 1440.0;
/// A Julian year, in minutes.
const YEAR: f64 = 365.25 * DAY;

/// A file of element sets, in the file's order.
#[derive(Debug)]
pub struct ElementSets {
    pub(super) satellites: Vec<Satellite>,
    /// Planes, and satellites in each, if the first line says so.
    pub(super) grid: Option<[u32; 2]>,
    /// In minutes since J2000: the newest set's.
    pub(super) epoch: f64,
}

/// One satellite as SGP4 moves it.
#[derive(Debug)]
pub(super) struct Satellite {
    constants: Constants,
    /// In minutes since J2000.
    epoch: f64,
}

impl Satellite {
    /// Where it is so many minutes after J2000, in km, in the frame of true equator and mean
    /// equinox; `None` where SGP4 finds it decayed.
    pub(super) fn at(&self, minutes: f64) -> Option<[f64; 3]> {
        let since = MinutesSinceEpoch(minutes - self.epoch);
        Some(self.constants.propagate(since).ok()?.position)
    }
}

/// By how much the Earth has turned so many minutes after J2000, in radians: Greenwich mean
/// sidereal time.
pub(super) fn sidereal_time(minutes: f64) -> f64 {
    sgp4::iau_epoch_to_sidereal_time(minutes / YEAR)
}

impl ElementSets {
    /// Reads a file: for each satellite two lines, or three with its name before them. The first
    /// line of the file may say how many planes there are and how many satellites in each
    /// (`72 22`), as Hypatia's files do.
    ///
    /// # Errors
    /// Which line is wrong, and why.
    pub fn parse(text: &str) -> Result<ElementSets, ElementSetsError> {
        ElementSets::read(text).map_err(|(line, why)| ElementSetsError { line, why })
    }

    fn read(text: &str) -> Result<ElementSets, (usize, String)> {
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim_end()));
        let mut lines = lines.filter(|(_, line)| !line.is_empty()).peekable();
        let grid = lines.peek().and_then(|(_, line)| grid_of(line));
        if grid.is_some() {
            lines.next();
        }
        let mut satellites = Vec::new();
        while let Some((at, line)) = lines.next() {
            if !line.starts_with("1 ") {
                // A name; what follows has to be a set.
                if lines.peek().is_none_or(|(_, next)| !next.starts_with("1 ")) {
                    return Err((at, "expected a two-line element set".to_owned()));
                }
                continue;
            }
            let second = lines.next().filter(|(_, next)| next.starts_with("2 "));
            let (_, second) =
                second.ok_or_else(|| (at, "its second line is missing".to_owned()))?;
            let mut first = line.as_bytes().to_vec();
            // Old sets leave the kind of ephemeris out.
            if let Some(kind @ b' ') = first.get_mut(62) {
                *kind = b'0';
            }
            let elements = Elements::from_tle(None, &first, second.as_bytes())
                .map_err(|error| (at, error.to_string()))?;
            let constants = Constants::from_elements_afspc_compatibility_mode(&elements)
                .map_err(|error| (at, error.to_string()))?;
            satellites.push(Satellite { constants, epoch: elements.epoch() * YEAR });
        }
        if satellites.is_empty() {
            return Err((1, "expected two-line element sets".to_owned()));
        }
        if let Some([planes, each]) = grid
            && u64::from(planes) * u64::from(each) != satellites.len() as u64
        {
            let found = satellites.len();
            return Err((1, format!("{planes} × {each} satellites expected, {found} found")));
        }
        let epoch = satellites.iter().map(|satellite| satellite.epoch).fold(f64::MIN, f64::max);
        Ok(ElementSets { satellites, grid, epoch })
    }
}

/// A file that is not one of element sets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct ElementSetsError {
    line: usize,
    why: String,
}

/// `72 22`.
fn grid_of(line: &str) -> Option<[u32; 2]> {
    let mut numbers = line.split_whitespace().map(|number| number.parse().ok());
    match (numbers.next()??, numbers.next()??, numbers.next()) {
        (planes, each, None) if planes > 0 && each > 0 => Some([planes, each]),
        _ => None,
    }
}

/// The element sets of a shell's satellites, plane by plane, after a line with their numbers. The
/// epoch is the beginning of the year 2000, and the first plane's node is at the vernal equinox.
pub fn element_sets(shell: &Walker) -> String {
    let (planes, each) = (shell.planes, shell.satellites);
    let mut text = format!("{planes} {each}\n");
    let turns = DAY * 60.0 / shell.period().as_secs_f64();
    for (plane, place) in (0..planes).flat_map(|plane| (0..each).map(move |place| (plane, place))) {
        let number = plane * each + place;
        let node = shell.spread * f64::from(plane) / f64::from(planes);
        let anomaly = walker::phase(shell, plane, place).to_degrees().rem_euclid(360.0);
        let inclination = shell.inclination;
        let first = format!(
            "1 {:05}U 00000A   00001.00000000  .00000000  00000-0  00000-0 0    0",
            number % 100_000
        );
        let second = format!(
            "2 {:05} {inclination:8.4} {node:8.4} 0000001   0.0000 {anomaly:8.4} {turns:11.8}    0",
            number % 100_000
        );
        // Writing to a text does not fail.
        let _ = writeln!(text, "{plane}-{place}");
        for line in [first, second] {
            let _ = writeln!(text, "{line}{}", checksum(&line));
        }
    }
    text
}

/// The last digit of the sum of all digits, a minus counting as one.
fn checksum(line: &str) -> u32 {
    let value = |char: char| if char == '-' { 1 } else { char.to_digit(10).unwrap_or(0) };
    line.chars().map(value).sum::<u32>() % 10
}
