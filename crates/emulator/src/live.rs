//! Which links can be emulated live, and settings as such a link.

use bentpipe_core::time::Duration;
use bentpipe_links::{LinkSettings, LiveLink, SettingsError, file_text};

/// Random outages are drawn for so long, and a scenario's link has so much time at least.
pub const HORIZON: Duration = Duration::from_secs(3600);

/// Why a link is not emulated live.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// A setting.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Not live.
    #[error("`loss-notification` is simulated only: TCP has no option for it")]
    TellsLosses,
}

/// Reads the link that `settings` describe; traces are read from the working directory.
///
/// # Errors
/// [`LiveError`]
pub fn read(settings: &LinkSettings, seed: u64) -> Result<LiveLink, LiveError> {
    let here = |file: &str| {
        std::fs::File::open(file).map_err(|error| error.to_string()).and_then(file_text)
    };
    let link = settings.read(&here, seed, HORIZON)?;
    check(&link)?;
    Ok(link)
}

/// Whether `link` is to do nothing that a live link cannot.
///
/// # Errors
/// [`LiveError::TellsLosses`]
pub fn check(link: &LiveLink) -> Result<(), LiveError> {
    match link.directions.iter().any(|direction| direction.impairments.tells_losses) {
        true => Err(LiveError::TellsLosses),
        false => Ok(()),
    }
}
