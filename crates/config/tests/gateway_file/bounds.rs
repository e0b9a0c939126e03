//! What cannot work is refused where it stands; the least and the largest that can is not.

use super::{INTERFACES, setup};

/// Fifth and later lines of a file, and the line that is at fault (the fourth is the table's).
fn refused(table: &str, lines: &str, at: usize, parts: &[&str]) {
    let text = format!("{INTERFACES}[{table}]\n{lines}\n");
    let message = match setup(&text) {
        Ok(_) => panic!("[{table}] {lines}: taken"),
        Err(message) => message,
    };
    assert!(message.starts_with(&format!("FILE:{at}:")), "{lines}: {message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    for part in parts {
        assert!(message.contains(part), "{lines}: `{part}` is not in: {message}");
    }
}

fn taken(table: &str, lines: &str) {
    if let Err(message) = setup(&format!("{INTERFACES}[{table}]\n{lines}\n")) {
        panic!("[{table}] {lines}: {message}");
    }
}

#[test]
fn a_side_of_a_link_has_its_min_and_its_max() {
    for (line, parts) in [
        ("rate = \"0Mbit/s\"", ["rate", "1kbit/s to 100Gbit/s"]),
        ("rate = \"999bit/s\"", ["rate", "1kbit/s to 100Gbit/s"]),
        ("rate = \"101Gbit/s\"", ["rate", "1kbit/s to 100Gbit/s"]),
        ("return-rate = \"0Mbit/s\"", ["return-rate", "1kbit/s to 100Gbit/s"]),
        ("round-trip = \"0ms\"", ["round-trip", "100us to 30s"]),
        ("round-trip = \"31s\"", ["round-trip", "100us to 30s"]),
        ("rate = 8", ["number 8", "a rate such as"]),
    ] {
        refused("satellite", line, 5, &parts);
    }
    for line in [
        "rate = \"1kbit/s\"",
        "rate = \"100Gbit/s\"",
        "round-trip = \"100us\"",
        "round-trip = \"30s\"",
    ] {
        taken("satellite", line);
    }
}

#[test]
fn a_legs_tcp_has_its_min_and_its_max() {
    let cases: &[(&str, &[&str])] = &[
        ("pacing = \"0bit/s\"", &["pacing", "0bit/s", "1kbit/s to 100Gbit/s"]),
        ("tcp = \"pacing=200Gbit/s\"", &["pacing", "1kbit/s to 100Gbit/s"]),
        ("iw = \"0B\"", &["iw", "1B to 1GiB"]),
        ("iw = \"2GiB\"", &["iw", "1B to 1GiB"]),
        ("iw = 2000000", &["iw", "out of range"]),
        ("tcp = \"ssthresh=0B\"", &["ssthresh", "1B to 1GiB"]),
        ("tcp = \"max-retries=0\"", &["max-retries", "3 to 100"]),
        ("tcp = \"max-retries=4000000000\"", &["max-retries", "3 to 100"]),
        ("ack = \"delayed:0s\"", &["ack", "0s"]),
        ("ack = \"delayed:501ms\"", &["ack", "501ms", "500ms"]),
        ("ack = \"heartbeat:24h\"", &["ack", "500ms"]),
        ("ack = \"thinned:0:100ms\"", &["ack", "`0`"]),
        ("ack = \"thinned:8:2s\"", &["ack", "500ms"]),
        ("ack = \"division:1000\"", &["ack", "1 to 64"]),
        ("rto.min = \"61s\"", &["rto.min", "61s", "rto.max", "1min"]),
        ("tcp = \"rto.max=100ms\"", &["rto.max", "1s to 1h"]),
        ("tcp = \"rto.max=2h\"", &["rto.max", "1s to 1h"]),
        ("tcp = \"rto.max=2s,rto.initial=3s\"", &["rto.initial", "3s", "rto.max", "2s"]),
        ("tcp = \"rto.tick=2s\"", &["rto.tick", "1s"]),
        ("tcp = \"rto.granularity=2s\"", &["rto.granularity", "1s"]),
        ("tcp = \"rto.min=0s,rto.granularity=0s\"", &["rto.min", "rto.granularity", "1ms"]),
        ("congestion = \"constant-rate:c=1e300\"", &["constant-rate", "0.001 to 1000000"]),
        ("congestion = \"increase-by-k:k=1e-9\"", &["increase-by-k", "0.001 to 1000000"]),
        ("congestion = \"vegas:alpha=1e9\"", &["vegas", "0.001 to 1000000"]),
        ("congestion = \"hybla:rtt0=1ns\"", &["hybla", "1ms to 10s"]),
    ];
    for side in ["satellite", "lan"] {
        for (line, parts) in cases {
            refused(side, line, 5, parts);
        }
        for line in [
            "pacing = \"1kbit/s\"",
            "iw = \"1GiB\"",
            "iw = \"1B\"",
            "iw = 1",
            "ack = \"thinned:1000:500ms\"",
            "ack = \"division:64\"",
            "rto.min = \"0s\"",
            "rto.min = \"60s\"",
            "tcp = \"rto.max=1s,rto.min=1s,rto.tick=500ms\"",
            "tcp = \"max-retries=3,ssthresh=off\"",
            "mss = 536",
            "mss = 65495",
        ] {
            taken(side, line);
        }
    }
}

