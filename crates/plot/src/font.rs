//! The font of figures, and the widths of its texts.
//!
//! DejaVu Sans is wider than nearly all sans-serif fonts. Verdana, which has its proportions, comes
//! with most systems. So a text that has room in it has room in any font that a browser takes in
//! its place.

use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

/// The font's name, and what stands in for it.
pub const FAMILIES: &str = "'DejaVu Sans', Verdana, 'Segoe UI', Helvetica, Arial, sans-serif";

/// The rise of capitals and accents above the baseline: a share of the font's size.
pub const ASCENT: f64 = 0.76;

/// The depth of letters below the baseline, as a share of the font's size.
pub const DESCENT: f64 = 0.24;

/// From one line's baseline to the next one's, of the font's size.
pub const LINE: f64 = 1.3;

/// The weight of a font.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Regular.
    Regular,
    /// Bold.
    Bold,
}

/// The font's file.
pub(crate) fn file(weight: Weight) -> &'static [u8] {
    match weight {
        Weight::Regular => dejavu::sans::regular(),
        Weight::Bold => dejavu::sans::bold(),
    }
}

/// The width of `text` in a font of `size`, both in px.
pub fn width(text: &str, size: f64, weight: Weight) -> f64 {
    let font = FontRef::new(file(weight)).expect("the font that we bring is sound");
    let (glyphs, map) =
        (font.glyph_metrics(Size::new(1000.0), LocationRef::default()), font.charmap());
    // What the font does not have comes from another one: an em is enough for it.
    let advance = |char: char| map.map(char).and_then(|glyph| glyphs.advance_width(glyph));
    text.chars().map(|char| f64::from(advance(char).unwrap_or(1000.0))).sum::<f64>() * size / 1000.0
}

/// Breaks `text` into lines no wider than `limit`.
///
/// Lines end at spaces, and within a word only if it alone is too wide.
pub fn wrap(text: &str, size: f64, weight: Weight, limit: f64) -> Vec<String> {
    let fits = |line: &str| width(line, size, weight) <= limit;
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
            if fits(&longer) {
                line = longer;
                continue;
            }
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            for char in word.chars() {
                line.push(char);
                if !fits(&line) && line.chars().count() > 1 {
                    line.pop();
                    // Behind what may stand at a line's end, if there is some.
                    let at = line
                        .rfind(['-', ',', '=', '/', ':', '.', '_'])
                        .map_or(line.len(), |at| at + 1);
                    let mut rest = line.split_off(at);
                    lines.push(std::mem::take(&mut line));
                    rest.push(char);
                    line = rest;
                }
            }
        }
        if !line.is_empty() {
            lines.push(line);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_the_font() {
        // Of DejaVu Sans 2.37: digits are 1303 of 2048 units wide.
        let digit = 1303.0 / 2048.0 * 10.0;
        assert!((width("0", 10.0, Weight::Regular) - digit).abs() < 0.01);
        assert!((width("2026", 10.0, Weight::Regular) - 4.0 * digit).abs() < 0.04);
        assert!(width("0", 10.0, Weight::Bold) > digit);
        assert!(width("µ → ≤", 10.0, Weight::Regular) < 50.0);
    }

    #[test]
    fn lines_are_no_wider_than_they_may() {
        let text = "Six flows of different round-trip times on one bottleneck of 1.5 Mbit/s";
        let lines = wrap(text, 12.0, Weight::Regular, 150.0);
        assert!(lines.len() > 2 && lines.join(" ") == text, "{lines:?}");
        for line in &lines {
            assert!(width(line, 12.0, Weight::Regular) <= 150.0, "{line}");
        }
        let lines = wrap("red:limit=200packets,min-threshold=30", 12.0, Weight::Regular, 140.0);
        assert_eq!(lines, ["red:limit=200packets,", "min-threshold=30"]);
        assert_eq!(wrap("x", 12.0, Weight::Regular, 1.0), ["x"], "a letter is never lost");
    }
}
