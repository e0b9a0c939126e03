//! An interface of a capture: the link type of its frames, and their clock. Options are those of
//! draft-ietf-opsawg-pcapng, 4.2.

use pcap_parser::{InterfaceDescriptionBlock, OptionCode, PcapNGOption};

/// Without if_tsresol times are in microseconds.
const MICROSECONDS: u8 = 6;
/// The bit of if_tsresol that makes it a power of two instead of ten.
const POWER_OF_TWO: u8 = 0x80;

/// An interface of a pcapng section, or the one of a pcap file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interface {
    pub(crate) link: i32,
    /// Units of time in a second.
    pub(crate) resolution: u64,
    /// Seconds to add.
    pub(crate) offset: i64,
    pub(crate) snaplen: u32,
}

impl Interface {
    /// Reads its block. `None` if a second has more units than fit into 64 bits.
    pub(crate) fn of(block: &InterfaceDescriptionBlock<'_>, big_endian: bool) -> Option<Interface> {
        let resolution =
            value(&block.options, OptionCode::IfTsresol).map_or(MICROSECONDS, |[it]| it);
        let exponent = u32::from(resolution & !POWER_OF_TWO);
        let base: u64 = if resolution & POWER_OF_TWO == 0 { 10 } else { 2 };
        let number = if big_endian { i64::from_be_bytes } else { i64::from_le_bytes };
        Some(Interface {
            link: block.linktype.0,
            resolution: base.checked_pow(exponent)?,
            offset: value(&block.options, OptionCode::IfTsoffset).map_or(0, number),
            snaplen: block.snaplen,
        })
    }

    /// A time in nanoseconds.
    pub(crate) fn nanos(self, units: u64) -> i64 {
        let nanos = u128::from(units) * 1_000_000_000 / u128::from(self.resolution.max(1));
        let offset = i128::from(self.offset) * 1_000_000_000;
        let at = i128::try_from(nanos).unwrap_or(i128::MAX).saturating_add(offset);
        i64::try_from(at).unwrap_or(i64::MAX)
    }
}

/// The value of an option. `None` if it is missing, or has another length.
fn value<const N: usize>(options: &[PcapNGOption<'_>], code: OptionCode) -> Option<[u8; N]> {
    let option = options.iter().find(|option| option.code == code)?;
    option.as_bytes().ok()?.try_into().ok()
}
