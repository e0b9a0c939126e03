//! Reasons why flows could not be measured.

use bentpipe_linux::netns::NetnsError;
use std::io;

/// The reason why flows could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum FlowsError {
    /// A namespace or something in it.
    #[error(transparent)]
    Netns(#[from] NetnsError),
    /// The directory for configurations.
    #[error("cannot write the programs' configurations: {0}")]
    Files(io::Error),
    /// A router's program did not start.
    #[error("{name} did not start: {why}")]
    Forwarder {
        /// Its name.
        name: String,
        /// What it said.
        why: String,
    },
    /// It ended while it was measured.
    #[error("{name} ended while it was measured: {why}")]
    Ended {
        /// Its name.
        name: String,
        /// How, and what it said last.
        why: String,
    },
    /// A connection through the router did not open.
    #[error("cannot open a connection through the router: {0}")]
    Connect(io::Error),
    /// Pings need a raw socket.
    #[error("cannot ping: {0}")]
    Ping(io::Error),
    /// Connections take descriptors.
    #[error("cannot have {wanted} open files, as many as its connections take: {source}")]
    Descriptors {
        /// How many are needed.
        wanted: u64,
        /// What the system said.
        source: io::Error,
    },
}
