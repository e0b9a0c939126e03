//! Two clocks: their distance, their drift, and delays above the least one.
//!
//! The least delays lie on a line, whose slope is the drift. That line is the nearest one below all
//! delays (Moon, Skelly and Towsley, INFOCOM 1999). It is an edge of their lower convex hull
//! (Zhang, Liu and Xia, INFOCOM 2002). A drift is removed only where it is more than chance, no
//! more than clocks have, and where it makes the other direction no worse.

use super::packets::Sample;
use crate::direction::Direction;

/// No clock drifts more: NTP's limit, as a part.
const DRIFT_MAX: f64 = 500e-6;
/// Of fewer packets no drift is told.
const SAMPLES_MIN: usize = 20;
/// Times in which the least delay is looked for.
const BLOCKS: usize = 12;
/// So many times more than the least delays scatter is no chance.
const CLEAR: f64 = 5.0;
/// The resolution of clocks and cards, in nanoseconds.
const RESOLUTION: f64 = 2000.0;

/// The relation of the clocks of two places.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Clock {
    /// The drift that was removed.
    pub drift: Option<Drift>,
    /// The least delay of each direction, without drift.
    ///
    /// By the two clocks, in nanoseconds; directions are the first place's.
    pub least: [Option<i64>; 2],
    downstream: Direction,
    /// Drift is removed from here on.
    origin: i64,
}

/// The drift of the second place's clock against the first one's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// As a part: 1e-6 is 1 ppm.
    pub part: f64,
}

/// The spread of delays above the least one, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    /// The median.
    pub p50: i64,
    /// 95 of 100 are less.
    pub p95: i64,
    /// 99 of 100 are less.
    pub p99: i64,
    /// The largest.
    pub max: i64,
}

impl Clock {
    /// From the delays of each direction, whatever drift may be in them.
    pub(super) fn without_drift(samples: &[Vec<Sample>; 2], downstream: Direction) -> Clock {
        let times = samples.iter().flatten().map(|sample| sample.at);
        let origin = times.min().unwrap_or(0);
        let clock = Clock { drift: None, least: [None; 2], downstream, origin };
        clock.based(samples)
    }

    /// From the delays of each direction.
    pub(super) fn fit(samples: &[Vec<Sample>; 2], downstream: Direction) -> Clock {
        let mut clock = Clock::without_drift(samples, downstream);
        let origin = clock.origin;
        let lines = Direction::BOTH.map(|way| {
            let sign = if way == downstream { 1.0 } else { -1.0 };
            Line::below(&samples[way.index()], origin).map(|line| (line, sign))
        });
        let clearest = lines.iter().flatten().min_by(|a, b| a.0.noise.total_cmp(&b.0.noise));
        if let Some((line, sign)) = clearest
            && line.is_drift()
        {
            let drifting = Clock { drift: Some(Drift { part: sign * line.slope }), ..clock };
            let height = |clock: &Clock, way: Direction| clock.height(way, &samples[way.index()]);
            let (ways, worse) = (Direction::BOTH, 1.05);
            if ways
                .iter()
                .all(|&way| height(&drifting, way) <= worse * height(&clock, way) + RESOLUTION)
            {
                clock = drifting;
            }
        }
        clock.based(samples)
    }

    fn based(self, samples: &[Vec<Sample>; 2]) -> Clock {
        let least = Direction::BOTH.map(|way| {
            samples[way.index()].iter().map(|sample| self.corrected(way, *sample)).min()
        });
        Clock { least, ..self }
    }

    /// A delay without drift.
    pub(super) fn corrected(&self, way: Direction, sample: Sample) -> i64 {
        let Some(drift) = self.drift else { return sample.delay };
        let grown = drift.part * sample.at.saturating_sub(self.origin) as f64;
        let grown = if way == self.downstream { grown } else { -grown };
        sample.delay.saturating_sub(grown.round() as i64)
    }

    /// Subtracts the least delay of its direction from a delay.
    #[must_use]
    pub fn above(&self, way: Direction, sample: Sample) -> i64 {
        let least = self.least[way.index()].unwrap_or(0);
        self.corrected(way, sample).saturating_sub(least)
    }

    /// The least time there and back between the two places, which no clock changes. `None` if a
    /// direction has no packets in common, or they do not fit two clocks.
    #[must_use]
    pub fn round_trip(&self) -> Option<i64> {
        let [Some(there), Some(back)] = self.least else { return None };
        Some(there.saturating_add(back)).filter(|&sum| sum >= 0)
    }

