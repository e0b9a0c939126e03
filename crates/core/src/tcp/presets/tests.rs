//! Presets resolve, texts override, and what is wrong is named.

use super::*;
use crate::tcp::congestion::{CongestionAlgorithm, InitialWindowUse, Probing, ThresholdEstimate};
use crate::tcp::connection::Opening;
use crate::tcp::pacing::Pacing;
use crate::tcp::receiver::AckPolicy;
use crate::tcp::recovery::RecoveryAlgorithm;
use crate::tcp::rtt::{Clock, RtoConfig, RttSampling};
use crate::tcp::sender::{InitialWindow, Reduction, SenderConfig};
use crate::text::Choice;
use crate::time::Duration;
use crate::units::Bytes;
use std::collections::BTreeSet;

fn config(text: &str) -> ConnectionConfig {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn message(text: &str) -> String {
    text.parse::<ConnectionConfig>().expect_err(text).to_string()
}

#[test]
fn every_preset_is_plain_configuration() {
    for preset in PRESETS {
        let config: ConnectionConfig = preset.name.parse().unwrap();
        assert_eq!(preset.text.parse(), Ok(config), "{}", preset.name);
        assert!(!preset.about.is_empty() && !preset.source.is_empty());
        assert!(!preset.name.contains(['=', ',', ' ']));
    }
}

/// A value of each key that the default does not have. More than one where forms differ.
const OTHERS: &[(&str, &[&str])] = &[
    ("mss", &["1000"]),
    ("send-buffer", &["64KiB", "8760B", "1234567B"]),
    ("receive-buffer", &["64KiB"]),
    ("receive-buffer-max", &["6MiB"]),
    ("window-scale", &["0", "14", "off"]),
    ("sack", &["off"]),
    ("timestamps", &["off"]),
    ("ecn", &["on"]),
    ("opening", &["prearranged"]),
    ("transactions", &["on"]),
    ("ack", &["per-segment", "delayed:0.2s", "heartbeat:200ms", "thinned:8:1500us", "division:4"]),
    ("recovery", &["tahoe", "rack"]),
    ("congestion", &["cubic", "vegas:alpha=2;beta=4", "hybla:rtt0=25ms", "constant-rate:c=0.3"]),
    ("reduction", &["prr", "prr-as-linux"]),
    ("limited-transmit", &["off"]),
    ("undo", &["on"]),
    ("slow-start", &["hystart", "limited:max-ssthresh=50"]),
    ("probing", &["ack-rate"]),
    ("iw", &["1", "4380B", "rfc3390"]),
    ("iw-use", &["beginning", "every-slow-start"]),
    ("ssthresh", &["64KiB"]),
    ("ssthresh-estimate", &["packet-pair", "ack-rate"]),
    ("byte-limit", &["1", "off"]),
    ("burst", &["44"]),
    ("overhead", &["0B"]),
    ("pacing", &["on", "1.544Mbit/s"]),
    ("spare-copies", &["on"]),
    ("nagle", &["off"]),
    ("restart-after-idle", &["off"]),
    ("max-retries", &["5"]),
    ("rto.initial", &["6s"]),
    ("rto.min", &["0s", "1.5ms"]),
    ("rto.max", &["2min"]),
    ("rto.granularity", &["1ns"]),
    ("rto.tick", &["500ms"]),
    ("rto.clock", &["ns"]),
    ("rtt-tick", &["10ms", "0s"]),
    ("rto.samples", &["round-trip"]),
    ("syn-retries", &["0"]),
    ("min-mtu", &["296"]),
    ("time-wait", &["4min"]),
];

/// The fields in which two values differ. Names every field, so that a new one does not compile
/// until it stands here, and then fails the test below until a key can set it.
macro_rules! differing {
    ($a:expr, $b:expr, $type:ident { $($field:ident),* } $(, without $apart:ident)*) => {{
        let $type { $($field,)* $($apart: _,)* } = $a;
        let other = $b;
        let mut names = Vec::new();
        $(if *$field != other.$field { names.push(stringify!($field)); })*
        names
    }};
}

fn changed(a: &ConnectionConfig, b: &ConnectionConfig) -> Vec<String> {
    let host = differing!(
        a,
        b,
        ConnectionConfig {
            mss, send_buffer, receive_buffer, receive_buffer_max, window_scale, sack, timestamps,
            ecn, opening, transactions, ack_policy, syn_retries, min_mtu, time_wait
        },
        without sender
    );
    // The handshake decides on smss.
    let sender = differing!(
        &a.sender,
        &b.sender,
        SenderConfig {
            max_burst, overhead, recovery, congestion, reduction, limited_transmit, undo, initial_window,
            initial_ssthresh, ssthresh_estimate, byte_limit, initial_window_use, slow_start, probing, pacing,
            spare_copies, nagle, restart_after_idle, max_retries
        },
        without smss,
        without rto
    );
    let rto = differing!(
        &a.sender.rto,
        &b.sender.rto,
        RtoConfig { initial, min, max, granularity, tick, rtt_tick, clock, samples }
    );
    let named = |part: &'static str, names: Vec<&'static str>| {
        names.into_iter().map(move |name| format!("{part}{name}"))
    };
    named("", host).chain(named("sender.", sender)).chain(named("rto.", rto)).collect()
}

/// How many fields [`changed`] looks at.
const FIELDS: usize = 14 + 19 + 8;

#[test]
fn every_field_has_a_key_and_every_key_a_field() {
    let default = ConnectionConfig::default();
    let keys: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    assert_eq!(keys, OTHERS.iter().map(|(key, _)| *key).collect::<Vec<_>>());
    let mut fields = BTreeSet::new();
    for (key, values) in OTHERS {
        for value in *values {
            let field = changed(&default, &config(&format!("{key}={value}")));
            assert_eq!(field.len(), 1, "{key}={value} changes {field:?}");
            fields.extend(field);
        }
    }
    assert_eq!(fields.len(), FIELDS, "{fields:?}");
}

#[test]
fn what_is_written_is_read_back() {
    for (key, values) in OTHERS {
        for value in *values {
            let given = config(&format!("linux,{key}={value}"));
            assert_eq!(given.to_string().parse(), Ok(given), "{key}={value}");
        }
    }
    for preset in PRESETS {
        let given = config(preset.name);
        assert_eq!(given.to_string().parse(), Ok(given), "{}", preset.name);
    }
    assert!(config("iw=rfc3390").to_string().contains(",iw=rfc3390,"));
    assert_eq!(
        config("iw=rfc3390").sender.initial_window.bytes(Bytes::new(1460)),
        Bytes::new(4380)
    );
}

#[test]
fn a_text_changes_what_it_names() {
    assert_eq!(config(""), ConnectionConfig::default());
    let given = config("linux, iw=4, recovery=newreno, rto.min=1s, ecn=on");
    assert_eq!(given.sender.initial_window, InitialWindow::Segments(4));
    assert_eq!(given.sender.recovery, RecoveryAlgorithm::NewReno);
    assert_eq!(given.sender.rto.min, Duration::from_secs(1));
    assert!(given.ecn);
    assert_eq!(given.receive_buffer_max, Some(Bytes::new(16 << 20)));
    let delay = Duration::from_millis(100);
    for (text, policy) in [
        ("ack=per-segment", AckPolicy::PerSegment),
        ("ack=delayed:100ms", AckPolicy::Delayed(delay)),
        ("ack=heartbeat:100ms", AckPolicy::Heartbeat(delay)),
        ("ack=thinned:8:100ms", AckPolicy::Thinned { segments: 8, delay }),
        ("ack=division:4", AckPolicy::Division(4)),
    ] {
        assert_eq!(config(text).ack_policy, policy);
    }
    let given = config("iw=4380B,burst=10,pacing=8Mbit/s,window-scale=off,ssthresh=64KiB");
    assert_eq!(given.sender.initial_window, InitialWindow::Bytes(Bytes::new(4380)));
    assert_eq!(given.sender.max_burst, 10 * given.sender.smss);
    assert!(matches!(given.sender.pacing, Pacing::Window { cap: Some(_) }));
    assert_eq!(
        (given.window_scale, given.sender.initial_ssthresh),
        (None, Some(Bytes::new(65_536)))
    );
}

/// What is said of the values that a key takes is what they are called.
#[test]
fn each_choice_is_among_what_its_key_takes() {
    fn choices<T: Choice>() -> Vec<&'static str> {
        T::VARIANTS.iter().map(|value| value.name()).collect()
    }
    for (key, names) in [
        ("opening", choices::<Opening>()),
        ("reduction", choices::<Reduction>()),
        ("probing", choices::<Probing>()),
        ("iw-use", choices::<InitialWindowUse>()),
        ("rto.clock", choices::<Clock>()),
        ("rto.samples", choices::<RttSampling>()),
        ("ssthresh-estimate", choices::<ThresholdEstimate>()),
    ] {
        let takes = KEYS.iter().find(|known| known.name == key).expect(key).takes;
        for name in names {
            assert!(takes.contains(name), "{key} takes {name}: {takes}");
            assert!(format!("{key}={name}").parse::<ConnectionConfig>().is_ok());
        }
    }
}

