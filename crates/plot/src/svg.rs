//! Scenes as SVG: texts stay texts.

use crate::font::FAMILIES;
use crate::scene::{Anchor, Area, Color, Element, Point, Scene, Shape, Stroke, Text, Weight};
use std::fmt::Write;

/// `scene` as a file of SVG.
pub fn write(scene: &Scene) -> String {
    let mut writer = Writer { text: String::new() };
    let (width, height) = (Number(scene.width), Number(scene.height));
    let _ = writeln!(
        writer.text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" font-family=\"{FAMILIES}\">"
    );
    for (tag, text) in [("title", &scene.title), ("desc", &scene.about)] {
        if !text.is_empty() {
            let _ = writeln!(writer.text, "<{tag}>{}</{tag}>", escaped(text));
        }
    }
    let _ = writeln!(
        writer.text,
        "<rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>",
        Color::WHITE
    );
    writer.all(&scene.elements);
    writer.text.push_str("</svg>\n");
    writer.text
}

/// A hundredth of a px is fine enough.
struct Number(f64);

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rounded = (self.0 * 100.0).round() / 100.0;
        // No `-0`, and nothing that is no number.
        write!(f, "{}", if rounded == 0.0 || !rounded.is_finite() { 0.0 } else { rounded })
    }
}

struct Writer {
    text: String,
}

impl Writer {
    fn all(&mut self, elements: &[Element]) {
        for element in elements {
            self.element(element);
        }
    }

    fn element(&mut self, element: &Element) {
        match element {
            Element::Line { from, to, stroke } => self.path(&line(*from, *to), *stroke),
            Element::Polyline { points, stroke } => {
                let mut path = String::new();
                for (index, point) in points.iter().enumerate() {
                    let _ = write!(path, "{}{}", if index == 0 { 'M' } else { 'L' }, pair(*point));
                }
                self.path(&path, *stroke);
            }
            Element::Segments { lines, stroke } => {
                let path: String = lines.iter().map(|(from, to)| line(*from, *to)).collect();
                self.path(&path, *stroke);
            }
            Element::Rect { area, fill, stroke } => {
                let _ = writeln!(self.text, "<rect {}{}/>", place(*area), paint(*fill, *stroke));
            }
            Element::Circle { center, radius, fill, stroke } => {
                let _ = writeln!(
                    self.text,
                    "<circle cx=\"{}\" cy=\"{}\" r=\"{}\"{}/>",
                    Number(center.x),
                    Number(center.y),
                    Number(*radius),
                    paint(*fill, *stroke)
                );
            }
            Element::Markers { shape, at, size, color } => self.markers(*shape, at, *size, *color),
            Element::Text(text) => self.words(text),
            Element::Group { name, clip, elements } => {
                self.text.push_str("<g");
                if !name.is_empty() {
                    let _ = write!(self.text, " class=\"{}\"", escaped(name));
                }
                self.text.push_str(">\n");
                // An inner picture cuts off what is outside, without a name that another picture
                // could have, too.
                if let Some(area) = clip {
                    let Area { x, y, width, height } = *area;
                    let view = [x, y, width, height].map(|part| Number(part).to_string()).join(" ");
                    let _ = writeln!(self.text, "<svg {} viewBox=\"{view}\">", place(*area));
                }
                self.all(elements);
                if clip.is_some() {
                    self.text.push_str("</svg>\n");
                }
                self.text.push_str("</g>\n");
            }
        }
    }

    fn path(&mut self, path: &str, stroke: Stroke) {
        if !path.is_empty() {
            let paint = paint(None, Some(stroke));
            let _ = writeln!(self.text, "<path d=\"{path}\"{paint} stroke-linejoin=\"round\"/>");
        }
    }

    fn markers(&mut self, shape: Shape, at: &[Point], size: f64, color: Color) {
        let mut path = String::new();
        for center in at {
            mark(&mut path, shape, *center, size / 2.0);
        }
        if path.is_empty() {
            return;
        }
        let line = Some(Stroke::new(color, (size / 5.0).clamp(0.8, 1.6)));
        let paint = match shape {
            Shape::Cross => paint(None, line),
            Shape::Dot => paint(None, Some(Stroke::new(color, size))),
            Shape::Ring | Shape::Frame | Shape::Lozenge | Shape::Star => {
                paint(Some(Color::WHITE), line)
            }
            _ => paint(Some(color), None),
        };
        let _ = writeln!(self.text, "<path d=\"{path}\"{paint}/>");
    }