    /// The bounds of the second clock's lead over the first.
    ///
    /// No packet arrives before it was sent.
    #[must_use]
    pub fn ahead(&self) -> Option<(i64, i64)> {
        self.round_trip()?;
        let there = self.least[self.downstream.index()]?;
        let back = self.least[self.downstream.reverse().index()]?;
        Some((back.saturating_neg(), there))
    }

    /// How the delays of a direction are spread.
    pub(super) fn spread(&self, way: Direction, samples: &[Sample]) -> Option<Spread> {
        let mut above: Vec<(i64, u64)> =
            samples.iter().map(|&sample| (self.above(way, sample), 1)).collect();
        Spread::of(&mut above)
    }

    /// The mean height of delays above the least one.
    fn height(&self, way: Direction, samples: &[Sample]) -> f64 {
        let delays = || samples.iter().map(|sample| self.corrected(way, *sample));
        let least = delays().min().unwrap_or(0);
        let sum: f64 = delays().map(|delay| delay.saturating_sub(least) as f64).sum();
        sum / samples.len().max(1) as f64
    }
}

impl Spread {
    /// Of values with their weights.
    pub(super) fn of(values: &mut [(i64, u64)]) -> Option<Spread> {
        values.sort_unstable();
        let all: u64 = values.iter().map(|value| value.1).sum();
        let mut passed = 0;
        let mut values = values.iter();
        let mut last = values.next()?;
        passed += last.1;
        let mut quantile = |percent: u64| {
            while u128::from(passed) * 100 < u128::from(all) * u128::from(percent) {
                let Some(next) = values.next() else { break };
                passed += next.1;
                last = next;
            }
            last.0
        };
        let [p50, p95, p99, max] = [50, 95, 99, 100].map(&mut quantile);
        Some(Spread { p50, p95, p99, max })
    }
}

/// The line below delays.
struct Line {
    slope: f64,
    /// The time that it was fitted over, in nanoseconds.
    length: f64,
    /// How far the least delays of parts of that time are above it.
    noise: f64,
}

impl Line {
    fn below(samples: &[Sample], origin: i64) -> Option<Line> {
        let first = samples.first()?.delay;
        // Relative to these they are exact as floating-point numbers.
        let mut points: Vec<(i64, i64)> = samples
            .iter()
            .map(|one| (one.at.saturating_sub(origin), one.delay.saturating_sub(first)))
            .collect();
        points.sort_unstable();
        let (begin, end) = (points.first()?.0, points.last()?.0);
        if points.len() < SAMPLES_MIN || begin == end {
            return None;
        }
        let hull = lower_hull(&points);
        let mean = points.iter().map(|point| point.0 as f64).sum::<f64>() / points.len() as f64;
        let over = hull.partition_point(|point| (point.0 as f64) < mean);
        let over = over.clamp(1, hull.len().max(2) - 1);
        let (&from, &to) = (hull.get(over - 1)?, hull.get(over)?);
        let slope = to.1.saturating_sub(from.1) as f64 / (to.0 - from.0).max(1) as f64;
        let height = |point: &(i64, i64)| {
            point.1.saturating_sub(from.1) as f64 - slope * (point.0 - from.0) as f64
        };
        let mut least = [f64::INFINITY; BLOCKS];
        for point in &points {
            let part = (point.0 - begin) as f64 / (end - begin) as f64;
            let block = ((part * BLOCKS as f64) as usize).min(BLOCKS - 1);
            least[block] = least[block].min(height(point));
        }
        let mut least: Vec<f64> = least.into_iter().filter(|one| one.is_finite()).collect();
        least.sort_by(f64::total_cmp);
        let noise = least.get(least.len() / 2).copied().unwrap_or(f64::INFINITY);
        Some(Line { slope, length: (end - begin) as f64, noise })
    }

    /// True if its slope may be a clock's, and is no chance.
    fn is_drift(&self) -> bool {
        let grown = (self.slope * self.length).abs();
        self.slope.abs() <= DRIFT_MAX && grown > CLEAR * self.noise + RESOLUTION
    }
}

/// The corners of the lower convex hull of points that are sorted (Andrew's monotone chain).
fn lower_hull(points: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let mut hull: Vec<(i64, i64)> = Vec::new();
    for &point in points {
        // Of several at one time the least comes first.
        if hull.last().is_some_and(|last| last.0 == point.0) {
            continue;
        }
        while let [.., a, b] = hull[..] {
            let wide = |x: i64| i128::from(x);
            let turn = (wide(b.0) - wide(a.0)) * (wide(point.1) - wide(a.1))
                - (wide(b.1) - wide(a.1)) * (wide(point.0) - wide(a.0));
            if turn > 0 {
                break;
            }
            hull.pop();
        }
        hull.push(point);
    }
    hull
}
