//! Scenarios drawn at random.
//!
//! They have two hosts, a box between them that only forwards, and a flow or two. Runs are short, a
//! thousand packets or so, so that hundreds of them cost seconds.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::fmt::Write;

/// A scenario, and what of it no record says.
#[derive(Debug)]
pub(crate) struct Drawn {
    /// As TOML.
    pub(crate) text: String,
    /// The send buffers of the hosts `a` and `b`, in bytes.
    pub(crate) send_buffers: [u64; 2],
    /// Whether its captures have IP IDs, as IPv4's. IPv6 has none.
    pub(crate) ids: bool,
    /// What it is about, in a few words.
    pub(crate) about: String,
}

/// The scenario of this seed.
pub(crate) fn draw(seed: u64) -> Drawn {
    let mut draw = Draw { rng: Pcg64Mcg::seed_from_u64(seed), about: Vec::new() };
    let hosts = [draw.host(), draw.host()];
    let path = draw.path();
    let (flows, duration, end) = draw.flows(path.rate);
    let mut text = format!("[run]\nduration = '{duration:.1}s'\nuntil = '{end}'\nseed = {seed}\n");
    for (name, host) in ["a", "b"].into_iter().zip(&hosts) {
        let _ = writeln!(text, "[host.{name}]\ntcp = '{}'", host.tcp);
    }
    text += "[gateway.m]\nlan-links = 'near'\nsplit = false\n";
    text += &path.links;
    text += &flows;
    let send_buffers = hosts.map(|host| host.send_buffer);
    let ids = !draw.one_in(5);
    if !ids {
        draw.note("no IP IDs");
    }
    Drawn { text, send_buffers, ids, about: draw.about.join(", ") }
}

struct Draw {
    rng: Pcg64Mcg,
    about: Vec<String>,
}

struct Host {
    tcp: String,
    send_buffer: u64,
}

struct Path {
    links: String,
    /// In bits per second.
    rate: u64,
}

/// How often an application writes at most.
const WRITES: f64 = 300.0;
/// Where nothing is said of it.
const SEND_BUFFER: u64 = 4 << 20;

