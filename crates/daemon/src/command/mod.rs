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
mod running;
mod switch;
mod top;
mod why;

use answers::Topic;

use crate::bump::BumpError;
use crate::control::Turn;
use crate::invocation::{self, InstanceName};
use crate::watchdog::{self, WatchError};
use bentpipe_linux::instance::InstanceError;
use bentpipe_linux::interface::InterfaceError;
use bentpipe_linux::poll::LoopError;
use bentpipe_linux::privileges::PrivilegeError;
use bentpipe_linux::serve::{ClientError, ServeError};
use bentpipe_terminal::outputs::Outputs;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
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
        /// The gateway's own state
        stat: i32,
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
         another user (`bentpipe-gateway status` asks the service): stop it, or give this one a --name and interfaces of \
         its own"
    )]
    Another(String),
    /// One runs already.
    #[error(
        "another {0} already runs in this network namespace (`{1} status` asks it): stop it, or give this one a --name \
         and interfaces of its own"
    )]
    Second(String, &'static str),
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

/// The exit code where the file is wrong, or the kernel too old, lest a service manager tries it
/// again: `EX_CONFIG` of sysexits(3).
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
        (Some(Asked::Watchdog { vouching, stat }), _) => {
            panics::log();
            watchdog::watch(&invocation::service(), *vouching, *stat)?;
            return Ok(ExitCode::SUCCESS);
        }
        (None, Some(path)) => {
            let result = running::run(path, arguments, outputs);
            return match result {
                Err(error @ (Error::Config(_) | Error::Bump(BumpError::OldKernel { .. }))) => {
                    Ok(outputs.fail(&error, WRONG_CONFIGURATION))
                }
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
