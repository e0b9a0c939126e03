//! Finished runs on disk, one small file each, known again by what they came from; beside it
//! their time series and the captures of their packets, if the scenario wants them.
//!
//! A file's name is the SHA-256 digest of the version, the point's canonical text and the run's
//! number; its content is guarded by another. Files appear whole or not at all: they are written
//! beside their place and renamed. They are not forced to the disk, which would cost more than
//! short runs do: what a power cut leaves of one is found damaged, and that run is made again.

use crate::cell::Row;
use crate::figures::{self, FLOW_FIGURES, Figure, GROUP_FIGURES, LINK_FIGURES, RUN_FIGURES};
use crate::packet_files;
use crate::series_file::{self, SeriesMark};
use crate::tables::{TABLES, Table};
use bentpipe_results::RunResults;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// To be raised when records, columns or their meanings change.
const SCHEMA: u32 = 4;

/// What begins every file.
const MAGIC: &[u8; 16] = b"bentpipe run  1\n";

/// The version that results come from: this crate's, the results' schema, and a digest of the
/// sources, so that a changed program does not take an older one's runs for its own.
pub fn version() -> String {
    format!("{}/{SCHEMA}/{}", env!("CARGO_PKG_VERSION"), env!("BENTPIPE_SOURCES"))
}