impl Draw {
    fn one_in(&mut self, times: u32) -> bool {
        self.rng.random_range(0..times) == 0
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.rng.random_range(0..of.len())]
    }

    /// Evenly by its logarithm.
    fn log(&mut self, from: f64, to: f64) -> f64 {
        let part: f64 = self.rng.random_range(0.0..1.0);
        from * (to / from).powf(part)
    }

    fn note(&mut self, what: impl Into<String>) {
        self.about.push(what.into());
    }

    fn host(&mut self) -> Host {
        let presets =
            ["linux", "linux", "linux", "", "", "recovery=sack", "bsd-reno-1997", "windows-nt4"];
        let preset = self.pick(&presets);
        let mut keys: Vec<String> = Vec::new();
        let mut send_buffer = match preset {
            "bsd-reno-1997" => 16 << 10,
            "windows-nt4" => 8760,
            _ => SEND_BUFFER,
        };
        let is_old = preset.contains('-');
        if !preset.is_empty() {
            keys.push(preset.to_owned());
        }
        if !is_old {
            let controls = ["cubic", "cubic", "standard", "vegas", "bbr", "bbr1", "cubic+pacing"];
            match self.pick(&controls) {
                "cubic+pacing" => keys.extend(["congestion=cubic", "pacing=on"].map(str::to_owned)),
                control if control.starts_with("bbr") => {
                    keys.push(format!("congestion={control}"));
                    keys.push("pacing=on".to_owned());
                }
                control => keys.push(format!("congestion={control}")),
            }
            if self.one_in(4) {
                keys.push(format!("timestamps={}", self.pick(&["on", "off"])));
            }
            if self.one_in(6) {
                keys.push("sack=off".to_owned());
            }
            if self.one_in(5) {
                keys.push("ecn=on".to_owned());
            }
            if self.one_in(4) {
                keys.push(format!("iw={}", self.rng.random_range(1..=30)));
            }
        }
        if self.one_in(4) {
            let receive = self.log(4e3, 256e3) as u64;
            keys.push(format!("receive-buffer={receive}B,receive-buffer-max=off"));
        }
        if self.one_in(5) {
            send_buffer = self.log(6e3, 128e3) as u64;
            keys.push(format!("send-buffer={send_buffer}B"));
        }
        if self.one_in(3) {
            keys.push(format!("nagle={}", self.pick(&["on", "off", "off"])));
        }
        if self.one_in(2) {
            let policies = [
                "per-segment",
                "delayed:40ms",
                "delayed:200ms",
                "heartbeat:200ms",
                "thinned:8:100ms",
            ];
            keys.push(format!("ack={}", self.pick(&policies)));
        }
        let tcp = keys.join(",");
        self.note(format!("[{tcp}]"));
        Host { tcp, send_buffer }
    }

    fn path(&mut self) -> Path {
        let rate = self.log(3e5, 5e7) as u64;
        let delay = match self.rng.random_range(0..5) {
            0 | 1 => self.rng.random_range(240.0..280.0),
            2 => self.log(0.5, 5.0),
            _ => self.log(5.0, 120.0),
        };
        let share: f64 = match self.rng.random_range(0..4) {
            0 => 0.02,
            1 => 0.98,
            _ => self.rng.random_range(0.1..0.9),
        };
        let narrow = self.rng.random_range(0..2);
        let mut links = String::new();
        let ends = [("near", "['a', 'm']", share), ("far", "['m', 'b']", 1.0 - share)];
        self.note(format!("{} kbit/s, {delay:.1} ms", rate / 1000));
        for (number, (name, between, part)) in ends.into_iter().enumerate() {
            let own = if number == narrow { rate } else { rate.saturating_mul(10) };
            let _ = writeln!(links, "[link.{name}]\nbetween = {between}\nrate = '{own}bit/s'");
            let _ = writeln!(links, "delay = '{:.3}ms'", delay * part);
            if number == narrow {
                links += &self.queue();
            }
            links += &self.impairments(name);
        }
        Path { links, rate }
    }

    fn queue(&mut self) -> String {
        let packets = self.log(8.0, 300.0) as u64;
        match self.rng.random_range(0..6) {
            0 => format!(
                "queue = {{ kind = 'codel', target = '20ms', interval = '300ms', ecn = true, \
                 limit = '{packets}packets' }}\n"
            ),
            1 => {
                format!("queue = {{ kind = 'red', limit = '{packets}packets', ecn = true }}\n")
            }
            2 => String::new(),
            _ => format!("queue = '{packets}packets'\n"),
        }
    }

    fn impairments(&mut self, link: &str) -> String {
        let mut text = String::new();
        if self.one_in(2) {
            let loss: f64 = self.log(0.001, 0.05);
            let _ = writeln!(text, "loss = {loss:.4}");
            self.note(format!("{link} loses {:.1} %", loss * 100.0));
        }
        if self.one_in(8) {
            let part = self.log(0.002, 0.05);
            let by = self.log(1.0, 60.0);
            let _ = writeln!(
                text,
                "reorder = {part:.4}\nreorder-by = {{ uniform = ['0.2ms', '{:.1}ms'] }}",
                by + 0.3
            );
            self.note(format!("{link} reorders {:.1} % by {by:.0} ms", part * 100.0));
        }
        if self.one_in(8) {
            let jitter = self.log(0.5, 20.0);
            let order = self.pick(&["kept", "kept", "by-arrival"]);
            let _ = writeln!(
                text,
                "jitter = {{ uniform = ['0ms', '{jitter:.1}ms'] }}\norder = '{order}'"
            );
            self.note(format!("{link} jitter {jitter:.1} ms, order {order}"));
        }
        if self.one_in(25) {
            text += "duplicate = 0.005\n";
            self.note(format!("{link} duplicates"));
        }
        text
    }

    /// The flows, how many seconds they last at most, and what ends the run.
    fn flows(&mut self, rate: u64) -> (String, f64, &'static str) {
        let (from, to) = if self.one_in(3) { ("b", "a") } else { ("a", "b") };
        let head = format!("[flow.main]\nfrom = '{from}'\nto = '{to}'\n");
        // Half a minute of the link at most, and some hundreds of packets.
        let most = (rate as f64 / 8.0 * 40.0).min(4e6);
        let (mut text, duration, end) = match self.rng.random_range(0..8) {
            0..=2 => {
                let bytes = self.log(2e4_f64.min(most / 2.0), most) as u64;
                let opened = self.pick(&["from", "to"]);
                self.note(format!("bulk {bytes} B"));
                (format!("{head}bytes = '{bytes}B'\nopened-by = '{opened}'\n"), 120.0, "flows-done")
            }
            3 | 4 => (self.requests(&head, most), 90.0, "flows-done"),
            5 => (self.page(&head, most), 90.0, "flows-done"),
            _ => {
                let (text, duration) = self.writer(&head, rate);
                (text, duration, "duration")
            }
        };
        if self.one_in(6) {
            let bytes = self.log(1e4, most / 3.0) as u64;
            let start = self.rng.random_range(0.0..2.0);
            let (from, to) = if self.one_in(3) { (to, from) } else { (from, to) };
            let _ = writeln!(
                text,
                "[flow.other]\nfrom = '{from}'\nto = '{to}'\nbytes = '{bytes}B'\n\
                 start = '{start:.3}s'"
            );
            self.note("a second flow");
        }
        (text, duration, end)
    }

    fn requests(&mut self, head: &str, most: f64) -> String {
        let reply = self.log(100.0, (most / 8.0).max(200.0)) as u64;
        let request = if self.one_in(3) { self.log(100.0, 2e4) } else { 400.0 } as u64;
        let requests = self.rng.random_range(3..12);
        let think = self.pick(&["0s", "20ms", "200ms", "1s"]);
        let delay = self.pick(&["0s", "0s", "10ms", "150ms"]);
        let connection = self.pick(&["same", "same", "same", "new"]);
        self.note(format!(
            "{requests} requests of {request} B, replies {reply} B, think {think}, delay {delay}, \
             {connection} connection"
        ));
        format!(
            "{head}workload = 'request-response'\nrequest = '{request}B'\nreply = '{reply}B'\n\
             requests = {requests}\nthink = {{ exponential = '{think}' }}\n\
             server-delay = '{delay}'\nconnection = '{connection}'\n",
        )
        .replace("{ exponential = '0s' }", "'0s'")
    }

    fn page(&mut self, head: &str, most: f64) -> String {
        let workload = self.pick(&["http/1.1", "http/1.1-pipelined", "http/2"]);
        let count = self.rng.random_range(2..12);
        let objects = self.log(500.0, (most / 10.0).max(1000.0)) as u64;
        let delay = self.pick(&["0s", "5ms", "60ms"]);
        self.note(format!("{workload} of {count} objects of {objects} B"));
        format!(
            "{head}workload = '{workload}'\nserver-delay = '{delay}'\n\
             page = {{ document = '3KB', objects = '{objects}B', count = {count} }}\n"
        )
    }

    /// An application that writes at its own times: key by key, slowly, or in bursts.
    fn writer(&mut self, head: &str, rate: u64) -> (String, f64) {
        let (bytes, every) = match self.rng.random_range(0..3) {
            0 => (self.log(1.0, 300.0), self.log(8.0, 400.0)),
            1 => (self.log(300.0, 6000.0), self.log(15.0, 400.0)),
            _ => (self.log(6000.0, 1e5), self.log(200.0, 3000.0)),
        };
        // It would be the network that limits it.
        let least = bytes * 8.0 / (rate as f64) * 1000.0;
        let every = every.max(least * if self.one_in(4) { 0.8 } else { 1.6 });
        let spread = self.pick(&["exponential", "constant"]);
        let between = match spread {
            "constant" => format!("'{every:.2}ms'"),
            _ => format!("{{ exponential = '{every:.2}ms' }}"),
        };
        let echo = if self.one_in(3) { self.log(1.0, bytes.max(2.0)) as u64 } else { 0 };
        let keystroke = bytes as u64;
        self.note(format!("writes {keystroke} B every {every:.0} ms ({spread}), echo {echo} B"));
        let text = format!(
            "{head}workload = 'telnet'\nbetween = {between}\nkeystroke = '{keystroke}B'\n\
             echo = '{echo}B'\n"
        );
        // No scenario outweighs many others.
        (text, (WRITES * every / 1000.0).min(30.0))
    }
}
