//! Traces from files: each alone, rates and delays together, or all of a folder.

use super::{Trace, Way};
use crate::examples;
use bentpipe_core::time::Duration;
use bentpipe_links::foreign;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

/// A trace that says no more than its beginning goes on for so long.
const ENDLESS: Duration = Duration::from_secs(120);

/// A file is no trace of a link's rate.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TraceFileError(String);

/// Those that come with bentpipe.
const BUILT_IN: [&str; 2] = ["leo-downlink", "leo-uplink"];

/// What names have instead of `delay` where the rates are.
const RATES: [&str; 4] = ["rate", "bw", "bandwidth", "capacity"];

/// The traces of a file, of `RATES,DELAYS`, or of a folder by their names. Without
/// `way`, names say whether they are of uplinks.
///
/// # Errors
/// [`TraceFileError`] for the first that is no trace with a rate.
pub fn of_path(path: &str, way: Option<Way>) -> Result<Vec<Trace>, TraceFileError> {
    let folder = Path::new(path);
    if !folder.is_dir() {
        let parts: Vec<PathBuf> = match path.split_once(',') {
            Some((rates, delays)) if !folder.exists() => vec![rates.into(), delays.into()],
            _ => vec![path.into()],
        };
        return Ok(vec![trace(&parts, way)?]);
    }
    let failed = |why: std::io::Error| wrong(folder, why);
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        let stem = stem(&file);
        // A folder's description is no trace.
        if file.is_file() && !stem.to_lowercase().starts_with("readme") && !stem.is_empty() {
            files.insert(stem, file);
        }
    }
    let delays: Vec<(String, String)> = files.keys().filter_map(|of| pair(&files, of)).collect();
    let mut traces = Vec::new();
    for (name, file) in &files {
        if delays.iter().any(|(_, of)| of == name) {
            continue;
        }
        let delays = delays.iter().filter(|(rates, _)| rates == name).map(|(_, of)| &files[of]);
        let parts: Vec<PathBuf> = [file].into_iter().chain(delays).cloned().collect();
        traces.push(trace(&parts, way)?);
    }
    if traces.is_empty() {
        return Err(wrong(folder, "there is no trace in it".to_owned()));
    }
    Ok(traces)
}

/// The two that come with bentpipe. A downlink and an uplink of a LEO link, made up.
///
/// # Errors
/// None: they are there.
pub fn built_in(way: Option<Way>) -> Result<Vec<Trace>, TraceFileError> {
    let one = |name: &&str| {
        let file = PathBuf::from(format!("{name}.csv"));
        let text = examples::trace(&file.to_string_lossy()).unwrap_or_default();
        of_texts(&file, &[(name, &text)], way)
    };
    BUILT_IN.iter().map(one).collect()
}

/// The names of rates and of the delays that go with them, if `delays` are some.
fn pair(files: &BTreeMap<String, PathBuf>, delays: &str) -> Option<(String, String)> {
    let rates = RATES.iter().map(|word| delays.replace("delay", word));
    let rates = rates.filter(|name| name != delays).find(|name| files.contains_key(name))?;
    Some((rates, delays.to_owned()))
}

/// A file's name without its endings.
fn stem(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let end = name.find('.').filter(|at| *at > 0).unwrap_or(name.len());
    let stem = &name[..if name.starts_with('.') { 0 } else { end }];
    // Names stand in tables, in scenarios, and as names of files.
    stem.replace(|letter: char| !(letter.is_alphanumeric() || "-_+".contains(letter)), "-")
}

fn trace(parts: &[PathBuf], way: Option<Way>) -> Result<Trace, TraceFileError> {
    let mut texts = Vec::new();
    for file in parts {
        let opened = fs::File::open(file).map_err(|error| wrong(file, error))?;
        let text = foreign::text(opened).map_err(|error| wrong(file, error))?;
        texts.push((file.display().to_string(), text));
    }
    let named: Vec<(&str, &str)> = texts.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    of_texts(&parts[0], &named, way)
}

/// A trace that is called as its first file.
fn of_texts(
    first: &Path,
    texts: &[(&str, &str)],
    way: Option<Way>,
) -> Result<Trace, TraceFileError> {
    let rows = foreign::read(texts).map_err(|error| TraceFileError(error.to_string()))?;
    if rows.rate.is_empty() {
        let why = "it says no rate: how much of the link is used cannot be said".to_owned();
        return Err(wrong(first, why));
    }
    let mut text = Vec::new();
    rows.write(&mut text).map_err(|error| wrong(first, error))?;
    let name = stem(first);
    let length = Some(rows.end()).filter(|end| *end > Duration::ZERO).unwrap_or(ENDLESS);
    let way = way.unwrap_or_else(|| Way::of_name(&name));
    let text = String::from_utf8_lossy(&text).into_owned();
    let notes = rows.notes.iter().map(|note| format!("{}: {note}", first.display())).collect();
    Ok(Trace { name, text, length, way, notes })
}

fn wrong(file: &Path, why: impl Display) -> TraceFileError {
    TraceFileError(format!("{}: {why}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_pairs_and_files_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("b_uplink.csv", "time,rate,delay\n0s,1Mbit/s,10ms\n10s,2Mbit/s,20ms\n");
        write("a_bw.txt", "1\n2\n3\n5000\n");
        write("a_delay.txt", "12\n13\n12\n");
        write("README.md", "# text");
        let traces = of_path(folder.path().to_str().unwrap(), None).unwrap();
        let named: Vec<(&str, Way)> = traces.iter().map(|t| (t.name.as_str(), t.way)).collect();
        assert_eq!(named, [("a_bw", Way::Down), ("b_uplink", Way::Up)]);
        assert!(traces[0].text.contains("delay"), "{}", traces[0].text);
        assert_eq!(traces[1].length, Duration::from_secs(10));
    }

    #[test]
    fn what_has_no_rate_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.csv");
        fs::write(&file, "time,delay\n0s,10ms\n").unwrap();
        let error = of_path(file.to_str().unwrap(), None).unwrap_err().to_string();
        assert!(error.contains("x.csv: it says no rate"), "{error}");
    }
}
