//! The life of a running gateway.
//!
//! Everything is set up, connections are split until a signal comes, and all is taken away.

use super::answers;
use super::condition::Condition;
use super::interfaces::{self, names, surroundings_of};
use super::reload::{self, LastReload};
use super::{Arguments, Error, config, diversion, panics, report};
use crate::bump::{self, BumpConfig, BumpError, Monitor};
use crate::gateway::LiveGateway;
use crate::invocation;
use crate::link_memory::LinkMemory;
use crate::session_records::{SessionRecordFile, SessionRecordFileError};
use crate::watchdog::Watchdog;
use bentpipe_linux::bpf::Attachment;
use bentpipe_linux::instance::{Instance, InstanceError};
use bentpipe_linux::older::remove_older_gateways;
use bentpipe_linux::privileges;
use bentpipe_linux::service_manager::ServiceManager;
use bentpipe_linux::signals::{self, Signals};
use bentpipe_linux::tun::{Offload, TunError};
use bentpipe_terminal::outputs::Outputs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

/// How long a predecessor's watchdog may take to remove what that left.
const CLEARING: Duration = Duration::from_secs(2);

/// Connections whose packets are taken beside those that are split: forwarded ones that may be
/// split later, and those of a flood of SYNs until they are let go.
const OTHERS: usize = 65_536;

/// Splits connections, as the file at `path` says, until a signal comes.
pub(super) fn run(
    path: &Path,
    arguments: &Arguments,
    outputs: &mut Outputs,
) -> Result<ExitCode, Error> {
    let mut file = config::read(path)?;
    let (service, tuns) = (invocation::service(), invocation::tuns());
    panics::log();
    signals::dump_core_upon_second_quit()?;
    let signals = Signals::catch_all()?;
    let manager = ServiceManager::of_environment();
    if !arguments.wait {
        interfaces::all(&file)?;
    }
    let instance = Instance::lock_within(&service, CLEARING).map_err(|error| match error {
        InstanceError::Running(name) => Error::Second(name, invocation::command()),
        error => error.into(),
    })?;
    if !arguments.wait {
        interfaces::all(&file)?;
    } else if !interfaces::wait(path, &mut file, &signals, &manager)? {
        return Ok(ExitCode::SUCCESS);
    }
    let (lan, satellite) = (names(&file.lan), names(&file.satellite));
    let observes = file.config.policy.observe;
    let surroundings = surroundings_of(&lan, &satellite);
    let mut config = file.config.clone();
    [config.lan.mtu, config.satellite.mtu] = surroundings.mtus()?;
    for left in remove_older_gateways() {
        tracing::warn!("removed, as an older version had left it: {left}");
    }
    let set_up = bump::set_up(&BumpConfig {
        service: service.clone(),
        devices: satellite.clone(),
        lan: Some(lan.clone()),
        tuns,
        offload: Offload::Tcp,
        connections: (config.max_flows + OTHERS) as u32,
        attachment: Attachment::of_this_kernel(),
        reject_quic: file.reject_quic,
    });
    let (wire, table, tuns) = set_up.map_err(|error| match error {
        BumpError::Tun(TunError::Busy(device)) => Error::Another(device),
        error => error.into(),
    })?;
    let soft_state = config.soft_state;
    let mut gateway = LiveGateway::new(tuns, config)?;
    gateway.takes(Arc::clone(&table));
    let left = SessionRecordFile::of(&service)?;
    recall(&mut gateway, &left);
    if let Some(memory) = LinkMemory::of(&service) {
        gateway.remembers_links_in(memory);
    }
    gateway.log_every(file.log_every);
    let diversion = bump::DiversionState::default();
    let reload = LastReload::default();
    let lost = Arc::new(outputs.lost());
    let condition = Condition { diversion: diversion.clone(), lost, reload };
    let client = gateway.control_client();
    let servers = answers::serve(&client, file.metrics, &condition, surroundings.clone())?;
    // Here, as the servers have what they listen on, and see to their threads' privileges
    // themselves, as the log's thread does; all other threads and processes are still to come.
    privileges::give_up_as_gateway()?;
    let (drain, client, last) = (file.drain, gateway.control_client(), condition.reload);
    gateway.reloaded_by(reload::begin(path.to_owned(), file, client, last)?);
    let mut command = Command::new(std::env::current_exe()?);
    command.args(invocation::arguments("watchdog"));
    gateway.watched_by(Watchdog::start(command, table.vouching())?);
    let (monitor, device_events) = Monitor::start(wire, surroundings, diversion.clone())?;
    gateway.listen_to(device_events);
    let does = if observes { "observes" } else { "splits" };
    tracing::info!("{does} connections between {} and {}", lan.join(", "), satellite.join(", "));
    diversion::log(&diversion);
    gateway.begin();
    gateway.reports_to(manager);
    outputs.print(&format!("{}: ready\n", invocation::command()))?;
    let result = panics::ends_with(|| gateway.run(&signals, drain));
    // Before anything that may take its time: nothing is taken any more, and what was goes on.
    if table.vouching().retract().is_ok() {
        gateway.empty();
    }
    match gateway.restarts() {
        true => monitor.end_for_successor(),
        false => drop(monitor),
    }
    gateway.keep_links();
    if soft_state && result.is_ok() {
        leave(&gateway, &left);
    }
    let report = report::Report { totals: gateway.totals() };
    // Those who still wait for an answer are told that there will be none; and our name is free
    // before the lock is, so that the next gateway has it.
    drop((gateway, servers, instance));
    outputs.print(&if arguments.json {
        format!("{}\n", report.json())
    } else {
        report.to_string()
    })?;
    result?;
    Ok(ExitCode::SUCCESS)
}

/// Knows from now on what another gateway has left. It is taken away even where nobody wants to
/// know.
fn recall(gateway: &mut LiveGateway, left: &SessionRecordFile) {
    match left.take() {
        Ok(records) if records.is_empty() => {}
        Ok(records) => {
            tracing::info!(connections = records.len(), "another gateway has left them");
            gateway.recall(&records);
        }
        // As after any long stop: they are forwarded for good.
        Err(error @ SessionRecordFileError::Old(_)) => {
            tracing::info!(%error, "what another gateway has left is not used");
        }
        Err(error) => tracing::warn!(%error, "what another gateway has left is not used"),
    }
}

/// Leaves the connections that have been handed back to the next gateway.
fn leave(gateway: &LiveGateway, left: &SessionRecordFile) {
    if let Err(error) = left.leave(gateway.records()) {
        let path = left.path().display();
        tracing::warn!(%error, %path, "cannot be written: the next gateway does not split these connections again");
    }
}
