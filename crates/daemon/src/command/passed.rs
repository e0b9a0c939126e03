//! The traffic that passes the gateway without being taken, for people and for machines.

use crate::bump::passed::{Class, Crossed, DIRECTIONS, PassedPrefix};
use bentpipe_gateway::{Side, Traffic};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::fmt::Write;

/// Prefixes of a side that machines are told of, by bytes.
const TOP: usize = 20;
/// The same for people.
const TOP_IN_TEXT: usize = 3;

/// A line of all, and one for each side of the prefixes with the most.
pub(super) fn lines(crossed: &Crossed, prefixes: &[PassedPrefix]) -> String {
    let all = bytes(&crossed.taken) + crossed.passed.iter().map(bytes).sum::<u64>();
    let some: Vec<String> = Class::ALL
        .into_iter()
        .map(|class| (class, bytes(&crossed.passed[class as usize])))
        .filter(|(_, bytes)| *bytes > 0)
        .map(|(class, bytes)| {
            let percent = 100.0 * bytes as f64 / all as f64;
            format!("{} {} ({percent:.1} %)", words(class), size(bytes))
        })
        .collect();
    if some.is_empty() {
        return String::new();
    }
    let mut text =
        format!("passes unsplit, of {} over the satellite: {}\n", size(all), some.join(", "));
    for side in Side::BOTH {
        let top: Vec<String> = top(prefixes, side, TOP_IN_TEXT).map(prefix_words).collect();
        if !top.is_empty() {
            _ = writeln!(text, "  most of it, on the {} side: {}", side.name(), top.join(", "));
        }
    }
    text
}

fn prefix_words(prefix: &PassedPrefix) -> String {
    let quic: u64 = prefix.bytes[Class::Quic as usize].iter().sum();
    let total = prefix.total();
    let percent = 100.0 * quic as f64 / total.max(1) as f64;
    format!("{} {} ({percent:.0} % QUIC)", prefix.prefix, size(total))
}

/// Adds it to what machines are told.
pub(super) fn add(crossed: &Crossed, prefixes: &[PassedPrefix], status: &mut Value) {
    let both = |traffic: &[Traffic; 2]| -> Value {
        let one = |traffic: &Traffic| json!({ "packets": traffic.packets, "bytes": traffic.bytes });
        DIRECTIONS.into_iter().zip(traffic.iter().map(one)).collect()
    };
    let mut passed: Value = Class::ALL
        .into_iter()
        .map(|class| (class.name(), both(&crossed.passed[class as usize])))
        .collect();
    passed["taken"] = both(&crossed.taken);
    status["passed"] = passed;
    status["passed_by_prefix"] = Side::BOTH
        .into_iter()
        .map(|side| {
            let top: Vec<Value> = top(prefixes, side, TOP).map(prefix_json).collect();
            (side.name(), json!(top))
        })
        .collect();
}

fn prefix_json(prefix: &PassedPrefix) -> Value {
    let mut json = json!({
        "prefix": prefix.prefix.to_string(),
        "bytes": prefix.total(),
    });
    for (class, bytes) in Class::ALL.into_iter().zip(prefix.bytes) {
        json[class.name()] = DIRECTIONS.into_iter().zip(bytes.map(|bytes| json!(bytes))).collect();
    }
    json
}

/// The prefixes of a side with the most bytes, the largest first.
fn top(prefixes: &[PassedPrefix], side: Side, most: usize) -> impl Iterator<Item = &PassedPrefix> {
    let mut there: Vec<&PassedPrefix> =
        prefixes.iter().filter(|prefix| prefix.side == side).collect();
    there.sort_by_key(|prefix| (Reverse(prefix.total()), prefix.prefix));
    there.into_iter().take(most)
}

fn bytes(both: &[Traffic; 2]) -> u64 {
    both.iter().map(|traffic| traffic.bytes).sum()
}

fn words(class: Class) -> &'static str {
    match class {
        Class::Tcp => "TCP",
        Class::Quic => "QUIC",
        Class::Udp => "other UDP",
        Class::OtherIp => "other IP",
        Class::NotIp => "not IP",
    }
}

/// A number of bytes with its unit, to three digits or so.
pub(super) fn size(bytes: u64) -> String {
    let units = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    match units.into_iter().find(|(_, scale)| bytes as f64 >= *scale) {
        Some((unit, scale)) => format!("{:.2} {unit}", bytes as f64 / scale),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use bentpipe_gateway::SitePrefix;

    /// A gateway that has taken 750 kB, while 250 kB have passed.
    pub(in super::super) fn crossed() -> Crossed {
        let traffic = |packets, bytes| Traffic { packets, bytes };
        let taken = [traffic(100, 50_000), traffic(600, 700_000)];
        let mut crossed = Crossed { taken, ..Crossed::default() };
        crossed.passed[Class::Quic as usize] = [traffic(20, 10_000), traffic(150, 190_000)];
        crossed.passed[Class::NotIp as usize] = [traffic(500, 25_000), traffic(500, 25_000)];
        crossed
    }

    fn prefix(side: Side, address: &str, quic: u64, udp: u64) -> PassedPrefix {
        let bytes = [[0; 2], [quic, 0], [0, udp], [0; 2]];
        PassedPrefix { side, prefix: SitePrefix::of(address.parse().unwrap()), bytes }
    }

    #[test]
    fn shares_are_of_all_that_crosses_the_satellite() {
        let prefixes = [
            prefix(Side::Satellite, "192.0.2.0", 0, 1000),
            prefix(Side::Satellite, "2001:db8:0:100::", 3000, 1000),
        ];
        let text = lines(&crossed(), &prefixes);
        let expected = "passes unsplit, of 1.00 MB over the satellite: QUIC 200.00 kB (20.0 %), not \
                        IP 50.00 kB (5.0 %)\n  most of it, on the satellite side: \
                        2001:db8:0:100::/56 4.00 kB (75 % QUIC), 192.0.2.0/24 1.00 kB (0 % QUIC)\n";
        assert_eq!(text, expected);
        assert_eq!(lines(&Crossed::default(), &[]), "");
    }

    #[test]
    fn machines_get_the_largest_prefixes_of_each_side() {
        let many: Vec<PassedPrefix> =
            (0..=255).map(|n| prefix(Side::Lan, &format!("10.0.{n}.0"), 10 * n, 1)).collect();
        let mut status = json!({});
        add(&crossed(), &many, &mut status);
        assert_eq!(status["passed"]["quic"]["in"], json!({ "packets": 150, "bytes": 190_000 }));
        assert_eq!(status["passed"]["taken"]["out"]["bytes"], 50_000);
        let [lan, satellite] = ["lan", "satellite"]
            .map(|side| status["passed_by_prefix"][side].as_array().unwrap().clone());
        assert_eq!((lan.len(), satellite.len()), (TOP, 0));
        let first = json!({
            "prefix": "10.0.255.0/24",
            "bytes": 2551,
            "tcp": { "out": 0, "in": 0 },
            "quic": { "out": 2550, "in": 0 },
            "udp": { "out": 0, "in": 1 },
            "other-ip": { "out": 0, "in": 0 },
        });
        assert_eq!(lan[0], first);
    }
}