#[test]
fn every_preset_is_a_leg() {
    for preset in bentpipe_core::tcp::presets::PRESETS {
        for side in ["satellite", "lan"] {
            taken(side, &format!("tcp = \"{}\"", preset.name));
        }
    }
}

#[test]
fn keys_of_a_leg_do_not_contradict_each_other() {
    refused(
        "satellite",
        "rate = \"4Mbit/s\"\npacing = \"8Mbit/s\"",
        6,
        &["pacing", "8Mbit/s", "rate", "4Mbit/s"],
    );
    refused("satellite", "pacing = \"8Mbit/s\"\nrate = \"4Mbit/s\"", 5, &["pacing"]);
    refused("satellite", "rate = \"4Mbit/s\"\ntcp = \"pacing=8Mbit/s\"", 6, &["pacing"]);
    taken("satellite", "rate = \"8Mbit/s\"\npacing = \"8Mbit/s\"");
    taken("satellite", "rate = \"8Mbit/s\"\npacing = \"off\"");
    // `tcp` comes first whatever the order in the file is, so the other key is at fault.
    refused("lan", "rto.min = \"5s\"\ntcp = \"rto.max=2s\"", 5, &["rto.min", "rto.max"]);
}

#[test]
fn limits_have_their_least_and_their_largest() {
    let cases: &[(&str, &[&str])] = &[
        ("memory = \"0\"", &["memory", "1MiB"]),
        ("memory = \"32KiB\"", &["memory", "1MiB"]),
        // Far more than any machine has.
        ("memory = \"1000000GiB\"", &["memory", "this host has"]),
        ("stream = \"0\"", &["stream", "64KB to 1GiB"]),
        ("stream = \"63KB\"", &["stream", "64KB to 1GiB"]),
        ("stream = \"2GiB\"", &["stream", "64KB to 1GiB"]),
        ("flows = 0", &["flows", "1 to 10000000", "observe"]),
        ("flows = -1", &["flows", "1 to 10000000"]),
        ("guaranteed = \"0\"", &["guaranteed", "1B to 256MiB"]),
        ("guaranteed = \"257MiB\"", &["guaranteed", "1B to 256MiB"]),
        ("reset-drain = \"2h\"", &["reset-drain", "0s to 1h"]),
        ("flows = 10000001", &["flows", "1 to 10000000"]),
        ("half-open = 0", &["half-open", "1 to 1000000"]),
        ("half-open = 1000001", &["half-open", "1 to 1000000"]),
        ("flows-per-client = 0", &["flows-per-client", "1 to 10000000"]),
        ("flows-per-client = 99999999999", &["flows-per-client", "1 to 10000000"]),
        ("drain = \"2h\"", &["drain", "0s to 1h"]),
    ];
    for (line, parts) in cases {
        refused("limits", line, 5, parts);
    }
    for line in [
        "memory = \"1MiB\"",
        "stream = \"64KB\"",
        "stream = \"1GiB\"\nmemory = \"1GiB\"",
        "flows = 1",
        "half-open = 1",
        "flows-per-client = 1",
        "drain = \"0s\"",
        "drain = \"1h\"",
    ] {
        taken("limits", line);
    }
}

#[test]
fn limits_do_not_contradict_each_other() {
    refused("limits", "memory = \"2MiB\"\nstream = \"3MiB\"", 6, &["stream", "memory", "2MiB"]);
    refused("limits", "stream = \"513MiB\"", 5, &["stream", "memory", "512MiB"]);
    refused("limits", "flows = 10\nhalf-open = 11", 6, &["half-open", "flows", "10"]);
    refused("limits", "flows-per-client = 11\nflows = 10", 5, &["flows-per-client", "flows"]);
    // What is not said follows.
    taken("limits", "memory = \"1MiB\"");
    taken("limits", "flows = 10");
}

