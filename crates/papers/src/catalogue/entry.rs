//! A claim's kind, its weight, and the method that decides it.

use serde::Deserialize;

/// The kind of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimKind {
    /// What a system is to do.
    Requirement,
    /// An experiment that can be made.
    Experiment,
    /// What an experiment has shown.
    Result,
    /// What can be computed.
    Formula,
    /// What the authors wished for.
    FutureWork,
}

/// The method that decides a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimMethod {
    /// By the simulator.
    Sim,
    /// By real hosts over the emulated link.
    Emulator,
    /// By a test of one part.
    Unit,
    /// By computing.
    Analytic,
    /// By reading.
    Inspect,
}

/// A claim's entry in the register of all claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its kind.
    pub kind: ClaimKind,
    /// 1: the papers' core; 2: what follows from it; 3: what they wished for.
    pub priority: u8,
    /// The method that decides it.
    pub how: ClaimMethod,
}
