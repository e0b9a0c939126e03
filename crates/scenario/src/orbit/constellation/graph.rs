//! Who sees whom at a moment, and the shortest way through.

use super::super::pass::{Sky, Way};
use super::super::{EARTH_RADIUS, Point, Position};
use super::elements::{ElementSets, sidereal_time};
use pathfinding::directed::astar::astar;

/// WGS 84's flattening.
const FLATTENING: f64 = 1.0 / 298.257_223_563;
/// In km: a link between satellites does not pass through the air below this.
const AIR: f64 = 80.0;

/// A station on the ground: where it is, in km from the Earth's centre, and its vertical.
struct Station {
    at: Point,
    up: Point,
}

impl Station {
    /// On the ellipsoid, in a frame that turns with the Earth.
    fn new(position: Position) -> Station {
        let (latitude, longitude) =
            (position.latitude.to_radians(), position.longitude.to_radians());
        let squashed = FLATTENING * (2.0 - FLATTENING);
        let normal = EARTH_RADIUS / (1.0 - squashed * latitude.sin().powi(2)).sqrt();
        let up =
            [latitude.cos() * longitude.cos(), latitude.cos() * longitude.sin(), latitude.sin()];
        Station { at: [normal * up[0], normal * up[1], normal * (1.0 - squashed) * up[2]], up }
    }
}

/// The satellites and stations of a constellation at a moment. Satellites have the numbers from 0,
/// and stations those behind them: the two ends first.
pub(super) struct Graph<'a> {
    sets: &'a ElementSets,
    grid: Option<[u32; 2]>,
    stations: Vec<Station>,
    /// The sine of the least elevation.
    min_elevation: f64,
    /// Where all are, satellites and stations; a satellite that has decayed is nowhere.
    places: Vec<Option<Point>>,
    /// For each station, the satellites in sight.
    seen: Vec<Vec<u32>>,
    /// For each satellite, the stations that see it.
    seeing: Vec<Vec<u32>>,
}

impl<'a> Graph<'a> {
    pub(super) fn new(
        sets: &'a ElementSets,
        grid: Option<[u32; 2]>,
        stations: impl Iterator<Item = Position>,
        min_elevation: f64,
    ) -> Graph<'a> {
        let stations: Vec<Station> = stations.map(Station::new).collect();
        let satellites = sets.satellites.len();
        Graph {
            sets,
            grid,
            min_elevation: min_elevation.to_radians().sin(),
            places: vec![None; satellites + stations.len()],
            seen: vec![Vec::new(); stations.len()],
            seeing: vec![Vec::new(); satellites],
            stations,
        }
    }

    fn satellites(&self) -> u32 {
        self.seeing.len() as u32
    }

    /// The number of a station.
    fn station(&self, index: usize) -> u32 {
        self.satellites() + index as u32
    }

    /// In km; `None` where one of them is nowhere.
    fn distance(&self, a: u32, b: u32) -> Option<f64> {
        Some(length(difference(self.places[a as usize]?, self.places[b as usize]?)))
    }

    /// The satellites beside `satellite` on the grid.
    fn beside(&self, satellite: u32) -> impl Iterator<Item = u32> {
        let neighbours = self.grid.map(|[planes, each]| {
            let (plane, place) = (satellite / each, satellite % each);
            [
                plane * each + (place + 1) % each,
                plane * each + (place + each - 1) % each,
                (plane + 1) % planes * each + place,
                (plane + planes - 1) % planes * each + place,
            ]
        });
        neighbours.into_iter().flatten().filter(move |other| *other != satellite)
    }

    /// Whether the line between two satellites stays above the air.
    fn clear(&self, a: u32, b: u32) -> bool {
        let (Some(from), Some(to)) = (self.places[a as usize], self.places[b as usize]) else {
            return false;
        };
        let along = difference(to, from);
        let nearest =
            (-dot(from, along) / dot(along, along).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        let point: Point = std::array::from_fn(|axis| from[axis] + nearest * along[axis]);
        length(point) > EARTH_RADIUS + AIR
    }

    /// Where one may go from `node`, and how far it is, in mm.
    fn next(&self, node: u32) -> Vec<(u32, u64)> {
        let far = |to: u32| Some((to, millimetres(self.distance(node, to)?)));
        match node.checked_sub(self.satellites()) {
            Some(station) => self.seen[station as usize].iter().filter_map(|to| far(*to)).collect(),
            None => {
                let beside = self.beside(node).filter(|to| self.clear(node, *to));
                let stations = self.seeing[node as usize].iter().copied();
                beside.chain(stations).filter_map(far).collect()
            }
        }
    }
}

impl Sky for Graph<'_> {
    fn turn(&mut self, seconds: f64) {
        let minutes = self.sets.epoch + seconds / 60.0;
        let (sin, cos) = sidereal_time(minutes).sin_cos();
        let satellites = self.sets.satellites.iter().map(|satellite| {
            let [x, y, z] = satellite.at(minutes)?;
            Some([cos * x + sin * y, cos * y - sin * x, z])
        });
        let places = satellites.chain(self.stations.iter().map(|station| Some(station.at)));
        for (place, now) in self.places.iter_mut().zip(places) {
            *place = now;
        }
        self.seen.iter_mut().chain(&mut self.seeing).for_each(Vec::clear);
        let first = self.satellites();
        for (index, station) in self.stations.iter().enumerate() {
            for (number, place) in (0..first).zip(&self.places) {
                let Some(place) = place else { continue };
                let to = difference(*place, station.at);
                if dot(to, station.up) >= self.min_elevation * length(to) {
                    self.seen[index].push(number);
                    self.seeing[number as usize].push(first + index as u32);
                }
            }
        }
    }

    fn best(&self) -> Option<Way> {
        let [from, to] = [0, 1].map(|end| self.station(end));
        // No way is shorter than the straight line: A* with it finds the shortest.
        let ahead = |node: &u32| self.distance(*node, to).map_or(0, |km| millimetres(km) - 1);
        let (way, _) = astar(&from, |node| self.next(*node), ahead, |node| *node == to)?;
        Some(way[1..way.len() - 1].to_vec())
    }

    fn length(&self, way: &[u32]) -> Option<f64> {
        let satellites = self.satellites();
        let ends = [0, 1].map(|end| self.station(end));
        let whole: Vec<u32> =
            [&ends[..1], way, &ends[1..]].into_iter().flatten().copied().collect();
        whole
            .windows(2)
            .map(|hop| {
                let [a, b] = [hop[0], hop[1]];
                let open = match (a >= satellites, b >= satellites) {
                    (true, _) => self.seen[(a - satellites) as usize].contains(&b),
                    (_, true) => self.seen[(b - satellites) as usize].contains(&a),
                    _ => self.clear(a, b),
                };
                self.distance(a, b).filter(|_| open)
            })
            .sum()
    }
}

fn millimetres(km: f64) -> u64 {
    // A millimetre more than nothing, so that what is subtracted from it may be one.
    (km * 1e6) as u64 + 1
}

fn difference(a: Point, b: Point) -> Point {
    std::array::from_fn(|axis| a[axis] - b[axis])
}

fn dot(a: Point, b: Point) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn length(a: Point) -> f64 {
    dot(a, a).sqrt()
}
