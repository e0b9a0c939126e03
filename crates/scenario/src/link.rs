//! Links between nodes: their ends, costs and orbits.

use crate::names::{Names, NodeIndex};
use crate::node::Node;
use crate::orbit::{Orbit, Pass, Position};
use bentpipe_config::document::Value;
use bentpipe_config::reader::{Reader, Result, Section, field};
use bentpipe_core::link::Varying;
use bentpipe_core::time::Duration;
use bentpipe_links::{DirectionSpec, Ground, read_directions, read_mtu};
use std::sync::Arc;

/// A link between two nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Its name in the file.
    pub name: String,
    /// Its two ends.
    pub between: [NodeIndex; 2],
    /// What a packet's way costs: routes have the least sum.
    pub cost: f64,
    /// From the first end to the second.
    pub forward: DirectionSpec,
    /// From the second end to the first.
    pub back: DirectionSpec,
    /// The longest packet that it carries, if there is a limit.
    pub mtu: Option<u32>,
    /// Its satellites, if it leads over a LEO shell.
    pub pass: Option<Arc<Pass>>,
}

impl Link {
    /// Its directions, each with where it begins and ends.
    pub fn directions(&self) -> [(NodeIndex, NodeIndex, &DirectionSpec); 2] {
        let [a, b] = self.between;
        [(a, b, &self.forward), (b, a, &self.back)]
    }

    /// The direction that begins at `node`, if it is one of the ends.
    pub fn from(&self, node: NodeIndex) -> Option<&DirectionSpec> {
        let found = self.directions().into_iter().find(|(from, ..)| *from == node);
        found.map(|(_, _, direction)| direction)
    }
}

pub(crate) const LINK: Section = Section {
    path: "link.NAME",
    about: "A link between two nodes. What follows from `rate` on holds for both directions; \
            `back` says what is different from the second end to the first.",
    fields: &[
        field(
            "between",
            "a list of two nodes",
            "",
            "its ends: forward is from the first to the second",
        ),
        field(
            "profile",
            "a profile's name",
            "",
            "a ready-made link; what is said besides overrides it",
        ),
        field(
            "orbit",
            "a table",
            "",
            "delay by the positions of the two ends and a satellite's orbit",
        ),
        field(
            "mtu",
            "bytes, 128 to 65535",
            "unlimited",
            "the longest IP packet that it carries, both ways. To who sends a longer one over it comes ICMP's \"packet too big\" (RFC 1191); nothing is fragmented. A host at its end announces an MSS that fits; others follow it down to their `min-mtu`",
        ),
        field("cost", "a number", "1", "routes take the way with the least sum of costs"),
        field("back", "a table of the keys below", "", "what is different in the direction back"),
    ],
    example: "[link.sat]\nbetween = [\"r1\", \"client\"]\nrate = \"1.5Mbit/s\"\ndelay = \"250ms\"\nqueue = \"60packets\"\nback = { rate = \"9600bit/s\" }",
};

/// What the parts of a link's description refer to.
pub(crate) struct Around<'a> {
    pub(crate) names: &'a Names,
    pub(crate) nodes: &'a [Node],
    /// Of the run.
    pub(crate) duration: Duration,
}

impl Link {
    pub(crate) fn read(reader: &Reader<'_>, name: &str, around: &Around<'_>) -> Result<Link> {
        let between = ends(reader, around.names)?;
        let [mut ground, mut back_ground] = Ground::read(reader)?;
        let pass = match reader.maybe::<Orbit>("orbit")? {
            None => None,
            Some(orbit) => over(reader, orbit, between, around, &mut ground)?,
        };
        if reader.node("orbit").is_some() {
            back_ground = Ground { rate: back_ground.rate, ..ground.clone() };
        }
        let [forward, back] = read_directions(reader, name, [&ground, &back_ground])?;
        let cost = reader.within("cost", 1.0, 1e-9..=1e9)?;
        let mtu = read_mtu(reader)?;
        Ok(Link { name: name.to_owned(), between, cost, forward, back, mtu, pass })
    }
}

fn ends(reader: &Reader<'_>, names: &Names) -> Result<[NodeIndex; 2]> {
    let context = reader.context;
    let node = reader.need_node("between")?;
    let Value::List(list) = &node.value else {
        return Err(context.type_error(node, "a list of two nodes such as [\"r1\", \"client\"]"));
    };
    let [a, b] = list.as_slice() else {
        let why = format!("a link has two ends, found {}", list.len());
        return Err(context.value_error(node, why));
    };
    let ends = [names.node(context, a)?, names.node(context, b)?];
    if ends[0] == ends[1] {
        let why = format!("a link between `{}` and itself", a.label());
        return Err(context.value_error(b, why));
    }
    Ok(ends)
}

/// Delay and outages of a link over `orbit`.
fn over(
    reader: &Reader<'_>,
    orbit: Orbit,
    between: [NodeIndex; 2],
    around: &Around<'_>,
    ground: &mut Ground,
) -> Result<Option<Arc<Pass>>> {
    if reader.node("delay").is_some() {
        return Err(reader.bad("delay", "`delay` and `orbit` exclude each other"));
    }
    let place = |end: NodeIndex| -> Result<Position> {
        let node = &around.nodes[end.0];
        let why = || {
            let name = &node.name;
            reader.bad("orbit", format!("`{name}` has no `position`, which an orbit's link needs"))
        };
        node.position.ok_or_else(why)
    };
    let (a, b) = (place(between[0])?, place(between[1])?);
    if let Some(timing) = orbit.timing()
        && around.duration.as_nanos() / timing.step.as_nanos() > 10_000_000
    {
        return Err(reader.bad("orbit", "more than ten million steps: choose a longer step"));
    }
    match orbit {
        Orbit::Geo(geo) => {
            let unseen = || {
                let low = if geo.hop(a).is_none() { between[0] } else { between[1] };
                let name = &around.nodes[low.0].name;
                reader.bad("orbit", format!("the satellite is below the horizon of `{name}`"))
            };
            ground.delay = Varying::Constant(geo.delay(a, b).ok_or_else(unseen)?);
            Ok(None)
        }
        Orbit::Walker(walker) => Ok(Some(follow(ground, walker.pass(a, b, around.duration)))),
        Orbit::Constellation(sky) => Ok(Some(follow(ground, sky.pass(a, b, around.duration)))),
    }
}

/// Delay and outages of `ground` are those of `pass`.
fn follow(ground: &mut Ground, pass: Pass) -> Arc<Pass> {
    ground.delay = pass.delay.clone();
    ground.outages.clone_from(&pass.outages);
    Arc::new(pass)
}
