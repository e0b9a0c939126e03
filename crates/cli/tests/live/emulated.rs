//! `bentpipe link` seen from outside: UDP packets with numbers and times through the link, and what arrives.

use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use bentpipe_net::netns::process::Process;
use bentpipe_net::testbed::{Testbed, TestbedConfig};
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::stage::{BENTPIPE, build};
use crate::toolbox::SOON;

pub(crate) const CASES: &[(&str, fn())] = &[
    ("emulated_directions_have_their_own_rates_and_delays", directions),
    ("emulated_packets_are_lost_doubled_damaged_and_overtaken", impairments),
    ("emulated_trace_is_carried_byte_for_byte", trace),
    ("emulated_scenario_link_has_its_mtu_and_outages", scenario),
];

/// Headers of IPv4 and UDP.
const HEADERS: u64 = 28;

/// The link in SAT; down is from H1 to H2.
pub(crate) struct Emulated {
    pub(crate) testbed: Testbed,
    process: Option<Process>,
}

/// A packet that has arrived: its number, how long it took, and when it came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) number: u32,
    pub(crate) took: Duration,
    pub(crate) at: Instant,
}

impl Emulated {
    pub(crate) fn new() -> Emulated {
        Emulated { testbed: build(TestbedConfig::default()), process: None }
    }

    /// The link of these options from now on. It has real-time priority: what is measured is the link, not what
    /// else the machine does. A link that does not get the processor lets packets out early, too (`net::backlog`).
    pub(crate) fn link(&mut self, options: &[&str]) {
        let mut command = self.testbed.sat.command(BENTPIPE);
        command.args(["link", "--realtime", "--between", "ground1,ground2", "--json"]);
        command.args(options);
        let mut process = Process::start("bentpipe link", &mut command).expect("start");
        process.wait_for_line("bentpipe link: ready", SOON).expect("ready");
        self.process = Some(process);
    }

    /// Ends the link; its summary.
    pub(crate) fn end(&mut self) -> Value {
        let mut process = self.process.take().expect("a link");
        process.signal(Signal::SIGTERM);
        let status = process.wait(SOON).expect("it ends");
        assert!(status.success(), "{status}: {}", process.stderr());
        let stdout = process.stdout();
        let line = stdout.lines().find(|line| line.starts_with('{')).expect("a summary");
        serde_json::from_str(line).expect("JSON")
    }

    /// How many packets have come to the link that way, and how many are inside. None if it does not answer in time.
    fn seen(&self, down: bool) -> Option<(u64, u64)> {
        let process = self.process.as_ref().expect("a link");
        let id = process.id().to_string();
        let mut show = Command::new(BENTPIPE);
        let output = show.args(["link", "show", "--json", "--link", &id]).output().expect("show");
        let shown: Value = serde_json::from_slice(&output.stdout).ok()?;
        let way = &shown["directions"][usize::from(!down)];
        way["offered"]["packets"].as_u64().zip(way["inside"]["packets"].as_u64())
    }

    /// Sends `count` packets with `payload` bytes down (from H1 to H2) or up, `pace` apart, and waits until the link has
    /// had them all, and nothing is left inside. In the order of arrival.
    pub(crate) fn send(
        &self,
        down: bool,
        count: u32,
        payload: usize,
        pace: Duration,
    ) -> Vec<Arrival> {
        let Testbed { h1, h2, .. } = &self.testbed;
        let (from, to, source, sink) = match down {
            true => (h1, h2, Testbed::H1_V4, Testbed::H2_V4),
            false => (h2, h1, Testbed::H2_V4, Testbed::H1_V4),
        };
        let socket = |address| UdpSocket::bind(SocketAddr::new(address, 0)).expect("socket");
        let receiver = to.run(|| socket(sink)).expect("namespace");
        let sender = from.run(|| socket(source)).expect("namespace");
        sender.connect(receiver.local_addr().expect("address")).expect("connect");
        receiver.set_read_timeout(Some(Duration::from_millis(500))).expect("timeout");
        let (before, _) = self.seen(down).expect("an answer");
        let _ = socket2::SockRef::from(&receiver).set_recv_buffer_size(4 << 20);
        let sent: Mutex<Vec<Instant>> = Mutex::default();
        thread::scope(|scope| {
            scope.spawn(|| {
                let begin = Instant::now();
                let mut packet = vec![0x5a; payload];
                for number in 0..count {
                    let due = begin + pace * number;
                    thread::sleep(due.saturating_duration_since(Instant::now()));
                    packet[..4].copy_from_slice(&number.to_be_bytes());
                    sent.lock().expect("times").push(Instant::now());
                    sender.send(&packet).expect("send");
                }
            });
            let mut arrivals = Vec::new();
            let mut packet = vec![0; payload];
            let deadline = Instant::now() + SOON;
            // What has left the link is not yet here.
            let mut idle = 0;
            while idle < 2 && Instant::now() < deadline {
                match receiver.recv(&mut packet) {
                    Ok(length) => {
                        let at = Instant::now();
                        idle = 0;
                        assert_eq!(length, payload);
                        assert!(packet[4..].iter().all(|byte| *byte == 0x5a), "a wrong byte");
                        let number =
                            u32::from_be_bytes(packet[..4].try_into().expect("four bytes"));
                        let began = sent.lock().expect("times")[number as usize];
                        arrivals.push(Arrival { number, took: at - began, at });
                    }
                    Err(_) => {
                        let all = self.seen(down).is_some_and(|(offered, inside)| {
                            offered >= before + u64::from(count) && inside == 0
                        });
                        idle = if all { idle + 1 } else { 0 };
                    }
                }
            }
            arrivals
        })
    }
}

