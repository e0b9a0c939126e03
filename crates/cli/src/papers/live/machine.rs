//! The machine on which something is measured.

use bentpipe_linux::machine::ThisMachine;
use bentpipe_papers::live::Machine;
use std::time::SystemTime;

/// This machine, today.
pub(super) fn this(commit: Option<String>, side_by_side: usize) -> Machine {
    let today = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let measured = today.get(..10).unwrap_or_default().to_owned();
    let ThisMachine { kernel, processor, cores, memory_mib } = ThisMachine::read();
    Machine { measured, commit, kernel, processor, cores, memory_mib, side_by_side }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_measured_today() {
        let machine = this(None, 3);
        assert!(machine.measured.starts_with("20") && machine.side_by_side == 3, "{machine:?}");
    }
}
