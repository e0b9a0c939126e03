//! The gateway's command line, in `bentpipe gateway` and in `bentpipe-gateway`.

mod answers;
mod benefit;
mod check;
mod condition;
mod config;
mod diversion;
mod flows;
mod hints;
mod inquiry;
mod interfaces;
mod panics;
mod passed;
mod prometheus;
mod reasons;
mod record;
mod reload;
mod report;
mod switch;
mod top;
mod why;

use answers::Topic;
use condition::Condition;
use reload::LastReload;

use crate::bump::{self, BumpConfig, BumpError, Monitor};
use crate::control::Turn;
use crate::gateway::LiveGateway;
use crate::invocation::{self, InstanceName};
use crate::session_records::{SessionRecordFile, SessionRecordFileError};
use crate::watchdog::{self, WatchError, Watchdog};
use bentpipe_config::gateway::Interface;
use bentpipe_linux::bpf::Attachment;
use bentpipe_linux::instance::{Instance, InstanceError};
use bentpipe_linux::interface::InterfaceError;
use bentpipe_linux::older::remove_older_gateways;
use bentpipe_linux::poll::LoopError;
use bentpipe_linux::privileges::{self, PrivilegeError};
use bentpipe_linux::serve::{ClientError, ServeError};
use bentpipe_linux::service_manager::ServiceManager;
use bentpipe_linux::signals::{self, Signals};
use bentpipe_linux::surroundings::{Side, Surroundings};
use bentpipe_linux::tun::{Offload, TunError};
use bentpipe_terminal::outputs::Outputs;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

/// Splits the TCP connections that this host forwards between its LAN and a satellite link.
///
/// Runs in the foreground. It prints `bentpipe gateway: ready` once connections are split. Ctrl-C,
/// Ctrl-\ or SIGTERM ends it: it splits nothing more, hands connections back to the kernel,
/// delivers what it holds and prints a summary; a second signal ends it at once (a second Ctrl-\ by
/// a core dump). The devices and programs that it has set up are gone then. If it is killed, the
/// host forwards as if it had never been there.
///
/// Connections are taken where they leave this host by the satellite's interface or come in there,
/// behind its routing, NAT and firewall or before it. None of these need be changed.
///
/// SIGHUP reads the file again: policy (but for reject-quic), limits, satellite, lan and log
/// change, and no connection is touched. A file that is wrong, or that changes anything else,
/// changes nothing. All other signals are ignored.
///
/// RUST_LOG=debug tells of every flow. The gateway waits for nobody who reads its log: what cannot
/// be written is left out and counted.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_long_help = help())]
pub struct Arguments {
    /// The configuration (TOML)
    #[arg(long, value_name = "FILE", required = true)]
    config: Option<PathBuf>,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
    /// Wait for interfaces that are not there yet, instead of failing
    #[arg(long)]
    wait: bool,
    /// Which of several gateways in this network namespace, each with a satellite interface of its
    /// own
    #[arg(long, value_name = "NAME", global = true)]
    name: Option<InstanceName>,
    #[command(subcommand)]
    asked: Option<Asked>,
}

/// The examples, one of which has every key of the file.
fn help() -> String {
    let file = bentpipe_config::gateway::example();
    let indented = |line: &str| if line.is_empty() { "\n".into() } else { format!("    {line}\n") };
    let file: String = file.lines().map(indented).collect();
    format!(
        "Example:\n  bentpipe gateway --config gateway.toml\n\n  with gateway.toml:\n{file}\n  \
         bentpipe gateway flows    # in the same network namespace, as root\n"
    )
}

