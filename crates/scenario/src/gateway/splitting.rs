//! `[splitting]`: what of the hosts' connections is end to end.

use super::bounds::{Span, bounded};
use crate::reader::{Reader, Result, Section, field, one_of};
use bentpipe_core::time::Duration;
use bentpipe_gateway::{Config, FinMode, Handshake};
use std::ops::RangeInclusive;

/// An acknowledgment that waits longer is of no use to the host.
const FIN_HOLDS: RangeInclusive<Span> = Span(Duration::ZERO)..=Span(Duration::from_secs(3600));

pub(crate) const SPLITTING: Section = Section {
    path: "gateway.NAME.splitting",
    about: "What of the hosts' connections is end to end.",
    fields: &[
        one_of::<Handshake>(
            "handshake",
            "`end-to-end`",
            "whether a server's SYN-ACK is acknowledged when the client has done so, or at once",
        ),
        one_of::<FinMode>(
            "fin",
            "`end-to-end`",
            "whether a FIN is acknowledged when the far host has done so, or at once",
        ),
        field(
            "fin-hold",
            "a time, up to 1h",
            "30s",
            "how long a FIN's acknowledgment waits for the far side's",
        ),
        field("announce", "true or false", "true", "announce itself to other gateways in SYNs"),
    ],
    example: "splitting = { handshake = \"downstream-first\", fin = \"immediate\" }",
};

pub(super) fn read(reader: &Reader<'_>, config: &mut Config) -> Result<()> {
    config.handshake = reader.maybe_choice("handshake")?.unwrap_or(config.handshake);
    config.fin = reader.maybe_choice("fin")?.unwrap_or(config.fin);
    let fin_hold = bounded(reader, "fin-hold", &FIN_HOLDS)?;
    config.fin_hold = fin_hold.map_or(config.fin_hold, |Span(time)| time);
    config.announce = reader.or("announce", config.announce)?;
    Ok(())
}
