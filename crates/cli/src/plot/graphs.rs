//! Pages of a folder's captures: `graphs/point-P-run-R.html` has all hosts' connections of that run, with what was recorded beside them.

use super::capture::{self, Error};
use super::series;
use std::fs;
use std::path::{Path, PathBuf};

/// Of so many runs at most: who records more looks at few of them.
const RUNS: usize = 20;

/// Writes them; says where they are. A run with too many packets for a page has none, and is told.
pub(super) fn write(folder: &Path) -> Result<Vec<PathBuf>, Box<Error>> {
    let into = folder.join("graphs");
    bentpipe_lab::drawing::clear_graphs(folder);
    let mut written = Vec::new();
    let runs = entries(&folder.join("packets"));
    if runs.len() > RUNS {
        eprintln!("bentpipe: graphs are drawn of the first {RUNS} of {} captured runs", runs.len());
    }
    for run in runs.into_iter().take(RUNS) {
        let name = run.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let page = match page_of(&run) {
            Ok(Some(page)) => page,
            Ok(None) => continue,
            Err(Error::Choice(why)) => {
                eprintln!("bentpipe: no graph of {name}: {why}");
                continue;
            }
            Err(error) => return Err(Box::new(error)),
        };
        let path = into.join(format!("{name}.html"));
        let done = fs::create_dir_all(&into).and_then(|()| fs::write(&path, page));
        done.map_err(|why| Box::new(Error::Write { path: path.display().to_string(), why }))?;
        written.push(path);
    }
    Ok(written)
}

/// The page of one run's captures, which are in `run`; nothing if they are too many for a page.
pub(crate) fn page(run: &Path) -> Result<Option<String>, Box<Error>> {
    match page_of(run) {
        Ok(page) => Ok(page),
        Err(Error::Choice(_)) => Ok(None),
        Err(error) => Err(Box::new(error)),
    }
}

/// Where a page has no room for what gateways saw, it has what the hosts did.
fn page_of(run: &Path) -> Result<Option<String>, Error> {
    let captures = captures(run);
    let hosts = || captures.iter().filter(|path| !series::of_gateway(path)).cloned();
    match capture::page_of(&captures) {
        Err(Error::Choice(_)) if hosts().count() < captures.len() => {
            capture::page_of(&hosts().collect::<Vec<_>>())
        }
        page => page,
    }
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

/// What is in a folder, by name; nothing if there is none. Numbers count as such: run 10 is behind run 9.
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