/// What a line sends in the time of one such packet.
fn serialisation(payload: usize, bits_per_second: f64) -> f64 {
    (payload as u64 + HEADERS) as f64 * 8.0 / bits_per_second
}

/// By how much the line's rate is off `bits_per_second`, by the earliest packets of either half: what the machine holds
/// up comes later, never earlier.
pub(crate) fn rate_error(arrivals: &[Arrival], payload: usize, bits_per_second: f64) -> f64 {
    let each = serialisation(payload, bits_per_second);
    let first = arrivals[0];
    let lateness = |arrival: &Arrival| {
        let steps = f64::from(arrival.number) - f64::from(first.number);
        (arrival.at - first.at).as_secs_f64() - steps * each
    };
    let earliest = |part: &[Arrival]| part.iter().map(lateness).fold(f64::INFINITY, f64::min);
    let half = arrivals.len() / 2;
    let (early, late) = (earliest(&arrivals[..half]), earliest(&arrivals[half..]));
    (late - early) / (half as f64 * each)
}

/// Tries again while the machine is busy; fails with what it was at last.
pub(crate) fn in_some_try(what: &str, mut attempt: impl FnMut() -> Result<(), String>) {
    let mut last = String::new();
    for _ in 0..6 {
        match attempt() {
            Ok(()) => return,
            Err(why) => last = why,
        }
    }
    panic!("{what}: {last}");
}

fn directions() {
    let mut emulated = Emulated::new();
    emulated.link(&[
        "--both",
        "queue=unlimited",
        "--down",
        "rate=4Mbit/s,delay=30ms",
        "--up",
        "rate=1Mbit/s,delay=10ms",
    ]);
    for (down, rate, delay) in [(true, 4e6, 0.030), (false, 1e6, 0.010)] {
        in_some_try("rate", || {
            let arrivals = emulated.send(down, 200, 1222, Duration::ZERO);
            assert_eq!(arrivals.len(), 200);
            let error = rate_error(&arrivals, 1222, rate);
            println!("rate {rate}: off by {:.4} %", error * 100.0);
            if error.abs() < 0.005 { Ok(()) } else { Err(format!("{rate} is off by {error}")) }
        });
        in_some_try("delay", || {
            let arrivals = emulated.send(down, 50, 100, Duration::from_millis(10));
            let least = arrivals.iter().map(|arrival| arrival.took).min().expect("arrivals");
            let over = least.as_secs_f64() - delay - serialisation(100, rate);
            println!("delay {delay} s: {:.0} us more", over * 1e6);
            assert!(over > -1e-6, "too early by {over}");
            if over < 0.002 { Ok(()) } else { Err(format!("{over} s more than {delay}")) }
        });
    }
    let summary = emulated.end();
    println!("{summary}");
    assert_eq!(summary["directions"][0]["lost"]["packets"], 0);
    assert!(summary["release_error_p50_us"].as_f64() > Some(0.0), "{summary}");
    assert!(summary["steal_percent"].is_number(), "{summary}");
}

