//! The files of packages, as far as they can be tried without being installed.

use bentpipe_config::gateway::GatewayFile;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Of OpenWrt's shell functions what the conversion calls, over a configuration in variables.
const FUNCTIONS: &str = r#"
config_load() { :; }
config_get() { eval "$1=\$uci_$3"; }
config_get_bool() { eval "$1=\${uci_$3:-$4}"; }
config_list_foreach() { eval "for entry in \$uci_$2; do $3 \"\$entry\"; done"; }
"#;
const NETWORK: &str = r#"
network_get_device() { [ "$2" = lan ] && eval "$1=br-lan" || { [ "$2" = wan ] && eval "$1=pppoe-wan"; }; }
"#;

/// The file that OpenWrt's configuration becomes.
fn converted(folder: &Path, uci: &[(&str, &str)]) -> GatewayFile {
    let lib = folder.join("lib/functions");
    fs::create_dir_all(&lib).expect("a folder");
    fs::write(folder.join("lib/functions.sh"), FUNCTIONS).expect("functions");
    fs::write(lib.join("network.sh"), NETWORK).expect("functions");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/openwrt/files/uci-to-toml");
    let file = folder.join("bentpipe.toml");
    let mut command = Command::new("sh");
    command.arg(script).arg(&file).env("IPKG_INSTROOT", folder);
    command.envs(uci.iter().map(|(option, value)| (format!("uci_{option}"), value)));
    let output = command.output().expect("sh");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = fs::read_to_string(&file).expect("a file");
    GatewayFile::parse("FILE", &text, 64 << 30).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn openwrts_configuration_becomes_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let names = |side: &[bentpipe_config::gateway::Interface]| -> Vec<String> {
        side.iter().map(|interface| interface.name.clone()).collect()
    };
    let file = converted(folder.path(), &[("lan", "lan guest"), ("satellite", "wan")]);
    assert_eq!(names(&file.lan), ["br-lan", "guest"], "a network's device, or what is one");
    assert_eq!(names(&file.satellite), ["pppoe-wan"]);
    assert!(file.config.policy.observe && file.config.satellite.rate.is_none());

    let file = converted(
        folder.path(),
        &[
            ("lan", "lan"),
            ("satellite", "wan"),
            ("observe", "0"),
            ("rate", "8Mbit/s"),
            ("round_trip", "600ms"),
            ("memory", "64MiB"),
        ],
    );
    assert!(!file.config.policy.observe && file.config.satellite.rate.is_some());
}

/// What cannot be told from a run: systemd goes on without a key that it does not know.
#[test]
fn units_are_hardened_as_the_guide_says() {
    let unit =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/systemd/bentpipe-gateway.service");
    let Ok(output) =
        Command::new("systemd-analyze").args(["security", "--offline=true", unit]).output()
    else {
        eprintln!("skipped: there is no systemd-analyze here");
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = said + &String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("Unknown key"), "{said}");
    let Some((_, level)) = said.split_once("level for bentpipe-gateway.service: ") else {
        eprintln!("skipped: this systemd-analyze does not know --offline");
        return;
    };
    let level: f64 = level.split(' ').next().expect("a word").parse().expect("a number");
    assert!(level <= 2.5, "{said}");
}
