//! Processors' time, as the kernel counts it (proc_stat(5)): how much of it is in use, and how much
//! is stolen. An emulator without a processor releases nothing.

use std::fs;

/// The machine's counters at a moment.
#[derive(Debug, Clone, Copy)]
pub struct ProcessorTimes {
    idle: u64,
    steal: u64,
    all: u64,
}

/// What the hypervisor under this machine took of a span of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steal {
    /// Of all processors together.
    pub seconds: f64,
    /// Of their time.
    pub percent: f64,
}

impl ProcessorTimes {
    /// As they are now; None without `/proc/stat`.
    pub fn now() -> Option<ProcessorTimes> {
        ProcessorTimes::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    fn parse(text: &str) -> Option<ProcessorTimes> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Option<Vec<u64>> =
            line.split_whitespace().map(|number| number.parse().ok()).collect();
        let ticks = ticks?;
        // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user already.
        let steal = *ticks.get(7)?;
        Some(ProcessorTimes {
            idle: ticks.iter().skip(3).take(2).sum(),
            steal,
            all: ticks.iter().take(8).sum(),
        })
    }

    /// What the hypervisor took since `earlier`.
    pub fn stolen_since(self, earlier: ProcessorTimes) -> Steal {
        // Ticks in this file are USER_HZ, which is 100 wherever Linux runs.
        let steal = self.steal.saturating_sub(earlier.steal) as f64;
        let all = self.all.saturating_sub(earlier.all).max(1) as f64;
        Steal { seconds: steal / 100.0, percent: 100.0 * steal / all }
    }

    /// The seconds of all processors together that were in use since `earlier`.
    ///
    /// Any process and the kernel count, and the hypervisor does not.
    pub fn used_since(self, earlier: ProcessorTimes) -> f64 {
        let [now, then] =
            [self, earlier].map(|times| times.all.saturating_sub(times.idle + times.steal));
        now.saturating_sub(then) as f64 / 100.0
    }

    /// The share of all processors' time that was in use since `earlier`, by any process.
    pub fn busy_since(self, earlier: ProcessorTimes) -> f64 {
        let all = self.all.saturating_sub(earlier.all);
        let idle = self.idle.saturating_sub(earlier.idle);
        if all == 0 { 0.0 } else { 1.0 - idle as f64 / all as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_eighth_number_is_what_was_stolen() {
        let times = |steal| {
            ProcessorTimes::parse(&format!("cpu  10 0 10 80 0 0 0 {steal} 5 0\ncpu0 1 1\n"))
                .unwrap()
        };
        let steal = times(100).stolen_since(times(0));
        assert_eq!(steal, Steal { seconds: 1.0, percent: 100.0 });
        assert!(ProcessorTimes::parse("cpu 1 2\n").is_none());
        assert!(ProcessorTimes::now().is_some());
    }

    #[test]
    fn what_is_neither_idle_nor_waits_for_disks_is_in_use() {
        let times = |text| ProcessorTimes::parse(text).unwrap();
        let before = times("cpu  10 0 10 80 0 0 0 0 5 0\ncpu0 1 1\n");
        let after = times("cpu  40 0 20 120 10 0 10 0 5 0\n");
        assert_eq!(after.busy_since(before), 0.5);
        assert_eq!(before.busy_since(before), 0.0);
        assert_eq!(after.used_since(before), 0.5);
        assert!(ProcessorTimes::parse("").is_none());
    }
}
