//! A shell of circular orbits: Walker's delta pattern i: t/p/f (Walker 1984), bent pipe from
//! ground to ground through the one satellite that both ends see best, with handovers.

use super::pass::{Sky, Way, pass};
use super::{EARTH_RADIUS, Pass, Point, Position, Timing, sight};
use bentpipe_core::time::Duration;

/// The Earth's gravitational parameter in km³/s² (WGS 84).
const MU: f64 = 398_600.441_8;
/// The Earth's turning in rad/s.
const EARTH_TURN: f64 = 7.292_115e-5;

/// Which of the satellites in sight serves.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Choice {
    /// That whose lesser elevation at the two ends is greatest.
    #[default]
    Highest,
    /// That with the shortest path.
    Nearest,
}

/// A shell and how it is used; angles in degrees, lengths in km.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Walker {
    /// Above the ground.
    pub altitude: f64,
    /// Of every orbit.
    pub inclination: f64,
    /// How many planes, evenly spread.
    pub planes: u32,
    /// How many satellites in each plane.
    pub satellites: u32,
    /// Walker's F.
    pub phasing: u32,
    /// Over which angle the planes' nodes are spread: 360 (delta) or 180 (star).
    pub spread: f64,
    /// Below this elevation a satellite is not used.
    pub min_elevation: f64,
    /// Which one serves.
    pub choice: Choice,
    /// When it is chosen. The epoch is when the first satellite of the first plane is at its node,
    /// over longitude zero.
    pub timing: Timing,
}

impl Walker {
    /// The time of one turn.
    pub fn period(&self) -> Duration {
        let radius = EARTH_RADIUS + self.altitude;
        Duration::from_secs_f64(std::f64::consts::TAU * (radius.powi(3) / MU).sqrt())
    }

    /// Where a satellite is, seen from the turning Earth.
    fn point(&self, (plane, place): (u32, u32), seconds: f64) -> Point {
        let radius = EARTH_RADIUS + self.altitude;
        let planes = f64::from(self.planes);
        let node = self.spread.to_radians() * f64::from(plane) / planes - EARTH_TURN * seconds;
        let phase = phase(self, plane, place)
            + std::f64::consts::TAU * seconds / self.period().as_secs_f64();
        let inclination = self.inclination.to_radians();
        let (along, up) = (phase.cos(), phase.sin());
        [
            radius * (along * node.cos() - up * inclination.cos() * node.sin()),
            radius * (along * node.sin() + up * inclination.cos() * node.cos()),
            radius * up * inclination.sin(),
        ]
    }

    /// Path length in km and lesser sine of elevation, if both ends see the satellite.
    fn view(&self, which: (u32, u32), seconds: f64, ends: [Point; 2]) -> Option<(f64, f64)> {
        let satellite = self.point(which, seconds);
        let [(range_a, up_a), (range_b, up_b)] = ends.map(|end| sight(end, satellite));
        let min = up_a.min(up_b);
        (min >= self.min_elevation.to_radians().sin()).then_some((range_a + range_b, min))
    }

    fn best(&self, seconds: f64, ends: [Point; 2]) -> Option<(u32, u32)> {
        let all = (0..self.planes).flat_map(|p| (0..self.satellites).map(move |s| (p, s)));
        let seen = all.filter_map(|which| Some((which, self.view(which, seconds, ends)?)));
        let merit = |(range, up): (f64, f64)| match self.choice {
            Choice::Highest => up,
            Choice::Nearest => -range,
        };
        // The first of equals, so that the choice does not hang on rounding elsewhere.
        let best = seen.reduce(|a, b| if merit(b.1) > merit(a.1) { b } else { a });
        best.map(|(which, _)| which)
    }

    /// The link between `a` and `b` for `duration`. Satellites count through the planes, from 0.
    pub fn pass(&self, a: Position, b: Position, duration: Duration) -> Pass {
        let mut view = View { shell: self, ends: [a.point(), b.point()], seconds: 0.0 };
        pass(&mut view, &self.timing, duration)
    }
}

/// How far from its node a satellite is at the epoch, along its orbit, in radians.
pub(super) fn phase(shell: &Walker, plane: u32, place: u32) -> f64 {
    let (planes, satellites) = (f64::from(shell.planes), f64::from(shell.satellites));
    std::f64::consts::TAU
        * (f64::from(place) / satellites
            + f64::from(shell.phasing) * f64::from(plane) / (planes * satellites))
}

/// A shell as its two ends see it at a moment.
struct View<'a> {
    shell: &'a Walker,
    ends: [Point; 2],
    seconds: f64,
}

