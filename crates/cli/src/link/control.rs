//! `bentpipe link show` and `bentpipe link set`: a running link, asked and changed from another
//! shell.

use super::Error;
use super::report::Report;
use bentpipe_core::link::Count;
use bentpipe_emulator::changes::{self, ChangeRequest, LinkChange};
use bentpipe_emulator::link_control::{LinkClient, LinkQuestion, LinkState};
use bentpipe_emulator::links::{self, RunningLink};
use bentpipe_links::{Directions, LinkSettings};
use bentpipe_linux::processor_times::ProcessorTimes;
use bentpipe_linux::serve::Server;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;

/// How an answer begins that is none.
const FAILED: &str = "error: ";

/// Which of the links that run.
#[derive(clap::Args)]
pub(super) struct Which {
    /// Its name or process; needed only if several run
    #[arg(long, value_name = "NAME|PID")]
    link: Option<String>,
}

/// What is to be changed.
#[derive(clap::Args)]
pub(super) struct Changes {
    /// Both directions: rate=2Mbit/s,loss=1%. Of rate, delay, loss, gilbert-elliott, bit-errors,
    /// jitter, reorder, reorder-by, duplicate and corrupt
    #[arg(value_name = "SETTINGS", required_unless_present_any = ["down", "up", "both"])]
    settings: Option<String>,
    /// Both directions, as well
    #[arg(long, value_name = "SETTINGS", conflicts_with = "settings")]
    both: Option<String>,
    /// From A to B, or from the network to the COMMAND
    #[arg(long, value_name = "SETTINGS")]
    down: Option<String>,
    /// From B to A, or from the COMMAND to the network
    #[arg(long, value_name = "SETTINGS")]
    up: Option<String>,
    #[command(flatten)]
    which: Which,
}

/// `bentpipe link show`.
pub(super) fn show(which: &Which, json: bool) -> Result<ExitCode, Error> {
    let answer = ask(which, if json { "show json" } else { "show" })?;
    write!(io::stdout().lock(), "{answer}")?;
    Ok(ExitCode::SUCCESS)
}

/// `bentpipe link set`.
pub(super) fn set(changes: &Changes) -> Result<ExitCode, Error> {
    let both = changes.settings.as_ref().or(changes.both.as_ref());
    let question = json!({ "both": both, "down": changes.down, "up": changes.up });
    ask(&changes.which, &format!("set {question}")).map(|_| ExitCode::SUCCESS)
}

fn ask(which: &Which, question: &str) -> Result<String, Error> {
    let answer = which.find()?.ask(question)?;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    match answer.strip_prefix(FAILED) {
        Some(why) => Err(Error::Refused(why.trim().to_owned())),
        None => Ok(answer),
    }
}

impl Which {
    fn find(&self) -> Result<RunningLink, Error> {
        let mut running = links::running();
        let names: Vec<String> =
            running.iter().map(|link| format!("{} (process {})", link.name, link.pid)).collect();
        if let Some(wanted) = &self.link {
            running.retain(|link| link.name == *wanted || link.pid.to_string() == *wanted);
        }
        match (running.len(), &self.link) {
            (1, _) => Ok(running.remove(0)),
            (0, None) => Err(Error::NoneRuns),
            (0, Some(wanted)) => Err(Error::NotRunning(wanted.clone(), names.join(", "))),
            _ => Err(Error::SeveralRun(names.join(", "))),
        }
    }
}

/// A link that answers.
pub(super) struct Answering {
    pub(super) client: LinkClient,
    /// What it was begun with; none of a scenario's.
    pub(super) settings: Option<LinkSettings>,
    pub(super) seed: u64,
    pub(super) name: String,
    /// What the emulator's directions are called.
    pub(super) directions: [String; 2],
    /// Which each of them is.
    pub(super) order: [Directions; 2],
    pub(super) before: Option<ProcessorTimes>,
}

impl Answering {
    /// Answers until the server is dropped. A link that cannot be asked runs all the same.
    pub(super) fn serve(mut self) -> Option<Server> {
        let name = self.name.clone();
        links::serve(&name, move |line| Some(self.answer(line)))
            .inspect_err(|error| tracing::warn!("this link cannot be asked: {error}"))
            .ok()
    }

    fn answer(&mut self, line: &str) -> Vec<u8> {
        let answer = match line.split_once(' ').unwrap_or((line, "")) {
            ("show", format) => {
                self.client.ask(LinkQuestion::Show).map_err(|error| error.to_string()).and_then(
                    |state| self.shown(&state, format == "json").map_err(|error| error.to_string()),
                )
            }
            ("set", changes) => self.set(changes).map(|()| "ok\n".to_owned()),
            _ => Err("unknown question".to_owned()),
        };
        answer.unwrap_or_else(|why| format!("{FAILED}{why}\n")).into_bytes()
    }

    fn shown(&self, state: &LinkState, as_json: bool) -> io::Result<String> {
        let now = ProcessorTimes::now();
        let steal = now.zip(self.before).map(|(now, before)| now.stolen_since(before));
        let report = Report { summary: &state.summary, names: &self.directions, steal };
        let uptime = state.uptime.as_secs_f64();
        if as_json {
            let count = |count: Count| json!({ "packets": count.packets, "bytes": count.bytes });
            let mut object = report.json();
            object["name"] = json!(self.name);
            object["pid"] = json!(std::process::id());
            object["uptime_s"] = json!(uptime);
            for side in 0..2 {
                object["directions"][side]["queued"] = count(state.queued[side]);
                object["directions"][side]["inside"] = count(state.inside[side]);
            }
            return Ok(format!("{object}\n"));
        }
        let mut text =
            format!("{} (process {}), for {uptime:.1} s\n", self.name, std::process::id());
        for (side, name) in self.directions.iter().enumerate() {
            let (queued, inside) = (state.queued[side], state.inside[side]);
            let _ = writeln!(
                text,
                "{name}: {} packets ({} bytes) in the queue, {} ({} bytes) on the way",
                queued.packets,
                queued.bytes,
                inside.packets - queued.packets,
                inside.bytes - queued.bytes,
            );
        }
        let mut out = text.into_bytes();
        report.print(false, &mut out)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// Changes the link, or says why not.
    fn set(&mut self, changes: &str) -> Result<(), String> {
        let said: Value = serde_json::from_str(changes).map_err(|error| error.to_string())?;
        let settings =
            self.settings.as_ref().ok_or("a scenario's link is what the scenario says")?;
        let text = |key: &str| said[key].as_str();
        let request = ChangeRequest { both: text("both"), down: text("down"), up: text("up") };
        let LinkChange { settings, directions } =
            changes::read(settings, &request, self.order, self.seed)
                .map_err(|error| error.to_string())?;
        self.client
            .ask(LinkQuestion::Change(Box::new(directions)))
            .map_err(|error| error.to_string())?;
        self.settings = Some(settings);
        tracing::info!(changes = %said, "the link was changed");
        Ok(())
    }
}
