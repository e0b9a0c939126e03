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

/// What a service says to procd, a line each.
const PROCD: &str = r#"
procd_open_instance() { echo "opened"; }
procd_close_instance() { echo "closed"; }
procd_set_param() { echo "$*"; }
procd_send_signal() { echo "signal $*"; }
procd_add_reload_trigger() { echo "reloaded by the file $1"; }
procd_add_reload_interface_trigger() { echo "reloaded by the network $1"; }
"#;
const OPENWRT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/openwrt/files");

/// A root with these functions.
fn prepare(folder: &Path) {
    let lib = folder.join("lib/functions");
    fs::create_dir_all(&lib).expect("a folder");
    fs::write(folder.join("lib/functions.sh"), FUNCTIONS).expect("functions");
    fs::write(lib.join("network.sh"), NETWORK).expect("functions");
}

/// The file that OpenWrt's configuration becomes.
fn converted(folder: &Path, uci: &[(&str, &str)]) -> GatewayFile {
    prepare(folder);
    let script = Path::new(OPENWRT).join("uci-to-toml");
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

/// The service is started, reloaded and triggered, as its stand-ins hear it.
#[test]
fn openwrts_service_says_to_procd_what_it_needs() {
    let folder = tempfile::tempdir().expect("a folder");
    prepare(folder.path());
    let tools = folder.path().join("usr/share/bentpipe");
    fs::create_dir_all(&tools).expect("a folder");
    fs::copy(Path::new(OPENWRT).join("uci-to-toml"), tools.join("uci-to-toml")).expect("a copy");
    let heard = |does: &str, enabled: &str| {
        let script = format!("{FUNCTIONS}{PROCD}. {OPENWRT}/bentpipe.init; {does}");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).env("IPKG_INSTROOT", folder.path());
        command.envs([("uci_enabled", enabled), ("uci_lan", "lan"), ("uci_satellite", "wan")]);
        let output = command.output().expect("sh");
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    assert_eq!(heard("start_service", "0"), "", "it is not enabled");
    let file = folder.path().join("var/etc/bentpipe.toml");
    let command = format!("command /usr/sbin/bentpipe-gateway --wait --config {}", file.display());
    let started = heard("start_service", "1");
    assert!(started.starts_with("opened\n") && started.ends_with("closed\n"), "{started}");
    for line in [&command, "respawn 3600 5 0", "reload_signal HUP", "term_timeout 45"] {
        assert!(started.lines().any(|it| it == line), "{line} in {started}");
    }
    assert!(fs::read_to_string(&file).expect("a file").contains("satellite = [\"pppoe-wan\"]"));
    let run = fs::read_link(folder.path().join("run")).expect("a link");
    assert_eq!(run, Path::new("/var/run"), "most targets have no /run");
    assert_eq!(heard("reload_service", "1"), "signal bentpipe * HUP\n");
    let triggers = heard("service_triggers", "1");
    for trigger in ["the file bentpipe", "the network lan", "the network wan"] {
        assert!(triggers.contains(trigger), "{triggers}");
    }
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
