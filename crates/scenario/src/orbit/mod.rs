//! Orbits: the propagation delay of a bent-pipe link from where its two ends stand.
//!
//! The Earth is a sphere of its equatorial radius and orbits are circular: for delays of links
//! this is good to about a tenth of a millisecond at GEO and LEO alike. SGP4 would be more exact
//! for one satellite with fresh elements, but elements age within days and would have to come with
//! the scenario; a shell is described by five published numbers and stays reproducible.

mod geo;
mod walker;

pub use geo::Geo;
pub use walker::{Choice, Pass, Walker};

use crate::document::Node;
use crate::reader::{Context, FromNode, Reader, Result, Section, field, one_of};
use bentpipe_core::time::Duration;

/// In km: WGS 84's equatorial radius.
pub(crate) const EARTH_RADIUS: f64 = 6378.137;
/// Of light, in km/s.
pub(crate) const LIGHT: f64 = 299_792.458;

/// A point in space, in km.
pub(crate) type Point = [f64; 3];

/// A place on the ground, in degrees: north and east are positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Position {
    /// −90 to 90.
    pub latitude: f64,
    /// −180 to 180.
    pub longitude: f64,
}

impl Position {
    /// In a frame that turns with the Earth.
    pub(crate) fn point(self) -> Point {
        let (latitude, longitude) = (self.latitude.to_radians(), self.longitude.to_radians());
        let across = EARTH_RADIUS * latitude.cos();
        [across * longitude.cos(), across * longitude.sin(), EARTH_RADIUS * latitude.sin()]
    }
}

/// How far `satellite` is from `ground`, in km, and its sine of elevation there.
pub(crate) fn sight(ground: Point, satellite: Point) -> (f64, f64) {
    let to: Point = std::array::from_fn(|axis| satellite[axis] - ground[axis]);
    let range = to.iter().map(|part| part * part).sum::<f64>().sqrt();
    let up = to.iter().zip(ground).map(|(part, up)| part * up).sum::<f64>() / EARTH_RADIUS;
    (range, up / range)
}

/// Light's time for `range` km.
pub(crate) fn delay_of(range: f64) -> Duration {
    Duration::from_nanos((range / LIGHT * 1e9).round() as u64)
}

/// The orbit of a link's satellite.
#[derive(Debug, Clone, Copy, PartialEq, strum::EnumDiscriminants)]
#[strum_discriminants(
    vis(pub(crate)),
    name(Kind),
    derive(strum::VariantArray, strum::VariantNames, strum::IntoStaticStr),
    strum(serialize_all = "kebab-case")
)]
pub enum Orbit {
    /// Geostationary.
    Geo(Geo),
    /// A shell of circular orbits, the serving satellite changing.
    #[strum_discriminants(strum(serialize = "leo"))]
    Walker(Walker),
}

impl FromNode for Position {
    /// "50.1N 8.7E".
    fn from_node(context: &Context<'_>, node: &Node) -> Result<Position> {
        let text = String::from_node(context, node)?;
        let mut parts = text.split_whitespace();
        let latitude = parts.next().and_then(|part| degrees(part, 'N', 'S', 90.0));
        let longitude = parts.next().and_then(|part| degrees(part, 'E', 'W', 180.0));
        match (latitude, longitude, parts.next()) {
            (Some(latitude), Some(longitude), None) => Ok(Position { latitude, longitude }),
            _ => {
                let why = format!("`{text}` is no position (expected something like `50.1N 8.7E`)");
                Err(context.value_error(node, why))
            }
        }
    }
}

/// "8.7E" as 8.7, "8.7W" as −8.7.
fn degrees(text: &str, positive: char, negative: char, max: f64) -> Option<f64> {
    let (number, sign) = match text.strip_suffix(positive) {
        Some(number) => (number, 1.0),
        None => (text.strip_suffix(negative)?, -1.0),
    };
    let number: f64 = number.parse().ok()?;
    (0.0..=max).contains(&number).then_some(sign * number)
}

