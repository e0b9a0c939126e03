//! Programs under comparison at the router: none, a gateway of ours, a foreign proxy.

use super::bare_copy::BareCopy;
use super::error::FlowsError;
use super::hosts::{DEVICES, Hosts};
use bentpipe_linux::netns::NetnsError;
use bentpipe_linux::netns::process::Process;
use bentpipe_testbed::network::diversion;
use bentpipe_testbed::proxy::{PORT, ProxyCommand};
use nix::sys::signal::Signal;
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// How long a program may take to be ready, on a machine that is busy.
const READY_WITHIN: Duration = Duration::from_secs(40);
/// How often we look.
const LOOK: Duration = Duration::from_millis(10);

/// The router's program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// None: the kernel forwards.
    Kernel,
    /// `bentpipe` or `bentpipe-gateway` at this path.
    Gateway(PathBuf),
    /// A transparent proxy.
    Proxy(ProxyCommand),
    /// A loop that reads and writes each packet.
    BareCopy,
}

/// A router's program with its name in tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forwarder {
    /// The name.
    pub name: String,
    /// The program.
    pub program: Program,
}

impl Forwarder {
    /// Plain forwarding.
    pub fn kernel() -> Forwarder {
        Forwarder { name: "kernel".to_owned(), program: Program::Kernel }
    }

    /// The price of a gateway's copies alone.
    pub fn bare_copy() -> Forwarder {
        Forwarder { name: "bare copy".to_owned(), program: Program::BareCopy }
    }

    /// Starts it at the router, and waits until it is ready. `settings` are more lines of
    /// `gateway.toml`.
    ///
    /// # Errors
    /// [`FlowsError::Forwarder`] with what it said.
    pub(super) fn start<'h>(
        &self,
        hosts: &'h Hosts,
        settings: &str,
    ) -> Result<Running<'h>, FlowsError> {
        let failed = |why: String| FlowsError::Forwarder { name: self.name.clone(), why };
        let mut running =
            Running { hosts, process: None, bare_copy: None, diverted: false, status: None };
        let started = match &self.program {
            Program::Kernel => Ok(()),
            Program::Gateway(program) => running.start_gateway(&self.name, program, settings),
            Program::Proxy(proxy) => running.start_proxy(proxy),
            Program::BareCopy => {
                running.bare_copy = Some(BareCopy::begin(hosts, &self.name)?);
                Ok(())
            }
        };
        started.map_err(|error| match error {
            NetnsError::NotReady { output, .. } => failed(output),
            other => failed(other.to_string()),
        })?;
        Ok(running)
    }
}

/// A router's program at work. Dropping this ends it.
#[derive(Debug)]
pub(super) struct Running<'h> {
    hosts: &'h Hosts,
    process: Option<Process>,
    bare_copy: Option<BareCopy<'h>>,
    diverted: bool,
    /// The command that asks a gateway for its status.
    status: Option<Vec<String>>,
}

