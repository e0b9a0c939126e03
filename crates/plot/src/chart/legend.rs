//! The look of each name.

use super::{Data, Figure, Reference, lines, overlay, patch};
use crate::font;
use crate::palette::{self, MAX};
use crate::scene::{Area, Color, Element, Point, Shape, Stroke, Text, Weight};

/// Of texts.
const SIZE: f64 = 11.0;

/// From one line to the next.
const LINE: f64 = 17.0;

/// The width of a sample of a look.
const SAMPLE: f64 = 28.0;

/// Between a sample and its text.
const SPACE: f64 = 6.0;

/// Between columns.
const GAP: f64 = 16.0;

/// The names of a figure's curves and lines of reference.
pub(crate) struct Legend {
    entries: Vec<Entry>,
}

struct Entry {
    /// Its text in lines.
    lines: Vec<String>,
    look: Look,
}

enum Look {
    /// How curves of this kind and style look.
    Curve { kind: Kind, style: usize },
    /// A line of reference of this number.
    Reference(usize),
    /// Marks of this shape over the data.
    Overlay(Shape),
    /// An interval over the data, of which only the ends are known.
    Range,
    /// A number without a place from left to right, in this stroke.
    Across(Stroke),
}

#[derive(Clone, Copy)]
enum Kind {
    Lines,
    Points,
    Series,
    Dots,
    Crosses,
    Patch,
}

impl Legend {
    /// That of `figure`, no wider than `limit`; `None` if there is nothing to tell apart.
    pub(crate) fn new(figure: &Figure, limit: f64) -> Option<Legend> {
        let mut named: Vec<(String, Look)> = Vec::new();
        let mut curves: Vec<_> = figure.panels.iter().flat_map(|panel| &panel.curves).collect();
        curves.sort_by_key(|curve| curve.style);
        for curve in curves {
            if curve.name.is_empty() || named.iter().any(|(name, _)| *name == curve.name) {
                continue;
            }
            let kind = match curve.data {
                Data::Lines(_) => Kind::Lines,
                Data::Points(_) => Kind::Points,
                Data::Series(_) | Data::Steps(_) => Kind::Series,
                Data::Dots(_) => Kind::Dots,
                Data::Crosses(_) => Kind::Crosses,
                Data::Bars(_) | Data::LabelledBars { .. } | Data::Boxes(_) => Kind::Patch,
            };
            named.push((curve.name.clone(), Look::Curve { kind, style: curve.style % MAX }));
        }
        for (index, reference) in figure.references.iter().enumerate() {
            if !reference.label().is_empty() {
                named.push((reference.label().to_owned(), Look::Reference(index)));
            }
        }
        for overlay in &figure.overlays {
            let placed = || overlay.marks.iter().filter(|mark| mark.x.is_some());
            // Those of one curve have its color, as they are drawn.
            let style = overlay.marks.first().and_then(|mark| mark.style);
            let one = overlay.marks.iter().all(|mark| mark.style == style);
            let color = style
                .filter(|_| one)
                .map_or(Color::TEXT, |style| palette::style(style % MAX).color);
            let look = match placed().next() {
                None if overlay.marks.iter().all(|mark| mark.is_range) => {
                    Look::Across(overlay::end(color))
                }
                None => Look::Across(overlay::across(color)),
                Some(_) if placed().all(|mark| mark.is_range) => Look::Range,
                Some(_) => Look::Overlay(overlay.shape),
            };
            named.push((overlay.name.clone(), look));
        }
        let single = named.len() < 2
            && figure.overlays.is_empty()
            && figure.references.iter().all(|line| line.label().is_empty());
        if single {
            return None;
        }
        let text = (limit - SAMPLE - SPACE).max(40.0);
        let entry = |(name, look): (String, Look)| Entry {
            lines: font::wrap(&name, SIZE, Weight::Regular, text),
            look,
        };
        Some(Legend { entries: named.into_iter().map(entry).collect() })
    }

