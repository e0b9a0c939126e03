//! Segments and acknowledgments of a flow over time, and a link's queue: what claims about rounds
//! and bursts are read off.

use super::{Part, PointRuns};
use bentpipe_lab::Row;

/// A segment at the sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sent {
    /// When, in seconds.
    pub at: f64,
    /// The offset of its first byte; the stream's first byte has offset 1.
    pub first: u64,
    /// One past its last.
    pub end: u64,
}

/// An acknowledgment at the sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Acknowledged {
    /// When, in seconds.
    pub at: f64,
    /// The next byte expected.
    pub next: u64,
}

/// What a flow's sender saw.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trace {
    /// In their order.
    pub sent: Vec<Sent>,
    /// In their order.
    pub acknowledged: Vec<Acknowledged>,
}

/// A round trip of slow start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Round {
    /// Its packets leave between these, in seconds.
    pub from: f64,
    /// The last one's.
    pub to: f64,
    /// So many packets.
    pub packets: u64,
}

impl Trace {
    /// Of flow `flow` in the first run of a point; its scenario records `sequence`.
    ///
    /// # Errors
    /// It was not recorded.
    pub fn new(part: &Part, point: &PointRuns, flow: &str) -> Result<Trace, String> {
        let mut trace = Trace::default();
        for row in part.series(point, 0).map_err(|error| error.to_string())? {
            let (at, element, quantity, value) = sample(&row)?;
            if element != flow {
                continue;
            }
            let value = value as u64;
            match quantity {
                "segment" => trace.sent.push(Sent { at, first: value, end: value }),
                "segment-end" => {
                    let sent = trace.sent.last_mut().ok_or("a segment ends before it begins")?;
                    sent.end = value;
                }
                "ack" => trace.acknowledged.push(Acknowledged { at, next: value }),
                _ => {}
            }
        }
        if trace.sent.is_empty() {
            Err(format!("no segment of {flow} was recorded"))
        } else {
            Ok(trace)
        }
    }

    /// The round trips of slow start: a round's packets are those that leave until the round before
    /// is acknowledged whole, with what that acknowledgment lets go.
    pub fn rounds(&self) -> Vec<Round> {
        let mut rounds = Vec::new();
        let Some(first) = self.sent.first() else { return rounds };
        // What is sent before the first acknowledgment of data is the first round.
        let begun = |from: u64| self.acknowledged.iter().find(move |ack| ack.next > from);
        let until = begun(first.first).map_or(f64::INFINITY, |ack| ack.at);
        let mut edge = self.highest(|at| at < until);
        rounds.push(self.round(first.first, edge));
        while let Some(ack) = self.acknowledged.iter().find(|ack| ack.next >= edge) {
            let next = self.highest(|at| at <= ack.at);
            if next <= edge {
                break;
            }
            rounds.push(self.round(edge, next));
            edge = next;
        }
        rounds
    }

    fn highest(&self, when: impl Fn(f64) -> bool) -> u64 {
        let sent = self.sent.iter().take_while(|sent| when(sent.at));
        sent.map(|sent| sent.end).max().unwrap_or_default()
    }

    fn round(&self, from: u64, to: u64) -> Round {
        let inside = self.sent.iter().filter(|sent| sent.first >= from && sent.end <= to);
        let times: Vec<f64> = inside.map(|sent| sent.at).collect();
        let [from, to] = [times.first(), times.last()].map(|at| at.copied().unwrap_or_default());
        Round { from, to, packets: times.len() as u64 }
    }

    /// When the acknowledgments of a time of `over` seconds first come to so many bytes.
    pub fn reaches(&self, bytes: f64, over: f64) -> Option<f64> {
        let mut oldest = 0;
        for (index, ack) in self.acknowledged.iter().enumerate() {
            while self.acknowledged[oldest].at < ack.at - over {
                oldest += 1;
            }
            let before = oldest.checked_sub(1).map_or(1, |before| self.acknowledged[before].next);
            if index > 0 && ack.next.saturating_sub(before) as f64 >= bytes {
                return Some(ack.at);
            }
        }
        None
    }
}

/// The samples of `quantity` of `element` in the first run of a point: times in seconds, and
/// values.
///
/// # Errors
/// There is none.
pub fn series(
    part: &Part,
    point: &PointRuns,
    element: &str,
    quantity: &str,
) -> Result<Vec<(f64, f64)>, String> {
    let mut samples = Vec::new();
    for row in part.series(point, 0).map_err(|error| error.to_string())? {
        let (at, of, what, value) = sample(&row)?;
        if of == element && what == quantity {
            samples.push((at, value));
        }
    }
    if samples.is_empty() {
        return Err(format!("{quantity} of {element} was not recorded"));
    }
    Ok(samples)
}

fn sample(row: &Row) -> Result<(f64, &str, &str, f64), String> {
    use bentpipe_lab::Cell::Text;
    match &row[..] {
        [at, Text(element), Text(quantity), value] => {
            let numbers = at.number().zip(value.number());
            let (at, value) = numbers.ok_or("a sample without a number")?;
            Ok((at, element, quantity, value))
        }
        _ => Err("a series has other columns".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(at: f64, packet: u64) -> Sent {
        Sent { at, first: 1 + packet * 10, end: 11 + packet * 10 }
    }

    fn acknowledged(at: f64, packets: u64) -> Acknowledged {
        Acknowledged { at, next: 1 + packets * 10 }
    }

    #[test]
    fn rounds_double() {
        let trace = Trace {
            sent: vec![
                sent(0.0, 0),
                sent(1.0, 1),
                sent(1.0, 2),
                sent(2.0, 3),
                sent(2.0, 4),
                sent(2.1, 5),
                sent(2.1, 6),
            ],
            acknowledged: vec![acknowledged(1.0, 1), acknowledged(2.0, 2), acknowledged(2.1, 3)],
        };
        let packets: Vec<u64> = trace.rounds().iter().map(|round| round.packets).collect();
        assert_eq!(packets, [1, 2, 4]);
        assert_eq!(trace.rounds()[2].to, 2.1);
    }

    #[test]
    fn a_rate_is_reached_when_enough_came_within_the_time() {
        let trace = Trace {
            sent: vec![sent(0.0, 0)],
            acknowledged: (1..10).map(|n| acknowledged(f64::from(n as u32), n)).collect(),
        };
        assert_eq!(trace.reaches(20.0, 1.0), Some(2.0));
        assert_eq!(trace.reaches(50.0, 1.0), None);
    }
}
