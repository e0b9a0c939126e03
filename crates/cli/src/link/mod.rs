//! `bentpipe link`: the live link emulator.

mod between;
mod control;
mod error;
mod given;
mod profiles;
mod record;
mod report;
mod self_test;

use bentpipe_core::link::QueueKind;
use bentpipe_emulator::duplex_link::DuplexLinkConfig;
use bentpipe_emulator::emulator::{Emulator, Exit};
use bentpipe_emulator::link_control;
use bentpipe_emulator::links;
use bentpipe_emulator::netns_command::{Nat, NetnsCommand};
use bentpipe_links::{Directions, LiveLink};
use bentpipe_linux::processor_times::ProcessorTimes;
use bentpipe_linux::real_time;
use bentpipe_linux::serve::Server;
use bentpipe_linux::signals::{Signal, Signals};
pub(crate) use error::Error;
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
/// "Down" is towards the user: from A to B with --between A,B, from the network to a COMMAND. It is
/// a scenario's direction from the first end to the second; "up" is the other one. Settings are a
/// scenario's keys of a link (docs/scenario-format.md): what is said with --down or --up overrides
/// what is said for both.
///
/// The rate counts IP packet lengths, and what --overhead adds to each. At its end it also says how
/// late it released packets, and warns if one in 100 was late by more than 1 ms.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_long_help = "\
Examples:
  A GEO satellite between two interfaces of this host, one bandwidth-delay product of buffer:
    bentpipe link --between eth1,eth2 --rate 8Mbit/s --delay 250ms

  From one network namespace to another, in which it makes the interfaces:
    bentpipe link --between here:sat0,there:sat0 --rate 8Mbit/s --delay 250ms

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

  Look at it, and change it, from another shell:
    bentpipe link show --json
    bentpipe link set rate=2Mbit/s,loss=1%
    bentpipe link set --link eth1_eth2 --down rate=2Mbit/s

  What crosses it, as a capture that Wireshark reads, headers only:
    bentpipe link --rate 8Mbit/s --delay 250ms --record link.pcapng -- curl -O http://example.org/file

  How well does this machine emulate a link?
    bentpipe link --self-test --rate 100Mbit/s --delay 20ms --json

  RED that marks, loss in bursts, and two seconds of nothing in every minute:
    bentpipe link --between eth1,eth2 --rate 8Mbit/s --delay 250ms \\
        --queue red:limit=50packets,ecn=on --loss gilbert-elliott:burst=5,loss=1% \\
        --outages periodic:first=10s,lasting=2s,every=60s
")]
pub(crate) struct Arguments {
    /// The two interfaces of this host between which the link lies. NETNS:A,NETNS:B are those of a
    /// network namespace; of two different ones, interfaces that it makes
    #[arg(long, value_name = "A,B", value_delimiter = ',', num_args = 1..=2)]
    #[arg(required_unless_present_any = ["command", "self_test"], conflicts_with = "command")]
    between: Vec<String>,
    #[command(flatten)]
    options: Options,
    /// With a COMMAND: have this host forward IPv4 and IPv6 until it ends, so that the COMMAND
    /// reaches what this host does
    #[arg(long, conflicts_with_all = ["between", "self_test"])]
    nat: bool,
    /// Its name for `bentpipe link show` and `set`: letters, digits, `.` and `_`
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    record: record::RecordOptions,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
    /// Carry packets at real-time priority, before all ordinary programs: on time on a busy
    /// machine, at their expense
    #[arg(long)]
    realtime: bool,
    /// Exit with 1 if one packet in 100 was released more than 1 ms late
    #[arg(long)]
    strict: bool,
    /// Fill the link (20Mbit/s and 20ms, unless told otherwise) for 5 s in namespaces of its own,
    /// and say how well this machine emulates it: down, or --self-test=both
    #[arg(long, value_name = "DIRECTIONS", num_args = 0..=1, require_equals = true, default_missing_value = "down")]
    #[arg(conflicts_with_all = ["between", "command"])]
    self_test: Option<Filled>,
    #[command(subcommand)]
    asked: Option<Asked>,
    /// Run this in a network namespace behind the link
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// What a self-test fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Filled {
    /// The direction down
    Down,
    /// Both at the same time
    Both,
}