    /// Its width and height in so many columns.
    pub(crate) fn size(&self, columns: usize) -> (f64, f64) {
        let width = self.column_width() * columns as f64 + GAP * (columns.max(1) - 1) as f64;
        let height = self.rows(columns).map(row_height).sum();
        (width, height)
    }

    /// As many columns as there is room for on `width` px, of equal heights.
    pub(crate) fn columns(&self, width: f64) -> usize {
        let most = ((width + GAP) / (self.column_width() + GAP)).floor().max(1.0) as usize;
        let most = most.min(self.entries.len());
        let rows = self.entries.len().div_ceil(most.max(1));
        self.entries.len().div_ceil(rows.max(1))
    }

    /// Draws it with its upper left corner at `at`.
    pub(crate) fn draw(&self, at: Point, columns: usize) -> Element {
        let mut elements = Vec::new();
        let mut top = at.y;
        for row in self.rows(columns) {
            for (column, entry) in row.iter().enumerate() {
                let left = at.x + column as f64 * (self.column_width() + GAP);
                let middle = top + LINE / 2.0;
                elements.extend(entry.look.draw(left, middle));
                for (number, line) in entry.lines.iter().enumerate() {
                    let y = middle + SIZE * 0.36 + number as f64 * SIZE * font::LINE;
                    elements
                        .push(Text::new(Point::new(left + SAMPLE + SPACE, y), line, SIZE).into());
                }
            }
            top += row_height(row);
        }
        Element::Group { name: "legend".to_owned(), clip: None, elements }
    }

    fn rows(&self, columns: usize) -> impl Iterator<Item = &[Entry]> {
        self.entries.chunks(columns.max(1))
    }

    fn column_width(&self) -> f64 {
        let lines = self.entries.iter().flat_map(|entry| &entry.lines);
        let widths = lines.map(|line| font::width(line, SIZE, Weight::Regular));
        SAMPLE + SPACE + widths.fold(0.0, f64::max)
    }
}

fn row_height(row: &[Entry]) -> f64 {
    let lines = row.iter().map(|entry| entry.lines.len()).max().unwrap_or(1).max(1);
    LINE + (lines - 1) as f64 * SIZE * font::LINE
}

impl Look {
    /// A sample from `left` on, around the height `middle`.
    fn draw(&self, left: f64, middle: f64) -> Vec<Element> {
        let line = |stroke: Stroke| Element::Line {
            from: Point::new(left, middle),
            to: Point::new(left + SAMPLE, middle),
            stroke,
        };
        let marker = |shape: Shape, size: f64, color| Element::Markers {
            shape,
            at: vec![Point::new(left + SAMPLE / 2.0, middle)],
            size,
            color,
        };
        let (kind, style) = match self {
            Look::Reference(index) => return vec![line(Reference::stroke(*index))],
            Look::Overlay(shape) => return vec![marker(*shape, overlay::SIZE, Color::TEXT)],
            Look::Range => {
                let at = Point::new(left + SAMPLE / 2.0, middle);
                let lines = overlay::interval(at.x, at.y + 5.0, at.y - 5.0);
                return vec![Element::Segments { lines, stroke: Stroke::new(Color::TEXT, 1.3) }];
            }
            Look::Across(stroke) => return vec![line(*stroke)],
            Look::Curve { kind, style } => (kind, palette::style(*style)),
        };
        let stroke = Stroke::new(style.color, 1.8).dashed(style.dash);
        match kind {
            Kind::Lines => vec![line(stroke), marker(style.shape, 7.0, style.color)],
            Kind::Points => vec![marker(style.shape, 7.0, style.color)],
            Kind::Series => vec![line(stroke)],
            Kind::Dots => vec![marker(Shape::Dot, 5.0, style.color)],
            Kind::Crosses => vec![marker(Shape::Cross, lines::CROSS, style.color)],
            Kind::Patch => {
                let area =
                    Area { x: left + 4.0, y: middle - 5.5, width: SAMPLE - 8.0, height: 11.0 };
                patch(area, style).to_vec()
            }
        }
    }
}
