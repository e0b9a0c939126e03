//! The machine on which something is measured, and how busy it is.

use bentpipe_papers::live::Machine;
use std::fs;
use std::thread::available_parallelism;
use std::time::SystemTime;

/// This machine, today.
pub(super) fn this(commit: Option<String>, side_by_side: usize) -> Machine {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let today = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| Some(line.split_once(':')?.1.trim().to_owned())).unwrap_or_default()
    };
    let memory = field(&read("/proc/meminfo"), "MemTotal");
    let kib: u64 = memory.split_whitespace().next().and_then(|kib| kib.parse().ok()).unwrap_or(0);
    Machine {
        measured: today.get(..10).unwrap_or_default().to_owned(),
        commit,
        kernel: format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
        processor: field(&read("/proc/cpuinfo"), "model name"),
        cores: available_parallelism().map_or(1, usize::from),
        memory_mib: kib / 1024,
        side_by_side,
    }
}

/// The processors' time so far, as the kernel counts it (proc_stat(5)).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Processors {
    idle: u64,
    all: u64,
}

impl Processors {
    /// Now.
    pub(super) fn now() -> Processors {
        Processors::parse(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    fn parse(text: &str) -> Processors {
        let line = text.lines().next().and_then(|line| line.strip_prefix("cpu ")).unwrap_or("");
        // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user already.
        let ticks: Vec<u64> =
            line.split_whitespace().take(8).map_while(|ticks| ticks.parse().ok()).collect();
        Processors { idle: ticks.iter().skip(3).take(2).sum(), all: ticks.iter().sum() }
    }

    /// The share of their time that was in use since `earlier`, by whomever.
    pub(super) fn busy_since(self, earlier: Processors) -> f64 {
        let all = self.all.saturating_sub(earlier.all);
        let idle = self.idle.saturating_sub(earlier.idle);
        if all == 0 { 0.0 } else { 1.0 - idle as f64 / all as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_neither_idle_nor_waits_for_disks_is_in_use() {
        let before = Processors::parse("cpu  10 0 10 80 0 0 0 0 5 0\ncpu0 1 1\n");
        let after = Processors::parse("cpu  40 0 20 120 10 0 10 0 5 0\n");
        assert_eq!(after.busy_since(before), 0.5);
        assert_eq!(before.busy_since(before), 0.0);
        assert_eq!(Processors::parse("").all, 0);
    }

    #[test]
    fn this_machine_has_a_kernel_and_a_processor() {
        let machine = this(None, 3);
        assert!(machine.kernel.starts_with("Linux ") && machine.cores >= 1, "{machine:?}");
        assert!(machine.memory_mib > 0 && machine.measured.starts_with("20"), "{machine:?}");
    }
}
