//! Fewer points that look the same: a run's series have more than a figure has pixels.

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
    kept
}

/// Marks of which no two are at the same place.
pub(super) fn marks(points: Vec<Point>) -> Vec<Point> {
    let mut seen = BTreeSet::new();
    let place = |point: &Point| ((point.x * FINE).round() as i64, (point.y * FINE).round() as i64);
    points.into_iter().filter(|point| seen.insert(place(point))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
