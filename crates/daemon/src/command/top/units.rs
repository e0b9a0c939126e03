//! Figures in few characters: rates, bytes, times and shares.

/// What is not known.
pub(crate) const NONE: &str = "-";

/// A number to three digits, with the prefix of its unit: at most five characters.
pub(crate) fn short(value: f64) -> String {
    if value < 999.5 {
        return format!("{value:.0}");
    }
    let scales = [("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)];
    let fits = |(_, scale): &(&str, f64)| value / scale < 999.5;
    let (prefix, scale) = scales.into_iter().find(fits).unwrap_or(("P", 1e15));
    let value = value / scale;
    let digits = match value {
        _ if value < 9.995 => 2,
        _ if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$}{prefix}")
}

/// The same of what may not be known.
pub(crate) fn short_or_none(value: Option<f64>) -> String {
    value.map_or_else(|| NONE.to_owned(), short)
}

/// A number with its unit: `7.61 Mbit/s`.
pub(crate) fn with_unit(value: f64, unit: &str) -> String {
    let short = short(value);
    match short.strip_suffix(|last: char| last.is_ascii_alphabetic()) {
        Some(number) => format!("{number} {}{unit}", &short[number.len()..]),
        None => format!("{short} {unit}"),
    }
}

/// A rate with its unit.
pub(crate) fn rate(bps: Option<f64>) -> String {
    bps.map_or_else(|| NONE.to_owned(), |bps| with_unit(bps, "bit/s"))
}

/// Bytes with their unit.
pub(crate) fn bytes(bytes: u64) -> String {
    with_unit(bytes as f64, "B")
}

/// Milliseconds, with a decimal if there are few: at most five characters.
pub(crate) fn millis(seconds: Option<f64>) -> String {
    match seconds.map(|seconds| seconds * 1e3) {
        None => NONE.to_owned(),
        Some(millis) if millis < 9.95 => format!("{millis:.1}"),
        Some(millis) => short(millis),
    }
}

/// A share: at most four characters.
pub(crate) fn share(share: Option<f64>) -> String {
    match share.map(|share| share * 100.0) {
        None => NONE.to_owned(),
        Some(0.0) => "0%".to_owned(),
        Some(percent) if percent < 0.05 => "~0%".to_owned(),
        Some(percent) if percent < 9.95 => format!("{percent:.1}%"),
        Some(percent) => format!("{percent:.0}%"),
    }
}

/// A time span in one unit: at most four characters.
pub(crate) fn age(seconds: f64) -> String {
    let seconds = seconds as u64;
    match seconds {
        0..100 => format!("{seconds}s"),
        100..6_000 => format!("{}m", seconds / 60),
        6_000..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// What keeps a leg back, in the words of the field where they are shorter.
pub(crate) fn limiter(name: &str) -> &str {
    match name {
        "application" => "source",
        "peer-window" => "rwnd",
        "link-turn" => "link",
        other => other,
    }
}

/// A text in so many columns: what does not fit is taken from its middle, as addresses differ at
/// their ends.
pub(crate) fn fit(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let (head, tail) = (kept.div_ceil(2), kept / 2);
    let ellipsis = if width > 0 { "…" } else { "" };
    let begin: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - tail).collect();
    begin + ellipsis + &end
}

/// A text in so many columns: what does not fit is taken from its end.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    if width > 0 { kept + "…" } else { kept }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_five_characters() {
        let values = [0.0, 7.4, 999.4, 999.5, 9_994.0, 9_996.0, 99_950.0, 1e6, 12_345_678.0, 1e15];
        let texts = ["0", "7", "999", "1.00k", "9.99k", "10.0k", "100k", "1.00M", "12.3M", "1.00P"];
        for (value, text) in values.into_iter().zip(texts) {
            assert_eq!(short(value), text, "{value}");
        }
        assert_eq!(rate(Some(7_610_000.0)), "7.61 Mbit/s");
        assert_eq!((bytes(17), bytes(1_234)), ("17 B".into(), "1.23 kB".into()));
    }

    #[test]
    fn times_and_shares_are_short() {
        let times = [None, Some(0.0004), Some(0.0123), Some(0.612), Some(12.0)].map(millis);
        assert_eq!(times, ["-", "0.4", "12", "612", "12.0k"]);
        let shares = [None, Some(0.0), Some(1e-5), Some(0.003), Some(0.123), Some(1.0)].map(share);
        assert_eq!(shares, ["-", "0%", "~0%", "0.3%", "12%", "100%"]);
        let ages = [0.5, 99.0, 100.0, 5_999.0, 6_000.0, 172_800.0].map(age);
        assert_eq!(ages, ["0s", "99s", "1m", "99m", "1h", "2d"]);
    }

    #[test]
    fn addresses_lose_their_middle_and_sentences_their_end() {
        assert_eq!(fit("[2001:db8:1:2:3:4:5:6]:443", 12), "[2001:…]:443");
        assert_eq!(cut("something is in the way", 10), "something…");
        for width in 0..30 {
            assert_eq!(fit(&"x".repeat(29), width).chars().count(), width.min(29));
            assert_eq!(cut(&"ß".repeat(29), width).chars().count(), width.min(29));
        }
    }
}
