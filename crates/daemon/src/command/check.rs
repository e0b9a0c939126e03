//! `check`: what on this host would keep a gateway from starting or from splitting, and what to do
//! about it. It changes nothing.

use super::answers::Topic;
use super::interfaces::{names, surroundings_of};
use super::{Error, answers, config, reasons};
use crate::bump::{self, DiversionState};
use crate::invocation;
use bentpipe_gateway::Reason;
use bentpipe_linux::clock;
use bentpipe_linux::interface::{self, InterfaceError, check_forwarding};
use bentpipe_linux::interface_lock::{Holder, InterfaceLock, InterfaceLockError};
use bentpipe_linux::kernel_version::KernelVersion;
use bentpipe_linux::surroundings::Finding;
use bentpipe_linux::tun;
use nix::net::if_::if_nametoindex;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What is to be checked.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The configuration (TOML) of the gateway that is to run here; without it, the one that runs
    /// is asked
    #[arg(value_name = "FILE")]
    config: Option<PathBuf>,
    /// This host alone, before there is a configuration: what it lacks, and which interfaces it has
    #[arg(long, conflicts_with = "config")]
    host: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// What something means for a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// It does not start.
    Stops,
    /// It splits nothing.
    Sleeps,
    /// It splits.
    Advice,
}

impl Effect {
    fn name(self) -> &'static str {
        match self {
            Effect::Stops => "does-not-start",
            Effect::Sleeps => "splits-nothing",
            Effect::Advice => "advice",
        }
    }
}

/// Something that was found.
#[derive(Debug)]
struct Problem {
    name: &'static str,
    effect: Effect,
    cause: String,
    remedy: Option<String>,
    /// In one line, with the remedy.
    line: String,
}

impl Problem {
    /// What says its remedy in its own words.
    fn stops(name: &'static str, error: &impl ToString) -> Problem {
        let line = error.to_string();
        Problem { name, effect: Effect::Stops, cause: line.clone(), remedy: None, line }
    }

    /// It splits all the same.
    fn advice(name: &'static str, cause: &str, remedy: &str) -> Problem {
        Problem {
            name,
            effect: Effect::Advice,
            cause: cause.to_owned(),
            remedy: Some(remedy.to_owned()),
            line: format!("{cause}: {remedy}"),
        }
    }

    fn json(&self) -> Value {
        let Problem { name, effect, cause, remedy, line } = self;
        let effect = effect.name();
        json!({ "name": name, "effect": effect, "cause": cause, "remedy": remedy, "line": line })
    }
}

impl From<Finding> for Problem {
    fn from(finding: Finding) -> Problem {
        Problem {
            name: finding.name(),
            effect: if finding.forbids_diversion() { Effect::Sleeps } else { Effect::Advice },
            cause: finding.cause(),
            remedy: finding.remedy(),
            line: finding.to_string(),
        }
    }
}

