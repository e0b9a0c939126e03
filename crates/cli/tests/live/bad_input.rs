//! What cannot work is said in one clear line, with a non-zero exit code, and leaves nothing
//! half set up.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::chown;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use bentpipe_linux::netns::Namespace;
use bentpipe_linux::netns::process::Process;
use bentpipe_testbed::five_hosts::{GatewayPosition, Testbed, TestbedConfig};

use crate::life::{await_unchanged, state};
use crate::stage::{BENTPIPE, GATEWAY, build, gateways_wanted};
use crate::toolbox::PATIENCE;

pub(crate) const CASES: &[(&str, fn())] = &[
    ("gateway_with_an_unknown_key", || {
        gateway_complains(
            "[interfaces]\nlan = [\"lan0\"]\nsatellite = [\"sat0\"]\n[satellite]\nspeed = \"8Mbit/s\"\n",
            "speed",
        );
    }),
    ("gateway_with_a_missing_interface", || {
        let config = "[interfaces]\nsatellite = [\"sat0\"]\nlan = [\"lan7\"]\n";
        gateway_complains(config, "gateway.toml:3:8: there is no interface lan7");
    }),
    ("gateway_with_a_rate_of_nothing", || {
        let config = format!("{GOOD}[satellite]\nrate = \"0Mbit/s\"\n");
        gateway_complains(&config, "gateway.toml:5:8: rate: 0bit/s is out of range");
    }),
    ("gateway_with_a_bad_rate", || {
        gateway_complains(
            "[interfaces]\nlan = [\"lan0\"]\nsatellite = [\"sat0\"]\n[satellite]\nrate = \"fast\"\n",
            "fast",
        );
    }),
    ("gateway_with_an_unknown_recovery", || {
        gateway_complains(
            "[interfaces]\nlan = [\"lan0\"]\nsatellite = [\"sat0\"]\n[satellite]\nrecovery = \"hope\"\n",
            "newreno",
        );
    }),
    ("presets_of_an_unknown_name", || {
        let testbed = bare();
        let mut command = testbed.g1.command(BENTPIPE);
        complains(&testbed.g1, command.args(["presets", "solaris"]), "windows-95");
    }),
    ("gateway_without_root", gateway_without_root),
    ("gateway_twice", gateway_twice),
    ("gateway_without_its_file", gateway_without_its_file),
    ("link_with_a_missing_interface", link_with_a_missing_interface),
    ("link_without_root", link_without_root),
    ("link_twice", link_twice),
    ("demo_without_root", demo_without_root),
];

const LINK: [&str; 7] = ["link", "--between", "lan0,sat0", "--rate", "8Mbit/s", "--delay", "250ms"];

