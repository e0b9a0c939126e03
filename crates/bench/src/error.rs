/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A run is a process of its own, and could not be started.
    #[error("cannot start a run: {0}")]
    Start(std::io::Error),
    /// It ended without its result.
    #[error("a run failed: {0}")]
    Run(String),
    /// The kernel does not say what a process has used.
    #[error("cannot read what the process has used: {0}")]
    Usage(String),
    /// A file of cases.
    #[error("{file}: {why}")]
    File {
        /// The file.
        file: String,
        /// What is wrong.
        why: String,
    },
    /// It was stopped.
    #[error("stopped")]
    Stopped,
}
