//! One page that needs nothing else: connections as graphs to zoom in. The scripts beside this file
//! are compiled in as text, in this order; they run in one function, so that they share names and
//! leave none behind.

mod encode;

use crate::analysis::{Analysis, Cause, Mark, Repeat, analyse};
use crate::class::Class;
use crate::connection::Connection;
use crate::direction::Direction;
use crate::evidence::Said;
use crate::explain::explain;
use crate::recorded::words;
use crate::series::Recorded;
use crate::silence::{Basis, Silence};
use bentpipe_core::tcp::cause::Cause as SenderCause;
use encode::encode;
use std::fmt::Write;

const HTML: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
const SCRIPTS: [&str; 7] = [
    include_str!("data.js"),
    include_str!("scale.js"),
    include_str!("series.js"),
    include_str!("lane.js"),
    include_str!("panels.js"),
    include_str!("input.js"),
    include_str!("main.js"),
];

/// Of so many silences in a lane a page has the evidence.
const EVIDENCE_MAX: usize = 5000;

/// A connection of a page.
#[derive(Debug)]
pub struct Graph<'a> {
    /// The file's name.
    pub file: String,
    /// What is drawn.
    pub connection: &'a Connection,
    /// Whose data is shown first.
    pub direction: Direction,
    /// What was recorded of it elsewhere.
    pub series: Vec<Recorded>,
}

/// The page of these graphs, which begins with all in one or with each `beside` the others.
#[must_use]
pub fn write(title: &str, graphs: &[Graph<'_>], beside: bool) -> String {
    let names = |names: &[&str]| names.iter().map(|name| text(name)).collect::<Vec<_>>().join(",");
    let mut data = String::from("{\"marks\":[");
    data += &names(&Mark::ALL.map(Mark::name));
    data += "],\"causes\":[";
    data += &names(&Cause::ALL.map(Cause::name));
    data += "],\"repeats\":[";
    data += &Repeat::ALL.map(|repeat| text(&repeat.name())).join(",");
    data += "],\"recorded\":[";
    let recorded = SenderCause::ALL.iter().map(|cause| format!("{cause}: {}", words(*cause)));
    data += &recorded.map(|cause| text(&cause)).collect::<Vec<_>>().join(",");
    data += "],\"classes\":[";
    data += &Class::ALL.map(class_as_json).join(",");
    data += "],\"limiters\":[";
    data += &Said::all().map(limiter_as_json).collect::<Vec<_>>().join(",");
    let _ = write!(data, "],\"beside\":{},\"graphs\":[", beside && graphs.len() > 1);
    for (number, graph) in graphs.iter().enumerate() {
        data += if number == 0 { "\n" } else { ",\n" };
        graph_as_json(graph, &mut data);
    }
    data += "]}";
    let script = SCRIPTS.concat();
    HTML.replacen("{{title}}", &escaped(title), 2)
        .replacen("{{style}}", STYLE, 1)
        .replacen("{{script}}", &script, 1)
        .replacen("{{data}}", &data, 1)
}

fn class_as_json(class: Class) -> String {
    format!(
        "{{\"name\":{},\"color\":\"{}\",\"label\":{},\"kind\":\"{}\"}}",
        text(class.name()),
        class.color(),
        text(class.label()),
        class.kind().name()
    )
}

fn limiter_as_json(said: Said) -> String {
    format!("{{\"name\":{},\"color\":\"{}\"}}", text(&said.name()), said.color())
}

fn graph_as_json(graph: &Graph<'_>, out: &mut String) {
    let connection = graph.connection;
    let analysis = analyse(connection);
    let first = connection.segments.first().map_or(0, |segment| segment.at);
    let [a, b] = connection.ends;
    let count = analysis.facts_of(connection).count();
    // Writing into a string does not fail.
    let _ = write!(
        out,
        "{{\"file\":{},\"number\":{},\"label\":{},\"ends\":[\"{a}\",\"{b}\"],\"begins\":\"{first}\",\"direction\":{},\"mss\":[{},{}],\"accurate_ecn\":{},\"count\":{count},\"left_out\":{}",
        text(&graph.file),
        connection.number,
        text(&connection.label().unwrap_or_default()),
        graph.direction.index(),
        analysis.mss[0],
        analysis.mss[1],
        connection.accurate_ecn(),
        connection.segments.len() - count
    );
    *out += ",\"comments\":{";
    let shown = analysis.facts_of(connection).enumerate();
    let commented = shown.filter_map(|(place, (index, _, _))| {
        Some((place, connection.comments.get(&u32::try_from(index).ok()?)?))
    });
    for (number, (place, comment)) in commented.enumerate() {
        let comma = if number == 0 { "" } else { "," };
        let _ = write!(out, "{comma}\"{place}\":{}", text(comment));
    }
    *out += "},\"columns\":{";
    for (number, (name, column)) in encode(connection, &analysis).into_iter().enumerate() {
        let comma = if number == 0 { "" } else { "," };
        let _ = write!(out, "{comma}\"{name}\":\"{column}\"");
    }
    let lanes = Direction::BOTH.map(|direction| lane(connection, &analysis, direction));
    let names = lanes.each_ref().map(|lane| format!("\"{}\"", encode::lane(lane.iter())));
    *out += &format!("}},\"lanes\":[{}],\"evidence\":[", names.join(","));
    *out += &lanes.each_ref().map(|lane| evidence(lane)).join(",");
    *out += "],\"series\":[";
    for (number, series) in connection.series.iter().chain(&graph.series).enumerate() {
        let comma = if number == 0 { "" } else { "," };
        let _ = write!(out, "{comma}{}", series_as_json(series, first));
    }
    *out += "]}";
}

/// What has limited a direction: as its end has recorded it, or as the capture shows it.
fn lane(connection: &Connection, analysis: &Analysis, direction: Direction) -> Vec<Silence> {
    let recorded = &connection.limits[direction.index()];
    if !recorded.is_empty() {
        return recorded.clone();
    }
    let story = explain(connection, analysis, direction);
    let known = |silence: &&Silence| !matches!(silence.said(), Said::Unknown(_));
    story.silences().filter(known).copied().collect()
}

/// From what each silence was concluded, in words; only of as many as somebody may look at.
fn evidence(lane: &[Silence]) -> String {
    let words = lane.iter().take(EVIDENCE_MAX).map(|silence| match silence.basis {
        Basis::Recorded(_) => text(""),
        Basis::Inferred(evidence) => text(&evidence.words()),
    });
    format!("[{}]", words.collect::<Vec<_>>().join(","))
}

fn series_as_json(series: &Recorded, first: i64) -> String {
    let (panel, unit, color, dash) = series.quantity.look();
    format!(
        "{{\"panel\":{panel},\"name\":{},\"unit\":\"{unit}\",\"color\":\"{color}\",\"dash\":{dash},\"end\":{},\"values\":\"{}\"}}",
        text(&series.name),
        series.end.map_or(-1, |end| end.index() as i64),
        encode::series(&series.values, first)
    )
}

/// A JSON string that is also safe within a script element: file names and comments are anybody's.
fn text(value: &str) -> String {
    let mut out = String::from("\"");
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn escaped(value: &str) -> String {
    value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_end_the_script() {
        assert_eq!(text("</script>\n\"\\"), "\"\\u003c/script\\u003e\\u000a\\\"\\\\\"");
        let page = write("<b>", &[], false);
        assert!(page.contains("&lt;b&gt;") && !page.contains("{{"));
    }
}
