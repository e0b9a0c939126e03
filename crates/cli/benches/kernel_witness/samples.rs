//! The kernel's samples in a file, one a line: case, run, seconds, retransmissions, tenths.

use super::Case;
use super::outcome::Sample;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::sync::Mutex;

/// What an earlier run has measured, and where to write what this one does.
pub(crate) struct Kept {
    samples: BTreeMap<(String, u64), Sample>,
    file: Option<Mutex<File>>,
}

impl Kept {
    /// Reads `path`, if there is one.
    pub(crate) fn open(path: Option<&str>) -> Kept {
        let Some(path) = path else { return Kept { samples: BTreeMap::new(), file: None } };
        let text = fs::read_to_string(path).unwrap_or_default();
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        let samples =
            samples.map(|line| sample(line).unwrap_or_else(|| panic!("{path}: `{line}`")));
        let samples = samples.collect();
        let file = OpenOptions::new().create(true).append(true).open(path);
        Kept { samples, file: Some(Mutex::new(file.expect("the file of samples"))) }
    }

    pub(crate) fn sample(&self, case: Case, run: u64) -> Option<Sample> {
        self.samples.get(&(case.to_string(), run)).cloned()
    }

    pub(crate) fn keep(&self, case: Case, run: u64, sample: &Sample) {
        let Some(file) = &self.file else { return };
        let mut line = format!("{case} {run} {:.3} {}", sample.seconds, sample.retransmissions);
        for tenth in sample.tenths {
            line += &format!(" {tenth:.3}");
        }
        let mut file = file.lock().expect("no thread has panicked");
        writeln!(file, "{line}").expect("the file of samples");
    }
}

fn sample(line: &str) -> Option<((String, u64), Sample)> {
    let mut words = line.split(' ');
    let case = words.next()?.to_owned();
    let run = words.next()?.parse().ok()?;
    let seconds = words.next()?.parse().ok()?;
    let retransmissions = words.next()?.parse().ok()?;
    let tenths: Vec<f64> = words.map_while(|word| word.parse().ok()).collect();
    let tenths = tenths.try_into().ok()?;
    Some(((case, run), Sample { seconds, retransmissions, tenths }))
}
