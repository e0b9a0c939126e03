//! The simulator's speed: bulk TCP with SACK over one bottleneck, an acknowledgment for each
//! segment.
//!
//! | case | rate | queue | flows | simulated |
//! | --- | --- | --- | --- | --- |
//! | one flow | 10 Mbit/s | 420 packets | 1 | 600 s |
//! | ten times the path | 100 Mbit/s | 4200 packets | 1 | 60 s |
//! | a thousand flows | 1 Gbit/s | 42,000 packets | 1000 | 10 s |
//!
//! All over 250 ms one way in packets of 1500 bytes; a queue is a bandwidth-delay product. The
//! flows begin 10 ms apart. Packets are those of both directions, counted as they arrive. Each run
//! is a process of its own, so that its memory is its own, too; the cases take turns, and medians
//! count, so that a machine whose speed drifts favours none. Costs are the processor time of the
//! thread that simulates, which other programs on the machine disturb less than they do the wall
//! clock's.

use super::BenchError;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_scenario::Scenario;
use bentpipe_sim::Simulation;
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::process::{Command, ExitCode};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// How often to run each case
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Run one case here, and print what it took
    #[arg(long, value_name = "CASE", hide = true)]
    case: Option<Case>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Case {
    OneFlow,
    TenTimesThePath,
    ThousandFlows,
}

const CASES: [Case; 3] = [Case::OneFlow, Case::TenTimesThePath, Case::ThousandFlows];

/// What one run took.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Cost {
    packets: u64,
    cpu_seconds: f64,
    wall_seconds: f64,
    peak_memory_bytes: u64,
}

impl Cost {
    fn per_packet(&self) -> f64 {
        self.cpu_seconds / self.packets as f64
    }
}

/// The result, in the form of `--json`.
#[derive(Debug, Serialize)]
struct BenchSummary {
    packets_per_second: u64,
    cost_ratio_bdp_x10: f64,
    cost_ratio_1000_flows: f64,
    peak_memory_bytes: u64,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, BenchError> {
    if let Some(case) = arguments.case {
        println!("{}", to_json(&simulate(case)?));
        return Ok(ExitCode::SUCCESS);
    }
    let mut rounds = Vec::new();
    for _ in 0..arguments.rounds {
        let mut costs = Vec::new();
        for case in CASES {
            costs.push(in_a_process(case)?);
        }
        rounds.push(costs);
    }
    let of = |figure: &dyn Fn(&[Cost]) -> f64| median(rounds.iter().map(|costs| figure(costs)));
    let summary = BenchSummary {
        packets_per_second: of(&|costs| 1.0 / costs[0].per_packet()).round() as u64,
        cost_ratio_bdp_x10: thousandths(of(&|c| c[1].per_packet() / c[0].per_packet())),
        cost_ratio_1000_flows: thousandths(of(&|c| c[2].per_packet() / c[0].per_packet())),
        peak_memory_bytes: of(&|costs| costs[0].peak_memory_bytes as f64) as u64,
    };
    if arguments.json {
        println!("{}", to_json(&summary));
    } else {
        let wall = of(&|costs| costs[0].packets as f64 / costs[0].wall_seconds);
        println!("The simulator on one core, data and acknowledgments counted as they arrive:");
        println!("  one flow, 10 Mbit/s   {:>9} packets/s", summary.packets_per_second);
        println!("    by the wall clock   {wall:>9.0} packets/s");
        println!("    peak memory         {:>9.1} MB", summary.peak_memory_bytes as f64 / 1e6);
        println!(
            "  at 100 Mbit/s         {:>9.2} × the cost of a packet",
            summary.cost_ratio_bdp_x10
        );
        println!(
            "  1000 flows, 1 Gbit/s  {:>9.2} × the cost of a packet",
            summary.cost_ratio_1000_flows
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn in_a_process(case: Case) -> Result<Cost, BenchError> {
    let name = clap::ValueEnum::to_possible_value(&case).expect("no case is hidden");
    let output = std::env::current_exe()
        .and_then(|this| {
            Command::new(this).args(["bench", "sim", "--case", name.get_name()]).output()
        })
        .map_err(BenchError::Start)?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let said = String::from_utf8_lossy(&output.stderr);
        BenchError::Run(format!("{} {}", output.status, said.trim()))
    })
}

fn simulate(case: Case) -> Result<Cost, BenchError> {
    let (mbit, flows, seconds) = match case {
        Case::OneFlow => (10, 1, 600),
        Case::TenTimesThePath => (100, 1, 60),
        Case::ThousandFlows => (1000, 1000, 10),
    };
    let mut simulation = world_of(mbit, flows);
    let (begun, wall) = (cpu_time()?, std::time::Instant::now());
    simulation.run(Instant::ZERO + Duration::from_secs(seconds));
    Ok(Cost {
        packets: simulation.world().packets(),
        cpu_seconds: cpu_time()? - begun,
        wall_seconds: wall.elapsed().as_secs_f64(),
        peak_memory_bytes: peak_memory()?,
    })
}

fn world_of(mbit: u64, flows: u16) -> Simulation {
    let text = format!(
        r#"tcp = "mss=1460,send-buffer=64MiB,receive-buffer=64MiB,window-scale=12,sack=on,timestamps=off,ack=per-segment,recovery=sack"
[run]
duration = "600s"
[host.sender]
[host.receiver]
[link.line]
between = ["sender", "receiver"]
rate = "{mbit}Mbit/s"
delay = "250ms"
queue = "{queue}packets"
[flow.bulk]
from = "sender"
to = "receiver"
count = {flows}
start = {{ uniform = ["0s", "{spread}ms"] }}
"#,
        queue = 42 * mbit,
        spread = 10 * flows,
    );
    let scenario = Scenario::parse(&text).unwrap_or_else(|error| panic!("our own text: {error}"));
    bentpipe_sim::build(&scenario, 0).simulation
}

/// What this thread has used of the processor, in seconds.
fn cpu_time() -> Result<f64, BenchError> {
    let used = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map_err(|error| BenchError::Usage(error.to_string()))?;
    Ok(Duration::from(used).as_secs_f64())
}

/// The most that has been resident of this process at a time (`VmHWM`, in units of 1024 bytes).
fn peak_memory() -> Result<u64, BenchError> {
    let status = std::fs::read_to_string("/proc/self/status")
        .map_err(|error| BenchError::Usage(error.to_string()))?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok())
        .map(|kibibytes: u64| kibibytes * 1024)
        .ok_or_else(|| BenchError::Usage("/proc/self/status has no VmHWM".to_owned()))
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = figures.collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

fn thousandths(ratio: f64) -> f64 {
    (ratio * 1000.0).round() / 1000.0
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("numbers can be written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bottleneck_is_full_and_each_segment_is_acknowledged() {
        let mut simulation = world_of(10, 1);
        simulation.run(Instant::ZERO + Duration::from_secs(120));
        // 833 packets a second each way, but for the recovery from slow start's losses.
        let packets = simulation.world().packets();
        assert!((140_000..=200_000).contains(&packets), "{packets}");
    }

    #[test]
    fn the_middle_of_an_even_number_is_halfway() {
        assert_eq!(median([4.0, 1.0, 3.0, 2.0].into_iter()), 2.5);
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
    }
}
