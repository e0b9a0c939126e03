//! A run on a testbed of its own, which is gone afterwards.

use crate::flows::{PlayError, Progress};
use crate::network::{self, GatewayProgram, Network, NetworkError, Request};
use crate::plan::LivePoint;
use crate::play::{self, Run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};

/// A run, and the testbed that it was made on.
pub struct EphemeralRun {
    /// What it has given.
    pub run: Run,
    /// The packets of the link that was recorded; the file goes with the testbed.
    pub capture: Option<PathBuf>,
    /// What our gateways' logs have beside their beginning, each line behind `; ` and the gateway's
    /// name.
    pub said: String,
    /// Stands until this is dropped.
    pub testbed: EphemeralTestbed,
}

/// A testbed that is taken down with this value. Fields are dropped in their order: `down` takes
/// the lock that the network holds.
pub struct EphemeralTestbed {
    network: Network,
    _down: Down,
}

/// The name of the testbed of worker number `worker` of this command.
pub fn name(command: &str, worker: usize) -> String {
    format!("{command}-{}-{worker}", process::id())
}

/// Takes down what is left of testbeds with such [names](name) whose commands were killed.
pub fn remove_leftovers(command: &str) {
    for name in network::names().unwrap_or_default() {
        let worker = name.strip_prefix(command).and_then(|rest| rest.strip_prefix('-'));
        let process = worker.and_then(|rest| rest.split('-').next());
        let gone = process.is_some_and(|pid| !Path::new("/proc").join(pid).exists());
        if gone && network::down(&name).is_err() {
            tracing::warn!(name, "what is left of it cannot be taken down");
        }
    }
}

/// Takes the testbed of this name down.
struct Down(String);

impl Drop for Down {
    fn drop(&mut self) {
        let _ = network::down(&self.0);
    }
}

impl EphemeralTestbed {
    /// Brings up the testbed that `request` describes, as `live` is at its beginning.
    ///
    /// # Errors
    /// [`PlayError`].
    pub fn up(
        request: &Request<'_>,
        live: &LivePoint,
        stop: &AtomicBool,
    ) -> Result<EphemeralTestbed, PlayError> {
        let network = match Network::up(request, &live.stack, &live.gateways, stop) {
            Err(NetworkError::Interrupted) => return Err(PlayError::Cancelled),
            other => other?,
        };
        Ok(EphemeralTestbed { network, _down: Down(request.name.to_owned()) })
    }

    /// Makes run `run` of a point on it, as [`play::run`] does.
    ///
    /// # Errors
    /// [`PlayError`].
    pub fn run(
        &mut self,
        live: &LivePoint,
        run: u32,
        record: Option<usize>,
        go_on: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Run, PlayError> {
        play::run(&mut self.network, live, run, record, go_on)
    }
}

/// Brings up the testbed that `request` describes for a point, and makes run `run` on it. The
/// packets of the link `record` are recorded, if there is one.
///
/// # Errors
/// [`PlayError`]; the testbed is taken down.
pub fn run(
    request: &Request<'_>,
    live: &LivePoint,
    run: u32,
    record: Option<usize>,
    stop: &AtomicBool,
) -> Result<EphemeralRun, PlayError> {
    let mut testbed = EphemeralTestbed::up(request, live, stop)?;
    let mut go_on = |_: Progress| !stop.load(Ordering::Relaxed);
    let run = testbed.run(live, run, record, &mut go_on)?;
    let network = &testbed.network;
    let capture = record.map(|link| network.folder().capture(link));
    let said = said(network, live);
    Ok(EphemeralRun { run, capture, said, testbed })
}

/// What our gateways' logs have beside their beginning.
fn said(network: &Network, live: &LivePoint) -> String {
    let mut text = String::new();
    let ours = |program: &GatewayProgram| matches!(program, GatewayProgram::Bentpipe(_));
    for (node, _) in live.gateways.iter().filter(|(_, program)| ours(program)) {
        let name = &live.point.scenario.nodes[*node].name;
        let log = network.folder().log(&format!("gateway {name}"));
        let log = fs::read_to_string(log).unwrap_or_default();
        for line in log.lines().filter(|line| !line.starts_with("bentpipe gateway: ready")) {
            text.push_str(&format!("; {name}: {line}"));
        }
    }
    text
}