/// What a running gateway is asked.
#[derive(clap::Subcommand)]
enum Asked {
    /// Show the flows of the gateway that runs here, each with its two legs
    ///
    /// "here" is this network namespace; only root is answered. A line is a leg: "leg to" the side
    /// of its host, the smoothed round-trip time and its variation, bytes in flight, bytes that
    /// wait for an acknowledgment of that host or for being sent ("backlog"), segments
    /// retransmitted, bytes delivered, and these over the flow's age ("goodput").
    Flows {
        /// The connections that were not split instead, the last 64 of each reason
        #[arg(long)]
        forwarded: bool,
        /// As JSON, with all figures
        #[arg(long)]
        json: bool,
    },
    /// Say why a connection is split or not, or would be
    ///
    /// It tells the interfaces and the rule of policy routing by which packets go in both
    /// directions, also with each mark that such a rule knows. It tells what the policy and the
    /// limits of the gateway that runs here make of the connection, and what became of it before.
    #[command(after_help = "\
Examples:
  bentpipe gateway why 10.0.0.7 192.0.2.9 443
  bentpipe gateway why f12")]
    Why(why::Arguments),
    /// Split from now on where the gateway that runs here only observes
    ///
    /// It does so until it ends or reads its file again, or until `bentpipe gateway disable`.
    /// Refused where it splits already and is to do so on trial.
    #[command(after_help = "\
Examples:
  bentpipe gateway enable --try 5min   # back to observing after five minutes, unless ...
  bentpipe gateway enable              # ... this confirms it")]
    Enable {
        /// Go back to observing after so long, unless `bentpipe gateway enable` has confirmed it
        #[arg(long = "try", value_name = "SPAN", value_parser = switch::parse_trial)]
        trial: Option<Duration>,
    },
    /// Split nothing from now on and observe; connections that are split go on unsplit
    #[command(after_help = "Example:\n  bentpipe gateway disable")]
    Disable,
    /// Record what the gateway that runs here receives and sends, and why
    ///
    /// Both legs are in one file: as packets with their causes (`.pcapng`, an interface for each
    /// side; Wireshark reads it), or as events with limiters, windows and timers (`.qlog`). Only
    /// root is answered. Ctrl-C ends it early; the file is complete then, too. The gateway never
    /// waits for the file: what cannot be written fast enough is counted and left out.
    #[command(after_help = "\
Examples:
  bentpipe gateway record -o now.pcapng
  bentpipe gateway record --flow 'host 10.0.0.7 and port 443' --for 10min --max-bytes 1GB -o slow.qlog")]
    Record(record::Arguments),
    /// Say what on this host would keep a gateway from splitting, and what to do about it; change
    /// nothing
    ///
    /// A line for each thing that is found, with its remedy: what keeps a gateway from starting,
    /// what keeps it from splitting (it starts and waits until that is gone), and advice. The exit
    /// code is 0 if a gateway would split.
    #[command(after_help = "\
Examples:
  bentpipe gateway check gateway.toml   # of a gateway that is to run here
  bentpipe gateway check                # of the one that runs")]
    Check(check::Arguments),
    /// Show live what crosses the gateway that runs here, and what holds it back
    ///
    /// Views, by Tab or 1 to 4: flows, subscribers, remotes, and what was not split. Above them is
    /// the link: its rates, its queue, what was retransmitted, and what limits its flows. `?` says
    /// what keys do and columns mean. It takes a terminal of 80 x 24, also over ssh. Only root is
    /// answered.
    #[command(after_help = "\
Examples:
  bentpipe gateway top                 # q ends it
  bentpipe gateway top --once          # one look as text
  bentpipe gateway top --once --json | jq '.flows[] | [.server, .legs.client.rate_bps]'")]
    Top(top::Arguments),
    /// Watch over the gateway that has started this process
    #[command(hide = true)]
    Watchdog {
        /// The descriptor by which it takes back what the gateway has vouched for
        vouching: i32,
    },
    /// Show what splitting has gained, by size of transfer, subscriber and service
    ///
    /// Of connections that have ended: sizes, durations, round trips of each leg, retransmissions,
    /// and what they would have taken unsplit: by a model, and by the share of connections that is
    /// left unsplit on purpose (`sample` in `[policy]`).
    #[command(after_help = "\
Examples:
  bentpipe gateway report
  bentpipe gateway report --html report.html")]
    Report {
        /// As JSON, with all services and histograms
        #[arg(long)]
        json: bool,
        /// As a page with figures, in this file
        #[arg(long, value_name = "FILE", conflicts_with = "json")]
        html: Option<PathBuf>,
    },
    /// Show the totals of the gateway that runs here, what it did not split, and how it sees its
    /// link
    Status {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

/// Why `bentpipe gateway` failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] config::ConfigError),
    /// Setting up.
    #[error(transparent)]
    Bump(#[from] BumpError),
    /// Its devices are there, and are nobody's whom the lock knows.
    #[error(
        "an interface named {0} already exists in this network namespace: perhaps another gateway runs here as \
         another user (the service bentpipe-gateway); stop it, or give this one a --name"
    )]
    Another(String),
    /// An interface.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// Running.
    #[error(transparent)]
    Gateway(#[from] LoopError),
    /// Answering questions.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// Giving up privileges.
    #[error(transparent)]
    Privileges(#[from] PrivilegeError),
    /// Watching.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// A place for what is left.
    #[error(transparent)]
    Left(#[from] InstanceError),
    /// Asking.
    #[error(transparent)]
    Ask(#[from] ClientError),
    /// What was asked makes no sense.
    #[error("{0}")]
    Inquiry(String),
    /// Watching it live.
    #[error(transparent)]
    Top(#[from] top::TopError),
    /// Recording.
    #[error(transparent)]
    Record(#[from] record::RecordError),
    /// Signals, descriptors or standard output.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// How long a predecessor's watchdog may take to remove what that left.
const CLEARING: Duration = Duration::from_secs(2);

/// Connections whose packets are taken beside those that are split: forwarded ones that may be
/// split later, and those of a flood of SYNs until they are let go.
const OTHERS: usize = 65_536;

/// The exit code where the file is wrong, lest a service manager tries it again: `EX_CONFIG` of
/// sysexits(3).
const WRONG_CONFIGURATION: u8 = 78;

/// Runs a gateway, or asks the one that runs.
pub fn run(arguments: &Arguments, outputs: &mut Outputs) -> Result<ExitCode, Error> {
    invocation::is_for(arguments.name.clone());
    let (topic, json) = match (&arguments.asked, &arguments.config) {
        (Some(Asked::Flows { forwarded: false, json }), _) => (Topic::Flows, *json),
        (Some(Asked::Flows { forwarded: true, json }), _) => (Topic::Unsplit, *json),
        (Some(Asked::Why(arguments)), _) => return why::run(arguments),
        (Some(Asked::Enable { trial }), _) => return switch::run(Turn::Split(*trial)),
        (Some(Asked::Disable), _) => return switch::run(Turn::Observe),
        (Some(Asked::Status { json }), _) => (Topic::Status, *json),
        (Some(Asked::Report { html: Some(file), .. }), _) => {
            fs::write(file, answers::ask(Topic::ReportPage, false)?)
                .map_err(|error| Error::Inquiry(format!("{}: {error}", file.display())))?;
            return Ok(ExitCode::SUCCESS);
        }
        (Some(Asked::Report { html: None, json }), _) => (Topic::Report, *json),
        (Some(Asked::Record(arguments)), _) => return record::run(arguments),
        (Some(Asked::Check(arguments)), _) => return check::run(arguments),
        (Some(Asked::Top(arguments)), _) => return Ok(top::run(arguments, ask_for_top)?),
        (Some(Asked::Watchdog { vouching }), _) => {
            panics::log();
            watchdog::watch(&invocation::service(), *vouching)?;
            return Ok(ExitCode::SUCCESS);
        }
        (None, Some(path)) => {
            let result = split(path, arguments, outputs);
            return match result {
                Err(error @ Error::Config(_)) => Ok(outputs.fail(&error, WRONG_CONFIGURATION)),
                result => result,
            };
        }
        (None, None) => unreachable!("clap asks for the one or the other"),
    };
    answers::show(&String::from_utf8_lossy(&answers::ask(topic, json)?))?;
    Ok(ExitCode::SUCCESS)
}

/// Asks the gateway what `top` shows.
fn ask_for_top(question: top::Question) -> Result<Vec<u8>, ClientError> {
    let topic = match question {
        top::Question::Status => Topic::Status,
        top::Question::Flows => Topic::Flows,
        top::Question::Unsplit => Topic::Unsplit,
    };
    answers::ask(topic, true)
}

/// Splits connections until a signal comes.
fn split(path: &Path, arguments: &Arguments, outputs: &mut Outputs) -> Result<ExitCode, Error> {
    let mut file = config::read(path)?;
    let (service, tuns) = (invocation::service(), invocation::tuns());
    panics::log();
    signals::dump_core_upon_second_quit()?;
    let signals = Signals::catch_all()?;
    let manager = ServiceManager::of_environment();
    if !arguments.wait {
        interfaces::all(&file)?;
    }
    let instance = Instance::lock_within(&service, CLEARING)?;
    let there = match arguments.wait {
        true => interfaces::wait(path, &mut file, &signals, &manager)?,
        false => Some(interfaces::all(&file)?),
    };
    let Some(there) = there else { return Ok(ExitCode::SUCCESS) };
    let (lan, satellite) = (names(&file.lan), names(&file.satellite));
    let observes = file.config.policy.observe;
    let surroundings = surroundings_of(&lan, &satellite);
    let mut config = file.config.clone();
    [config.lan.mtu, config.satellite.mtu] = there.mtus(&file)?;
    for left in remove_older_gateways() {
        tracing::warn!("removed, as an older version had left it: {left}");
    }
    let set_up = bump::set_up(&BumpConfig {
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
    drop(monitor);
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

fn names(side: &[Interface]) -> Vec<String> {
    side.iter().map(|interface| interface.name.clone()).collect()
}

fn surroundings_of(lan: &[String], satellite: &[String]) -> Surroundings {
    let side = |interfaces: &[String], tun: &str| Side {
        interfaces: interfaces.to_vec(),
        tun: tun.into(),
    };
    let [inner, outer] = invocation::tuns();
    Surroundings::of([side(lan, &inner), side(satellite, &outer)])
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
        tracing::warn!(%error, "nothing is left to the next gateway");
    }
}