/// Runs `command` to its end; it must fail, in one line that has `word` in it, and leave the
/// namespace as it was.
fn complains(namespace: &Namespace, command: &mut Command, word: &str) {
    let before = state(namespace);
    let mut process = Process::start("bentpipe", command).expect("start");
    let status = process.wait(PATIENCE).expect("it ends by itself");
    let stderr = process.stderr();
    assert!(!status.success(), "it succeeded: {stderr}");
    assert!(stderr.contains(word), "`{word}` is not in: {stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    assert_eq!(stderr.trim().lines().count(), 1, "one line expected: {stderr}");
    await_unchanged(&before, namespace);
}

fn bare() -> Testbed {
    build(TestbedConfig::default())
}

fn configured(testbed: &Testbed, config: &str) -> Command {
    let path = testbed.files().join("gateway.toml");
    fs::write(&path, config).expect("configuration");
    let mut command = testbed.g1.command(GATEWAY);
    command.arg("--config").arg(path);
    command
}

const GOOD: &str = "[interfaces]\nlan = [\"lan0\"]\nsatellite = [\"sat0\"]\n";

/// The command as a user without rights would run it.
pub(crate) fn as_nobody(namespace: &Namespace, program: &'static str) -> Command {
    let mut command = namespace.command("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]);
    // Binaries may lie where only root can go: a copy in a public place stands in for one.
    command.arg(public_copy(program));
    command
}

/// Where others than root can read and run it.
fn public_copy(program: &'static str) -> String {
    let mut copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
    let copy = copies.entry(program).or_insert_with(|| {
        let name = program.rsplit('/').next().unwrap_or(program);
        let path = format!("/tmp/{name}-live-{}", std::process::id());
        fs::copy(program, &path).expect("copy");
        path
    });
    copy.clone()
}

static COPIES: Mutex<BTreeMap<&str, String>> = Mutex::new(BTreeMap::new());

/// Removes what the cases have put outside their testbeds.
pub(crate) fn clean_up() {
    for copy in COPIES.lock().unwrap_or_else(PoisonError::into_inner).values() {
        let _ = fs::remove_file(copy);
    }
}

fn gateway_complains(config: &str, word: &str) {
    if !gateways_wanted() {
        return;
    }
    let testbed = bare();
    complains(&testbed.g1, &mut configured(&testbed, config), word);
}

fn gateway_without_its_file() {
    if !gateways_wanted() {
        return;
    }
    let testbed = bare();
    let mut command = testbed.g1.command(GATEWAY);
    command.args(["--config", "/nonexistent.toml"]);
    complains(&testbed.g1, &mut command, "/nonexistent.toml");
}

fn gateway_without_root() {
    if !gateways_wanted() {
        return;
    }
    let testbed = bare();
    let path = testbed.files().join("gateway.toml");
    fs::write(&path, GOOD).expect("configuration");
    let mut command = as_nobody(&testbed.g1, GATEWAY);
    command.arg("--config").arg(path);
    complains(&testbed.g1, &mut command, "root");
}

fn gateway_twice() {
    if !gateways_wanted() {
        return;
    }
    let mut testbed = bare();
    testbed.start_gateway(GatewayPosition::Near).expect("gateway");
    complains(&testbed.g1, &mut configured(&testbed, GOOD), "already");
    let first = testbed.gateway(GatewayPosition::Near).expect("gateway");
    assert!(first.try_wait().is_none(), "the first one must go on");
}

fn link_with_a_missing_interface() {
    let testbed = bare();
    let mut command = testbed.g1.command(BENTPIPE);
    command.args(LINK.map(|word| if word == "lan0,sat0" { "lan7,sat0" } else { word }));
    complains(&testbed.g1, &mut command, "lan7");
}

fn link_without_root() {
    let testbed = bare();
    complains(&testbed.g1, as_nobody(&testbed.g1, BENTPIPE).args(LINK), "root");
}

fn link_twice() {
    let testbed = bare();
    let mut command = testbed.g1.command(BENTPIPE);
    command.args(LINK);
    let mut first = Process::start("bentpipe link", &mut command).expect("start");
    first.wait_for_line("bentpipe link: ready", PATIENCE).expect("ready");
    complains(&testbed.g1, testbed.g1.command(BENTPIPE).args(LINK), "already");
    assert!(first.try_wait().is_none(), "the first one must go on");
}

/// Without root the demo is simulated, says so, and writes where it may.
fn demo_without_root() {
    let testbed = bare();
    let before = state(&testbed.g1);
    let out = testbed.files().join("out");
    fs::create_dir(&out).expect("directory");
    chown(&out, Some(65534), Some(65534)).expect("owner");
    let mut command = as_nobody(&testbed.g1, BENTPIPE);
    let mut demo =
        Process::start("demo", command.arg("demo").arg("--output").arg(&out)).expect("start");
    let status = demo.wait(PATIENCE).expect("it ends by itself");
    assert!(status.success(), "{}", demo.stderr());
    assert!(demo.stderr().contains("root") && demo.stderr().contains("simulated"));
    let json = fs::read_to_string(out.join("demo.json")).expect("demo.json");
    assert!(json.contains("\"hashes_match\": true"), "{json}");
    await_unchanged(&before, &testbed.g1);
}
