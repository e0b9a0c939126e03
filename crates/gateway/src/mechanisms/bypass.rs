//! Signs that a host hears the other one on another path: believed when several have come in a row.

use crate::leg::{Leg, PerLeg};
use bentpipe_core::tcp::tcb::Bypass;
use bentpipe_core::units::Bytes;
use serde::{Deserialize, Serialize};

/// Segments in a row that show that a route has changed, before it is believed.
const BYPASSED: u8 = 2;

/// By leg: the segments of its host in a row that showed it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct BypassSigns(PerLeg<u8>);

impl BypassSigns {
    /// The host of `leg` has acknowledged `acked` bytes, and `shown` something, perhaps. What of it
    /// is believed.
    pub(crate) fn note(&mut self, leg: Leg, shown: Option<Bypass>, acked: Bytes) -> Option<Bypass> {
        let seen = &mut self.0[leg];
        if shown.is_some() {
            *seen = seen.saturating_add(1);
        } else if acked > Bytes::ZERO {
            *seen = 0;
        }
        shown.filter(|_| *seen >= BYPASSED)
    }
}
