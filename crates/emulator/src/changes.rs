//! Changes of a running link, said as settings: which of them it takes, and what they make of its
//! two directions.

use crate::live::{self, LiveError};
use bentpipe_links::{DirectionChange, Directions, LinkSettings, SettingsError};

const RATE: &[&str] = &["rate"];
const DELAY: &[&str] = &["delay"];
const LOSSES: &[&str] = &["loss", "gilbert-elliott", "bit-errors"];
const IMPAIRMENTS: &[&str] = &["jitter", "reorder", "reorder-by", "duplicate", "corrupt"];
/// Each direction, as it is called where it is set alone.
const EACH: [(Directions, &str); 2] = [(Directions::Forward, "down"), (Directions::Back, "up")];

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
    /// Of the direction down.
    pub down: Option<&'a str>,
    /// Of the direction up.
    pub up: Option<&'a str>,
}

/// A change that a link takes.
#[derive(Debug)]
pub struct LinkChange {
    /// Its settings from then on.
    pub settings: LinkSettings,
    /// What becomes of the emulator's directions.
    pub directions: [Option<DirectionChange>; 2],
}

/// Reads a change of the link with these `settings` and `seed`, whose directions the emulator has
/// in the order `order`.
///
/// # Errors
/// [`ChangeError`]
pub fn read(
    settings: &LinkSettings,
    request: &ChangeRequest<'_>,
    order: [Directions; 2],
    seed: u64,
) -> Result<LinkChange, ChangeError> {
    let before = settings;
    let mut settings = before.clone();
    let mut own = [LinkSettings::default(), LinkSettings::default()];
    // What is said of both holds for either, whatever was said of that one before.
    let said = [
        ("--both", request.both, &EACH[..]),
        ("--down", request.down, &EACH[..1]),
        ("--up", request.up, &EACH[1..]),
    ];
    for (origin, text, each) in said {
        let Some(text) = text else { continue };
        for (direction, _) in each {
            let at = usize::from(*direction == Directions::Back);
            for target in [&mut settings, &mut own[at]] {
                target.add(*direction, origin, text)?;
            }
        }
    }
    check(before, &settings, &own)?;
    let link = live::read(&settings, seed)?;
    let mut configs = link.configs().map(Some);
    let directions = order.map(|direction| {
        let at = usize::from(direction == Directions::Back);
        let keys = own[at].keys(direction);
        let any = |of: &[&str]| keys.iter().any(|key| of.contains(key));
        let config = configs[at].take().filter(|_| !keys.is_empty())?;
        Some(DirectionChange {
            config,
            rate: any(RATE),
            delay: any(DELAY),
            losses: any(LOSSES),
            impairments: any(IMPAIRMENTS),
        })
    });
    Ok(LinkChange { settings, directions })
}

/// Whether each direction can take what its `own` settings say.
fn check(
    before: &LinkSettings,
    after: &LinkSettings,
    own: &[LinkSettings; 2],
) -> Result<(), ChangeError> {
    let traced = before.keys(Directions::Both).contains(&"trace");
    for ((direction, name), own) in EACH.iter().zip(own) {
        let keys = own.keys(*direction);
        if let Some(key) = keys.iter().find(|key| !changeable().contains(key)) {
            return Err(ChangeError::Fixed { key: (*key).to_owned() });
        }
        if !keys.is_empty() && (traced || after.keys(*direction).contains(&"trace")) {
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

    /// What becomes of the directions down and up of a link with `settings`, or why not.
    fn change(
        settings: &str,
        request: &ChangeRequest<'_>,
    ) -> Result<[Option<DirectionChange>; 2], String> {
        let mut before = LinkSettings::default();
        before.add(Directions::Both, "--both", settings).unwrap();
        let change = read(&before, request, [Directions::Forward, Directions::Back], 1);
        change.map(|change| change.directions).map_err(|error| error.to_string())
    }

    #[test]
    fn a_direction_takes_what_is_said_of_it() {
        let request = ChangeRequest { down: Some("rate=2Mbit/s,loss=1%"), ..Default::default() };
        let [down, up] = change("rate=8Mbit/s,delay=20ms", &request).unwrap();
        let down = down.unwrap();
        assert!(down.rate && down.losses && !down.delay && !down.impairments && up.is_none());
        let request = ChangeRequest { both: Some("jitter=5ms"), ..Default::default() };
        let both = change("rate=8Mbit/s,delay=20ms", &request).unwrap();
        assert!(both.iter().flatten().filter(|one| one.impairments && !one.rate).count() == 2);
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
