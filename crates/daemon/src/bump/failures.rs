//! Devices where packets cannot be taken any more, though they were.

use bentpipe_linux::surroundings::Finding;
use std::collections::BTreeMap;
use std::fmt::Display;

/// The devices that could not be repaired when they were looked after last, and why.
#[derive(Debug, Default)]
pub(super) struct Failures(BTreeMap<String, String>);

impl Failures {
    /// Notes the outcome of looking after a device. Whether it has begun to fail.
    pub(super) fn note(&mut self, device: &str, outcome: Result<(), impl Display>) -> bool {
        match outcome {
            Ok(()) => {
                self.0.remove(device);
                false
            }
            Err(error) => self.0.insert(device.to_owned(), error.to_string()).is_none(),
        }
    }

    /// For as long as they last.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let finding = |(device, why): (&String, &String)| Finding::NotTaken {
            device: device.clone(),
            why: why.clone(),
        };
        self.0.iter().map(finding).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_new_once_and_a_finding_until_its_device_is_repaired() {
        let mut failures = Failures::default();
        assert!(!failures.note("sat0", Ok::<_, &str>(())));
        assert!(failures.note("sat0", Err("no place")));
        assert!(!failures.note("sat0", Err("still no place")));
        assert!(failures.note("sat1", Err("no permission")));
        let found = failures.findings();
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(Finding::forbids_diversion));
        assert_eq!(
            found[0].to_string(),
            "packets are not taken at sat0 any more, and nothing is split until they are: still no place"
        );
        assert!(!failures.note("sat0", Ok::<_, &str>(())));
        assert_eq!(failures.findings().len(), 1);
        assert!(failures.note("sat0", Err("no place")), "once more");
    }
}
