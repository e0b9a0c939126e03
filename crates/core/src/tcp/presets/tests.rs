//! Presets resolve, texts override, and what is wrong is named.

use super::*;
use crate::tcp::pacing::Pacing;
use crate::tcp::receiver::AckPolicy;
use crate::tcp::recovery::Algorithm;
use crate::tcp::sender::InitialWindow;
use crate::time::Duration;

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
        assert!(!preset.about.is_empty() && !preset.name.contains(['=', ',', ' ']));
    }
}

#[test]
fn a_text_changes_what_it_names() {
    assert_eq!(config(""), ConnectionConfig::default());
    let given = config("linux, iw=4, recovery=newreno, rto.min=1s, ecn=on");
    assert_eq!(given.sender.initial_window, InitialWindow::Segments(4));
    assert_eq!(given.sender.algorithm, Algorithm::NewReno);
    assert_eq!(given.sender.rto.min, Duration::from_secs(1));
    assert!(given.ecn);
    assert_eq!(given.receive_buffer_max, Some(6 << 20));
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
    assert_eq!(given.sender.initial_window, InitialWindow::Bytes(4380));
    assert_eq!(given.sender.max_burst, 10 * given.sender.smss);
    assert!(matches!(given.sender.pacing, Pacing::Window { cap: Some(_) }));
    assert_eq!((given.window_scale, given.sender.initial_ssthresh), (None, Some(65_536)));
}

#[test]
fn windows_95_has_8_kb_and_no_options() {
    let preset = PRESETS.iter().find(|preset| preset.name == "windows-95").unwrap();
    for part in ["receive-buffer=8KiB", "window-scale=off", "sack=off", "timestamps=off"] {
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
        ("syn-retries=-1", "`-1`"),
        ("time-wait=", "time-wait: ``"),
    ] {
        assert!(message(text).contains(part), "{text}: {}", message(text));
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
