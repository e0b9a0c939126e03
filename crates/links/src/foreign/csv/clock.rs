//! Times of a table: numbers with a unit, epochs, and ISO 8601.

/// A moment in ns, on whichever clock the file has.
pub(super) type Nanos = i128;

/// The clock of a column of times, as its first cell says it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Clock {
    /// Numbers; `unit` stands in the header, or is that of their size.
    Numbers {
        /// In ns.
        unit: Nanos,
    },
    /// Numbers with a unit each.
    Spans,
    /// Dates with a time; the name of the zone, if there is one.
    Dates(Option<String>),
}

const SECOND: Nanos = 1_000_000_000;

/// A unit of time in ns.
fn nanos(unit: &str) -> Option<Nanos> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" => 1000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "min" => 60 * SECOND,
        "h" => 3600 * SECOND,
        _ => return None,
    })
}

impl Clock {
    /// The clock of a column whose header has `unit`, and whose first cell is `cell`.
    ///
    /// # Errors
    /// It is no time, or one of an unknown unit.
    pub(super) fn of(unit: &str, cell: &str) -> Result<Clock, String> {
        if date(cell).is_some() {
            return Ok(Clock::Dates(zone(cell).map(str::to_owned)));
        }
        let (number, own) = number_and_unit(cell);
        if !own.is_empty() {
            return Ok(Clock::Spans);
        }
        if let Some(unit) = nanos(unit) {
            return Ok(Clock::Numbers { unit });
        }
        // Since 1970, between 2001 and 2286: by the number of digits.
        let size = number.parse::<f64>().map_err(|_| no_time(cell))?;
        let unit = match size {
            1e9..1e10 => SECOND,
            1e12..1e13 => 1_000_000,
            1e15..1e16 => 1000,
            1e18..1e19 => 1,
            _ => {
                return Err(format!(
                    "the time `{cell}` has no unit: call the column `time_s` or `time_ms`"
                ));
            }
        };
        Ok(Clock::Numbers { unit })
    }

    /// The moment that `cell` says.
    ///
    /// # Errors
    /// It says none.
    pub(super) fn read(&self, cell: &str) -> Result<Nanos, String> {
        match self {
            Clock::Numbers { unit } => decimal(cell, *unit).ok_or_else(|| no_time(cell)),
            Clock::Spans => {
                let (number, unit) = number_and_unit(cell);
                let unit = nanos(unit).ok_or_else(|| {
                    format!("`{cell}` has no known unit (expected something like `250ms`)")
                })?;
                decimal(number, unit).ok_or_else(|| no_time(cell))
            }
            Clock::Dates(named) => {
                let found = zone(cell);
                if found != named.as_deref() {
                    let name = |zone: Option<&str>| zone.unwrap_or("none").to_owned();
                    let (new, old) = (name(found), name(named.as_deref()));
                    return Err(format!("the time zone is {new}, and was {old}"));
                }
                date(cell).ok_or_else(|| no_time(cell))
            }
        }
    }
}

fn no_time(cell: &str) -> String {
    match cell.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    {
        true => format!("the time `{cell}` is negative"),
        false => format!("`{cell}` is no time"),
    }
}

/// `1.5s`: a number, and what stands behind it.
fn number_and_unit(cell: &str) -> (&str, &str) {
    let end =
        cell.find(|c: char| !c.is_ascii_digit() && !".+-eE".contains(c)).unwrap_or(cell.len());
    let (number, unit) = cell.split_at(end);
    (number.trim(), unit.trim())
}

/// A number without a sign, times `unit`, to the ns; exactly, as a float of an epoch would not be.
fn decimal(text: &str, unit: Nanos) -> Option<Nanos> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) {
        let number: f64 = text.parse().ok().filter(|number| (0.0..1e20).contains(number))?;
        return Some((number * unit as f64).round() as Nanos);
    }
    if whole.is_empty() && part.is_empty() || whole.len() > 20 {
        return None;
    }
    let number = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<Nanos>().ok() };
    // Below a unit of an hour, 15 digits do for a ns.
    let part = &part[..part.len().min(15)];
    let scale = (10 as Nanos).pow(u32::try_from(part.len()).ok()?);
    Some(number(whole)? * unit + (number(part)? * unit + scale / 2) / scale)
}

/// The name of a time zone behind a date: `CDT`, but neither `Z` nor `+02:00`.
fn zone(cell: &str) -> Option<&str> {
    let (_, last) = cell.rsplit_once(' ')?;
    (last.len() > 1 && last.bytes().all(|byte| byte.is_ascii_alphabetic())).then_some(last)
}