/// Checks this host for the gateway of a file, or asks the one that runs. The exit code is that of
/// failure if it would not split.
pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let found = match &arguments.config {
        Some(path) => json(&problems(path)?),
        None if arguments.host => of_host(),
        None => serde_json::from_slice(&answers::ask(Topic::Findings, true)?).unwrap_or_default(),
    };
    let text = if arguments.json { format!("{found}\n") } else { in_words(&found) };
    answers::show(&text)?;
    let splits = found["splits"] == true;
    Ok(if splits { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What a gateway that runs answers to that: what is in its way, and whether it is told to split.
pub(super) fn of_running(diversion: &DiversionState, observes: bool) -> String {
    let mut problems: Vec<Problem> = diversion.findings().into_iter().map(Problem::from).collect();
    if observes {
        let cause = reasons::cause(Reason::Observed).to_owned();
        let remedy = reasons::remedy(Reason::Observed);
        let line = format!("{cause}; {}", remedy.as_deref().unwrap_or_default());
        problems.push(Problem { name: "observes", effect: Effect::Sleeps, cause, remedy, line });
    }
    format!("{}\n", json(&problems))
}

/// For machines.
fn json(problems: &[Problem]) -> Value {
    let splits = problems.iter().all(|problem| problem.effect == Effect::Advice);
    json!({ "splits": splits, "problems": problems.iter().map(Problem::json).collect::<Vec<_>>() })
}

/// The same for people.
fn in_words(found: &Value) -> String {
    let problems = found["problems"].as_array().map(Vec::as_slice).unwrap_or_default();
    let last = match (found["splits"] == true, problems.is_empty()) {
        (true, _) if found["interfaces"].is_array() => "a gateway can run here\n",
        (true, true) => "nothing is in the way: a gateway splits here\n",
        (true, false) => "a gateway splits here\n",
        (false, _) => "a gateway splits nothing here\n",
    };
    let word = |of: &Value, key: &str| of[key].as_str().unwrap_or("?").to_owned();
    let line =
        |it: &Value| format!("{}: {}\n", word(it, "effect").replace('-', " "), word(it, "line"));
    let interfaces = found["interfaces"].as_array().map(Vec::as_slice).unwrap_or_default();
    let named = |it: &Value| {
        let route = if it["default_route"] == true { " (default route)" } else { "" };
        word(it, "name") + route
    };
    let named = match interfaces {
        [] => String::new(),
        all => format!("interfaces: {}\n", all.iter().map(named).collect::<Vec<_>>().join(", ")),
    };
    problems.iter().map(line).chain([named, last.to_owned()]).collect()
}

/// The same of a host of which nobody has said yet which interfaces are meant.
fn of_host() -> Value {
    let mut problems = without_interfaces();
    let mut interfaces = interface::list();
    let forwards = fs::read_to_string("/proc/sys/net/ipv4/ip_forward");
    if forwards.is_ok_and(|text| text.trim() == "0") {
        let cause = "this host does not forward IPv4".to_owned();
        let remedy = Some("sysctl -w net.ipv4.ip_forward=1".to_owned());
        let line =
            "this host does not forward IPv4: run `sysctl -w net.ipv4.ip_forward=1`".to_owned();
        problems.push(Problem { name: "forwarding", effect: Effect::Stops, cause, remedy, line });
    }
    interfaces.sort_by_key(|interface| !interface.has_default_route);
    let mut found = json(&problems);
    found["interfaces"] = interfaces
        .iter()
        .map(|it| json!({ "name": it.name, "default_route": it.has_default_route }))
        .collect();
    found
}

/// What a gateway takes of any host.
fn without_interfaces() -> Vec<Problem> {
    let tun = tun::try_it().err().map(|error| Problem::stops("tun", &error));
    let programs = bump::try_it().err().map(|error| Problem::stops("programs", &error));
    let kernel = match &programs {
        // That says so.
        Some(_) => None,
        None => old_kernel(KernelVersion::running()),
    };
    tun.into_iter().chain(programs).chain(kernel).collect()
}

/// A kernel on which no gateway was tried, and that takes its programs: its distribution may have
/// brought there what they need.
fn old_kernel(running: KernelVersion) -> Option<Problem> {
    let line = bump::too_old(running);
    let (cause, remedy) = line.split_once(": ")?;
    (running < bump::OLDEST).then(|| Problem::advice("kernel", cause, remedy))
}

/// The file has a secret: all users may read it?
fn open_secret(path: &Path) -> Option<Problem> {
    let mode = fs::metadata(path).ok()?.permissions().mode();
    let cause = format!("every user may read {}, which has the pair-key", path.display());
    let remedy = format!("chgrp bentpipe {0}; chmod 640 {0}", path.display());
    (mode & 0o004 != 0).then(|| Problem::advice("open-secret", &cause, &remedy))
}

/// Pairs that share a carrier go by the wall clock, which something keeps right or not.
fn loose_clock(is_kept_right: Option<bool>) -> Option<Problem> {
    let cause = "nothing keeps the wall clock right, by which pairs with `shared-carrier` go";
    let remedy = "let NTP set it (chrony, systemd-timesyncd, or the router's own client)";
    (is_kept_right == Some(false)).then(|| Problem::advice("clock", cause, remedy))
}

/// Another gateway takes packets at the interface already.
fn held(device: &str, holder: impl FnOnce(u32) -> Option<Holder>) -> Option<InterfaceLockError> {
    let holder = holder(if_nametoindex(device).ok()?)?;
    let device = device.to_owned();
    (!holder.is(&invocation::service())).then_some(InterfaceLockError::Held { device, holder })
}

fn problems(path: &Path) -> Result<Vec<Problem>, Error> {
    let file = config::read(path)?;
    let (lan, satellite) = (names(&file.lan), names(&file.satellite));
    let mut problems = Vec::new();
    let mut all_there = true;
    for name in [&lan[..], &satellite].concat() {
        if let Err(error) = check_forwarding(&[name]) {
            all_there &= !matches!(error, InterfaceError::Unknown(_));
            problems.push(Problem::stops("interface", &error));
        }
    }
    problems.extend(without_interfaces());
    problems.extend(file.config.pair_key.and_then(|_| open_secret(path)));
    if file.config.satellite.shared_carrier {
        problems.extend(loose_clock(clock::is_kept_right()));
    }
    if all_there {
        let devices = satellite.iter().filter_map(|device| bump::check_device(device).err());
        problems.extend(devices.map(|error| Problem::stops("device", &error)));
        let held = satellite.iter().filter_map(|device| held(device, InterfaceLock::holder));
        problems.extend(held.map(|error| Problem::stops("held", &error)));
        let findings = surroundings_of(&lan, &satellite).findings();
        // What keeps it from starting has been said.
        let said = |finding: &Finding| matches!(finding, Finding::Forwarding { .. });
        problems.extend(findings.into_iter().filter(|it| !said(it)).map(Problem::from));
    }
    Ok(problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_kernel_is_named_with_what_is_to_be_done() {
        let old = old_kernel(KernelVersion(4, 19)).expect("a problem");
        let remedy = "install a newer kernel";
        assert_eq!(old.remedy.as_deref(), Some(remedy));
        assert_eq!(
            old.line,
            format!("this is Linux 4.19, and a gateway takes 5.10 or later: {remedy}")
        );
        assert!(old_kernel(KernelVersion(5, 10)).is_none());
    }

    #[test]
    fn a_clock_that_nothing_keeps_right_is_named() {
        assert!([None, Some(true)].map(loose_clock).iter().all(Option::is_none));
        let line = loose_clock(Some(false)).expect("advice").line;
        assert!(line.contains("shared-carrier") && line.contains("NTP"), "{line}");
    }

    #[test]
    fn a_secret_is_to_be_read_by_its_owner_and_group_alone() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let advice = |mode| {
            file.as_file().set_permissions(fs::Permissions::from_mode(mode)).unwrap();
            open_secret(file.path()).map(|problem| problem.line)
        };
        assert_eq!([0o600, 0o640].map(advice), [None, None]);
        let line = advice(0o644).expect("advice");
        assert!(line.starts_with("every user may read ") && line.contains("chmod 640 "), "{line}");
    }
}
