//! Numbers as texts of four significant digits.

/// Four significant digits; powers of ten where a number is very large or very small.
pub(crate) fn significant(value: f64) -> String {
    if !value.is_finite() {
        return "none".to_owned();
    }
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e7).contains(&size) {
        return format!("{value:.3e}");
    }
    let whole = if size < 1.0 { 0 } else { size.log10() as usize + 1 };
    let text = format!("{value:.*}", 4_usize.saturating_sub(whole.max(1)));
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let cases = [
            (0.0, "0"),
            (1.0, "1"),
            (0.12345, "0.123"),
            (29.0, "29"),
            (228_571.4, "228571"),
            (3.3e-9, "3.300e-9"),
            (-1.5, "-1.5"),
        ];
        for (value, text) in cases {
            assert_eq!(significant(value), text, "{value}");
        }
        assert_eq!(significant(f64::NAN), "none");
    }
}
