//! Files that a gateway has left for itself, and nobody else.

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::geteuid;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Why a file is not used.
#[derive(Debug, thiserror::Error)]
pub enum OwnFileError {
    /// The system did not let us.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Somebody else has put it there.
    #[error("it is not a file of ours")]
    Foreign,
    /// It has no end.
    #[error("it is too long")]
    Long,
}

/// Opens a file, if there is one: no link, and nothing that waits.
///
/// # Errors
/// [`OwnFileError::Foreign`] for a link, or [`OwnFileError::Io`].
pub(crate) fn open(path: &Path) -> Result<Option<File>, OwnFileError> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    match File::options().read(true).custom_flags(flags.bits()).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.raw_os_error() == Some(Errno::ELOOP as i32) => {
            Err(OwnFileError::Foreign)
        }
        file => Ok(Some(file?)),
    }
}

/// Reads what is in it, if it is ours and has at most `max` bytes.
///
/// # Errors
/// [`OwnFileError`].
pub(crate) fn read(file: File, max: u64) -> Result<Vec<u8>, OwnFileError> {
    let about = file.metadata()?;
    if !about.is_file() || about.uid() != geteuid().as_raw() {
        return Err(OwnFileError::Foreign);
    }
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(OwnFileError::Long);
    }
    Ok(bytes)
}
