//! `[limits]`: how much the gateway may hold, and for how long.

use super::Runs;
use super::bounds::{Size, Span, bounded, within};
use crate::reader::{Reader, Result, Section, field};
use bentpipe_core::time::Duration;
use bentpipe_core::units::Bytes;
use bentpipe_gateway::Config;
use std::ops::RangeInclusive;

pub(super) const LIMITS: Section = Section {
    path: "gateway.NAME.limits",
    about: "How much it may hold, and for how long. Connections beyond a limit are forwarded.",
    fields: &[
        field("memory", "bytes, from 1MiB", "512MiB", "all flows together"),
        field(
            "stream",
            "bytes, 64KB to 1GiB",
            "by its link",
            "what each direction of a flow may hold at most; less where its bandwidth-delay product is less. Without it five times `rate` × `round-trip` of the satellite leg, at least 4MiB; where they are not known, what is measured to be needed",
        ),
        field(
            "guaranteed",
            "bytes, up to a half of `memory`",
            "12KiB",
            "what each direction of a flow may hold whatever the others do",
        ),
        field(
            "flows",
            "1 to 10000000",
            "200000",
            "the most flows that it splits; no more than half of `nf_conntrack_max`, where a host tracks connections",
        ),
        field(
            "half-open",
            "1 to 1000000",
            "8192",
            "of those, without a SYN-ACK yet; SYNs beyond it are forwarded",
        ),
        field("flows-per-client", "1 to 10000000", "50000", "by the address that opens them"),
        field(
            "reset-drain",
            "a time, up to 1h",
            "60s",
            "how long acknowledged bytes may take to be delivered after a RST, or wait for a host that takes none of them as its connection is handed back",
        ),
    ],
    example: "limits = { memory = \"64MiB\", flows = 1000 }",
};

pub(super) const DRAIN: Section = Section {
    path: "gateway.toml, limits",
    about: "In `gateway.toml` alone.",
    fields: &[field(
        "drain",
        "a time, up to 1h",
        "30s",
        "how long a gateway that is stopped goes on delivering what it holds",
    )],
    example: "",
};

/// A GEO link delivers a full stream of 4 MiB at 8 Mbit/s six times over in this time, and
/// systemd waits three times as long.
const USUAL_DRAIN: Duration = Duration::from_secs(30);

/// What thirty flows are guaranteed; below that of one, none is ever split.
const MIN_MEMORY: Size = Size(1 << 20);
/// From the largest window without scaling, rounded down, to the largest with it (RFC 7323, 2.3).
const STREAMS: RangeInclusive<Size> = Size(64_000)..=Size(1 << 30);
/// A flow takes some hundred bytes at least.
const FLOWS: RangeInclusive<i64> = 1..=10_000_000;
const HALF_OPEN: RangeInclusive<i64> = 1..=1_000_000;
const DRAINS: RangeInclusive<Span> = Span(Duration::ZERO)..=Span(Duration::from_secs(3600));

/// Changes `config` as the table says.
pub(super) fn read(reader: &Reader<'_>, config: &mut Config, runs: Runs) -> Result<()> {
    if let Some(Size(memory)) = memory(reader, runs)? {
        config.memory = Bytes::new(memory);
    }
    let memory = Size(config.memory.count());
    if let Some(stream) = bounded(reader, "stream", &STREAMS)? {
        if stream > memory {
            let why = format!("stream: {stream} is more than memory, {memory}");
            return Err(reader.bad("stream", why));
        }
        config.max_stream = Some(Bytes::new(stream.0));
    }
    let guarantees = Size(1)..=Size(memory.0 / 2);
    if let Some(Size(guaranteed)) = bounded(reader, "guaranteed", &guarantees)? {
        config.guaranteed = Bytes::new(guaranteed);
    }
    config.max_flows = flows(reader)?.unwrap_or(config.max_flows);
    config.max_half_open = part(reader, "half-open", &HALF_OPEN)?.unwrap_or(config.max_half_open);
    config.max_flows_per_client =
        part(reader, "flows-per-client", &FLOWS)?.unwrap_or(config.max_flows_per_client);
    let reset_drain = bounded(reader, "reset-drain", &DRAINS)?;
    config.reset_drain = reset_drain.map_or(config.reset_drain, |Span(time)| time);
    Ok(())
}

/// How long a gateway that is stopped goes on delivering what it holds.
pub(super) fn drain(reader: Option<&Reader<'_>>) -> Result<Duration> {
    let drain = reader.map(|reader| bounded(reader, "drain", &DRAINS)).transpose()?.flatten();
    Ok(drain.map_or(USUAL_DRAIN, |Span(time)| time))
}

fn memory(reader: &Reader<'_>, runs: Runs) -> Result<Option<Size>> {
    let Some(memory) = reader.maybe::<Size>("memory")? else { return Ok(None) };
    let (max, why) = match runs {
        Runs::Simulated => (Size(1 << 50), ""),
        Runs::Deployed { memory } => (Size(memory >> 20 << 20), ", which is what this host has"),
    };
    if !(MIN_MEMORY..=max).contains(&memory) {
        let range = format!("{MIN_MEMORY} to {max}{why}");
        let why = format!("memory: {memory} is out of range ({range})");
        return Err(reader.bad("memory", why));
    }
    Ok(Some(memory))
}

fn flows(reader: &Reader<'_>) -> Result<Option<usize>> {
    if reader.maybe::<i64>("flows")? == Some(0) {
        let (min, max) = (FLOWS.start(), FLOWS.end());
        let hint = "to split nothing, `observe = true` in [policy]";
        let why = format!("flows: 0 is out of range ({min} to {max}): {hint}");
        return Err(reader.bad("flows", why));
    }
    count(reader, "flows", &FLOWS)
}

/// A part of all flows, which is no more than all, if both are said.
fn part(reader: &Reader<'_>, key: &str, range: &RangeInclusive<i64>) -> Result<Option<usize>> {
    let part = count(reader, key, range)?;
    if let (Some(part), Some(flows)) = (part, reader.maybe::<usize>("flows")?)
        && part > flows
    {
        return Err(reader.bad(key, format!("{key}: {part} is more than flows, {flows}")));
    }
    Ok(part)
}

fn count(reader: &Reader<'_>, key: &str, range: &RangeInclusive<i64>) -> Result<Option<usize>> {
    let Some(number) = reader.maybe::<i64>(key)? else { return Ok(None) };
    within(key, &number, range).map_err(|why| reader.bad(key, why))?;
    Ok(usize::try_from(number).ok())
}