impl Sky for View<'_> {
    fn turn(&mut self, seconds: f64) {
        self.seconds = seconds;
    }

    fn best(&self) -> Option<Way> {
        let (plane, place) = self.shell.best(self.seconds, self.ends)?;
        Some(vec![plane * self.shell.satellites + place])
    }

    fn length(&self, way: &[u32]) -> Option<f64> {
        let which = (way[0] / self.shell.satellites, way[0] % self.shell.satellites);
        self.shell.view(which, self.seconds, self.ends).map(|(range, _)| range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::link::Varying;

    const SHELL: Walker = Walker {
        altitude: 550.0,
        inclination: 53.0,
        planes: 72,
        satellites: 22,
        phasing: 39,
        spread: 360.0,
        min_elevation: 25.0,
        choice: Choice::Highest,
        timing: Timing {
            slot: Some(Duration::from_secs(15)),
            handover: Duration::ZERO,
            step: Duration::from_secs(1),
            begin: Duration::ZERO,
        },
    };
    const FRANKFURT: Position = Position { latitude: 50.1, longitude: 8.7 };
    const MUNICH: Position = Position { latitude: 48.1, longitude: 11.6 };

    #[test]
    fn a_turn_at_550_km_takes_95_6_minutes() {
        assert!((SHELL.period().as_secs_f64() / 60.0 - 95.65).abs() < 0.05);
        let iridium = Walker { altitude: 780.0, ..SHELL };
        assert!((iridium.period().as_secs_f64() / 60.0 - 100.45).abs() < 0.1);
    }

    #[test]
    fn satellites_stay_at_their_height_below_their_inclination() {
        for seconds in [0.0, 100.0, 5000.0] {
            for which in [(0, 0), (5, 3), (71, 21)] {
                let point = SHELL.point(which, seconds);
                let radius = point.iter().map(|part| part * part).sum::<f64>().sqrt();
                assert!((radius - 6928.137).abs() < 1e-6);
                assert!((point[2] / radius).asin().to_degrees().abs() < 53.0 + 1e-9);
            }
        }
        // The first satellite begins over longitude zero, on the equator, and goes north.
        assert!(SHELL.point((0, 0), 0.0)[1].abs() < 1e-6);
        assert!(SHELL.point((0, 0), 10.0)[2] > 0.0);
    }

    #[test]
    fn delays_lie_between_zenith_and_the_least_elevation() {
        let pass = SHELL.pass(FRANKFURT, MUNICH, Duration::from_secs(600));
        assert!(pass.outages.is_empty(), "{:?}", pass.outages);
        // Two hops: of 550 km overhead, and of 1123 km at 25 degrees.
        let (min, max) = (2.0 * 550.0 / 299.792_458, 2.0 * 1123.4 / 299.792_458);
        let Varying::Scheduled(delays) = &pass.delay else { panic!("it changes") };
        for (_, delay) in delays.steps() {
            let delay = delay.as_secs_f64() * 1e3;
            assert!((min..=max).contains(&delay), "{delay} ms");
        }
        // Handovers lie on slots, and there are some: a satellite is in sight for minutes at most.
        let times: Vec<u64> = pass.ways.iter().map(|(at, _)| at.as_secs()).collect();
        assert!(times.len() > 4 && times.iter().all(|at| at % 15 == 0), "{times:?}");
    }

    #[test]
    fn without_slots_a_satellite_serves_until_it_sets() {
        let timing = Timing { slot: None, handover: Duration::from_millis(50), ..SHELL.timing };
        let held = Walker { timing, ..SHELL };
        let pass = held.pass(FRANKFURT, MUNICH, Duration::from_secs(1200));
        let slots = SHELL.pass(FRANKFURT, MUNICH, Duration::from_secs(1200));
        assert!(pass.ways.len() < slots.ways.len());
        assert_eq!(pass.outages.len(), pass.ways.len() - 1);
    }

    #[test]
    fn a_thin_shell_leaves_gaps() {
        let thin = Walker { planes: 2, satellites: 2, phasing: 0, ..SHELL };
        let pass = thin.pass(FRANKFURT, MUNICH, Duration::from_secs(7200));
        assert!(!pass.outages.is_empty());
        assert!(pass.outages.windows(2).all(|w| w[0].0 + w[0].1 < w[1].0));
        let nowhere =
            thin.pass(Position { latitude: 89.0, longitude: 0.0 }, MUNICH, Duration::from_secs(60));
        assert_eq!(nowhere.outages.len(), 1);
        assert_eq!(nowhere.ways, [(Duration::ZERO, None)]);
    }
}
