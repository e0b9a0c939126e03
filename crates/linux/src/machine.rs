//! The machine that this program runs on, for readers of measurements.

use crate::kernel_version;
use std::fs;
use std::thread::available_parallelism;

/// What it is. A text is empty, and the memory 0, where Linux does not tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThisMachine {
    /// `Linux 6.18.44`.
    pub kernel: String,
    /// The processor's name.
    pub processor: String,
    /// How many processors this program may use.
    pub cores: usize,
    /// Its memory in MiB.
    pub memory_mib: u64,
}

impl ThisMachine {
    /// Reads it from `/proc`.
    pub fn read() -> ThisMachine {
        let memory = field("/proc/meminfo", "MemTotal");
        let kib = memory.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok());
        ThisMachine {
            kernel: format!("Linux {}", kernel_version::release().trim()),
            processor: field("/proc/cpuinfo", "model name"),
            cores: available_parallelism().map_or(1, usize::from),
            memory_mib: kib.unwrap_or(0) / 1024,
        }
    }
}

/// What the first line of the file that begins with `name` has behind its colon.
fn field(path: &str, name: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name));
    line.and_then(|line| Some(line.split_once(':')?.1.trim().to_owned())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_kernel_and_a_processor() {
        let machine = ThisMachine::read();
        assert!(machine.kernel.starts_with("Linux ") && machine.cores >= 1, "{machine:?}");
        assert!(machine.memory_mib > 0, "{machine:?}");
    }
}
