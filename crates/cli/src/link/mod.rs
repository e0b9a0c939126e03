//! `bentpipe link`: the live link emulator.

mod given;
mod profiles;
mod report;
mod self_test;

use crate::sim;
use bentpipe_net::divert::{Divert, DivertConfig, DivertError, Side};
use bentpipe_net::emulator::{Emulator, Exit};
use bentpipe_net::netns_command::{NetnsCommand, NetnsCommandError};
use bentpipe_net::poll::LoopError;
use bentpipe_net::signals::{Signal, Signals};
use bentpipe_net::steal::ProcessorTimes;
use bentpipe_scenario::{LiveLink, ScenarioError, SettingsError};
use report::Report;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitCode;

/// Emulates a link: one of your settings, a ready-made one, or one of a scenario's.
///
/// With --between it runs on the middle host of a network: every IPv4 and IPv6 packet that this
/// host forwards between the two interfaces crosses the link. It prints `bentpipe link: ready`
/// once traffic does, and a summary when Ctrl-C or SIGTERM ends it; everything it has set up is
/// gone then. If it is killed, the host forwards without the link.
///
/// With a COMMAND behind `--` it runs that command in a network namespace of its own, whose only
/// way out, through this host and masqueraded, is the link. It ends with the command and passes
/// its exit code on. Inside, 198.18.N.1 (on the route out) is this host; a name server on a
/// loopback address of this host cannot be reached.
///
/// "Down" is towards the user: from A to B with --between A,B, from the network to a COMMAND. It is a scenario's
/// direction from the first end to the second; "up" is the other one. Settings are a scenario's keys of a link
/// (docs/scenario-format.md): what is said with --down or --up overrides what is said for both.
///
/// The rate counts IP packet lengths, and what --overhead adds to each. At its end it also says how late it released
/// packets, and warns if one in 100 was late by more than 1 ms.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_long_help = "\
Examples:
  A GEO satellite between two interfaces of this host, one bandwidth-delay product of buffer:
    bentpipe link --between eth1,eth2 --rate 8Mbit/s --delay 250ms

  One program behind a satellite:
    bentpipe link --rate 8Mbit/s --delay 250ms -- curl -o /dev/null http://192.0.2.1/file

  With a packet queue, bit errors, and the counters as JSON:
    bentpipe link --between eth1,eth2 --rate 1.5Mbit/s --delay 275ms \\
        --queue 50packets --bit-errors 1e-7 --seed 7 --json

  Two different directions, with jitter up and a trace down:
    bentpipe link --between eth1,eth2 --delay 270ms --down rate=50Mbit/s,queue=codel,trace=fades.csv \\
        --up 'rate=3Mbit/s,loss=0.1%,jitter={ uniform = [\"0ms\", \"20ms\"] }'

  A ready-made link, and a scenario's, with its orbit and hand-overs:
    bentpipe link --profile geo-consumer --loss 0.1% -- curl -O http://example.org/file
    bentpipe link --scenario leo.toml --link sat --between eth1,eth2
    bentpipe link profiles

  How well does this machine emulate a link?
    bentpipe link --self-test --rate 100Mbit/s --delay 20ms --json

  RED that marks, loss in bursts, and two seconds of nothing in every minute:
    bentpipe link --between eth1,eth2 --rate 8Mbit/s --delay 250ms \\
        --queue red:limit=50packets,ecn=on --loss gilbert-elliott:burst=5,loss=1% \\
        --outages periodic:first=10s,lasting=2s,every=60s
