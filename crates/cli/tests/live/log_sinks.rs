//! Who reads the log stands still or is gone, its disk is full; `ip` hangs: connections go on, and
//! so does the watch over the gateway.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;

use bentpipe_linux::netns::process::Process;
use bentpipe_testbed::five_hosts::{Testbed, TestbedConfig};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::life::{await_unchanged, exchange, state};
use crate::observation::ask;
use crate::stage::{FAMILIES, GATEWAY, StageEnds, build, fast_link, gateways_wanted};
use crate::toolbox::{PATIENCE, wait_until};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("the_logs_disk_is_full", the_logs_disk_is_full),
    ("the_logs_reader_is_gone", the_logs_reader_is_gone),
    ("the_logs_reader_stands_still", the_logs_reader_stands_still),
    ("ip_hangs", ip_hangs),
];

/// The most that a pipe holds that nobody reads.
const NARROW: i32 = 4096;

/// Two hosts without gateways so far, and how the near one's place is then.
fn stage() -> (Arc<Testbed>, String) {
    let testbed = build(TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() });
    let before = state(&testbed.g1);
    (Arc::new(testbed), before)
}

/// A gateway that tells of every flow, with its outputs where the shell puts them.
fn start(testbed: &Testbed, outputs: &str, path: &str) -> Process {
    let config = testbed.files().join("sinks.toml");
    fs::write(&config, "[interfaces]\nlan = [\"lan0\"]\nsatellite = [\"sat0\"]\n").expect("a file");
    let mut command = testbed.g1.command("sh");
    command.args(["-c", &format!("exec \"$@\" {outputs}"), "sh", GATEWAY, "--config"]);
    command.arg(config).env("RUST_LOG", "debug").env("PATH", path);
    Process::start("bentpipe-gateway", &mut command).expect("a gateway")
}

/// The usual PATH.
fn path() -> String {
    std::env::var("PATH").expect("PATH")
}

/// It answers, and so splits.
fn await_answer(testbed: &Testbed) {
    wait_until("an answer", || {
        let answer = testbed.g1.output(GATEWAY, &["status"]);
        answer.map(drop).map_err(|error| error.to_string())
    });
}

/// Connections that each leave lines in the log, and something that it repairs, which leaves one in
/// any case.
fn exchanges(testbed: &Arc<Testbed>) {
    testbed.g1.ip("link set bp-lan down\n").expect("down");
    for _ in 0..8 {
        FAMILIES.into_iter().for_each(|family| exchange(&StageEnds::of(testbed, family), 20_000));
    }
}

/// Ends it in order, however its outputs are.
fn stop(mut gateway: Process) {
    gateway.signal(Signal::SIGTERM);
    let status = gateway.wait(PATIENCE).expect("it ends by itself");
    assert!(status.success(), "{status}: {}", gateway.stderr());
}

/// A pipe with a name, and its end that nobody reads yet.
fn pipe(testbed: &Testbed, name: &str) -> (String, File) {
    let path = testbed.files().join(name);
    mkfifo(&path, Mode::S_IRWXU).expect("a pipe");
    let mut options = File::options();
    let read = options.read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(&path);
    let read = read.expect("its end");
    fcntl(&read, FcntlArg::F_SETPIPE_SZ(NARROW)).expect("a narrow pipe");
    (path.display().to_string(), read)
}

fn the_logs_disk_is_full() {
    if !gateways_wanted() || !Path::new("/dev/full").exists() {
        return;
    }
    let (testbed, before) = stage();
    let gateway = start(&testbed, "> /dev/full 2>&1", &path());
    await_answer(&testbed);
    exchanges(&testbed);
    let status = ask(&testbed.g1, "status");
    assert!(status["log"]["lost_lines"].as_u64() > Some(16), "{status}");
    assert!(status["log"]["why"].as_str().is_some_and(|why| why.contains("No space")), "{status}");
    let said = testbed.g1.output(GATEWAY, &["status"]).expect("an answer");
    assert!(said.contains("\nlines of the log lost: "), "{said}");
    stop(gateway);
    await_unchanged(&before, &testbed.g1);
}