#[test]
fn windows_95_has_six_segments_and_no_options() {
    let preset = PRESETS.iter().find(|preset| preset.name == "windows-95").unwrap();
    for part in ["receive-buffer=8760B", "window-scale=off", "sack=off", "timestamps=off"] {
        assert!(preset.text.contains(part), "{part}");
    }
}

#[test]
fn unknown_names_and_bad_values_are_named() {
    assert!(message("solaris").contains("`solaris`") && message("solaris").contains("linux"));
    let text = message("linux,cwnd=3");
    assert!(text.contains("`cwnd`") && text.contains("rto.tick"), "{text}");
    assert!(message("iw=4,linux").contains("`linux`"));
    for (text, part) in [
        ("iw=0", "iw: `0`"),
        ("iw=four", "iw: `four`"),
        ("sack=yes", "on or off"),
        ("mss=20", "64 to 65495"),
        ("mss=99999999", "`99999999`"),
        ("window-scale=15", "0 to 14"),
        ("rto.min=1", "rto.min: `1`"),
        ("rto.initial=0s", "rto.initial: `0s`"),
        ("rto.max=1000000h", "rto.max: `1000000h`"),
        ("receive-buffer=0", "receive-buffer: `0`"),
        ("receive-buffer=2GiB", "`2GiB`"),
        ("ack=thinned:0:1s", "`0`"),
        ("ack=often", "heartbeat:TIME"),
        ("recovery=hope", "`hope`"),
        ("pacing=quick", "`quick`"),
        ("iw=rfc9999", "rfc3390"),
        ("iw-use=always", "every-slow-start"),
        ("probing=fast", "ack-rate"),
        ("reduction=slow", "plain, of-window, prr or prr-as-linux"),
        ("syn-retries=-1", "`-1`"),
        ("time-wait=", "time-wait: ``"),
    ] {
        assert!(message(text).contains(part), "{text}: {}", message(text));
    }
}

