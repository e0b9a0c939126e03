//! This process's use of the machine (getrusage(2)).

use bentpipe_core::time::Duration;
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike as _};

/// Since it began, all its threads together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessUsage {
    /// Processor time: its own code's and the kernel's for it.
    pub processor: Duration,
    /// Pages that the kernel had to provide without reading anything.
    pub minor_faults: u64,
    /// Times that it has left a processor, to wait or for another process.
    pub context_switches: u64,
}

impl ProcessUsage {
    /// As it is now; nothing where the kernel does not say.
    pub fn now() -> ProcessUsage {
        getrusage(UsageWho::RUSAGE_SELF).map(|usage| ProcessUsage::of(&usage)).unwrap_or_default()
    }

    fn of(usage: &Usage) -> ProcessUsage {
        let span = |time: TimeVal| Duration::from_micros(count(time.num_microseconds()));
        let switches = usage.voluntary_context_switches() + usage.involuntary_context_switches();
        ProcessUsage {
            processor: span(usage.user_time()) + span(usage.system_time()),
            minor_faults: count(usage.minor_page_faults()),
            context_switches: count(switches),
        }
    }
}

/// A number of the kernel's, which has 32 bits on machines of 32 bits.
fn count(number: impl Into<i64>) -> u64 {
    u64::try_from(number.into()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_touched_takes_pages_and_time() {
        let before = ProcessUsage::now();
        let touched: Vec<u8> = vec![1; 32 << 20];
        let after = ProcessUsage::now();
        assert!(after.minor_faults > before.minor_faults, "{before:?} {after:?}");
        assert!(after.processor >= before.processor, "{before:?} {after:?}");
        drop(std::hint::black_box(touched));
    }
}
