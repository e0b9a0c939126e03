//! The geostationary orbit: closed form.

use super::{Point, Position, delay_of, sight};
use bentpipe_core::time::Duration;

/// In km: where one turn takes a sidereal day.
const ORBIT_RADIUS: f64 = 42_164.17;

/// A geostationary satellite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Geo {
    /// In degrees east.
    pub longitude: f64,
}

impl Geo {
    fn point(self) -> Point {
        let longitude = self.longitude.to_radians();
        [ORBIT_RADIUS * longitude.cos(), ORBIT_RADIUS * longitude.sin(), 0.0]
    }

    /// One hop, from the ground up; `None` if the satellite is below the horizon there.
    pub fn hop(self, ground: Position) -> Option<Duration> {
        let (range, elevation) = sight(ground.point(), self.point());
        // The horizon itself counts, within rounding.
        (elevation >= -1e-9).then(|| delay_of(range))
    }

    /// The elevation of the satellite at `ground` in degrees.
    pub fn elevation(self, ground: Position) -> f64 {
        sight(ground.point(), self.point()).1.asin().to_degrees()
    }

    /// Up from one place and down to the other; `None` if either does not see the satellite.
    pub fn delay(self, a: Position, b: Position) -> Option<Duration> {
        Some(self.hop(a)? + self.hop(b)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OVER_ZERO: Geo = Geo { longitude: 0.0 };

    fn milliseconds(latitude: f64, longitude: f64) -> Option<f64> {
        let hop = OVER_ZERO.hop(Position { latitude, longitude })?;
        Some(hop.as_secs_f64() * 1e3)
    }

    #[test]
    fn hops_from_below_the_satellite_to_the_edge_of_coverage() {
        // (42164.17 − 6378.137) km / c, and √(42164.17² − 6378.137²) km / c.
        assert!((milliseconds(0.0, 0.0).unwrap() - 119.370).abs() < 0.001);
        let edge = (6378.137_f64 / 42_164.17).acos().to_degrees();
        for (latitude, longitude) in [(edge, 0.0), (0.0, edge), (-edge, 0.0), (0.0, -edge)] {
            let hop = milliseconds(latitude, longitude).unwrap();
            assert!((hop - 139.026).abs() < 0.001, "{hop}");
        }
        assert_eq!(milliseconds(edge + 0.1, 0.0), None);
        // RFC 2488, section 2: 239.6 ms from below the satellite to there again; 279.0 ms between
        // two places at the edge of the view (its figures are of slightly other radii).
        assert!((2.0 * milliseconds(0.0, 0.0).unwrap() - 239.6).abs() < 1.0);
        assert!((2.0 * milliseconds(edge, 0.0).unwrap() - 279.0).abs() < 1.0);
    }

    #[test]
    fn elevations_are_those_of_the_tables() {
        // Frankfurt (50.1N 8.7E) sees 19.2E at about 31.5 degrees.
        let elevation =
            Geo { longitude: 19.2 }.elevation(Position { latitude: 50.1, longitude: 8.7 });
        assert!((elevation - 31.7).abs() < 0.7, "{elevation}");
        let zenith = OVER_ZERO.elevation(Position { latitude: 0.0, longitude: 0.0 });
        assert!((zenith - 90.0).abs() < 1e-6);
    }
}
