//! The files of a trace as `show` and `verify` read them: as links do.

use super::Error;
use bentpipe_core::time::Duration;
use bentpipe_links::foreign::{self, Rows};
use bentpipe_links::{DirectionSpec, Directions, LinkSettings, file_text};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::File;

/// The files of a trace.
pub(super) struct Files {
    /// What a link makes of them.
    pub(super) direction: DirectionSpec,
    /// What stands in them.
    pub(super) rows: Rows,
    /// Their texts by their names.
    pub(super) texts: BTreeMap<String, String>,
    /// What messages call them.
    pub(super) name: String,
}

/// The text of a file.
pub(super) fn text(path: &str) -> Result<String, Error> {
    let file = File::open(path).map_err(|why| Error::File { path: path.to_owned(), why })?;
    file_text(file).map_err(|why| Error::Format { place: path.to_owned(), why })
}

/// Reads the files that make one trace, and says on standard error what of them was left out.
pub(super) fn read(names: &[String]) -> Result<Files, Error> {
    let mut texts = BTreeMap::new();
    for name in names {
        texts.insert(name.clone(), text(name)?);
    }
    let given: Vec<(&str, &str)> =
        names.iter().map(|name| (name.as_str(), texts[name].as_str())).collect();
    let rows = foreign::read(&given)?;
    let file = |name: &str| texts.get(name).cloned().ok_or_else(|| "it was not read".to_owned());
    let mut settings = LinkSettings::default();
    settings.set(Directions::Both, "", "trace", &json!(names).to_string());
    let link =
        settings.read(&file, 1, Duration::ZERO).map_err(|error| Error::Trace(error.problem))?;
    crate::sim::say(&link.notes);
    let [direction, _] = link.directions;
    Ok(Files { direction, rows, name: names.join(", "), texts })
}
