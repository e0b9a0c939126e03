//! What a violation is told by: the smallest plan that still violates the same, its last packets,
//! and how to replay it.

use super::campaign::{Found, play};
use super::progress::SeedProgress;
use bentpipe_sim::Listener;
use bentpipe_sim::fuzz::{SmallerPlan, shrink};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, io};

/// How many packets are shown of those that arrived before the violation.
const PACKETS: usize = 10;

/// A violation, made small.
#[derive(Debug)]
pub(super) struct Finding {
    /// The smallest plan found that violates the same.
    smallest: SmallerPlan,
    /// What it violates.
    what: String,
    /// The last packets before that.
    packets: Vec<String>,
    /// Where its text was written, if it could be.
    file: Option<PathBuf>,
}

impl Finding {
    /// Looks for the smallest plan for as long as `time` and until `stop` is set, and plays it once
    /// more.
    pub(super) fn investigate(
        found: &Found,
        time: Duration,
        stop: &AtomicBool,
        progress: &SeedProgress,
    ) -> Finding {
        let (end, mut plays) = (Instant::now() + time, 0);
        let smallest = shrink(found.seed, |smaller| {
            if Instant::now() >= end || stop.load(Ordering::Relaxed) {
                return None;
            }
            plays += 1;
            progress.shrinking(found.seed, plays, smaller);
            let outcome = play(&smaller.plan(), None);
            Some(outcome.is_err_and(|what| kind(&what) == kind(&found.what)))
        });
        let last = Arc::new(Mutex::new(VecDeque::new()));
        let heard = Arc::clone(&last);
        let listener = Listener::new(move |line| {
            let mut last = heard.lock().unwrap_or_else(PoisonError::into_inner);
            if last.len() == PACKETS {
                last.pop_front();
            }
            last.push_back(line);
        });
        let outcome = play(&smallest.plan(), Some(listener));
        let what = outcome.err().unwrap_or_else(|| found.what.clone());
        let packets = last.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect();
        Finding { smallest, what, packets, file: None }
    }

    /// Writes the plan into `folder`, with all parameters.
    pub(super) fn write(&mut self, folder: &Path) -> io::Result<()> {
        let file = folder.join(format!("fuzz-{}.plan", self.smallest.seed));
        let comment =
            |text: &str| text.lines().map(|line| format!("# {line}\n")).collect::<String>();
        let text = format!(
            "# Replay: bentpipe fuzz --plan {}\n{}{}\n# The last packets:\n{}\n# All parameters:\n{}",
            file.display(),
            comment(&self.what),
            self.smallest,
            comment(&self.packets.join("\n")),
            comment(&format!("{:#?}", self.smallest.plan()))
        );
        fs::write(&file, text)?;
        self.file = Some(file);
        Ok(())
    }

    /// The same for a reader, beginning with one line on what was violated.
    pub(super) fn text(&self) -> String {
        let Finding { smallest, what, packets, file } = self;
        let seed = smallest.seed;
        let mut text = format!("seed {seed} violates {what}\n");
        let _ = writeln!(text, "\nThe smallest plan that still does{}:", size(smallest));
        for line in smallest.plan().to_string().lines() {
            let _ = writeln!(text, "  {line}");
        }
        let _ = writeln!(text, "\nThe last {} packets and events:", packets.len());
        for line in packets {
            let _ = writeln!(text, "  {line}");
        }
        let _ = match file {
            Some(file) => writeln!(text, "\nReplay: bentpipe fuzz --plan {}", file.display()),
            None => writeln!(
                text,
                "\nReplay: bentpipe fuzz --plan FILE, with this in the file:\n{smallest}"
            ),
        };
        let _ = write!(text, "As drawn: bentpipe fuzz --seed {seed}");
        text
    }

    pub(super) fn json(&self) -> Value {
        let plan = self.smallest.plan();
        json!({
            "what": self.what,
            "plan": self.smallest.to_string(),
            "calls": plan.calls.len(),
            "changes": plan.changes.len(),
            "packets": self.packets,
            "file": self.file,
            "parameters": format!("{plan:?}"),
        })
    }
}

/// How much of the drawn plan is left.
fn size(smallest: &SmallerPlan) -> String {
    let [left, drawn] = [smallest, &SmallerPlan::whole(smallest.seed)].map(|it| {
        let plan = it.plan();
        let ends = plan.calls.iter().flat_map(|call| &call.applications);
        (plan.calls.len(), plan.changes.len(), ends.map(|end| end.bytes).sum::<u64>())
    });
    format!(
        " ({} of {} connections, {} of {} changes, {} of {} bytes)",
        left.0, drawn.0, left.1, drawn.1, left.2, drawn.2
    )
}

/// What kind of violation it is: the invariant, or a panic and where it was.
fn kind(what: &str) -> &str {
    let end = if what.starts_with("panicked") { ": " } else { " at " };
    what.split(end).next().unwrap_or(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_apart() {
        assert_eq!(kind("whole at 93.3 s: end 0 at last"), "whole");
        let panicked = "panicked at crates/sim/src/x.rs:7:1: one";
        assert_eq!(kind(panicked), "panicked at crates/sim/src/x.rs:7:1");
    }
}
