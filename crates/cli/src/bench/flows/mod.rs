//! The load generator: a gateway's throughput, compared with forwarding and with other proxies.

mod counters;
mod table;

use super::BenchError;
use bentpipe_bench::flows::{
    self, Direction, Exchange, Failure, Forwarder, Plan, Program, Results, Row,
};
use bentpipe_core::units::{Bytes, Rate, parse_duration};
use bentpipe_linux::machine::ThisMachine;
use bentpipe_linux::netns::teardown;
use bentpipe_terminal::progress::Progress;
use bentpipe_testbed::proxy::ProxyCommand;
use clap::builder::PossibleValuesParser;
use serde::Serialize;
use std::env;
use std::fs;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{self, PathBuf};
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Duration;

const COMMAND: &str = "bentpipe bench flows";

/// The longest write.
const WRITES: u64 = 256 << 10;

/// From this share of the processors on, the table says that others use them.
const BUSY: f64 = 0.05;

/// How much does a gateway carry on this machine?
///
/// Three network namespaces (root): a client, a router and a server, joined by cables without a
/// link's rate or delay. Transfers run from server to client while the router forwards by itself,
/// and while a gateway runs there, in turn. Figures are medians over the rounds; a ratio is between
/// two measurements of one round. The hosts take processors too: the client, the router and the
/// server share this machine, so a router alone carries more.
///
/// "CPU s/GB" is processor time for 10⁹ bytes: of client, server, kernel and program. "own s/GB" is
/// that of the program alone, and "CPUs" all processors in use, by any program of this machine.
/// "ping" is a round trip from client to server, "request" one on a TCP connection of its own, in
/// milliseconds: the median, and 99 % of them; not where a rate is given. Each measurement follows
/// a second of warm-up.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  sudo bentpipe bench flows                                  two to three minutes
  sudo bentpipe bench flows --connections --rounds 5         new connections, too
  sudo bentpipe bench flows --rate 8Mbit/s,100Mbit/s,1Gbit/s,full --flows 1,256
  sudo bentpipe bench flows --congestion bbr --bare-copy     hosts with BBR; what copies alone cost
  sudo bentpipe bench flows --idle 10000                     so many open connections that carry nothing
  sudo bentpipe bench flows --proxy pepsal=/opt/pepsal --proxy haproxy=haproxy
  sudo bentpipe bench flows --gateway old=/opt/old/bentpipe-gateway --gateway new=./bentpipe-gateway
  sudo bentpipe bench flows --json | jq '.rows[] | {through, flows, goodput: .goodput_bps.median}'
")]
pub(crate) struct Arguments {
    /// Numbers of flows
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [1, 4, 16, 64, 256], value_parser = clap::value_parser!(u32).range(1..=4096))]
    flows: Vec<u32>,
    /// Rates of all flows together, at which their applications write: `8Mbit/s`, or `full` for as
    /// fast as possible
    #[arg(long = "rate", value_name = "RATE,RATE", value_delimiter = ',', default_value = "full", value_parser = rate)]
    rates: Vec<FlowRate>,
    /// The size of applications' writes where a rate is given: `2896B` is two segments. Without it,
    /// ten milliseconds of a flow's rate, from two segments to 64 KB
    #[arg(long, value_name = "SIZE", value_parser = write_size)]
    write: Option<usize>,
    /// The way of the data, seen from the client
    #[arg(long, default_value = "down", value_parser = PossibleValuesParser::new(["down", "up", "both"]))]
    direction: String,
    /// The congestion control of both hosts, by the kernel's name for it
    #[arg(long, value_name = "NAME", default_value = "cubic", value_parser = congestion)]
    congestion: String,
    /// Also measure connections that are opened, used for a request and an answer, and closed
    #[arg(long)]
    connections: bool,
    /// So many of these at a time
    #[arg(long, value_name = "N", default_value_t = 64, requires = "connections", value_parser = clap::value_parser!(u32).range(1..=4096))]
    parallel: u32,
    /// The size of their answers
    #[arg(long, value_name = "SIZE", default_value = "64B", requires = "connections")]
    answer: Bytes,
    /// Keep so many connections open meanwhile that carry nothing
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=50_000))]
    idle: u32,
    /// The measured time of each case
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// How often each case is measured with each program
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Measure these gateways instead of this program's: `bentpipe` or `bentpipe-gateway`. May be
    /// given several times
    #[arg(long = "gateway", value_name = "NAME=PATH", value_parser = gateway)]
    gateways: Vec<Forwarder>,
    /// More of the gateways' `gateway.toml`, without its table `[interfaces]`
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Also measure a foreign transparent proxy: `pepsal=/opt/pepsal`, `haproxy=haproxy`, or
    /// another's whole command
    #[arg(long = "proxy", value_name = "NAME=COMMAND")]
    proxies: Vec<ProxyCommand>,
    /// Also measure a loop that reads and writes each packet and does nothing else, which is the
    /// price of a gateway's copies alone
    #[arg(long)]
    bare_copy: bool,
    /// How long a program runs before it gets its load
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = settle)]
    settle: Duration,
    /// Threads for each end of the transfers (without it half as many as there are cores)
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Also print the gateways' counters
    #[arg(long)]
    counters: bool,
    /// Print JSON: all figures with their least and greatest, and all counters of the gateways
    #[arg(long)]
    json: bool,
    /// Say nothing meanwhile
    #[arg(long, short)]
    quiet: bool,
}

