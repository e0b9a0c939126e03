//! A running gateway at a moment: its answers.

use crate::bump::passed::{Crossed, PassedPrefix};
use crate::work::Work;
use bentpipe_core::time::Duration;
use bentpipe_core::units::Bytes;
use bentpipe_gateway::benefit::Transfers;
use bentpipe_gateway::{FlowState, FlowView, LinkView, Prospect, RemoteView, Summary, Unsplit};
use bentpipe_linux::process_usage::ProcessUsage;

/// A gateway's totals at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Totals {
    /// Since the gateway began.
    pub uptime: Duration,
    /// What it has counted.
    pub summary: Summary,
    /// Counters of its system calls.
    pub work: Work,
    /// Its process's use of the machine.
    pub usage: ProcessUsage,
    /// The traffic over the satellite's devices, as far as the kernel's programs see it.
    pub crossed: Crossed,
    /// Flows in the table, by how far they have come.
    pub flows: [(FlowState, u64); FlowState::ALL.len()],
    /// Bytes held by all streams.
    pub held: Bytes,
    /// What they may hold.
    pub memory: Bytes,
    /// It splits nothing, and counts what it would split.
    pub observes: bool,
    /// How long it splits on trial yet.
    pub trial_left: Option<Duration>,
    /// Another gateway has answered on the satellite link.
    pub peer_known: bool,
    /// That link.
    pub satellite_link: LinkView,
    /// The remotes behind it that have links of their own.
    pub remotes: Vec<RemoteView>,
    /// When the satellite side's data is acknowledged, in connections with that gateway or without.
    pub acknowledgments: String,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The totals.
    pub totals: Totals,
    /// Each flow, if they were asked for.
    pub flows: Vec<FlowView>,
    /// The last connections that were not split, by reason, the oldest first, if they were asked
    /// for.
    pub unsplit: Vec<Unsplit>,
    /// What would become of the connection that was asked for.
    pub prospect: Option<Prospect>,
    /// The prefixes of what passes without being taken, if they were asked for.
    pub passed_prefixes: Vec<PassedPrefix>,
    /// The transfers that have ended, if they were asked for.
    pub transfers: Transfers,
}

/// Parts of an answer that only some questions ask for.
#[derive(Debug, Default)]
pub(crate) struct Details {
    pub(crate) unsplit: Vec<Unsplit>,
    pub(crate) prospect: Option<Prospect>,
    pub(crate) passed_prefixes: Vec<PassedPrefix>,
    pub(crate) transfers: Transfers,
}
