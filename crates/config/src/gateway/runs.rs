//! The two places in which a gateway runs.

/// Where a gateway runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// In a simulation.
    Simulated,
    /// On a host with so many bytes of memory.
    Deployed {
        /// The host's.
        memory: u64,
    },
}
