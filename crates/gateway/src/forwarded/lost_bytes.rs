//! Connections that are forwarded and cannot go on, as bytes that were acknowledged to their sender
//! went with a gateway that crashed: both hosts are reset, who would else wait until they time out.
//!
//! Whether that is so shows in what passes ([`Gap`] has the rule), once a gateway stands there
//! again, or in any other that forwards the connection. What is known of connections is kept in a
//! table with a limit. A connection that makes progress has no place in it for longer than a round
//! trip, as the first acknowledgment of what was noted takes it out.

mod gap;
mod probe;

use crate::key::FlowKey;
use crate::segment::Segment;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::Flags;
pub(crate) use gap::Evidence;
use gap::{Gap, Passing};
use std::collections::BTreeMap;

/// The most connections of which something is kept: some 300 KB.
const MAX: usize = 2048;

/// How often a full table is looked through for what may give way.
const LOOK: Duration = Duration::from_millis(100);

/// By whether the sender's end is the lower one in the connection's name.
type Directions = [Option<Gap>; 2];

/// The table.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    connections: BTreeMap<FlowKey, Directions>,
    /// Before that a full table is not looked through again.
    look_at: Instant,
}

impl Gaps {
    /// Whether something is kept of this connection.
    pub(crate) fn contains(&self, key: &FlowKey) -> bool {
        self.connections.contains_key(key)
    }

    /// Reads a segment that is forwarded, and says what it shows.
    pub(crate) fn read(&mut self, now: Instant, segment: &Segment<'_>) -> Evidence {
        let Segment { ip, tcp, payload, .. } = segment;
        let key = FlowKey::of(ip, tcp);
        if tcp.has(Flags::SYN) || tcp.has(Flags::RST) {
            // Another connection, or none any more.
            self.connections.remove(&key);
            return Evidence::None;
        }
        if !tcp.has(Flags::ACK) {
            return Evidence::None;
        }
        let occupied = payload.len() as u64 + u64::from(tcp.has(Flags::FIN));
        let passing = Passing { ip, tcp, occupied };
        let from = usize::from(key.is_low((ip.src, tcp.src_port)));
        let Some(directions) = self.connections.get_mut(&key) else {
            if self.has_room(now, occupied == 0) {
                let mut directions = Directions::default();
                directions[from] = Some(Gap::new(now, passing));
                self.connections.insert(key, directions);
            }
            return Evidence::None;
        };
        // What answers data is no probe.
        let answers_data = directions[1 - from].as_ref().is_some_and(|gap| !gap.empty);
        let shown = match &mut directions[from] {
            Some(gap) => gap.on_sent(now, passing),
            none => {
                *none = (occupied > 0 || !answers_data).then(|| Gap::new(now, passing));
                Evidence::None
            }
        };
        let answer = directions[1 - from].as_mut().map(|gap| gap.on_answer(now, passing));
        if answer == Some(Evidence::Progress) {
            directions[1 - from] = None;
        }
        if directions.iter().all(Option::is_none) {
            self.connections.remove(&key);
        }
        answer
            .filter(|evidence| !matches!(evidence, Evidence::Progress | Evidence::None))
            .unwrap_or(shown)
    }

    /// Forwarded connections of which something is kept.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.connections.len()
    }

    /// The connection is not forwarded any more.
    pub(crate) fn forget(&mut self, key: &FlowKey) {
        self.connections.remove(key);
    }

    /// Whether another connection finds a place, which others may have to leave. An empty segment
    /// finds one in half of the table, from where only such give way to it.
    fn has_room(&mut self, now: Instant, empty: bool) -> bool {
        let max = if empty { MAX / 2 } else { MAX };
        if self.connections.len() >= max && self.look_at <= now {
            self.look_at = now + LOOK;
            self.connections.retain(|_, directions| {
                directions.iter().flatten().any(|gap| gap.keeps_its_place(now, empty))
            });
        }
        self.connections.len() < max
    }
}
