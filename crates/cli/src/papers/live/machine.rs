//! The machine on which something is measured.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_kernel_and_a_processor() {
        let machine = this(None, 3);
        assert!(machine.kernel.starts_with("Linux ") && machine.cores >= 1, "{machine:?}");
        assert!(machine.memory_mib > 0 && machine.measured.starts_with("20"), "{machine:?}");
    }
}