")]
pub(crate) struct Arguments {
    /// The two interfaces of this host between which the link lies
    #[arg(long, value_name = "A,B", value_delimiter = ',', num_args = 1)]
    #[arg(required_unless_present_any = ["command", "self_test"], conflicts_with = "command")]
    between: Vec<String>,
    #[command(flatten)]
    options: Options,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
    /// Exit with 1 if one packet in 100 was released more than 1 ms late
    #[arg(long)]
    strict: bool,
    /// Fill the link (20Mbit/s and 20ms, unless told otherwise) for 5 s in namespaces of its own, and say how well this
    /// machine emulates it
    #[arg(long, conflicts_with_all = ["between", "command"])]
    self_test: bool,
    #[command(subcommand)]
    asked: Option<Asked>,
    /// Run this in a network namespace behind the link
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// What is not the emulation of a link.
#[derive(clap::Subcommand)]
enum Asked {
    /// Show the ready-made links, each with its source
    Profiles {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

/// Which link.
#[derive(clap::Args)]
struct Options {
    /// Bottleneck rate: 8Mbit/s, 512kbit/s; without it, unlimited
    #[arg(long, allow_hyphen_values = true)]
    rate: Option<String>,
    /// One-way propagation delay: 250ms
    #[arg(long, allow_hyphen_values = true)]
    delay: Option<String>,
    /// A ready-made link, such as geo or hybrid-dbs (see `bentpipe link profiles`); what is said besides overrides it
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// From A to B, or from the network to the COMMAND: rate=50Mbit/s,queue=codel
    #[arg(long, value_name = "SETTINGS")]
    down: Option<String>,
    /// From B to A, or from the COMMAND to the network: rate=3Mbit/s,loss=0.1%
    #[arg(long, value_name = "SETTINGS")]
    up: Option<String>,
    /// Both directions, for what has no option of its own: jitter=5ms,duplicate=1%
    #[arg(long, value_name = "SETTINGS")]
    both: Option<String>,
    /// A link of this scenario (a file, or an example's name)
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Which of its links, if it has several
    #[arg(long, value_name = "NAME", requires = "scenario")]
    link: Option<String>,
    /// The longest IP packet: who sends longer ones is told so, as by a router. IPv6 needs 1280B
    #[arg(long, value_name = "BYTES")]
    mtu: Option<String>,
    /// What the link layer adds to each packet on the line: 38B with Ethernet
    #[arg(long, value_name = "BYTES")]
    overhead: Option<String>,
    /// Queue before the bottleneck: 500KB, 64KiB, 345packets, 0.5bdp (of rate × 2 × delay, and at least 15KB);
    /// red:limit=50packets,min-threshold=5,max-threshold=15; codel:target=5ms,interval=100ms;
    /// fq-codel:target=5ms,interval=100ms; pie:target=15ms; policer:rate=8Mbit/s,burst=30KB. A limit alone is that of a
    /// drop-tail queue. Without it, 1bdp, and 1.5MB at least if the delay is 5ms or less
    #[arg(long)]
    queue: Option<String>,
    /// Probability that a packet is lost: 0.01, 1%, 1e-4. Or loss in bursts, after Gilbert and
    /// Elliott: gilbert-elliott:burst=5,loss=1%, gilbert-elliott:good=10s,bad=200ms
    #[arg(long)]
    loss: Option<String>,
    /// Probability that a bit is wrong, which loses its packet: 1e-7
    #[arg(long, value_name = "P")]
    bit_errors: Option<String>,
    /// When nothing arrives: 10s+500ms,60s+2s, or periodic:first=10s,lasting=2s,every=60s
    #[arg(long, value_name = "TIMES")]
    outages: Option<String>,
    /// Seed of all that is random; without it, the scenario's, or 1
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

/// Why `bentpipe link` failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Not two interfaces.
    #[error("--between takes two interfaces separated by a comma, such as `eth1,eth2`")]
    Between,
    /// No link.
    #[error("which link? Give --rate and --delay, --down and --up, --profile or --scenario")]
    NoLink,
    /// Two links.
    #[error("--scenario says all of the link: settings and profiles do not go with it")]
    Both,
    /// Several links.
    #[error("{0} has several links: choose with --link one of {1}")]
    WhichLink(String, String),
    /// No such link.
    #[error("{0} has no link `{1}`: it has {2}")]
    UnknownLink(String, String, String),
    /// Not live.
    #[error("`medium` is simulated only: both directions of a live link send at the same time")]
    Medium,
    /// Not live.
    #[error("`loss-notification` is simulated only: TCP has no option for it")]
    TellsLosses,
    /// A setting.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The scenario's file.
    #[error(transparent)]
    Source(#[from] sim::Error),
    /// What stands in it.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Setting up.
    #[error(transparent)]
    Divert(#[from] DivertError),
    /// Running the command.
    #[error(transparent)]
    NetnsCommand(#[from] NetnsCommandError),
    /// The test of this machine.
    #[error(transparent)]
    SelfTest(#[from] bentpipe_net::self_test::SelfTestError),
    /// Running.
    #[error(transparent)]
    Emulator(#[from] LoopError),
    /// Signals or standard output.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Runs until a signal comes, or the command ends.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    if let Some(Asked::Profiles { json }) = arguments.asked {
        profiles::print(json, &mut io::stdout().lock())?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.self_test {
        return self_test::run(arguments);
    }
    let link = arguments.options.link()?;
    let signals = Signals::catch()?;
    if arguments.command.is_empty() {
        between(arguments, &link, &signals)
    } else {
        around(arguments, &link, &signals)
    }
}

/// The link between two interfaces of this host.
fn between(arguments: &Arguments, link: &LiveLink, signals: &Signals) -> Result<ExitCode, Error> {
    let [a, b] = arguments.between.as_slice() else { return Err(Error::Between) };
    let side = |interface: &String, tun: &str| Side {
        interfaces: vec![interface.clone()],
        tun: tun.into(),
    };
    let mut config = DivertConfig::link([side(a, "bp-link0"), side(b, "bp-link1")]);
    if let Some(mtu) = link.mtu {
        config.mtu = mtu;
        if mtu < 1280 {
            tracing::warn!("IPv6 needs an MTU of 1280 bytes: its packets do not cross the link");
        }
    }
    let (divert, tuns) = Divert::set_up(config)?;
    for finding in divert.findings() {
        tracing::warn!("{finding}");
    }
    let before = ProcessorTimes::now();
    let mut emulator = Emulator::new(tuns, Exit::Same, link.parts());
    println!("bentpipe link: ready");
    io::stdout().flush()?;
    let result = emulator.run(signals, None);
    drop(divert);
    let names = [format!("{a} to {b}"), format!("{b} to {a}")];
    let in_time = arguments.report(&emulator, &names, before, &mut io::stdout().lock())?;
    result?;
    Ok(if in_time { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The link around one command.
fn around(arguments: &Arguments, link: &LiveLink, signals: &Signals) -> Result<ExitCode, Error> {
    let (mut command, tuns) = NetnsCommand::start(&arguments.command, link.mtu)?;
    let before = ProcessorTimes::now();
    // The first device is the command's, and what comes in there goes up.
    let [down, up] = link.parts();
    let mut emulator = Emulator::new(tuns, Exit::Other, [up, down]);
    // Ctrl-C has reached the command as well: whether it ends is its own affair.
    while let Some(signal) = emulator.run(signals, Some(command.ended()))? {
        if signal == Signal::Terminate {
            command.terminate();
        }
    }
    let status = command.wait()?;
    // Standard output belongs to the command.
    let names = ["command to network".to_owned(), "network to command".to_owned()];
    let in_time = arguments.report(&emulator, &names, before, &mut io::stderr().lock())?;
    // A shell's convention for a command that a signal has ended.
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    let code = if code == 0 && !in_time { 1 } else { code };
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)))
}

impl Arguments {
    /// Says what has happened. Whether the emulator was in time, as far as that is asked.
    fn report(
        &self,
        emulator: &Emulator,
        names: &[String; 2],
        before: Option<ProcessorTimes>,
        out: &mut dyn Write,
    ) -> io::Result<bool> {
        let now = ProcessorTimes::now();
        let steal = now.zip(before).map(|(now, before)| now.since(before));
        let summary = &emulator.summary();
        let report = Report { summary, names, steal };
        report.print(self.json, out)?;
        Ok(!self.strict || report.warning().is_none())
    }
}
