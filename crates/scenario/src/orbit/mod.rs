//! Orbits: the propagation delay of a bent-pipe link from where its two ends stand.
//!
//! A shell is described by five published numbers. For it and for GEO the Earth is a sphere of its
//! equatorial radius and orbits are circular: good to about a tenth of a millisecond. Element sets
//! say where each satellite was on a day, and come with the scenario; for them the Earth is WGS
//! 84's ellipsoid.

mod constellation;
mod geo;
mod pass;
mod walker;

pub use constellation::{Constellation, Crosslinks, ElementSets, ElementSetsError, element_sets};
pub use geo::Geo;
pub use pass::{Pass, PassChange, Timing, Way};
pub use walker::{Choice, Walker};

use bentpipe_config::Problem;
use bentpipe_config::document::{Node, Value};
use bentpipe_config::reader::{Context, Field, FromNode, Reader, Result, Section, field, one_of};
use bentpipe_core::time::Duration;
use std::str::FromStr;

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
#[derive(Debug, Clone, strum::EnumDiscriminants)]
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
    /// Satellites of a file of element sets.
    #[strum_discriminants(strum(serialize = "tle"))]
    Constellation(Constellation),
}

impl Orbit {
    /// When its ways are chosen; `None` of one that stands still.
    pub(crate) fn timing(&self) -> Option<&Timing> {
        match self {
            Orbit::Geo(_) => None,
            Orbit::Walker(walker) => Some(&walker.timing),
            Orbit::Constellation(constellation) => Some(&constellation.timing),
        }
    }
}

impl FromStr for Position {
    type Err = PositionError;

    /// "50.1N 8.7E".
    fn from_str(text: &str) -> std::result::Result<Position, PositionError> {
        let mut parts = text.split_whitespace();
        let latitude = parts.next().and_then(|part| degrees(part, 'N', 'S', 90.0));
        let longitude = parts.next().and_then(|part| degrees(part, 'E', 'W', 180.0));
        match (latitude, longitude, parts.next()) {
            (Some(latitude), Some(longitude), None) => Ok(Position { latitude, longitude }),
            _ => Err(PositionError(text.to_owned())),
        }
    }
}

/// A text that is no position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no position (expected something like `50.1N 8.7E`)")]
pub struct PositionError(String);

impl FromNode for Position {
    fn from_node(context: &Context<'_>, node: &Node) -> Result<Position> {
        let text = String::from_node(context, node)?;
        text.parse().map_err(|why: PositionError| context.value_error(node, why.to_string()))
    }
}

/// "8.7E" as 8.7, "8.7W" and "-8.7E" as −8.7.
fn degrees(text: &str, positive: char, negative: char, max: f64) -> Option<f64> {
    let (number, sign) = match text.strip_suffix(positive) {
        Some(number) => (number, 1.0),
        None => (text.strip_suffix(negative)?, -1.0),
    };
    let number: f64 = number.parse().ok()?;
    // `-33.9N` is what other programs call `33.9S`.
    (-max..=max).contains(&number).then_some(sign * number)
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
        HANDOVER,
        STEP,
        field("begin", "a time", "0s", "how long after the shell's epoch the run begins"),
    ],
    example: "orbit = { kind = \"leo\", altitude = 550, inclination = 53, planes = 72, satellites = 22, phasing = 39 }",
};

pub(crate) const CONSTELLATION: Section = Section {
    path: "link.NAME.orbit, tle",
    about: "Satellites of a file of two-line element sets, moved by SGP4. Packets take the shortest way in sight \
            between the link's two ends, which have a `position`: over one satellite, or several with links between \
            them or stations on the ground. While there is none, the link is out.",
    fields: &[
        field("kind", "`tle`", "", "the kind of orbit"),
        field(
            "file",
            "a file's name",
            "",
            "two lines for each satellite, or three with its name, found beside the scenario. The first line may say how many planes there are, and how many satellites in each: `72 22`",
        ),
        one_of::<Crosslinks>(
            "crosslinks",
            "`none`",
            "links between satellites: `grid` has four for each, to those before and behind it in its plane and to those at its place in the planes beside. The file's first line then says how many there are",
        ),
        field(
            "relays",
            "a list of positions",
            "none",
            "stations on the ground that send what comes from one satellite up to another",
        ),
        field("min-elevation", "degrees", "25", "below this no station uses a satellite"),
        field(
            "slot",
            "a time, `0s` for none",
            "0s",
            "the way is chosen anew in every slot; without slots in every step",
        ),
        HANDOVER,
        STEP,
        field(
            "begin",
            "a time",
            "0s",
            "how long after the newest element set's epoch the run begins",
        ),
    ],
    example: "orbit = { kind = \"tle\", file = \"shell.tle\", crosslinks = \"grid\" }",
};

