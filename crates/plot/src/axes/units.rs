//! Units, and the prefix that makes a number short.

/// The base unit of values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Unit {
    /// Numbers without a unit.
    #[default]
    None,
    /// Seconds.
    Seconds,
    /// Bits per second.
    BitsPerSecond,
    /// Bytes.
    Bytes,
    /// Shares of 1, shown in per cent.
    Share,
    /// Things of this name.
    Count(String),
}

/// A unit with a prefix.
#[derive(Debug, Clone, PartialEq)]
pub struct Prefix {
    /// A value divided by this is the number that is shown.
    pub factor: f64,
    /// The unit's name with its prefix; empty without a unit.
    pub unit: String,
}

impl Unit {
    /// The unit of this name: `s`, `bit/s`, `bytes`, `share`, or whatever is counted.
    pub fn named(name: &str) -> Unit {
        match name {
            "" => Unit::None,
            "s" => Unit::Seconds,
            "bit/s" => Unit::BitsPerSecond,
            "bytes" | "B" => Unit::Bytes,
            "share" => Unit::Share,
            name => Unit::Count(name.to_owned()),
        }
    }

    /// The prefix with which `max`, the largest of some values, is between 1 and 1000.
    ///
    /// If there is none, the nearest one.
    pub fn prefix(&self, max: f64) -> Prefix {
        let max = max.abs();
        let by = |names: &[(f64, &str)]| {
            let fits = names.iter().rev().find(|(factor, _)| max >= *factor * 0.999_999);
            let (factor, unit) = fits.copied().unwrap_or(names[0]);
            Prefix { factor, unit: unit.to_owned() }
        };
        let plain = |factor: f64, unit: &str| Prefix { factor, unit: unit.to_owned() };
        match self {
            Unit::None => plain(1.0, ""),
            Unit::Share => plain(0.01, "%"),
            Unit::Count(name) => plain(1.0, name),
            Unit::Seconds if max == 0.0 => plain(1.0, "s"),
            Unit::Seconds => by(&[(1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s")]),
            Unit::BitsPerSecond if max == 0.0 => plain(1.0, "bit/s"),
            Unit::BitsPerSecond => {
                by(&[(1.0, "bit/s"), (1e3, "kbit/s"), (1e6, "Mbit/s"), (1e9, "Gbit/s")])
            }
            Unit::Bytes => by(&[(1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")]),
        }
    }

    /// The prefix by its name, such as `Mbit/s`; none if it is of another unit.
    pub fn prefix_named(&self, name: &str) -> Option<Prefix> {
        let known: &[(f64, &str)] = match self {
            Unit::Seconds => {
                &[(1e-9, "ns"), (1e-6, "µs"), (1e-6, "us"), (1e-3, "ms"), (1.0, "s"), (60.0, "min")]
            }
            Unit::BitsPerSecond => {
                &[(1.0, "bit/s"), (1e3, "kbit/s"), (1e6, "Mbit/s"), (1e9, "Gbit/s")]
            }
            Unit::Bytes => &[
                (1.0, "B"),
                (1e3, "kB"),
                (1e3, "KB"),
                (1e6, "MB"),
                (1e9, "GB"),
                (1024.0, "KiB"),
                (1_048_576.0, "MiB"),
            ],
            Unit::Share => &[(0.01, "%"), (1.0, "share")],
            Unit::None | Unit::Count(_) => {
                return Some(Prefix { factor: 1.0, unit: name.to_owned() });
            }
        };
        let (factor, _) = known.iter().find(|(_, known)| *known == name)?;
        Some(Prefix { factor: *factor, unit: name.to_owned() })
    }

    /// A single value with its unit: `10 kB`.
    pub fn text(&self, value: f64) -> String {
        let Prefix { factor, unit } = self.prefix(value);
        let number = number(value / factor);
        match (self, unit.as_str()) {
            (Unit::Count(_), _) | (_, "") => number,
            (_, unit) => format!("{number} {unit}"),
        }
    }
}

/// A number in few digits: as short as it is in four significant ones, without zeros at its end.
pub(crate) fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if wants_power(value) {
        return power(value);
    }
    let decimals = (3.0 - magnitude(value)).max(0.0) as usize;
    trimmed(&format!("{value:.decimals$}"))
}

/// Whether a number has too many zeros to be written out.
pub(crate) fn wants_power(value: f64) -> bool {
    value != 0.0 && !(-5.0..9.0).contains(&magnitude(value))
}

/// A number as a power of ten, or as a multiple of one: `10⁻⁶`, `2·10⁻⁷`.
pub(crate) fn power(value: f64) -> String {
    let exponent = magnitude(value) as i32;
    let mantissa = number(value / 10.0_f64.powi(exponent));
    let power = format!("10{}", superscript(exponent));
    if mantissa == "1" { power } else { format!("{mantissa}·{power}") }
}

fn magnitude(value: f64) -> f64 {
    value.abs().log10().floor()
}

/// A number without zeros behind its point, with a true minus, and with its thousands apart.
pub(crate) fn trimmed(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |rest| ("−", rest));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let part = part.trim_end_matches('0');
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && whole.len() > 4 && (whole.len() - index) % 3 == 0 {
            grouped.push('\u{2009}');
        }
        grouped.push(digit);
    }
    let sign = if grouped == "0" && part.is_empty() { "" } else { sign };
    if part.is_empty() { format!("{sign}{grouped}") } else { format!("{sign}{grouped}.{part}") }
}

fn superscript(exponent: i32) -> String {
    let digit = |char: char| match char {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => char::from_u32(0x2070 + digit.to_digit(10).unwrap_or(0)).unwrap_or('⁰'),
    };
    exponent.to_string().chars().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_prefix_that_makes_them_short() {
        let text = |unit: &str, value: f64| Unit::named(unit).text(value);
        assert_eq!(text("bytes", 10_000.0), "10 kB");
        assert_eq!(text("bytes", 1e6), "1 MB");
        assert_eq!(text("bit/s", 1_500_000.0), "1.5 Mbit/s");
        assert_eq!(text("s", 0.02), "20 ms");
        assert_eq!(text("s", 650.0), "650 s");
        assert_eq!(text("share", 0.25), "25 %");
        assert_eq!(text("packets", 20_000.0), "20\u{2009}000");
        assert_eq!(text("", 1e-6), "10⁻⁶");
        assert_eq!(text("", 2e-7), "2·10⁻⁷");
        assert_eq!(text("", -0.5), "−0.5");
        assert_eq!(text("s", 0.0), "0 s");
    }
}
