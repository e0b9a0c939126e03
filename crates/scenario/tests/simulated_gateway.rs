//! The file that an operator deploys is simulated.

use bentpipe_config::gateway::GatewayFile;
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Bytes, Rate};
use bentpipe_gateway::{Config, Discard, Handshake};
use bentpipe_scenario::{Experiment, NodeKind};

const INTERFACES: &str = "[interfaces]\nlan = [\"a\"]\nsatellite = [\"b\"]\n";

const NETWORK: &str = r#"
run = { duration = "10s" }
[host]
server = {}
client = {}
[link.a]
between = ["server", "g"]
[link.b]
between = ["g", "client"]
[gateway.g]
lan-links = "a"
"#;

fn gateway(keys: &str, file: &str) -> Result<Config, String> {
    let read = |path: &str| match path {
        "gateway.toml" => Ok(file.to_owned()),
        _ => Err("no such file".to_owned()),
    };
    let experiment = Experiment::parse("s.toml", &format!("{NETWORK}{keys}\n"), &read)
        .map_err(|error| error.to_string())?;
    let node = experiment.point(0).scenario.nodes.swap_remove(2);
    match node.kind {
        NodeKind::Gateway(gateway) => Ok(gateway.config),
        other => panic!("{other:?}"),
    }
}

const FILE: &str = "[satellite]\nrate = \"8Mbit/s\"\nround-trip = \"500ms\"\nrto.min = \"2s\"\n\
    [splitting]\nhandshake = \"downstream-first\"\n[limits]\nmemory = \"64MiB\"\nhalf-open = 7\ndrain = \"5s\"\n\
    [policy]\nreject-quic = true\n[[policy.rule]]\naction = \"forward\"\nport = 22\n\
    [metrics]\nlisten = \"127.0.0.1:9464\"\n[log]\nevery = \"10min\"\n";

#[test]
fn a_scenarios_gateway_is_what_its_file_says() {
    let text = format!("{INTERFACES}{FILE}");
    let deployed = GatewayFile::parse("gateway.toml", &text, 64 << 30).unwrap().config;
    let simulated = gateway("config = \"gateway.toml\"", &text).unwrap();
    // Links carry packets of at most one MTU.
    assert_eq!(simulated, Config { super_segments: false, ..deployed });
    // A file for simulations alone needs no interfaces.
    assert_eq!(gateway("config = \"gateway.toml\"", FILE), Ok(simulated));
}

#[test]
fn the_scenarios_own_keys_go_over_the_files() {
    let own = "config = \"gateway.toml\"\nlimits.memory = \"32MiB\"\nlan.discard = \"single\"\n\
               satellite = { rate = \"4Mbit/s\", iw = 4 }\npolicy.observe = true";
    let config = gateway(own, FILE).unwrap();
    assert_eq!((config.memory, config.max_half_open), (Bytes::new(32 << 20), 7));
    assert_eq!(config.handshake, Handshake::DownstreamFirst);
    assert_eq!(config.satellite.rate, Some(Rate::from_bits_per_sec(4_000_000)));
    assert_eq!(config.satellite.round_trip, Some(Duration::from_millis(500)));
    assert_eq!(config.satellite.sender.rto.min, Duration::from_secs(2));
    assert_eq!(config.lan.discard, Discard::Single);
    assert!(config.policy.observe);
    assert_eq!(config.policy.rules.len(), 1);
}

#[test]
fn the_same_keys_do_the_same_in_both() {
    // What a file says, as a scenario's own tables.
    let own = "satellite = { rate = \"8Mbit/s\", round-trip = \"500ms\", rto.min = \"2s\" }\n\
               splitting.handshake = \"downstream-first\"\nlimits = { memory = \"64MiB\", half-open = 7 }\n\
               policy.rule = [{ action = \"forward\", port = 22 }]";
    assert_eq!(gateway(own, ""), gateway("config = \"gateway.toml\"", FILE));
}

#[test]
fn mistakes_are_named_in_the_file_in_which_they_are() {
    let message = |keys: &str, file: &str| gateway(keys, file).unwrap_err();
    let own = message("config = \"gateway.toml\"", "[limits]\nflow = 5\n");
    assert!(own.starts_with("gateway.toml:2:1: unknown key `flow` in [limits]"), "{own}");
    let missing = message("config = \"other.toml\"", "");
    assert!(missing.starts_with("s.toml:12:10: cannot read `other.toml`"), "{missing}");
    let deployed = message("limits.drain = \"5s\"", "");
    assert!(deployed.contains("unknown key `drain` in [limits]"), "{deployed}");
    let interfaces = message("interfaces = {}", "");
    assert!(interfaces.contains("unknown key `interfaces` in [gateway.g]"), "{interfaces}");
}
