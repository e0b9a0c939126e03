//! The measurements: every file once end to end, once through the gateways.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use bentpipe_core::units::Bytes;
use bentpipe_linux::netns::process::Process;
use bentpipe_testbed::five_hosts::web::{WebServer, curl};
use bentpipe_testbed::five_hosts::{Programs, SatelliteLink, Testbed, TestbedConfig, TestbedError};
use rand::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use sha2::{Digest as _, Sha256};

use super::progress::Progress;
use super::report::{Row, limit};

/// How often the progress line is renewed.
pub(super) const TICK: Duration = Duration::from_millis(100);
/// A download that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The testbed could not be built, or a gateway not started.
    #[error(transparent)]
    Testbed(#[from] TestbedError),
    /// curl failed or took too long.
    #[error("download of {bytes} {path}: {message}")]
    Download {
        /// The file's size.
        bytes: Bytes,
        /// With or without gateways.
        path: &'static str,
        /// What curl said.
        message: String,
    },
    /// The files to serve could not be written, or the downloads not read.
    #[error("cannot use the testbed's files: {0}")]
    Files(#[from] io::Error),
}

/// One download: how long it took, and whether what came is what was sent.
#[derive(Debug, Clone, Copy)]
struct Download {
    seconds: f64,
    hash_matches: bool,
}

/// Measures files of `sizes` over `link`, end to end and, if `gateways`, through the gateways.
pub fn all(
    link: &SatelliteLink,
    sizes: &[u64],
    gateways: bool,
    progress: &mut dyn Progress,
) -> Result<Vec<Row>, MeasureError> {
    let binary = std::env::current_exe()?;
    let plan = TestbedConfig { link: Some(*link), ..TestbedConfig::default() };
    let mut testbed = Testbed::build(Programs { bentpipe: binary, gateway: None }, plan)?;
    let site = testbed.files().join("site");
    fs::create_dir(&site)?;
    let hashes: Vec<_> =
        sizes.iter().map(|&size| make_file(&site, size)).collect::<Result<_, _>>()?;
    let _server = WebServer::start(&testbed, &site)?;

    let mut column = |testbed: &mut Testbed, path| {
        let files = sizes.iter().zip(&hashes);
        files
            .map(|(&size, hash)| {
                progress.begin(&format!("{} {path}", Bytes::new(size)));
                download(testbed, size, hash, path)
            })
            .collect::<Result<Vec<_>, MeasureError>>()
    };
    let end_to_end = column(&mut testbed, "end to end")?;
    let through = if gateways {
        testbed.start_gateways()?;
        Some(column(&mut testbed, "through the gateways")?)
    } else {
        None
    };

    Ok((0..sizes.len())
        .map(|i| {
            let (direct, split) = (end_to_end[i], through.as_ref().map(|column| column[i]));
            Row {
                bytes: sizes[i],
                end_to_end_s: direct.seconds,
                gateways_s: split.map(|split| split.seconds),
                limit_s: limit(link, sizes[i]).as_secs_f64(),
                hashes_match: direct.hash_matches && split.is_none_or(|split| split.hash_matches),
            }
        })
        .collect())
}

/// Writes a file that no link can compress, and returns its hash.
fn make_file(site: &Path, size: u64) -> io::Result<Vec<u8>> {
    let content = content(size)?;
    fs::write(site.join(size.to_string()), &content)?;
    Ok(Sha256::digest(&content).to_vec())
}

/// What is in the file of `size` bytes.
pub(super) fn content(size: u64) -> io::Result<Vec<u8>> {
    let mut content = vec![0; usize::try_from(size).map_err(io::Error::other)?];
    Pcg64Mcg::seed_from_u64(size).fill_bytes(&mut content);
    Ok(content)
}

fn download(
    testbed: &Testbed,
    size: u64,
    hash: &[u8],
    path: &'static str,
) -> Result<Download, MeasureError> {
    let destination: PathBuf = testbed.files().join("download");
    let error = |message| MeasureError::Download { bytes: Bytes::new(size), path, message };
    let mut command = curl(&testbed.h1, Testbed::H2_V4, &size.to_string(), &destination);
    let mut curl = Process::start("curl", &mut command).map_err(TestbedError::from)?;
    let began = Instant::now();
    let status = loop {
        if let Some(status) = curl.wait(TICK) {
            break status;
        }
        if began.elapsed() > PATIENCE {
            return Err(error(format!("still not complete after {PATIENCE:?}")));
        }
    };
    if !status.success() {
        return Err(error(curl.stderr().trim().to_owned()));
    }
    let seconds = curl.stdout().trim().parse().map_err(|_| error("no time from curl".into()))?;
    let hash_matches = Sha256::digest(fs::read(&destination)?).as_slice() == hash;
    fs::remove_file(&destination)?;
    // Closing takes a round trip too; the next measurement gets an empty link.
    thread::sleep(Duration::from_millis(800));
    Ok(Download { seconds, hash_matches })
}
