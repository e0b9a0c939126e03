//! How long a run lasts, and with which random numbers.

use bentpipe_config::reader::{Reader, Result, Section, field, one_of};
use bentpipe_core::time::Duration;

/// The frame of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// When it ends at the latest.
    pub duration: Duration,
    /// Statistics begin here.
    pub warm_up: Duration,
    /// When it ends.
    pub end: RunEnd,
    /// The scenario's random seed: see [`Seeds`](bentpipe_links::Seeds).
    pub seed: u64,
}

/// When a run ends.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum RunEnd {
    /// After its duration.
    #[default]
    Duration,
    /// When all flows that are not background have ended, or after its duration.
    FlowsDone,
}

pub(crate) const RUN: Section = Section {
    path: "run",
    about: "The frame of a run.",
    fields: &[
        field("duration", "a time", "", "how long it lasts; with `until = \"flows-done\"` at most"),
        one_of::<RunEnd>(
            "until",
            "`duration`",
            "`flows-done`: it ends as soon as all flows that are not background have",
        ),
        field("warm-up", "a time below `duration`", "0s", "statistics begin here"),
        field(
            "seed",
            "a whole number",
            "1",
            "random seed; run r of every point of a sweep draws the same numbers",
        ),
    ],
    example: "[run]\nduration = \"650s\"\nwarm-up = \"50s\"\nseed = 1",
};

impl Run {
    pub(crate) fn read(reader: &Reader<'_>) -> Result<Run> {
        let duration: Duration = reader.need("duration")?;
        if duration.is_zero() {
            return Err(reader.bad("duration", "a run of no length shows nothing"));
        }
        let warm_up = reader.or("warm-up", Duration::ZERO)?;
        if warm_up >= duration {
            return Err(reader.bad("warm-up", "warm-up must be shorter than duration"));
        }
        let end = reader.choice("until")?;
        Ok(Run { duration, warm_up, end, seed: reader.or("seed", 1)? })
    }
}
