//! Which Linux this is: what its TCP can be told changes with it.

use std::fs;

/// The first two numbers of a kernel's release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KernelVersion(pub u32, pub u32);

impl KernelVersion {
    /// Of the running kernel; of one that does not tell, later than any.
    pub fn running() -> KernelVersion {
        KernelVersion::parse(&release()).unwrap_or(KernelVersion(u32::MAX, 0))
    }

    fn parse(release: &str) -> Option<KernelVersion> {
        let mut numbers = release.trim().split(|c: char| !c.is_ascii_digit());
        Some(KernelVersion(numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    }
}

/// The running kernel's release, as it writes it; empty if it does not tell.
pub(crate) fn release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_number() {
        let of = |release| KernelVersion::parse(release).unwrap();
        assert_eq!(of("6.17.0-rc1\n"), KernelVersion(6, 17));
        assert_eq!(of("5.10.0-28-amd64"), KernelVersion(5, 10));
        assert!(of("6.9.1") < of("6.17") && of("6.17") < of("7.0.0"));
        assert_eq!(KernelVersion::parse("unknown"), None);
        assert!(KernelVersion::running() >= KernelVersion(5, 10));
    }
}
