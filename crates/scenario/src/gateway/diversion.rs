//! `[diversion]`: the numbers that a gateway takes of its host's kernel, for hosts on which others have them.

use super::bounds::bounded;
use crate::reader::{Reader, Result, Section, field};
use std::ops::RangeInclusive;

/// Behind the local table's rule (0), before the main table's (32766).
const PREFERENCES: RangeInclusive<u32> = 1..=32_765;

/// Zone 0 is that of all others.
const ZONES: RangeInclusive<u16> = 1..=u16::MAX;

/// The kernel's own routing tables: unspecified, default, main, local.
const TABLES_OF_THE_KERNEL: [u32; 4] = [0, 253, 254, 255];

pub(crate) const DIVERSION: Section = Section {
    path: "gateway.toml, diversion",
    about: "The numbers that the gateway takes of the host's kernel: for hosts on which others have them.",
    fields: &[
        field(
            "marks",
            "two numbers, such as `[0x10000000, 0x20000000]`",
            "[0x10000000, 0x20000000]",
            "the marks of packets from the LAN and from the satellite",
        ),
        field(
            "mark-mask",
            "a number",
            "the bits of both marks",
            "the bits of the mark that are the gateway's",
        ),
        field(
            "tables",
            "two numbers",
            "[25200, 25201]",
            "the routing tables of packets from the LAN and from the satellite",
        ),
        field("preference", "a number, 1 to 32765", "252", "where its `ip rule`s stand"),
        field(
            "conntrack-zone",
            "a number, 1 to 65535",
            "25200",
            "the zone in which the LAN's legs are tracked, where connections are tracked at all",
        ),
    ],
    example: "",
};

/// The numbers that a gateway takes of its host's kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Diversion {
    /// The marks of packets from the LAN and from the satellite, within the mask.
    pub marks: [u32; 2],
    /// The bits of the mark that are the gateway's.
    pub mark_mask: u32,
    /// The routing tables of packets from the LAN and from the satellite.
    pub tables: [u32; 2],
    /// Where its `ip rule`s stand.
    pub preference: u32,
    /// The zone of connection tracking for the LAN's legs.
    pub conntrack_zone: u16,
}

impl Default for Diversion {
    fn default() -> Diversion {
        Diversion {
            marks: [0x1000_0000, 0x2000_0000],
            mark_mask: 0x3000_0000,
            tables: [25_200, 25_201],
            preference: 252,
            conntrack_zone: 25_200,
        }
    }
}

pub(super) fn read(reader: &Reader<'_>) -> Result<Diversion> {
    let default = Diversion::default();
    let marks = pair(reader, "marks")?.unwrap_or(default.marks);
    if marks.contains(&0) || marks.contains(&u32::MAX) {
        let why = "marks: 0 is the mark of what has none, and 0xffffffff leaves it no opposite";
        return Err(reader.bad("marks", why.to_owned()));
    }
    let mark_mask = reader.maybe::<u32>("mark-mask")?.unwrap_or(marks[0] | marks[1]);
    if let Some(mark) = marks.iter().find(|&&mark| mark & !mark_mask != 0) {
        let why = format!("mark-mask: {mark_mask:#x} does not cover the mark {mark:#x}");
        return Err(reader.bad("mark-mask", why));
    }
    let tables = pair(reader, "tables")?.unwrap_or(default.tables);
    if let Some(table) = tables.iter().find(|table| TABLES_OF_THE_KERNEL.contains(table)) {
        return Err(reader.bad("tables", format!("tables: {table} is the kernel's own")));
    }
    let preference = bounded(reader, "preference", &PREFERENCES)?;
    let conntrack_zone = bounded(reader, "conntrack-zone", &ZONES)?;
    Ok(Diversion {
        marks,
        mark_mask,
        tables,
        preference: preference.unwrap_or(default.preference),
        conntrack_zone: conntrack_zone.unwrap_or(default.conntrack_zone),
    })
}

/// Two numbers that differ: the LAN's and the satellite's.
fn pair(reader: &Reader<'_>, key: &str) -> Result<Option<[u32; 2]>> {
    let Some(numbers) = reader.maybe::<Vec<u32>>(key)? else { return Ok(None) };
    match numbers[..] {
        [lan, satellite] if lan != satellite => Ok(Some([lan, satellite])),
        _ => Err(reader.bad(key, format!("{key}: two different numbers are needed"))),
    }
}
