//! `[limits]`: how much the gateway may hold, and for how long.

use super::Wrong;
use super::bounds::{self, Size, Span, within};
use bentpipe_core::time::Duration;
use bentpipe_core::units::Bytes;
use bentpipe_gateway::Config;
use serde::Deserialize;
use std::ops::RangeInclusive;
use toml::Spanned;

/// The table.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Limits {
    memory: Option<Spanned<String>>,
    stream: Option<Spanned<String>>,
    flows: Option<Spanned<i64>>,
    half_open: Option<Spanned<i64>>,
    flows_per_client: Option<Spanned<i64>>,
    drain: Option<Spanned<String>>,
}

/// A GEO link delivers a full stream of 4 MiB at 8 Mbit/s six times over in this time, and
/// systemd waits three times as long.
const DRAIN: Duration = Duration::from_secs(30);

/// What thirty flows are guaranteed; below that of one, none is ever split.
const MIN_MEMORY: Size = Size(1 << 20);
/// From the largest window without scaling, rounded down, to the largest with it (RFC 7323, 2.3).
const STREAMS: RangeInclusive<Size> = Size(64_000)..=Size(1 << 30);
/// A flow takes some hundred bytes at least.
const FLOWS: RangeInclusive<i64> = 1..=10_000_000;
const HALF_OPEN: RangeInclusive<i64> = 1..=1_000_000;
const DRAINS: RangeInclusive<Span> = Span(Duration::ZERO)..=Span(Duration::from_secs(3600));

impl Limits {
    /// Changes `config` as the table says. `host` is the memory of this machine, in bytes.
    pub(super) fn set(&self, config: &mut Config, host: u64) -> Result<(), Wrong> {
        if let Some(memory) = self.memory(host)? {
            config.memory = memory;
        }
        if let Some(text) = &self.stream {
            let stream: Size = bounds::parse("stream", text)?;
            let memory = Size(config.memory.count());
            within("stream", &stream, &STREAMS).map_err(|error| Wrong::at(text, &error))?;
            if stream > memory {
                let error = format!("stream: {stream} is more than memory, {memory}");
                return Err(Wrong::at(text, &error));
            }
            config.max_stream = Some(Bytes::new(stream.0));
        }
        if let Some(flows) = self.flows()? {
            config.max_flows = flows;
        }
        let half_open = bounds::count("half_open", self.half_open.as_ref(), &HALF_OPEN)?;
        self.among_flows("half_open", self.half_open.as_ref())?;
        config.max_half_open = half_open.unwrap_or(config.max_half_open);
        let per_client = self.flows_per_client.as_ref();
        let of_one = bounds::count("flows_per_client", per_client, &FLOWS)?;
        self.among_flows("flows_per_client", per_client)?;
        config.max_flows_per_client = of_one.unwrap_or(config.max_flows_per_client);
        Ok(())
    }

    /// How long a gateway that is stopped goes on delivering what it holds.
    pub(super) fn drain(&self) -> Result<Duration, Wrong> {
        let drain = bounds::read("drain", self.drain.as_ref(), &DRAINS)?;
        Ok(drain.map_or(DRAIN, |Span(time)| time))
    }

    fn memory(&self, host: u64) -> Result<Option<Bytes>, Wrong> {
        let Some(text) = &self.memory else { return Ok(None) };
        let memory: Size = bounds::parse("memory", text)?;
        let most = Size(host >> 20 << 20);
        if !(MIN_MEMORY..=most).contains(&memory) {
            let range = format!("{MIN_MEMORY} to {most}, which is what this host has");
            return Err(Wrong::at(text, &format!("memory: {memory} is out of range ({range})")));
        }
        Ok(Some(Bytes::new(memory.0)))
    }

    fn flows(&self) -> Result<Option<usize>, Wrong> {
        if let Some(flows) = self.flows.as_ref().filter(|flows| *flows.get_ref() == 0) {
            let (least, most) = (FLOWS.start(), FLOWS.end());
            let error = format!(
                "flows: 0 is out of range ({least} to {most}): to split nothing, `observe = true` in [policy]"
            );
            return Err(Wrong::at(flows, &error));
        }
        bounds::count("flows", self.flows.as_ref(), &FLOWS)
    }

    /// A part of all flows is no more than all, if both are said.
    fn among_flows(&self, key: &str, part: Option<&Spanned<i64>>) -> Result<(), Wrong> {
        let (Some(part), Some(flows)) = (part, self.flows.as_ref()) else { return Ok(()) };
        if part.get_ref() > flows.get_ref() {
            let (count, flows) = (part.get_ref(), flows.get_ref());
            return Err(Wrong::at(part, &format!("{key}: {count} is more than flows, {flows}")));
        }
        Ok(())
    }
}