/// A rate, or none for full speed.
#[derive(Debug, Clone, Copy, PartialEq)]
struct FlowRate(Option<Rate>);

fn rate(text: &str) -> Result<FlowRate, String> {
    if text == "full" {
        return Ok(FlowRate(None));
    }
    let rate: Rate = text.parse().map_err(|error| format!("{error}, or `full`"))?;
    let enough = rate.bits_per_sec() >= 1000;
    if enough { Ok(FlowRate(Some(rate))) } else { Err("1kbit/s at least, or `full`".to_owned()) }
}

fn write_size(text: &str) -> Result<usize, String> {
    let bytes: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    let fits = (1..=WRITES).contains(&bytes.count());
    if fits { Ok(bytes.as_len()) } else { Err("1B to 256KiB".to_owned()) }
}

fn gateway(text: &str) -> Result<Forwarder, &'static str> {
    let parts = text.split_once('=').filter(|(name, path)| !name.is_empty() && !path.is_empty());
    let (name, program) = parts.ok_or("NAME=PATH, such as old=/opt/old/bentpipe-gateway")?;
    // It is started in a namespace, by a command that knows no working directory of ours.
    let program = path::absolute(program).map_err(|_| "the path is not one")?;
    Ok(Forwarder { name: name.to_owned(), program: Program::Gateway(program) })
}

fn congestion(text: &str) -> Result<String, &'static str> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let fits = !text.is_empty() && text.len() < 16 && text.bytes().all(is_name);
    fits.then(|| text.to_owned()).ok_or("a name such as cubic or bbr")
}

fn settle(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}

/// The run as JSON.
#[derive(Serialize)]
struct Output<'a> {
    kernel: String,
    processor: String,
    cores: usize,
    /// The share of all processors that other programs used when it began.
    busy: Option<f64>,
    direction: &'a str,
    congestion: &'a str,
    idle: u32,
    seconds: u64,
    rounds: u32,
    rows: &'a [Row],
    failures: &'a [Failure],
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, BenchError> {
    if !nix::unistd::geteuid().is_root() {
        return Err(BenchError::Namespaces);
    }
    let plan = plan(arguments)?;
    // Namespaces and programs go before the process ends.
    teardown::on_signals()?;
    let machine = ThisMachine::read();
    let progress = Progress::new(COMMAND, arguments.quiet);
    let measurements = plan.measurements();
    let results = flows::run(&plan, &|done, words| {
        progress.show(done as f64 / measurements as f64, || {
            format!("{} of {measurements}, {words}", done + 1)
        });
    });
    if results.as_ref().map_or(true, |results| !results.failures.is_empty()) {
        teardown::defer_to_signals();
    }
    let Results { busy, rows, failures } = results?;
    progress.end();
    for Failure { through, load, rounds, why } in &failures {
        let of = plan.rounds;
        eprintln!("{COMMAND}: {through}, {load}: failed in {rounds} of {of} rounds: {why}");
    }
    let ended = if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    let mut out = io::stdout().lock();
    if arguments.json {
        let output = Output {
            kernel: machine.kernel,
            processor: machine.processor,
            cores: machine.cores,
            busy,
            direction: &arguments.direction,
            congestion: &arguments.congestion,
            idle: arguments.idle,
            seconds: arguments.seconds,
            rounds: arguments.rounds,
            rows: &rows,
            failures: &failures,
        };
        let text = serde_json::to_string(&output).expect("numbers can be written");
        writeln!(out, "{text}")?;
        return Ok(ended);
    }
    writeln!(
        out,
        "{}, {} ({} cores): medians of {} rounds of {} s, {}, {}",
        machine.kernel,
        machine.processor,
        machine.cores,
        plan.rounds,
        arguments.seconds,
        table::way(plan.direction),
        plan.congestion,
    )?;
    if let Some(busy) = busy.filter(|busy| *busy > BUSY) {
        writeln!(out, "Other programs used {:.0} % of the processors.", 100.0 * busy)?;
    }
    table::print(&mut out, &rows, arguments.idle)?;
    if arguments.counters {
        counters::print(&mut out, &rows)?;
    }
    Ok(ended)
}