pub(crate) const GEO: Section = Section {
    path: "link.NAME.orbit, geo",
    about: "A geostationary satellite. The delay follows from the `position` of the link's two \
            ends; both must see the satellite.",
    fields: &[
        one_of::<Kind>("kind", "", "the kind of orbit"),
        field("longitude", "such as `19.2E`", "", "over which longitude the satellite stands"),
    ],
    example: "orbit = { kind = \"geo\", longitude = \"19.2E\" }",
};

pub(crate) const WALKER: Section = Section {
    path: "link.NAME.orbit, leo",
    about: "A shell of circular orbits (Walker's delta pattern). One satellite serves both ends, \
            which have a `position`; the delay changes as it moves, and in a step when another \
            takes over. While none is in sight of both, the link is out.",
    fields: &[
        field("kind", "`leo`", "", "the kind of orbit"),
        field("altitude", "km", "550", "above the ground"),
        field("inclination", "degrees", "53", "of every orbit"),
        field(
            "planes",
            "a whole number",
            "72",
            "evenly spread over 360° (a star pattern: `spread = 180`)",
        ),
        field("satellites", "a whole number", "22", "in each plane"),
        field(
            "phasing",
            "0 to `planes` − 1",
            "0",
            "Walker's F: satellites of the next plane are ahead by F × 360° / all satellites",
        ),
        field("spread", "degrees", "360", "over which the planes' nodes are spread"),
        field("min-elevation", "degrees", "25", "below this a satellite is not used"),
        one_of::<Choice>(
            "choice",
            "`highest`",
            "the greatest lesser elevation of the two ends, or the shortest path",
        ),
        field(
            "slot",
            "a time, `0s` for none",
            "15s",
            "the satellite is chosen anew in every slot; without slots only when it sets",
        ),
        field(
            "handover",
            "a time",
            "0s",
            "for how long nothing passes as another satellite takes over",
        ),
        field("step", "a time", "100ms", "how often the delay changes between handovers"),
        field("begin", "a time", "0s", "how long after the shell's epoch the run begins"),
    ],
    example: "orbit = { kind = \"leo\", altitude = 550, inclination = 53, planes = 72, satellites = 22, phasing = 39 }",
};

impl FromNode for Orbit {
    fn from_node(context: &Context<'_>, node: &Node) -> Result<Orbit> {
        let both = Reader::open(context, node, "an orbit", &[&GEO, &WALKER])?;
        let kind = both.need_node("kind")?;
        match context.choice(kind, "orbit")? {
            Kind::Geo => geo(&Reader::open(context, node, "a geostationary orbit", &[&GEO])?),
            Kind::Walker => walker(&Reader::open(context, node, "a LEO shell", &[&WALKER])?),
        }
    }
}

fn geo(reader: &Reader<'_>) -> Result<Orbit> {
    let text: String = reader.need("longitude")?;
    let longitude = degrees(&text, 'E', 'W', 180.0).ok_or_else(|| {
        let why = format!("`{text}` is no longitude (expected something like `19.2E`)");
        reader.bad("longitude", why)
    })?;
    Ok(Orbit::Geo(Geo { longitude }))
}

fn walker(reader: &Reader<'_>) -> Result<Orbit> {
    let planes = reader.within("planes", 72, 1..=1000_u32)?;
    let step = reader.or("step", Duration::from_millis(100))?;
    if step < Duration::from_millis(1) {
        return Err(reader.bad("step", "a step must last 1ms at least"));
    }
    Ok(Orbit::Walker(Walker {
        altitude: reader.within("altitude", 550.0, 100.0..=40_000.0)?,
        inclination: reader.within("inclination", 53.0, 0.0..=180.0)?,
        planes,
        satellites: reader.within("satellites", 22, 1..=1000_u32)?,
        phasing: reader.within("phasing", 0, 0..=planes - 1)?,
        spread: reader.within("spread", 360.0, 1.0..=360.0)?,
        min_elevation: reader.within("min-elevation", 25.0, 0.0..=90.0)?,
        choice: reader.choice("choice")?,
        slot: Some(reader.or("slot", Duration::from_secs(15))?).filter(|slot| !slot.is_zero()),
        handover: reader.or("handover", Duration::ZERO)?,
        step,
        begin: reader.or("begin", Duration::ZERO)?,
    }))
}