#[test]
fn the_rest_has_its_min_and_its_max() {
    refused("metrics", "listen = \"127.0.0.1:0\"", 5, &["listen", "port"]);
    refused("log", "every = \"999ms\"", 5, &["every", "1s to 24h"]);
    refused("log", "every = \"25h\"", 5, &["every", "1s to 24h"]);
    taken("log", "every = \"1s\"");
    taken("log", "every = \"24h\"");
}

#[test]
fn each_side_has_its_own_interfaces() {
    let cases: &[(&str, &str, usize, &[&str])] = &[
        ("[]", "[\"b\"]", 2, &["lan", "no interface"]),
        ("[\"a\"]", "[]", 3, &["satellite", "no interface"]),
        ("[\"a\"]", "[\"a\"]", 3, &["`a`", "line 2"]),
        ("[\"a\", \"b\", \"a\"]", "[\"c\"]", 2, &["`a`", "line 2"]),
        ("[\n\"a\",\n\"b\"]", "[\"c\", \"b\"]", 5, &["`b`", "line 4"]),
        ("[\"\"]", "[\"b\"]", 2, &["``"]),
        ("[\"a b\"]", "[\"c\"]", 2, &["`a b`"]),
        ("[\"sixteen-bytes-xx\"]", "[\"c\"]", 2, &["`sixteen-bytes-xx`", "15"]),
        ("[\"a\"]", "[\"b\", \"bp-sat\"]", 3, &["`bp-sat`", "own"]),
        ("[\"lo\"]", "[\"b\"]", 2, &["`lo`"]),
    ];
    for (lan, satellite, at, parts) in cases {
        let text = format!("[interfaces]\nlan = {lan}\nsatellite = {satellite}\n");
        let message = setup(&text).expect_err(&text);
        assert!(message.starts_with(&format!("FILE:{at}:")), "{text}: {message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        for part in *parts {
            assert!(message.contains(part), "{text}: `{part}` is not in: {message}");
        }
    }
    let many = (0..300).map(|i| format!("\"eth{i}\"")).collect::<Vec<_>>().join(", ");
    let message = setup(&format!("[interfaces]\nlan = [{many}]\nsatellite = [\"b\"]\n"));
    assert!(message.expect_err("300").contains("256"));
}

#[test]
fn an_interface_is_known_with_its_place() {
    let file = setup("[interfaces]\nlan = [\n\"a\",\n\"b\"]\nsatellite = [\"c\"]\n").unwrap();
    let b = &file.lan[1];
    assert_eq!((b.name.as_str(), b.position.to_string().as_str()), ("b", "FILE:4:1"));
}

#[test]
fn rules_that_no_connection_can_meet_are_refused() {
    let rule = "[[policy.rule]]\naction = \"forward\"\n";
    let refused = |rules: &str, at: usize, parts: &[&str]| {
        let text = format!("{INTERFACES}{rules}");
        let message = setup(&text).expect_err(&text);
        assert!(message.starts_with(&format!("FILE:{at}:")), "{text}: {message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        for part in parts {
            assert!(message.contains(part), "{text}: `{part}` is not in: {message}");
        }
    };
    refused(&format!("{rule}port = 0\n"), 6, &["`0`", "1 to 65535"]);
    refused(&format!("{rule}port = \"0-65535\"\n"), 6, &["`0-65535`", "1 to 65535"]);
    refused(&format!("{rule}port = [22, \"9-8\"]\n"), 6, &["`9-8`"]);
    refused(&format!("{rule}port = 80\n{rule}{rule}port = 22\n"), 9, &["line 7"]);
    refused(
        &format!("{rule}client = \"10.0.0.0/8\"\nserver = \"2001:db8::/32\"\n"),
        7,
        &["IPv4", "IPv6"],
    );
    let fine = format!(
        "{INTERFACES}{rule}client = \"10.0.0.0/8\"\nserver = [\"2001:db8::/32\", \"192.0.2.1\"]\n\
         {rule}port = \"1-65535\"\n{rule}"
    );
    setup(&fine).unwrap();
}

/// `check_congestion` need not name an algorithm without numbers, so that one with numbers could be
/// forgotten.
#[test]
fn every_number_of_a_congestion_control_has_a_max() {
    for control in bentpipe_core::tcp::congestion::CongestionAlgorithm::ALL {
        let text = control.to_string();
        let Some((name, parameters)) = text.split_once(':') else { continue };
        for parameter in parameters.split(',') {
            let (key, usual) = parameter.split_once('=').unwrap();
            let unit = usual.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
            let line = format!("congestion = \"{name}:{key}=999999999{unit}\"");
            refused("satellite", &line, 5, &[key]);
        }
    }
}
