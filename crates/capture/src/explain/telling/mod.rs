//! The stories of connections, as text and as JSON.

mod json;
mod text;

pub use json::as_json;
pub use text::write;

use super::{Handshake, Story, explain, handshake};
use crate::analysis::{Summary, analyse};
use crate::connection::Connection;
use crate::direction::Direction;

/// All that is told of a connection.
struct Told {
    handshake: Option<Handshake>,
    /// Packets that are copies of others, and those of an earlier sequence space.
    left_out: (usize, usize),
    /// The directions that have data.
    directions: Vec<(Direction, Summary, Story)>,
}

fn tell(connection: &Connection) -> Told {
    let analysis = analyse(connection);
    let stories = Direction::BOTH
        .map(|way| (way, analysis.summary(connection, way), explain(connection, &analysis, way)));
    let all = connection.segments.iter().filter(|segment| !segment.counts()).count();
    let copies = connection.copies();
    Told {
        handshake: handshake(connection, &analysis),
        left_out: (copies, all - copies),
        directions: stories
            .into_iter()
            .filter(|(_, _, story)| story.runs().next().is_some())
            .collect(),
    }
}
