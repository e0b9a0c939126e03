//! Fewer points that look the same. A run's series have more than a figure has pixels.

use crate::scene::Point;
use std::collections::BTreeSet;

/// Columns and rows in a px.
const FINE: f64 = 2.0;

/// A line's points: of those in one column the first, the lowest, the highest and the last.
pub(super) fn line(points: &[Point]) -> Vec<Point> {
    let column = |point: &Point| (point.x * FINE).floor();
    let mut kept: Vec<Point> = Vec::new();
    for part in points.chunk_by(|a, b| column(a) == column(b)) {
        if part.len() <= 4 {
            kept.extend(part);
            continue;
        }
        let by = |a: &usize, b: &usize| part[*a].y.total_cmp(&part[*b].y);
        let low = (0..part.len()).min_by(by).unwrap_or(0);
        let high = (0..part.len()).max_by(by).unwrap_or(0);
        let four = BTreeSet::from([0, low, high, part.len() - 1]);
        kept.extend(four.into_iter().map(|index| part[index]));
    }
    straight(&kept)
}

/// How far a point may lie from the line that stands for it, in px.
const CLOSE: f64 = 0.1;

/// So many points at most are one straight line: what is looked at again for each of them.
const RUN: usize = 64;

/// Without the points that lie on the way between their neighbours.
fn straight(points: &[Point]) -> Vec<Point> {
    let mut kept = Vec::new();
    let mut from = 0;
    while let Some(first) = points.get(from) {
        kept.push(*first);
        let mut to = from + 1;
        while to + 1 < points.len()
            && to - from < RUN
            && points[from + 1..=to].iter().all(|p| distance(p, first, &points[to + 1]) <= CLOSE)
        {
            to += 1;
        }
        from = to;
    }
    kept
}

/// Of `point` from the line between two others.
fn distance(point: &Point, from: &Point, to: &Point) -> f64 {
    let (dx, dy) = (to.x - from.x, to.y - from.y);
    let square = dx * dx + dy * dy;
    let share = if square > 0.0 {
        (((point.x - from.x) * dx + (point.y - from.y) * dy) / square).clamp(0.0, 1.0)
    } else {
        0.0
    };
    (point.x - from.x - share * dx).hypot(point.y - from.y - share * dy)
}

/// Marks of which no two are at the same place.
pub(super) fn marks(points: Vec<Point>) -> Vec<Point> {
    apart(points, FINE)
}

/// Dots, which are larger than a px: no two are in the same one.
pub(super) fn dots(points: Vec<Point>) -> Vec<Point> {
    apart(points, 1.0)
}

fn apart(points: Vec<Point>, fine: f64) -> Vec<Point> {
    let mut seen = BTreeSet::new();
    let place = |point: &Point| ((point.x * fine).round() as i64, (point.y * fine).round() as i64);
    points.into_iter().filter(|point| seen.insert(place(point))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_is_its_ends_and_a_corner_stays() {
        let flat: Vec<Point> = (0..50).map(|n| Point::new(f64::from(n), 7.0)).collect();
        assert_eq!(line(&flat), [flat[0], flat[49]]);
        let corner = [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (2.0, 5.0), (2.0, 9.0), (2.0, 4.0)];
        let corner = corner.map(|(x, y)| Point::new(x, y));
        assert_eq!(line(&corner), [corner[0], corner[2], corner[4], corner[5]]);
        // A slow curve is not taken for a line.
        let curve: Vec<Point> =
            (0..200).map(|n| Point::new(f64::from(n), (f64::from(n) / 20.0).powi(2))).collect();
        let kept = line(&curve);
        assert!((5..100).contains(&kept.len()), "{}", kept.len());
    }

    #[test]
    fn a_line_keeps_its_peaks() {
        let mut points: Vec<Point> =
            (0..10_000).map(|n| Point::new(f64::from(n) / 100.0, 50.0)).collect();
        points[4321].y = 3.0;
        points[8765].y = 99.0;
        let kept = line(&points);
        assert!(kept.len() < 1000, "{}", kept.len());
        assert!(
            kept.iter().any(|point| point.y == 3.0) && kept.iter().any(|point| point.y == 99.0)
        );
        assert!(kept.windows(2).all(|pair| pair[0].x <= pair[1].x));
        let alike = vec![Point::new(1.0, 1.0), Point::new(1.01, 1.01), Point::new(9.0, 1.0)];
        assert_eq!(marks(alike).len(), 2);
        let near = vec![Point::new(1.0, 1.0), Point::new(1.4, 1.0), Point::new(1.8, 1.0)];
        assert_eq!((marks(near.clone()).len(), dots(near).len()), (3, 2));
    }
}