const HANDOVER: Field = field(
    "handover",
    "a time",
    "0s",
    "for how long nothing passes as another satellite takes over at one of the ends",
);
const STEP: Field =
    field("step", "a time", "100ms", "how often the delay changes between handovers");

impl FromNode for Orbit {
    fn from_node(context: &Context<'_>, node: &Node) -> Result<Orbit> {
        let both = Reader::open(context, node, "an orbit", &[&GEO, &WALKER, &CONSTELLATION])?;
        let kind = both.need_node("kind")?;
        match context.choice(kind, "orbit")? {
            Kind::Geo => geo(&Reader::open(context, node, "a geostationary orbit", &[&GEO])?),
            Kind::Walker => walker(&Reader::open(context, node, "a LEO shell", &[&WALKER])?),
            Kind::Constellation => {
                constellation(&Reader::open(context, node, "a constellation", &[&CONSTELLATION])?)
            }
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
    Ok(Orbit::Walker(Walker {
        altitude: reader.within("altitude", 550.0, 100.0..=40_000.0)?,
        inclination: reader.within("inclination", 53.0, 0.0..=180.0)?,
        planes,
        satellites: reader.within("satellites", 22, 1..=1000_u32)?,
        phasing: reader.within("phasing", 0, 0..=planes - 1)?,
        spread: reader.within("spread", 360.0, 1.0..=360.0)?,
        min_elevation: reader.within("min-elevation", 25.0, 0.0..=90.0)?,
        choice: reader.choice("choice")?,
        timing: timing(reader, Duration::from_secs(15))?,
    }))
}

fn timing(reader: &Reader<'_>, slot: Duration) -> Result<Timing> {
    let step = reader.or("step", Duration::from_millis(100))?;
    if step < Duration::from_millis(1) {
        return Err(reader.bad("step", "a step must last 1ms at least"));
    }
    Ok(Timing {
        slot: Some(reader.or("slot", slot)?).filter(|slot| !slot.is_zero()),
        handover: reader.or("handover", Duration::ZERO)?,
        step,
        begin: reader.or("begin", Duration::ZERO)?,
    })
}

fn constellation(reader: &Reader<'_>) -> Result<Orbit> {
    let context = reader.context;
    let file = reader.need_node("file")?;
    let sets = ElementSets::parse(&context.text_of_file(file)?).map_err(|why| {
        let name = file.label();
        context.error(file.at, Problem::Value(format!("{name}, {why}")))
    })?;
    let crosslinks = reader.choice("crosslinks")?;
    let relays = match reader.node("relays") {
        None => Vec::new(),
        Some(node) => match &node.value {
            Value::List(items) => items
                .iter()
                .map(|item| Position::from_node(context, item))
                .collect::<Result<Vec<_>>>()?,
            _ => return Err(context.type_error(node, "a list of positions")),
        },
    };
    let min_elevation = reader.within("min-elevation", 25.0, 0.0..=90.0)?;
    let timing = timing(reader, Duration::ZERO)?;
    Constellation::new(sets, crosslinks, relays, min_elevation, timing)
        .map(Orbit::Constellation)
        .ok_or_else(|| reader.bad("crosslinks", NO_GRID))
}

/// Why there can be no crosslinks.
const NO_GRID: &str = "a grid needs the file's first line to say how many planes there are and how many satellites in \
                       each, such as `72 22`";
