//! One chart: its grid, its axes and what is in it.

use super::bars::BarPosition;
use super::frame::Frame;
use super::labels::XLabels;
use super::{Data, Figure, bars, boxes, lines};
use crate::axes::{Scale, TickLabel};
use crate::palette::{self, MAX};
use crate::scene::{Area, Color, Element, Point, Stroke};

/// The grid and the axes' lines and ticks.
pub(super) fn axes(frame: &Frame<'_>, x: &XLabels, y: &[TickLabel]) -> Element {
    let area = frame.area;
    let inside = |at: f64, from: f64, to: f64| (from - 0.5..=to + 0.5).contains(&at);
    let (mut grid, mut ticks) = (Vec::new(), Vec::new());
    let across = |y: f64| (Point::new(area.x, y), Point::new(area.right(), y));
    let down = |x: f64| (Point::new(x, area.y), Point::new(x, area.bottom()));
    for at in y.iter().filter_map(|tick| frame.y(tick.value)) {
        if inside(at, area.y, area.bottom()) {
            grid.push(across(at));
            ticks.push((Point::new(area.x - 4.0, at), Point::new(area.x, at)));
        }
    }
    let names = matches!(frame.x_axis.scale, Scale::Categories(_));
    for at in x.ticks().iter().filter_map(|tick| frame.x(tick.value)) {
        if inside(at, area.x, area.right()) {
            if !names {
                grid.push(down(at));
            }
            let bottom = area.bottom();
            ticks.push((Point::new(at, bottom), Point::new(at, bottom + 4.0)));
        }
    }
    for at in frame.x_axis.minor().iter().filter_map(|value| frame.x(*value)) {
        let bottom = area.bottom();
        ticks.push((Point::new(at, bottom), Point::new(at, bottom + 2.5)));
    }
    for at in frame.y_axis.minor().iter().filter_map(|value| frame.y(*value)) {
        ticks.push((Point::new(area.x - 2.5, at), Point::new(area.x, at)));
    }
    let stroke = Stroke::new(Color::AXIS, 1.0);
    let elements = vec![
        Element::Segments { lines: grid, stroke: Stroke::new(Color::GRID, 0.8) },
        Element::Segments { lines: vec![down(area.x), across(area.bottom())], stroke },
        Element::Segments { lines: ticks, stroke },
    ];
    Element::Group { name: "axes".to_owned(), clip: None, elements }
}

/// The contents of panel `index` of `figure`, cut off at the axes' ends.
pub(super) fn data(frame: &Frame<'_>, figure: &Figure, index: usize) -> Element {
    let curves = figure.panels.get(index).map_or(&[][..], |panel| &panel.curves);
    let drawn = figure.references.iter().enumerate();
    let mut elements: Vec<Element> =
        drawn.filter_map(|(index, line)| line.draw(frame, index)).collect();
    // Beside each other stand those that are there, in the order of their styles.
    let mut side: Vec<usize> = curves
        .iter()
        .filter(|curve| curve.data.is_side_by_side())
        .map(|curve| curve.style)
        .collect();
    side.sort_unstable();
    side.dedup();
    for curve in curves {
        let style = palette::style(curve.style % MAX);
        let among = side.iter().position(|other| *other == curve.style).unwrap_or(0);
        let position = BarPosition { index: among, of: side.len() };
        let drawn = match &curve.data {
            Data::Bars(points) => bars::draw(frame, points, style, position),
            Data::LabelledBars { points, labels } => {
                let mut elements = bars::draw(frame, points, style, position);
                elements.extend(bars::labels(frame, points, labels, position));
                elements
            }
            Data::Boxes(all) => boxes::draw(frame, all, style, position),
            other => lines::draw(frame, other, style),
        };
        elements.push(Element::Group { name: "curve".to_owned(), clip: None, elements: drawn });
    }
    elements.extend(figure.overlays.iter().map(|overlay| overlay.draw(frame, index, &side)));
    // Marks at an axis' end are seen whole.
    Element::Group { name: "data".to_owned(), clip: Some(frame.area.grown(5.0)), elements }
}

/// Whether any of `elements` is in `area`.
pub(super) fn is_taken(elements: &[Element], area: Area) -> bool {
    elements.iter().any(|element| match element {
        Element::Line { from, to, .. } => area.is_crossed(*from, *to),
        Element::Polyline { points, .. } => {
            points.windows(2).any(|pair| area.is_crossed(pair[0], pair[1]))
        }
        Element::Segments { lines, .. } => {
            lines.iter().any(|(from, to)| area.is_crossed(*from, *to))
        }
        Element::Rect { area: other, .. } => area.meets(*other),
        Element::Circle { center, radius, .. } => area.grown(*radius).has(*center),
        Element::Markers { at, size, .. } => {
            let around = area.grown(size / 2.0);
            at.iter().any(|point| around.has(*point))
        }
        Element::Text(text) => area.meets(text.area()),
        Element::Group { elements, .. } => is_taken(elements, area),
    })
}
