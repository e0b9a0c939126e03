//! `bentpipe link`: the live link emulator.

use bentpipe_core::link::{
    Count, Counters, Framing, Line, LinkConfig, LinkTextError, LossKind, Outages, QueueKind,
};
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Bytes, Probability, Rate, parse_duration};
use bentpipe_net::divert::{Divert, DivertConfig, DivertError, Side};
use bentpipe_net::emulator::{Emulator, Exit, LinkSummary};
use bentpipe_net::netns_command::{NetnsCommand, NetnsCommandError};
use bentpipe_net::poll::LoopError;
use bentpipe_net::signals::{Signal, Signals};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitCode;

/// Emulates a link with a bottleneck rate, a propagation delay, a queue and loss, the same in both
/// directions.
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
/// The rate counts IP packet lengths, and what --overhead adds to each.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  A GEO satellite between two interfaces of this host, one bandwidth-delay product of buffer:
    bentpipe link --between eth1,eth2 --rate 8Mbit/s --delay 250ms

  One program behind a satellite:
    bentpipe link --rate 8Mbit/s --delay 250ms -- curl -o /dev/null http://192.0.2.1/file

  With a packet queue, bit errors, and the counters as JSON:
    bentpipe link --between eth1,eth2 --rate 1.5Mbit/s --delay 275ms \\
        --queue 50packets --bit-errors 1e-7 --seed 7 --json

  RED that marks, loss in bursts, and two seconds of nothing in every minute:
    bentpipe link --between eth1,eth2 --rate 8Mbit/s --delay 250ms \\
        --queue red:limit=50packets,ecn=on --loss gilbert-elliott:burst=5,loss=1% \\
        --outages periodic:first=10s,lasting=2s,every=60s