/// What is not the emulation of a link.
#[derive(clap::Subcommand)]
enum Asked {
    /// Show a running link: counters, queue lengths, and how late it has been so far
    Show {
        #[command(flatten)]
        which: control::Which,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    #[command(about = "Change a running link")]
    Set(control::Changes),
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
    /// A ready-made link, such as geo or hybrid-dbs (see `bentpipe link profiles`); what is said
    /// besides overrides it
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
    #[arg(long, help = queue_help())]
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

/// Runs until a signal comes, or the command ends.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    match &arguments.asked {
        Some(Asked::Profiles { json }) => {
            profiles::print(*json, &mut io::stdout().lock())?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(Asked::Show { which, json }) => return control::show(which, *json),
        Some(Asked::Set(changes)) => return control::set(changes),
        None => {}
    }
    if arguments.self_test.is_some() {
        return self_test::run(arguments);
    }
    let link = arguments.options.link()?;
    let name = arguments.name()?;
    let signals = Signals::catch()?;
    for pid in links::remove_leftovers() {
        tracing::warn!("removed what a killed link had left: the socket and lock of process {pid}");
    }
    if arguments.command.is_empty() {
        between::run(arguments, &link, name, &signals)
    } else {
        around(arguments, &link, name, &signals)
    }
}

/// The link around one command.
fn around(
    arguments: &Arguments,
    link: &LiveLink,
    name: String,
    signals: &Signals,
) -> Result<ExitCode, Error> {
    let nat = if arguments.nat { Nat::Enable } else { Nat::AsItIs };
    let recording = arguments.record.begin(["command", "network"])?;
    // What it starts from now on is ordinary. Nothing runs yet if it is refused.
    arguments.prioritise()?;
    let (mut command, tuns) = NetnsCommand::start(&arguments.command, link.mtu, nat)?;
    told(command.leftovers());
    let before = ProcessorTimes::now();
    // The first device is the command's, and what comes in there goes up.
    let config = DuplexLinkConfig::from(link).back_first();
    let mut emulator = Emulator::new(tuns, Exit::Other, config);
    recording.into_iter().for_each(|recording| emulator.record(recording));
    let names = ["command to network".to_owned(), "network to command".to_owned()];
    let _server = arguments.answer(
        &mut emulator,
        (name, &names),
        [Directions::Back, Directions::Forward],
        before,
    )?;
    // Ctrl-C has reached the command as well: whether it ends is its own affair.
    while let Some(signal) = emulator.run(signals, Some(command.ended()))? {
        if signal == Signal::Terminate {
            command.terminate();
        }
    }
    let status = command.wait()?;
    arguments.record.end(&mut emulator);
    // Standard output belongs to the command.
    let in_time = arguments.report(&emulator, &names, before, &mut io::stderr().lock())?;
    // A shell's convention for a command that a signal has ended.
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    let code = if code == 0 && !in_time { 1 } else { code };
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)))
}

/// Says what a killed link had left, which is gone now.
fn told(leftovers: &[String]) {
    for left in leftovers {
        tracing::warn!("removed what a killed link had left: {left}");
    }
}

/// The help of `--queue`, with an example of each discipline.
fn queue_help() -> String {
    let examples = QueueKind::entries().into_iter().map(|entry| entry.example);
    format!(
        "Queue before the bottleneck: 500KB, 64KiB, 345packets, 0.5bdp (of rate × 2 × delay, and at least 15KB); {}. A \
         limit alone is that of a drop-tail queue. Without it, 1bdp, and 1.5MB at least if the delay is 5ms or less",
        examples.collect::<Vec<_>>().join("; ")
    )
}

impl Arguments {
    /// What the link is called: as it is said, or after what it is for.
    fn name(&self) -> Result<String, Error> {
        if let Some(name) = &self.name {
            return links::is_name(name).then(|| name.clone()).ok_or(Error::Name(name.clone()));
        }
        let for_what = match self.command.first() {
            Some(command) => command.rsplit('/').next().unwrap_or_default().to_owned(),
            None => self.between.join("_"),
        };
        let fits =
            |char: char| if char.is_ascii_alphanumeric() || char == '.' { char } else { '_' };
        let name: String = for_what.chars().map(fits).take(32).collect();
        Ok(if links::is_name(&name) { name } else { "link".to_owned() })
    }

    /// Gives the calling thread, which is about to carry packets, the priority that is asked for.
    fn prioritise(&self) -> Result<(), Error> {
        if self.realtime { real_time::begin().map_err(Error::RealTime) } else { Ok(()) }
    }

    /// Has the link answer who asks, until what is returned is dropped.
    fn answer(
        &self,
        emulator: &mut Emulator,
        (name, directions): (String, &[String; 2]),
        order: [Directions; 2],
        before: Option<ProcessorTimes>,
    ) -> Result<Option<Server>, Error> {
        let (client, questions) = link_control::channel()?;
        emulator.answer(questions);
        let settings = match self.options.scenario {
            Some(_) => None,
            None => Some(self.options.settings()?),
        };
        let (directions, seed) = (directions.clone(), self.options.seed.unwrap_or(1));
        let answering =
            control::Answering { client, settings, seed, name, directions, order, before };
        Ok(answering.serve())
    }

    /// Says what has happened. Whether the emulator was in time, as far as that is asked.
    fn report(
        &self,
        emulator: &Emulator,
        names: &[String; 2],
        before: Option<ProcessorTimes>,
        out: &mut dyn Write,
    ) -> io::Result<bool> {
        let now = ProcessorTimes::now();
        let steal = now.zip(before).map(|(now, before)| now.stolen_since(before));
        let summary = &emulator.summary();
        let report = Report { summary, names, steal };
        report.print(self.json, out)?;
        Ok(!self.strict || report.warning().is_none())
    }
}
