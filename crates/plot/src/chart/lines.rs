//! Lines, points, series, steps and dots.

use super::frame::Frame;
use super::{Data, Datum, thin};
use crate::palette::Style;
use crate::scene::{Element, Point, Shape, Stroke};

/// Of a mark, in px.
pub(super) const MARK: f64 = 7.0;

/// Of a dot, in px.
const DOT: f64 = 1.8;

/// Of a cross, in px.
pub(super) const CROSS: f64 = 5.0;

/// Beside the middle of an error bar, in px.
pub(super) const CAP: f64 = 3.0;

/// What is drawn of `data`.
pub(super) fn draw(frame: &Frame<'_>, data: &Data, style: Style) -> Vec<Element> {
    let points = data.points();
    match data {
        Data::Lines(_) => {
            let mut elements = vec![errors(frame, points, style, 0.0)];
            elements.extend(polylines(
                frame,
                points,
                Stroke::new(style.color, 1.8).dashed(style.dash),
            ));
            elements.push(marks(frame, points, style));
            elements
        }
        Data::Points(_) => vec![errors(frame, points, style, 0.0), marks(frame, points, style)],
        Data::Series(_) => {
            polylines(frame, points, Stroke::new(style.color, 1.4).dashed(style.dash))
        }
        Data::Steps(_) => {
            let mut steps: Vec<Datum> = Vec::with_capacity(points.len() * 2);
            for point in points {
                if let Some(last) = steps.last().copied() {
                    steps.push(Datum::new(point.x, last.y));
                }
                steps.push(*point);
            }
            polylines(frame, &steps, Stroke::new(style.color, 1.6).dashed(style.dash))
        }
        Data::Dots(_) => {
            let (at, size, color) = (thin::dots(seen(frame, points)), DOT, style.color);
            vec![Element::Markers { shape: Shape::Dot, at, size, color }]
        }
        Data::Crosses(_) => {
            let (at, size, color) = (thin::marks(seen(frame, points)), CROSS, style.color);
            vec![Element::Markers { shape: Shape::Cross, at, size, color }]
        }
        Data::Bars(_) | Data::LabelledBars { .. } | Data::Boxes(_) => Vec::new(),
    }
}

/// A line for each stretch of points that have a place; one that is no number has none.
fn polylines(frame: &Frame<'_>, points: &[Datum], stroke: Stroke) -> Vec<Element> {
    let place = |point: &Datum| frame.point(point.x, point.y).filter(|at| at.y.is_finite());
    let places: Vec<Option<Point>> = within(frame, points).iter().map(place).collect();
    let stretches = places.split(Option::is_none).filter(|stretch| stretch.len() > 1);
    let line = |stretch: &[Option<Point>]| {
        let places: Vec<Point> = stretch.iter().flatten().copied().collect();
        let points = thin::line(&places);
        Element::Polyline { points, stroke }
    };
    stretches.map(line).collect()
}

/// The places of points that are seen: an axis may have ends of its own.
fn seen(frame: &Frame<'_>, points: &[Datum]) -> Vec<Point> {
    let near = frame.area.grown(CROSS);
    let places = points.iter().filter_map(|point| frame.point(point.x, point.y));
    places.filter(|at| near.has(*at)).collect()
}

/// Points from the one before the axis' beginning to the one behind its end, of a curve over time.
fn within<'a>(frame: &Frame<'_>, points: &'a [Datum]) -> &'a [Datum] {
    if !points.is_sorted_by(|a, b| a.x <= b.x) {
        return points;
    }
    let before =
        |end: f64| points.partition_point(|point| frame.x(point.x).is_none_or(|x| x < end));
    let from = before(frame.area.x).saturating_sub(1);
    let to = (before(frame.area.right() + 1e-6) + 1).min(points.len());
    &points[from..to]
}

fn marks(frame: &Frame<'_>, points: &[Datum], style: Style) -> Element {
    let at = points.iter().filter_map(|point| frame.point(point.x, point.y)).collect();
    Element::Markers { shape: style.shape, at: thin::marks(at), size: MARK, color: style.color }
}

/// The error bars of `points`, so many px beside them.
pub(super) fn errors(frame: &Frame<'_>, points: &[Datum], style: Style, beside: f64) -> Element {
    let mut lines = Vec::new();
    for point in points {
        let (Some(error), Some(x)) = (point.error.filter(|error| *error > 0.0), frame.x(point.x))
        else {
            continue;
        };
        let x = x + beside;
        let (low, high) = (frame.y_or_bottom(point.y - error), frame.y_or_bottom(point.y + error));
        let at = |dx: f64, y: f64| Point::new(x + dx, y);
        // Where the axis ends first, the bar is cut off, and has no cap.
        let cut = low > frame.area.bottom() + 0.5;
        let low = low.min(frame.area.bottom());
        lines.push((at(0.0, low), at(0.0, high.min(low))));
        if !cut {
            lines.push((at(-CAP, low), at(CAP, low)));
        }
        lines.push((at(-CAP, high), at(CAP, high)));
    }
    Element::Group {
        name: "errors".to_owned(),
        clip: None,
        elements: vec![Element::Segments { lines, stroke: Stroke::new(style.color, 1.1) }],
    }
}