/// `2024-05-27T12:33:55.777353`, with a space for the `T`, and with `Z`, `+02:00` or the name of a
/// zone behind it, in ns since 1970. Of a zone that has a name only, its own time.
fn date(cell: &str) -> Option<Nanos> {
    let cell = zone(cell).map_or(cell, |zone| cell[..cell.len() - zone.len()].trim_end());
    let (day, time) = cell.split_once(['T', ' '])?;
    let mut day = day.split('-');
    let mut field = |width: usize, range: std::ops::RangeInclusive<i128>| {
        let text = day.next().filter(|text| text.len() == width)?;
        digits(text).filter(|number| range.contains(number))
    };
    let (year, month, date) = (field(4, 1..=9999)?, field(2, 1..=12)?, field(2, 1..=31)?);
    if day.next().is_some() {
        return None;
    }
    let time = time.trim();
    let (time, offset) = match time.strip_suffix(['Z', 'z']) {
        Some(time) => (time, 0),
        None => match time.rfind(['+', '-']) {
            Some(at) => (&time[..at], offset(&time[at..])?),
            None => (time, 0),
        },
    };
    let mut parts = time.trim().splitn(3, ':');
    let (hour, minute) = (digits(parts.next()?)?, digits(parts.next()?)?);
    let second = decimal(parts.next().unwrap_or("0"), SECOND)?;
    // A leap second is the 60th.
    if hour > 23 || minute > 59 || second >= 61 * SECOND {
        return None;
    }
    let seconds = (days(year, month, date) * 24 + hour) * 3600 + minute * 60 - offset;
    Some(seconds * SECOND + second)
}

fn digits(text: &str) -> Option<i128> {
    let sound = (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    sound.then(|| text.parse().ok()).flatten()
}

/// `+02:00`, `-0500` or `+02`, in seconds.
fn offset(text: &str) -> Option<i128> {
    let (sign, rest) = text.split_at_checked(1)?;
    let rest = rest.replace(':', "");
    let (hours, minutes) = rest.split_at_checked(2)?;
    let minutes = if minutes.is_empty() { 0 } else { digits(minutes)? };
    let seconds = digits(hours)? * 3600 + minutes * 60;
    Some(if sign == "-" { -seconds } else { seconds })
}

/// Days since 1970-01-01 in the Gregorian calendar, whose year begins in March here.
fn days(year: i128, month: i128, day: i128) -> i128 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(unit: &str, cell: &str) -> Result<Nanos, String> {
        Clock::of(unit, cell)?.read(cell)
    }

    #[test]
    fn times_have_units() {
        assert_eq!(read("s", "1.5"), Ok(1_500_000_000));
        assert_eq!(read("ms", "1.5"), Ok(1_500_000));
        assert_eq!(read("", "250ms"), Ok(250_000_000));
        assert_eq!(read("", "1.5 s"), Ok(1_500_000_000));
        assert_eq!(read("s", "1e-3"), Ok(1_000_000));
        assert_eq!(read("s", "0.0000000005"), Ok(1));
        assert!(read("", "0.1").unwrap_err().contains("has no unit"));
        assert_eq!(read("s", "-0.5").unwrap_err(), "the time `-0.5` is negative");
        assert_eq!(
            read("s", "soon").unwrap_err(),
            "`soon` has no known unit (expected something like `250ms`)"
        );
    }

    #[test]
    fn epochs_are_known_by_their_size() {
        let nanos = 1_716_813_235_777_353_000;
        for cell in
            ["1716813235.777353", "1716813235777.353", "1716813235777353", "1716813235777353000"]
        {
            assert_eq!(read("", cell), Ok(nanos), "{cell}");
        }
    }

    #[test]
    fn dates_are_moments() {
        let nanos = 1_716_813_235_777_353_000;
        for cell in [
            "2024-05-27T12:33:55.777353",
            "2024-05-27 12:33:55.777353Z",
            "2024-05-27 14:33:55.777353+02:00",
            "2024-05-27T07:33:55.777353-0500",
            "2024-05-27 12:33:55.777353 CDT",
        ] {
            assert_eq!(read("", cell), Ok(nanos), "{cell}");
        }
        assert_eq!(date("1970-01-01T00:00"), Some(0));
        assert_eq!(date("2000-03-01T00:00:00"), Some(951_868_800 * SECOND));
        for wrong in [
            "2024-13-01T00:00",
            "2024-05-27",
            "24-05-27T00:00",
            "2024-05-27T24:00",
            "2024-05-27T12:3x",
        ] {
            assert_eq!(date(wrong), None, "{wrong}");
        }
        let clock = Clock::of("", "2024-11-03 01:59:59 CDT").unwrap();
        assert_eq!(
            clock.read("2024-11-03 01:00:00 CST").unwrap_err(),
            "the time zone is CST, and was CDT"
        );
    }
}
