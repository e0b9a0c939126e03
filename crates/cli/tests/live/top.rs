//! `bentpipe gateway top` on a pseudo-terminal of 80 × 24.
//!
//! It shows a download, follows keys, leaves the terminal as it was, and prints a look by `--once`.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use bentpipe_linux::netns::Namespace;
use bentpipe_testbed::five_hosts::{GatewayPosition, Testbed, TestbedConfig};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{Termios, tcgetattr};
use nix::unistd::Pid;
use serde_json::Value;

use crate::observation::ask;
use crate::pair::{Pair, pairs};
use crate::stage::{GATEWAY, build, gateways_wanted, narrow_link, start_gateways};
use crate::toolbox::wait_until;

pub(crate) const CASES: &[(&str, fn())] = &[
    ("top_shows_a_download_and_restores_the_terminal", live),
    ("top_ends_with_its_terminal_or_by_a_signal", ends),
    ("top_prints_one_look", once),
];

const SIZE: Winsize = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };

/// A pseudo-terminal: where a user is, and where programs are. No program inherits the former, as
/// the terminal would never be gone for it.
fn pseudo_terminal() -> (File, OwnedFd) {
    let pty = openpty(&SIZE, None).expect("a pseudo-terminal");
    for end in [&pty.master, &pty.slave] {
        fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).expect("a flag");
    }
    (File::from(pty.master), pty.slave)
}

