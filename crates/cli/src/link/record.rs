//! `bentpipe link --record`: what crosses the link, as a pcapng file.

use super::Error;
use bentpipe_core::units::Bytes;
use bentpipe_emulator::emulator::Emulator;
use bentpipe_emulator::recording::{Recording, RecordingOptions};
use std::path::PathBuf;

/// Whether, where and what.
#[derive(clap::Args)]
pub(super) struct RecordOptions {
    /// Record to this pcapng file what comes in at either end and what leaves there, the queue that
    /// it found, and what was dropped or lost: headers only
    #[arg(long, value_name = "FILE", conflicts_with = "self_test")]
    record: Option<PathBuf>,
    /// Record payloads, too
    #[arg(long, requires = "record")]
    record_payload: bool,
    /// The file's greatest length; what comes later is left out, and the link goes on
    #[arg(long, value_name = "BYTES", default_value = "1GB", requires = "record")]
    record_max: String,
}

impl RecordOptions {
    /// Begins the file, if there is to be one.
    pub(super) fn begin(&self, ends: [&str; 2]) -> Result<Option<Recording>, Error> {
        let Some(path) = &self.record else { return Ok(None) };
        let max: Bytes =
            self.record_max.parse().map_err(|error| Error::RecordMax(format!("{error}")))?;
        let options = RecordingOptions { payload: self.record_payload, max: max.count() };
        let failed = |error| Error::Record(path.display().to_string(), error);
        Recording::begin(path, &ends.map(str::to_owned), options).map(Some).map_err(failed)
    }

    /// Ends it, and says what has become of it.
    pub(super) fn end(&self, emulator: &mut Emulator) {
        let (Some(path), Some(summary)) = (&self.record, emulator.end_recording()) else { return };
        eprintln!(
            "bentpipe link: recorded {} packets ({} bytes) to {}, {} missing",
            summary.packets,
            summary.bytes,
            path.display(),
            summary.missed
        );
    }
}
