//! Pages of a folder's captures: `graphs/point-P-run-R.html` has all hosts' connections of that
//! run, with what was recorded beside them.

use super::{CaptureError, Warn, choice, opened, page, series};
use crate::drawing::clear_graphs;
use bentpipe_capture::Reading;
use std::fs;
use std::path::{Path, PathBuf};

/// Of so many runs at most: who records more looks at few of them.
const RUNS: usize = 20;

/// Writes them; says where they are. Of a run with too many packets for a page, which has none,
/// `warn` hears.
///
/// # Errors
/// [`CaptureError`] of the first capture that cannot be read, or page that cannot be written.
pub fn write(folder: &Path, warn: Warn<'_>) -> Result<Vec<PathBuf>, Box<CaptureError>> {
    let into = folder.join("graphs");
    clear_graphs(folder);
    let mut written = Vec::new();
    let runs = entries(&folder.join("packets"));
    if runs.len() > RUNS {
        warn(&format!("graphs are drawn of the first {RUNS} of {} captured runs", runs.len()));
    }
    for run in runs.into_iter().take(RUNS) {
        let name = run.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let page = match page_of(&run, warn) {
            Ok(Some(page)) => page,
            Ok(None) => continue,
            Err(CaptureError::Choice(why)) => {
                warn(&format!("no graph of {name}: {why}"));
                continue;
            }
            Err(error) => return Err(Box::new(error)),
        };
        let path = into.join(format!("{name}.html"));
        let done = fs::create_dir_all(&into).and_then(|()| fs::write(&path, page));
        done.map_err(|why| {
            Box::new(CaptureError::Write { path: path.display().to_string(), why })
        })?;
        written.push(path);
    }
    Ok(written)
}

/// The page of one run's captures, which are in the folder `run`; nothing if they are too many for
/// a page.
///
/// # Errors
/// [`CaptureError`] of the first that cannot be read.
pub fn page_of_run(run: &Path, warn: Warn<'_>) -> Result<Option<String>, Box<CaptureError>> {
    match page_of(run, warn) {
        Ok(page) => Ok(page),
        Err(CaptureError::Choice(_)) => Ok(None),
        Err(error) => Err(Box::new(error)),
    }
}

/// Where a page has no room for what gateways saw, it has what the hosts did.
fn page_of(run: &Path, warn: Warn<'_>) -> Result<Option<String>, CaptureError> {
    let captures = captures(run);
    let hosts = || captures.iter().filter(|path| !series::of_gateway(path)).cloned();
    match page_of_all(&captures, warn) {
        Err(CaptureError::Choice(_)) if hosts().count() < captures.len() => {
            page_of_all(&hosts().collect::<Vec<_>>(), warn)
        }
        page => page,
    }
}

/// The page of all connections of these captures; `None` if there is no TCP in them.
fn page_of_all(paths: &[PathBuf], warn: Warn<'_>) -> Result<Option<String>, CaptureError> {
    let files = opened::open_any(paths, warn)?;
    if files.is_empty() {
        return Ok(None);
    }
    let chosen = choice::choose(&files, &Reading::default())?;
    Ok(Some(page::page(&files, &chosen, page::PageView::default())?))
}

/// The captures of packets; recordings if there are none.
fn captures(run: &Path) -> Vec<PathBuf> {
    let all = entries(run);
    let ending = |ending: &str| {
        let mine = all.iter().filter(|path| path.extension().is_some_and(|it| it == ending));
        mine.cloned().collect::<Vec<PathBuf>>()
    };
    let packets = ending("pcapng");
    if packets.is_empty() { ending("qlog") } else { packets }
}

/// What is in a folder, by name; nothing if there is none. Numbers count as such: run 10 is behind
/// run 9.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    paths.sort_by_cached_key(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name.len(), name)
    });
    paths
}
