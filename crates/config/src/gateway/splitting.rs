//! `[splitting]`: what of the hosts' connections is end to end.

use super::bounds::{Size, Span, bounded};
use crate::reader::{Reader, Result, Section, field, one_of};
use bentpipe_core::time::Duration;
use bentpipe_core::units::Bytes;
use bentpipe_gateway::{Config, FinMode, Handshake};
use std::ops::RangeInclusive;

/// An acknowledgment that waits longer is of no use to the host.
const FIN_HOLDS: RangeInclusive<Span> = Span(Duration::ZERO)..=Span(Duration::from_secs(3600));

/// From the SYN on, to more than any page has.
const ADOPTIONS: RangeInclusive<Size> = Size(0)..=Size(1 << 30);

pub(super) const SPLITTING: Section = Section {
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
        field(
            "adopt-after",
            "bytes, up to 1GiB",
            "0B",
            "connections are forwarded until their hosts have acknowledged so much to each other, and then split; 0B: they are split from the SYN on",
        ),
        field(
            "soft-state",
            "true or false",
            "false",
            "connections that were forwarded in mid-life, after two hours of silence or by a gateway that was stopped, are split again",
        ),
    ],
    example: "splitting = { handshake = \"downstream-first\", fin = \"immediate\" }",
};

pub(super) fn read(reader: &Reader<'_>, config: &mut Config) -> Result<()> {
    config.handshake = reader.maybe_choice("handshake")?.unwrap_or(config.handshake);
    config.fin = reader.maybe_choice("fin")?.unwrap_or(config.fin);
    let fin_hold = bounded(reader, "fin-hold", &FIN_HOLDS)?;
    config.fin_hold = fin_hold.map_or(config.fin_hold, |Span(time)| time);
    let adopt_after = bounded(reader, "adopt-after", &ADOPTIONS)?;
    config.adopt_after =
        adopt_after.filter(|&Size(bytes)| bytes > 0).map(|Size(bytes)| Bytes::new(bytes));
    config.soft_state = reader.or("soft-state", config.soft_state)?;
    config.announce = reader.or("announce", config.announce)?;
    Ok(())
}