fn impairments() {
    let mut emulated = Emulated::new();
    let pace = Duration::from_micros(500);
    // Of 2000 packets at 5 %: a hundred, and four standard deviations of 9.7.
    let some = 60..=140;
    let numbers = |arrivals: &[Arrival]| arrivals.iter().map(|a| a.number).collect::<BTreeSet<_>>();
    for settings in ["loss=5%", "corrupt=5%", "loss=gilbert-elliott:burst=2,loss=5%"] {
        emulated.link(&["--both", "delay=5ms", "--down", settings]);
        let arrivals = emulated.send(true, 2000, 100, pace);
        let lost = 2000 - arrivals.len();
        println!("{settings}: {lost} of 2000 did not arrive");
        let summary = emulated.end();
        // The kernel has packets of its own now and then, which may be lost, too.
        let counted = summary["directions"][0]["lost"]["packets"].as_u64().unwrap_or(0) as usize;
        assert!((lost..lost + 5).contains(&counted), "{settings}: {lost} lost: {summary}");
        assert!((40..=170).contains(&lost), "{settings}: {lost}");
        if !settings.contains("burst") {
            assert!(some.contains(&lost), "{settings}: {lost}");
        }
    }
    emulated.link(&["--delay", "5ms", "--down", "duplicate=5%"]);
    let arrivals = emulated.send(true, 2000, 100, pace);
    let (all, twice) = (numbers(&arrivals).len(), arrivals.len() - numbers(&arrivals).len());
    assert!(all == 2000 && some.contains(&twice), "{all} with {twice} twice");
    let counted = emulated.end()["directions"][0]["duplicated"]["packets"].as_u64().unwrap_or(0);
    assert!((twice..twice + 5).contains(&(counted as usize)), "{twice} twice, {counted} counted");

    emulated.link(&["--delay", "5ms", "--down", "reorder=5%,reorder-by=50ms"]);
    let arrivals = emulated.send(true, 2000, 100, pace);
    let mut max = 0;
    let overtaken = arrivals.iter().filter(|a| {
        max = max.max(a.number);
        a.number < max
    });
    let overtaken = overtaken.count();
    assert!(some.contains(&overtaken) && arrivals.len() == 2000, "{overtaken} were overtaken");
    emulated.end();

    emulated.link(&[
        "--delay",
        "5ms",
        "--down",
        "jitter={ uniform = [\"0ms\", \"40ms\"] },order=by-arrival",
    ]);
    let arrivals = emulated.send(true, 500, 100, Duration::from_millis(2));
    let took: f64 = arrivals.iter().map(|a| a.took.as_secs_f64()).sum::<f64>() / 500.0;
    let least = arrivals.iter().map(|a| a.took).min().expect("arrivals").as_secs_f64();
    println!("jitter: {least} s at least, {took} s on average");
    // 5 ms to 45 ms: 25 ms, and five standard deviations of 0.5 ms; a busy machine only adds.
    assert!(least < 0.012 && took > 0.0224 && arrivals.len() == 500, "{least} {took}");
    emulated.end();
}

/// A trace that repeats carries the same bytes in any span of a period, wherever that begins.
fn trace() {
    let mut emulated = Emulated::new();
    let path = emulated.testbed.files().join("steps.csv");
    std::fs::write(&path, "time,rate\n0ms,2Mbit/s\n100ms,6Mbit/s\n200ms,0bit/s\n300ms,4Mbit/s\n")
        .expect("trace");
    let settings = format!("trace={},trace-period=400ms,queue=unlimited", path.display());
    emulated.link(&["--down", &settings]);
    in_some_try("bytes of a period", || {
        let arrivals = emulated.send(true, 600, 1222, Duration::ZERO);
        let begin = arrivals[50].at;
        // Three periods: 1.2 Mbit each, which are 120 packets of 1250 bytes.
        let within = |a: &&Arrival| a.at >= begin && a.at < begin + Duration::from_millis(1200);
        let packets = arrivals.iter().filter(within).count();
        println!("{packets} packets in three periods, 360 expected");
        match (356..=364).contains(&packets) {
            true => Ok(()),
            false => Err(format!("{packets} packets instead of 360")),
        }
    });
    emulated.end();
}

fn scenario() {
    let mut emulated = Emulated::new();
    let path = emulated.testbed.files().join("x.toml");
    let text = "[run]\nduration = \"5s\"\n[host.a]\n[host.b]\n[link.other]\nbetween = [\"a\", \"b\"]\n\
                [link.sat]\nbetween = [\"a\", \"b\"]\nrate = \"2Mbit/s\"\ndelay = \"5ms\"\nmtu = 1300\n\
                outages = \"periodic:first=0s,lasting=100ms,every=400ms\"\n";
    std::fs::write(&path, text).expect("scenario");
    let path = path.display().to_string();
    emulated.link(&["--scenario", &path, "--link", "sat"]);
    // A second of outages in four, which is one packet in four, wherever the first falls.
    let arrivals = emulated.send(true, 800, 100, Duration::from_millis(2));
    println!("outages: {} of 800 arrived", arrivals.len());
    assert!((560..=640).contains(&arrivals.len()), "{} of 800", arrivals.len());
    // The MTU is that of SAT's device: it answers as a router does.
    let too_long =
        ["-c", "3", "-i", "0.3", "-W", "5", "-M", "do", "-s", "1400", &Testbed::H2_V4.to_string()]
            .map(str::to_owned);
    let output = emulated.testbed.h1.command("ping").args(&too_long).output().expect("ping");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("mtu = 1300") || said.contains("mtu=1300"), "{said}");
    emulated.end();
}