/// A program on a terminal.
struct OnTerminal {
    child: Child,
    /// The terminal's other end.
    keyboard: File,
    terminal: OwnedFd,
    before: Termios,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl OnTerminal {
    /// `bentpipe-gateway top` in a namespace. The terminal is its controlling one.
    fn top(namespace: &Namespace) -> OnTerminal {
        let (keyboard, terminal) = pseudo_terminal();
        let end = || terminal.try_clone().expect("a descriptor");
        let mut command = namespace.command("setsid");
        command.args(["--ctty", GATEWAY, "top"]).env("TERM", "xterm");
        let command = command.stdin(end()).stdout(end()).stderr(end());
        let before = tcgetattr(&terminal).expect("its settings");
        let child = command.spawn().expect("top");
        let screen = Arc::<Mutex<vt100::Parser>>::default();
        let (mut shown, parser) =
            (keyboard.try_clone().expect("a descriptor"), Arc::clone(&screen));
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = shown.read(&mut bytes) {
                parser.lock().unwrap_or_else(PoisonError::into_inner).process(&bytes[..length]);
            }
        });
        OnTerminal { child, keyboard, terminal, before, screen }
    }

    fn with_screen<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.screen.lock().unwrap_or_else(PoisonError::into_inner).screen())
    }

    /// Waits until the screen is as wanted; its text.
    fn await_screen(&self, what: &str, is_wanted: impl Fn(&str) -> bool) -> String {
        wait_until(what, || {
            let text = self.with_screen(vt100::Screen::contents);
            if is_wanted(&text) { Ok(text) } else { Err(text) }
        })
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("keys");
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).expect("a signal");
    }

    fn await_end(&mut self) -> ExitStatus {
        wait_until("the end of top", || {
            self.child.try_wait().expect("wait").ok_or_else(|| "it goes on".to_owned())
        })
    }

    /// Whether the terminal is as it was before.
    fn assert_restored(&self) {
        wait_until("the terminal as before", || {
            let (alternate, hidden) =
                self.with_screen(|screen| (screen.alternate_screen(), screen.hide_cursor()));
            if alternate || hidden { Err(format!("{alternate} {hidden}")) } else { Ok(()) }
        });
        let now = tcgetattr(&self.terminal).expect("its settings");
        assert_eq!(now, self.before);
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Both gateways, and a download for each family that goes on until it is told.
struct Downloads {
    testbed: Testbed,
    clients: Vec<String>,
    streams: Vec<TcpStream>,
    is_over: Arc<AtomicBool>,
}

impl Downloads {
    fn begin() -> Downloads {
        let mut testbed =
            build(TestbedConfig { link: Some(narrow_link()), ..TestbedConfig::default() });
        start_gateways(&mut testbed);
        let testbed = Arc::new(testbed);
        let pairs = pairs(&testbed, 1);
        let is_over = Arc::<AtomicBool>::default();
        let clients = pairs.iter().map(|pair| pair.ends()[0].to_string()).collect();
        let mut streams = Vec::new();
        for pair in pairs {
            let Pair { client, server } = pair;
            streams.extend([&client, &server].map(|it| it.try_clone().expect("a descriptor")));
            let over = Arc::clone(&is_over);
            thread::spawn(move || {
                while !over.load(Ordering::Relaxed) && (&server).write_all(&[7; 65_536]).is_ok() {}
            });
            thread::spawn(move || {
                let mut bytes = [0; 65_536];
                while matches!((&client).read(&mut bytes), Ok(1..)) {}
            });
        }
        let testbed = Arc::into_inner(testbed).expect("the only one");
        Downloads { testbed, clients, streams, is_over }
    }
}

impl Drop for Downloads {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for stream in &self.streams {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

/// Whether the row of a host in the list of flows has a download of megabits a second.
fn is_downloading(text: &str, host: &str) -> bool {
    let row = text.lines().find(|line| line.contains(host)).unwrap_or("");
    // Before the round-trip time, what was retransmitted, and what holds it back.
    row.split_whitespace().rev().nth(3).is_some_and(|rate| rate.ends_with('M'))
}

fn live() {
    if !gateways_wanted() {
        return;
    }
    let mut downloads = Downloads::begin();
    let mut top = OnTerminal::top(&downloads.testbed.g1);
    let client = downloads.clients[0].rsplit_once(':').expect("a port").0.to_owned();
    let text = top.await_screen("a download and its rate", |text| is_downloading(text, &client));
    assert!(text.starts_with("splits  peer known"), "{text}");
    assert!(text.contains("link 10.0 Mbit/s configured"), "{text}");
    assert!(text.contains("[1 flows]") && text.contains("2 by rate"), "{text}");
    assert!(text.lines().count() <= 24, "{text}");
    top.press("2");
    top.await_screen("its subscriber", |text| {
        text.contains("[2 subscribers]") && text.contains(&client)
    });
    top.press("\t");
    top.await_screen("remotes", |text| text.contains("[3 remotes]"));
    top.press("4");
    top.await_screen("what is not split", |text| text.contains("[4 not split]"));
    top.press(&format!("1/{client}\r"));
    top.await_screen("one of them", |text| text.contains("1 of 2 by rate"));
    top.press("\r");
    let text = top.await_screen("a flow", |text| text.contains("of the last 2 min"));
    assert!(text.contains(&downloads.clients[0]) && text.contains("↓ to client (lan)"), "{text}");
    top.press("?");
    top.await_screen("help", |text| text.contains("what holds the flow back"));
    // A gateway that is killed is asked on, and its successor is looked at.
    let mut gateway = downloads.testbed.take_gateway(GatewayPosition::Near).expect("a gateway");
    gateway.kill();
    top.await_screen("silence", |text| text.starts_with("NO ANSWER for "));
    downloads.testbed.start_gateway(GatewayPosition::Near).expect("another");
    top.await_screen("an answer", |text| text.starts_with("splits "));
    top.press("q");
    assert!(top.await_end().success());
    top.assert_restored();
}

fn ends() {
    if !gateways_wanted() {
        return;
    }
    let downloads = Downloads::begin();
    let open = || {
        let top = OnTerminal::top(&downloads.testbed.g1);
        top.await_screen("flows", |text| text.contains("[1 flows]"));
        top
    };
    for end in ["\u{3}", "\u{1b}"] {
        let mut top = open();
        top.press(end);
        assert!(top.await_end().success());
        top.assert_restored();
    }
    // The last is that of a window that is closed.
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let mut top = open();
        top.signal(signal);
        assert!(top.await_end().success(), "{signal}");
        top.assert_restored();
    }
    gone(&downloads.testbed.g1);
    // Without a gateway: a line, and no other screen.
    let mut top = OnTerminal::top(&downloads.testbed.h1);
    assert!(!top.await_end().success());
    let text = top.await_screen("why", |text| text.contains("runs in this network namespace"));
    assert_eq!(text.trim().lines().count(), 1, "{text}");
    top.assert_restored();
}

/// A terminal that is gone and sends no signal, as it controls nothing, ends it as quietly.
fn gone(namespace: &Namespace) {
    let (mut window, terminal) = pseudo_terminal();
    let end = || terminal.try_clone().expect("a descriptor");
    let mut command = namespace.command(GATEWAY);
    command.arg("top").stdin(end()).stdout(end()).stderr(end());
    let mut child = command.spawn().expect("top");
    drop((command, terminal));
    window.read_exact(&mut [0; 8]).expect("a screen");
    drop(window);
    let status = wait_until("the end of top", || {
        child.try_wait().expect("wait").ok_or_else(|| "it goes on".to_owned())
    });
    assert_eq!(status.code(), Some(1), "{status}");
}

fn once() {
    if !gateways_wanted() {
        return;
    }
    let downloads = Downloads::begin();
    let g1 = &downloads.testbed.g1;
    let look = || -> Value {
        let text = g1.output(GATEWAY, &["top", "--once", "--json"]).expect("a look");
        serde_json::from_str(&text).expect("JSON")
    };
    let report = wait_until("downloads", || {
        let report = look();
        let rates = report["flows"].as_array().into_iter().flatten();
        let busy = rates.filter(|flow| flow["legs"]["client"]["rate_bps"].as_f64() > Some(1e5));
        if busy.count() == 2 { Ok(report) } else { Err(report.to_string()) }
    });
    let flows = ask(g1, "flows");
    for client in &downloads.clients {
        let of = |flows: &Value| {
            let flows = flows.as_array().expect("a list");
            flows.iter().find(|flow| flow["client"] == **client).expect("a flow").clone()
        };
        let (before, now) = (of(&report["flows"]), of(&flows));
        for key in ["number", "opener", "server", "state", "remote"] {
            assert_eq!(before[key], now[key], "{key}");
        }
        assert!(before["age_s"].as_f64() < now["age_s"].as_f64());
        let delivered = |flow: &Value| flow["legs"]["client"]["delivered_bytes"].as_u64();
        assert!(delivered(&before) > Some(0) && delivered(&before) <= delivered(&now));
        assert_eq!(before["legs"]["client"]["side"], now["legs"]["client"]["side"]);
        assert!(now["legs"]["server"]["min_rtt_s"].as_f64() > Some(0.0), "{now}");
    }
    let link = &report["link"];
    assert!(link["from_satellite_bps"].as_f64() > Some(1e5), "{link}");
    assert_eq!(link["rate_bps"], 10_000_000);
    let text = g1.output(GATEWAY, &["top", "--once"]).expect("a look");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.starts_with("splits  peer known"), "{text}");
    // A pipe is no terminal.
    let output = g1.command(GATEWAY).arg("top").output().expect("top");
    assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("`--once`") && said.lines().count() == 1, "{said}");
}