/// What a run comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// Of run `run` of the point with this canonical text, by this version.
    pub fn of(canonical: &str, run: u32) -> Key {
        let mut digest = Sha256::new();
        for part in [version().as_bytes(), canonical.as_bytes()] {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        digest.update(run.to_le_bytes());
        Key(digest.finalize().into())
    }

    /// The same of a run that was measured on real stacks, which is not to be taken for a simulated
    /// one.
    pub fn of_measurement(canonical: &str, run: u32) -> Key {
        Key::of(&format!("# measured\n{canonical}"), run)
    }

    /// The name of its files.
    pub fn name(self) -> String {
        self.0[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// What is kept of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// What summaries need of the run.
    pub(crate) run: Figures,
    /// Of flows that are not background.
    pub(crate) flows: Vec<Figures>,
    /// Of directions of links.
    pub(crate) links: Vec<Figures>,
    /// Of groups of flows.
    pub(crate) groups: Vec<Figures>,
    /// If packets were recorded: how long their files are together, in bytes.
    pub(crate) packets: Option<u64>,
    /// If series were recorded: which file they are.
    pub(crate) series: Option<SeriesMark>,
    /// The rows of each table; those of series are in a file of their own.
    pub(crate) tables: [Vec<Row>; TABLES],
}

/// What summaries need of something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figures {
    /// Its name: of a link with its ends.
    pub(crate) name: Vec<String>,
    /// Its figures, in their order.
    pub(crate) values: Vec<Option<f64>>,
}

impl Figures {
    fn of<R>(name: &[&String], known: &[Figure<R>], row: &R) -> Figures {
        let name = name.iter().map(|name| (*name).clone()).collect();
        Figures { name, values: figures::values(known, row) }
    }
}

impl RunRecord {
    /// Of a run's results.
    pub fn new(results: &RunResults) -> RunRecord {
        let foreground = results.flows.iter().filter(|flow| !flow.background);
        let flows = foreground.map(|flow| Figures::of(&[&flow.name], FLOW_FIGURES, flow));
        let links = results.links.iter();
        let links = links.map(|l| Figures::of(&[&l.name, &l.from, &l.to], LINK_FIGURES, l));
        let groups = results.groups.iter();
        let groups = groups.map(|group| Figures::of(&[&group.name], GROUP_FIGURES, group));
        RunRecord {
            run: Figures::of(&[], RUN_FIGURES, &results.run),
            flows: flows.collect(),
            links: links.collect(),
            groups: groups.collect(),
            packets: None,
            series: None,
            tables: Table::ALL.map(|table| table.rows(results)),
        }
    }

    /// Its rows of a table, with the columns of [`Table::headings`]. Series are in a file of their
    /// own ([`Store::read_series`]).
    pub fn rows(&self, table: Table) -> &[Row] {
        &self.tables[table as usize]
    }

    /// With nothing but the rows of these tables: for who holds many runs that are in a store, and
    /// stores none of them.
    #[must_use]
    pub fn only(self, wanted: &[Table]) -> RunRecord {
        let mut tables = self.tables;
        for table in Table::ALL.iter().filter(|table| !wanted.contains(table)) {
            tables[*table as usize] = Vec::new();
        }
        let run = Figures { name: Vec::new(), values: Vec::new() };
        let (flows, links, groups) = (Vec::new(), Vec::new(), Vec::new());
        RunRecord { run, flows, links, groups, tables, ..self }
    }

    /// The goodputs that stopping rules go by.
    pub fn goodputs(&self) -> Vec<f64> {
        let goodput = |flow: &Figures| flow.values.first().copied().flatten().unwrap_or(0.0);
        self.flows.iter().map(goodput).collect()
    }
}

/// Why a stored run is of no use.
#[derive(Debug, thiserror::Error)]
pub enum Damaged {
    /// It cannot be read.
    #[error("{path} cannot be read: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// It is not what was written.
    #[error("{0} is damaged")]
    Content(String),
}

/// A folder of finished runs.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The store in `folder`, which is made if it is not there.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn open(folder: &Path) -> io::Result<Store> {
        fs::create_dir_all(folder)?;
        Ok(Store { folder: folder.to_owned() })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the captures of the run of this key are, in a folder of their own: a file for each
    /// host.
    pub fn packets(&self, key: Key) -> PathBuf {
        self.folder.join(key.name() + ".packets")
    }

    /// Where the record of the run of this key is.
    pub(crate) fn record(&self, key: Key) -> PathBuf {
        self.folder.join(key.name() + ".run")
    }

    /// Where the series of the run of this key are.
    pub(crate) fn series(&self, key: Key) -> PathBuf {
        self.folder.join(key.name() + ".series")
    }

    /// The rows of the series of the run of this key.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn read_series(&self, key: Key) -> io::Result<Vec<Row>> {
        series_file::read(&self.series(key))?.collect()
    }

    /// The run of this key, if it was stored. One whose series or captures are gone was not;
    /// captures are not read, but their length has to be right.
    ///
    /// # Errors
    /// [`Damaged`].
    pub fn load(&self, key: Key) -> Result<Option<RunRecord>, Damaged> {
        let path = self.record(key);
        let name = || path.display().to_string();
        let content = match fs::read(&path) {
            Ok(content) => content,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(Damaged::Unreadable { path: name(), source }),
        };
        let damaged = || Damaged::Content(name());
        let rest = content.strip_prefix(MAGIC).ok_or_else(damaged)?;
        let (digests, payload) = rest.split_at_checked(64).ok_or_else(damaged)?;
        if digests[..32] != key.0 || digests[32..] != *Sha256::digest(payload).as_slice() {
            return Err(damaged());
        }
        let record: RunRecord = postcard::from_bytes(payload).map_err(|_| damaged())?;
        if let Some(mark) = record.series {
            let path = self.series(key);
            match mark.is_of(&path) {
                Ok(None) => return Ok(None),
                Ok(Some(true)) => {}
                Ok(Some(false)) => return Err(Damaged::Content(path.display().to_string())),
                Err(source) => {
                    return Err(Damaged::Unreadable { path: path.display().to_string(), source });
                }
            }
        }
        if record.packets.is_none() {
            return Ok(Some(record));
        }
        let path = self.packets(key);
        match packet_files::length(&path) {
            Ok(None) => Ok(None),
            Ok(length) if length == record.packets => Ok(Some(record)),
            Ok(_) => Err(Damaged::Content(path.display().to_string())),
            Err(source) => Err(Damaged::Unreadable { path: path.display().to_string(), source }),
        }
    }

    /// Stores a run.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save(&self, key: Key, record: &RunRecord) -> io::Result<()> {
        let payload = postcard::to_stdvec(record).map_err(io::Error::other)?;
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(&self.folder)?;
        file.write_all(MAGIC)?;
        file.write_all(&key.0)?;
        file.write_all(&Sha256::digest(&payload))?;
        file.write_all(&payload)?;
        file.persist(self.record(key)).map_err(|error| error.error)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::Cell;

    fn record() -> RunRecord {
        let figures = |name: &str, values: &[Option<f64>]| Figures {
            name: vec![name.to_owned()],
            values: values.to_vec(),
        };
        let row = vec![Cell::None, Cell::Number(1.0 / 3.0), Cell::Text("x".to_owned())];
        let mut tables = [const { Vec::new() }; TABLES];
        tables[0].push(row);
        RunRecord {
            run: figures("", &[Some(1.0), None]),
            flows: vec![figures("main", &[Some(0.1 + 0.2), None])],
            links: vec![figures("sat", &[])],
            groups: Vec::new(),
            packets: None,
            series: None,
            tables,
        }
    }

    #[test]
    fn of_a_run_only_the_tables_that_are_wanted_are_held() {
        let mut record = record();
        record.tables[Table::Transfers as usize].push(Vec::new());
        let row = record.rows(Table::Results).to_vec();
        let only = record.only(&[Table::Results, Table::Links]);
        assert_eq!(only.rows(Table::Results), row);
        assert_eq!(only.tables.iter().map(Vec::len).sum::<usize>(), 1);
        assert!(only.run.values.is_empty() && only.flows.is_empty() && only.links.is_empty());
    }

    #[test]
    fn a_run_is_found_again_by_its_inputs_alone() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("runs")).unwrap();
        let key = Key::of("a = 1", 0);
        assert_eq!(store.load(key).unwrap(), None);
        store.save(key, &record()).unwrap();
        assert_eq!(store.load(key).unwrap(), Some(record()));
        for other in [Key::of("a = 1", 1), Key::of("a = 2", 0)] {
            assert_eq!(store.load(other).unwrap(), None);
        }
    }

    #[test]
    fn whatever_is_broken_in_a_file_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let key = Key::of("a = 1", 0);
        store.save(key, &record()).unwrap();
        let path = store.record(key);
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut broken = whole.clone();
            broken[at] ^= 1;
            fs::write(&path, broken).unwrap();
            assert!(matches!(store.load(key), Err(Damaged::Content(_))), "byte {at}");
            fs::write(&path, &whole[..at]).unwrap();
            assert!(matches!(store.load(key), Err(Damaged::Content(_))), "up to {at}");
        }
        // Another run's file in its place.
        fs::write(&path, &whole).unwrap();
        let other = Key::of("a = 1", 1);
        fs::rename(&path, store.record(other)).unwrap();
        assert!(matches!(store.load(other), Err(Damaged::Content(_))));
    }
}
