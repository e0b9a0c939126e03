//! `bentpipe gateway`: the splitting gateway on real packets.

mod config;
mod report;

use bentpipe_net::divert::{Divert, DivertConfig, DivertError, Side};
use bentpipe_net::gateway::LiveGateway;
use bentpipe_net::interface::{InterfaceError, least_mtu};
use bentpipe_net::poll::LoopError;
use bentpipe_net::signals::Signals;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Splits the TCP connections that this host forwards between its LAN and a satellite link.
///
/// Runs in the foreground. It prints `bentpipe gateway: ready` once connections are split. Ctrl-C or
/// SIGTERM ends it: it splits nothing more, hands connections back to the kernel, delivers what it
/// holds and prints a summary; a second signal ends it at once. Devices, rules and routes that it
/// has set up are gone then. If it is killed, the host forwards as if it had never been there. RUST_LOG=debug tells
/// of every flow.
#[derive(clap::Args)]
#[command(after_long_help = "\
Example:
  bentpipe gateway --config gateway.toml

  with gateway.toml:
    [interfaces]
    lan = [\"eth0\"]
    satellite = [\"sat0\"]

    [satellite]             # all optional
    rate = \"8Mbit/s\"        # paces what goes out, and sizes the initial window
    round_trip = \"500ms\"
    add_options = \"known-peer\"  # or \"always\", \"never\"
    recovery = \"rack\"       # or fack, sack, newreno, …
    congestion = \"cubic\"    # or standard, hybla, vegas, increase-by-k:k=4, …
    initial_window = 10     # segments, or \"4380B\", \"rfc3390\"; more where rate and round_trip say so
    pacing = \"8Mbit/s\"      # or \"on\", \"off\"; without it, at the rate if that is given
    min_rto = \"1s\"
    tcp = \"reduction=plain,max-unanswered=10\"  # any parameter of bentpipe presets gateway-satellite

    [lan]                   # the same but rate, round_trip and add_options; all optional
    recovery = \"sack\"

    [splitting]             # all optional
    handshake = \"end-to-end\"  # or \"downstream-first\": servers are answered before clients have
    fin = \"end-to-end\"        # or \"immediate\": a FIN is acknowledged at once

    [limits]                # all optional
    memory = \"512MiB\"       # of all flows together
    stream = \"4MiB\"         # of one direction of one flow, at most
    flows = 20000
    drain = \"30s\"          # for delivering what is held when it is stopped
")]
pub(crate) struct Arguments {
    /// The configuration (TOML)
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

/// Why `bentpipe gateway` failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] config::ConfigError),
    /// Setting up.
    #[error(transparent)]
    Divert(#[from] DivertError),
    /// An interface.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// Running.
    #[error(transparent)]
    Gateway(#[from] LoopError),
    /// Signals or standard output.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Runs until a signal comes.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let config::Setup { interfaces, mut config, drain } = config::File::read(&arguments.config)?;
    let config::Interfaces { lan, satellite } = interfaces;
    let signals = Signals::catch()?;
    let side = |interfaces: &[String], tun: &str| Side {
        interfaces: interfaces.to_vec(),
        tun: tun.into(),
    };
    let (divert, tuns) =
        Divert::set_up(DivertConfig::gateway([side(&lan, "bp-lan"), side(&satellite, "bp-sat")]))?;
    for finding in divert.findings() {
        tracing::warn!("{finding}");
    }
    config.lan.mtu = least_mtu(&lan)?;
    config.satellite.mtu = least_mtu(&satellite)?;
    let mut gateway = LiveGateway::new(tuns, config);
    println!("bentpipe gateway: ready");
    io::stdout().flush()?;
    let result = gateway.run(&signals, drain);
    drop(divert);
    let report =
        report::Report { summary: gateway.summary(), refused: gateway.refused_by_kernel() };
    let mut out = io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", report.json())?;
    } else {
        report.print(&mut out)?;
    }
    result?;
    Ok(ExitCode::SUCCESS)
}