fn plan(arguments: &Arguments) -> Result<Plan, BenchError> {
    let mut forwarders = vec![Forwarder::kernel()];
    forwarders.extend(arguments.gateways.iter().cloned());
    if arguments.gateways.is_empty() {
        let program = Program::Gateway(env::current_exe()?);
        forwarders.push(Forwarder { name: "gateway".to_owned(), program });
    }
    let proxy = |proxy: &ProxyCommand| Forwarder {
        name: proxy.name.clone(),
        program: Program::Proxy(proxy.clone()),
    };
    forwarders.extend(arguments.proxies.iter().map(proxy));
    forwarders.extend(arguments.bare_copy.then(Forwarder::bare_copy));
    let settings = match &arguments.settings {
        None => String::new(),
        Some(file) => fs::read_to_string(file)
            .map_err(|source| BenchError::Settings { file: file.display().to_string(), source })?,
    };
    let half = available_parallelism().map_or(1, NonZeroUsize::get) / 2;
    let exchange =
        || Exchange { parallel: arguments.parallel as usize, answer: arguments.answer.as_len() };
    Ok(Plan {
        forwarders,
        flows: arguments.flows.iter().map(|flows| *flows as usize).collect(),
        rates: arguments.rates.iter().map(|FlowRate(rate)| *rate).collect(),
        write: arguments.write,
        direction: arguments.direction.parse().unwrap_or(Direction::Down),
        congestion: arguments.congestion.clone(),
        idle: arguments.idle as usize,
        exchanges: arguments.connections.then(exchange),
        seconds: Duration::from_secs(arguments.seconds),
        rounds: arguments.rounds,
        threads: arguments.threads.map_or(half.max(1), NonZeroUsize::get),
        settle: arguments.settle,
        settings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_bench::flows::Load;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn planned(words: &[&str]) -> Plan {
        let line = Line::try_parse_from([&["flows"], words].concat());
        plan(&line.unwrap_or_else(|error| panic!("{error}")).arguments).unwrap()
    }

    #[test]
    fn loads_are_all_rates_with_all_numbers_of_flows() {
        let plan = planned(&["--flows", "1,4", "--rate", "8Mbit/s,full", "--connections"]);
        let words: Vec<String> = plan.loads().into_iter().map(Load::words).collect();
        let expected = [
            "1 flow at 8Mbit/s",
            "4 flows at 8Mbit/s",
            "1 flow at full speed",
            "4 flows at full speed",
            "new connections",
        ];
        assert_eq!(words, expected);
        assert_eq!(plan.measurements(), 5 * 2 * 3);
        assert_eq!(planned(&["--direction", "both"]).direction, Direction::Both);
    }

    #[test]
    fn programs_come_behind_the_kernel() {
        let words = ["--gateway", "old=/opt/bentpipe-gateway", "--proxy", "pepsal=/opt/pepsal"];
        let plan = planned(&words);
        let names: Vec<&str> = plan.forwarders.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["kernel", "old", "pepsal"]);
        assert_eq!(planned(&["--bare-copy"]).forwarders[2].name, "bare copy");
        assert_eq!(planned(&["--congestion", "bbr"]).congestion, "bbr");
        assert!(congestion("").is_err() && congestion("bbr\nlink").is_err());
        assert_eq!(planned(&[]).forwarders[1].name, "gateway");
        assert!(gateway("=/opt/x").is_err() && gateway("x").is_err());
        assert!(rate("fast").is_err() && rate("10bit/s").is_err());
    }
}
