//! Receive packet steering (`scaling.rst` of Linux): which processors take what arrives on an
//! interface.
//!
//! A TUN device receives within the write: routing, programs, the way out. A thread that writes
//! much has no time left to read. With steering the kernel hands each flow's packets to one of
//! several processors, in their order.

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use std::fs;
use std::io;
use std::path::PathBuf;

/// Spreads what arrives on an interface over the processors that this thread may use. An operator's
/// own choice stays. With one processor nothing is done.
///
/// # Errors
/// The system's: only root may, and a kernel may have no such thing (`CONFIG_RPS`).
pub fn spread(interface: &str) -> io::Result<()> {
    let usable = sched_getaffinity(Pid::from_raw(0))?;
    let usable = |processor| usable.is_set(processor).unwrap_or(false);
    let processors: Vec<usize> = (0..CpuSet::count()).filter(|cpu| usable(*cpu)).collect();
    if processors.len() < 2 || is_spread(interface)? {
        return Ok(());
    }
    fs::write(file_of(interface), mask_of(&processors))
}

/// True where an interface hands packets that arrive to chosen processors.
fn is_spread(interface: &str) -> io::Result<bool> {
    let mask = fs::read_to_string(file_of(interface))?;
    Ok(mask.chars().any(|digit| digit.is_ascii_hexdigit() && digit != '0'))
}

fn file_of(interface: &str) -> PathBuf {
    ["/sys/class/net", interface, "queues/rx-0/rps_cpus"].iter().collect()
}

/// Processors as the kernel reads them: groups of 32 bits with commas between, the highest first.
fn mask_of(processors: &[usize]) -> String {
    let groups = processors.last().map_or(1, |last| last / 32 + 1);
    let group = |number: usize| {
        let of_group = processors.iter().filter(|processor| *processor / 32 == number);
        of_group.fold(0_u32, |bits, processor| bits | 1 << (processor % 32))
    };
    let texts: Vec<String> = (0..groups).rev().map(|it| format!("{:x}", group(it))).collect();
    texts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_has_a_bit_for_each_processor() {
        for (processors, mask) in
            [(&[0, 1][..], "3"), (&[4, 5, 31], "80000030"), (&[0, 32], "1,1"), (&[65], "2,0,0")]
        {
            assert_eq!(mask_of(processors), mask);
        }
    }

    #[test]
    fn what_is_no_interface_is_an_error() {
        assert!(is_spread("no-such-0").is_err());
    }
}
