//! Remotes as an operator sees them.

use crate::announce::Identity;
use bentpipe_core::units::{Bytes, Rate};
use std::fmt;

/// The other end of the satellite link: a gateway, or all those behind one carrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RemoteName {
    /// The gateway that reports this identity.
    Gateway(u32),
    /// All gateways, where one carrier counts as one link.
    Carrier,
    /// Gateways that have not reported yet.
    Unreported,
}

impl RemoteName {
    pub(super) fn of(identity: Option<Identity>) -> RemoteName {
        match identity {
            None => RemoteName::Unreported,
            Some(Identity::OF_CARRIER) => RemoteName::Carrier,
            Some(identity) => RemoteName::Gateway(identity.bits()),
        }
    }
}

impl fmt::Display for RemoteName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RemoteName::Gateway(identity) => write!(out, "{identity:08x}"),
            RemoteName::Carrier => out.write_str("carrier"),
            RemoteName::Unreported => out.write_str("unreported"),
        }
    }
}

/// A remote as it stands at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteView {
    /// Its name.
    pub name: RemoteName,
    /// The flows that lead to it.
    pub flows: u64,
    /// The rate at which its flows take turns: what its link was found to carry.
    pub used_at: Option<Rate>,
    /// The bytes that fill its link, once its flows have found them.
    pub window: Option<Bytes>,
}