/// Whatever is wrong with a value, its key and what that takes are named.
#[test]
fn every_refusal_says_what_the_key_takes() {
    for key in KEYS {
        assert!(!key.about.is_empty() && !key.source.is_empty(), "{}", key.name);
        for value in ["?", "", "-1", "99999999999999999999"] {
            let text = message(&format!("{}={value}", key.name));
            assert!(text.starts_with(&format!("{}: ", key.name)), "{text}");
            assert!(text.ends_with(&format!("(expected {})", key.takes)), "{text}");
        }
    }
    for control in CongestionAlgorithm::entries() {
        for parameter in control.parameters {
            let text = message(&format!("congestion={}:{}=?", control.name, parameter.name));
            assert!(text.contains(&format!("`{}`", parameter.name)), "{text}");
            assert!(text.contains(parameter.takes), "{text}");
        }
    }
}

/// What a key says of its limits is so: they are taken, and what is beyond them is not.
#[test]
fn the_limits_that_are_named_hold() {
    for (key, within, beyond) in [
        ("mss", &["64", "65495"][..], &["63", "65496"][..]),
        ("send-buffer", &["1B", "1GiB"], &["0B", "1073741825B"]),
        ("receive-buffer", &["1B", "1GiB"], &["0B", "1073741825B"]),
        ("receive-buffer-max", &["1B", "1GiB", "off"], &["0B", "1073741825B"]),
        ("window-scale", &["0", "14", "off"], &["15"]),
        ("iw", &["1", "1000000", "rfc3390"], &["0", "1000001"]),
        ("byte-limit", &["1", "4294967295", "off"], &["0", "4294967296"]),
        ("burst", &["1", "1000"], &["0", "1001"]),
        ("max-retries", &["0", "4294967295"], &["4294967296"]),
        ("rto.initial", &["1ns", "24h"], &["0s", "86401s"]),
        ("rto.min", &["0s", "24h"], &["86401s"]),
        ("rto.max", &["1ns", "24h"], &["0s", "86401s"]),
        ("rto.granularity", &["0s", "24h"], &["86401s"]),
        ("rto.tick", &["0s", "24h"], &["86401s"]),
        ("syn-retries", &["0", "4294967295"], &["4294967296"]),
        ("min-mtu", &["68", "65535"], &["67", "65536"]),
        ("time-wait", &["0s", "24h"], &["86401s"]),
    ] {
        let takes = KEYS.iter().find(|known| known.name == key).expect(key).takes;
        for value in within {
            assert!(format!("{key}={value}").parse::<ConnectionConfig>().is_ok(), "{key}={value}");
        }
        for value in beyond {
            assert!(message(&format!("{key}={value}")).contains(takes), "{key}={value}");
        }
    }
}

#[test]
fn what_is_undone_today_was_not_in_1997() {
    for preset in PRESETS {
        let config = ConnectionConfig::preset(preset.name).unwrap();
        let today = preset.name == "linux" || preset.name.starts_with("gateway");
        assert_eq!(config.sender.undo, today, "{}", preset.name);
    }
    assert!(!"linux,undo=off".parse::<ConnectionConfig>().unwrap().sender.undo);
}