")]
pub(crate) struct Arguments {
    /// The two interfaces of this host between which the link lies
    #[arg(long, value_name = "A,B", value_delimiter = ',', num_args = 1)]
    #[arg(required_unless_present = "command", conflicts_with = "command")]
    between: Vec<String>,
    /// Bottleneck rate: 8Mbit/s, 512kbit/s
    #[arg(long)]
    rate: Rate,
    /// One-way propagation delay: 250ms
    #[arg(long, value_parser = parse_duration)]
    delay: Duration,
    /// What the link layer adds to each packet on the line: 38B with Ethernet
    #[arg(long, value_name = "BYTES", default_value = "0B")]
    overhead: Bytes,
    /// Queue before the bottleneck: 500KB, 64KiB, 345packets, 0.5bdp (of rate × 2 × delay, and at least 15KB);
    /// red:limit=50packets,min-threshold=5,max-threshold=15; codel:target=5ms,interval=100ms;
    /// fq-codel:target=5ms,interval=100ms; pie:target=15ms; policer:rate=8Mbit/s,burst=30KB. A limit alone is that of a drop-tail queue
    #[arg(long, default_value = "1bdp")]
    queue: String,
    /// Probability that a packet is lost: 0.01, 1%, 1e-4. Or loss in bursts, after Gilbert and
    /// Elliott: gilbert-elliott:burst=5,loss=1%, gilbert-elliott:good=10s,bad=200ms
    #[arg(long, default_value = "0")]
    loss: LossKind,
    /// Probability that a bit is wrong, which loses its packet: 1e-7
    #[arg(long, value_name = "P", default_value = "0")]
    bit_errors: Probability,
    /// When nothing arrives: 10s+500ms,60s+2s, or periodic:first=10s,lasting=2s,every=60s
    #[arg(long, value_name = "TIMES", default_value = "none")]
    outages: Outages,
    /// Seed of the losses and of the queue; the second direction uses the next one
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
    /// Run this in a network namespace behind the link
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Why `bentpipe link` failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Not two interfaces.
    #[error("--between takes two interfaces separated by a comma, such as `eth1,eth2`")]
    Between,
    /// Nothing would ever pass.
    #[error("--rate 0 passes nothing")]
    Rate,
    /// No queue.
    #[error("--queue: {0}")]
    Queue(#[from] LinkTextError),
    /// Setting up.
    #[error(transparent)]
    Divert(#[from] DivertError),
    /// Running the command.
    #[error(transparent)]
    NetnsCommand(#[from] NetnsCommandError),
    /// Running.
    #[error(transparent)]
    Emulator(#[from] LoopError),
    /// Signals or standard output.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Runs until a signal comes, or the command ends.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let configs = arguments.link_configs()?;
    let signals = Signals::catch()?;
    if arguments.command.is_empty() {
        between(arguments, &configs, &signals)
    } else {
        around(arguments, &configs, &signals)
    }
}

/// The link between two interfaces of this host.
fn between(
    arguments: &Arguments,
    configs: &[LinkConfig; 2],
    signals: &Signals,
) -> Result<ExitCode, Error> {
    let [a, b] = arguments.between.as_slice() else { return Err(Error::Between) };
    let side = |interface: &String, tun: &str| Side {
        interfaces: vec![interface.clone()],
        tun: tun.into(),
    };
    let (divert, tuns) =
        Divert::set_up(DivertConfig::link([side(a, "bp-link0"), side(b, "bp-link1")]))?;
    for finding in divert.findings() {
        tracing::warn!("{finding}");
    }
    let mut emulator = Emulator::new(tuns, Exit::Same, [&configs[0], &configs[1]]);
    println!("bentpipe link: ready");
    io::stdout().flush()?;
    let result = emulator.run(signals, None);
    drop(divert);
    let names = [format!("{a} to {b}"), format!("{b} to {a}")];
    arguments.print_summary(&emulator.summary(), &names, &mut io::stdout().lock())?;
    result?;
    Ok(ExitCode::SUCCESS)
}

/// The link around one command.
fn around(
    arguments: &Arguments,
    configs: &[LinkConfig; 2],
    signals: &Signals,
) -> Result<ExitCode, Error> {
    let (mut command, tuns) = NetnsCommand::start(&arguments.command)?;
    let mut emulator = Emulator::new(tuns, Exit::Other, [&configs[0], &configs[1]]);
    // Ctrl-C has reached the command as well: whether it ends is its own affair.
    while let Some(signal) = emulator.run(signals, Some(command.ended()))? {
        if signal == Signal::Terminate {
            command.terminate();
        }
    }
    let status = command.wait()?;
    // Standard output belongs to the command.
    let names = ["command to network".to_owned(), "network to command".to_owned()];
    arguments.print_summary(&emulator.summary(), &names, &mut io::stderr().lock())?;
    // A shell's convention for a command that a signal has ended.
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)))
}

impl Arguments {
    fn link_configs(&self) -> Result<[LinkConfig; 2], Error> {
        if self.rate.bits_per_sec() == 0 {
            return Err(Error::Rate);
        }
        let line = Line { rate: Some(self.rate), delay: self.delay };
        let queue = QueueKind::of_text(&self.queue, Some(line), None)?;
        let config = |seed| LinkConfig {
            rate: Some(self.rate.into()),
            framing: Framing { overhead: self.overhead, ..Framing::NONE },
            delay: self.delay.into(),
            queue,
            packet_loss: self.loss.clone(),
            bit_errors: self.bit_errors.into(),
            outages: self.outages.clone(),
            seed,
            ..LinkConfig::IDEAL
        };
        Ok([config(self.seed), config(self.seed.wrapping_add(1))])
    }

    fn print_summary(
        &self,
        summary: &LinkSummary,
        names: &[String; 2],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if self.json {
            let directions: Vec<Value> = (0..2)
                .map(|i| direction(&names[i], &summary.directions[i], summary.refused[i]))
                .collect();
            return writeln!(out, "{}", json!({ "directions": directions }));
        }
        for (name, counters) in names.iter().zip(&summary.directions) {
            let Counters { offered, dropped, lost, marked, delivered } = counters;
            writeln!(
                out,
                "{name}: {} packets ({} bytes) offered, {} dropped by the queue, {} marked, {} lost, \
                 {} ({} bytes) delivered",
                offered.packets,
                offered.bytes,
                dropped.packets,
                marked.packets,
                lost.packets,
                delivered.packets,
                delivered.bytes,
            )?;
        }
        Ok(())
    }
}

fn direction(name: &str, counters: &Counters, refused: u64) -> Value {
    let count = |count: Count| json!({ "packets": count.packets, "bytes": count.bytes });
    json!({
        "direction": name,
        "offered": count(counters.offered),
        "dropped": count(counters.dropped),
        "lost": count(counters.lost),
        "marked": count(counters.marked),
        "delivered": count(counters.delivered),
        "refused_by_kernel_packets": refused,
    })
}
