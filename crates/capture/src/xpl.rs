//! Time-sequence graphs for xplot.org, in tcptrace's manner: data as arrows from its first byte to
//! its last, retransmissions red with an R, the line of acknowledgments below (green), that of the
//! window above (yellow), sacked ranges purple with an S.

use crate::analysis::{Analysis, Mark, Repeat};
use crate::connection::{Connection, Flags};
use crate::direction::Direction;
use std::fmt::Write;

/// The graph of what one direction sent. Places are relative to its first segment, times are
/// seconds since 1970.
#[must_use]
pub fn write(connection: &Connection, analysis: &Analysis, direction: Direction) -> String {
    let from = connection.ends[direction.index()];
    let to = connection.ends[direction.reverse().index()];
    let mut graph = Graph { text: String::new(), ack: None, window: None };
    graph.line(&format!("timeval double\ntitle\n{from}_==>_{to} (time sequence graph)"));
    graph.line("xlabel\ntime\nylabel\nsequence offset");
    for (index, segment, fact) in analysis.facts_of(connection) {
        let at = Time(segment.at);
        if segment.direction != direction {
            graph.answer(at, fact.ack, fact.window, fact.marks.has(Mark::DuplicateAck));
            for (number, &(left, right)) in analysis.sacks_of(index).iter().enumerate() {
                let name = if fact.dsack && number == 0 { "D" } else { "S" };
                graph.line(&format!("purple\nline {at} {left} {at} {right}"));
                graph.line(&format!("purple\nctext {at} {right}\n{name}"));
            }
            if fact.marks.has(Mark::ZeroWindow) {
                let top = fact.ack.unwrap_or(0);
                graph.line(&format!("white\natext {at} {top}\nZ"));
            }
        } else {
            graph.data(at, segment.len, segment.flags, fact);
        }
    }
    graph.line("go");
    graph.text
}

struct Graph {
    text: String,
    /// Where these lines were last.
    ack: Option<(Time, i64)>,
    window: Option<(Time, i64)>,
}

impl Graph {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn data(&mut self, at: Time, len: u32, flags: Flags, fact: &crate::Fact) {
        let begin = fact.seq;
        let end = begin + i64::from(len);
        for (flag, name) in [(Flags::SYN, "SYN"), (Flags::FIN, "FIN"), (Flags::RST, "RST_OUT")] {
            if flags.has(flag) {
                let color = if flag == Flags::RST { "red" } else { "orange" };
                self.line(&format!("{color}\nbox {at} {end}\natext {at} {end}\n{name}"));
            }
        }
        if len == 0 {
            return;
        }
        let (color, name) = match fact.repeat {
            Repeat::New => ("white", None),
            Repeat::Retransmitted(_) => ("red", Some("R")),
            Repeat::Late(_) => ("pink", Some("O")),
            Repeat::Undecided => ("red", Some("R?")),
        };
        let arrows = format!("darrow {at} {begin}\nuarrow {at} {end}");
        self.line(&format!("{color}\n{arrows}\nline {at} {begin} {at} {end}"));
        if let Some(name) = name {
            self.line(&format!("atext {at} {end}\n{name}"));
        }
    }

    fn answer(&mut self, at: Time, ack: Option<i64>, window: Option<u64>, duplicate: bool) {
        let Some(ack) = ack else { return };
        step(&mut self.text, "green", &mut self.ack, at, ack);
        if duplicate {
            self.line(&format!("green\ndtick {at} {ack}"));
        }
        if let Some(window) = window {
            let top = ack.saturating_add_unsigned(window);
            step(&mut self.text, "yellow", &mut self.window, at, top);
        }
    }
}

/// Goes on with a line that has steps.
fn step(text: &mut String, color: &str, last: &mut Option<(Time, i64)>, at: Time, place: i64) {
    if let Some((then, before)) = *last {
        // Writing into a string does not fail.
        let _ = writeln!(text, "{color}\nline {then} {before} {at} {before}");
        if before != place {
            let _ = writeln!(text, "line {at} {before} {at} {place}");
        }
    }
    *last = Some((at, place));
}

/// Seconds, with all digits that the file has.
#[derive(Clone, Copy)]
struct Time(i64);

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (whole, part) = (self.0.div_euclid(1_000_000_000), self.0.rem_euclid(1_000_000_000));
        write!(f, "{whole}.{part:09}")
    }
}
