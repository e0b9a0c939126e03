//! The stories of connections, as text and as JSON.

mod json;
mod text;

pub use json::{as_json, totals_as_json};
pub use text::{write, write_totals};

use super::{Handshake, Outcome, Story, Sums, explain, handshake};
use crate::analysis::analyse;
use crate::connection::Connection;
use crate::direction::Direction;

/// All that is told of a connection.
struct Told {
    handshake: Option<Handshake>,
    /// Packets that are copies of others, and those of an earlier sequence space.
    left_out: (usize, usize),
    /// The directions that have data.
    directions: Vec<(Direction, Sums, Story)>,
}

/// The sums of several connections.
#[derive(Debug, Default)]
pub struct Totals {
    connections: usize,
    /// Those that were refused, and those that were never answered.
    failed: (usize, usize),
    sums: Sums,
}

impl Totals {
    /// Those of these connections.
    pub fn of<'c>(connections: impl Iterator<Item = &'c Connection>) -> Totals {
        let mut totals = Totals::default();
        for connection in connections {
            let told = tell(connection);
            totals.connections += 1;
            match told.handshake.map(|handshake| handshake.outcome) {
                Some(Outcome::Refused) => totals.failed.0 += 1,
                Some(Outcome::Unanswered) => totals.failed.1 += 1,
                _ => {}
            }
            for (_, sums, _) in &told.directions {
                totals.sums.join(sums);
            }
        }
        totals
    }
}

fn tell(connection: &Connection) -> Told {
    let analysis = analyse(connection);
    let stories = Direction::BOTH.map(|way| {
        let story = explain(connection, &analysis, way);
        (way, Sums::of(analysis.summary(connection, way), &story), story)
    });
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
