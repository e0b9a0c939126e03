//! The lane below the sequence numbers: what limited the sender while it was silent. It is pale
//! where that is inferred.

use super::color;
use super::map::Map;
use bentpipe_capture::explain::explain;
use bentpipe_capture::{Analysis, Connection, Direction, Silence};
use bentpipe_plot::font::{self, Weight};
use bentpipe_plot::scene::{Area, Color, Element, Point, Text};

/// In px.
pub(super) const HEIGHT: f64 = 12.0;
/// Of the names in it.
const SIZE: f64 = 9.0;

/// A time in which the sender was silent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Limited {
    /// In seconds since the connection's first segment.
    pub(super) from: f64,
    pub(super) to: f64,
    /// The limiter in words, and its color.
    pub(super) name: String,
    pub(super) color: Color,
}

/// What limited a direction's sender: as it has recorded it, or as far as it can be inferred.
pub(super) fn limits(
    connection: &Connection,
    analysis: &Analysis,
    direction: Direction,
) -> Vec<Limited> {
    let recorded = &connection.limits[direction.index()];
    let silences = if recorded.is_empty() {
        let story = explain(connection, analysis, direction);
        let known = |silence: &Silence| silence.said().limiters().next().is_some();
        story.silences().copied().filter(known).collect()
    } else {
        recorded.clone()
    };
    let limited = silences.into_iter().map(|silence| Limited {
        from: silence.begin as f64 / 1e9,
        to: silence.end as f64 / 1e9,
        name: silence.said().name(),
        color: shown(color(silence.said().color()), silence.inferred()),
    });
    limited.collect()
}

/// The lane of a connection, at its area.
pub(super) fn lane(map: &Map<'_>, limits: &[Limited]) -> Element {
    let Area { x: left, y, width, height } = map.area;
    let mut elements = vec![rect(map.area, Color::GRID)];
    let mut boxes: Vec<(Area, &Limited)> = Vec::new();
    for one in limits {
        let at = |time| (left + map.along(time) * width).clamp(left, left + width);
        let (from, to) = (at(one.from), at(one.to));
        match boxes.last_mut() {
            // What is narrower than a pixel is drawn once for each pixel.
            Some((last, _)) if to <= last.right() && to - from < 1.0 => {}
            // Nobody sees the moment between them.
            Some((last, limited))
                if from - last.right() < 0.5
                    && (&limited.name, limited.color) == (&one.name, one.color) =>
            {
                last.width = last.width.max(to - last.x);
            }
            _ => boxes.push((Area { x: from, y, width: (to - from).max(1.0), height }, one)),
        }
    }
    elements.extend(boxes.iter().map(|(area, one)| rect(*area, one.color)));
    for (area, one) in boxes {
        if area.width > font::width(&one.name, SIZE, Weight::Regular) + 6.0 {
            let mut text = Text::new(Point::new(area.x + 3.0, y + 9.0), &one.name, SIZE);
            text.color = Color::WHITE;
            elements.push(Element::Text(text));
        }
    }
    Element::Group { name: "limiters".to_owned(), clip: Some(map.area), elements }
}

fn rect(area: Area, fill: Color) -> Element {
    Element::Rect { area, fill: Some(fill), stroke: None }
}

/// What is inferred looks as through a veil of white; white letters can still be read on it.
fn shown(color: Color, inferred: bool) -> Color {
    let Color(red, green, blue) = color;
    let mixed = |part: u8| (f64::from(part) * 0.7 + 255.0 * 0.3).round() as u8;
    if inferred { Color(mixed(red), mixed(green), mixed(blue)) } else { color }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_plot::axes::{Axis, AxisSpec};

    /// The boxes and the names in a lane of 100 px and 10 s.
    fn drawn(limits: &[Limited]) -> (usize, usize) {
        let x = Axis::new(&AxisSpec::default(), [0.0, 10.0]);
        let area = Area { x: 0.0, y: 0.0, width: 100.0, height: HEIGHT };
        let lane = lane(&Map { area, x: &x, y: &x }, limits);
        let Element::Group { elements, .. } = lane else { panic!("{lane:?}") };
        let of = |is: fn(&Element) -> bool| elements.iter().filter(|one| is(one)).count();
        // The first one is the ground.
        (
            of(|one| matches!(one, Element::Rect { .. })) - 1,
            of(|one| matches!(one, Element::Text(_))),
        )
    }

    fn limited(name: &str, from: f64, to: f64) -> Limited {
        let color = Color(name.len() as u8, 0, 0);
        Limited { from, to, name: name.to_owned(), color }
    }

    #[test]
    fn a_long_silence_has_its_name() {
        assert_eq!(drawn(&[limited("cwnd", 0.0, 5.0), limited("application", 6.0, 7.0)]), (2, 1));
    }

    #[test]
    fn silences_that_nobody_can_see_apart_are_drawn_as_one() {
        assert_eq!(drawn(&[limited("cwnd", 0.0, 2.0), limited("cwnd", 2.01, 4.0)]), (1, 1));
        let mut many = Vec::new();
        for at in (0..50_000).map(|at| f64::from(at) / 5000.0) {
            many.push(limited("cwnd", at, at + 5e-5));
            many.push(limited("pacer", at + 1e-4, at + 1.5e-4));
        }
        let (boxes, names) = drawn(&many);
        assert!((1..=101).contains(&boxes) && names <= 1, "{boxes}");
    }
}
