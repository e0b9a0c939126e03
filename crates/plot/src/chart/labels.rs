//! Texts at the ticks of the axis below, so that none touches another.

use crate::axes::{Axis, Scale, TickLabel};
use crate::font;
use crate::scene::{Anchor, Element, Point, Text, Weight};

/// Of tick texts.
pub(super) const SIZE: f64 = 11.0;

/// Between two texts.
const GAP: f64 = 8.0;

/// Of texts that lean, in degrees.
const SLANT: f64 = -40.0;

/// No text that leans is longer.
const LONGEST: f64 = 150.0;

/// How the texts of an axis are set.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct XLabels {
    ticks: Vec<TickLabel>,
    /// Lines of each text; of those that lean one.
    lines: Vec<Vec<String>>,
    leaning: bool,
    /// The room that they take below the axis.
    pub(super) height: f64,
    /// How far the first one goes beyond the axis' beginning.
    pub(super) before: f64,
    /// How far the last one goes beyond the axis' end.
    pub(super) behind: f64,
}

impl XLabels {
    /// Those of `axis` on `width` px.
    pub(super) fn new(axis: &Axis, width: f64) -> XLabels {
        match axis.scale {
            Scale::Categories(count) => XLabels::of_names(axis, width, width / count.max(1) as f64),
            _ => XLabels::of_numbers(axis, width),
        }
    }

    /// As many ticks as have room.
    fn of_numbers(axis: &Axis, width: f64) -> XLabels {
        let mut best = Vec::new();
        for count in (2..=10).rev() {
            best = axis.ticks(count);
            let mut end = f64::NEG_INFINITY;
            let fits = best.iter().all(|tick| {
                let middle = axis.scale.place(tick.value).unwrap_or(0.0) * width;
                let half = text_width(&tick.text) / 2.0;
                let fits = middle - half >= end;
                end = middle + half + GAP;
                fits
            });
            if fits {
                break;
            }
        }
        let lines = best.iter().map(|tick| vec![tick.text.clone()]).collect();
        XLabels::measured(axis, width, best, lines, false)
    }

    /// Names in lines if they fit so, leaning otherwise, and then not all of them if they are too
    /// near.
    fn of_names(axis: &Axis, width: f64, slot: f64) -> XLabels {
        let ticks = axis.ticks(0);
        let wrap = |tick: &TickLabel| font::wrap(&tick.text, SIZE, Weight::Regular, slot - GAP);
        let lines: Vec<Vec<String>> = ticks.iter().map(wrap).collect();
        let joined = |(tick, lines): (&TickLabel, &Vec<String>)| {
            let words = tick.text.split_whitespace().collect::<Vec<_>>().join(" ");
            // A word that had to be broken is better read leaning, unless it says where it may be
            // broken.
            let whole = lines.iter().all(|line| words.contains(line.as_str()));
            let broken = lines.iter().zip(lines.iter().skip(1)).any(|(line, _)| {
                !words.contains(&format!("{line} ")) && !line.ends_with(['-', ',', '=', ':', '/'])
            });
            lines.len() <= 4 && whole && !broken
        };
        if ticks.iter().zip(&lines).all(joined) {
            return XLabels::measured(axis, width, ticks, lines, false);
        }
        let room = slot * SLANT.to_radians().sin().abs();
        let every = (SIZE * 1.15 / room).ceil().max(1.0) as usize;
        let ticks: Vec<TickLabel> = ticks.into_iter().step_by(every).collect();
        let lines = ticks.iter().map(|tick| vec![shortened(&tick.text)]).collect();
        XLabels::measured(axis, width, ticks, lines, true)
    }

    fn measured(
        axis: &Axis,
        width: f64,
        ticks: Vec<TickLabel>,
        lines: Vec<Vec<String>>,
        leaning: bool,
    ) -> XLabels {
        let (mut before, mut behind) = (0.0_f64, 0.0_f64);
        let mut height = 0.0_f64;
        let angle = SLANT.to_radians();
        for (tick, lines) in ticks.iter().zip(&lines) {
            let at = axis.scale.place(tick.value).unwrap_or(0.0) * width;
            let wide = lines.iter().map(|line| text_width(line)).fold(0.0, f64::max);
            if leaning {
                before = before.max(wide * angle.cos() - at);
                height = height.max(wide * angle.sin().abs() + SIZE);
            } else {
                before = before.max(wide / 2.0 - at);
                behind = behind.max(at + wide / 2.0 - width);
                height = height.max(lines.len() as f64 * SIZE * font::LINE);
            }
        }
        XLabels { ticks, lines, leaning, height: height + 8.0, before, behind }
    }

    /// Where the ticks are.
    pub(super) fn ticks(&self) -> &[TickLabel] {
        &self.ticks
    }

    /// The texts, below an axis at `bottom` that begins at `left` and is `width` px long.
    pub(super) fn draw(&self, axis: &Axis, left: f64, bottom: f64, width: f64) -> Vec<Element> {
        let mut elements = Vec::new();
        for (tick, lines) in self.ticks.iter().zip(&self.lines) {
            let x = left + axis.scale.place(tick.value).unwrap_or(0.0) * width;
            for (number, line) in lines.iter().enumerate() {
                let y = bottom + 7.0 + SIZE * (font::ASCENT + number as f64 * font::LINE);
                let text = if self.leaning {
                    let at = Point::new(x + SIZE * 0.3, bottom + 6.0 + SIZE * 0.6);
                    Text { rotation: SLANT, ..Text::new(at, line, SIZE).anchored(Anchor::End) }
                } else {
                    Text::new(Point::new(x, y), line, SIZE).anchored(Anchor::Middle)
                };
                elements.push(text.into());
            }
        }
        elements
    }
}

fn text_width(text: &str) -> f64 {
    font::width(text, SIZE, Weight::Regular)
}

/// A text that is not too long to lean: its beginning and its end.
fn shortened(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut kept = chars.len();
    let cut = |kept: usize| -> String {
        if kept >= chars.len() {
            return text.to_owned();
        }
        let end = kept / 3;
        let parts = [&chars[..kept - end], &['…'], &chars[chars.len() - end..]];
        parts.concat().into_iter().collect()
    };
    while kept > 3 && text_width(&cut(kept)) > LONGEST {
        kept -= 1;
    }
    cut(kept)
}