    fn words(&mut self, text: &Text) {
        let (x, y) = (Number(text.at.x), Number(text.at.y));
        let _ = write!(self.text, "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\"", Number(text.size));
        match text.anchor {
            Anchor::Start => {}
            Anchor::Middle => self.text.push_str(" text-anchor=\"middle\""),
            Anchor::End => self.text.push_str(" text-anchor=\"end\""),
        }
        if text.weight == Weight::Bold {
            self.text.push_str(" font-weight=\"bold\"");
        }
        if text.rotation != 0.0 {
            let _ = write!(self.text, " transform=\"rotate({} {x} {y})\"", Number(text.rotation));
        }
        let _ = writeln!(self.text, " fill=\"{}\">{}</text>", text.color, escaped(&text.text));
    }
}

fn pair(point: Point) -> String {
    format!("{},{}", Number(point.x), Number(point.y))
}

fn line(from: Point, to: Point) -> String {
    format!("M{}L{}", pair(from), pair(to))
}

fn place(area: Area) -> String {
    let Area { x, y, width, height } = area;
    let (x, y, width, height) = (Number(x), Number(y), Number(width), Number(height));
    format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"")
}

fn paint(fill: Option<Color>, stroke: Option<Stroke>) -> String {
    let mut text = match fill {
        Some(color) => format!(" fill=\"{color}\""),
        None => " fill=\"none\"".to_owned(),
    };
    if let Some(Stroke { color, width, dash }) = stroke {
        let _ = write!(text, " stroke=\"{color}\" stroke-width=\"{}\"", Number(width));
        if !dash.is_empty() {
            let lengths: Vec<String> = dash.iter().map(|part| Number(*part).to_string()).collect();
            let _ = write!(text, " stroke-dasharray=\"{}\"", lengths.join(" "));
        }
    }
    text
}

/// Adds a mark with half its width `r` to a path.
fn mark(path: &mut String, shape: Shape, center: Point, r: f64) {
    let Point { x, y } = center;
    let at = |dx: f64, dy: f64| pair(Point::new(x + dx * r, y + dy * r));
    let _ = match shape {
        Shape::Circle | Shape::Ring => {
            let (r, twice) = (Number(r), Number(2.0 * r));
            write!(path, "M{}a{r},{r} 0 1 0 {twice},0a{r},{r} 0 1 0 -{twice},0z", at(-1.0, 0.0))
        }
        Shape::Square | Shape::Frame => {
            let side = Number(1.8 * r);
            write!(path, "M{}h{side}v{side}h-{side}z", at(-0.9, -0.9))
        }
        // A line that is as thick as it is long: there are thousands of them.
        Shape::Dot => write!(path, "M{}h{}", at(-1.0, 0.0), Number(2.0 * r)),
        Shape::Triangle => {
            write!(path, "M{}L{}L{}z", at(0.0, -1.15), at(1.1, 0.85), at(-1.1, 0.85))
        }
        Shape::Inverted => {
            write!(path, "M{}L{}L{}z", at(0.0, 1.15), at(1.1, -0.85), at(-1.1, -0.85))
        }
        Shape::Diamond | Shape::Lozenge => write!(
            path,
            "M{}L{}L{}L{}z",
            at(0.0, -1.25),
            at(1.25, 0.0),
            at(0.0, 1.25),
            at(-1.25, 0.0)
        ),
        Shape::Star => {
            let corner = |index: u32| {
                let turn = f64::from(index) * std::f64::consts::PI / 5.0;
                let far = if index.is_multiple_of(2) { 1.3 } else { 0.6 };
                at(turn.sin() * far, -turn.cos() * far)
            };
            let corners: Vec<String> = (0..10).map(corner).collect();
            write!(path, "M{}z", corners.join("L"))
        }
        Shape::Cross => {
            write!(path, "M{}L{}M{}L{}", at(-0.9, -0.9), at(0.9, 0.9), at(-0.9, 0.9), at(0.9, -0.9))
        }
    };
}

/// As text of XML: without what would end it, and without what XML cannot have.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(' '),
            char if char.is_control() || matches!(char, '\u{fffe}' | '\u{ffff}') => {
                out.push('\u{fffd}');
            }
            char => out.push(char),
        }
    }
    out
}
