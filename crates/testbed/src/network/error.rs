//! Why a testbed is not as it was asked for.

use bentpipe_linux::instance::InstanceError;
use bentpipe_linux::netns::NetnsError;
use bentpipe_linux::poll::LoopError;
use bentpipe_linux::tun::TunError;
use std::io;

/// Why a testbed is not as it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// A namespace or something in it could not be made.
    #[error(transparent)]
    Netns(#[from] NetnsError),
    /// A device of a link.
    #[error(transparent)]
    Tun(#[from] TunError),
    /// A link's process cannot go on.
    #[error(transparent)]
    Link(LoopError),
    /// No lock, or no place for one.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// Somebody brings it up, runs on it or takes it down.
    #[error(
        "another command is at work on testbed {0}: wait for it, or `bentpipe testbed down {0}`"
    )]
    Busy(String),
    /// There is none of this name.
    #[error("no testbed {0} is up (`bentpipe testbed up FILE`)")]
    NotUp(String),
    /// It is not whole.
    #[error(
        "testbed {name} is not whole ({missing}): `bentpipe testbed down {name}`, and bring it up again"
    )]
    Broken {
        /// Its name.
        name: String,
        /// What is missing.
        missing: String,
    },
    /// A link's process does not answer.
    #[error("link {link} does not answer: {source}")]
    NoAnswer {
        /// The link's name.
        link: String,
        /// Why not.
        source: io::Error,
    },
    /// Its files cannot be read or written.
    #[error("cannot use {path}: {source}")]
    Files {
        /// Where they are.
        path: String,
        /// Why not.
        source: io::Error,
    },
    /// A signal has come meanwhile.
    #[error("interrupted")]
    Interrupted,
    /// Sockets or signals.
    #[error(transparent)]
    Io(io::Error),
}
