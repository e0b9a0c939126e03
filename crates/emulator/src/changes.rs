//! Changes of a running link, said as settings: which of them it takes, and what they make of its two directions.

use crate::live::{self, LiveError};
use crate::way::WayChange;
use bentpipe_links::{LinkSettings, SettingsError, Way};

const RATE: &[&str] = &["rate"];
const DELAY: &[&str] = &["delay"];
const LOSSES: &[&str] = &["loss", "gilbert-elliott", "bit-errors"];
const IMPAIRMENTS: &[&str] = &["jitter", "reorder", "reorder-by", "duplicate", "corrupt"];
/// Both ways, as they are set one by one.
const WAYS: [(Way, &str); 2] = [(Way::Forward, "down"), (Way::Back, "up")];

/// Why a running link does not change.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// A setting.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// What it would be then.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// A key that holds for as long as the link runs.
    #[error("`{key}` cannot change while the link runs: {}", changeable().join(", "))]
    Fixed {
        /// The key.
        key: String,
    },
    /// What the direction is stands in a file.
    #[error("{0} follows a trace")]
    Trace(&'static str),
}

/// What is to change: settings, as `rate=2Mbit/s,loss=1%`.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChangeRequest<'a> {
    /// Of both directions.
    pub both: Option<&'a str>,
    /// Of the way down.
    pub down: Option<&'a str>,
    /// Of the way up.
    pub up: Option<&'a str>,
}

/// A change that a link takes.
#[derive(Debug)]
pub struct LinkChange {
    /// Its settings from then on.
    pub settings: LinkSettings,
    /// What becomes of the emulator's directions.
    pub ways: [Option<WayChange>; 2],
}

/// Reads a change of the link with these `settings` and `seed`. `ways` are those of the emulator's directions.
///
/// # Errors
/// [`ChangeError`]
pub fn read(
    settings: &LinkSettings,
    request: &ChangeRequest<'_>,
    ways: [Way; 2],
    seed: u64,
) -> Result<LinkChange, ChangeError> {
    let before = settings;
    let mut settings = before.clone();
    let mut own = [LinkSettings::default(), LinkSettings::default()];
    // What is said of both holds for either, whatever was said of that one before.
    let said = [
        ("--both", request.both, &WAYS[..]),
        ("--down", request.down, &WAYS[..1]),
        ("--up", request.up, &WAYS[1..]),
    ];
    for (origin, text, ways) in said {
        let Some(text) = text else { continue };
        for (way, _) in ways {
            let at = usize::from(*way == Way::Back);
            for target in [&mut settings, &mut own[at]] {
                target.add(*way, origin, text)?;
            }
        }
    }
    check(before, &settings, &own)?;
    let link = live::read(&settings, seed)?;
    let mut parts = link.parts().map(Some);
    let ways = ways.map(|way| {
        let at = usize::from(way == Way::Back);
        let keys = own[at].keys(way);
        let any = |of: &[&str]| keys.iter().any(|key| of.contains(key));
        let parts = parts[at].take().filter(|_| !keys.is_empty())?;
        Some(WayChange {
            parts,
            rate: any(RATE),
            delay: any(DELAY),
            losses: any(LOSSES),
            impairments: any(IMPAIRMENTS),
        })
    });
    Ok(LinkChange { settings, ways })
}

/// Whether each direction can take what its `own` settings say.
fn check(
    before: &LinkSettings,
    after: &LinkSettings,
    own: &[LinkSettings; 2],
) -> Result<(), ChangeError> {
    let traced = before.keys(Way::Both).contains(&"trace");
    for ((way, name), own) in WAYS.iter().zip(own) {
        let keys = own.keys(*way);
        if let Some(key) = keys.iter().find(|key| !changeable().contains(key)) {
            return Err(ChangeError::Fixed { key: (*key).to_owned() });
        }
        if !keys.is_empty() && (traced || after.keys(*way).contains(&"trace")) {
            return Err(ChangeError::Trace(name));
        }
    }
    Ok(())
}

/// The keys that may change.
fn changeable() -> Vec<&'static str> {
    [RATE, DELAY, LOSSES, IMPAIRMENTS].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of the ways down and up of a link with `settings`, or why not.
    fn change(
        settings: &str,
        request: &ChangeRequest<'_>,
    ) -> Result<[Option<WayChange>; 2], String> {
        let mut before = LinkSettings::default();
        before.add(Way::Both, "--both", settings).unwrap();
        let change = read(&before, request, [Way::Forward, Way::Back], 1);
        change.map(|change| change.ways).map_err(|error| error.to_string())
    }

    #[test]
    fn a_direction_takes_what_is_said_of_it() {
        let request = ChangeRequest { down: Some("rate=2Mbit/s,loss=1%"), ..Default::default() };
        let [down, up] = change("rate=8Mbit/s,delay=20ms", &request).unwrap();
        let down = down.unwrap();
        assert!(down.rate && down.losses && !down.delay && !down.impairments && up.is_none());
        let request = ChangeRequest { both: Some("jitter=5ms"), ..Default::default() };
        let ways = change("rate=8Mbit/s,delay=20ms", &request).unwrap();
        assert!(ways.into_iter().flatten().filter(|way| way.impairments && !way.rate).count() == 2);
    }

    #[test]
    fn a_queue_stays() {
        let request = ChangeRequest { up: Some("rate=1Mbit/s,queue=codel"), ..Default::default() };
        let why = change("rate=8Mbit/s", &request).unwrap_err();
        assert!(
            why.starts_with("`queue` cannot change while the link runs: rate, delay,"),
            "{why}"
        );
    }
}
