//! The legend: classes of data, lines, and what limited the sender.

use super::map::SIZE;
use bentpipe_plot::font::{self, Weight};
use bentpipe_plot::scene::{Area, Color, Element, Point, Stroke, Text};

/// Of a line of it, in px.
const LINE: f64 = 18.0;

/// An entry.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) color: Color,
    /// A box, not a line.
    pub(super) filled: bool,
}

/// Entries from `left` to `right`, on as many lines as they take, the first of which is at `y`; and
/// where what follows has room.
pub(super) fn legend(entries: Vec<Entry>, y: f64, left: f64, right: f64) -> (Element, f64) {
    let (mut x, mut y) = (left, y);
    let mut elements = Vec::new();
    for Entry { name, color, filled } in entries {
        let width = 21.0 + font::width(&name, SIZE, Weight::Regular) + 16.0;
        if x + width - 16.0 > right && x > left {
            (x, y) = (left, y + LINE);
        }
        elements.push(if filled {
            let area = Area { x: x + 3.0, y: y - 9.0, width: 10.0, height: 10.0 };
            Element::Rect { area, fill: Some(color), stroke: None }
        } else {
            let (from, to) = (Point::new(x, y - 4.0), Point::new(x + 16.0, y - 4.0));
            Element::Line { from, to, stroke: Stroke::new(color, 3.0) }
        });
        elements.push(Element::Text(Text::new(Point::new(x + 21.0, y), name, SIZE)));
        x += width;
    }
    (Element::Group { name: "legend".to_owned(), clip: None, elements }, y)
}
