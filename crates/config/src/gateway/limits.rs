//! `[limits]`: how much the gateway may hold, and for how long.

use super::bounds::{Size, Span};
use super::deployment::GatewayFile;
use super::forms::Optional;
use super::key::{Help, Key, fields, key};
use super::quantity::{Range, within, within_by};
use super::runs::Runs;
use crate::reader::{Reader, Result, Section};
use bentpipe_core::time::Duration;
use bentpipe_gateway::Config;
use std::ops::RangeInclusive;

pub(super) const LIMITS: Section = Section {
    path: "gateway.NAME.limits",
    about: "How much it may hold, and for how long. Connections beyond a limit are forwarded.",
    fields: &fields::<_, { KEYS.len() }>(KEYS),
    example: "limits = { memory = \"64MiB\", flows = 1000 }",
};

pub(super) const DRAIN: Section = Section {
    path: "gateway.toml, limits",
    about: "In `gateway.toml` alone.",
    fields: &fields::<_, { DEPLOYED_KEYS.len() }>(DEPLOYED_KEYS),
    example: "",
};

pub(super) const KEYS: &[Key<Config>] = &[
    key!(Config: "memory" => memory,
        within_by("bytes, from 1MiB", memory),
        "all flows together",
        help: Help { value: "", remark: "of all flows together" },
    ),
    key!(Config: "stream" => max_stream,
        // From the largest window without scaling, rounded down, to the largest with it (RFC 7323,
        // 2.3).
        Optional { form: within(Size(64_000)..=Size(1 << 30)), absent: "by its link" },
        "what each direction of a flow may hold at most; less where its bandwidth-delay product is less. Without it five times `rate` × `round-trip` of the satellite leg, at least 4MiB; where they are not known, what is measured to be needed",
        check: |reader, config| match config.max_stream.map(|stream| Size(stream.count())) {
            Some(stream) if stream.0 > config.memory.count() => {
                let memory = Size(config.memory.count());
                Err(reader.bad("stream", format!("stream: {stream} is more than memory, {memory}")))
            }
            _ => Ok(()),
        },
        help: Help {
            value: "\"64MiB\"",
            remark: "of one direction of one flow, at most; without it, 5 × rate × round-trip, or what is needed",
        },
    ),
    key!(Config: "guaranteed" => guaranteed,
        within_by("bytes, up to a half of `memory`", |config: &Config, _| {
            Range { min: Size(1), max: Size(config.memory.count() / 2), source: "" }
        }),
        "what each direction of a flow may hold whatever the others do",
        help: Help { value: "", remark: "of one direction of one flow, whatever the others hold" },
    ),
    key!(Config: "flows" => max_flows,
        within(FLOWS).not_zero_but("to split nothing, `observe = true` in [policy]"),
        "the most flows that it splits; no more than half of `nf_conntrack_max`, where a host tracks connections",
    ),
    key!(Config: "half-open" => max_half_open,
        within(1..=1_000_000),
        "of those, without a SYN-ACK yet; SYNs beyond it are forwarded",
        check: |reader, _| part_of_flows(reader, "half-open"),
        help: Help {
            value: "",
            remark: "of those, without a SYN-ACK yet; SYNs beyond it are forwarded",
        },
    ),
    key!(Config: "flows-per-client" => max_flows_per_client,
        within(FLOWS),
        "by the address that opens them",
        check: |reader, _| part_of_flows(reader, "flows-per-client"),
        help: Help { value: "", remark: "by the address that opens them" },
    ),
    key!(Config: "reset-drain" => reset_drain,
        within(DRAINS),
        "how long acknowledged bytes may take to be delivered after a RST, or wait for a host that takes none of them as its connection is handed back",
        help: Help {
            value: "",
            remark: "for delivering what is held after a host has reset a connection",
        },
    ),
];

/// Those of a gateway on a host alone.
pub(super) const DEPLOYED_KEYS: &[Key<GatewayFile>] = &[key!(GatewayFile: "drain" => drain,
    within(DRAINS),
    "how long a gateway that is stopped goes on delivering what it holds",
    help: Help { value: "", remark: "for delivering what is held when it is stopped" },
)];

/// A flow takes some hundred bytes at least.
const FLOWS: RangeInclusive<i64> = 1..=10_000_000;
const DRAINS: RangeInclusive<Span> = Span(Duration::ZERO)..=Span(Duration::from_secs(3600));

/// From what thirty flows are guaranteed, as below that of one none is ever split.
fn memory(_: &Config, runs: Runs) -> Range<Size> {
    let (max, source) = match runs {
        Runs::Simulated => (Size(1 << 50), ""),
        Runs::Deployed { memory } => (Size(memory >> 20 << 20), ", which is what this host has"),
    };
    Range { min: Size(1 << 20), max, source }
}

/// Refuses a part of all flows that is more than all, if both are given.
fn part_of_flows(reader: &Reader<'_>, key: &str) -> Result<()> {
    match (reader.maybe::<usize>(key)?, reader.maybe::<usize>("flows")?) {
        (Some(part), Some(flows)) if part > flows => {
            Err(reader.bad(key, format!("{key}: {part} is more than flows, {flows}")))
        }
        _ => Ok(()),
    }
}
