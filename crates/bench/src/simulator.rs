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

use crate::BenchError;
use crate::median::median;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_scenario::Scenario;
use bentpipe_sim::Simulation;
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// What is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// One flow over 10 Mbit/s.
    OneFlow,
    /// One flow over 100 Mbit/s.
    TenTimesThePath,
    /// A thousand flows over 1 Gbit/s.
    ThousandFlows,
}

impl Case {
    /// All of them.
    pub const ALL: [Case; 3] = [Case::OneFlow, Case::TenTimesThePath, Case::ThousandFlows];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Case::OneFlow => "one-flow",
            Case::TenTimesThePath => "ten-times-the-path",
            Case::ThousandFlows => "thousand-flows",
        }
    }
}

/// What one run took.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Cost {
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
pub struct BenchSummary {
    /// Of one flow.
    pub packets_per_second: u64,
    /// A packet's cost with ten times the path over that of one flow.
    pub cost_ratio_bdp_x10: f64,
    /// The same with a thousand flows.
    pub cost_ratio_1000_flows: f64,
    /// Of one flow.
    pub peak_memory_bytes: u64,
    /// Packets a second of one flow by the wall clock.
    #[serde(skip)]
    pub by_the_wall_clock: f64,
}

impl BenchSummary {
    /// Runs each case so many times, by `run`.
    pub fn of(
        rounds: u32,
        mut run: impl FnMut(Case) -> Result<Cost, BenchError>,
    ) -> Result<BenchSummary, BenchError> {
        let mut all = Vec::new();
        for _ in 0..rounds {
            let mut costs = Vec::new();
            for case in Case::ALL {
                costs.push(run(case)?);
            }
            all.push(costs);
        }
        let of = |figure: &dyn Fn(&[Cost]) -> f64| median(all.iter().map(|costs| figure(costs)));
        Ok(BenchSummary {
            packets_per_second: of(&|costs| 1.0 / costs[0].per_packet()).round() as u64,
            cost_ratio_bdp_x10: thousandths(of(&|c| c[1].per_packet() / c[0].per_packet())),
            cost_ratio_1000_flows: thousandths(of(&|c| c[2].per_packet() / c[0].per_packet())),
            peak_memory_bytes: of(&|costs| costs[0].peak_memory_bytes as f64) as u64,
            by_the_wall_clock: of(&|costs| costs[0].packets as f64 / costs[0].wall_seconds),
        })
    }
}

/// Runs `case` in this process, whose memory counts.
pub fn simulate(case: Case) -> Result<Cost, BenchError> {
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

fn thousandths(ratio: f64) -> f64 {
    (ratio * 1000.0).round() / 1000.0
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
}