fn the_logs_reader_is_gone() {
    if !gateways_wanted() {
        return;
    }
    let (testbed, before) = stage();
    let (name, read) = pipe(&testbed, "gone");
    let gateway = start(&testbed, &format!("> {name} 2>&1"), &path());
    await_answer(&testbed);
    drop(read);
    exchanges(&testbed);
    let status = ask(&testbed.g1, "status");
    assert!(status["log"]["lost_lines"].as_u64() > Some(16), "{status}");
    stop(gateway);
    await_unchanged(&before, &testbed.g1);
}

/// As after Ctrl-S on a terminal. The watchdog writes to the same reader, and acts all the same.
fn the_logs_reader_stands_still() {
    if !gateways_wanted() {
        return;
    }
    let (testbed, before) = stage();
    let (name, mut read) = pipe(&testbed, "still");
    let mut gateway = start(&testbed, &format!("2> {name}"), &path());
    await_answer(&testbed);
    exchanges(&testbed);
    gateway.signal(Signal::SIGSTOP);
    // SYNs that wait in its device are repeated once the kernel forwards.
    FAMILIES.into_iter().for_each(|family| exchange(&StageEnds::of(&testbed, family), 20_000));
    gateway.signal(Signal::SIGCONT);
    exchanges(&testbed);
    // It reads on: what waited comes, in order and whole.
    let mut said = Vec::new();
    wait_until("the watchdog's words", || {
        let _ = read.read_to_end(&mut said);
        let text = String::from_utf8_lossy(&said);
        match text.contains("does not answer") && text.contains("answers again") {
            true => Ok(()),
            false => Err(text.into_owned()),
        }
    });
    assert_eq!(ask(&testbed.g1, "status")["log"]["lost_lines"], 0);
    // And stands still again, while much is said at the end.
    exchanges(&testbed);
    stop(gateway);
    await_unchanged(&before, &testbed.g1);
}

/// A command that never ends is ended: the loop goes on meanwhile, repairs are made once commands
/// work again, and the gateway ends. Where it hangs from the beginning, the gateway says so and
/// does not begin.
fn ip_hangs() {
    if !gateways_wanted() {
        return;
    }
    let (testbed, before) = stage();
    let place = testbed.files().join("hanging");
    fs::create_dir(&place).expect("a folder");
    let (hangs, script) = (place.join("hangs"), place.join("ip"));
    let real = testbed.g1.output("sh", &["-c", "command -v ip"]).expect("ip");
    let text = format!(
        // By `ip netns` it is started itself.
        "#!/bin/sh\nif [ -e {} ] && [ $1 != netns ]; then sleep 1000; fi\nexec {} \"$@\"\n",
        hangs.display(),
        real.trim()
    );
    fs::write(&script, text).expect("a script");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("it runs");
    let path = format!("{}:{}", place.display(), path());

    let gateway = start(&testbed, "", &path);
    await_answer(&testbed);
    fs::write(&hangs, "").expect("a file");
    testbed.g1.ip("link set bp-lan down\n").expect("down");
    wait_until("it is said", || {
        let said = gateway.stderr();
        if said.contains("hangs: killed after") { Ok(()) } else { Err(said) }
    });
    assert_eq!(ask(&testbed.g1, "status")["totals"]["split"], 0);
    fs::remove_file(&hangs).expect("a file");
    wait_until("it is repaired", || {
        let said = gateway.stderr();
        if said.contains("device bp-lan (down)") { Ok(()) } else { Err(said) }
    });
    exchanges(&testbed);
    assert!(ask(&testbed.g1, "status")["totals"]["split"].as_u64() > Some(0));
    stop(gateway);
    await_unchanged(&before, &testbed.g1);

    fs::write(&hangs, "").expect("a file");
    let mut gateway = start(&testbed, "", &path);
    let status = gateway.wait(PATIENCE).expect("it does not begin");
    assert!(!status.success(), "{status}");
    let said = gateway.stderr();
    assert!(said.contains("hangs: killed after"), "{said}");
}
