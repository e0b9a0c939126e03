//! Memory that was freed, returned to the kernel. The C library keeps what lies between blocks that
//! are in use: after a peak a process stays as large as it was.

use bentpipe_core::time::{Duration, Instant};

/// Less is kept for what comes next.
const WORTH_IT: usize = 4 << 20;

/// How long less must have been in use: what comes and goes is not returned each time.
const SETTLED: Duration = Duration::from_secs(3);

/// When memory is returned: some time after much less is in use than was.
#[derive(Debug, Default)]
pub struct HeapTrim {
    /// The most that was in use since memory was returned last.
    peak: usize,
    /// When it is looked at again.
    at: Option<Instant>,
}

impl HeapTrim {
    /// So many bytes are in use. Whether what was freed is to be [returned](trim) now.
    pub fn is_due(&mut self, now: Instant, in_use: usize) -> bool {
        self.peak = self.peak.max(in_use);
        if self.peak - in_use < WORTH_IT {
            self.at = None;
            return false;
        }
        let due = *self.at.get_or_insert(now + SETTLED) <= now;
        if due {
            *self = HeapTrim { peak: in_use, at: None };
        }
        due
    }

    /// When [`HeapTrim::is_due`] wants to be asked again, if ever.
    pub fn next(&self) -> Option<Instant> {
        self.at
    }
}

/// Returns what was freed, page by page (malloc_trim(3)).
#[cfg(target_env = "gnu")]
#[allow(unsafe_code)]
pub fn trim() {
    // SAFETY: it takes a number, and no memory that is in use.
    unsafe { nix::libc::malloc_trim(0) };
}

/// Nothing to do: other C libraries return what was freed themselves.
#[cfg(not(target_env = "gnu"))]
pub fn trim() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_returned_once_when_much_less_has_been_in_use_for_a_while() {
        let (mut trim, at) =
            (HeapTrim::default(), |secs| Instant::ZERO + Duration::from_secs(secs));
        assert!(!trim.is_due(at(0), 100 << 20));
        assert_eq!(trim.next(), None, "it is in use");
        assert!(!trim.is_due(at(1), 20 << 20));
        assert_eq!(trim.next(), Some(at(4)));
        // Nothing hurries it, and what comes back puts it off.
        assert!(!trim.is_due(at(2), 10 << 20));
        assert!(!trim.is_due(at(3), 99 << 20));
        assert_eq!(trim.next(), None);
        assert!(!trim.is_due(at(5), 1 << 20));
        assert!(trim.is_due(at(8), 1 << 20));
        assert!(!trim.is_due(at(20), 1 << 20), "once");
        assert!(!trim.is_due(at(21), 0), "little");
    }

    /// Blocks that were freed between others that are in use: nothing at the end of the heap can be
    /// cut off.
    #[test]
    #[cfg(target_env = "gnu")]
    fn what_was_freed_between_blocks_in_use_is_returned() {
        let resident = || -> usize {
            let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
            4096 * statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap()
        };
        let blocks: Vec<[Vec<u8>; 2]> =
            (0..8192).map(|_| [vec![1; 16 << 10], vec![1; 64]]).collect();
        let peak = resident();
        let in_use: Vec<Vec<u8>> = blocks.into_iter().map(|[_, small]| small).collect();
        trim();
        let kept = resident();
        assert!(kept + (64 << 20) < peak, "{kept} of {peak} bytes with {} blocks", in_use.len());
    }
}
