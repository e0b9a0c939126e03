//! Columns of numbers as text: differences as variable-length integers (LEB128, signs by zigzag),
//! in base64. That is 30 bytes a packet, where JSON would take 200, and a browser reads it as fast
//! as it can loop.

use crate::analysis::{Analysis, Cause, Repeat};
use crate::class::Class;
use crate::connection::Connection;
use crate::evidence::Said;
use crate::silence::Silence;

/// The digits of base64 (RFC 4648).
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A column in the making.
#[derive(Default)]
struct Column {
    bytes: Vec<u8>,
    /// What the next value is the difference to: of each direction, or of both.
    last: [i64; 2],
}

impl Column {
    fn plain(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn signed(&mut self, value: i64) {
        self.plain((value.wrapping_shl(1) ^ (value >> 63)) as u64);
    }

    fn difference(&mut self, direction: usize, value: i64) {
        self.signed(value.wrapping_sub(self.last[direction]));
        self.last[direction] = value;
    }

    fn base64(&self) -> String {
        let mut text = String::with_capacity(self.bytes.len().div_ceil(3) * 4);
        for chunk in self.bytes.chunks(3) {
            let mut word = [0; 3];
            word[..chunk.len()].copy_from_slice(chunk);
            let bits = u32::from(word[0]) << 16 | u32::from(word[1]) << 8 | u32::from(word[2]);
            for digit in 0..4 {
                if digit <= chunk.len() {
                    let value = bits >> (18 - 6 * digit) & 63;
                    text.push(char::from(DIGITS[value as usize]));
                } else {
                    text.push('=');
                }
            }
        }
        text
    }
}

/// All columns of a connection, by the names that `data.js` has for them.
pub(super) fn encode(connection: &Connection, analysis: &Analysis) -> Vec<(&'static str, String)> {
    let first = connection.segments.first().map_or(0, |segment| segment.at);
    let [mut time, mut frame, mut header, mut seq, mut len, mut ack]: [Column; 6] =
        Default::default();
    let [mut window, mut stamps, mut sacks, mut inferred, mut trip, mut flight]: [Column; 6] =
        Default::default();
    let [mut class, mut recorded]: [Column; 2] = Default::default();
    for (index, segment, fact) in analysis.facts_of(connection) {
        let direction = segment.direction.index();
        time.difference(0, segment.at.saturating_sub(first));
        frame.difference(0, i64::from(segment.frame));
        let flags = u64::from(segment.flags.bits()) << 1;
        header.plain(u64::from(segment.ecn) << 10 | flags | direction as u64);
        seq.difference(direction, fact.seq);
        len.plain(u64::from(segment.len));
        let acknowledged = fact.ack.unwrap_or(ack.last[direction]);
        ack.difference(direction, acknowledged);
        // 0 is a window whose scale is not known.
        let shown = fact.window.map_or(0, |window| window.saturating_add(1));
        window.difference(direction, i64::try_from(shown).unwrap_or(i64::MAX));
        stamps.plain(u64::from(segment.timestamps.is_some()));
        if let Some((value, echo)) = segment.timestamps {
            stamps.difference(0, i64::from(value));
            stamps.difference(1, i64::from(echo));
        }
        let blocks = analysis.sacks_of(index);
        sacks.plain(blocks.len() as u64);
        for &(left, right) in blocks {
            sacks.signed(left.wrapping_sub(acknowledged));
            sacks.signed(right.wrapping_sub(left));
        }
        let cause = fact.cause.and_then(|cause| Cause::ALL.iter().position(|&one| one == cause));
        let cause = cause.map_or(0, |number| number as u64 + 1);
        let bits = u64::from(fact.dsack) | u64::from(fact.delayed) << 1;
        let repeat = Repeat::ALL.iter().position(|&one| one == fact.repeat).unwrap_or(0) as u64;
        inferred.plain(u64::from(fact.marks.bits()) << 9 | repeat << 6 | cause << 2 | bits);
        trip.plain(fact.round_trip.map_or(0, |nanos| nanos.max(0) as u64 + 1));
        class.plain(Class::of(segment, fact).map_or(0, |class| class as u64 + 1));
        recorded.plain(segment.recorded.map_or(0, |cause| cause as u64 + 1));
        flight.difference(0, fact.outstanding[0] as i64);
        flight.difference(1, fact.outstanding[1] as i64);
    }
    let columns = [
        ("time", time),
        ("frame", frame),
        ("header", header),
        ("seq", seq),
        ("len", len),
        ("ack", ack),
        ("window", window),
        ("stamps", stamps),
        ("sacks", sacks),
        ("inferred", inferred),
        ("trip", trip),
        ("flight", flight),
        ("class", class),
        ("recorded", recorded),
    ];
    columns.into_iter().map(|(name, column)| (name, column.base64())).collect()
}

/// Silences: how many, and of each when it began, how long it was, and its limiter.
pub(super) fn lane<'s>(silences: impl Iterator<Item = &'s Silence>) -> String {
    let mut column = Column::default();
    let mut count = 0;
    for silence in silences {
        count += 1;
        column.difference(0, silence.begin);
        column.plain(silence.end.saturating_sub(silence.begin).max(0) as u64);
        let said =
            Said::all().position(|said| said == silence.said()).expect("all answers are listed");
        column.plain((said as u64) << 1 | u64::from(silence.inferred()));
    }
    counted(count, column)
}

/// A quantity: how many values, and of each its time and itself.
pub(super) fn series(values: &[(i64, i64)], first: i64) -> String {
    let mut column = Column::default();
    for &(at, value) in values {
        column.difference(0, at.saturating_sub(first));
        column.difference(1, value);
    }
    counted(values.len() as u64, column)
}

fn counted(count: u64, column: Column) -> String {
    let mut all = Column::default();
    all.plain(count);
    all.bytes.extend(column.bytes);
    all.base64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_the_page_reads_them() {
        let mut column = Column::default();
        column.difference(0, 300);
        column.difference(1, -1);
        column.difference(0, 299);
        assert_eq!(column.bytes, [0xD8, 0x04, 0x01, 0x01]);
        assert_eq!(column.base64(), "2AQBAQ==");
        column.bytes.truncate(3);
        assert_eq!(column.base64(), "2AQB");
    }
}