impl Running<'_> {
    fn start_gateway(
        &mut self,
        name: &str,
        program: &Path,
        settings: &str,
    ) -> Result<(), NetnsError> {
        let router = &self.hosts.router;
        let [lan, sat] = DEVICES;
        let text =
            format!("[interfaces]\nlan = [\"{lan}\"]\nsatellite = [\"{sat}\"]\n{settings}\n");
        let file = self.write("gateway.toml", &text)?;
        let subcommand = subcommand(program);
        let mut command = router.command(program);
        command.args(subcommand).arg("--config").arg(file);
        let mut process = Process::start(name, &mut command)?;
        let words = if subcommand.is_some() { "bentpipe gateway" } else { "bentpipe-gateway" };
        process.wait_for_line(&format!("{words}: ready"), READY_WITHIN)?;
        self.process = Some(process);
        let ask =
            [Some(&*program.display().to_string()), subcommand, Some("status"), Some("--json")]
                .map(|word| word.map(str::to_owned));
        self.status = Some(ask.into_iter().flatten().collect());
        Ok(())
    }

    fn start_proxy(&mut self, proxy: &ProxyCommand) -> Result<(), NetnsError> {
        let router = &self.hosts.router;
        let file = self.write("proxy.cfg", &proxy.configuration().unwrap_or_default())?;
        let mut words = proxy.words(&file);
        let mut command = router.command(words.next().unwrap_or_default());
        let mut process = Process::start(&proxy.name, command.args(words))?;
        let deadline = Instant::now() + READY_WITHIN;
        while !diversion::is_listening(router, PORT) {
            let ended = process.try_wait();
            if ended.is_some() || Instant::now() > deadline {
                let said = [process.stdout(), process.stderr()].concat();
                let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
                let how = ended.map_or_else(|| "running".to_owned(), |status| status.to_string());
                let output = format!("nothing listens on port {PORT} ({how}): {}", last.trim());
                return Err(NetnsError::NotReady { what: proxy.name.clone(), output });
            }
            thread::sleep(LOOK);
        }
        self.process = Some(process);
        self.diverted = true;
        diversion::begin(router, &DEVICES)
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, NetnsError> {
        let path = self.hosts.files().join(name);
        let program = path.display().to_string();
        fs::write(&path, text).map_err(|source| NetnsError::Program { program, source })?;
        Ok(path)
    }

    /// The processor time of its process and all threads so far; None for the kernel.
    pub(super) fn process_time(&self) -> Option<Duration> {
        if let Some(bare_copy) = &self.bare_copy {
            return Some(bare_copy.time());
        }
        let id = self.process.as_ref()?.id();
        let clock = clock_getcpuclockid(Pid::from_raw(id.cast_signed())).ok()?;
        clock_gettime(clock).ok().map(Duration::from)
    }

    /// Fails if it has ended meanwhile, with what it said last.
    pub(super) fn check(&mut self, name: &str) -> Result<(), FlowsError> {
        let Some(process) = &mut self.process else { return Ok(()) };
        let Some(status) = process.try_wait() else { return Ok(()) };
        let said = process.stderr();
        let last = said.lines().last().unwrap_or_default();
        Err(FlowsError::Ended { name: name.to_owned(), why: format!("{status}: {last}") })
    }

    /// The counters in a gateway's status, by their names with dots; none if it has none.
    pub(super) fn work(&self) -> BTreeMap<String, f64> {
        let mut work = BTreeMap::new();
        let Some([program, arguments @ ..]) = self.status.as_deref() else { return work };
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        if let Ok(text) = self.hosts.router.output(program, &arguments)
            && let Ok(status) = serde_json::from_str::<Value>(&text)
        {
            flatten("", &status["work"], &mut work);
        }
        work
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if self.diverted
            && let Err(error) = diversion::end(&self.hosts.router)
        {
            tracing::warn!("{error}");
        }
        if let Some(process) = &mut self.process {
            process.signal(Signal::SIGTERM);
            process.wait(Duration::from_millis(300));
            // A gateway delivers what it holds, unless it is asked twice: `stop` asks again.
            process.stop();
        }
    }
}

/// The word with which a program becomes a gateway: `bentpipe` takes one.
fn subcommand(program: &Path) -> Option<&'static str> {
    let is_gateway = program
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("bentpipe-gateway"));
    (!is_gateway).then_some("gateway")
}

/// Collects the numbers of nested objects.
fn flatten(name: &str, value: &Value, numbers: &mut BTreeMap<String, f64>) {
    match value {
        Value::Number(number) => {
            numbers.extend(number.as_f64().map(|number| (name.to_owned(), number)));
        }
        Value::Object(members) => {
            for (member, value) in members {
                let dot = if name.is_empty() { "" } else { "." };
                flatten(&format!("{name}{dot}{member}"), value, numbers);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nested_counters_have_names_with_dots() {
        let mut numbers = BTreeMap::new();
        let work = json!({ "wakeups": 3, "lan": { "reads": 4, "name": "lan0" }, "why": null });
        flatten("", &work, &mut numbers);
        let expected = [("lan.reads".to_owned(), 4.0), ("wakeups".to_owned(), 3.0)];
        assert_eq!(numbers, expected.into());
        flatten("", &Value::Null, &mut numbers);
        assert_eq!(numbers.len(), 2);
    }

    #[test]
    fn only_the_large_program_takes_a_word() {
        assert_eq!(subcommand(Path::new("/usr/bin/bentpipe")), Some("gateway"));
        assert_eq!(subcommand(Path::new("/usr/bin/bentpipe-gateway")), None);
        assert_eq!(subcommand(Path::new("./bentpipe-gateway.old")), None);
    }
}
