//! `bentpipe link` seen from outside: UDP packets with numbers through the link, and which of them
//! arrive.

use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use bentpipe_linux::netns::process::Process;
use bentpipe_testbed::five_hosts::{Testbed, TestbedConfig};
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::stage::{BENTPIPE, build};
use crate::toolbox::{PATIENCE, give_room, wait_until};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("emulated_directions_are_never_faster_than_they_are_set", directions),
    ("emulated_packets_are_lost_doubled_damaged_and_overtaken", impairments),
    ("emulated_scenario_link_has_its_mtu_and_outages", scenario),
];

/// Headers of IPv4 and UDP.
const HEADERS: u64 = 28;

/// The link in SAT; down is from H1 to H2.
pub(crate) struct Emulated {
    pub(crate) testbed: Testbed,
    /// What it takes to be on time as on an idle machine; not every container may have it.
    realtime: bool,
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
        Emulated { testbed: build(TestbedConfig::default()), realtime: false, process: None }
    }

    /// One that has real-time priority: what is measured is the link, not what else the machine
    /// does.
    pub(crate) fn on_time() -> Emulated {
        Emulated { realtime: true, ..Emulated::new() }
    }

    /// The link of these options from now on.
    pub(crate) fn link(&mut self, options: &[&str]) {
        let mut command = self.testbed.sat.command(BENTPIPE);
        command.args(["link", "--between", "ground1,ground2", "--json"]);
        command.args(self.realtime.then_some("--realtime"));
        command.args(options);
        let mut process = Process::start("bentpipe link", &mut command).expect("start");
        process.wait_for_line("bentpipe link: ready", PATIENCE).expect("ready");
        self.process = Some(process);
    }

    /// Ends the link; its summary.
    pub(crate) fn end(&mut self) -> Value {
        let mut process = self.process.take().expect("a link");
        process.signal(Signal::SIGTERM);
        let status = process.wait(PATIENCE).expect("it ends");
        assert!(status.success(), "{status}: {}", process.stderr());
        let stdout = process.stdout();
        let line = stdout.lines().find(|line| line.starts_with('{')).expect("a summary");
        serde_json::from_str(line).expect("JSON")
    }

    /// How many packets have come to the link that way, and how many are inside. None if it does
    /// not answer in time.
    fn seen(&self, down: bool) -> Option<(u64, u64)> {
        let process = self.process.as_ref().expect("a link");
        let id = process.id().to_string();
        let mut show = Command::new(BENTPIPE);
        let output = show.args(["link", "show", "--json", "--link", &id]).output().expect("show");
        let shown: Value = serde_json::from_slice(&output.stdout).ok()?;
        let way = &shown["directions"][usize::from(!down)];
        way["offered"]["packets"].as_u64().zip(way["inside"]["packets"].as_u64())
    }

    /// Sends `count` packets with `payload` bytes down (from H1 to H2) or up, `pace` apart, and
    /// waits until the link has had them all, and nothing is left inside. In the order of arrival.
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
        give_room(&receiver);
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
            // What has left the link is not yet here.
            let mut idle = 0;
            while idle < 2 {
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
                        wait_until(
                            "the link has had them all, and has none any more",
                            || match self.seen(down) {
                                Some((offered, 0)) if offered >= before + u64::from(count) => {
                                    Ok(())
                                }
                                seen => Err(format!("{seen:?} of {count}, and {before} before")),
                            },
                        );
                        idle += 1;
                    }
                }
            }
            arrivals
        })
    }

    /// Sends packets one by one, and many at once, over a direction of this rate and delay: none
    /// takes less than both.
    pub(crate) fn assert_no_faster(&self, down: bool, bits_per_second: f64, delay: f64) {
        let alone = self.send(down, 30, 100, Duration::from_millis(10));
        assert_eq!(alone.len(), 30);
        let took = alone.iter().map(|arrival| arrival.took).min().expect("arrivals").as_secs_f64();
        let due = delay + serialisation(100, bits_per_second);
        assert!(took >= due, "too early: {took} s instead of {due} s");
        let many = self.send(down, 100, 1222, Duration::ZERO);
        assert_eq!(many.len(), 100);
        // From the first's beginning to the last's end, which the line takes for all.
        let took = (many[99].at - many[0].at + many[0].took).as_secs_f64();
        let due = delay + 100.0 * serialisation(1222, bits_per_second);
        // What is on the link besides may let it begin sooner by what it makes up for.
        assert!(took >= 0.9 * due, "too fast: {took} s instead of {due} s");
    }
}

/// How long a line takes for one such packet, in seconds.
pub(crate) fn serialisation(payload: usize, bits_per_second: f64) -> f64 {
    (payload as u64 + HEADERS) as f64 * 8.0 / bits_per_second
}

/// A packet takes its delay and its line's time, or longer: whoever is held up, it is not by less.
/// (That it is not more either, `measured` finds.)
fn directions() {
    let mut emulated = Emulated::new();
    let options = ["--both", "queue=unlimited", "--down", "rate=4Mbit/s,delay=30ms", "--up"];
    emulated.link(&[&options[..], &["rate=1Mbit/s,delay=60ms"]].concat());
    for (down, rate, delay) in [(true, 4e6, 0.030), (false, 1e6, 0.060)] {
        emulated.assert_no_faster(down, rate, delay);
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
    // A packet is overtaken if the next one's jitter is less by more than their distance: 45 in 100
    // at least. The busier the sender, the closer they are.
    let overtaken = arrivals.windows(2).filter(|pair| pair[1].number < pair[0].number).count();
    println!("jitter: {overtaken} of 500 were overtaken");
    assert!(overtaken > 150 && arrivals.len() == 500, "{overtaken} of {}", arrivals.len());
    assert!(arrivals.iter().all(|arrival| arrival.took >= Duration::from_millis(5)));
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
    // Most of four periods, if the sender is not held up; it is tried again until some fell into an
    // outage, and some did not.
    wait_until("some are lost in outages", || {
        let arrived = emulated.send(true, 400, 100, Duration::from_millis(2)).len();
        println!("outages: {arrived} of 400 arrived");
        if (1..400).contains(&arrived) { Ok(()) } else { Err(format!("{arrived} of 400 arrived")) }
    });
    // The MTU is that of SAT's device: it answers as a router does.
    let too_long =
        ["-c", "3", "-i", "0.3", "-W", "5", "-M", "do", "-s", "1400", &Testbed::H2_V4.to_string()]
            .map(str::to_owned);
    let output = emulated.testbed.h1.command("ping").args(&too_long).output().expect("ping");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("mtu = 1300") || said.contains("mtu=1300"), "{said}");
    emulated.end();
}
